"""A request that a ReplayLM does not know is a fault of the test: it comes out of whatever program asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest

from engines import Engine, lm
from faultworlds import play
from thoughtree import Beam, Evaluate, Recording, RecordLM, ReplayLM, TreeOfThoughts
from thoughtree.modules.recording import UnknownRequest
from thoughtree.optimize.evaluation import EvaluationStopped

ONE = Beam(width=1, branching=1, max_depth=1)
drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])


def says(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    return {"next_thoughts": "1. go on", "rating_reasoning": "r", "thought_rating": "sure", "answer": "x"}


@pytest.fixture
def replay(tmp_path: Path) -> ReplayLM:
    """A recording of one call, which no program here makes."""
    path = tmp_path / "replies.jsonl"
    with dspy.context(lm=RecordLM(lm(Engine(says)), path)):
        dspy.Predict("question -> answer")(question="another")
    return ReplayLM(path)


def recorded(program: Any) -> ReplayLM:
    """Of a whole run of the program for the question "q"."""
    store = Recording()
    play(program, RecordLM(lm(Engine(says)), store), "threads", question="q")
    return ReplayLM(store)


def words(**knobs: Any) -> TreeOfThoughts:
    return TreeOfThoughts("question -> answer", **({"controller": ONE, "answer": "path"} | knobs))


def one(inputs: Any, node: Any, n: int) -> list[str]:
    return ["go on"]


class Asks(dspy.Module):
    """A user's rater that asks a model, and may catch whatever that raises."""

    calls = 1

    def __init__(self, catches: bool = False) -> None:
        super().__init__()
        self.ask = dspy.Predict("question -> answer")
        self.catches = catches

    def forward(self, **inputs: Any) -> Any:
        try:
            self.ask(question="rate it")
        except dspy.LMError:
            if not self.catches:
                raise
        return 5.0

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def reward(inputs: Any, prediction: Any) -> float:
    dspy.Predict("question -> answer")(question="is it good?")
    return 1.0


reward.calls = 1  # type: ignore[attr-defined]


@drivers
@pytest.mark.parametrize("on_failure", ["best", "raise"])
@pytest.mark.parametrize(
    "program",
    [
        words(),
        words(propose=one),
        words(propose=one, rate=lambda inputs, nodes: [1.0] * len(nodes), answer="lm"),
        words(propose=one, rate=Asks()),
        words(propose=one, rate=Asks(catches=True)),
        words(
            propose=one, rate=lambda inputs, nodes: [1.0] * len(nodes), reward_fn=reward, threshold=1.0, answer="auto"
        ),
    ],
    ids=["propose", "rate", "answer", "own rater", "own rater that catches", "reward"],
)
def test_it_comes_out_of_the_call(program: Any, on_failure: str, driver: str, replay: ReplayLM):
    with pytest.raises(UnknownRequest, match="The nearest of 1 is line 3"):
        play(program, replay, driver, question="q", config={"on_failure": on_failure})


@drivers
def test_a_test_that_asks_for_more_than_was_recorded_fails(driver: str, tmp_path: Path):
    program, other = words(controller=Beam(width=1, branching=1, max_depth=2)), words(controller=Beam(branching=6))
    model = recorded(program)
    assert play(program, model, driver, question="q").search.path == ["go on", "go on"]
    with pytest.raises(UnknownRequest):
        play(other, model, driver, question="q")


@drivers
def test_it_comes_out_of_a_search_inside_a_search(driver: str, replay: ReplayLM):
    inner = words()

    def rate(inputs: Any, node: Any) -> float:
        try:
            inner(question="inside")
        except UnknownRequest:
            return 1.0
        return 2.0

    rate.calls = 9  # type: ignore[attr-defined]
    with pytest.raises(UnknownRequest):
        play(words(propose=one, rate=rate), replay, driver, question="q")


@drivers
def test_its_journal_is_closed_and_goes_on_where_the_reply_is_there(driver: str, tmp_path: Path, replay: ReplayLM):
    journal = tmp_path / "run.jsonl"
    with pytest.raises(UnknownRequest):
        play(words(), replay, driver, question="q", config={"journal": journal})
    assert [json.loads(line) for line in journal.read_text().splitlines()]
    found = play(words(), lm(Engine(says)), driver, question="q", config={"journal": journal}).search
    assert found.path == ["go on"]


def test_an_evaluation_stops_with_it(replay: ReplayLM):
    devset = [dspy.Example(question=f"q{i}").with_inputs("question") for i in range(3)]
    evaluate = Evaluate(devset=devset, metric=lambda example, found, trace=None: 1.0, num_threads=1)
    with dspy.context(lm=replay), pytest.raises(EvaluationStopped, match="no reply is recorded") as stopped:
        evaluate(words())
    assert [outcome.score for outcome in stopped.value.result.outcomes] == [None]
