"""What every controller must hold, whatever the replies and their order. Inherit, and give `controllers`."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thoughtree.search import (
    Budget,
    Ended,
    Failed,
    Journal,
    NodeStatus,
    Propose,
    Rate,
    Rating,
    SearchStatus,
    adrive,
    drive,
    run,
)
from worlds import Digits, aprepared, play, prepared, search, shot

QUIET = [HealthCheck.too_slow, HealthCheck.differing_executors]
QUICK = settings(max_examples=300, deadline=None, suppress_health_check=QUIET)

REASONED = (NodeStatus.PRUNED, NodeStatus.DUPLICATE, NodeStatus.ILLEGAL, NodeStatus.FAILED)


class Crash(BaseException):
    """The process dies here."""


class Conformance:
    """One suite; each controller's test class inherits it with the knobs to try."""

    controllers: ClassVar[tuple[Any, ...]] = ()

    @pytest.fixture(params=range(3))
    def controller(self, request: pytest.FixtureRequest) -> Any:
        if request.param >= len(self.controllers):
            pytest.skip("this controller has fewer variants")
        return self.controllers[request.param]

    @QUICK
    @given(data=st.data())
    def test_any_order_of_replies_any_budget_any_fault(self, data: st.DataObject) -> None:
        controller = data.draw(st.sampled_from(self.controllers))
        budget = Budget(calls=data.draw(st.integers(2, 80)), nodes=data.draw(st.none() | st.integers(1, 60)))
        rate = st.sampled_from([0.0, 0.3, 1.0])
        world = Digits(data.draw(st.integers(0, 99)), data.draw(rate), data.draw(rate), goal=(1, 2))
        knobs: dict[str, Any] = {
            "budget": budget,
            "rating": Rating(
                samples=data.draw(st.sampled_from([1, 3])),
                together=data.draw(st.sampled_from(["each", "each", "siblings", "level", "pairs"])),
                near=data.draw(st.sampled_from([None, None, 1.0])),
            ),
            "closing": (lambda best: True) if data.draw(st.booleans()) else None,
            "seed": data.draw(st.integers(0, 9)),
            "step": data.draw(st.sampled_from([world.step, world.step, None])),
            "sampled": data.draw(st.booleans()),
            "first": data.draw(st.booleans()),
        }
        s = search(controller, world, **knobs)
        log = play(s, world, lambda n: data.draw(st.integers(0, n - 1)))
        assert s.done
        assert s.ended is not None
        assert s.status in (SearchStatus.SOLVED, SearchStatus.UNVERIFIED, SearchStatus.FAILED)
        assert world.calls <= (budget.calls or 0)
        assert s.spent.calls == world.calls == len(log)
        assert budget.nodes is None or len(s.tree) <= budget.nodes
        self.check_tree(s, controller)
        # Any prefix told again, then the rest, is the same run.
        again = search(controller, world, **knobs)
        cut = data.draw(st.integers(0, len(log)))
        for id, outcome in log[:cut]:
            again.tell(id, outcome)
        for id, outcome in log[cut:]:
            again.tell(id, outcome)
        assert shot(again) == shot(s)

    def check_tree(self, s: Any, controller: Any) -> None:
        live: dict[Any, int] = {}
        heals = s.failed and hasattr(controller, "rollouts")  # rollouts come back to a node whose expansion failed
        for n in s.tree:
            assert n.parent is None or n.parent < n.id
            assert n.parent is None or n.depth == s.tree[n.parent].depth + 1
            assert n.depth <= controller.max_depth
            assert n.value is None or isfinite(n.value)
            assert n.reason is not None or n.status not in REASONED
            if n.status in (NodeStatus.DUPLICATE, NodeStatus.ILLEGAL):
                assert n.value is None
                assert not n.children
            if n.status is NodeStatus.SOLVED:
                assert not n.children
            if n.state is not None and n.status not in (NodeStatus.DUPLICATE, NodeStatus.FAILED):
                key = tuple(sorted(n.state))  # a second node of one key is nearer the root than the first
                assert key not in live or n.depth < live[key] or heals
                live[key] = n.depth

    @pytest.mark.parametrize("samples", [1, 3])
    def test_the_tree_does_not_hang_on_the_order_of_replies(self, controller: Any, samples: int) -> None:
        for seed in range(8):
            shots = []
            for order in range(4):
                rng, world = random.Random(order), Digits(seed, flaky=0.2, unread=0.2)
                s = search(controller, world, samples=samples)
                play(s, world, lambda n, rng=rng, order=order: rng.randrange(n) if order else 0)
                shots.append(shot(s))
            assert all(x == shots[0] for x in shots)

    def test_every_driver_gives_the_same_tree(self, controller: Any) -> None:
        for seed in range(3):
            world = Digits(seed, goal=(1, 2, 4))
            plain = search(controller, world)
            run(plain, world.answer)
            for concurrency in (1, 8):
                threaded = search(controller, world)
                drive(threaded, prepared(world, _nap), concurrency=concurrency)
                looped = search(controller, world)
                asyncio.run(adrive(looped, aprepared(world), concurrency=concurrency))
                assert shot(threaded)[0] == shot(plain)[0] == shot(looped)[0]
                assert threaded.status is plain.status is looped.status

    def test_a_run_crashed_at_any_reply_resumes_to_the_same_tree(self, controller: Any, tmp_path: Path) -> None:
        world = Digits(5, flaky=0.15, unread=0.15, goal=(1, 2, 4))
        whole = search(controller, world, samples=2)
        run(whole, world.answer, journal=Journal(tmp_path / "whole", {"seed": 0}))
        paid = world.calls
        assert paid == whole.spent.calls
        for crash_after in range(0, paid, max(1, paid // 12)):
            path = tmp_path / f"{type(controller).__name__}-{crash_after}"
            first = Digits(5, flaky=0.15, unread=0.15, goal=(1, 2, 4))

            def dies(request: Any, tree: Any, first: Digits = first, crash_after: int = crash_after) -> Any:
                if first.calls == crash_after:
                    raise Crash
                return first.answer(request, tree)

            journal = Journal(path, {"seed": 0})
            with pytest.raises(Crash):
                run(search(controller, first, samples=2), dies, journal=journal)
            journal.close()
            rest = Digits(5, flaky=0.15, unread=0.15, goal=(1, 2, 4))
            resumed, journal = search(controller, rest, samples=2), Journal(path, {"seed": 0})
            run(resumed, rest.answer, journal=journal)
            journal.close()
            assert shot(resumed) == shot(whole)
            assert first.calls + rest.calls == paid  # nothing on disk is paid for again

    def test_a_larger_budget_continues_a_run_that_its_budget_ended(self, controller: Any, tmp_path: Path) -> None:
        world = Digits(7)
        whole = search(controller, world, calls=60)
        run(whole, world.answer)
        paid = world.calls
        world.calls = 0
        for calls in (3, 7, 20, 60):
            journal = Journal(tmp_path / "journal", {"seed": 0})
            raised = search(controller, world, calls=calls)
            run(raised, world.answer, journal=journal)
            journal.close()
        assert shot(raised) == shot(whole)
        assert world.calls == paid

    def test_a_third_of_the_calls_failing_ends_with_a_right_status(self, controller: Any) -> None:
        for seed in range(12):
            world = Digits(seed, flaky=0.3)
            s = search(controller, world)
            result = run(s, world.answer)
            assert (result.status is SearchStatus.FAILED) == (controller.must_verify or result.best.id == 0)
            assert result.failed > 0
            assert result.first_error == "flaky"
            for node in result.tree:
                if node.status is NodeStatus.FAILED:
                    assert node.reason == "flaky"
                    assert node.value != 0.0

    def test_all_calls_failing_is_an_error_and_no_low_score(self, controller: Any) -> None:
        result = run(search(controller, Digits()), lambda request, tree: Failed("down"))
        assert (result.status, result.ended) == (SearchStatus.FAILED, Ended.ERROR)
        assert result.first_error == "down"
        assert all(n.value is None for n in result.tree)

    def test_a_fatal_error_stops_at_once(self, controller: Any) -> None:
        result = run(search(controller, Digits()), lambda request, tree: Failed("no such key", fatal=True))
        assert (result.status, result.ended, result.spent.calls) == (SearchStatus.FAILED, Ended.ERROR, 1)
        assert result.first_error == "no such key"

    def test_a_defect_in_the_task_is_shown(self, controller: Any) -> None:
        def broken(state: Any, action: Any) -> Any:
            raise AttributeError("oops")

        result = run(search(controller, Digits(), step=broken), Digits().answer)
        assert (result.status, result.ended) == (SearchStatus.FAILED, Ended.ERROR)
        assert result.first_error == "AttributeError: oops"

    def test_with_steps_asked_of_the_world_the_tree_is_that_of_code(self, controller: Any) -> None:
        world = Digits(3)
        by_code, by_world = search(controller, world), search(controller, world, step=None)
        run(by_code, world.answer)
        run(by_world, world.answer)
        assert [(n.action, n.state, n.value) for n in by_world.tree] == [
            (n.action, n.state, n.value) for n in by_code.tree
        ]

    def test_no_budget_is_overshot(self, controller: Any) -> None:
        for i in range(40):
            rng = random.Random(i)
            calls, lock, made = rng.randint(2, 60), threading.Lock(), [0]
            world = Digits(i, flaky=0.2, unread=0.2)

            def count(lock: Any = lock, made: list[int] = made) -> None:
                with lock:
                    made[0] += 1

            s = search(controller, world, calls=calls, samples=rng.choice([1, 3]), closing=lambda best: True)
            drive(s, prepared(world, count), concurrency=rng.randint(1, 64))
            assert made[0] <= calls

    def test_the_root_is_never_its_own_child_and_depth_one_works(self, controller: Any) -> None:
        shallow = type(controller)(**{**_knobs(controller), "max_depth": 1})
        s = search(shallow, Digits(1))
        run(s, Digits(1).answer)
        assert {n.depth for n in s.tree} == {0, 1}
        assert s.by_role["propose"].calls == 1

    def test_an_empty_proposal_ends_it(self, controller: Any) -> None:
        from thoughtree.search import Proposed

        result = run(search(controller, Digits()), lambda request, tree: Proposed(()))
        assert (result.status, result.ended, len(result.tree)) == (SearchStatus.FAILED, Ended.SEARCHED_OUT, 1)
        assert result.spent.calls == 1

    def test_kinds_are_asked_in_order(self, controller: Any) -> None:
        kinds: list[Any] = []
        world = Digits(2)

        def answer(request: Any, tree: Any) -> Any:
            kinds.append(type(request))
            return world.answer(request, tree)

        run(search(controller, world), answer)
        assert kinds[0] is Propose
        assert kinds[1] is Rate


def _knobs(controller: Any) -> dict[str, Any]:
    return {name: value for name, value in controller.dump().items() if name != "kind"}


def _nap() -> None:
    time.sleep(random.random() / 3000)
