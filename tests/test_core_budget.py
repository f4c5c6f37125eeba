"""Ceilings: what is reserved, what is never exceeded, and what happens where one is met."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from patience import in_time
from thoughtree.search import (
    DFS,
    Answer,
    Answered,
    Ask,
    Beam,
    BestFirst,
    Budget,
    Ended,
    Failed,
    NodeStatus,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Rating,
    Refused,
    Reply,
    Request,
    Search,
    SearchStatus,
    Step,
    Tree,
    Unread,
    Usage,
    adrive,
    drive,
    run,
)
from thoughtree.search.stopping import Stop
from worlds import Digits, Letters, prepared, search

FREE = Usage(0)
BINARY = Letters({"": "ab"} | dict.fromkeys(("a", "b", "aa", "ab", "ba", "bb"), "ab")).steps


def priced(world: Letters, usage: Usage) -> Callable[[Ask, Tree[Any, Any]], Callable[[], Reply]]:
    """Each call costs `usage`."""

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Callable[[], Reply]:
        return lambda: Reply(world.answer(ask.request, tree), usage)

    return prepare


# ---- calls


@pytest.mark.parametrize("calls", range(1, 15))
@pytest.mark.parametrize("controller", [DFS(), Beam(width=2), BestFirst()])
def test_a_budget_of_calls_is_used_up_and_never_passed(controller: Any, calls: int) -> None:
    world = Letters(BINARY)
    result = world.run(controller, budget=Budget(calls=calls))
    assert len(world.asked) == calls == result.spent.calls
    assert result.ended is Ended.CALLS


def test_seven_calls_with_a_branching_of_five_never_make_an_eighth() -> None:
    world = Letters({"": "abcde", "a": "fghij", "b": "klmno"})
    result = world.run(Beam(branching=5), budget=Budget(calls=7))
    assert len(world.asked) == 7
    assert (result.status, result.best.state) == (SearchStatus.UNVERIFIED, "a")


def test_a_request_reserves_the_calls_that_its_role_declared() -> None:
    world = Letters({"": "ab", "a": "c", "b": "d"})
    running = Search(Beam(), "", step=world.step, calls={Propose: 3, Rate: 2}, budget=Budget(calls=9))
    asks = running.ask()
    running.tell(asks[0].id, Proposed(("a", "b")), Usage(3))
    asks = running.ask()
    assert len(asks) == 2  # 3 spent, 2 and 2 reserved; 2 left, too few for a third proposal
    running.tell(asks[0].id, Rated((1.0,)), Usage(2))
    running.tell(asks[1].id, Rated((1.0,)), Usage(2))
    assert (running.ended, running.spent.calls) == (Ended.CALLS, 7)


def test_what_was_reserved_and_not_used_can_be_used_by_others() -> None:
    running = Search(Beam(), "", step=Letters({}).step, calls={Propose: 3}, budget=Budget(calls=5))
    running.tell(running.ask()[0].id, Proposed(("a", "b", "c", "d")), Usage(1))
    assert len(running.ask()) == 4  # one spent, four more


def test_requests_of_code_need_no_calls() -> None:
    world = Letters(BINARY)
    running = Search(Beam(width=2, max_depth=2), "", step=world.step, calls={Propose: 0}, budget=Budget(calls=4))
    while asks := running.ask():
        for ask in asks:
            usage = FREE if isinstance(ask.request, Propose) else Usage(1)
            running.tell(ask.id, world.answer(ask.request, running.tree), usage)
    assert world.proposed() == ["", "a", "b"]
    assert len(world.rated()) == 4  # 2 and 2 of 4


def test_the_plain_driver_charges_what_is_reserved_and_calls_that_raise_too() -> None:
    world = Letters(BINARY)
    free = run(Search(Beam(), "", calls={Step: 0}, budget=Budget(calls=4)), world.answer)
    assert world.asked == ["propose ", "step a", "step b", "rate a", "rate b", "propose a"]
    assert free.spent.calls == 4

    def raises(request: Request, tree: Tree[Any, Any]) -> Outcome:
        if isinstance(request, Rate):
            made.append(request)
            raise ConnectionError("down")
        return world.answer(request, tree)

    made: list[Request] = []
    lost = run(Search(DFS(), "", step=world.step, budget=Budget(calls=2)), raises)
    assert (len(made), lost.spent.calls, lost.first_error) == (1, 2, "ConnectionError: down")


def test_a_goal_among_the_last_replies_that_were_paid_for_is_found() -> None:
    # Four calls: the root, a and b rated, a expanded. The level is incomplete; the goal was told.
    world = Letters({"": "ab", "a": "cd", "b": "ef"}, goals=("ac",))
    result = world.run(Beam(), budget=Budget(calls=4))
    assert (result.status, result.ended, result.path) == (SearchStatus.SOLVED, Ended.GOAL, ["a", "c"])


# ---- tokens and cost


@pytest.mark.parametrize(("budget", "ended"), [({"tokens": 100}, "tokens"), ({"cost": 0.3}, "cost")])
@pytest.mark.parametrize("driver", ["threads", "asyncio"])
def test_no_call_starts_once_tokens_or_cost_are_reached(budget: dict[str, Any], ended: str, driver: str) -> None:
    world = Letters({"": "abcdefgh"} | dict.fromkeys("abcdefgh", "abcdefgh"))
    running = Search(Beam(branching=8), "", step=world.step, budget=Budget(**budget))
    usage = Usage(1, 30, 0.1)
    if driver == "threads":
        result = drive(running, priced(world, usage), concurrency=1)
    else:

        def prepare(ask: Ask, tree: Tree[Any, Any]) -> Any:
            async def call() -> Reply:
                return Reply(world.answer(ask.request, tree), usage)

            return call

        result = asyncio.run(adrive(running, prepare, concurrency=1))
    # 30, 60, 90, 120 tokens; 0.1, 0.2, 0.3 dollars: though all eight ratings were asked for at once.
    assert result.spent.calls == len(world.asked) == (4 if ended == "tokens" else 3)
    assert (result.ended, result.status) == (Ended(ended), SearchStatus.UNVERIFIED)


def test_with_calls_in_flight_tokens_are_passed_by_those_alone() -> None:
    world = Letters({"": "abcdefgh"})
    running = Search(Beam(branching=8), "", step=world.step, budget=Budget(tokens=31))
    drive(running, priced(world, Usage(1, 30)), concurrency=3)
    assert len(world.asked) <= 2 + 2  # the second reply reaches the ceiling, with two more under way


def test_code_goes_on_where_tokens_are_used_up() -> None:
    world = Letters({"": "ab"}, goals=("b",))
    running = Search(Beam(), "", calls={"cheap": 1, **dict.fromkeys((Propose,), 0)}, budget=Budget(tokens=1))
    result = run(running, world.answer)
    assert result.status is SearchStatus.SOLVED


# ---- nodes


@pytest.mark.parametrize("nodes", range(1, 12))
@pytest.mark.parametrize("controller", [DFS(), Beam(), BestFirst(keep=None)])
def test_a_budget_of_nodes_counts_the_root_and_dropped_ones(controller: Any, nodes: int) -> None:
    world = Letters({"": "axa", "a": "axa", "aa": "axa"}, illegal="x")  # a child, an illegal one, a copy
    result = world.run(controller, budget=Budget(nodes=nodes))
    assert len(result.tree) == min(nodes, 10)
    assert (result.ended is Ended.NODES) == (nodes < 10)


# ---- a purse outside


def test_a_refusal_ends_the_search_once_what_is_in_flight_is_in() -> None:
    running = Search(Beam(), "", step=Letters({}).step)
    running.tell(running.ask()[0].id, Proposed(("a", "b", "c")))
    first, second, third = running.ask()
    running.tell(second.id, Refused("cost"))
    assert (running.status, running.ask()) == (SearchStatus.RUNNING, [])
    running.tell(first.id, Rated((9.0,)))
    running.tell(third.id, Rated((3.0,)))
    assert (running.status, running.ended) == (SearchStatus.UNVERIFIED, Ended.COST)
    assert running.best().value == 9.0


def test_a_refusal_spends_nothing() -> None:
    running = Search(Beam(), "")
    running.tell(running.ask()[0].id, Refused("calls"))  # with the usage that a reply has by default
    assert (running.spent.calls, running.status, running.ended) == (0, SearchStatus.FAILED, Ended.CALLS)


def test_a_retry_is_not_made_after_a_refusal() -> None:
    running = Search(Beam(), "", step=Letters({}).step, transient=3, retries={Rate: 3})
    running.tell(running.ask()[0].id, Proposed(("a", "b")))
    first, second = running.ask()
    running.tell(first.id, Refused("seconds"))
    running.tell(second.id, Failed("busy", transient=True))
    assert (running.ended, running.failed, running.ask()) == (Ended.SECONDS, 1, [])


def test_after_a_purse_refused_there_is_no_closing_call() -> None:
    running = Search(Beam(), "", step=Letters({}).step, closing=lambda best: True)
    running.tell(running.ask()[0].id, Proposed(("a", "b")))
    first, second = running.ask()
    running.tell(first.id, Rated((9.0,)))
    running.tell(second.id, Refused("calls"))
    assert (running.ask(), running.status, running.ended) == ([], SearchStatus.UNVERIFIED, Ended.CALLS)


def test_a_refused_closing_call_ends_the_search() -> None:
    running = Search(DFS(max_depth=1), "", step=Letters({}, goals=("a",)).step, closing=lambda best: True)
    running.tell(running.ask()[0].id, Proposed(("a",)))
    (closing,) = running.ask()
    running.tell(closing.id, Refused("calls"))
    assert (running.status, running.closed, running.spent.calls) == (SearchStatus.SOLVED, None, 1)


# ---- the closing call


def closing_world(**more: Any) -> tuple[Letters, Any]:
    world = Letters({"": "ab", "a": "cd"}, {"a": 5.0}, **more)
    return world, lambda **knobs: world.run(Beam(width=1), closing=lambda best: True, **knobs)


def test_the_closing_call_is_made_for_the_best_node_when_all_is_searched() -> None:
    world, go = closing_world()
    result = go()
    assert world.asked[-1] == "answer ac"
    assert result.answer == {"answer": "ac"}
    assert result.spent.calls == len(world.asked)


@pytest.mark.parametrize("calls", range(2, 9))
def test_the_closing_call_is_held_back_from_the_start(calls: int) -> None:
    world, go = closing_world()
    result = go(budget=Budget(calls=calls))
    assert len(world.asked) == calls == result.spent.calls
    assert world.asked[-1].startswith("answer ")
    assert result.answer is not None
    # Whole, it is 3 proposals, 4 ratings and the answer.
    assert result.ended is (Ended.CALLS if calls < 8 else Ended.SEARCHED_OUT)


@pytest.mark.parametrize(
    ("why", "closes"),
    [
        (Ended.GOAL, True),
        (Ended.SEARCHED_OUT, True),
        (Ended.EXPANSIONS, True),
        (Ended.CALLS, True),
        (Ended.NODES, True),
        (Ended.TOKENS, False),
        (Ended.COST, False),
        (Ended.SECONDS, False),
        (Ended.STOPPED, False),
        (Ended.ERROR, False),
    ],
)
def test_a_clock_a_purse_a_person_and_an_error_leave_no_closing_call(why: Ended, closes: bool) -> None:
    world = Letters({"": "ab", "a": "cd"}, {"a": 5.0}, goals=("ac",) if why is Ended.GOAL else ())
    controller = BestFirst(max_depth=2, expansions=1 if why is Ended.EXPANSIONS else 9)
    budget = {Ended.CALLS: Budget(calls=5), Ended.NODES: Budget(nodes=4)}.get(why, Budget())
    budget = {Ended.TOKENS: Budget(tokens=30), Ended.COST: Budget(cost=3.0)}.get(why, budget)
    running = Search(controller, "", step=world.step, budget=budget, closing=lambda best: True)

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Reply:
        if len(tree) > 3 or (why in (Ended.STOPPED, Ended.SECONDS, Ended.ERROR) and len(world.asked) == 3):
            if why in (Ended.STOPPED, Ended.SECONDS):
                running.stop(why)
            if why is Ended.ERROR:
                return Reply(Failed("no such key", fatal=True))
        return Reply(world.answer(ask.request, tree), Usage(1, 10, 1.0))

    result = drive(running, prepare, concurrency=1)
    assert (result.ended, world.asked[-1].startswith("answer")) == (why, closes)


def test_the_closing_call_is_not_made_where_it_is_not_needed_or_there_is_nothing_to_close() -> None:
    world = Letters({"": "ab"}, {"a": 5.0})
    result = world.run(Beam(max_depth=1), closing=lambda best: best.state != "a")
    assert world.rated() == ["a", "b"]
    assert result.answer is None
    world = Letters({})
    result = world.run(Beam(), closing=lambda best: True)
    assert (world.asked, result.status) == (["propose "], SearchStatus.FAILED)


def test_the_closing_call_is_asked_again_within_the_budget() -> None:
    for calls, attempts in ((3, 1), (4, 2), (9, 3)):
        asked: list[Request] = []

        def answer(request: Request, tree: Tree[Any, Any], asked: list[Request] = asked) -> Outcome:
            asked.append(request)
            return Letters({"": "a"}).answer(request, tree) if not isinstance(request, Answer) else Unread("hm")

        running = Search(
            DFS(max_depth=1),
            "",
            step=Letters({}).step,
            closing=lambda best: True,
            retries={Answer: 2},
            budget=Budget(calls=calls),
        )
        result = run(running, answer)
        assert asked.count(Answer(1)) == attempts
        assert result.spent.calls == 2 + attempts
        assert (result.answer, result.unread) == (None, {"answer": attempts})


def test_a_closing_answer_that_code_accepts_solves() -> None:
    world = Letters({"": "a"})

    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        if isinstance(request, Answer):
            return Answered({"answer": 24}, verified=True, reward=0.9, feedback="good")
        return world.answer(request, tree)

    running = Search(DFS(max_depth=1), "", step=world.step, closing=lambda best: True)
    result = run(running, answer)
    assert (result.status, result.answer) == (SearchStatus.SOLVED, {"answer": 24})
    assert (result.reward, result.feedback) == (0.9, "good")


# ---- impossible budgets


@pytest.mark.parametrize(
    ("ceilings", "more", "said"),
    [
        ({"calls": 1}, {"closing": lambda best: True}, "the closing call takes 1 of them"),
        ({"calls": 2}, {"calls": {Propose: 3}}, "too few for the first request (a proposal takes 3)"),
        (
            {"calls": 3},
            {"calls": {Propose: 3}, "closing": lambda best: True},
            "(a proposal takes 3, and 1 are held back for the closing call)",
        ),
    ],
)
def test_a_budget_that_lets_nothing_start_is_refused(ceilings: Any, more: Any, said: str) -> None:
    with pytest.raises(ValueError, match="Budget") as caught:
        Search(Beam(), "", budget=Budget(**ceilings), **more)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("ceilings", "error", "said"),
    [
        ({"calls": 0}, ValueError, "Budget(calls=0): must be above 0, or None for no ceiling"),
        ({"calls": 2.5}, TypeError, "Budget(calls=2.5): must be an integer, or None for no ceiling"),
        ({"calls": True}, TypeError, "Budget(calls=True)"),
        ({"tokens": -1}, ValueError, "Budget(tokens=-1)"),
        ({"cost": float("nan")}, ValueError, "Budget(cost=nan)"),
        ({"seconds": float("inf")}, ValueError, "Budget(seconds=inf)"),
        ({"seconds": "5"}, TypeError, "Budget(seconds='5'): must be a number, or None for no ceiling"),
        ({"nodes": 0}, ValueError, "Budget(nodes=0)"),
    ],
)
def test_a_wrong_ceiling_is_named(ceilings: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        Budget(**ceilings)
    assert said in str(caught.value)


def test_a_budget_is_made_of_what_people_write() -> None:
    assert Budget.of(60) == Budget(calls=60)
    assert Budget.of({"cost": 0.5, "nodes": 9}) == Budget(cost=0.5, nodes=9)
    assert Budget.of(None) == Budget()
    assert Budget.of(Budget(seconds=1)) == Budget(seconds=1)
    assert Budget(calls=3, seconds=1.5).dump() == {"calls": 3, "seconds": 1.5}


# ---- many at once


def test_a_thousand_random_runs_never_overshoot() -> None:
    controllers = [DFS(), Beam(width=3, branching=4), Beam(stop="first"), BestFirst(open=4, keep=None)]
    overshot, closed = 0, 0
    for i in range(1000):
        rng = random.Random(i)
        calls, lock, made = rng.randint(2, 60), threading.Lock(), [0]
        world = Digits(i, flaky=0.2, unread=0.2, goal=(1, 2, 4))

        def count(lock: Any = lock, made: list[int] = made) -> None:
            with lock:
                made[0] += 1

        running = search(
            rng.choice(controllers),
            world,
            calls=calls,
            rating=Rating(
                samples=rng.choice([1, 3]),
                together=rng.choice(["each", "siblings", "level", "pairs"]),
                near=rng.choice([None, 1.0]),
            ),
            closing=rng.choice([None, lambda best: True]),
            sampled=rng.random() < 0.3,
            first=rng.random() < 0.3,
        )
        result = drive(running, prepared(world, count), concurrency=rng.choice([1, 8, 64]))
        overshot += made[0] > calls
        closed += result.spent_by.get("answer") is not None
        assert result.spent.calls <= made[0] <= result.spent.calls + result.unfinished
    assert overshot == 0
    assert closed > 100


# ---- retries


def flaky(times: int, world: Letters, error: Failed) -> Callable[[Ask, Tree[Any, Any]], Outcome]:
    """Each request fails that many times, then is answered."""

    def answer(ask: Ask, tree: Tree[Any, Any]) -> Outcome:
        return error if ask.attempt < times else world.answer(ask.request, tree)

    return answer


def test_a_retry_waits_half_a_second_then_twice_as_long_each_time() -> None:
    running, delays = Search(Beam(), "", transient=9), []
    for _ in range(9):
        (ask,) = running.ask()
        delays.append(ask.delay)
        running.tell(ask.id, Failed("busy", transient=True))
    assert delays == [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0]


@pytest.mark.parametrize(
    ("said", "waits"),
    [(0.0, 0.0), (2.5, 2.5), (120.0, 120.0), (-3.0, 0.0), (float("inf"), 0.5), (float("nan"), 0.5)],
)
def test_a_retry_waits_as_long_as_the_provider_said(said: float, waits: float) -> None:
    running = Search(Beam(), "", transient=1)
    running.tell(running.ask()[0].id, Failed("busy", transient=True, retry_after=said))
    (ask,) = running.ask()
    assert (ask.request, ask.attempt, ask.delay) == (Propose(0, 5), 1, waits)


@pytest.mark.parametrize("driver", ["threads", "asyncio"])
def test_the_drivers_wait_for_a_retry_and_work_on_meanwhile(driver: str) -> None:

    def attempt(seconds: float) -> Any:
        world, order, began = Letters({"": "abc"}), [], dict[Any, float]()

        def outcome(ask: Ask, tree: Tree[Any, Any]) -> Outcome:
            order.append((ask.request, ask.attempt))
            began[order[-1]] = time.monotonic()
            if ask.request == Rate((1,)) and ask.attempt == 0:
                return Failed("busy", transient=True, retry_after=seconds)
            return world.answer(ask.request, tree)

        running = Search(Beam(max_depth=1), "", step=world.step, transient=1)
        if driver == "threads":
            result = drive(running, lambda ask, tree: lambda: Reply(outcome(ask, tree)), concurrency=1)
        else:

            def prepare(ask: Ask, tree: Tree[Any, Any]) -> Any:
                async def call() -> Reply:
                    return Reply(outcome(ask, tree))

                return call

            result = asyncio.run(adrive(running, prepare, concurrency=1))
        assert began[Rate((1,)), 1] - began[Rate((1,)), 0] >= seconds
        # What is asked meanwhile takes no time; where it did, the wait was over before it was through.
        return (result, order) if began[Rate((3,)), 0] - began[Rate((1,)), 0] < seconds else None

    result, order = in_time(attempt)
    assert order[1:] == [(Rate((1,)), 0), (Rate((2,)), 0), (Rate((3,)), 0), (Rate((1,)), 1)]
    assert (result.failed, result.ended, result.spent.calls) == (1, Ended.SEARCHED_OUT, 5)
    assert all(n.value == 1.0 for n in list(result.tree)[1:])


def test_the_drivers_do_not_spin_while_a_due_retry_waits_for_a_free_place() -> None:
    world, release, looks = Letters({"": "ab"}), threading.Event(), [0]

    class Looks(Stop):
        """Nobody calls it; a driver looks at it in each of its rounds."""

        def due(self, now: float, deadline: float | None) -> Ended | None:
            looks[0] += 1
            return super().due(now, deadline)

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Callable[[], Reply]:
        def call() -> Reply:
            if ask.request == Rate((1,)) and ask.attempt == 0:
                return Reply(Failed("busy", transient=True, retry_after=0.01))
            if ask.request == Rate((2,)):
                release.wait(0.3)
            return Reply(world.answer(ask.request, tree))

        return call

    running = Search(Beam(max_depth=1), "", step=world.step, transient=1)
    drive(running, prepare, concurrency=1, stop=Looks())
    assert looks[0] < 50


def test_only_transient_failures_and_unread_replies_are_asked_again_each_as_often_as_its_own_count() -> None:
    for outcome, asked in (
        (Failed("no"), 1),
        (Failed("busy", transient=True, retry_after=0.0), 3),
        (Failed("no key", fatal=True, transient=True), 1),
        (Unread("?"), 2),
    ):
        count = [0]

        def answer(request: Request, tree: Any, count: Any = count, outcome: Outcome = outcome) -> Outcome:
            count[0] += 1
            return outcome

        result = run(Search(Beam(), "", transient=2, retries={Propose: 1}), answer)
        assert (count[0], result.spent.calls) == (asked, asked)


def test_a_retry_that_the_budget_does_not_allow_is_not_made() -> None:
    world = Letters({"": "ab"})
    running = Search(Beam(max_depth=1), "", step=world.step, transient=5, budget=Budget(calls=4))
    running.tell(running.ask()[0].id, Proposed(("a", "b")))
    first, second = running.ask()
    running.tell(first.id, Failed("busy", transient=True, retry_after=0.0))
    (again,) = running.ask()  # 2 spent, one in flight: the fourth call
    assert (again.request, again.attempt) == (first.request, 1)
    running.tell(second.id, Failed("busy", transient=True, retry_after=0.0))
    assert running.ask() == []
    running.tell(again.id, Rated((1.0,)))
    assert [n.status for n in running.tree][1:] == [NodeStatus.OPEN, NodeStatus.FAILED]
    assert (running.spent.calls, running.done) == (4, True)


def test_after_a_retry_that_the_budget_did_not_allow_nothing_new_is_paid_for() -> None:
    """A larger budget would make that retry, and go another way from there: see the journal's tests."""
    running = Search(Beam(max_depth=2), "", step=Letters({}).step, transient=1, calls={Rate: 3}, budget=Budget(calls=8))
    running.tell(running.ask()[0].id, Proposed(("a", "b")))
    first, second = running.ask()
    running.tell(first.id, Failed("busy", transient=True), Usage(3))  # 4 spent, 3 reserved: no 3 more
    running.tell(second.id, Rated((1.0,)), Usage(1))  # 5 spent, and a proposal would take one
    assert (running.ask(), running.ended, running.spent.calls) == ([], Ended.CALLS, 5)


