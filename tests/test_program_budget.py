"""Ceilings of a whole program: counted where the money goes, at the engine, and never passed."""

from __future__ import annotations

import asyncio
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import dspy
import pytest

import thoughtree
from engines import AsyncEngine, Engine, lm
from faultworlds import watched
from patience import in_time
from puzzle24 import KINDS, PATH, PUZZLE, call, drivers, engine, script
from thoughtree import DFS, LATS, RAP, Beam, BestFirst, Blocksworld, Budget, Game24, SearchStatus, TreeOfThoughts
from thoughtree.modules.pricing import priceable


def busy(rng):
    """A model of many moods: it proposes, rates, says nothing readable, or fails for a while."""
    lock = threading.Lock()

    def fn(kind, inputs, n):
        with lock:
            mood = rng.random()
        if mood < 0.1:
            raise (dspy.LMRateLimitError("later", model="m", retry_after=0) if mood < 0.05 else ValueError("broken"))
        if mood < 0.2:
            return "no field at all" if mood < 0.15 else ""
        if kind == "propose":
            return {"next_thoughts": "\n".join(f"{i}. t{n}.{i}" for i in range(1, 5))}
        if kind in KINDS:
            return {
                "rating_reasoning": "r",
                "thought_rating": "sure" if mood < 0.6 else "maybe",
                "thought_ratings": "1. sure\n2. maybe\n3. maybe\n4. maybe",
                "best_thought": "1",
                "better_thought": "2",
            }
        return {"answer": "42"}

    return fn


def some_program(rng):
    controllers = [
        DFS(branching=rng.randint(1, 4), max_depth=rng.randint(1, 4)),
        Beam(width=rng.randint(1, 4), branching=rng.randint(1, 4), max_depth=rng.randint(1, 4)),
        BestFirst(branching=rng.randint(1, 4), max_depth=3, open=rng.randint(1, 3)),
    ]
    return TreeOfThoughts(
        "question -> answer",
        controller=rng.choice(controllers),
        propose=rng.choice(["lm", "samples"]),
        rate=rng.choice(["value", "siblings", "vote", "pairs"]),
        samples=rng.randint(1, 3),
        answer=rng.choice(["auto", "path"]),
        first=rng.choice([None, "answer"]),
        concurrency=rng.choice([1, 3, 64]),
        retries=rng.randint(0, 2),
    )


@drivers
def test_no_run_passes_its_budget_of_calls(driver):
    ends = []
    for seed in range(100):
        rng = random.Random(seed)
        program, calls = some_program(rng), rng.randint(8, 40)
        model = Engine(busy(rng), kinds=KINDS)
        found = call(program, model, driver, question="q", config={"budget": calls})
        assert model.count() <= calls, seed
        assert found.search.spent.calls == model.count(), seed
        assert model.peak <= 64
        ends.append(str(found.search.ended))
    assert ends.count("calls") > 20  # the ceiling was met, and not only far away


@drivers
@pytest.mark.parametrize("calls", [2, 7])
def test_a_budget_of_seven_never_makes_an_eighth(driver, calls):
    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": "\n".join(f"{i}. t{n}.{i}" for i in range(5))}
        return {"rating_reasoning": "r", "thought_rating": "maybe"}

    model = engine(fn)
    program = TreeOfThoughts("question -> answer", answer="path", budget=calls, concurrency=64)
    found = call(program, model, driver, question="q")
    assert model.count() == calls
    assert found.search.ended == "calls"
    assert found.search.status is SearchStatus.UNVERIFIED
    assert found.answer == "t1.0"


@drivers
@pytest.mark.parametrize("adapter", [None, dspy.ChatAdapter(), dspy.JSONAdapter(), dspy.XMLAdapter()])
def test_parse_failures_are_counted_as_the_calls_they_are(driver, adapter):
    """Adapters would ask a second time in secret: that is two calls for one."""
    model = Engine(lambda kind, inputs, n: "{}", kinds=KINDS)
    with dspy.context(adapter=adapter):
        found = call(TreeOfThoughts(task=Game24(), budget=9), model, driver, numbers=PUZZLE)
    assert found.search.spent.calls == model.count() == 2  # asked, and asked again once, in the open
    assert found.search.unread == {"propose": 2}
    assert found.search.failed == 0


