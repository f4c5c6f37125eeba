"""A role of which no reply was of any use is named first: the search has gone without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engines import Engine
from faultworlds import play
from puzzle24 import PUZZLE
from thoughtree import Beam, Game24, SearchResult, TreeOfThoughts

drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])
DEEP = Beam(width=2, branching=2, max_depth=1)


def two(inputs: Any, node: Any, n: int) -> list[str]:
    return ["so the answer is 1", "so the answer is 2"]


def broken(inputs: Any, nodes: Any) -> list[float]:
    return [1 / 0]


def equal(inputs: Any, nodes: Any) -> list[float]:
    return [1.0] * len(nodes)


def words(**knobs: Any) -> TreeOfThoughts:
    given = {"propose": two, "controller": DEEP, "answer": "path", "retries": 0} | knobs
    return TreeOfThoughts("question -> answer", **given)


def said(result: Any, tmp_path: Path) -> tuple[list[str], str]:
    """The warnings, and the advice: the same of a result that was saved."""
    result.save(tmp_path / "result.json")
    again = SearchResult.load(tmp_path / "result.json")
    assert (again.lost, again.warnings) == (result.lost, result.warnings)
    return list(result.warnings), result.explain().splitlines()[-1]


@drivers
def test_a_rater_that_always_raises(driver: str, tmp_path: Path):
    found = play(words(rate=broken), Engine(lambda *_: {}), driver, question="q").search
    warnings, advice = said(found, tmp_path)
    count, error = found.lost["rate"]
    assert count == 1  # for both thoughts
    assert str(error).startswith("ZeroDivisionError: division by zero")
    assert warnings[0] == f"rate: every request failed, of 1; first: {error}"
    assert advice == f"Change first: rate: every request failed, of 1 ({error})."


@drivers
def test_a_game_whose_rater_always_raises(driver: str, tmp_path: Path):
    def propose(kind: Any, inputs: dict[str, str], n: int) -> dict[str, str]:
        return {"next_thoughts": "1. 4 + 9 = 13\n2. 13 - 9 = 4"}

    program = TreeOfThoughts(task=Game24(), rate=broken, controller=DEEP)
    found = play(program, Engine(propose), driver, numbers=PUZZLE).search
    warnings, advice = said(found, tmp_path)
    assert warnings[0].startswith("rate: every request failed, of ")
    assert "ZeroDivisionError" in warnings[0]
    assert advice.startswith("Change first: rate: every request failed, of ")


@drivers
def test_ratings_of_which_none_can_be_read(driver: str, tmp_path: Path):
    found = play(words(), Engine(lambda *_: {"thought_rating": "as you like"}), driver, question="q").search
    warnings, advice = said(found, tmp_path)
    assert found.lost["rate"][1] is None
    assert warnings[0] == f"rate: no reply could be read, of {found.lost['rate'][0]}: the search went without"
    assert advice.startswith("Change first: the ratings' format: many could not be read")


def test_a_rater_that_fails_at_times_is_not_lost():
    failing = iter([True, False])

    def rate(inputs: Any, nodes: Any) -> list[float]:
        return [1 / 0] if next(failing) else equal(inputs, nodes)

    deeper = Beam(width=2, branching=2, max_depth=2)
    found = play(words(rate=rate, controller=deeper), Engine(lambda *_: {}), "threads", question="q").search
    assert (found.failed, found.lost) == (1, {})
    assert not [warning for warning in found.warnings if warning.startswith("rate: ")]


@drivers
@pytest.mark.parametrize(
    ("reward", "error"),
    [
        (lambda inputs, prediction: None, "ValueError: reward_fn <lambda> gave None: must be a finite number"),
        (lambda inputs, prediction: 1 / 0, "ZeroDivisionError: division by zero"),
    ],
    ids=["None", "raises"],
)
@pytest.mark.parametrize("answer", ["auto", "lm"])
def test_a_reward_that_scores_no_answer(answer: str, reward: Any, error: str, driver: str, tmp_path: Path):
    def propose(inputs: Any, node: Any, n: int) -> list[str]:
        return ["ANSWER: 1"] if answer == "auto" else ["think of 1"]  # judged as a step, or as the closing call's

    program = words(propose=propose, rate=equal, reward_fn=reward, threshold=1.0, answer=answer)
    found = play(program, Engine(lambda *_: {"answer": "1"}), driver, question="q").search
    warnings, advice = said(found, tmp_path)
    count, first = found.lost["reward"]
    assert str(first).startswith(error)
    assert f"reward: every request failed, of {count}; first: {first}" in warnings
    assert advice == f"Change first: reward: every request failed, of {count} ({first})."


def test_a_reward_that_scores_is_not_lost():
    program = words(rate=equal, reward_fn=lambda inputs, prediction: 0.0, threshold=1.0, answer="lm")
    assert play(program, Engine(lambda *_: {"answer": "1"}), "threads", question="q").search.lost == {}
