"""What a call can cost, before it is made; and afterwards, why it went as it did."""

from __future__ import annotations

import logging

import dspy
import pytest

from engines import Engine, lm
from puzzle24 import KINDS, PUZZLE, call, drivers, engine, script
from thoughtree import DFS, MCTS, Beam, BestFirst, Budget, Game24, TreeOfThoughts

TOKENS = {"propose": (600, 350), "rate": (500, 150)}
PRICE = (5.0, 25.0)  # dollars per million tokens, in and out


def program(**knobs):
    return TreeOfThoughts("question -> answer", answer="path", **knobs)


def test_the_seeds_own_figures():
    every = program(controller=Beam(width=None, branching=3, max_depth=3)).estimate(tokens=TOKENS, price=PRICE)
    assert (every.expansions, every.evaluations) == (13, 39)
    assert every.each == pytest.approx({"propose": 0.01175, "rate": 0.00625})
    beam = program(controller=Beam(width=2, branching=3, max_depth=3)).estimate(tokens=TOKENS, price=PRICE)
    assert (beam.expansions, beam.evaluations) == (5, 15)
    assert beam.calls == {"propose": 5, "rate": 15}
    assert beam.tokens == {"propose": 4750, "rate": 9750}
    assert beam.total_calls == 20
    assert beam.total_cost == pytest.approx(5 * 0.01175 + 15 * 0.00625)
    assert beam.bounded
    assert beam.warning is None


# Worked out by hand: Beam(2, 3, 3) has levels of 3, 6 and 6 children; DFS(2, 2) has 3 expansions of 2;
# BestFirst with 5 expansions of 3, two at a time, has batches of 3, 6 and 6.
@pytest.mark.parametrize(
    ("controller", "mode", "ratings"),
    [
        (Beam(width=2, branching=3), "value", 15),
        (Beam(width=2, branching=3), "siblings", 5),
        (Beam(width=2, branching=3), "vote", 3),
        (Beam(width=2, branching=3), "pairs", 3 + 15 + 15),
        (DFS(branching=2, max_depth=2), "value", 6),
        (DFS(branching=2, max_depth=2), "siblings", 3),
        (DFS(branching=2, max_depth=2), "vote", 3),
        (DFS(branching=2, max_depth=2), "pairs", 3),
        (BestFirst(branching=3, keep=None, expansions=5, open=2), "pairs", 3 + 15 + 15),
    ],
)
@pytest.mark.parametrize("samples", [1, 2])
def test_ratings_are_counted_in_every_mode(controller, mode, ratings, samples):
    found = program(controller=controller, rate=mode, samples=samples).estimate()
    assert found.calls["rate"] == ratings * samples


@drivers
@pytest.mark.parametrize("mode", ["value", "siblings", "vote", "pairs"])
@pytest.mark.parametrize("controller", [Beam(width=2, branching=3), DFS(branching=2), BestFirst(expansions=6, open=2)])
def test_no_run_makes_more_calls_than_estimated(driver, mode, controller):
    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": "\n".join(f"{i}. t{n}.{i}" for i in range(5))}
        fields = {"thought_rating": "sure", "best_thought": "1", "better_thought": "1"}
        ratings = "\n".join(f"{i}. sure" for i in range(1, 30))
        return {"rating_reasoning": "r", "thought_ratings": ratings, **fields}

    one = program(controller=controller, rate=mode)
    most = one.estimate().calls
    found = call(one, Engine(fn, kinds=KINDS), driver, question="q")
    spent = {role: usage.calls for role, usage in found.search.spent_by.items() if usage.calls}
    assert set(spent) == set(most)
    assert all(spent[role] <= most[role] for role in spent)
    if not isinstance(controller, BestFirst):
        assert spent == most  # nothing was pruned, so the most is what it was


@pytest.mark.parametrize("mode", ["value", "siblings", "vote", "pairs"])
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("at_once", [1, 3])
def test_simulations_go_no_deeper_than_estimated(mode, lazy, at_once):
    """A rollout: an expansion of 2 and, of the better child, up to 3 more of 1 each."""

    def fn(kind, inputs, n):
        fields = {
            "thought_rating": "sure",
            "best_thought": "1",
            "better_thought": "1",
            "thought_ratings": "1. sure\n2. sure",
        }
        return {"next_thoughts": "\n".join(f"{i}. t{n}.{i}" for i in range(5)), "rating_reasoning": "r", **fields}

    controller = MCTS(rollouts=4, branching=2, max_depth=4, simulate=True, lazy=lazy, at_once=at_once)
    one = program(controller=controller, rate=mode)
    most = one.estimate()
    assert (most.expansions, most.evaluations, most.bounded) == (4 * 4, 4 * (2 + 3), True)
    found = call(one, Engine(fn, kinds=KINDS), question="q")
    spent = {role: usage.calls for role, usage in found.search.spent_by.items() if usage.calls}
    assert all(spent[role] <= most.calls[role] for role in spent)
    assert MCTS(rollouts=1, branching=2, max_depth=1, simulate=True).most() == (1, 2)  # nothing is deeper


def test_samples_moves_code_functions_and_first():
    beam = Beam(width=2, branching=3)
    assert program(controller=beam, propose="samples").estimate().calls == {"propose": 15, "rate": 15}
    game = TreeOfThoughts(task=Game24(), controller=beam, propose="moves", value_fn=lambda inputs, path: 1.0)
    assert game.estimate().calls == {}
    lmless = program(controller=beam, propose=lambda inputs, node, n: [])
    assert lmless.estimate().calls == {"rate": 15}
    closing = TreeOfThoughts("question -> answer", controller=beam, first="answer").estimate()
    assert closing.calls["answer"] == 2
    with dspy.context(adapter=dspy.TwoStepAdapter(lm(engine()))):
        assert closing.calls["propose"] * 2 == TreeOfThoughts("q -> a", controller=beam).estimate().calls["propose"]


