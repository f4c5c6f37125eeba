"""Depth-first search, on trees written out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from thoughtree.search import (
    DFS,
    Budget,
    Ended,
    Failed,
    NodeStatus,
    Outcome,
    Rate,
    Rating,
    Request,
    Search,
    SearchStatus,
    Tree,
    Unread,
    run,
)
from worlds import Letters, found

SURE, MAYBE, IMPOSSIBLE = 20.0, 1.0, 0.001


def seed_world(**more: object) -> Letters:
    """A sure and two impossible steps; then sure before maybe; all dead under the sure one; then the goal."""
    return Letters(
        {"": "abc", "a": "de", "ad": "fgh", "ae": "ij"},
        {"a": SURE, "b": IMPOSSIBLE, "c": IMPOSSIBLE, "ad": SURE, "adf": IMPOSSIBLE}
        | {"adg": IMPOSSIBLE, "adh": IMPOSSIBLE, "aei": IMPOSSIBLE},
        goals=("aej",),
        **more,  # type: ignore[arg-type]
    )


def test_sure_before_maybe_impossible_dropped_and_the_next_pop_is_the_backtrack() -> None:
    world = seed_world()
    result = world.run(DFS())
    assert world.proposed() == ["", "a", "ad", "ae"]
    assert result.path == ["a", "e", "j"]
    assert (result.status, result.ended) == (SearchStatus.SOLVED, Ended.GOAL)
    # The goal is found by code, before anyone rates its sibling: 3 + 2 + 3 ratings.
    assert world.rated() == ["a", "b", "c", "ad", "ae", "adf", "adg", "adh"]
    assert result.spent.calls == 4 + 8
    assert found(result, NodeStatus.PRUNED) == ["b", "c", "adf", "adg", "adh"]
    assert found(result, NodeStatus.SOLVED) == ["aej"]
    assert all(n.reason == 1.0 for n in result.tree if n.status is NodeStatus.PRUNED)


def test_backtracking_goes_to_the_deepest_open_sibling_first() -> None:
    steps = {"": "ab", "a": "cd", "b": "ef", "ac": "", "ad": "", "be": "", "bf": ""}
    world = Letters(steps, {"a": 1.0, "b": 20.0, "be": 1.0, "bf": 20.0, "ac": 20.0, "ad": 1.0})
    result = world.run(DFS(max_depth=3))
    assert world.proposed() == ["", "b", "bf", "be", "a", "ac", "ad"]
    assert result.ended is Ended.SEARCHED_OUT


def test_equal_values_are_followed_in_the_order_of_proposal() -> None:
    world = Letters({"": "abc"})
    world.run(DFS(max_depth=2))
    assert world.proposed() == ["", "a", "b", "c"]


def test_ties_by_seed_repeat_for_a_seed_and_reach_every_order() -> None:
    orders = set()
    for seed in range(60):
        first, second = Letters({"": "abc"}), Letters({"": "abc"})
        first.run(DFS(max_depth=2, ties="seed"), seed=seed)
        second.run(DFS(max_depth=2, ties="seed"), seed=seed)
        assert first.proposed() == second.proposed()
        orders.add("".join(first.proposed()))
    assert orders == {"abc", "acb", "bac", "bca", "cab", "cba"}


def test_without_a_solution_the_deepest_state_that_was_not_dropped_and_a_failed_status() -> None:
    values = {"a": 20.0, "b": 1.0, "ac": 0.001, "ad": 0.001, "be": 5.0, "bf": 7.0, "bg": 7.0}
    world = Letters({"": "ab", "a": "cd", "b": "efg"}, values)
    result = world.run(DFS(max_depth=2))
    assert (result.status, result.ended) == (SearchStatus.FAILED, Ended.SEARCHED_OUT)
    assert result.best.state == "bf"  # "bg" has the same value, and came later
    assert result.value == 7.0


def test_a_failed_search_whose_states_were_all_dropped_still_gives_the_best_of_them() -> None:
    world = Letters({"": "ab"}, {"a": 0.001, "b": 0.5})
    result = world.run(DFS())
    assert (result.status, result.best.state) == (SearchStatus.FAILED, "b")
    assert found(result, NodeStatus.PRUNED) == ["a", "b"]


def test_an_unread_rating_is_maybe_and_never_a_prune() -> None:
    world = Letters({"": "ab", "a": "", "b": ""}, {"a": 20.0})
    search = Search(DFS(max_depth=2), "", step=world.step)

    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        if isinstance(request, Rate) and tree[request.nodes[0]].state == "b":
            return Unread("well, who knows")
        return world.answer(request, tree)

    result = run(search, answer)
    assert world.proposed() == ["", "a", "b"]
    assert (result.tree[2].value, result.tree[2].verdict) == (1.0, "unread")
    assert result.unread == {"rate": 1}


def test_the_threshold_is_the_scales_own_cut_unless_it_is_given() -> None:
    values = {"a": 3.0, "b": 2.0, "c": 0.5}
    for threshold, kept in ((None, ["a", "b"]), (2.5, ["a"]), (3.0, ["a"]), (0.0, ["a", "b", "c"])):
        world = Letters({"": "abc"}, values)
        world.run(DFS(max_depth=2, threshold=threshold))
        assert world.proposed() == ["", *kept]
    for cut, kept in ((2.5, ["a"]), (None, ["a", "b", "c"])):
        world = Letters({"": "abc"}, values)
        world.run(DFS(max_depth=2), rating=Rating(cut=cut, unread=None))
        assert world.proposed() == ["", *kept]


def test_a_cut_counts_per_sample_that_is_summed() -> None:
    # Three samples of 0.5 make 1.5: over a cut of 1 for one sample, under 3 for three.
    world = Letters({"": "ab"}, {"a": 0.5, "b": 1.0})
    result = world.run(DFS(max_depth=2), rating=Rating(samples=3))
    assert world.proposed() == ["", "b"]
    assert [n.value for n in result.tree] == [None, 1.5, 3.0]


def test_duplicates_of_a_sibling_and_of_a_visited_state_are_dropped_before_they_are_rated() -> None:
    world = Letters({"": "aba", "a": "b", "b": "a"}, key=lambda state: "".join(sorted(state)))
    result = world.run(DFS(max_depth=2))
    assert world.rated() == ["a", "b", "ab"]
    duplicates = [(n.id, n.action, n.reason) for n in result.tree if n.status is NodeStatus.DUPLICATE]
    assert duplicates == [(3, "a", 1), (5, "a", 4)]  # of sibling 1; "ba" is the state "ab", node 4


def test_without_deduplication_both_are_rated_and_followed() -> None:
    world = Letters({"": "aa"}, key=lambda state: "".join(sorted(state)))
    result = world.run(DFS(max_depth=2, dedupe=False))
    assert world.rated() == ["a", "a"]
    assert world.proposed() == ["", "a", "a"]
    assert found(result, NodeStatus.DUPLICATE) == []


def test_a_state_met_again_nearer_the_root_is_no_duplicate() -> None:
    # "acd" at depth 3 and "be" at depth 2 are one state: from "be" the limit leaves one step more.
    steps = {"": "ab", "a": "c", "ac": "d", "b": "e", "be": "f"}
    world = Letters(steps, {"a": 20.0}, key=lambda state: "one" if state in ("acd", "be") else state)
    result = world.run(DFS(max_depth=3))
    assert world.proposed() == ["", "a", "ac", "b", "be"]
    assert found(result, NodeStatus.DUPLICATE) == []
    # The other way round it is one: what follows from it is known.
    world = Letters(steps, {"b": 20.0}, key=lambda state: "one" if state in ("acd", "be") else state)
    result = world.run(DFS(max_depth=3))
    assert found(result, NodeStatus.DUPLICATE) == ["acd"]


def test_the_node_nearest_to_the_root_is_the_one_that_later_copies_are_of() -> None:
    one = ("acd", "be", "bg")
    world = Letters(
        {"": "ab", "a": "c", "ac": "d", "b": "eg", "be": "f"}, {"a": 20.0}, key=lambda s: "one" if s in one else s
    )
    result = world.run(DFS(max_depth=3))
    node = {n.action: n for n in result.tree}
    assert (node["e"].status, node["g"].status) == (NodeStatus.EXPANDED, NodeStatus.DUPLICATE)
    assert node["g"].reason == node["e"].id


def test_a_state_whose_first_node_failed_is_no_duplicate() -> None:
    world = Letters({"": "ab", "b": "c"}, key=lambda state: "one" if state in ("a", "bc") else state)
    search = Search(DFS(max_depth=2), "", step=world.step)

    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        return Failed("down") if request == Rate((1,)) else world.answer(request, tree)

    result = run(search, answer)
    assert found(result, NodeStatus.FAILED) == ["a"]
    assert world.rated() == ["b", "bc"]


def test_the_root_met_again_is_a_duplicate() -> None:
    world = Letters({"": "a", "a": "b"}, key=lambda state: len(state) % 2)
    result = world.run(DFS())
    assert [(n.state, n.status, n.reason) for n in result.tree][1:] == [
        ("a", NodeStatus.EXPANDED, None),
        ("ab", NodeStatus.DUPLICATE, 0),
    ]


def test_illegal_steps_are_kept_with_their_rule_and_never_rated() -> None:
    world = Letters({"": "axb"}, illegal="x")
    result = world.run(DFS(max_depth=1))
    assert world.rated() == ["a", "b"]
    assert [(n.status, n.reason) for n in result.tree if n.action == "x"] == [(NodeStatus.ILLEGAL, "no x")]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_node_at_the_limit_is_rated_and_not_expanded(depth: int) -> None:
    endless = Letters({"a" * k: "a" for k in range(9)})
    result = endless.run(DFS(max_depth=depth, branching=1))
    assert len(endless.proposed()) == depth
    assert len(endless.rated()) == depth
    assert [n.depth for n in result.tree] == list(range(depth + 1))


def test_a_terminal_state_that_is_no_goal_is_neither_rated_nor_expanded() -> None:
    world = Letters({"": "ab", "a": "c"}, ends=("a",))
    world.run(DFS())
    assert world.rated() == ["b"]
    assert world.proposed() == ["", "b"]


def test_the_expansions_cap() -> None:
    world = Letters({"": "ab", "a": "cd", "b": "ef", "ac": "g"})
    result = world.run(DFS(expansions=3))
    assert world.proposed() == ["", "a", "ac"]
    assert (result.ended, result.status, result.best.state) == (Ended.EXPANSIONS, SearchStatus.FAILED, "acg")


def test_branching_is_asked_for_and_enforced() -> None:
    world = Letters({"": "abcdefgh"})
    assert len(world.run(DFS(branching=4, max_depth=1)).tree) == 5  # never a fifth child
    assert len(world.run(DFS(branching=None, max_depth=1)).tree) == 9


def test_a_search_that_its_budget_ended_has_failed_with_the_deepest_state() -> None:
    world = Letters({"": "ab", "a": "cd", "ac": "ef"}, {"a": 20.0})
    result = world.run(DFS(), budget=Budget(calls=6))  # propose, 2 ratings, propose, 2 ratings
    assert (result.status, result.ended, result.spent.calls) == (SearchStatus.FAILED, Ended.CALLS, 6)
    assert result.best.state == "ac"


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"branching": 0}, r"DFS\(branching=0\): must be an integer of at least 1, or None"),
        ({"branching": 2.0}, r"DFS\(branching=2.0\)"),
        ({"max_depth": None}, r"DFS\(max_depth=None\): must be an integer of at least 1$"),
        ({"max_depth": True}, r"DFS\(max_depth=True\)"),
        ({"threshold": float("nan")}, r"DFS\(threshold=nan\): must be a finite number, or None"),
        ({"dedupe": 1}, r"DFS\(dedupe=1\): must be True or False"),
        ({"ties": "deeper"}, r"DFS\(ties='deeper'\): must be one of 'age', 'seed'"),
        ({"expansions": -1}, r"DFS\(expansions=-1\)"),
    ],
)
def test_a_wrong_knob_is_named_with_its_value_and_its_bound(knobs: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        DFS(**knobs)  # type: ignore[arg-type]


def test_lazy_children_are_rated_when_their_turn_comes_in_the_order_of_proposal() -> None:
    steps, values = {"": "ab", "a": "cd", "b": "e", "ac": "f"}, {"b": 20.0, "ac": 0.001}
    world = Letters(steps, values)
    world.run(DFS(lazy=True, max_depth=2))
    assert world.asked == ["propose ", "rate a", "propose a", "rate ac", "rate ad", "rate b", "propose b", "rate be"]
    found = Letters(steps, values, goals=("ad",))
    assert found.run(DFS(lazy=True, max_depth=2)).solved
    assert found.rated() == ["a"]  # the eager search has rated b by then, and would have gone there first
    eager = Letters(steps, values, goals=("ad",))
    eager.run(DFS(max_depth=2))
    assert eager.rated() == ["a", "b", "be"]


def test_lazy_children_are_stepped_when_their_turn_comes() -> None:
    world = Letters({"": "abx", "a": "c"}, {"a": 0.001}, illegal="x")
    result = world.run(DFS(lazy=True, max_depth=2), step=None)
    assert world.asked == ["propose ", "step a", "rate a", "step b", "rate b", "propose b", "step x"]
    assert [node.status for node in result.tree][1:] == [NodeStatus.PRUNED, NodeStatus.EXPANDED, NodeStatus.ILLEGAL]
