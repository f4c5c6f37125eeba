"""A run that its budget ended goes on with a larger one, to what it would have been: every program and budget."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import dspy
import pytest

from engines import Engine, lm
from journals import replies
from kill_runs import PROGRAMS, shown
from puzzle24 import drivers

CASES = [name for name in PROGRAMS if "at once" not in name]
PRICES = {"stub/model": (1e6, 1e6)}  # a dollar a token: two a call


def run(name: str, driver: str, **config: Any) -> tuple[Any, int]:
    """The prediction, and the calls that were paid for."""
    make, inputs, reply = PROGRAMS[name]
    model = Engine(lambda kind, inputs, n: reply(kind, inputs))
    program = make()
    program.prices = PRICES
    with dspy.context(lm=lm(model)):
        if driver == "threads":
            found = program(**inputs, config=config)
        else:
            found = asyncio.run(program.acall(**inputs, config=config))
    return found, model.count()


def closing(found: Any) -> int:
    """The closing calls of a run: one, or none."""
    spent = found.search.spent_by.get("answer")
    return 0 if spent is None else spent.calls


def closings(path: Path) -> int:
    """The closing calls that were paid for: each budget may end with one of its own, about another node."""
    return sum(line["usage"][0] for line in replies(path) if line["ask"][0] == "answer")


def bare(found: Any) -> dict[str, Any]:
    """A result but for what it took, and the words that tell it."""
    nodes = [{name: value for name, value in node.items() if name != "spent"} for node in shown(found)["nodes"]]
    told = {name: value for name, value in shown(found).items() if name not in ("spent", "spent_by", "explained")}
    return told | {"nodes": nodes}


@drivers
@pytest.mark.parametrize("kind", ["calls", "tokens", "cost", "nodes"])
@pytest.mark.parametrize("name", CASES)
def test_a_raised_budget_goes_on_to_the_whole_run(name: str, kind: str, driver: str, tmp_path: Path) -> None:
    whole, paid = run(name, driver, concurrency=1, budget={"calls": 1000})
    nodes = len(whole.search.tree)
    path, total, ends = tmp_path / "run.jsonl", 0, []
    for share in (0.2, 0.45, 0.7):
        calls = max(2, int(share * paid))
        budget = {"calls": calls, "tokens": 2 * calls, "cost": 2.0 * calls, "nodes": max(2, int(share * nodes))}[kind]
        found, made = run(name, driver, concurrency=1, journal=path, budget={kind: budget})
        total += made
        assert found.search.spent.calls == total  # all that was paid, the closing calls of shorter runs among it
        assert total <= calls or kind == "nodes"
        ends.append(found.search.ended)
    assert ends == [kind] * 3
    again, made = run(name, driver, concurrency=1, journal=path, budget={"calls": 1000})
    assert total + made == again.search.spent.calls == paid - closing(whole) + closings(path)
    assert bare(again) == bare(whole)


@drivers
@pytest.mark.parametrize("name", CASES)
def test_a_raised_budget_goes_on_with_many_calls_in_flight(name: str, driver: str, tmp_path: Path) -> None:
    whole, paid = run(name, driver, budget={"calls": 1000})
    path, total = tmp_path / "run.jsonl", 0
    for share in (0.15, 0.4, 0.75):
        found, made = run(name, driver, journal=path, budget=max(3, int(share * paid)))
        assert found.search.ended == "calls"
        total += made
        assert found.search.spent.calls == total <= max(3, int(share * paid))
        same, made = run(name, driver, journal=path, budget=max(3, int(share * paid)))
        assert (bare(same), made) == (bare(found), 0)
    again, made = run(name, driver, journal=path, budget={"calls": 1000})
    assert total + made == again.search.spent.calls == paid - closing(whole) + closings(path)
    assert bare(again) == bare(whole)


@drivers
@pytest.mark.parametrize("name", CASES)
def test_a_run_whose_time_was_up_goes_on_with_more(name: str, driver: str, tmp_path: Path) -> None:
    whole, _ = run(name, driver, concurrency=1, budget={"calls": 1000})
    path, ends = tmp_path / "run.jsonl", []
    for seconds in (1e-9, 0.01, 0.02):
        found, _ = run(name, driver, concurrency=1, journal=path, budget={"seconds": seconds})
        ends.append(found.search.ended)
    assert ends[0] == "seconds"
    again, _ = run(name, driver, concurrency=1, journal=path, budget={"calls": 1000})
    assert bare(again) == bare(whole)


@drivers
@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("name", ["beam", "mcts", "ab-mcts"])  # those that end with a closing call
def test_a_budget_that_is_raised_call_by_call_is_never_passed(
    name: str, concurrency: int, driver: str, tmp_path: Path
) -> None:
    path, total, advanced = tmp_path / "run.jsonl", 0, set()
    for calls in range(3, 14):
        found, made = run(name, driver, concurrency=concurrency, journal=path, budget=calls)
        total += made
        assert found.search.spent.calls == total <= calls
        assert found.search.unclosed is None
        assert closing(found) >= 1
        advanced.add(len(found.search.tree))
    assert closings(path) == closing(found)
    assert len(advanced) > 1
