"""What the founding documents require of a whole program, with their own counts and paths."""

from __future__ import annotations

import pytest

from engines import Engine
from puzzle24 import KINDS, PATH, PUZZLE, call, each, engine, script
from thoughtree import DFS, Beam, BestFirst, Game24, NodeStatus, SearchStatus, TreeOfThoughts


@each
def test_depth_first_needs_four_proposals_and_gives_the_path(driver, concurrency):
    model = engine()
    program = TreeOfThoughts(task=Game24(), controller=DFS(), concurrency=concurrency)
    found = call(program, model, driver, numbers=PUZZLE)
    assert model.count("propose") == 4
    assert found.search.path == PATH
    assert found.search.status is SearchStatus.SOLVED
    # Three states after the first proposal, two after the second; a single number is the end, and not rated.
    assert model.count("rate") == 3 + 2
    assert found.search.spent.calls == model.count() == 9


@each
def test_beam_of_two_needs_five_proposals_and_keeps_two_a_level(driver, concurrency):
    model = engine(delay=0.001)
    program = TreeOfThoughts(task=Game24(), controller=Beam(width=2, max_depth=3), concurrency=concurrency)
    found = call(program, model, driver, numbers=PUZZLE)
    assert model.count("propose") == 1 + 2 + 2
    assert found.search.path == PATH
    for depth in (1, 2):
        kept = [n for n in found.search.tree if n.depth == depth and n.status is NodeStatus.EXPANDED]
        assert len(kept) == 2
    assert model.peak <= concurrency


@each
@pytest.mark.parametrize("leader", ["4 6", "13 15"])
def test_beam_counts_do_not_hang_on_which_state_solves(driver, concurrency, leader):
    def fn(kind, inputs, n):
        if kind == "rate" and inputs["search_state"] in ("4 6", "13 15"):
            worth = "sure" if inputs["search_state"] == leader else "maybe"
            return {"rating_reasoning": "", "thought_rating": worth}
        return script(kind, inputs, n)

    model = engine(fn)
    program = TreeOfThoughts(task=Game24(), controller=Beam(width=2), concurrency=concurrency)
    found = call(program, model, driver, numbers=PUZZLE)
    assert (model.count("propose"), found.search.path) == (5, PATH)


@each
def test_the_expression_is_checked_and_uses_each_number_once(driver, concurrency):
    program = TreeOfThoughts(task=Game24(), controller=DFS(), concurrency=concurrency)
    found = call(program, engine(), driver, numbers=PUZZLE)
    assert Game24().for_inputs({"numbers": PUZZLE}).check({"answer": found.answer}) is True
    assert found.reasoning == "\n".join(PATH)


def test_depth_first_that_finds_nothing_is_failed_and_gives_its_deepest_state():
    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": "1. 10 - 4 = 6"}  # a second time, 10 is gone: illegal
        return {"rating_reasoning": "", "thought_rating": "sure"}

    found = call(TreeOfThoughts(task=Game24(), controller=DFS()), engine(fn), numbers=PUZZLE)
    assert found.search.status is SearchStatus.FAILED
    assert found.search.path == ["10-4=6"]
    assert found.answer is None


def test_defaults_of_the_seeds():
    program = TreeOfThoughts("question -> answer")
    assert (program.controller.width, program.controller.branching, program.controller.max_depth) == (5, 5, 3)
    assert program.plan.concurrency == 8
    assert program.budget.calls is None
    deep = TreeOfThoughts("question -> answer", controller=DFS())
    assert (deep.controller.branching, deep.controller.max_depth, deep.budget.calls) == (3, 3, 100)
    assert (BestFirst().expansions, BestFirst().keep, BestFirst().branching) == (25, 2, 3)


def test_three_samples_of_sure_are_summed_to_sixty():
    program = TreeOfThoughts(task=Game24(), controller=Beam(width=1, max_depth=1), samples=3)
    found = call(program, engine(), numbers=PUZZLE)
    values = {n.state.numbers: n.value for n in found.search.tree if n.depth == 1}
    assert values == pytest.approx({(6, 9, 13): 60.0, (10, 13, 13): 0.003, (9, 10, 52): 0.003})


