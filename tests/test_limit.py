"""Limits: what all LM calls inside a block may use together, and in which order they wait."""

import asyncio
import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import dspy
import pytest

from engines import Engine, lm
from patience import PATIENCE, in_time, until
from thoughtree.modules.calls.gate import Meter, gate
from thoughtree.modules.calls.limit import IN_FLIGHT, PROCESS, Refusal, active, limit
from thoughtree.modules.calls.slots import Pace, Slots
from thoughtree.search.protocol import Usage


def echo(delay=0.0, **settings):
    """An engine that always answers, and its LM behind the gate."""
    engine = Engine(lambda kind, inputs, n: {"answer": "yes"}, delay)
    return engine, gate(lm(engine, **settings))


def crowd(n):
    """An engine that holds its first calls until `n` are in flight at once, and its LM behind the gate."""
    full = threading.Event()

    def fn(kind, inputs, i):
        if engine.now >= n:
            full.set()
        assert full.wait(PATIENCE), f"never {n} calls at once"
        return {"answer": "yes"}

    engine = Engine(fn)
    return engine, gate(lm(engine))


# -- ceilings


@pytest.mark.parametrize("name", ["seconds", "cost", "calls", "tokens", "in_flight", "per_minute"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "8"])
def test_a_ceiling_that_is_no_positive_number_is_refused_by_name_and_value(name, value):
    with pytest.raises(ValueError, match=rf"limit\({name}={value!r}\)"):
        limit(**{name: value})


@pytest.mark.parametrize("name", ["calls", "tokens", "in_flight", "per_minute"])
def test_a_count_is_whole(name):
    with pytest.raises(ValueError, match="whole number"):
        limit(**{name: 2.5})


def test_calls_stop_exactly_at_the_ceiling_and_the_purse_tells_what_was_spent():
    engine, model = echo()
    with limit(calls=3, tokens=100) as purse:
        assert purse.left == {"calls": 3, "tokens": 100}
        for _ in range(3):
            model("?")
        with pytest.raises(Refusal, match=r"limit\(calls=3\)") as refusal:
            model("?")
    assert refusal.value.why == "calls"
    assert engine.count() == 3
    assert (purse.spent.calls, purse.spent.tokens) == (3, 6)
    assert purse.left == {"calls": 0, "tokens": 94}


def test_tokens_stop_new_calls_once_reached():
    engine, model = echo()
    with limit(tokens=4) as purse:  # two tokens a call
        model("?"), model("?")
        with pytest.raises(Refusal) as refusal:
            model("?")
    assert refusal.value.why == "tokens"
    assert engine.count() == 2
    assert purse.spent.tokens == 4


def test_cost_stops_new_calls_once_reached():
    engine = Engine(lambda *_: {"answer": "yes"}, tokens=(1000, 500))
    model = gate(lm(engine), prices={"stub/model": (2.0, 8.0)})  # 0.006 dollars a call
    with limit(cost=0.01) as purse:
        model("?"), model("?")
        with pytest.raises(Refusal) as refusal:
            model("?")
    assert refusal.value.why == "cost"
    assert purse.spent.cost == pytest.approx(0.012)
    assert purse.left["cost"] == 0.0


def test_a_cost_that_nobody_knows_cannot_be_held_under_a_cost_ceiling():
    engine, model = echo()
    with limit(cost=1.0):
        model("?")
        with pytest.raises(Refusal, match="the price of stub/model is unknown") as refusal:
            model("?")
    assert refusal.value.why == "cost"
    assert engine.count() == 1


def test_seconds_run_from_the_entry_and_end_a_wait():
    engine, model = echo()

    def attempt(seconds):
        purse = limit(seconds=seconds, in_flight=1)
        time.sleep(1.2 * seconds)  # before it is entered, no time passes
        with purse:
            try:
                model("?")
            except Refusal:  # the machine was away all the while
                return None
            purse.slots.acquire()  # somebody else's call
            with pytest.raises(Refusal) as waiting:
                model("?")
            purse.slots.release()
            with pytest.raises(Refusal) as over:
                model("?")
        assert waiting.value.why == over.value.why == "seconds"
        return purse

    purse = in_time(attempt)
    assert engine.count() == 1
    assert purse.spent.calls == 1


def test_the_seconds_of_a_limit_entered_again_do_not_start_again():
    purse = limit(seconds=50)
    with purse:
        first = purse.deadline
    with purse:
        assert purse.deadline == first
    assert 49 < purse.left["seconds"] <= 50


