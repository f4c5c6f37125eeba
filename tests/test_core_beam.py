"""Beam search, on trees written out by hand."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from random import Random
from typing import Any

import pytest

from thoughtree.search import (
    Beam,
    Ended,
    Failed,
    NodeStatus,
    Propose,
    Proposed,
    Rate,
    Rated,
    Search,
    SearchStatus,
)
from thoughtree.search.order import sampled
from worlds import Letters, found

SURE, IMPOSSIBLE = 20.0, 0.001


def seed_world() -> Letters:
    """The seed's shape: one goal under the second-best state of level two."""
    values = {"a": SURE, "ad": SURE, "ae": 1.0, "b": 1.0, "bf": IMPOSSIBLE, "bg": IMPOSSIBLE}
    return Letters(
        {"": "abc", "a": "de", "b": "fg", "ad": "hi", "ae": "jk"}, values | {"c": IMPOSSIBLE}, goals=("aek",)
    )


def test_width_two_over_three_levels_asks_for_five_proposals_and_keeps_two_a_level() -> None:
    world = seed_world()
    result = world.run(Beam(width=2))
    assert world.proposed() == ["", "a", "b", "ad", "ae"]
    assert (result.path, result.status, result.ended) == (["a", "e", "k"], SearchStatus.SOLVED, Ended.GOAL)
    for depth in (1, 2):
        kept = [n for n in result.tree if n.depth == depth and n.status is NodeStatus.EXPANDED]
        assert len(kept) == 2
    assert found(result, NodeStatus.PRUNED) == ["c", "bf", "bg"]
    assert {n.state: n.reason for n in result.tree if n.status is NodeStatus.PRUNED} == {
        "c": 1.0,  # the value of the last one kept
        "bf": 1.0,
        "bg": 1.0,
    }
    assert "adh" not in world.rated()  # nothing is rated after a goal


def test_the_whole_level_is_proposed_then_rated() -> None:
    world = Letters({"": "ab", "a": "c", "b": "d"})
    world.run(Beam(max_depth=2))
    assert world.asked == ["propose ", "rate a", "rate b", "propose a", "propose b", "rate ac", "rate bd"]


def test_copies_are_dropped_over_the_whole_level_before_anyone_rates_them() -> None:
    world = Letters({"": "ab", "a": "bc", "b": "ac"}, key=lambda state: "".join(sorted(state)))
    result = world.run(Beam(max_depth=2))
    assert world.rated() == ["a", "b", "ab", "ac", "bc"]
    assert [(n.parent, n.action, n.reason) for n in result.tree if n.status is NodeStatus.DUPLICATE] == [
        (2, "a", 3)  # "ba" is "ab", node 3, a child of another parent
    ]


def test_without_deduplication_copies_fill_the_beam() -> None:
    world = Letters({"": "ab", "a": "b", "b": "a"}, key=lambda state: "".join(sorted(state)))
    world.run(Beam(max_depth=2, dedupe=False))
    assert world.rated() == ["a", "b", "ab", "ba"]


def test_the_best_of_the_deepest_level_wins_and_never_an_interior_step() -> None:
    values = {"a": 20.0, "b": 3.0, "ac": 2.0, "ad": 5.0, "be": 5.0}
    world = Letters({"": "ab", "a": "cd", "b": "e"}, values)
    result = world.run(Beam(max_depth=2))
    assert (result.best.state, result.value) == ("ad", 5.0)  # and of two equals the earlier
    assert (result.status, result.ended) == (SearchStatus.UNVERIFIED, Ended.SEARCHED_OUT)


def test_with_best_seen_the_interior_step_wins() -> None:
    values = {"a": 20.0, "b": 3.0, "ac": 2.0, "be": 5.0}
    world = Letters({"": "ab", "a": "c", "b": "e"}, values)
    result = world.run(Beam(max_depth=2, best="seen"))
    assert (result.best.state, result.status) == ("a", SearchStatus.UNVERIFIED)


def test_best_seen_gives_ties_to_the_deeper_then_to_the_earlier() -> None:
    world = Letters({"": "ab", "a": "cd"}, {"a": 5.0, "b": 5.0, "ac": 5.0, "ad": 5.0})
    assert world.run(Beam(max_depth=2, best="seen")).best.state == "ac"


def test_a_level_without_children_ends_the_search() -> None:
    world = Letters({"": "ab", "a": "c"}, {"b": 20.0})
    result = world.run(Beam(max_depth=9))
    assert world.proposed() == ["", "b", "a", "ac"]
    assert (result.ended, result.best.state) == (Ended.SEARCHED_OUT, "ac")


def test_equal_values_are_kept_in_the_order_of_their_age() -> None:
    world = Letters({"": "abcde"})
    result = world.run(Beam(width=2, max_depth=2))
    assert world.proposed() == ["", "a", "b"]
    assert found(result, NodeStatus.PRUNED) == ["c", "d", "e"]


