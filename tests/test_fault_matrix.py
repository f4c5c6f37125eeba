"""Every program, driver and controller against every fault: no hang, no overshoot, and a result that says what was."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest

from engines import lm
from faultworlds import CONTROLLERS, WORLDS, World, play, shape
from thoughtree.search import Ended, SearchStatus
from thoughtree.testing import Fault, FaultKind, FaultyLM

SOON = {"retry_after": 0.001}
CALLS = 100  # a budget that none of these searches needs, retries included

worlds = pytest.mark.parametrize("world", WORLDS.values(), ids=list(WORLDS))
controllers = pytest.mark.parametrize("controller", CONTROLLERS.values(), ids=list(CONTROLLERS))
drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])


def every(test: Any) -> Any:
    return worlds(controllers(drivers(test)))


class Run:
    """One call of a program under faults, with what the model behind them has counted."""

    def __init__(self, world: World, controller: Any, driver: str, *faults: Fault, **config: Any) -> None:
        self.engine = world.engine()
        self.model = FaultyLM(lm(self.engine), faults)
        program = world.build(controller)
        try:
            self.found = play(program, self.model, driver, **world.inputs, config={"budget": CALLS, **config})
        finally:
            self.model.release()
        self.search = self.found.search
        assert set(program.signature.output_fields) <= set(self.found.keys())
        self.check(config.get("budget", CALLS))

    def check(self, budget: Any) -> None:
        """What holds of every run, whatever went wrong."""
        search = self.search
        assert search.status in (SearchStatus.SOLVED, SearchStatus.UNVERIFIED, SearchStatus.FAILED)
        assert search.ended is not None
        assert not isinstance(budget, int) or self.model.calls <= budget
        assert self.model.calls <= search.spent.calls + search.unfinished  # no call that nobody has counted
        assert search.failed == sum(search.errors.values())
        for node in search.tree:
            assert node.value is None or math.isfinite(node.value)
            assert all(math.isfinite(total) for total in (node.total, node.visits))


@cache
def plain_run(world: World, controller: Any, driver: str) -> Run:
    """The run in which nothing goes wrong."""
    return Run(world, controller, driver)


def test_the_worlds_are_worth_it() -> None:
    """Fault-free, each takes from 7 to 20 calls; some are solved, some have a candidate, some nothing."""
    runs = {
        (name, kind): plain_run(world, controller, "threads").search
        for name, world in WORLDS.items()
        for kind, controller in CONTROLLERS.items()
    }
    assert all(7 <= found.spent.calls <= 20 for found in runs.values())
    assert {found.failed for found in runs.values()} == {0}
    assert {found.status for found in runs.values()} == set(SearchStatus) - {SearchStatus.RUNNING, SearchStatus.CLOSING}


# ---- what passes

PASSING = {
    "rate limit": [Fault.rate_limit(share=0.5, **SOON)],
    "server": [Fault.server(share=0.5, **SOON)],
    "timeout and transport": [Fault.timeout(share=0.4, **SOON), Fault.transport(share=0.4, **SOON)],
    "twice each": [Fault.rate_limit(times=2, share=0.6, **SOON)],
    "all kinds, and slow": [
        Fault.rate_limit(share=0.3, **SOON),
        Fault.server(share=0.3, **SOON),
        Fault.latency(0.001, skew=1.0),
    ],
}


@every
def test_what_passes_changes_nothing(world: World, controller: Any, driver: str) -> None:
    plain = plain_run(world, controller, driver)
    for name, faults in PASSING.items():
        run = Run(world, controller, driver, *faults)
        lost = sum(count for kind, count in run.model.met.items() if kind is not FaultKind.LATENCY)
        assert shape(run.search) == shape(plain.search), name
        assert run.found.toDict() == plain.found.toDict(), name
        assert run.search.failed == lost > 0, name
        assert run.model.calls == run.search.spent.calls == plain.model.calls + lost, name
        assert run.engine.count() == plain.engine.count(), name


@every
def test_a_reply_that_comes_twice_changes_nothing(world: World, controller: Any, driver: str) -> None:
    plain = shape(plain_run(world, controller, driver).search)
    for fault in (Fault.doubled(), Fault.duplicated()):
        run = Run(world, controller, driver, fault)
        assert shape(run.search) == plain, fault.kind
        assert sum(run.model.met.values()) > 0
        assert (run.search.failed, run.search.unread) == (0, {})


@every
def test_retries_overshoot_no_budget(world: World, controller: Any, driver: str) -> None:
    """`Run` holds the calls that arrived against the budget; here they are in flight together, and half are lost."""
    for budget in (3, 6):
        run = Run(world, controller, driver, Fault.rate_limit(share=0.5, times=2, **SOON), budget=budget)
        if run.search.ended is Ended.CALLS:
            assert run.search.spent.calls + run.search.unfinished == run.model.calls <= budget


@every
def test_what_should_pass_and_does_not_is_an_error_of_every_node(world: World, controller: Any, driver: str) -> None:
    run = Run(world, controller, driver, Fault.server(times=None, **SOON))
    assert (run.search.status, run.search.ended) == (SearchStatus.FAILED, Ended.ERROR)
    assert run.search.first_error == "LMServerError: [stub/model] Service unavailable"
    assert run.search.failed == run.model.calls == run.search.spent.calls
    assert run.search.failed % 3 == 0  # each request was asked three times: two retries are the default
    assert run.engine.count() == 0
    assert all(node.value is None for node in run.search.tree)


# ---- what does not pass


@every
def test_a_wrong_key_or_an_empty_account_ends_it_at_once(world: World, controller: Any, driver: str) -> None:
    for fault, says in (
        (Fault.auth(), "LMAuthError: [stub/model] Incorrect API key provided"),
        (Fault.billing(after=5), "LMBillingError: [stub/model] You exceeded your current quota"),
    ):
        one = Run(world, controller, driver, fault, concurrency=1)
        assert (one.search.status, one.search.ended) == (SearchStatus.FAILED, Ended.ERROR)
        assert one.search.errors == {says: 1}
        assert one.model.calls == fault.after + 1  # nothing else is tried
        many = Run(world, controller, driver, fault, concurrency=8)
        assert (many.search.status, many.search.ended) == (SearchStatus.FAILED, Ended.ERROR)
        assert list(many.search.errors) == [says]
        assert many.model.calls <= fault.after + 8  # those in flight
        assert many.engine.count() == fault.after


@every
def test_a_prompt_that_is_too_long_fails_what_it_was_for_and_no_more(
    world: World, controller: Any, driver: str
) -> None:
    plain = plain_run(world, controller, driver)
    run = Run(world, controller, driver, Fault.context_overflow(share=0.25))
    lost = run.model.met.get(FaultKind.CONTEXT_OVERFLOW, 0)
    assert run.search.failed == lost
    assert run.search.errors == (
        {"ContextWindowExceededError: [stub/model] Maximum context length exceeded": lost} if lost else {}
    )
    if not lost:
        assert shape(run.search) == shape(plain.search)
    assert run.engine.count() == run.model.calls - lost  # and none was asked again


@every
def test_replies_that_nobody_can_read_are_counted_and_are_no_scores(world: World, controller: Any, driver: str) -> None:
    for fault in (Fault.empty(share=0.5), Fault.truncated(0, share=0.5), Fault.empty(times=None)):
        run = Run(world, controller, driver, fault)
        assert sum(run.search.unread.values()) == run.model.met.get(fault.kind, 0)
        assert (run.search.failed, run.search.errors) == (0, {})
        assert run.engine.count() == run.model.calls == run.search.spent.calls
    assert run.search.status is SearchStatus.FAILED  # nothing was ever said


@every
def test_cut_and_malformed_replies_end_no_search(world: World, controller: Any, driver: str) -> None:
    for fault in (
        Fault.truncated(times=None),
        Fault.malformed(share=0.5),
        Fault.malformed("nan", times=None),
    ):
        run = Run(world, controller, driver, fault)
        assert (run.search.failed, run.search.errors) == (0, {})
        assert run.engine.count() == run.model.calls == run.search.spent.calls