@drivers
def test_the_default_of_depth_first_is_a_hundred(driver):
    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": f"1. a{n}\n2. b{n}\n3. c{n}"}
        return {"rating_reasoning": "r", "thought_rating": "maybe"}

    model = engine(fn)
    found = call(
        TreeOfThoughts("question -> answer", controller=DFS(max_depth=9), answer="path"),
        model,
        driver,
        question="q",
    )
    assert model.count() == 100
    assert found.search.ended == "calls"


# Dollars and tokens


def priced(model, name="stub/model"):
    return dspy.LM(name, engine=model, async_engine=AsyncEngine(model), cache=False)


@drivers
def test_an_unknown_price_is_refused_before_anything_is_paid(driver):
    model = engine()
    program = TreeOfThoughts(task=Game24(), budget=Budget(cost=1.0))
    with pytest.raises(ValueError, match=r"the price of stub/model \(role propose\) is unknown.*give prices="):
        call(program, model, driver, numbers=PUZZLE)
    other = TreeOfThoughts(
        task=Game24(),
        budget=Budget(cost=1.0),
        rate_lm=priced(model, "stub/rater"),
        prices={"stub/model": (1, 1)},
    )
    with pytest.raises(ValueError, match=r"the price of stub/rater \(role rate\) is unknown"):
        call(other, model, driver, numbers=PUZZLE)
    assert model.count() == 0


@drivers
def test_dollars_are_held_with_given_prices(driver):
    model = engine(tokens=(1000, 500))
    prices = {"stub/model": (5.0, 10.0)}  # 0.005 + 0.005 dollars a call
    program = TreeOfThoughts(task=Game24(), controller=DFS(), budget=Budget(cost=0.035), prices=prices, concurrency=1)
    found = call(program, model, driver, numbers=PUZZLE)
    assert found.search.ended == "cost"
    assert model.count() == 4  # 0.03 is under the ceiling, 0.04 is not
    assert found.search.spent.cost == pytest.approx(0.04)


@pytest.mark.parametrize("pair", [5, (1,), (1, -1), (float("nan"), 1), (float("inf"), 1), ("1", "2"), "12", None])
def test_a_price_that_is_none_is_refused(pair):
    with pytest.raises(ValueError, match=r"prices=\{'stub/model': .*must be two finite numbers of at least 0"):
        TreeOfThoughts(task=Game24(), prices={"stub/model": pair})


@pytest.mark.parametrize(
    ("name", "known"),
    [("openai/gpt-4o-mini", True), ("openai/of-next-year", False), ("nobody/gpt-4o-mini", False), ("gpt", False)],
)
def test_a_dollar_ceiling_needs_a_model_whose_price_dspy_lists(name, known):
    assert priceable(SimpleNamespace(model=name, engine="native"), {}) is known
    assert priceable(SimpleNamespace(model=name, engine="native"), {name: (0.1, 0.2)})
    assert not priceable(SimpleNamespace(model=name, engine=object()), {})


@drivers
def test_a_function_that_calls_an_unpriced_model_ends_a_search_with_a_dollar_ceiling(driver):
    ask = dspy.Predict("question -> next_thoughts")

    def propose(inputs, node, n):
        return ask(question="q").next_thoughts

    propose.calls = 1
    program = TreeOfThoughts(
        "question -> answer",
        propose=propose,
        value_fn=lambda inputs, path: 1.0,
        answer="path",
        budget=Budget(cost=1.0),
    )
    model = engine(lambda kind, inputs, n: {"next_thoughts": "1. a\n2. b"})
    found = call(program, model, driver, question="q")
    assert model.count() == 1  # the price of a call is known only after it
    assert found.search.ended == "error"
    assert "Budget(cost=1.0): the price of stub/model is unknown" in found.search.first_error
    assert found.search.path == ["a"]  # what was paid for is kept


@drivers
def test_tokens_are_held(driver):
    model = engine(tokens=(60, 40))
    program = TreeOfThoughts(task=Game24(), controller=DFS(), budget=Budget(tokens=301), concurrency=1)
    found = call(program, model, driver, numbers=PUZZLE)
    assert (found.search.ended, model.count(), found.search.spent.tokens) == ("tokens", 4, 400)


# The clock


@drivers
def test_a_hanging_model_does_not_hold_up_the_deadline(driver):
    def attempt(seconds):
        def fn(kind, inputs, n):
            if driver == "threads" and n > 3:
                released.wait(600)
            return script(kind, inputs, n)

        released = threading.Event()
        model = engine(fn, delay=lambda n: 600.0 if driver == "asyncio" and n > 3 else 0.0)
        program = TreeOfThoughts(task=Game24(), controller=Beam(width=2), budget=Budget(seconds=seconds))
        found = watched(lambda: call(program, model, driver, numbers=PUZZLE))
        released.set()
        return found if model.count() > 3 and found.search.spent.calls >= 3 else None

    found = in_time(attempt)
    assert found.search.ended == "seconds"
    assert found.search.unfinished >= 1
    assert found.search.status is SearchStatus.UNVERIFIED
    assert len(found.search.path) == 1