def test_one_failing_call_is_one_failed_node() -> None:
    world = Letters({"": "abc", "a": "d", "c": "f"})

    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        return Failed("timeout") if request == Rate((2,)) else world.answer(request, tree)

    result = run(Search(Beam(max_depth=2), "", step=world.step), answer)
    assert [(n.action, n.reason) for n in result.tree if n.status is NodeStatus.FAILED] == [("b", "timeout")]
    assert world.proposed() == ["", "a", "c"]
    assert (result.failed, result.errors) == (1, {"timeout": 1})


# ---- nothing but failures


@pytest.mark.parametrize("kind", [Propose, Rate])
def test_where_every_call_of_a_role_fails_the_search_ended_for_that(kind: type[Request]) -> None:
    world = Letters({"": "ab"})

    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        return Failed("quota used up") if isinstance(request, kind) else world.answer(request, tree)

    result = run(Search(Beam(), "", step=world.step), answer)
    assert (result.status, result.ended) == (SearchStatus.FAILED, Ended.ERROR)
    assert result.first_error == "quota used up"
    assert result.explain().startswith("Failed: calls failed, first: quota used up;")
    assert all(n.value is None for n in result.tree)


def test_a_blind_search_says_so() -> None:
    world = Letters({"": "ab"})

    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        return Failed("quota used up") if isinstance(request, Rate) else world.answer(request, tree)

    rating = Rating(together="siblings")
    result = run(Search(Beam(max_depth=1), "", step=world.step, rating=rating), answer)
    assert result.status is SearchStatus.UNVERIFIED  # of nodes that nobody rated
    assert "failures: 1 in 2 calls; first: quota used up" in result.warnings


def test_a_fruitless_search_is_no_error() -> None:
    world = Letters({"": "xx"}, illegal="x")
    result = world.run(Beam())
    assert (result.status, result.ended) == (SearchStatus.FAILED, Ended.SEARCHED_OUT)