def test_ties_by_seed_repeat_for_a_seed_and_reach_every_beam() -> None:
    beams = set()
    for seed in range(100):
        first, second = Letters({"": "abc"}), Letters({"": "abc"})
        first.run(Beam(width=2, max_depth=2, ties="seed"), seed=seed)
        second.run(Beam(width=2, max_depth=2, ties="seed"), seed=seed)
        assert first.proposed() == second.proposed()
        beams.add("".join(first.proposed()))
    assert beams == {"".join(two) for two in permutations("abc", 2)}


def test_ties_by_seed_never_move_a_better_value() -> None:
    for seed in range(20):
        world = Letters({"": "abc"}, {"b": 2.0})
        world.run(Beam(width=1, max_depth=2, ties="seed"), seed=seed)
        assert world.proposed() == ["", "b"]


def test_the_solved_threshold_ends_the_search_with_that_level() -> None:
    values = {"a": 3.0, "b": 2.0, "ac": 4.0, "bd": 9.0, "be": 1.0}
    world = Letters({"": "ab", "a": "c", "b": "de", "bd": "f", "ac": "g"}, values)
    result = world.run(Beam(solved_threshold=9.0))
    assert (result.status, result.ended) == (SearchStatus.UNVERIFIED, Ended.GOAL)
    assert (result.best.state, result.value) == ("bd", 9.0)
    assert world.proposed() == ["", "a", "b"]


def test_a_value_under_the_solved_threshold_does_not_end_it() -> None:
    world = Letters({"": "a", "a": "b", "ab": "c"}, {"a": 8.9, "ab": 8.9, "abc": 8.9})
    assert world.run(Beam(solved_threshold=9.0)).ended is Ended.SEARCHED_OUT


def test_a_sampled_beam_ends_at_the_threshold_though_that_state_may_not_be_drawn() -> None:
    for seed in range(30):
        world = Letters({"": "abcdefghij", "a": "k"}, dict.fromkeys("abcdefghi", 8.0) | {"j": 9.0})
        result = world.run(Beam(width=1, branching=10, select="sample", solved_threshold=9.0), seed=seed)
        assert (result.best.state, result.ended) == ("j", Ended.GOAL)
        assert world.proposed() == [""]


def test_children_under_min_score_are_dropped() -> None:
    world = Letters({"": "abc", "a": "d", "b": "e", "c": "f"}, {"a": 2.0, "b": 0.5, "c": 3.0, "ad": 0.1})
    result = world.run(Beam(max_depth=2, min_score=1.0))
    assert world.proposed() == ["", "c", "a"]
    assert [(n.state, n.reason) for n in result.tree if n.status is NodeStatus.PRUNED] == [
        ("b", 1.0),
        ("ad", 1.0),
    ]
    assert result.best.state == "cf"


def test_without_min_score_nothing_is_dropped_for_its_value() -> None:
    world = Letters({"": "ab", "a": "c", "b": "d"}, {"a": IMPOSSIBLE, "b": IMPOSSIBLE})
    world.run(Beam(max_depth=2))
    assert world.proposed() == ["", "a", "b"]


@pytest.mark.parametrize(("stop", "asked"), [("level", ["", "a", "b", "c"]), ("first", ["", "a"])])
def test_stop_level_finishes_the_proposals_of_its_level_and_first_does_not(stop: Any, asked: list[str]) -> None:
    world = Letters({"": "abc", "a": "d", "b": "e", "c": "f"}, goals=("ad",))
    result = world.run(Beam(max_depth=2, stop=stop))
    assert world.proposed() == asked
    assert result.path == ["a", "d"]
    assert result.spent.calls == 1 + 3 + len(asked) - 1


def test_counts_do_not_hang_on_which_state_of_the_level_solves() -> None:
    for goal in ("ad", "be", "cf"):
        world = Letters({"": "abc", "a": "d", "b": "e", "c": "f"}, goals=(goal,))
        result = world.run(Beam(max_depth=2))
        assert result.spent.calls == 1 + 3 + 3
        assert result.best.state == goal


def test_of_two_goals_on_a_level_the_first_in_the_order_of_the_level_wins_in_any_order_of_replies() -> None:
    for order in permutations(range(3)):
        search = Search(Beam(max_depth=2), "", step=Letters({}, goals=("ax", "by")).step)
        search.tell(search.ask()[0].id, Proposed(("a", "b", "c")))
        for ask in search.ask():
            search.tell(ask.id, Rated((1.0,)))
        asks = search.ask()
        for i in order:
            search.tell(asks[i].id, Proposed((("x", "y", "z")[i], "q")))
        assert search.result().path == ["a", "x"]
        assert len(search.tree) == 5  # nothing is added after the goal


