"""What the site's tables say of names, defaults, statuses and ends is what the code says."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import Any

import pytest

from pages import ROOT
from thoughtree import ABMCTS, DFS, LATS, MCTS, RAP, Beam, BestFirst, Budget, NodeStatus, SearchStatus, TreeOfThoughts
from thoughtree.search import Ended
from thoughtree.search.environment import Observed
from thoughtree.tasks.task import HOOKS

DOCS = ROOT / "docs"
CONTROLLERS = {"beam": Beam, "dfs": DFS, "best-first": BestFirst, "mcts": MCTS, "abmcts": ABMCTS}
PROGRAMS = {"tree-of-thoughts": TreeOfThoughts, "lats": LATS, "rap": RAP}
EVERYWHERE = {"ties", "dedupe"}  # told once, on the page of all controllers


def table(page: str, heading: str) -> list[list[str]]:
    """The rows of the table whose head begins with this cell."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.search(rf"^\| {re.escape(heading)} \|.*\n\|[-| ]+\|\n((?:\|.*\|\n)+)", text, re.M)
    assert found is not None, f"{page} has no table of {heading}"
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in found[1].splitlines()]


def names_in(cell: str) -> list[str]:
    return re.findall(r"`(\w+)=?(?:\([^`]*\))?`", cell)


def default_of(kind: Any, name: str) -> Any:
    return getattr(kind(), name)


@pytest.mark.parametrize("page", CONTROLLERS)
def test_a_controllers_page_has_all_its_knobs_with_their_defaults(page: str):
    kind = CONTROLLERS[page]
    told = {names_in(row[0])[0]: row[2] for row in table(f"controllers/{page}.md", "knob")}
    assert set(told) == {field.name for field in fields(kind)} - EVERYWHERE
    for name, shown in told.items():
        default = default_of(kind, name)
        assert shown.strip('`"') in (str(default), f"{default:g}" if isinstance(default, float) else str(default))


@pytest.mark.parametrize("page", PROGRAMS)
def test_a_programs_page_names_knobs_that_it_has(page: str):
    has = set(inspect.signature(PROGRAMS[page].__init__).parameters)
    told = [name for row in table(f"programs/{page}.md", "knob") for name in re.findall(r"`(\w+)=", row[0])]
    assert told != []
    assert [name for name in told if name not in has] == []


def test_every_hook_of_a_task_is_told():
    told = {name for row in table("your-own-task.md", "hook") for name in names_in(row[0])}
    assert told == HOOKS | {"signature"}


def test_every_part_of_an_observation_is_told():
    told = {name for row in table("environments-and-safety.md", "`Observed(...)`") for name in names_in(row[0])}
    assert told == {field.name for field in fields(Observed)}


def test_every_ceiling_status_and_end_is_told():
    page = "budgets-and-results.md"
    assert {name for row in table(page, "ceiling") for name in names_in(row[0])} == {f.name for f in fields(Budget)}
    outcomes = set(SearchStatus) - {SearchStatus.RUNNING, SearchStatus.CLOSING}
    assert {row[0].strip("`") for row in table(page, "`search.status`")} == outcomes
    ends = {name for row in table(page, "`search.ended`") for name in re.findall(r"`([\w ]+)`", row[0])}
    assert ends == set(Ended)
    assert {row[0].strip("`") for row in table(page, "`node.status`")} == set(NodeStatus)
