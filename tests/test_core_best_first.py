"""Best-first search, on trees written out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from thoughtree.search import (
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
    Request,
    Search,
    SearchStatus,
    Tree,
    run,
)
from worlds import Letters, found


def test_the_best_node_of_any_depth_is_expanded_next() -> None:
    values = {"a": 5.0, "b": 4.0, "ac": 3.0, "ad": 2.0, "be": 4.5, "bf": 1.0}
    world = Letters({"": "ab", "a": "cd", "b": "ef", "be": "", "ac": "", "ad": "", "bf": ""}, values)
    world.run(BestFirst(max_depth=3))
    assert world.proposed() == ["", "a", "b", "be", "ac", "ad", "bf"]


def test_equal_values_go_to_the_deeper_then_to_the_earlier() -> None:
    steps = {"": "ab", "a": "cd", "b": "ef"}
    deeper, older = Letters(steps), Letters(steps)
    deeper.run(BestFirst(max_depth=3))
    assert deeper.proposed() == ["", "a", "ac", "ad", "b", "be", "bf"]
    older.run(BestFirst(max_depth=3, ties="age"))
    assert older.proposed() == ["", "a", "b", "ac", "ad", "be", "bf"]


def test_ties_by_seed_repeat_for_a_seed_and_mix_depths() -> None:
    orders = set()
    for seed in range(300):
        first, second = (Letters({"": "ab", "a": "c", "b": "d"}) for _ in range(2))
        first.run(BestFirst(max_depth=3, ties="seed"), seed=seed)
        second.run(BestFirst(max_depth=3, ties="seed"), seed=seed)
        assert first.proposed() == second.proposed()
        orders.add(" ".join(first.proposed()[1:]))
    # Each of a and b comes before its child; all else happens.
    assert orders == {"a b ac bd", "a b bd ac", "b a ac bd", "b a bd ac", "a ac b bd", "b bd a ac"}


def test_keep_lets_only_the_best_children_of_an_expansion_in() -> None:
    world = Letters({"": "abc", "a": "def"}, {"a": 9.0, "b": 2.0, "c": 5.0, "ad": 1.0, "ae": 1.0, "af": 8.0})
    result = world.run(BestFirst(max_depth=2, keep=2))
    assert world.proposed() == ["", "a", "c"]
    dropped = [(n.state, n.reason) for n in result.tree if n.status is NodeStatus.PRUNED]
    assert dropped == [("b", 5.0), ("ae", 1.0)]  # of the equal "ad" and "ae" the earlier is kept
    everything = Letters({"": "abc"})
    everything.run(BestFirst(max_depth=2, keep=None))
    assert everything.proposed() == ["", "a", "b", "c"]


def test_prune_below_is_the_scales_own_cut_unless_it_is_given() -> None:
    values = {"a": 3.0, "b": 2.0, "c": 0.5}
    for below, kept in ((None, ["a", "b"]), (2.5, ["a"]), (0.0, ["a", "b", "c"])):
        world = Letters({"": "abc"}, values)
        result = world.run(BestFirst(max_depth=2, keep=None, prune_below=below))
        assert world.proposed() == ["", *kept]
        cut = 1.0 if below is None else below
        assert all(n.reason == cut for n in result.tree if n.status is NodeStatus.PRUNED)
    world = Letters({"": "abc"}, values)
    world.run(BestFirst(max_depth=2, keep=None), rating=Rating(cut=None))
    assert world.proposed() == ["", "a", "b", "c"]


def test_the_depth_bonus_is_added_once_per_level() -> None:
    # Depth 1: a 6, b 5; depth 2: ac 4. With a bonus of 1 a level: a 7, b 6, ac 6: the tie goes deeper.
    steps, values = {"": "ab", "a": "c", "ac": "d"}, {"a": 6.0, "b": 5.0, "ac": 4.0, "acd": 1.0}
    for bonus, order in (
        (0.0, ["", "a", "b", "ac"]),
        (1.0, ["", "a", "ac", "b"]),
        (0.9, ["", "a", "b", "ac"]),
    ):
        world = Letters(steps, values)
        world.run(BestFirst(max_depth=3, depth_bonus=bonus))
        assert world.proposed() == order


def test_normalised_each_value_is_measured_against_the_mean_of_its_own_depth() -> None:
    # Depth 1: a 9, b 8 (mean 8.5); depth 2: ac 4, ad 2 (mean 3). b is 0.5 under its mean, ac 1 above.
    steps, values = {"": "ab", "a": "cd"}, {"a": 9.0, "b": 8.0, "ac": 4.0, "ad": 2.0}
    plain, normal = Letters(steps, values), Letters(steps, values)
    plain.run(BestFirst(max_depth=3))
    assert plain.proposed() == ["", "a", "b", "ac", "ad"]
    normal.run(BestFirst(max_depth=3, normalise=True))
    assert normal.proposed() == ["", "a", "ac", "b", "ad"]


def test_the_mean_of_a_depth_counts_its_pruned_values_too() -> None:
    # Depth 1: a 9, b 8, c 5 (mean 7.33): b is 0.67 above. Depth 2: ac 4 and ad 0.5, which is pruned: ac is 1.75
    # above their mean of 2.25. Without ad it would be its own mean, and come after b.
    values = {"a": 9.0, "b": 8.0, "c": 5.0, "ac": 4.0, "ad": 0.5}
    world = Letters({"": "abc", "a": "cd"}, values)
    result = world.run(BestFirst(max_depth=3, keep=None, normalise=True))
    assert found(result, NodeStatus.PRUNED) == ["ad"]
    assert world.proposed() == ["", "a", "ac", "b", "c"]


def test_several_nodes_are_open_at_once() -> None:
    values = {"a": 5.0, "b": 4.0, "c": 3.0, "ad": 2.0, "be": 9.0}
    world = Letters({"": "abc", "a": "d", "b": "e", "c": "f"}, values)
    world.run(BestFirst(max_depth=3, keep=None, open=2))
    # Both of a batch are proposed before either is rated; then be (9) and c (3), then ad (2) and cf (1).
    assert world.asked[4:8] == ["propose a", "propose b", "rate ad", "rate be"]
    assert world.proposed() == ["", "a", "b", "be", "c", "ad", "cf"]


def test_keep_counts_per_expansion_when_several_are_open() -> None:
    world = Letters({"": "ab", "a": "cd", "b": "ef"}, {"ac": 1.0, "ad": 2.0, "be": 4.0, "bf": 3.0})
    result = world.run(BestFirst(max_depth=3, keep=2, open=2), rating=Rating(cut=None))
    assert found(result, NodeStatus.PRUNED) == []
    world = Letters({"": "ab", "a": "cd", "b": "ef"}, {"ac": 1.0, "ad": 2.0, "be": 4.0, "bf": 3.0})
    result = world.run(BestFirst(max_depth=3, keep=1, open=2))
    assert found(result, NodeStatus.PRUNED) == ["b", "ac"]


@pytest.mark.parametrize("opened", [1, 3])
def test_the_expansions_cap_is_exact(opened: int) -> None:
    steps = {"": "abc"} | dict.fromkeys(("a", "b", "c", "aa", "ab", "ac", "ba", "bb", "bc"), "abc")
    for cap in (1, 2, 4, 5):
        world = Letters(steps)
        result = world.run(BestFirst(max_depth=9, keep=None, expansions=cap, open=opened))
        assert len(world.proposed()) == cap
        assert result.ended is Ended.EXPANSIONS


def test_a_cap_that_suffices_ends_searched_out() -> None:
    result = Letters({"": "ab"}).run(BestFirst(max_depth=2, expansions=3))
    assert result.ended is Ended.SEARCHED_OUT


@pytest.mark.parametrize(("best", "state", "value"), [("seen", "a", 9.0), ("deepest", "acd", 2.0)])
def test_without_a_solution_the_best_seen_or_the_best_of_the_deepest(best: Any, state: str, value: float) -> None:
    world = Letters({"": "a", "a": "c", "ac": "de"}, {"a": 9.0, "ac": 3.0, "acd": 2.0, "ace": 1.0})
    result = world.run(BestFirst(best=best))
    assert (result.best.state, result.value, result.status) == (state, value, SearchStatus.UNVERIFIED)


def test_a_goal_ends_it_at_once() -> None:
    world = Letters({"": "ab", "a": "cd", "ac": "xyz"}, {"a": 5.0}, goals=("ad",))
    result = world.run(BestFirst(open=1))
    assert (result.status, result.ended, result.path) == (SearchStatus.SOLVED, Ended.GOAL, ["a", "d"])
    assert world.asked == ["propose ", "rate a", "rate b", "propose a"]


def test_with_several_open_a_goal_does_not_wait_for_the_rest_of_its_batch() -> None:
    search = Search(BestFirst(max_depth=2, keep=None, open=2), "", step=Letters({}, goals=("bg",)).step)
    search.tell(search.ask()[0].id, Proposed(("a", "b")))
    for ask in search.ask():
        search.tell(ask.id, Rated((1.0,)))
    first, second = search.ask()
    assert (first.request, second.request) == (Propose(1, 3), Propose(2, 3))
    search.tell(second.id, Proposed(("g",)))
    assert (search.status, search.result().path) == (SearchStatus.SOLVED, ["b", "g"])
    search.tell(first.id, Proposed(("x",)))  # late: paid for, and changes nothing
    assert (search.spent.calls, len(search.tree)) == (5, 4)


def test_a_node_budget_counts_all_nodes() -> None:
    world = Letters({"": "abc", "a": "def"}, {"a": 2.0})
    result = world.run(BestFirst(), budget=Budget(nodes=6))
    assert (len(result.tree), result.ended) == (6, Ended.NODES)
    assert found(result, NodeStatus.OPEN) == ["b", "ad", "ae"]  # "c" is pruned by keep; "af" was not added


def test_nodes_rated_are_counted() -> None:
    world = Letters({"": "abx", "a": "c"}, illegal="x", key=lambda state: "".join(sorted(state)))
    result = world.run(BestFirst())
    assert result.nodes_evaluated == len(world.rated()) == 3


def test_an_unrated_node_comes_after_all_rated_ones() -> None:
    world = Letters({"": "ab", "a": "cd"})
    search = Search(BestFirst(max_depth=3), "", step=world.step, rating=Rating(together="siblings", cut=None))

    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        return Failed("timeout") if request == Rate((1, 2)) else world.answer(request, tree)

    run(search, answer)
    # The root's children were never rated; those of "a" were, and go first.
    assert world.proposed() == ["", "a", "ac", "ad", "b"]


@pytest.mark.parametrize(
    "knobs",
    [
        {"keep": 0},
        {"expansions": None},
        {"open": 0},
        {"depth_bonus": None},
        {"depth_bonus": float("nan")},
        {"normalise": "yes"},
        {"ties": "younger"},
        {"best": "first"},
        {"prune_below": []},
    ],
)
def test_a_wrong_knob_is_named(knobs: dict[str, Any]) -> None:
    ((name, value),) = knobs.items()
    with pytest.raises(ValueError, match="BestFirst") as caught:
        BestFirst(**knobs)
    assert f"BestFirst({name}={value!r}): must be " in str(caught.value)