# agents-lab: a value function of the task and the partial path; ANSWER: ends the search with value 1


@each
def test_answer_mark_ends_the_search_with_value_one(driver, concurrency):
    asked = []

    def fn(kind, inputs, n):
        deep = inputs["search_path"] != "(none yet)"
        return {"next_thoughts": "1. ANSWER: Lisbon\n2. ask again" if deep else "1. think\n2. look"}

    def value(inputs, path):
        asked.append((inputs["question"], tuple(path)))
        return 0.9

    model = engine(fn)
    program = TreeOfThoughts("question -> answer", value_fn=value, concurrency=concurrency)
    found = call(program, model, driver, question="Which city?")
    assert found.answer == "Lisbon"
    assert found.search.path[-1] == "ANSWER: Lisbon"
    assert found.search.value == 1.0
    assert found.search.status is SearchStatus.UNVERIFIED  # nothing in code can tell
    assert found.search.nodes_evaluated == 2
    assert sorted(asked) == [("Which city?", ("look",)), ("Which city?", ("think",))]
    assert model.count() == 3  # one level proposed, the next one finished, no closing call


# loomflow: a threshold that ends the search, a floor, a closing call, and the deepest level wins


def thinker(values):
    """Proposes `a` and `b` under every path, rates by the path, and answers with what it was shown."""

    def fn(kind, inputs, n):
        if kind == "propose":
            k = inputs["search_path"].count("\n") + (inputs["search_path"] != "(none yet)")
            return {"next_thoughts": f"1. a{k}\n2. b{k}"}
        if kind == "rate":
            last = inputs["search_path"].splitlines()[-1].split(". ")[1]
            return {"rating_reasoning": "", "thought_rating": str(values[last])}
        return {"answer": "from " + inputs["search_path"].replace("\n", "; ")}

    return Engine(fn, kinds=KINDS)


def test_solved_threshold_ends_with_the_level_that_reaches_it():
    model = thinker({"a0": 0.4, "b0": 0.95})
    program = TreeOfThoughts("question -> answer", scale="unit", controller=Beam(solved_threshold=0.9))
    found = call(program, model, question="q")
    assert found.search.path == ["b0"]
    assert found.answer == "from 1. b0"  # the closing call synthesises
    assert model.count("propose") == 1


def test_min_score_drops_children_under_it():
    model = thinker({"a0": 0.6, "b0": 0.3, "a1": 0.2, "b1": 0.1})
    program = TreeOfThoughts("question -> answer", scale="unit", controller=Beam(min_score=0.5, max_depth=2))
    found = call(program, model, question="q")
    statuses = {str(n.action): n.status for n in found.search.tree if n.depth == 1}
    assert statuses == {"a0": NodeStatus.EXPANDED, "b0": NodeStatus.PRUNED}
    assert found.search.path == ["a0"]  # the best that was not given up


def test_an_interior_step_never_beats_the_steps_built_on_it():
    model = thinker({"a0": 0.9, "b0": 0.8, "a1": 0.3, "b1": 0.2})
    program = TreeOfThoughts("question -> answer", scale="unit", controller=Beam(max_depth=2))
    found = call(program, model, question="q")
    assert found.search.path == ["a0", "a1"]
    assert found.search.value == 0.3
    seen = TreeOfThoughts("question -> answer", scale="unit", controller=Beam(max_depth=2, best="seen"))
    assert call(seen, thinker({"a0": 0.9, "b0": 0.8, "a1": 0.3, "b1": 0.2}), question="q").search.path == ["a0"]


def test_a_value_without_threshold_is_no_solution():
    found = call(
        TreeOfThoughts("question -> answer", controller=Beam(max_depth=1)),
        thinker({"a0": "sure", "b0": "maybe"}),
        question="q",
    )
    assert found.search.status is SearchStatus.UNVERIFIED
