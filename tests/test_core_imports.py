"""What the core may lean on: the standard library, and within the package nobody."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import thoughtree.search
import thoughtree.signatures

FOLDERS = {
    "search": Path(thoughtree.search.__file__).parent,
    "signatures": Path(thoughtree.signatures.__file__).parent,
}
FILES = [
    pytest.param(path, id=f"{name}/{path.name}")
    for name, folder in FOLDERS.items()
    for path in sorted(folder.glob("*.py"))
]


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Every module that a file imports, anywhere in it, with the dots of a relative import."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.level, node.module or ""


@pytest.mark.parametrize("path", FILES)
def test_no_sibling_package_is_imported(path: Path) -> None:
    for level, module in imported(path):
        assert level <= 1, f"{path.name} imports from a package above its own: {'.' * level}{module}"
        assert module.split(".")[0] != "thoughtree", f"{path.name} imports {module}"


@pytest.mark.parametrize("path", [param for param in FILES if str(param.id).startswith("search/")])
def test_the_core_imports_the_standard_library_alone(path: Path) -> None:
    outside = {module for level, module in imported(path) if not level} - {"__future__"}
    assert {module for module in outside if module.split(".")[0] not in sys.stdlib_module_names} == set()


def test_only_the_drivers_know_threads_asyncio_or_the_clock() -> None:
    """The state machine and the controllers are functions of what they are told."""
    special = {"threading", "asyncio", "time", "datetime", "uuid", "secrets", "queue", "contextvars"}
    known = {
        path.stem: found
        for path in FOLDERS["search"].glob("*.py")
        if (found := {module.split(".")[0] for _, module in imported(path)} & special)
    }
    assert known == {
        "hooks": {"threading", "time"},
        "patience": {"time"},
        "beside": {"asyncio", "contextvars", "queue", "threading", "time"},
        "in_flight": {"asyncio", "time"},
        "threads": {"queue", "time"},
        "turns": {"asyncio", "contextvars", "queue", "threading", "time"},
        "loop": {"asyncio", "time"},
        "journal": {"threading"},
    }


def test_no_global_random_number_is_drawn() -> None:
    for path in FOLDERS["search"].glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "random":
                assert [alias.name for alias in node.names] == ["Random"], path.name
            elif isinstance(node, ast.Import):
                assert "random" not in [alias.name for alias in node.names], path.name


def test_the_core_works_by_itself() -> None:
    """Its folder alone, outside the package: a search runs, and nothing else is loaded."""
    script = """
        import sys
        sys.path.insert(0, sys.argv[1])
        from search import *
        replies = {Propose: Proposed(("a", "b")), Rate: Rated((1.0,))}
        step = lambda state, action: Stepped(state + action, solved=action == "b")
        print(run(Search(Beam(), "", step=step), lambda request, tree: replies[type(request)]).summary())
        loaded = {module.split(".")[0] for module in sys.modules} - set(sys.stdlib_module_names)
        print(*sorted(loaded & {"thoughtree", "dspy", "optuna", "pydantic", "rich", "typer", "numpy"}))
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(FOLDERS["search"].parent)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stdout.splitlines() == ["solved: b [1 call, 3 nodes]", ""]
