"""Raters of the user's own: functions, modules, the task's code; a cheap rater before a dear one."""

from __future__ import annotations

from random import Random

import dspy
import pytest

from engines import Engine, lm
from freetext import ONE, last, rater, rating, values
from puzzle24 import KINDS, PATH, PUZZLE, RATINGS, call, drivers, engine
from thoughtree import MCTS, Beam, Game24, NodeStatus, SearchStatus, Task, TreeOfThoughts

# Raters of the user's own


@drivers
def test_a_function_rates_a_level(driver):
    asked = []

    def rate(inputs, nodes):
        asked.append([n.text for n in nodes])
        return [{"sure": 1.0, "maybe": 0.5}.get(RATINGS.get(n.text), 0.0) for n in nodes]

    model = engine()
    found = call(TreeOfThoughts(task=Game24(), controller=Beam(width=2), rate=rate), model, driver, numbers=PUZZLE)
    assert found.search.path == PATH
    assert model.count() == model.count("propose")
    assert asked[0] == ["6 9 13", "10 13 13", "9 10 52"]


@drivers
def test_a_value_function_rates_a_path(driver):
    found = call(
        rating(value_fn=lambda inputs, path: {"a": 0.1, "b": 0.7}.get(path[-1], 0.2)),
        rater(),
        driver,
        question="q",
    )
    assert values(found) == {"a": 0.1, "b": 0.7, "c": 0.2}
    assert found.search.path == ["b"]


class Walk(Task):
    """Steps a, b and c, six at most; each path is worth a number that its letters settle."""

    def __init__(self, stretch=lambda worth: worth):
        self.stretch = stretch

    def initial(self, inputs):
        return ""

    def moves(self, state):
        return ["a", "b", "c"] if len(state) < 6 else []

    def apply(self, state, action):
        return state + action

    def value(self, state):
        return self.stretch(Random(state).random())


STRETCHES = {"0 to 1": lambda v: v, "-100 to 100": lambda v: 200 * v - 100, "small": lambda v: v / 1000 - 50}


@pytest.mark.parametrize("selection", ["uct", "puct"])
@pytest.mark.parametrize("of", ["code", "rate", "value_fn"])
def test_values_of_code_are_of_any_scale(of, selection):
    """Nobody declared one, so Monte-Carlo tree search measures the values against each other."""

    def visits(stretch):
        task = Walk(stretch)
        given = {
            "code": {"rate": "code"},
            "rate": {"rate": lambda inputs, nodes: [task.value(node.state) for node in nodes]},
            "value_fn": {"value_fn": lambda inputs, path: task.value("".join(path))},
        }[of]
        controller = MCTS(rollouts=40, branching=3, max_depth=6, selection=selection)
        search = TreeOfThoughts("q -> a", task=task, propose="moves", controller=controller, answer="path", **given)
        return [node.visits for node in search(q="").search.tree]

    first, *others = [visits(stretch) for stretch in STRETCHES.values()]
    assert others == [first, first]
    assert len(set(first[1:4])) == 3  # and the values do steer


async def later(inputs, nodes):
    return [float(len(n.path[-1])) for n in nodes]


def test_coroutine_functions_rate_under_asyncio():
    found = call(rating(rate=later), rater(), "asyncio", question="q")
    assert values(found) == {"a": 1.0, "b": 1.0, "c": 1.0}
    with pytest.raises(TypeError, match="later is a coroutine function"):
        call(rating(rate=later), rater(), question="q")


class Judge(dspy.Module):
    def __init__(self, kind="score: float"):
        super().__init__()
        self.ask = dspy.ChainOfThought(f"question, search_path -> {kind}")

    def forward(self, question, search_path):
        return self.ask(question=question, search_path=search_path)


@drivers
@pytest.mark.parametrize(("kind", "said", "value"), [("score: float", "0.25", 0.25), ("verdict", "7/10", 0.7)])
def test_a_module_rates_a_node(driver, kind, said, value):
    def fn(asked, inputs, n):
        if asked == "propose":
            return {"next_thoughts": "1. a\n2. b\n3. c"}
        return {"reasoning": "r", kind.split(":")[0]: said}

    found = call(rating(rate=Judge(kind), scale="unit"), Engine(fn, kinds=KINDS), driver, question="q")
    assert values(found) == {"a": value, "b": value, "c": value}
    assert found.search.spent_by["rate"].calls == 3


class Counting(Task):
    """Values its own states."""

    signature = "question -> answer"

    def value(self, state):
        return float(len(state[-1]))


