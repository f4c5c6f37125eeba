"""Several rollouts of Monte-Carlo tree search in flight."""

from __future__ import annotations

import random
from typing import Any

import pytest

from thoughtree.search import (
    ABMCTS,
    MCTS,
    Ended,
    Propose,
    Proposed,
    Rate,
    Rated,
    Rating,
    Reflect,
    Reflected,
    Search,
    Step,
    Stepped,
)
from trees import UNIT, counting
from worlds import Digits, play, search, shot

SETTINGS: list[dict[str, Any]] = [
    {},
    {"simulate": True},
    {"lazy": True},
    {"lazy": True, "simulate": True},
    {"widening": 0.5},
    {"widening": 0.7, "lazy": True, "branching": 1},
    {"selection": "puct"},
    {"returns": "max"},
]


def played(s: Any, answer: Any, seed: int) -> list[Any]:
    """The search, with replies in an order drawn by the seed; what it asked."""
    rng, asks, asked = random.Random(seed), s.ask(), []
    while asks:
        ask = asks.pop(rng.randrange(len(asks)))
        asked.append(ask.request)
        s.tell(ask.id, answer(ask.request, s.tree))
        asks += s.ask()
    return asked


@pytest.mark.parametrize("at_once", [1, 4, 25])
@pytest.mark.parametrize("knobs", SETTINGS, ids=str)
def test_statistics_hold_after_any_interleaving(at_once: int, knobs: dict[str, Any]) -> None:
    """Visits = own evaluation + the children's visits; V = the mean of what was backed up. After every reply."""
    for seed in range(6):
        world, rng = Digits(seed, flaky=0.1, unread=0.1), random.Random(seed)
        controller = MCTS(**{"rollouts": 25, "branching": 3, "max_depth": 5, "at_once": at_once, **knobs})
        s = search(controller, world, rating=Rating(join="mean", low=0.0, high=20.0))

        def check(n: int, s: Any = s, rng: random.Random = rng) -> int:
            backed_up: dict[int, list[float]] = {node.id: [] for node in s.tree}
            for node in s.tree:
                own = node.visits - sum(s.tree[child].visits for child in node.children)
                assert own in (0, 1)
                if own:
                    assert node.value is not None
                    for above in s.tree.path(node):
                        backed_up[above.id].append(node.value)
            for node in s.tree:
                assert node.visits == len(backed_up[node.id])
                assert node.total == pytest.approx(sum(backed_up[node.id]))
                assert node.peak == max(backed_up[node.id], default=float("-inf"))
            return rng.randrange(n)

        play(s, world, check)
        assert s.done
        assert not any(node.virtual for node in s.tree)


@pytest.mark.parametrize("at_once", [1, 9])
def test_discounted_returns_hold_after_any_interleaving(at_once: int) -> None:
    """W(s) = own value + the sum over children of N r + discount W, every return having passed that step."""

    def answer(request: Any, tree: Any) -> Any:
        if isinstance(request, Step):
            node = tree[request.node]
            return Stepped((*tree[node.parent].state, node.action), reward=float(node.action) - 0.3)
        return counting(lambda state: len(state) / 10)(request, tree)

    s = Search(MCTS(rollouts=40, branching=3, returns="discounted", discount=0.5, at_once=at_once), (), rating=UNIT)
    played(s, answer, 1)
    for node in s.tree:
        below = [s.tree[child] for child in node.children]
        own = node.value if node.visits > sum(child.visits for child in below) else 0.0
        assert node.total == pytest.approx((own or 0.0) + sum(c.visits * c.reward + 0.5 * c.total for c in below))