def test_width_none_keeps_all_and_branching_none_takes_all() -> None:
    world = Letters({"": "abcdefghij"})
    result = world.run(Beam(width=None, branching=None, max_depth=2))
    assert world.proposed() == ["", *"abcdefghij"]
    assert found(result, NodeStatus.PRUNED) == []
    search = Search(Beam(branching=None), "")
    assert search.ask()[0].request == Propose(0, None)


def test_sampled_draws_without_replacement_in_proportion_to_value() -> None:
    # Two of a: 4, b: 3, c: 1. P(c is left out) = P(ab) + P(ba) = 4/8 * 3/4 + 3/8 * 4/5 = 0.675; of b
    # P(ac) + P(ca) = 4/8 * 1/4 + 1/8 * 4/7 = 0.19643; of a 3/8 * 1/5 + 1/8 * 3/7 = 0.12857.
    left_out: Counter[str] = Counter()
    runs = 4000
    for seed in range(runs):
        world = Letters({"": "abc"}, {"a": 4.0, "b": 3.0, "c": 1.0})
        result = world.run(Beam(width=2, max_depth=1, select="sample"), seed=seed)
        (out,) = found(result, NodeStatus.PRUNED)
        left_out[out] += 1
        assert {n.reason for n in result.tree if n.status is NodeStatus.PRUNED} == {"not drawn"}
    for state, chance in {"c": 0.675, "b": 0.1964, "a": 0.1286}.items():
        assert abs(left_out[state] / runs - chance) < 0.03  # four standard deviations: 4 * sqrt(.675 * .325 / 4000)


def test_a_sampled_beam_is_ordered_best_first_and_repeats_for_a_seed() -> None:
    for seed in range(50):
        worlds = [Letters({"": "abcd"}, {"a": 1.0, "b": 2.0, "c": 2.0, "d": 3.0}) for _ in range(2)]
        for world in worlds:
            world.run(Beam(width=3, max_depth=2, select="sample"), seed=seed)
        assert worlds[0].proposed() == worlds[1].proposed()
        assert worlds[0].proposed()[1:] in (
            ["d", "b", "c"],
            ["d", "b", "a"],
            ["d", "c", "a"],
            ["b", "c", "a"],
        )


def test_sampling_gives_worthless_values_a_thousandth_of_the_least_positive_one() -> None:
    search = Search(Beam(), "", step=lambda state, action: Letters({}).step(state, action))
    search.tell(0, Proposed(("a", "b", "c")))
    nodes = [search.tree[i] for i in (1, 2, 3)]
    for node, value in zip(nodes, (-3.0, None, 10.0), strict=True):
        node.value = value
    # Weights 0.01, 0.01, 10: the third comes first but for 2 times in 1002.
    firsts = Counter(sampled(nodes, 3, Random(seed))[0].id for seed in range(2000))
    assert firsts[3] >= 1985
    assert all(len(sampled(nodes, 3, Random(seed))) == 3 for seed in range(20))
    for node in nodes:
        node.value = 0.0
    assert {sampled(nodes, 1, Random(seed))[0].id for seed in range(50)} == {1, 2, 3}


def test_a_lost_rating_fails_its_node_alone() -> None:
    search = Search(Beam(max_depth=2), "", step=Letters({}).step)
    search.tell(0, Proposed(("a", "b")))
    asks = {ask.request: ask.id for ask in search.ask()}
    search.tell(asks[Rate((1,))], Failed("timeout"))
    search.tell(asks[Rate((2,))], Rated((1.0,)))
    assert (search.tree[1].status, search.tree[1].reason) == (NodeStatus.FAILED, "timeout")
    assert [ask.request for ask in search.ask()] == [Propose(2, 5)]


def test_a_rated_node_whose_expansion_was_lost_can_still_be_the_answer() -> None:
    search = Search(Beam(), "", step=Letters({}).step)
    search.tell(0, Proposed(("a", "b")))
    search.tell(1, Rated((20.0,)))
    search.tell(2, Rated((0.001,)))
    search.tell(3, Failed("timeout"))
    search.tell(4, Proposed(()))
    result = search.result()
    assert (result.best.state, result.best.status, result.best.reason) == ("a", NodeStatus.FAILED, "timeout")
    assert (result.status, result.ended) == (SearchStatus.UNVERIFIED, Ended.SEARCHED_OUT)


@pytest.mark.parametrize(
    "knobs",
    [
        {"width": 0},
        {"branching": -1},
        {"max_depth": 0},
        {"min_score": "1"},
        {"solved_threshold": float("inf")},
        {"select": "best"},
        {"stop": "never"},
        {"best": "last"},
        {"ties": "deeper"},
    ],
)
def test_a_wrong_knob_is_named(knobs: dict[str, Any]) -> None:
    ((name, value),) = knobs.items()
    with pytest.raises(ValueError, match="Beam") as caught:
        Beam(**knobs)
    assert f"Beam({name}={value!r}): must be " in str(caught.value)
