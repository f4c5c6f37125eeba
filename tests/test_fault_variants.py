"""Other ways to propose, rate and answer, under the faults that matter most: what passes, what ends, what hangs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dspy
import pytest

from engines import lm
from faultworlds import QUESTION, World, pick, play, shape
from faultworlds import words as plain_words
from patience import in_time
from thoughtree import Beam, TreeOfThoughts
from thoughtree.search import Budget, Ended, SearchStatus
from thoughtree.testing import Fault, FaultKind, FaultyLM

BEAM = Beam(width=2, branching=2, max_depth=2)


def words(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    """As the plain model, and it votes, compares, rates siblings and scores, by the prompt alone."""
    shown = "|".join(inputs.values())
    if "best_thought" in kind:
        return {"vote_reasoning": "r", "best_thought": str(1 + pick(2, shown))}
    if "better_thought" in kind:
        return {"vote_reasoning": "r", "better_thought": str(1 + pick(2, shown))}
    if "thought_ratings" in kind:
        count = inputs["search_candidates"].count("\n\n") + 1
        return {"rating_reasoning": "r", "thought_ratings": "\n".join(f"{i}. maybe" for i in range(1, count + 1))}
    if "rating_score" in kind:
        return {"rating_reasoning": "r", "rating_reachable": "maybe", "rating_score": str(3 + pick(7, shown))}
    if "ideas" in kind:
        return {"reasoning": "r", "ideas": f"1. this way {pick(97, shown)}\n2. that way {pick(89, shown)}"}
    if "grade" in kind:
        return {"reasoning": "r", "grade": ["sure", "maybe", "impossible"][pick(3, shown)]}
    return plain_words(kind, inputs, n)


class TwoCalls(dspy.Module):
    """A rater of the user's own that asks twice."""

    calls = 2

    def __init__(self) -> None:
        super().__init__()
        self.draft = dspy.Predict("question, search_path -> answer")
        self.grade = dspy.ChainOfThought("question, search_path, draft -> grade")

    def forward(self, question: str, search_path: str) -> Any:
        draft = self.draft(question=question, search_path=search_path).answer
        return self.grade(question=question, search_path=search_path, draft=draft)


def checks(inputs: dict[str, Any], prediction: Any) -> float:
    return 0.25


VARIANTS: dict[str, dict[str, Any]] = {
    "samples": {"propose": "samples"},
    "samples of ratings": {"samples": 3},
    "siblings": {"rate": "siblings"},
    "vote": {"rate": "vote"},
    "pairs": {"rate": "pairs"},
    "anchored": {"scale": "anchored"},
    "first answer": {"first": "answer", "reward_fn": checks, "threshold": 1.0},
    "reward": {"reward_fn": checks, "threshold": 1.0},
    "own proposer": {"propose": dspy.ChainOfThought("question, search_path -> ideas")},
    "own rater": {"rate": TwoCalls()},
}
each = pytest.mark.parametrize("name", VARIANTS)
drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])


def world(name: str) -> World:
    """Retries for a request of two calls, each of which may fail twice."""
    return World(
        lambda c, **k: TreeOfThoughts("question -> answer", controller=c, retries=5, **VARIANTS[name]), words, QUESTION
    )


def run(name: str, driver: str, *faults: Fault, **config: Any) -> tuple[Any, FaultyLM]:
    made = world(name)
    model = FaultyLM(lm(made.engine()), faults)
    try:
        return play(made.build(BEAM), model, driver, **made.inputs, config=config).search, model
    finally:
        model.release()


@drivers
@each
def test_what_passes_changes_nothing(name: str, driver: str) -> None:
    plain, untouched = run(name, driver)
    for faults in (
        [Fault.rate_limit(share=0.5, retry_after=0.001), Fault.server(share=0.3, retry_after=0.001)],
        [Fault.transport(retry_after=0.001), Fault.latency(0.001, skew=1.0)],
        [Fault.doubled()],
    ):
        found, model = run(name, driver, *faults)
        lost = sum(count for kind, count in model.met.items() if kind not in (FaultKind.LATENCY, FaultKind.DOUBLED))
        assert shape(found) == shape(plain)
        assert found.failed == lost
        assert model.calls == found.spent.calls >= untouched.calls + lost


@drivers
@each
def test_what_does_not_pass_ends_it_at_once(name: str, driver: str) -> None:
    for after in (0, 3):
        found, model = run(name, driver, Fault.auth(after=after), concurrency=1)
        assert (found.status, found.ended) == (SearchStatus.FAILED, Ended.ERROR)
        assert found.errors == {"LMAuthError: [stub/model] Incorrect API key provided": 1}
        assert model.calls == after + 1


@drivers
@each
def test_no_budget_is_overshot(name: str, driver: str) -> None:
    for budget in (4, 7):
        found, model = run(name, driver, Fault.rate_limit(share=0.5, times=2, retry_after=0.001), budget=budget)
        assert model.calls <= budget
        assert model.calls <= found.spent.calls + found.unfinished


@drivers
def test_a_deadline_holds(driver: str) -> None:
    """All at once, as each takes the whole of its time."""
    with ThreadPoolExecutor(len(VARIANTS)) as pool:
        hung = pool.map(lambda name: in_time(lambda s: until_one_hangs(name, driver, s), first=2.0), VARIANTS)
        results = dict(zip(VARIANTS, hung, strict=True))
    assert {name: found.ended for name, found in results.items()} == dict.fromkeys(VARIANTS, Ended.SECONDS)
    assert all(found.unfinished for found in results.values())


def until_one_hangs(name: str, driver: str, seconds: float) -> Any:
    found, model = run(name, driver, Fault.hang(after=2), budget=Budget(seconds=seconds))
    return found if model.met else None
