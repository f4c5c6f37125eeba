"""The site keeps its word: each page's code runs in order and prints what it says, its commands too, its links lead on.

No model is called: where a page names one, `docmodel` answers in its place.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest
import typer
from dspy.clients import Cache

import thoughtree
from docmodel import NEEDS, SLOW, doc_lm, files
from pages import ROOT, THEIRS, agree, blocks, commands, printed, run
from thoughtree.cli import app

DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
LANGUAGES = {"python", "console", "text", "bash", "json", "mermaid", "pycon"}


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def marked(page: str) -> Any:
    marks = [pytest.mark.slow, pytest.mark.timeout(300)] if page in SLOW else []
    if page in NEEDS and importlib.util.find_spec(NEEDS[page]) is None:
        marks.append(pytest.mark.skip(reason=f"needs {NEEDS[page]}"))
    return pytest.param(page, marks=marks)


WITH_CODE = [page for page in PAGES if any(THEIRS not in b.marks for b in blocks(text_of(page), "python"))]
WITH_COMMANDS = [page for page in PAGES if blocks(text_of(page), "console")]


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In a folder of its own with the files that pages read, without keys, and with a cache that remembers nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(vars(dspy), "cache", Cache(False, False, None))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, text in files().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    before = dspy.settings.lm
    yield
    dspy.configure(lm=before)


@pytest.mark.parametrize("page", [marked(page) for page in WITH_CODE])
def test_the_code_of_a_page_runs_in_order_and_prints_what_it_says(page: str):
    names: dict[str, Any] = {}
    for block in blocks(text_of(page), "python"):
        if THEIRS not in block.marks:
            lines = printed(block.code, f"{page}:{block.line}", names, doc_lm())
            if not agree(lines, block.said):
                pytest.fail(f"{page}:{block.line} printed\n" + "\n".join(lines), pytrace=False)


@pytest.mark.parametrize("page", [marked(page) for page in WITH_COMMANDS])
def test_the_commands_of_a_page_answer_as_shown(page: str):
    for block in blocks(text_of(page), "console"):
        for command in commands(block):
            lines = run(command)
            if command.answer and not agree(lines, list(command.answer)):
                pytest.fail(f"{page}:{block.line} answered\n" + "\n".join(lines), pytrace=False)


@pytest.mark.parametrize("page", PAGES)
def test_a_block_says_its_language_and_their_code_is_python(page: str):
    for block in blocks(text_of(page)):
        assert block.language in LANGUAGES, f"{page}:{block.line}"
        if THEIRS in block.marks:
            assert page.startswith("migrating/")
            ast.parse(block.code)


@pytest.mark.parametrize("page", PAGES)
def test_its_links_lead_somewhere(page: str):
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text_of(page))
    assert [target for target in targets if not ((DOCS / page).parent / target).exists()] == []


# ---- what is generated


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """A module of docs/_generate, by its name."""
    monkeypatch.syspath_prepend(str(DOCS / "_generate"))
    return importlib.import_module


@pytest.mark.parametrize(("page", "name"), [("command-line.md", "command_line"), ("benchmarks.md", "benchmarks_page")])
def test_a_generated_page_is_up_to_date(page: str, name: str, generator: Callable[[str], Any]):
    assert text_of(page) == generator(name).page(), f"run `python docs/_generate/{name}.py`"


def test_a_shared_option_is_listed_of_the_commands_that_take_it():
    """As the commands themselves know it, whatever made the page."""
    group: Any = typer.main.get_command(app)
    known = {name: {text for one in command.params for text in one.opts} for name, command in group.commands.items()}
    shared = text_of("command-line.md").split("## Shared options")[1].split("## Exit codes")[0]
    everybody = re.findall(r"`(\w+)`", shared.split("all: ")[1].splitlines()[0])
    rows = re.findall(r"^\| `(--[\w-]+).* \| ([^|]+) \|$", shared, re.M)
    assert ("--html", "`eval`, `compare`, `calibrate`, `tune`") in rows
    for option, of in rows:
        named = everybody if of == "all" else re.findall(r"`(\w+)`", of)
        assert named, option
        assert [name for name in named if option not in known[name]] == [], option


def test_a_benchmark_is_shown_with_its_day_its_machine_and_what_it_missed(generator: Callable[[str], Any]):
    machine = {"python": "3.11.7", "system": "Linux x86_64", "cores": 2}
    row = {"figure": "a ratio", "measured": 1.2345, "unit": "times", "at": None, "reach": "at most 1.15", "met": False}
    free = {"figure": "a | b", "measured": 12345, "unit": "calls", "at": None, "reach": None, "met": None}
    result = {"benchmark": "core", "about": "time per node", "rows": [row, free], "notes": ["Least of 5."]}
    result |= {"date": "2026-11-30", "versions": {"dspy": "3.4.1"}, "machine": machine}
    assert generator("benchmarks_page").section(result).splitlines() == [
        "## core",
        "",
        "Time per node.",
        "",
        "`python -m benchmarks core`, 2026-11-30, Python 3.11.7, Linux x86_64, 2 cores, dspy 3.4.1.",
        "",
        "| figure | measured | has to reach | met |",
        "| --- | --- | --- | --- |",
        "| a ratio | 1.2345 times | at most 1.15 | **no** |",
        "| a \\| b | 12,345 calls |  |  |",
        "",
        "Least of 5.",
    ]


def test_a_docstring_that_explains_its_knobs_becomes_a_list(generator: Callable[[str], Any]):
    knobs = generator("knobs")
    text = "What it is: short.\n\nwidth: states kept. depth, limit: levels\n    in all.\nNote: no knob."
    assert knobs.listed(text, ["self", "width", "depth", "limit"]) == (
        "What it is: short.\n\n- `width`: states kept.\n- `depth`, `limit`: levels\n  in all.\n\nNote: no knob."
    )


def test_every_page_has_its_place_in_the_navigation():
    placed = re.findall(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    assert sorted(placed) == PAGES


def test_every_public_name_has_its_place_in_the_reference():
    listed = {name for page in PAGES for name in re.findall(r"^::: thoughtree\.(\S+)$", text_of(page), re.M)}
    public = [name for name in thoughtree.__all__ if not name.startswith("__")]
    assert [name for name in public if name not in listed] == []


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=110)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    loaded = re.compile(r"""<(?:script|img|iframe|link|source)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")
    pages = {path.relative_to(tmp_path / "site").as_posix(): path for path in tmp_path.rglob("*.html")}
    assert "first-search/index.html" in pages
    assert [(page, found) for page, path in pages.items() for found in loaded.findall(path.read_text("utf-8"))] == []