@drivers
def test_the_task_rates_in_code(driver):
    model = engine(lambda kind, inputs, n: {"next_thoughts": "1. a\n2. bbb\n3. cc"})
    coded = TreeOfThoughts(task=Counting(), answer="path", controller=ONE)
    assert coded.plan.rate == "code"
    found = call(coded, model, driver, question="q")
    assert values(found) == {"a": 1.0, "bbb": 3.0, "cc": 2.0}
    assert found.search.spent.calls == 1


@drivers
@pytest.mark.parametrize("given", [[0.5], [0.5, 0.5, float("nan")], [0.5, 0.5, "high"], [float("inf")] * 3])
def test_what_is_no_rating_is_an_error_and_no_score(driver, given):
    def rate(inputs, nodes):
        return given

    found = call(rating(rate=rate), rater(), driver, question="q")
    assert values(found) == {"a": None, "b": None, "c": None}
    assert found.search.failed == 1
    assert "rate gave" in found.search.first_error


@drivers
@pytest.mark.parametrize("kind", [dict.fromkeys, set, bytes])
def test_what_has_no_order_is_no_rating(driver, kind):
    def rate(inputs, nodes):
        return kind(node.id for node in nodes)

    found = call(rating(rate=rate), rater(), driver, question="q")
    assert values(found) == {"a": None, "b": None, "c": None}  # not the ids, which are numbers too
    assert "rate gave a" in found.search.first_error


def test_ratings_may_come_one_by_one():
    def rate(inputs, nodes):
        return (float(node.id) for node in nodes)

    found = call(rating(rate=rate), rater(), question="q")
    assert values(found) == {"a": 1.0, "b": 2.0, "c": 3.0}


@drivers
def test_a_rater_that_raises_gives_no_score(driver):
    def value(inputs, path):
        if path[-1] == "b":
            raise RuntimeError("the checker is not installed")
        return 0.4

    found = call(rating(value_fn=value), rater(), driver, question="q")
    assert values(found) == {"a": 0.4, "b": None, "c": 0.4}
    failed = found.search.tree[2]
    assert failed.status is NodeStatus.FAILED
    assert "the checker is not installed" in failed.reason
    assert found.search.status is SearchStatus.UNVERIFIED


def test_one_way_to_rate():
    with pytest.raises(ValueError, match="both say how nodes are rated"):
        rating(rate="vote", value_fn=lambda inputs, path: 1.0)
    with pytest.raises(ValueError, match="rate='code': FreeText does not value states"):
        rating(rate="code")
    with pytest.raises(ValueError, match="rate='stars': must be one of"):
        rating(rate="stars")


# Cheap, then dear


@drivers
@pytest.mark.parametrize("as_function", [False, True])
def test_the_dear_rater_is_asked_about_near_ties_only(driver, as_function):
    scores = {"a": 0.9, "b": 0.52, "c": 0.5}
    cheap_model = rater(rating_reasoning="r", thought_rating=lambda i: str(scores[last(i)]))
    dear_model = rater(rating_reasoning="r", thought_rating=lambda i: {"b": "0.1", "c": "0.6"}[last(i)])
    cheap = (lambda inputs, nodes: [scores[n.path[-1]] for n in nodes]) if as_function else lm(cheap_model)
    two = rating(
        scale="unit",
        cheap_rate=cheap,
        near=0.1,
        rate_lm=lm(dear_model),
        controller=Beam(width=2, branching=3, max_depth=1),
    )
    found = call(two, rater(), driver, question="q")
    assert values(found) == {"a": 0.9, "b": 0.1, "c": 0.6}
    assert cheap_model.count("rate") == (0 if as_function else 3)
    assert dear_model.count("rate") == 2
    assert {n.rater for n in found.search.tree if str(n.action) == "a"} == {"cheap"}


def test_a_bound_rater_does_not_take_the_cheap_ones_place():
    cheap_model, dear_model = (rater(rating_reasoning="r", thought_rating="0.5") for _ in range(2))
    two = rating(scale="unit", cheap_rate=lm(cheap_model), near=0.0, controller=Beam(width=2, branching=3, max_depth=1))
    two.rate.set_lm(lm(dear_model))
    call(two, rater(), question="q")
    assert (cheap_model.count("rate"), dear_model.count("rate")) == (3, 3)


def test_cheap_raters_need_a_dear_one_of_their_kind():
    with pytest.raises(ValueError, match="needs a prompt to rate by"):
        rating(cheap_rate=lm(rater()), value_fn=lambda inputs, path: 1.0)
    with pytest.raises(ValueError, match=r"near=0.2: there is no cheap rater"):
        rating(near=0.2)
    with pytest.raises(ValueError, match=r"near=0.2: there is no cheap rater"):
        call(rating(), rater(), question="q", config={"near": 0.2})
