"""The package as a whole: its public names, what importing it costs, and which way its arrows point."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata, resources
from pathlib import Path

import pytest

import thoughtree
import thoughtree.search
import thoughtree.testing

ROOT = Path(__file__).parents[1]
PACKAGE = Path(thoughtree.__file__).parent

PUBLIC = {
    *("TreeOfThoughts", "DFS", "Beam", "BestFirst", "Budget", "limit", "load"),
    *("SearchResult", "SearchPrediction", "SearchStatus", "NodeStatus", "SearchFailed"),
    *("Task", "Illegal", "FreeText", "Game24"),
}
CORE = {
    *("Search", "run", "drive", "adrive"),
    *("Propose", "Step", "Rate", "Reflect", "Answer"),
    *("Proposed", "Stepped", "Illegal", "Rated", "Reflected", "Answered", "Unread", "Failed"),
}

# Who may import whom, among the subpackages; the face, thoughtree itself, knows all of them.
KNOWS = {
    "signatures": set[str](),
    "search": set[str](),
    "tasks": {"search"},
    "modules": {"signatures", "search", "tasks"},
    "optimize": {"modules", "signatures", "search", "tasks"},
}
FACE = ""


def imports(source: str, package: str) -> Iterator[str]:
    """The full names of all modules that `source`, a module of `package`, imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = ".".join(parts[: len(parts) - node.level + 1])
            if node.module:
                yield f"{base}.{node.module}"
            else:  # `from .. import x`: x may be a module
                yield from (f"{base}.{name.name}" for name in node.names)


def sources(subpackage: str) -> Iterator[tuple[str, str, str]]:
    """Of every file of a subpackage and of those inside it: its path, the package that it is in, its text."""
    root = Path(next(iter(importlib.import_module(f"thoughtree.{subpackage}").__path__)))
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root)
        package = ".".join(["thoughtree", subpackage, *inside.parent.parts])
        yield f"{subpackage}/{inside.as_posix()}", package, path.read_text(encoding="utf-8")


def foreign(subpackage: str) -> dict[str, set[str]]:
    """Per file of a subpackage, what it imports from outside of it."""
    own = f"thoughtree.{subpackage}"
    return {
        file: {name for name in imports(text, package) if name != own and not name.startswith(f"{own}.")}
        for file, package, text in sources(subpackage)
    }


def neighbour(name: str) -> str | None:
    """The subpackage that a module of ours is in, FACE for one in none; None for others' modules."""
    top, _, rest = name.partition(".")
    if top != "thoughtree":
        return None
    first = rest.split(".")[0]
    return first if first in KNOWS else FACE


def test_imports_are_found_wherever_they_stand():
    source = """
import json
from ...search import Search
from ..tasks.task import Task
def late():
    from .. import search
    from . import rate
"""
    assert sorted(imports(source, "thoughtree.modules.calls")) == [
        "json",
        "thoughtree.modules.calls.rate",
        "thoughtree.modules.search",
        "thoughtree.modules.tasks.task",
        "thoughtree.search",
    ]


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("json", None),
        ("thoughtree.search", "search"),
        ("thoughtree.tasks.task", "tasks"),
        ("thoughtree.cli", FACE),
    ],
)
def test_a_module_has_one_place(name: str, where: str | None):
    assert neighbour(name) == where


@pytest.mark.parametrize("subpackage", KNOWS)
def test_arrows_between_subpackages_point_one_way(subpackage: str):
    wrong = {
        f"{file} imports {name}"
        for file, names in foreign(subpackage).items()
        for name in names
        if (there := neighbour(name)) is not None and there not in KNOWS[subpackage]
    }
    assert wrong == set()


def test_the_core_imports_the_standard_library_alone():
    outside = {name for names in foreign("search").values() for name in names}
    assert {name for name in outside if name.split(".")[0] not in sys.stdlib_module_names} == set()


@pytest.mark.parametrize("subpackage", KNOWS)
def test_imports_within_the_package_are_relative(subpackage: str):
    absolute = {
        f"{file} imports {node.module}"
        for file, _, text in sources(subpackage)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.level == 0 and str(node.module).startswith("thoughtree")
    }
    assert absolute == set()


@pytest.mark.parametrize("subpackage", KNOWS)
def test_nothing_is_left_to_a_loops_own_threads(subpackage: str):
    """Whoever closes a loop waits for them, and what hangs would hold that up: `background.in_thread` is for it."""
    pools = {"to_thread", "run_in_executor", "run_sync_in_worker_thread", "ThreadPoolExecutor"}
    named = {
        f"{file} names {name}"
        for file, _, text in sources(subpackage)
        for node in ast.walk(ast.parse(text))
        if (name := getattr(node, "attr", getattr(node, "id", None))) in pools
    }
    assert named == set()


def test_every_package_of_the_checkout_is_declared():
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    found = {package for subpackage in KNOWS for _, package, _ in sources(subpackage)} | {
        "thoughtree",
        "thoughtree.viewer",
    }
    assert set(setup["packages"]) == set(setup["package-dir"]) == found