@drivers
def test_a_ceiling_of_centuries_is_none(driver):
    program = TreeOfThoughts(task=Game24(), controller=Beam(width=2), budget=Budget(seconds=1e12))
    with thoughtree.limit(seconds=1e300, in_flight=1):
        found = call(program, engine(), driver, numbers=PUZZLE)
    assert found.search.status is SearchStatus.SOLVED


@drivers
def test_retries_do_not_outlast_the_deadline(driver):
    def attempt(seconds):
        def fn(kind, inputs, n):
            raise dspy.LMTransportError("try again", model="m")

        model = engine(fn, seconds / 3)
        program = TreeOfThoughts(task=Game24(), budget=Budget(seconds=seconds), retries=50)
        found = watched(lambda: call(program, model, driver, numbers=PUZZLE))
        return found if found.search.failed else None

    found = in_time(attempt, first=0.4)
    assert found.search.ended == "seconds"
    assert "try again" in found.search.first_error


# limit() around programs


def fifty(driver, program, model, **ceilings):
    purse = thoughtree.limit(**ceilings)
    if driver == "threads":
        with dspy.context(lm=lm(model)), purse:
            return purse, dspy.Parallel(num_threads=50, disable_progress_bar=True)(
                [(program, {"numbers": PUZZLE}) for _ in range(50)]
            )

    async def main():
        async with purse:
            return await asyncio.gather(*(program.acall(numbers=PUZZLE) for _ in range(50)))

    with dspy.context(lm=lm(model)):
        return purse, asyncio.run(main())


@drivers
def test_fifty_searches_share_one_purse(driver):
    model = engine(delay=0.002)
    program = TreeOfThoughts(task=Game24(), controller=Beam(width=2))
    purse, found = fifty(driver, program, model, in_flight=16, calls=200)
    assert len(found) == 50
    assert model.count() == 200
    assert model.peak <= 16
    assert purse.spent.calls == 200
    assert sum(p.search.spent.calls for p in found) == 200
    ended = {str(p.search.ended) for p in found}
    assert ended <= {"goal", "calls"}
    assert "calls" in ended


@drivers
def test_sixty_four_are_in_flight_by_default(driver):
    model = engine(delay=0.01)
    program = TreeOfThoughts(task=Game24(), controller=Beam(width=2), concurrency=8)
    _, found = fifty(driver, program, model, calls=5000)
    assert model.peak <= 64
    assert all(p.search.path == PATH for p in found)


def test_sixteen_searches_in_eight_threads():
    model = engine(delay=0.001)
    program = TreeOfThoughts(task=Game24(), controller=Beam(width=2))

    def one(i):
        with dspy.context(
            lm=lm(model),
        ):
            return program(numbers=PUZZLE).search.path

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(16))) == [PATH] * 16


@drivers
def test_a_limit_inside_a_limit_holds_both(driver):
    model = engine()
    program = TreeOfThoughts(task=Game24(), controller=DFS(), concurrency=1)
    with thoughtree.limit(calls=5) as outer:
        with thoughtree.limit(calls=3) as inner:
            first = call(program, model, driver, numbers=PUZZLE)
        second = call(program, model, driver, numbers=PUZZLE)
    assert (first.search.spent.calls, second.search.spent.calls, model.count()) == (3, 2, 5)
    assert (inner.spent.calls, outer.spent.calls) == (3, 5)
    assert first.search.ended == second.search.ended == "calls"


@pytest.mark.parametrize("prices", [[1], "cheap", 5, [("m", (1, 2))]])
@pytest.mark.parametrize("kind", [TreeOfThoughts, RAP, LATS])
def test_prices_that_are_no_dict_are_refused_with_the_mend(kind, prices):
    knobs = {RAP: {"task": Blocksworld()}, LATS: {"reward_fn": len}}.get(kind, {})
    with pytest.raises(TypeError, match=r"prices=.*: must be a dict, as in \{'my/model': \(0\.15, 0\.60\)\}"):
        kind("question -> answer" if kind is not RAP else None, prices=prices, **knobs)
