"""What a search says to Python's logging: what went wrong, its beginning and end, each call; and nothing unasked."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engines import Engine
from hostile import KINDS, obeyed, search
from patience import PATIENCE
from puzzle24 import KINDS as NAMES
from puzzle24 import PUZZLE, call, engine, script
from thoughtree import DFS, Beam, Game24, TreeOfThoughts

drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])
KEY = "sk-proj-abcdef0123456789abcdef"


def solver(**knobs: Any) -> TreeOfThoughts:
    return TreeOfThoughts(task=Game24(), **{"controller": DFS(), "concurrency": 1, **knobs})


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == level]


@drivers
def test_a_line_a_call_and_a_line_at_each_end(driver: str, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG, "thoughtree"):
        found = call(solver(), engine(tokens=(30, 12)), driver, numbers=PUZZLE)
    assert {record.name.split(".")[0] for record in caplog.records} == {"thoughtree"}
    assert lines(caplog, logging.WARNING) == []
    begins, ends = lines(caplog, logging.INFO)
    name = begins.partition(" begins")[0]
    assert name.startswith("TreeOfThoughts #")
    assert begins.startswith(f"{name} begins: DFS(")
    assert begins.endswith("budget: calls 100")
    assert f"{name} ends: solved: 10-4=6 -> 13-9=4 -> 6*4=24 [" in ends
    calls = lines(caplog, logging.DEBUG)
    assert len(calls) == found.search.spent.calls
    first = f"{name}: propose node 0: 3 steps: 10 - 4 = 6; 4 + 9 = 13; 13 * 4 = 52 [1 calls, 42 tokens, $0.000000, "
    assert calls[0].startswith(first)
    assert calls[1].startswith(f"{name}: rate node 1: 20 [1 calls, 42 tokens")


def test_two_searches_are_told_apart(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, "thoughtree"):
        call(solver(), engine(), numbers=PUZZLE)
        call(solver(), engine(), numbers=PUZZLE)
    names = [line.split(":")[0].rsplit(" ", 1)[0] for line in lines(caplog, logging.INFO)]
    assert len(set(names)) == 2


@drivers
def test_what_goes_wrong_is_a_warning(driver: str, caplog: pytest.LogCaptureFixture):
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if kind == "rate" and inputs["search_state"] == "10 13 13":
            raise ValueError("no such luck")
        return script(kind, inputs, n)

    with caplog.at_level(logging.WARNING, "thoughtree"):
        call(solver(), engine(fn), driver, numbers=PUZZLE)
    assert len(lines(caplog, logging.WARNING)) == 1
    assert "rate node 2 failed, for good: " in caplog.messages[0]
    assert "no such luck" in caplog.messages[0]


def test_so_is_what_makes_a_result_worth_less(caplog: pytest.LogCaptureFixture):
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        return script(kind, inputs, n) if kind == "propose" else {"rating_reasoning": "-", "thought_rating": "maybe"}

    with caplog.at_level(logging.WARNING, "thoughtree"):
        found = call(solver(controller=Beam(width=1, max_depth=1)), engine(fn), numbers=PUZZLE)
    assert [line.partition(": ")[2] for line in caplog.messages] == list(found.search.warnings)
    assert "ratings hardly differ" in caplog.messages[0]


def test_a_search_that_breaks_off_says_so(caplog: pytest.LogCaptureFixture):
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        raise KeyboardInterrupt

    with caplog.at_level(logging.WARNING, "thoughtree"), pytest.raises(KeyboardInterrupt):
        call(solver(), engine(fn), numbers=PUZZLE)
    assert "is broken off by KeyboardInterrupt" in caplog.messages[-1]


@drivers
def test_no_key_is_logged(driver: str, caplog: pytest.LogCaptureFixture):
    """Neither one that a model says back, nor one in an error."""

    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if kind == "rate":
            raise ValueError(f"401 for {KEY}")
        return {"next_thoughts": f"1. 10 - 4 = 6 {KEY}\n2. the key is {KEY}"}

    model = Engine(fn, kinds=NAMES)
    model.api_key = KEY  # type: ignore[attr-defined]
    with caplog.at_level(logging.DEBUG, "thoughtree"):
        call(solver(), model, driver, numbers=PUZZLE)
    assert len(caplog.messages) > 3
    assert [line for line in caplog.messages if KEY in line] == []
    assert any("[redacted]" in line for line in caplog.messages)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "a megabyte"])
def test_no_line_is_obeyed_or_broken(kind: str, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG, "thoughtree"):
        search("environment", KINDS[kind])
        search("proposals", KINDS[kind])
    assert [bad for line in caplog.messages for bad in obeyed(line)] == []
    assert [line for line in caplog.messages if "\n" in line or len(line) > 5_000] == []


def test_unasked_it_says_nothing(tmp_path: Path):
    """Not even of failures, in a process that configures no logging."""
    told = """
import dspy
from thoughtree import Game24, TreeOfThoughts
from thoughtree.testing import Fault, FaultyLM, RuleLM

rules = RuleLM(propose=lambda inputs, n: ["4 + 9 = 13"], rate=lambda inputs: "maybe")
with dspy.context(lm=FaultyLM(rules, [Fault.server(share=0.5)], seed=1)):
    found = TreeOfThoughts(task=Game24(), retries=0)(numbers="4 9 10 13")
assert found.search.failed
assert found.search.warnings
"""
    run = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