def test_public_names_are_there_and_listed():
    assert set(thoughtree.__all__) >= PUBLIC
    assert set(thoughtree.search.__all__) >= CORE
    assert {"check_task", "RuleLM"} <= set(thoughtree.testing.__all__)
    for module in (thoughtree, thoughtree.search, thoughtree.testing):
        assert len(set(module.__all__)) == len(module.__all__)
        assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_importing_loads_nothing_that_only_some_need():
    code = (
        "import json, sys, dspy; before = set(sys.modules); from thoughtree import TreeOfThoughts; "
        "print(json.dumps([*set(sys.modules) - before]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    heavy = {"typer", "click", "rich", "optuna", "datasets", "litellm", "pandas", "numpy", "scipy", "plotly"}
    assert {name.split(".")[0] for name in loaded} & heavy == set()
    assert {name for name in loaded if name.startswith(("thoughtree.cli", "thoughtree.testing"))} == set()
    assert "thoughtree.modules.tree_of_thoughts" in loaded


def test_names_are_loaded_when_they_are_asked_for():
    code = (
        "import sys, thoughtree; assert 'dspy' not in sys.modules; thoughtree.SearchResult; "
        "assert 'dspy' not in sys.modules; thoughtree.optimize.Evaluate; assert 'dspy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert set(thoughtree.__all__) <= set(dir(thoughtree))
    with pytest.raises(AttributeError, match="module 'thoughtree' has no attribute 'nothing'"):
        _ = thoughtree.nothing
    slip = [sys.executable, "-c", "import thoughtree; thoughtree.TreeOfThought"]
    said = subprocess.run(slip, capture_output=True, text=True, check=False).stderr
    assert said.endswith("has no attribute 'TreeOfThought'. Did you mean: 'TreeOfThoughts'?\n")


@pytest.mark.parametrize("name", ["search", "tasks", "modules", "optimize", "signatures"])
def test_what_a_subpackage_loads_later_is_listed_and_helped_with_like_the_rest(name):
    """Each in a process where nobody has asked for it yet."""
    code = f"""
import pickle, pydoc, types, thoughtree.{name} as package
assert set(package.__all__) <= set(dir(package))
told = pydoc.plain(pydoc.render_doc(package))
named = {{name: getattr(package, name) for name in package.__all__}}
print([name for name, one in named.items() if isinstance(one, type) and f"class {{name}}" not in told])
made = [one for one in named.values() if isinstance(one, type | types.FunctionType)]
print([one for one in made if pickle.loads(pickle.dumps(one)) is not one], bool(made))
getattr(package, package.__all__[-1] + "x")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = importlib.import_module(f"thoughtree.{name}").__all__[-1]
    assert done.stdout == "[]\n[] True\n", done.stderr
    assert done.stderr.endswith(f"has no attribute '{last}x'. Did you mean: '{last}'?\n")


def test_modules_are_found_by_their_names():
    """As the README writes them, after `import thoughtree` alone."""
    names = "live.LiveTree", "events.SearchStarted", "offline.offline_lm", "testing.RuleLM", "search.run"
    told = "; ".join(f"thoughtree.{name}" for name in names)
    subprocess.run([sys.executable, "-c", f"import thoughtree; {told}"], check=True, timeout=120)


def test_no_public_name_is_a_modules():
    """Importing a module sets the attribute of its name, and would hide what is public by it."""
    modules = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert "search" in modules
    assert modules.isdisjoint(set(thoughtree.__all__) - {"__version__"})


def test_the_package_says_that_it_is_typed():
    assert resources.files("thoughtree").joinpath("py.typed").is_file()


def test_every_module_of_the_face_is_importable():
    names = [path.stem for path in PACKAGE.glob("*.py") if path.stem not in ("__init__", "__main__")]
    assert "testing" in names
    for name in names:
        assert importlib.import_module(f"thoughtree.{name}").__doc__, name


def test_the_command_is_declared_and_loads():
    (command,) = metadata.distribution("thoughtree").entry_points.select(name="thoughtree")
    assert command.group == "console_scripts"
    assert callable(command.load())


def test_one_version_everywhere():
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    declared = re.findall(r'^version = "(.+)"$', pyproject, re.M)
    assert declared == [thoughtree.__version__] == [metadata.version("thoughtree")]
    assert f"## [{thoughtree.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


# A folder of somebody's machine, at the start of a path.
MACHINE = re.compile(r"(?<![\w.:/}])/(?:root|home|work|Users|opt|mnt|media)/\w|\b[A-Z]:\\{1,2}Users")


@pytest.mark.parametrize("parts", [("/ho", "me/ann/x.json"), (" /ro", "ot/x"), ("C:\\Us", "ers\\ann")])
def test_paths_of_one_machine_are_recognised(parts: tuple[str, str]):
    assert MACHINE.search("".join(parts)) is not None


def test_other_paths_are_left_alone():
    assert MACHINE.search("https://example.org/home/x, ../root/x, search/home/x and a /n or b") is None


def test_no_file_speaks_of_one_machine():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("needs a git checkout: it looks at the files that are tracked")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    texts = {p: p.read_text(encoding="utf-8") for p in paths if p.is_file() and not p.is_symlink()}
    assert ROOT / "pyproject.toml" in texts
    found = {path.name: match.group() for path, text in texts.items() if (match := MACHINE.search(text))}
    assert found == {}
