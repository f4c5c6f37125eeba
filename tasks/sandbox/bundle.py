"""The launcher as one piece: its modules' code, sent along with an order.

A new interpreter would look for some fifteen files, which takes it longer than to run them.
"""

from __future__ import annotations

import importlib.util
import marshal
from collections.abc import Sequence
from functools import cache
from types import CodeType
from typing import Any

PACKAGE = "inside"
SIZE = 8  # bytes of the number of bytes
MODULES = (
    *("linux", "channel", "checks", "call_filter", "confine", "family", "file_rules", "folder", "library", "program"),
    *("root_folder", "spaces", "run", "supervise", "launch"),
)  # each after those that it imports
# What there is more of where there are checks.
EXAMINATION = (
    *("operations", "plain", "wire", "line", "asked", "witness", "stand_ins", "values", "decoys", "scope", "permitted"),
    *("examiner", "examination"),
)

START = f"""\
import gc, marshal, sys
gc.disable()  # until the program starts: there is nothing to collect
with open(0, "rb", 0, closefd=False) as file:
    size, data = int.from_bytes(file.read({SIZE}), "big"), bytearray()
    while len(data) < size:
        data += file.read(size - len(data)) or sys.exit("the order is cut off")
    package, modules, order = marshal.loads(data)
    del data  # what follows the order is not for the program
for name, code in modules:
    module = sys.modules[name] = type(sys)(name)
    module.__package__ = package
    if name == package:
        module.__path__ = []
    exec(code, module.__dict__)
sys.modules["{PACKAGE}.launch"].main(order)
"""


@cache
def _modules(examined: bool) -> list[tuple[str, CodeType]]:
    """Each module's name in the launcher, and its code as the import system has it compiled."""
    names = MODULES[:3] + (EXAMINATION if examined else ()) + MODULES[3:]
    return [(PACKAGE, compile("", PACKAGE, "exec")), *((f"{PACKAGE}.{name}", _code(name)) for name in names)]


def _code(name: str) -> CodeType:
    full = f"{__package__}.{PACKAGE}.{name}"
    spec = importlib.util.find_spec(full)
    code = spec.loader.get_code(full) if spec is not None and spec.loader is not None else None  # type: ignore[attr-defined]
    if not isinstance(code, CodeType):
        raise ImportError(f"{full}: its code cannot be had from its loader")
    return code


def bundled(order: dict[str, Any], checks: Sequence[tuple[str, str | None]]) -> bytes:
    """What a new interpreter that runs `START` is to be given. checks: for an examiner, and nobody else."""
    whole = marshal.dumps((PACKAGE, _modules(bool(checks)), order))
    return len(whole).to_bytes(SIZE, "big") + whole + (marshal.dumps(list(checks)) if checks else b"")
