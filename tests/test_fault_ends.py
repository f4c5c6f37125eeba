"""Deadline, budget and stop, in every program and controller, while a call hangs: the best so far, and the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engines import lm
from faultworlds import CONTROLLERS, WORLDS, World, play, shape
from patience import in_time
from thoughtree.search import Budget, Ended, SearchStatus, Stop
from thoughtree.testing import Fault, FaultyLM

REPLIES = (1, 4, 6)  # that come before a call hangs
CLOSING = {"text": 1, "tools": 1}  # calls that a budget holds back

drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])
combinations = pytest.mark.parametrize(
    ("name", "controller"), [(name, c) for name in WORLDS for c in CONTROLLERS], ids=str
)


def until_a_call_hangs(
    world: World, controller: Any, driver: str, replies: int, halted: Any = None, **config: Any
) -> Any:
    """A run with one call in flight at a time, in which the call after `replies` hangs. halted: called as it does.

    None: it ended before that call.
    """

    def chosen(prompt: str) -> bool:
        if halted is not None:
            halted()
        return True

    model = FaultyLM(lm(world.engine()), [Fault.hang(after=replies, where=chosen)])
    try:
        found = play(world.build(controller), model, driver, **world.inputs, config={"concurrency": 1, **config}).search
    finally:
        model.release()
    if not model.met:
        return None
    assert (model.calls, found.spent.calls, found.unfinished) == (replies + 1, replies, 1)
    return found


def stopped(world: World, controller: Any, driver: str, replies: int) -> Any:
    stop = Stop()
    return until_a_call_hangs(world, controller, driver, replies, halted=stop, stop=stop)


def best_so_far(result: Any) -> Any:
    """All but why it ended, and what came of the answer."""
    nodes, status, _, best, _, lessons = shape(result)
    return nodes, status, best, lessons


@drivers
@combinations
def test_a_stop_gives_what_a_budget_of_as_many_calls_gives(name: str, controller: str, driver: str) -> None:
    world, order = WORLDS[name], CONTROLLERS[controller]
    for replies in REPLIES:
        found = stopped(world, order, driver, replies)
        assert found.ended is Ended.STOPPED
        calls = replies + CLOSING.get(name, 0)
        whole = play(
            world.build(order), world.engine(), driver, **world.inputs, config={"concurrency": 1, "budget": calls}
        ).search
        assert whole.ended is Ended.CALLS
        assert best_so_far(found) == best_so_far(whole)


@drivers
def test_a_deadline_gives_what_a_stop_gives(driver: str) -> None:
    """All at once, as each takes the whole of its time."""

    def ended(combination: tuple[str, str]) -> Any:
        world, order = WORLDS[combination[0]], CONTROLLERS[combination[1]]
        return in_time(lambda s: until_a_call_hangs(world, order, driver, 4, budget=Budget(seconds=s)), first=2.0)

    all_of_them = [(name, controller) for name in WORLDS for controller in CONTROLLERS]
    with ThreadPoolExecutor(len(all_of_them)) as pool:
        results = dict(zip(all_of_them, pool.map(ended, all_of_them), strict=True))
    for (name, controller), found in results.items():
        assert found.ended is Ended.SECONDS
        assert best_so_far(found) == best_so_far(stopped(WORLDS[name], CONTROLLERS[controller], driver, 4))
    assert {found.status for found in results.values()} == {SearchStatus.UNVERIFIED, SearchStatus.FAILED}


# ---- the closing call

ITS_PROMPT = "output fields, starting with the field `[[ ## answer ## ]]`"
LOST = [
    (Fault.hang(where=ITS_PROMPT), "no reply came before the end", {}),
    (Fault.empty(times=None, where=ITS_PROMPT), "its reply could not be read", {}),
    (Fault.auth(where=ITS_PROMPT), "LMAuthError: [stub/model] Incorrect API key provided", {"failed": 1}),
    (
        Fault.rate_limit(times=None, where=ITS_PROMPT),
        "LMRateLimitError: [stub/model] Rate limit reached",
        {"failed": 3},
    ),
]


@drivers
@pytest.mark.parametrize(("fault", "why", "counts"), LOST, ids=lambda x: str(getattr(x, "kind", "")))
def test_a_closing_call_that_fails_is_told_of_and_the_best_candidate_stands(
    fault: Fault, why: str, counts: dict[str, int], driver: str, tmp_path: Path
) -> None:
    world = WORLDS["text"]
    whole = play(world.build(CONTROLLERS["beam"]), world.engine(), driver, **world.inputs)

    def attempt(seconds: float) -> Any:
        model, config = FaultyLM(lm(world.engine()), [fault]), {"budget": Budget(seconds=seconds)}
        try:
            found = play(world.build(CONTROLLERS["beam"]), model, driver, **world.inputs, config=config)
        finally:
            model.release()
        return found if sum(model.met.values()) >= counts.get("failed", 1) else None

    found = in_time(attempt, first=1.5)
    search = found.search
    assert best_so_far(search) == best_so_far(whole.search)  # the search itself was over
    assert (search.ended, search.failed) == (Ended.SEARCHED_OUT, counts.get("failed", 0))
    assert (search.unclosed, whole.search.unclosed) == (why, None)
    assert found.answer == search.path[-1] != whole.answer
    assert search.warnings[-1].startswith(f"the closing call gave no answer: {why};")
    assert f"The closing call gave no answer: {why}." in search.explain().splitlines()
    search.save(tmp_path / "result.json")
    assert type(search).load(tmp_path / "result.json").unclosed == why


def test_explain_tells_of_failures_that_were_mended_and_of_calls_left_in_flight() -> None:
    world = WORLDS["text"]
    plan = [Fault.rate_limit(share=0.5, retry_after=0.001), Fault.hang(after=9)]

    def attempt(seconds: float) -> Any:
        model = FaultyLM(lm(world.engine()), plan)
        config = {"concurrency": 1, "budget": Budget(seconds=seconds)}
        try:
            found = play(world.build(CONTROLLERS["beam"]), model, "threads", **world.inputs, config=config).search
        finally:
            model.release()
        return found if "hang" in model.met else None

    found = in_time(attempt)
    said = found.explain().splitlines()
    assert f"Failures: {found.failed}; first: LMRateLimitError: [stub/model] Rate limit reached." in said
    assert "Calls still in flight as it ended: 1." in said
