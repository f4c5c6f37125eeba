"""The launcher as one piece: its modules' code, sent along with an order.

A new interpreter would look for some fifteen files, which takes it longer than to run them.
"""

from __future__ import annotations

import importlib.util
import marshal
from functools import cache
from types import CodeType
from typing import Any

PACKAGE = "inside"
MODULES = (
    *("linux", "channel", "checks", "call_filter", "confine", "family", "file_rules", "library", "program"),
    *("root_folder", "spaces", "run", "supervise", "launch"),
)  # each after those that it imports

START = f"""\
import gc, marshal, sys
gc.disable()  # until the program starts: there is nothing to collect
with open(0, "rb", 0, closefd=False) as file:
    package, modules, order = marshal.loads(file.read())
for name, code in modules:
    module = sys.modules[name] = type(sys)(name)
    module.__package__ = package
    if name == package:
        module.__path__ = []
    exec(code, module.__dict__)
sys.modules["{PACKAGE}.launch"].main(order)
"""


@cache
def _modules() -> list[tuple[str, CodeType]]:
    """Each module's name in the launcher, and its code as the import system has it compiled."""
    return [(PACKAGE, compile("", PACKAGE, "exec")), *((f"{PACKAGE}.{name}", _code(name)) for name in MODULES)]


def _code(name: str) -> CodeType:
    full = f"{__package__}.{PACKAGE}.{name}"
    spec = importlib.util.find_spec(full)
    code = spec.loader.get_code(full) if spec is not None and spec.loader is not None else None  # type: ignore[attr-defined]
    if not isinstance(code, CodeType):
        raise ImportError(f"{full}: its code cannot be had from its loader")
    return code


def bundled(order: dict[str, Any]) -> bytes:
    """What a new interpreter that runs `START` is to be given."""
    return marshal.dumps((PACKAGE, _modules(), order))
