"""Does a wheel hold every module of the checkout, what they read, and nothing else?

    python .ci/check_wheel.py WHEEL

is run from the root of the checkout.
"""

from __future__ import annotations

import sys
from pathlib import Path
from zipfile import ZipFile

SUBPACKAGES = ("modules", "optimize", "search", "signatures", "tasks")


def wanted(root: Path) -> set[str]:
    """The wheel's names for the checkout's modules."""
    face = root / "thoughtree"  # whose links to the other subpackages are left out
    own = {f"thoughtree/{path.name}" for path in face.iterdir() if path.suffix in (".py", ".json")}
    own |= {path.relative_to(root).as_posix() for path in (face / "viewer").rglob("*.*") if path.suffix != ".pyc"}
    below = [path.relative_to(root) for name in SUBPACKAGES for path in (root / name).rglob("*.py")]
    return own | {f"thoughtree/{path.as_posix()}" for path in below} | {"thoughtree/py.typed"}


def found(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.split("/")[0].endswith(".dist-info")}


if __name__ == "__main__":
    here, there = wanted(Path.cwd()), found(Path(sys.argv[1]))
    if here != there:
        sys.exit(f"missing in the wheel: {sorted(here - there)}; not in the checkout: {sorted(there - here)}")
    print(f"{len(there)} files, as in the checkout")