def test_a_ceiling_reached_during_the_wait_refuses_the_call_that_waited():
    running, go = threading.Event(), threading.Event()

    def fn(*_):
        running.set()
        assert go.wait(PATIENCE)
        return {"answer": "yes"}

    engine, meter = Engine(fn), Meter(left=2)
    model = gate(lm(engine))
    with (
        limit(tokens=2, in_flight=1) as purse,
        dspy.context(search_meter=meter),
        ThreadPoolExecutor(2) as pool,
    ):
        first = pool.submit(copy_context().run, model, "?")
        assert running.wait(PATIENCE)
        second = pool.submit(copy_context().run, model, "?")
        in_line(purse.slots, 1)
        go.set()
        first.result()
        with pytest.raises(Refusal) as refusal:
            second.result()
    assert refusal.value.why == "tokens"
    assert engine.count() == 1 == purse.spent.calls == meter.calls
    assert meter.left == 1
    assert purse.slots.held == 0


def test_a_limit_that_was_stopped_lets_no_further_call_start():
    engine, model = echo()
    with limit(calls=5) as purse:
        model("?")
        purse.stop()
        with pytest.raises(Refusal, match="stopped from outside") as refusal:
            model("?")
    assert refusal.value.why == "stopped"
    assert (engine.count(), purse.spent.calls) == (1, 1)


def test_what_must_be_refused_does_not_wait_first():
    engine, model = echo()
    with limit(calls=1), limit(in_flight=1, seconds=500) as inner:
        model("?")
        inner.slots.acquire()  # somebody else's call
        with pytest.raises(Refusal) as refusal:
            model("?")
    assert refusal.value.why == "calls"
    assert engine.count() == 1


def test_a_refused_call_costs_nothing_anywhere():
    _, model = echo()
    meter = Meter(left=5)
    with limit(calls=10) as outer, limit(calls=1) as inner, dspy.context(search_meter=meter):
        model("?")
        with pytest.raises(Refusal):
            model("?")
    assert (outer.spent.calls, inner.spent.calls, meter.calls, meter.left) == (1, 1, 1, 4)


def test_all_limits_around_a_call_apply_and_the_tightest_refuses():
    engine, model = echo()
    with limit(calls=2) as outer:
        with limit(calls=5) as inner:
            model("?"), model("?")
            with pytest.raises(Refusal, match=r"limit\(calls=2\)"):
                model("?")
        with limit(calls=5), pytest.raises(Refusal, match=r"limit\(calls=2\)"):
            model("?")
    model("?")  # outside, nothing holds
    assert engine.count() == 3
    assert outer.spent.calls == inner.spent.calls == 2


def test_one_limit_entered_twice_is_one_purse_and_counts_a_call_once():
    _, model = echo()
    purse = limit(calls=3)
    with purse, purse:
        assert active() == (purse,)
        model("?")
    assert active() == ()
    with purse:
        model("?")
    assert purse.spent.calls == 2


def test_threads_and_tasks_may_share_one_limit_object():
    engine, model = echo(0.001)
    purse = limit(calls=20)

    def client():
        with purse:
            return [_try(model) for _ in range(5)]

    async def task():
        async with purse:
            return [await _atry(model) for _ in range(5)]

    async def tasks():
        return await asyncio.gather(*[task() for _ in range(4)])

    with ThreadPoolExecutor(5) as pool:
        futures = [pool.submit(client) for _ in range(4)]
        rows = [*pool.submit(asyncio.run, tasks()).result(), *[f.result() for f in futures]]
    assert sum(map(sum, rows)) == 20 == engine.count() == purse.spent.calls


def _try(model):
    try:
        model("?")
    except Refusal:
        return 0
    return 1


async def _atry(model):
    try:
        await model.acall("?")
    except Refusal:
        return 0
    return 1


def test_fifty_clients_never_pass_the_calls_or_the_turns():
    engine, model = echo(0.002)

    async def tasks():
        async def client():
            return sum([await _atry(model) for _ in range(6)])

        return await asyncio.gather(*[client() for _ in range(25)])

    with limit(in_flight=16, calls=200) as purse, ThreadPoolExecutor(26) as pool:
        loop = pool.submit(copy_context().run, asyncio.run, tasks())
        threads = [pool.submit(copy_context().run, lambda: sum(_try(model) for _ in range(6))) for _ in range(25)]
        made = sum(loop.result()) + sum(f.result() for f in threads)
    assert made == 200 == engine.count() == purse.spent.calls  # of 300 tried
    assert engine.peak == 16
    assert purse.slots.held == 0