def test_each_node_is_expanded_once_and_nothing_is_asked_twice_or_wasted() -> None:
    s = Search(MCTS(rollouts=30, branching=3, at_once=8, max_depth=4, dedupe=False), (), rating=UNIT)
    asked = played(s, counting(lambda state: 0.5), 0)
    assert len(asked) == len(set(asked)) == s.told
    expanded = [request.node for request in asked if isinstance(request, Propose)]
    assert len(expanded) == len(set(expanded)) == 30
    assert sum(log.ratings for log in s.tree.rollouts) == sum(node.ratings for node in s.tree) == 90
    assert s.ended is Ended.ROLLOUTS


@pytest.mark.parametrize("exploration", [0.0, 1.0, 100.0])
def test_a_rollout_takes_the_best_free_place_rather_than_wait_for_a_better_one(exploration: float) -> None:
    """Eight rollouts, and eight children of falling value: each rollout has one of its own, whatever the formula."""
    s = Search(MCTS(rollouts=9, branching=8, at_once=8, exploration=exploration), (), rating=UNIT)
    answer = counting(lambda state: 1.0 - 0.1 * state[0])
    for _ in range(3):  # a proposal, eight steps, eight ratings
        for ask in s.ask():
            s.tell(ask.id, answer(ask.request, s.tree))
    assert [ask.request for ask in s.ask()] == [Propose(id, 8) for id in range(1, 9)]
    assert [node.virtual for node in s.tree] == [8] + [1] * 8


def test_a_free_place_next_to_the_best_is_found_below_and_above_what_is_taken() -> None:
    """0.9 has the children 0.8 and 0.7, and 0.1 is free: greedy rollouts go there in this order, then one waits."""
    values = {(0,): 0.9, (1,): 0.1, (0, 0): 0.8, (0, 1): 0.7}
    s = Search(MCTS(rollouts=9, at_once=3, exploration=0.0), (), rating=UNIT)
    answer = counting(lambda state: values[state])
    for _ in range(3):  # the root
        for ask in s.ask():
            s.tell(ask.id, answer(ask.request, s.tree))
    (best, other) = s.ask()
    assert [best.request, other.request] == [Propose(1, 2), Propose(2, 2)]
    s.tell(best.id, answer(best.request, s.tree))
    for _ in range(2):  # its steps and ratings
        for ask in s.ask():
            s.tell(ask.id, answer(ask.request, s.tree))
    assert [ask.request for ask in s.ask()] == [Propose(3, 2), Propose(4, 2)]


def test_many_rollouts_in_flight_wait_for_the_root_and_ask_it_once() -> None:
    s = Search(MCTS(rollouts=25, at_once=25), (), rating=UNIT)
    assert [ask.request for ask in s.ask()] == [Propose(0, 2)]
    assert len(s.tree.rollouts) == 1


@pytest.mark.parametrize("at_once", [1, 3, 8])
def test_who_finds_all_spent_waits_for_lessons_that_are_on_their_way(at_once: int) -> None:
    """Every attempt fails, so each rollout starts at the root again, with the lessons of those before it."""

    def answer(request: Any, tree: Any) -> Any:
        match request:
            case Propose():
                return Proposed((f"a{request.sample}", f"b{request.sample}"))
            case Step(id):
                return Stepped(tree[id].action, tree[id].action, terminal=True, missed=True)
            case Rate():
                return Rated((0.1,))
            case Reflect(id):
                return Reflected(f"not {tree[id].action}")
        raise AssertionError(request)

    s = Search(MCTS(rollouts=5, at_once=at_once), "", rating=UNIT)
    asked = played(s, answer, 3)
    assert s.ended is Ended.ROLLOUTS
    assert len(s.tree.rollouts) == 5
    assert sorted(s.tree.lessons) == sorted(f"not {x}{i}" for i in range(5) for x in "ab")
    shown = [request.lessons for request in asked if isinstance(request, Propose)]
    assert shown[0] == 0
    assert all(lessons >= 1 for lessons in shown[1:])


