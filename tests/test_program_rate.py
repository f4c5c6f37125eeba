"""Who rates, on which scale, in which mode; a cheap rater before a dear one; replies that say nothing."""

from __future__ import annotations

import pytest

from engines import Engine, response
from freetext import last, rater, rating, values
from puzzle24 import KINDS, PUZZLE, call, drivers, engine
from thoughtree import DFS, Beam, BestFirst, Game24, NodeStatus, TreeOfThoughts

# Scales


@drivers
def test_verdicts_are_twenty_one_and_a_thousandth(driver):
    words = {"a": "sure", "b": "likely", "c": "impossible"}
    model = rater(rating_reasoning="r", thought_rating=lambda i: words[last(i)])
    found = call(rating(), model, driver, question="q")
    assert values(found) == {"a": 20.0, "b": 1.0, "c": 0.001}
    assert [n.verdict for n in found.search.tree if n.depth] == ["sure", "maybe", "impossible"]
    assert model.count("rate") == 3


def test_any_mapping_of_words_to_values():
    words = {"a": "Great!", "b": "**poor**", "c": "fine"}
    model = rater(rating_reasoning="r", thought_rating=lambda i: words[last(i)])
    found = call(rating(scale={"great": 5, "fine": 2, "poor": 0}), model, question="q")
    assert values(found) == {"a": 5.0, "b": 0.0, "c": 2.0}
    description = found.search.task and rating(scale={"great": 5, "fine": 2, "poor": 0}).rate.predict.signature
    assert description.output_fields["thought_rating"].json_schema_extra["desc"] == "one word: great, fine or poor"


def test_unit_scale_clamps_and_counts_what_is_off_it():
    numbers = {"a": "0.8", "b": "80%", "c": "7"}
    model = rater(rating_reasoning="r", thought_rating=lambda i: numbers[last(i)])
    found = call(rating(scale="unit"), model, question="q")
    assert values(found) == {"a": 0.8, "b": 0.8, "c": 1.0}
    assert found.search.clamped == 1


@drivers
def test_anchored_scale_asks_in_order_and_no_prunes(driver):
    reachable = {"a": "yes", "b": "No.", "c": "maybe"}
    model = rater(
        rating_reachable=lambda i: reachable[last(i)],
        rating_evidence="e",
        rating_score=lambda i: {"a": "8", "b": "9", "c": "3"}[last(i)],
    )
    found = call(rating(scale="anchored", controller=DFS(max_depth=1)), model, driver, question="q")
    assert values(found) == {"a": 8.0, "b": 0.0, "c": 3.0}
    statuses = {str(n.action): n.status for n in found.search.tree if n.depth}
    assert statuses["b"] is NodeStatus.PRUNED  # though it was scored 9
    assert statuses["c"] is NodeStatus.PRUNED  # under the cut of 4
    assert statuses["a"] is not NodeStatus.PRUNED
    asked = list(rating(scale="anchored").rate.predict.signature.output_fields)
    assert asked == ["rating_reachable", "rating_evidence", "rating_score"]


@pytest.mark.parametrize("mode", ["value", "siblings", "vote", "pairs"])
def test_reasoning_comes_before_the_verdict(mode):
    first, *_ = TreeOfThoughts("q -> a", rate=mode).rate.predict.signature.output_fields
    assert first == "rating_reasoning"


@pytest.mark.parametrize("wrong", ["stars", {}, {"only": 1}, {"a": 1, "b": 1}])
def test_wrong_scales_are_refused(wrong):
    with pytest.raises(ValueError, match="scale="):
        rating(scale=wrong)


# Modes


@drivers
def test_siblings_in_one_call(driver):
    model = rater(rating_reasoning="r", thought_ratings="1. sure\n2. impossible\n3. maybe")
    found = call(rating(rate="siblings"), model, driver, question="q")
    assert values(found) == {"a": 20.0, "b": 0.001, "c": 1.0}
    assert model.count("siblings") == 1
    assert model.calls[-1].inputs["search_candidates"] == "1. a\n\n2. b\n\n3. c"


@drivers
def test_votes_over_a_level(driver):
    votes = iter(["2", "Candidate 2", "3"])
    model = rater(rating_reasoning="r", best_thought=lambda i: next(votes))
    found = call(rating(rate="vote", samples=3, concurrency=1), model, driver, question="q")
    assert values(found) == {"a": 0.0, "b": 2.0, "c": 1.0}
    assert model.count("vote") == 3
    assert found.search.path == ["b"]


@drivers
def test_pairs_need_only_the_order_to_be_right(driver):
    order = ["b", "c", "a"]

    def better(inputs):
        one, two = (c.split(". ")[1] for c in inputs["search_candidates"].split("\n\n"))
        return "1" if order.index(one) < order.index(two) else "2"

    model = rater(rating_reasoning="r", better_thought=better)
    found = call(rating(rate="pairs"), model, driver, question="q")
    assert values(found) == {"a": 0.0, "b": 1.0, "c": 0.5}  # the share of comparisons won
    assert model.count("compare") == 3


def test_a_tie_is_half_a_win():
    found = call(rating(rate="pairs"), rater(rating_reasoning="r", better_thought="tie"), question="q")
    assert values(found) == {"a": 0.5, "b": 0.5, "c": 0.5}