def test_cheap_raters_and_rewards_are_counted():
    beam = Beam(width=2, branching=3)
    two = program(controller=beam, cheap_rate=lm(engine()), near=0.1).estimate(price=PRICE)
    assert two.calls == {"propose": 5, "rate": 15, "cheap_rate": 15}

    def reward(inputs, prediction):
        return 1.0

    reward.calls = 1
    graded = TreeOfThoughts("question -> answer", controller=beam, reward_fn=reward, threshold=1.0).estimate()
    assert graded.calls == {"propose": 5, "rate": 15, "step": 15, "answer": 2}


def test_prices_may_differ_by_role():
    found = program(controller=Beam(width=2, branching=3)).estimate(
        tokens=TOKENS, price={"propose": (5, 25), "rate": (1, 2)}
    )
    assert found.each == pytest.approx({"propose": 0.01175, "rate": 0.0008})
    with pytest.raises(ValueError, match="there is none for 'rate'"):
        program().estimate(price={"propose": (5, 25)})


def test_measured_means_are_taken_from_a_run():
    model = engine(tokens=(90, 10))
    run = call(TreeOfThoughts(task=Game24(), controller=Beam(width=2)), model, numbers=PUZZLE)
    found = TreeOfThoughts(task=Game24(), controller=Beam(width=2, branching=3)).estimate(
        measured=run.search, price=(1.0, 4.0)
    )
    assert found.tokens == {"propose": 500, "rate": 1500}
    assert found.each == pytest.approx({"propose": 0.0004, "rate": 0.0004})  # no telling which were replies


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        (Budget(calls=19), "can want 20 calls, and its budget is 19"),
        (Budget(tokens=14_000), "can want 14500 tokens, and its budget is 14000"),
        (Budget(cost=0.1), "can want 0.1525 cost, and its budget is 0.1"),
    ],
)
def test_a_warning_says_when_the_budget_is_too_small(budget, says, caplog):
    with caplog.at_level(logging.WARNING):
        found = program(controller=Beam(width=2, branching=3), budget=budget).estimate(tokens=TOKENS, price=PRICE)
    assert says in found.warning
    assert says in caplog.text


def test_what_nothing_bounds_says_so():
    unbounded = program(controller=Beam(branching=None)).estimate()
    assert not unbounded.bounded
    assert "nothing bounds this search" in unbounded.warning
    assert program(controller=Beam(width=1, branching=None)).estimate(moves=4).calls == {"propose": 3, "rate": 12}


# Afterwards


def lines(found):
    return found.search.explain().splitlines()


@drivers
def test_a_solved_search_says_so_in_its_counts(driver):
    found = call(TreeOfThoughts(task=Game24(), controller=DFS()), engine(), driver, numbers=PUZZLE)
    said = lines(found)
    assert said[0] == "Solved: a goal was reached; 11 nodes to depth 3."
    # Of five rated states code knows the truth: 6 9 13 and 4 6 can make 24; 13 15 cannot, and was called sure.
    assert (
        "Ratings that code contradicts: 1 of 5 (20 %); pruned though solvable: 0; rated high though hopeless: 1."
        in said
    )
    assert "Calls: 9: propose 4 of 9 (44 %), rate 5 of 9 (56 %)." in said
    assert said[-1].startswith("Change first: nothing")


def test_illegal_proposals_by_rule():
    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": "1. 99 - 1 = 98\n2. 10 / 0 = 1\n3. 10 - 4 = 6\n4. 7 + 7 = 14"}
        return script(kind, inputs, n)

    found = call(TreeOfThoughts(task=Game24(), controller=Beam(max_depth=1)), engine(fn), numbers=PUZZLE)
    rules = found.search.rules_broken()
    assert sum(rules.values()) == 3
    text = found.search.explain()
    assert "Illegal proposals: 3 of 4 (75 %); by rule: " in text
    assert f"{next(iter(rules))}: {next(iter(rules.values()))}" in text
    assert "Change first: the proposals: most were illegal" in text


def test_a_solvable_state_that_was_pruned_is_named():
    def fn(kind, inputs, n):
        if kind == "rate":
            return {"rating_reasoning": "r", "thought_rating": "impossible"}
        return script(kind, inputs, n)

    found = call(TreeOfThoughts(task=Game24(), controller=DFS()), engine(fn), numbers=PUZZLE)
    text = found.search.explain()
    assert "pruned though solvable: 1" in text
    assert "For example 10-4=6 was pruned at value 0.001, and a solution follows from it." in text
    assert "Change first: the rater: it drops solvable states" in text


def test_unread_replies_are_counted_by_role():
    def fn(kind, inputs, n):
        if kind == "rate":
            return {"rating_reasoning": "r", "thought_rating": "who knows"}
        return script(kind, inputs, n)

    found = call(TreeOfThoughts(task=Game24(), controller=Beam(width=2)), engine(fn), numbers=PUZZLE)
    rated = found.search.spent_by["rate"].calls
    assert found.search.unread == {"rate": rated}
    assert f"Replies that could not be read: rate: {rated}." in lines(found)


def test_a_result_is_saved_and_explains_itself_without_its_task(tmp_path):
    from thoughtree import SearchResult

    found = call(TreeOfThoughts(task=Game24(), controller=DFS()), engine(), numbers=PUZZLE)
    found.search.save(tmp_path / "result.json")
    again = SearchResult.load(tmp_path / "result.json")
    assert again.explain() == found.search.explain()
    assert again.path == found.search.path
    assert again.answer == {"answer": "(10 - 4) * (13 - 9)"}