@pytest.mark.parametrize("at_once", [1, 8])
def test_patience_counts_rollouts_that_have_ended(at_once: int) -> None:
    """Nothing is ever better than the first rollout: it takes four more to end, however many are in flight."""
    s = Search(MCTS(rollouts=60, patience=4, at_once=at_once), (), rating=UNIT)
    played(s, counting(lambda state: 0.5), 0)
    assert s.ended is Ended.PATIENCE
    assert 5 <= len(s.tree.rollouts) <= 5 + at_once - 1


@pytest.mark.parametrize("at_once", [4, 16])
def test_waiting_changes_no_count_of_a_search_that_is_spent(at_once: int) -> None:
    """Depth 2, branching 2: seven nodes, three expansions; the other rollouts find nothing and are none."""
    s = Search(MCTS(rollouts=50, max_depth=2, at_once=at_once), (), rating=UNIT)
    asked = played(s, counting(lambda state: 0.5), 0)
    assert (len(s.tree), len(s.tree.rollouts), s.ended) == (7, 3, Ended.SEARCHED_OUT)
    assert sorted(request.node for request in asked if isinstance(request, Propose)) == [0, 1, 2]
    assert all(node.closed for node in s.tree)


def test_a_search_ends_with_rollouts_in_flight_and_counts_what_was_told() -> None:
    for controller in (MCTS(rollouts=40, at_once=8), ABMCTS(rollouts=40, at_once=8)):
        world = Digits(3, goal=(1, 2))
        s = search(controller, world)
        play(s, world, lambda n: n - 1)
        assert s.done
        assert sum(log.calls for log in s.tree.rollouts) == s.spent.calls == world.calls


@pytest.mark.parametrize("knobs", SETTINGS, ids=str)
def test_replies_told_again_in_their_order_give_the_same_tree(knobs: dict[str, Any]) -> None:
    for seed in range(5):
        controller, world = MCTS(**{"rollouts": 20, "branching": 3, "at_once": 6, **knobs}), Digits(seed, flaky=0.2)
        s, rng = search(controller, world), random.Random(seed)
        log = play(s, world, rng.randrange)
        again = search(controller, world)
        for id, outcome in log:
            again.tell(id, outcome)
        assert shot(again) == shot(s)


@pytest.mark.parametrize("block", range(4))
def test_any_knobs_at_any_order_of_replies_hold_the_depth_the_counts_and_the_log(block: int) -> None:
    for seed in range(75 * block, 75 * block + 75):
        rng = random.Random(seed)
        controller = MCTS(
            rollouts=rng.randint(0, 40),
            branching=rng.choice([1, 2, 3, None]),
            max_depth=rng.randint(1, 6),
            exploration=rng.choice([0.0, 1.0, 3.0]),
            selection=rng.choice(["uct", "puct"]),
            returns=rng.choice(["mean", "max", "discounted"]),
            discount=rng.choice([1.0, 0.5]),
            simulate=rng.random() < 0.4,
            lazy=rng.random() < 0.4,
            widening=rng.choice([None, None, 0.5, 1.0]),
            reroot=rng.choice([None, True, False]),
            patience=rng.choice([None, 3]),
            at_once=rng.choice([1, 2, 5, 25]),
            dedupe=rng.random() < 0.7,
        )
        world = Digits(seed, flaky=rng.choice([0.0, 0.2, 0.7]), unread=rng.choice([0.0, 0.3]))
        s = search(
            controller,
            world,
            calls=rng.choice([None, 30, 100]),
            step=rng.choice([world.step, None]),
            sampled=rng.random() < 0.3,
            first=rng.random() < 0.2,
            rating=Rating(samples=rng.choice([1, 2]), together=rng.choice(["each", "siblings", "pairs"])),
        )
        play(s, world, rng.randrange)
        assert s.done
        for node in s.tree:
            assert node.virtual == 0
            assert node.depth <= controller.max_depth
            assert node.visits - sum(s.tree[child].visits for child in node.children) in (0, 1)
        assert len(s.tree.rollouts) <= controller.rollouts
        assert sum(log.calls for log in s.tree.rollouts) <= s.spent.calls