@drivers
def test_samples_are_summed_or_averaged(driver):
    for join, expected in (("sum", 22.0), ("mean", pytest.approx(22 / 3))):
        replies = iter(["sure", "maybe", "maybe"])
        model = rater(rating_reasoning="r", thought_rating=lambda i, replies=replies: next(replies))
        one = rating(samples=3, join=join, controller=Beam(branching=1, max_depth=1), concurrency=1)
        assert values(call(one, model, driver, question="q")) == {"a": expected}
        assert model.count("rate") == 3


def test_the_state_is_shown_where_the_task_renders_one():
    model = engine()
    call(TreeOfThoughts(task=Game24(), controller=Beam(max_depth=1), concurrency=1), model, numbers=PUZZLE)
    shown = [c.inputs for c in model.calls if c.kind == "rate"]
    assert [i["search_state"] for i in shown] == ["6 9 13", "10 13 13", "9 10 52"]
    assert [i["search_path"] for i in shown] == ["1. 10-4=6", "1. 4+9=13", "1. 13*4=52"]


# Replies that say nothing


@drivers
def test_an_unread_rating_is_maybe_and_never_a_prune(driver):
    model = rater(rating_reasoning="r", thought_rating=lambda i: "sure" if last(i) == "a" else "hm, 3 of 4 dentists")
    found = call(rating(controller=DFS(max_depth=1)), model, driver, question="q")
    assert values(found) == {"a": 20.0, "b": 1.0, "c": 1.0}
    assert found.search.unread == {"rate": 2}
    assert not [n for n in found.search.tree if n.status is NodeStatus.PRUNED]
    assert model.count("rate") == 3


def test_an_unread_sample_is_a_maybe_and_a_lost_one_moves_nothing():
    for second, expected in (("???", 41.0), (None, 60.0)):
        replies = iter(["sure", second, "sure"])

        def verdict(inputs, replies=replies):
            said = next(replies)
            if said is None:
                raise ValueError("lost")
            return said

        model = rater(rating_reasoning="r", thought_rating=verdict)
        one = rating(samples=3, controller=Beam(branching=1, max_depth=1), concurrency=1, retries=0)
        found = call(one, model, question="q")
        assert found.search.best.value == expected
        assert (found.search.unread, found.search.failed) == (({"rate": 1}, 0) if second else ({}, 1))


@drivers
def test_an_empty_or_a_cut_rating_is_unread(driver):
    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": "1. a\n2. b"}
        if last(inputs) == "a":
            return response("", finish="length")
        return response("[[ ## rating_reasoning ## ]]\nr\n\n[[ ## thought_rating ## ]]\n1", finish="length")

    found = call(rating(scale="anchored"), Engine(fn, kinds=KINDS), driver, question="q")
    assert found.search.unread == {"rate": 2}
    found = call(rating(scale="unit"), Engine(fn, kinds=KINDS), driver, question="q")
    assert values(found) == {"a": 0.5, "b": 0.5}


def test_one_rating_a_node_and_no_second():
    model = engine()
    found = call(TreeOfThoughts(task=Game24(), controller=BestFirst()), model, numbers=PUZZLE)
    rated = [c.inputs["search_state"] for c in model.calls if c.kind == "rate"]
    assert len(rated) == len(set(rated)) == found.search.nodes_evaluated


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_values_that_do_not_differ_are_warned_of_and_the_seed_decides(seed):
    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": "\n".join(f"{i}. {c}" for i, c in enumerate("abcdefghi", 1))}
        return {"rating_reasoning": "r", "thought_rating": "maybe"}

    controller = Beam(width=5, branching=9, max_depth=1, ties="seed")
    found = call(rating(controller=controller, seed=seed), Engine(fn, kinds=KINDS), question="q")
    assert "ratings hardly differ in 1 of 1 (100 %) of the sibling groups" in found.search.warnings[0]
    kept = [str(n.action) for n in found.search.tree if n.depth and n.status is NodeStatus.OPEN]
    again = call(rating(controller=controller, seed=seed), Engine(fn, kinds=KINDS), question="q")
    assert kept == [str(n.action) for n in again.search.tree if n.depth and n.status is NodeStatus.OPEN]
    assert len(kept) == 5
    assert kept != list("abcde")  # the order of the list does not decide


@drivers
def test_a_vote_over_one_candidate_costs_no_call(driver):
    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": "1. a\n2. b" if "(none" in inputs["search_path"] else "1. c"}
        return {"rating_reasoning": "r", "best_thought": "2"}

    model = Engine(fn, kinds=KINDS)
    program = rating(rate="vote", samples=3, controller=Beam(width=1, branching=2, max_depth=2))
    found = call(program, model, driver, question="q")
    assert [(str(n.action), n.value) for n in found.search.tree][1:] == [("a", 0.0), ("b", 3.0), ("c", 3.0)]
    assert (model.count("propose"), model.count("vote")) == (2, 3)
    assert found.search.spent.calls == 5


@pytest.mark.parametrize("samples", [0, 1001, 10**9, True, 2.5])
def test_samples_are_a_number_that_can_be_asked_for(samples):
    with pytest.raises(ValueError, match=r"samples=.*must be"):
        rating(samples=samples)
