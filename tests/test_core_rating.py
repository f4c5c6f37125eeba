"""How nodes get values: which requests are made, and how their replies are joined."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from random import Random
from typing import Any

import pytest

from thoughtree.search import (
    DFS,
    Beam,
    BestFirst,
    Budget,
    Ended,
    Failed,
    NodeStatus,
    Outcome,
    Proposed,
    Rate,
    Rated,
    Rating,
    Request,
    Search,
    Stepped,
    Tree,
    Unread,
    Usage,
    run,
)
from worlds import Letters, found


def rate(rating: Rating, replies: dict[Request, Outcome], actions: str = "a", **more: Any) -> Search[Any, Any]:
    """A search one level deep whose ratings get `replies`, in an order drawn at random."""
    search = Search(Beam(max_depth=1, branching=None), "", step=Letters({}).step, rating=rating, **more)
    search.tell(search.ask()[0].id, Proposed(tuple(actions)))
    open_asks = search.ask()
    Random(len(replies)).shuffle(open_asks)
    while open_asks:
        ask = open_asks.pop()
        search.tell(ask.id, replies[ask.request])
        open_asks += search.ask()
    return search


def samples(*values: float | str | None) -> dict[Request, Outcome]:
    """Replies about node 1: numbers, None for an unread one, a text for a lost one."""
    read: dict[Request, Outcome] = {}
    for k, value in enumerate(values):
        outcome: Outcome = Unread("?") if value is None else Failed(str(value))
        read[Rate((1,), k)] = Rated((value,)) if isinstance(value, int | float) else outcome
    return read


@pytest.mark.parametrize(
    ("join", "replies", "value", "ratings", "lost"),
    [
        ("sum", (20.0, 20.0, 20.0), 60.0, 3, 0),
        ("sum", (20.0, 1.0, 0.001), 21.001, 3, 0),
        ("mean", (20.0, 1.0, 0.0), 7.0, 3, 0),
        ("sum", (20.0, "down", "down"), 60.0, 1, 2),  # the mean of those read, times those asked
        ("sum", (20.0, "down", 1.0), 31.5, 2, 1),
        ("mean", (20.0, "down", 1.0), 10.5, 2, 1),
        ("sum", (20.0, None, 20.0), 41.0, 3, 0),  # unread counts as 1, the scale's maybe
        ("sum", (None, None, None), 3.0, 3, 0),
    ],
)
def test_samples_are_joined(join: Any, replies: Any, value: float, ratings: int, lost: int) -> None:
    node = rate(Rating(samples=3, join=join), samples(*replies)).tree[1]
    assert (node.value, node.ratings, node.lost, node.status) == (value, ratings, lost, NodeStatus.OPEN)


def test_where_all_samples_are_lost_the_node_has_failed_and_has_no_value() -> None:
    node = rate(Rating(samples=3), samples("down", "down", "out")).tree[1]
    assert (node.status, node.reason, node.value, node.lost) == (NodeStatus.FAILED, "out", None, 3)


def test_with_no_unread_value_an_unread_sample_is_none_at_all() -> None:
    rating = Rating(samples=3, unread=None)
    assert rate(rating, samples(20.0, None, None)).tree[1].value == 60.0
    unrated = rate(rating, samples(None, None, None)).tree[1]
    assert (unrated.value, unrated.status) == (None, NodeStatus.OPEN)  # unread is never a prune


def test_a_value_does_not_hang_on_the_order_of_its_samples() -> None:
    for drawn in ([20.0, 1.0, 0.001, 0.001], [20.0, 20.0, 20.0, 0.001], [0.1, 0.2, 0.7, 0.3]):
        values = {rate(Rating(samples=4, low=0.0), samples(*order)).tree[1].value for order in permutations(drawn)}
        assert values == {round(sum(drawn), 9)}


@pytest.mark.parametrize("join", ["sum", "mean"])
def test_a_node_rated_at_the_cut_by_every_sample_is_never_pruned(join: Any) -> None:
    # A sum of tenths, joined one by one, falls short of the cut by the last bit in some of these.
    for hundredths in range(1, 100):
        cut = hundredths / 100
        for k in (1, 3, 5, 7, 11):
            rating = Rating(samples=k, join=join, cut=cut, unread=cut, high=1.0)
            search = Search(DFS(max_depth=1), "", step=Letters({}).step, rating=rating)
            search.tell(0, Proposed(("a",)))
            for ask in search.ask():
                search.tell(ask.id, Rated((cut,)) if ask.id % 2 else Unread("?"))
            assert search.tree[1].status is NodeStatus.OPEN


@pytest.mark.parametrize("controller", [DFS(threshold=5.0), BestFirst(prune_below=5.0), Beam(min_score=5.0)])
@pytest.mark.parametrize("samples", [1, 2])
def test_unread_is_never_a_prune_whatever_the_threshold(controller: Any, samples: int) -> None:
    """1, the value of maybe, falls short of 5: where a rating says so, and not where none could be read."""
    world = Letters({"": "abc"}, {"b": 1.0})

    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        unread = isinstance(request, Rate) and (request.nodes == (1,) or (request.nodes, request.sample) == ((3,), 0))
        return Unread("?") if unread else world.answer(request, tree)

    rating = Rating(samples=samples, join="mean")
    tree = run(Search(controller, "", step=world.step, rating=rating), answer).tree
    assert [(node.verdict, node.value) for node in tree][1:] == [
        ("unread", 1.0),
        (None, 1.0),
        ("unread" if samples == 1 else None, 1.0),
    ]
    assert tree[1].status is NodeStatus.EXPANDED
    assert tree[2].status is NodeStatus.PRUNED
    assert tree[3].status is (NodeStatus.EXPANDED if samples == 1 else NodeStatus.PRUNED)


def test_each_node_is_asked_about_alone_and_as_often_as_there_are_samples() -> None:
    world = Letters({"": "ab"})
    world.run(Beam(max_depth=1), rating=Rating(samples=2))
    assert world.asked == ["propose ", "rate a", "rate a#1", "rate b", "rate b#1"]


def test_siblings_are_asked_about_together() -> None:
    world = Letters({"": "ab", "a": "cd", "b": "e"})
    world.run(Beam(max_depth=2), rating=Rating(together="siblings"))
    assert world.rated() == ["a b", "ac ad", "be"]


def test_a_level_is_asked_about_together() -> None:
    world = Letters({"": "ab", "a": "cd", "b": "e"})
    world.run(Beam(max_depth=2), rating=Rating(together="level", samples=2))
    assert world.rated() == ["a b", "a b#1", "ac ad be", "ac ad be#1"]


def test_votes_over_a_level_add_up() -> None:
    replies: dict[Request, Outcome] = {
        Rate((1, 2, 3), 0): Rated((0.0, 1.0, 0.0)),
        Rate((1, 2, 3), 1): Rated((0.0, 1.0, 0.0)),
        Rate((1, 2, 3), 2): Rated((0.0, 0.0, 1.0)),
        Rate((1, 2, 3), 3): Unread("they are all good"),
    }
    rating = Rating(together="level", samples=4, unread=None, cut=None, high=1.0)
    search = rate(rating, replies, "abc")
    # Three of four votes were read: 0, 2 and 1 of 3, times 4.
    assert [n.value for n in search.tree][1:] == [0.0, round(8 / 3, 12), round(4 / 3, 12)]
    assert search.best().state == "b"


def test_a_lost_shared_rating_fails_nobody() -> None:
    rating = Rating(together="siblings", samples=1)
    search = rate(rating, {Rate((1, 2)): Failed("down")}, "ab")
    assert [(n.status, n.value) for n in search.tree][1:] == [(NodeStatus.OPEN, None)] * 2
    assert search.result().first_error == "down"


@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_pairs_are_a_round_robin_in_which_each_is_shown_first_about_half_of_the_time(count: int) -> None:
    letters = "abcdefgh"[:count]
    world = Letters({"": letters})
    world.run(Beam(max_depth=1, branching=None), rating=Rating(together="pairs", unread=None, cut=None))
    pairs = [tuple(pair.split()) for pair in world.rated()]
    assert Counter(frozenset(pair) for pair in pairs) == {
        frozenset((a, b)): 1 for i, a in enumerate(letters) for b in letters[i + 1 :]
    }
    first = Counter(a for a, _ in pairs)
    assert all(abs(first[letter] - (count - 1) / 2) <= 1 for letter in letters)


def test_two_samples_of_a_pair_are_shown_in_both_orders() -> None:
    world = Letters({"": "ab"})
    world.run(Beam(max_depth=1), rating=Rating(together="pairs", samples=2, unread=None, cut=None))
    assert world.rated() == ["a b", "b a#1"]


def test_the_value_of_a_round_robin_is_the_share_of_its_games_that_were_won() -> None:
    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        if not isinstance(request, Rate):
            return Proposed(("c", "a", "d", "b"))
        a, b = (str(tree[id].action) for id in request.nodes)
        return Rated((1.0, 0.0) if a < b else (0.0, 1.0))

    rating = Rating(together="pairs", join="mean", unread=None, cut=None, high=1.0)
    search = Search(Beam(max_depth=1), "", step=Letters({}).step, rating=rating)
    result = run(search, answer)
    assert {n.state: n.value for n in result.tree if n.id} == {
        "a": 1.0,
        "b": round(2 / 3, 12),
        "c": round(1 / 3, 12),
        "d": 0.0,
    }
    assert result.best.state == "a"


def test_one_candidate_is_compared_with_nobody() -> None:
    world = Letters({"": "a", "a": "b"})
    result = world.run(Beam(max_depth=2), rating=Rating(together="pairs", unread=None, cut=None))
    assert world.asked == ["propose ", "propose a"]
    assert (result.best.state, result.value) == ("ab", None)


CHEAP = {"a": 9.0, "b": 7.0, "c": 6.5, "d": 6.0, "e": 2.0}


def cheap_then_dear(near: float, width: int | None, dear: dict[str, float], cheap: dict[str, float] = CHEAP) -> Any:
    """The dear requests, and the beam, of a level rated cheaply first."""
    world, asked = Letters({"": "".join(cheap)}), []

    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        if not isinstance(request, Rate):
            return world.answer(request, tree)
        (state,) = (str(tree[id].state) for id in request.nodes)
        if request.rater == "rate":
            asked.append(state)
        return Rated(((cheap if request.rater == "cheap" else dear)[state],))

    rating = Rating(near=near, cut=None, unread=None)
    search = Search(Beam(max_depth=2, width=width, branching=9), "", step=world.step, rating=rating)
    run(search, answer)
    return asked, world.proposed()[1:]


def test_the_dear_rater_is_asked_about_those_near_the_last_one_kept() -> None:
    # Two are kept: the edge is at 7; within 0.5 are b and c.
    assert cheap_then_dear(0.5, 2, {"b": 1.0, "c": 8.0}) == (["b", "c"], ["a", "c"])
    # Within 1, d too; a, at 9, is safe whatever the dear one would say.
    assert cheap_then_dear(1.0, 2, {"b": 1.0, "c": 2.0, "d": 3.0}) == (["b", "c", "d"], ["a", "d"])


def test_where_the_line_between_kept_and_dropped_is_clear_the_dear_rater_is_not_asked() -> None:
    assert cheap_then_dear(0.4, 2, {}) == ([], ["a", "b"])
    assert cheap_then_dear(1.9, 1, {}) == ([], ["a"])
    assert cheap_then_dear(3.9, 4, {}) == ([], ["a", "b", "c", "d"])


def test_where_all_are_kept_the_dear_rater_orders_those_near_each_other() -> None:
    dear = {"b": 6.0, "c": 7.0, "d": 8.0}
    assert cheap_then_dear(0.5, None, dear) == (["b", "c", "d"], ["a", "d", "c", "b", "e"])
    assert cheap_then_dear(0.5, 5, dear) == (["b", "c", "d"], ["a", "d", "c", "b", "e"])


def test_near_is_not_missed_by_the_last_bit() -> None:
    assert 1.1 - 1.0 > 0.1  # of floats
    cheap = {"a": 1.1, "b": 1.0, "c": 0.5}
    assert cheap_then_dear(0.1, 1, {"a": 1.0, "b": 2.0}, cheap) == (["a", "b"], ["b"])


def test_whom_the_cheap_rater_lost_the_dear_one_rates() -> None:
    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        if not isinstance(request, Rate):
            return Proposed(("a", "b"))
        if request.rater == "cheap":
            return Failed("down") if request.nodes == (1,) else Rated((5.0,))
        return Rated((9.0,))

    search = Search(Beam(max_depth=1), "", step=Letters({}).step, rating=Rating(near=0.1))
    run(search, answer)
    assert [(n.value, n.rater, n.status) for n in search.tree][1:] == [
        (9.0, "rate", NodeStatus.OPEN),
        (5.0, "cheap", NodeStatus.OPEN),
    ]


def test_a_lost_sample_of_the_dear_rater_does_not_fail_whom_another_sample_rates() -> None:
    replies: dict[Request, Outcome] = {Rate((1,), k, "cheap"): Failed("down") for k in range(2)}
    replies |= {Rate((1,), 0): Failed("down"), Rate((1,), 1): Rated((4.0,))}
    node = rate(Rating(near=1.0, samples=2), replies).tree[1]
    assert (node.status, node.value, node.ratings, node.lost) == (NodeStatus.OPEN, 8.0, 1, 1)


def test_a_dear_rating_replaces_the_cheap_one_and_its_loss_leaves_it() -> None:
    replies: dict[Request, Outcome] = {
        Rate((1,), 0, "cheap"): Rated((5.0,)),
        Rate((2,), 0, "cheap"): Rated((5.0,)),
        Rate((1,)): Rated((1.0,)),
        Rate((2,)): Failed("down"),
    }
    nodes = list(rate(Rating(near=1.0), replies, "ab").tree)[1:]
    assert [(n.value, n.ratings, n.rater) for n in nodes] == [(1.0, 1, "rate"), (5.0, 1, "cheap")]


def test_a_cheap_rating_has_a_price_of_its_own() -> None:
    world = Letters({"": "abc"}, {"a": 5.0, "b": 5.0, "c": 1.0})
    search = Search(
        Beam(max_depth=1, width=1),
        "",
        step=world.step,
        rating=Rating(near=1.0),
        calls={"cheap": 0},
        budget=Budget(calls=3),
    )
    while asks := search.ask():
        for ask in asks:
            free = isinstance(ask.request, Rate) and ask.request.rater == "cheap"
            search.tell(ask.id, world.answer(ask.request, search.tree), Usage(0 if free else 1))
    # One proposal, three free cheap ratings, two dear ones of the tie: three calls.
    assert world.asked == ["propose ", "cheap a", "cheap b", "cheap c", "rate a", "rate b"]
    assert (search.ended, search.spent.calls) == (Ended.SEARCHED_OUT, 3)


ADAPTIVE = Rating(join="mean", samples=3, unread=0.5, cut=None, low=0.0, high=1.0, adaptive=True)


@pytest.mark.parametrize(
    ("first", "value", "asked"),
    [
        (Rated((0.7,), settled=True), 0.7, 1),
        (Rated((1.0,)), 2 / 3, 3),  # a sample like the others
        (Unread("?"), (0.5 + 0.0 + 1.0) / 3, 3),
        (Unread("?", 0.2), (0.2 + 0.0 + 1.0) / 3, 3),  # known better than by the scale
        (Failed("down"), 0.5, 3),
    ],
)
def test_other_samples_are_asked_for_where_the_first_has_not_settled_it(first: Any, value: float, asked: int) -> None:
    replies: dict[Request, Outcome] = {Rate((1,)): first, Rate((1,), 1): Rated((0.0,)), Rate((1,), 2): Rated((1.0,))}
    search = rate(ADAPTIVE, replies)
    assert search.tree[1].value == pytest.approx(value)
    assert search.by_role["rate"].calls == asked


def test_each_node_is_settled_by_itself() -> None:
    replies: dict[Request, Outcome] = {
        Rate((1,)): Rated((0.7,), settled=True),
        **{Rate((2,), k): Rated((float(k),)) for k in range(3)},
    }
    search = rate(ADAPTIVE, replies, "ab")
    assert [search.tree[id].value for id in (1, 2)] == pytest.approx([0.7, 1.0])
    assert search.by_role["rate"].calls == 4


def test_where_all_samples_were_asked_for_at_once_a_settling_one_weighs_as_many() -> None:
    """A run that was begun where one reply settles, and goes on where none does."""
    plain = Rating(join="mean", samples=2, unread=None, cut=None, low=0.0, high=1.0)
    replies: dict[Request, Outcome] = {Rate((1,)): Rated((0.6,), settled=True), Rate((1,), 1): Rated((0.0,))}
    assert rate(plain, replies).tree[1].value == pytest.approx((0.6 + 0.6 + 0.0) / 3)


def test_a_value_that_code_gave_is_not_asked_for() -> None:
    def step(state: str, action: str) -> Stepped:
        return Stepped(state + action, value=7.0 if action == "b" else None)

    world = Letters({"": "abc"})
    result = world.run(Beam(max_depth=1, width=1), step=step)
    assert world.rated() == ["a", "c"]
    assert (result.best.state, result.value, result.nodes_evaluated) == ("b", 7.0, 2)


def test_an_unrated_node_is_never_pruned() -> None:
    world = Letters({"": "ab", "a": "c"})
    search = Search(DFS(max_depth=2), "", step=world.step, rating=Rating(unread=None))

    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        return Unread("?") if isinstance(request, Rate) else world.answer(request, tree)

    result = run(search, answer)
    assert found(result, NodeStatus.PRUNED) == []
    assert world.proposed() == ["", "a", "b"]


@pytest.mark.parametrize("controller", [DFS(max_depth=2), BestFirst(max_depth=2, keep=None)])
def test_without_a_cut_a_scale_prunes_nothing(controller: Any) -> None:
    world = Letters({"": "ab"}, {"a": -5.0, "b": 0.0})
    world.run(controller, rating=Rating(cut=None))
    assert sorted(world.proposed()) == ["", "a", "b"]


def test_clamped_ratings_are_counted() -> None:
    search = rate(Rating(), {Rate((1,)): Rated((20.0,), clamped=1), Rate((2,)): Rated((1.0,))}, "ab")
    result = search.result()
    assert result.clamped == 1
    assert "1 rating(s) were off the scale and clamped to it" in result.warnings


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"together": "all"}, "Rating(together='all'): must be 'each', 'siblings', 'level' or 'pairs'"),
        ({"join": "max"}, "Rating(join='max'): must be 'sum' or 'mean'"),
        ({"samples": 0}, "Rating(samples=0): must be an integer of at least 1"),
        ({"samples": 1.5}, "Rating(samples=1.5)"),
        ({"samples": True}, "Rating(samples=True)"),
        ({"low": 5.0, "high": 5.0}, "Rating(low=5.0, high=5.0): must be finite, low under high"),
        ({"high": float("inf")}, "must be finite"),
        ({"unread": 0.5}, "Rating(unread=0.5, cut=1.0): an unread reply would prune its node"),
        ({"unread": float("nan")}, "Rating(unread=nan): must be a finite number, or None"),
        ({"cut": float("nan")}, "Rating(cut=nan): must be a finite number, or None"),
        (
            {"adaptive": True, "together": "level"},
            "Rating(adaptive=True, together='level'): must be 'each', without near",
        ),
        ({"near": -1.0}, "Rating(near=-1.0): must be a finite number of at least 0, or None"),
    ],
)
def test_a_wrong_setting_is_named(knobs: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=r"Rating\(") as caught:
        Rating(**knobs)
    assert said in str(caught.value)


def test_a_rater_that_gives_no_finite_number_is_a_failure_and_no_score() -> None:
    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        return Rated((float("nan"),)) if isinstance(request, Rate) else Proposed(("a",))

    result = run(Search(Beam(max_depth=1), "", step=Letters({}).step), answer)
    assert (result.tree[1].status, result.tree[1].value) == (NodeStatus.FAILED, None)
    assert result.first_error == "ValueError: Rated(values=(nan,)): must be finite; what is no number is Unread"
