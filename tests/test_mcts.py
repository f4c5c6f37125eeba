"""The formulas of Monte-Carlo tree search, its statistics, and how a search with it ends."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import inf, log, sqrt
from typing import Any

import pytest

from thoughtree.search import (
    MCTS,
    Ended,
    NodeStatus,
    Propose,
    Proposed,
    Rate,
    Rated,
    Rating,
    Reflect,
    Reflected,
    Search,
    SearchStatus,
    Step,
    Stepped,
    Tree,
    run,
)
from thoughtree.search.policy import Bounds, backup, puct, uct
from worlds import Digits, play, search

UNIT = Rating(join="mean", unread=0.0, cut=None, low=0.0, high=1.0)


def made(*visits_totals: tuple[int, float]) -> Tree[Any, Any]:
    """A root whose children have these visits and totals."""
    tree: Tree[Any, Any] = Tree(None)
    for visits, total in visits_totals:
        child = tree.add(tree.root, len(tree))
        child.visits, child.total = visits, total
    tree.root.visits = sum(visits for visits, _ in visits_totals)
    return tree


def test_uct_of_worked_numbers() -> None:
    tree = made((4, 3.0), (1, 0.2), (0, 0.0))
    bounds = Bounds(0.0, 1.0)
    assert uct(tree.root, tree[1], 1.0, bounds) == pytest.approx(0.75 + sqrt(log(5) / 4))
    assert uct(tree.root, tree[2], 2.0, bounds) == pytest.approx(0.2 + 2 * sqrt(log(5)))
    assert uct(tree.root, tree[3], 1.0, bounds) == inf


def test_one_visit_at_the_root_gives_no_log_of_zero() -> None:
    tree = made((1, 0.5))
    assert uct(tree.root, tree[1], 1.0, Bounds(0.0, 1.0)) == 0.5


def test_a_rollout_in_flight_counts_as_one_that_returned_the_least() -> None:
    tree = made((3, 2.4), (2, 1.0))
    tree[1].virtual = tree.root.virtual = 1
    assert uct(tree.root, tree[1], 0.0, Bounds(0.0, 1.0)) == pytest.approx(2.4 / 4)


def test_puct_of_worked_numbers() -> None:
    tree = made((4, 3.0), (0, 0.0))
    tree[1].prior, tree[2].prior = 0.2, 0.8
    tree.root.visits, tree.root.total = 4, 3.0
    bounds = Bounds(0.0, 1.0)
    assert puct(tree.root, tree[1], 1.0, bounds) == pytest.approx(0.75 + 0.2 * 2 / 5)
    assert puct(tree.root, tree[2], 1.0, bounds) == pytest.approx(0.75 + 0.8 * 2 / 1)


def test_backup_divides_once() -> None:
    tree = made((0, 0.0))
    backup([tree.root, tree[1]], 0.5)
    assert (tree.root.visits, tree.root.q, tree[1].q) == (1, 0.5, 0.5)
    backup([tree.root, tree[1]], 1.0)
    assert (tree[1].visits, tree[1].q, tree[1].peak) == (2, 0.75, 1.0)


def test_a_discounted_return_takes_in_the_rewards_of_the_steps() -> None:
    tree: Tree[Any, Any] = Tree(None)
    path = [tree.root]
    for reward in (1.0, 0.0, 1.0):
        path.append(tree.add(path[-1], reward))
        path[-1].reward = reward
    backup(path, 0.0, 1.0, rewards=True)
    assert [node.total for node in path] == [2.0, 1.0, 1.0, 0.0]
    assert backup([tree.root, path[1]], 5.0, 0.5, rewards=True) == (3.5, 5.0)
    for node, total in zip(path, (2.0, 1.0, 1.0, 0.0), strict=True):
        node.total = total
    backup(path, 4.0, 0.5, rewards=True)
    assert [node.total - before for node, before in zip(path, (2.0, 1.0, 1.0, 0.0), strict=True)] == [
        1.0 + 0.5 * (0.0 + 0.5 * (1.0 + 0.5 * 4.0)),
        0.5 * (1.0 + 0.5 * 4.0),
        1.0 + 0.5 * 4.0,
        4.0,
    ]


@pytest.mark.parametrize(("c", "share"), [(sqrt(2), 0.71), (1.0, 0.82)])
def test_bandit(c: float, share: float) -> None:
    """Five Bernoulli arms, .9 and four of .6, 1,000 pulls, 200 seeds: the best arm's share, and UCB1's bound."""
    means, bounds, pulls = (0.9, 0.6, 0.6, 0.6, 0.6), Bounds(0.0, 1.0), 1000
    best = worse = 0.0
    for seed in range(200):
        rng, tree = random.Random(seed), made(*[(0, 0.0)] * 5)
        for _ in range(pulls):
            arm = max(tree.children(tree.root), key=lambda child: uct(tree.root, child, c, bounds))
            backup([tree.root, arm], float(rng.random() < means[arm.id - 1]))
        best += tree[1].visits / pulls / 200
        worse += sum(tree[i].visits for i in range(2, 6)) / 4 / 200
    assert best == pytest.approx(share, abs=0.015)
    if c == sqrt(2):  # Auer et al. 2002: E[N_i] <= 8 ln n / delta^2 + 1 + pi^2 / 3
        assert worse <= 8 * log(pulls) / 0.3**2 + 1 + 3.29


def counting(values: Callable[[tuple[int, ...]], float], branching: int = 2) -> Callable[[Any, Any], Any]:
    """A world of unbounded depth: state = the path, valued by `values`."""

    def answer(request: Any, tree: Any) -> Any:
        match request:
            case Propose(_, n):
                return Proposed(tuple(range(n or branching)))
            case Step(id):
                node = tree[id]
                return Stepped((*tree[node.parent].state, node.action))
            case Rate(nodes):
                return Rated(tuple(values(tree[i].state) for i in nodes))
            case Reflect(id):
                return Reflected(f"not {tree[id].action}")
        raise AssertionError(request)

    return answer


def own_evaluations(tree: Any, node: Any) -> int:
    return node.visits - sum(tree[c].visits for c in node.children)


@pytest.mark.parametrize("at_once", [1, 4, 9])
@pytest.mark.parametrize("knobs", [{}, {"simulate": True}, {"lazy": True}, {"widening": 0.5}, {"selection": "puct"}])
def test_statistics_hold_after_any_interleaving(at_once: int, knobs: dict[str, Any]) -> None:
    for seed in range(6):
        world, rng = Digits(seed, flaky=0.1, unread=0.1), random.Random(seed)
        controller = MCTS(rollouts=25, branching=3, max_depth=5, at_once=at_once, **knobs)
        s = search(controller, world, rating=Rating(join="mean", low=0.0, high=20.0))
        play(s, world, lambda n, rng=rng: rng.randrange(n))
        assert s.done
        asked: set[Any] = set()
        backed_up: dict[int, list[float]] = {n.id: [] for n in s.tree}
        for node in s.tree:
            assert node.virtual == 0
            evaluations = own_evaluations(s.tree, node)
            assert evaluations in (0, 1)
            assert node.id not in asked
            if evaluations:
                assert node.value is not None
                for above in s.tree.path(node):
                    backed_up[above.id].append(node.value)
        for node in s.tree:
            assert node.visits == len(backed_up[node.id])
            assert node.q == pytest.approx(sum(backed_up[node.id]) / node.visits if node.visits else 0.0)


def test_rollouts_in_flight_expand_each_node_once_and_waste_nothing() -> None:
    asked: list[Any] = []
    answer = counting(lambda state: 0.5)
    s = Search(MCTS(rollouts=30, branching=3, at_once=8, max_depth=4, dedupe=False), (), rating=UNIT)
    rng, asks = random.Random(0), s.ask()
    while asks:
        ask = asks.pop(rng.randrange(len(asks)))
        asked.append(ask.request)
        s.tell(ask.id, answer(ask.request, s.tree))
        asks += s.ask()
    assert len(asked) == len(set(asked))
    expanded = [r.node for r in asked if isinstance(r, Propose)]
    assert len(expanded) == len(set(expanded)) == 30
    assert s.ended is Ended.ROLLOUTS


def test_a_rollout_takes_a_free_place_rather_than_wait_at_a_better_one() -> None:
    """Of the children 1.0 and 0.0, UCT still prefers the first with one rollout below it: 1.24 to 1.05."""
    s, answer = Search(MCTS(rollouts=3, at_once=2), (), rating=UNIT), counting(lambda state: 1.0 - state[0])
    for _ in range(3):  # a proposal, two steps, two ratings
        for ask in s.ask():
            s.tell(ask.id, answer(ask.request, s.tree))
    assert [ask.request for ask in s.ask()] == [Propose(1, 2), Propose(2, 2)]
    assert [node.virtual for node in s.tree] == [2, 1, 1]


@pytest.mark.parametrize("rollouts", [0, 1, 2])
def test_few_rollouts(rollouts: int) -> None:
    result = run(Search(MCTS(rollouts=rollouts), (), rating=UNIT), counting(lambda state: 0.5))
    assert result.ended is Ended.ROLLOUTS
    assert len(result.tree) == 1 + 2 * rollouts
    assert result.status is (SearchStatus.UNVERIFIED if rollouts else SearchStatus.FAILED)


def test_the_better_arm_of_a_known_tree_is_found() -> None:
    """Three levels; the first move 1 leads to .8 at best, move 0 looks better at first (.6) and is worth .2."""
    values = {(0,): 0.6, (1,): 0.5, (0, 0): 0.2, (0, 1): 0.2, (1, 0): 0.4, (1, 1): 0.8}
    answer = counting(lambda state: values.get(state, 0.9 if state == (1, 1, 0) else 0.2))
    result = run(Search(MCTS(rollouts=12, max_depth=3), (), rating=UNIT), answer)
    assert result.best.state == (1, 1, 0)


@pytest.mark.parametrize("final", ["visits", "mean"])
def test_the_final_choice_by_name(final: Any) -> None:
    answer = counting(lambda state: 0.9 if state[0] == 1 else 0.1)
    result = run(Search(MCTS(rollouts=20, max_depth=2, final=final), (), rating=UNIT), answer)
    assert result.tree.path(result.best)[1].action == 1


def test_terminal_leaves_are_backed_up_and_never_expanded() -> None:
    def answer(request: Any, tree: Any) -> Any:
        if isinstance(request, Step):
            return Stepped(request.node, terminal=True)
        return counting(lambda state: 0.3)(request, tree) if not isinstance(request, Rate) else Rated((0.3,))

    result = run(Search(MCTS(rollouts=10), (), rating=UNIT), answer)
    assert (result.ended, len(result.tree)) == (Ended.SEARCHED_OUT, 3)
    assert [n.visits for n in result.tree] == [2, 1, 1]
    assert not any(n.children for n in result.tree if n.id)


@pytest.mark.parametrize(("reroot", "proposals"), [(None, 3), (False, 1), (True, 3)])
def test_when_all_is_spent_it_proposes_again_with_its_lessons_or_ends(reroot: bool | None, proposals: int) -> None:
    shown: list[list[str]] = []

    def answer(request: Any, tree: Any) -> Any:
        match request:
            case Propose():
                shown.append(tree.lessons[: request.lessons])
                return Proposed((f"a{request.sample}", f"b{request.sample}"))
            case Step(id):
                return Stepped(tree[id].action, tree[id].action, terminal=True, missed=True)
            case Rate():
                return Rated((0.1,))
            case Reflect(id):
                return Reflected(f"not {tree[id].action}")
        raise AssertionError(request)

    result = run(Search(MCTS(rollouts=3, reroot=reroot), "", rating=UNIT), answer)
    assert len(shown) == proposals
    if proposals == 3:
        assert shown[1] == ["not a0", "not b0"]
        assert result.ended is Ended.ROLLOUTS
    else:
        assert result.ended is Ended.SEARCHED_OUT


def test_values_of_any_range_give_the_same_visits() -> None:
    def visits(stretch: Callable[[float], float]) -> list[int]:
        rng = random.Random(5)
        drawn: dict[Any, float] = {}
        answer = counting(lambda state: stretch(drawn.setdefault(state, rng.random())))
        rating = Rating(join="mean", unread=None, cut=None, declared=False)
        return [n.visits for n in run(Search(MCTS(rollouts=40), (), rating=rating), answer).tree]

    assert visits(lambda v: v) == visits(lambda v: 200 * v - 100) == visits(lambda v: v / 1000)


def test_two_exploration_constants_give_different_visits() -> None:
    answer = counting(lambda state: 0.9 if state[0] else 0.4)
    counts = [run(Search(MCTS(rollouts=30, exploration=c), (), rating=UNIT), answer).tree[1].visits for c in (0.1, 2.0)]
    assert counts[0] < counts[1]


def test_simulated_nodes_count_one_visit_and_stay_open() -> None:
    result = run(
        Search(MCTS(rollouts=1, simulate=True, max_depth=4), (), rating=UNIT), counting(lambda s: 0.1 * len(s))
    )
    chain = [n for n in result.tree if n.depth >= 2]
    assert [n.depth for n in chain] == [2, 3, 4]
    assert [n.visits for n in chain] == [1, 1, 1]
    assert [n.status for n in chain[:2]] == [NodeStatus.OPEN] * 2
    assert result.tree.root.visits == 3  # two new children, and the end of the simulation
    assert result.tree.root.total == pytest.approx(0.1 + 0.1 + 0.4)


def test_simulation_starts_from_the_best_new_child() -> None:
    result = run(
        Search(MCTS(rollouts=1, simulate=True, max_depth=3), (), rating=UNIT),
        counting(lambda state: 0.9 if state == (1,) else 0.2),
    )
    assert [n.state[0] for n in result.tree if n.depth >= 2] == [1, 1]


def test_lazily_only_visited_children_are_stepped_and_rated() -> None:
    result = run(Search(MCTS(rollouts=3, lazy=True, branching=5), (), rating=UNIT), counting(lambda state: 0.5))
    assert result.spent_by["step"].calls == 2  # rollout 1 proposes, 2 and 3 look at one child each
    assert sum(n.state is not None for n in result.tree if n.id) == 2


def test_patience() -> None:
    result = run(Search(MCTS(rollouts=50, patience=4), (), rating=UNIT), counting(lambda state: 0.5))
    assert (result.ended, len(result.tree.rollouts)) == (Ended.PATIENCE, 5)


def test_each_rollout_logs_what_it_asked() -> None:
    result = run(Search(MCTS(rollouts=2), (), rating=UNIT), counting(lambda state: 0.5))
    assert [(r.leaf, r.proposals, r.steps, r.ratings, r.reflections, r.value) for r in result.tree.rollouts] == [
        (0, 1, 2, 2, 0, 0.5),
        (1, 1, 2, 2, 0, 0.5),
    ]


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"rollouts": -1}, "rollouts=-1"),
        ({"exploration": -0.1}, "exploration=-0.1"),
        ({"discount": 0.0}, "discount=0.0"),
        ({"widening": 2.0}, "widening=2.0"),
        ({"selection": "ucb"}, "'uct', 'puct'"),
        ({"final": "best"}, "'value', 'visits', 'mean'"),
    ],
)
def test_bad_knobs_are_named(knobs: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MCTS(**knobs)