def test_a_limit_reaches_the_threads_of_dspy_parallel():
    engine, model = echo(0.002)
    ask = dspy.Predict("question -> answer")
    with limit(calls=5, in_flight=2), dspy.context(lm=model):
        dspy.Parallel(num_threads=8, max_errors=100, disable_progress_bar=True)(
            [(ask, {"question": str(i)}) for i in range(12)]
        )
    assert engine.count() == 5
    assert engine.peak == 2


def test_the_process_has_a_ceiling_of_its_own_around_all_limits():
    engine, model = crowd(IN_FLIGHT)
    with ThreadPoolExecutor(IN_FLIGHT + 16) as pool:
        list(pool.map(lambda _: model("?"), range(IN_FLIGHT + 16)))
    assert engine.peak == IN_FLIGHT == 64
    assert PROCESS.slots.held == 0


def test_a_limit_of_calls_in_flight_stands_in_place_of_the_processs():
    engine, model = crowd(IN_FLIGHT + 16)
    with limit(in_flight=IN_FLIGHT + 16), limit(calls=1000), ThreadPoolExecutor(IN_FLIGHT + 32) as pool:
        jobs = [pool.submit(copy_context().run, model, "?") for _ in range(IN_FLIGHT + 32)]
        assert all(job.result() for job in jobs)
    assert engine.peak == IN_FLIGHT + 16
    assert PROCESS.slots.held == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_does_not_wait_for_turns_that_its_parents_threads_hold():
    script = """
        import os, time
        from thoughtree.modules.calls.limit import IN_FLIGHT, PROCESS
        for _ in range(IN_FLIGHT):
            PROCESS.slots.acquire()
        child = os.fork()
        if not child:
            PROCESS.enter(1, time.monotonic() + 50)
            print("the child has", PROCESS.slots.held, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        print("the parent has", PROCESS.slots.held)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.splitlines() == ["the child has 1", "the parent has 64"]


def test_what_is_spent_adds_up_over_threads():
    purse = limit()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: [purse.add(1, 0.5, 0.25) for _ in range(500)], range(8)))
    assert purse.spent == Usage(0, 4000, 2000.0, 1000.0)
    assert purse.left == {}


# -- turns


def in_line(slots, n):
    until(lambda: len(slots._line) >= n)


def test_turns_go_to_threads_and_tasks_in_order_of_arrival():
    slots, order = Slots(1), []
    slots.acquire()

    def thread(name):
        slots.acquire()
        order.append(name)
        slots.release()

    async def task(name):
        await slots.aacquire()
        order.append(name)
        slots.release()

    threads = []
    for i in range(6):  # each in a thread of its own, every other one with an event loop of its own
        target = thread if i % 2 else lambda name: asyncio.run(task(name))
        threads.append(threading.Thread(target=target, args=(i,)))
        threads[-1].start()
        in_line(slots, i + 1)
    slots.release()
    for t in threads:
        t.join(PATIENCE)
    assert order == [0, 1, 2, 3, 4, 5]
    assert slots.held == 0


def test_a_wait_ends_at_its_deadline_and_leaves_the_line():
    slots = Slots(1)
    slots.acquire()
    with pytest.raises(TimeoutError):
        slots.acquire(time.monotonic() + 0.01)
    with pytest.raises(TimeoutError):
        asyncio.run(slots.aacquire(time.monotonic() + 0.01))
    slots.release()
    slots.acquire(time.monotonic())  # a free slot needs no time
    assert slots.held == 1
    assert not slots._line


def test_a_task_cancelled_with_its_turn_already_granted_hands_it_on():
    async def story():
        slots = Slots(1)
        slots.acquire()
        first, second = asyncio.create_task(slots.aacquire()), asyncio.create_task(slots.aacquire())
        await asyncio.sleep(0)
        slots.release()  # granted to `first`, which has not run yet
        first.cancel()
        await asyncio.wait_for(second, PATIENCE)
        assert first.cancelled()
        slots.release()
        return slots.held

    assert asyncio.run(story()) == 0


def test_a_loop_that_closed_while_its_task_waited_loses_no_turn():
    slots = Slots(1)
    slots.acquire()
    loop = asyncio.new_event_loop()
    task = loop.create_task(slots.aacquire())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    slots.release()
    assert slots.held == 0
    task._log_destroy_pending = False
    del task
    gc.collect()
    assert slots.held == 0


def test_a_storm_of_cancellations_leaks_no_turn_and_no_reservation():
    engine, model = echo(0.003)

    async def storm():
        tasks = [asyncio.create_task(_atry(model)) for _ in range(200)]
        for i in range(40):
            await asyncio.sleep(0.001)
            for task in tasks[i::7]:
                task.cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    with limit(in_flight=4) as purse:
        results = asyncio.run(storm())
        assert any(isinstance(r, asyncio.CancelledError) for r in results)
        assert purse.slots.held == PROCESS.slots.held == 0
        assert not purse.slots._line
        assert purse.spent.calls == engine.count()  # those that never started were given back
        assert engine.peak <= 4
        model("?")


def test_a_wait_interrupted_in_a_thread_gives_its_reservation_back():
    _, model = echo()
    done = []

    def client():
        try:
            model("?")
        except Refusal as refusal:
            done.append(refusal.why)

    with limit(seconds=0.05, in_flight=1, calls=9) as purse:
        purse.slots.acquire()
        threads = [threading.Thread(target=copy_context().run, args=(client,)) for _ in range(5)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(PATIENCE)
        purse.slots.release()
    assert done == ["seconds"] * 5
    assert purse.spent.calls == 0
    assert purse.slots.held == 0


# -- pace


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def test_no_minute_holds_more_starts_than_the_pace(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("thoughtree.modules.calls.slots.time", clock)
    pace, starts = Pace(3), []
    for pause in (0, 10, 10, 0, 0, 0, 0, 100, 0):
        clock.sleep(pause)
        pace.acquire()
        starts.append(clock.now - 1000)
    assert starts == [0, 10, 20, 60, 70, 80, 120, 220, 220]
    pace.acquire()
    assert clock.now - 1000 == 220  # the third since 160
    pace.acquire()
    assert clock.now - 1000 == 280


def test_tasks_keep_the_pace_together():
    async def story():
        pace = Pace(2, window=0.05)
        await asyncio.gather(*[pace.aacquire() for _ in range(6)])
        return pace._starts[-1] - began

    began = time.monotonic()
    assert asyncio.run(story()) >= 0.1  # six starts, two in each window


def test_a_start_past_the_deadline_is_refused_at_once_and_not_booked(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("thoughtree.modules.calls.slots.time", clock)
    pace = Pace(1)
    pace.acquire()
    with pytest.raises(TimeoutError):
        pace.acquire(clock.now + 59)
    assert clock.now == 1000.0
    pace.acquire(clock.now + 60)
    assert clock.now == 1060.0


def test_a_cancelled_start_is_free_for_the_next():
    async def story():
        pace = Pace(1)
        await pace.aacquire()
        booked = asyncio.create_task(pace.aacquire())
        await asyncio.sleep(0)
        assert len(pace._starts) == 2
        booked.cancel()
        await asyncio.gather(booked, return_exceptions=True)
        return len(pace._starts)

    assert asyncio.run(story()) == 1


def test_per_minute_refuses_a_call_whose_start_lies_past_the_deadline():
    engine, model = echo()
    with limit(per_minute=2, seconds=50) as purse:
        model("?"), model("?")
        with pytest.raises(Refusal) as refusal:
            model("?")
    assert refusal.value.why == "seconds"
    assert engine.count() == 2 == purse.spent.calls


def test_a_limit_that_is_left_out_of_order_says_so_and_leaves_the_others_as_they_are():
    outer, inner = limit(calls=9), limit(calls=5)
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match="left out of order: one that was entered after it is still open"):
        outer.__exit__(None, None, None)
    assert active() == (inner, outer)
    inner.__exit__(None, None, None)
    assert active() == (outer,)
    with pytest.raises(RuntimeError, match="left out of order: it was not entered here; use `with`"):
        inner.__exit__(None, None, None)
    with ThreadPoolExecutor(1) as pool, pytest.raises(RuntimeError, match="it was not entered here"):
        pool.submit(outer.__exit__, None, None, None).result()
    outer.__exit__(None, None, None)
    assert active() == ()
    with outer, outer, inner:  # one limit, several times
        assert active() == (inner, outer)
    assert active() == ()
