"""The formulas of Monte-Carlo tree search at worked numbers, and on a bandit."""

from __future__ import annotations

import random
from math import inf, log, sqrt
from typing import Any

import pytest

from thoughtree.search import Tree
from thoughtree.search.policy import close, puct, selection, uct
from thoughtree.search.returns import Bounds, Returns, backup
from trees import made

UNIT = Returns(Bounds(0.0, 1.0))


def test_uct_of_worked_numbers() -> None:
    tree = made((4, 3.0), (1, 0.2), (0, 0.0))
    first, second, third = uct(tree.root, tree.children(tree.root), 1.0, UNIT)
    assert first == pytest.approx(0.75 + sqrt(log(5) / 4))
    assert second == pytest.approx(0.2 + sqrt(log(5)))
    assert third == inf
    assert uct(tree.root, [tree[2]], 2.0, UNIT) == pytest.approx([0.2 + 2 * sqrt(log(5))])


def test_one_visit_at_the_root_gives_no_log_of_zero() -> None:
    tree = made((1, 0.5))
    assert uct(tree.root, [tree[1]], 1.0, UNIT) == [0.5]
    tree.root.visits = 0
    assert uct(tree.root, [tree[1]], 1.0, UNIT) == [0.5]


def test_rollouts_in_flight_are_visits_that_are_still_to_come_and_no_samples() -> None:
    """N + O for N (Liu et al. 2020), a rollout being four visits here; Q is that of what came back."""
    tree = made((3, 2.4), (2, 1.0))
    tree[1].virtual = tree.root.virtual = 1
    busy, free = uct(tree.root, tree.children(tree.root), 1.0, UNIT, pending=4.0)
    assert busy == pytest.approx(0.8 + sqrt(log(9) / 7))
    assert free == pytest.approx(0.5 + sqrt(log(9) / 2))
    tree[1].prior, tree[2].prior = 0.5, 0.5
    assert puct(tree.root, tree.children(tree.root), 1.0, UNIT, pending=4.0) == pytest.approx(
        [0.8 + 0.5 * 3 / 8, 0.5 + 0.5 * 3 / 3]
    )


def test_puct_of_worked_numbers() -> None:
    tree = made((4, 3.0), (0, 0.0))
    tree[1].prior, tree[2].prior = 0.2, 0.8
    tree.root.visits, tree.root.total = 4, 3.0
    assert puct(tree.root, tree.children(tree.root), 1.0, UNIT) == pytest.approx(
        [0.75 + 0.2 * 2 / 5, 0.75 + 0.8 * 2 / 1]  # the unvisited child has its parent's mean
    )


def test_priors_are_weights() -> None:
    """Those of siblings count by their share, whatever they add up to; with none given, all are equal."""
    tree = made((1, 0.5), (1, 0.5))
    children = tree.children(tree.root)
    tree.root.visits = 4
    for weights in ((1.0, 3.0), (0.25, 0.75), (200.0, 600.0)):
        children[0].prior, children[1].prior = weights
        assert puct(tree.root, children, 1.0, UNIT) == pytest.approx([0.5 + 0.25 * 2 / 2, 0.5 + 0.75 * 2 / 2])
    for weight in (1.0, 0.0):
        children[0].prior = children[1].prior = weight
        assert puct(tree.root, children, 1.0, UNIT) == pytest.approx([0.5 + 0.5 * 2 / 2] * 2)


def test_backup_divides_once() -> None:
    tree = made((0, 0.0))
    backup([tree.root, tree[1]], 0.5, UNIT)
    assert (tree.root.visits, tree.root.q, tree[1].q) == (1, 0.5, 0.5)
    backup([tree.root, tree[1]], 1.0, UNIT)
    assert (tree[1].visits, tree[1].q, tree[1].peak) == (2, 0.75, 1.0)


def test_the_mean_the_highest_and_the_discounted_return_are_three_things() -> None:
    """Two values, 0.2 and 0.8, were found behind a step of reward 1: Q is 0.5, 0.8, and 1 + 0.5 x 0.5."""
    found = {}
    for kind in ("mean", "max", "discounted"):
        tree, returns = made((0, 0.0)), Returns(Bounds(), kind, 0.5)  # type: ignore[arg-type]
        tree[1].reward = 1.0
        for value in (0.2, 0.8):
            backup([tree.root, tree[1]], value, returns)
        found[kind] = returns.q(tree[1])
    assert found == pytest.approx({"mean": 0.5, "max": 0.8, "discounted": 1.25})


def rewarded(*rewards: float) -> tuple[Tree[Any, Any], list[Any]]:
    """A chain below a root, each step with its reward."""
    tree: Tree[Any, Any] = Tree(None)
    path = [tree.root]
    for reward in rewards:
        path.append(tree.add(path[-1], reward))
        path[-1].reward = reward
    return tree, path


def test_a_discounted_return_takes_in_the_rewards_of_the_steps() -> None:
    _, path = rewarded(1.0, 0.0, 1.0)
    backup(path, 0.0, Returns(Bounds(), "discounted", 1.0))
    assert [node.total for node in path] == [2.0, 1.0, 1.0, 0.0]  # sum 2; the mean would be .67, the last 1
    _, path = rewarded(1.0, 0.0, 1.0)
    backup(path, 4.0, Returns(Bounds(), "discounted", 0.5))
    assert [node.total for node in path] == [
        1.0 + 0.5 * (0.0 + 0.5 * (1.0 + 0.5 * 4.0)),
        0.0 + 0.5 * (1.0 + 0.5 * 4.0),
        1.0 + 0.5 * 4.0,
        4.0,
    ]


def test_selection_by_discounted_returns_counts_the_steps_own_reward() -> None:
    """Left pays 5 at once and ends in a state worth 1; right pays 0 and ends in one worth 3. Q is 5.5 against 1.5."""
    tree, returns = made((0, 0.0), (0, 0.0)), Returns(Bounds(), "discounted", 0.5)
    left, right = tree.children(tree.root)
    left.reward, right.reward = 5.0, 0.0
    backup([tree.root, left], 1.0, returns)
    backup([tree.root, right], 3.0, returns)
    assert (returns.q(left), returns.q(right), tree.root.q) == (5.5, 1.5, 3.5)
    assert (returns.bounds.low, returns.bounds.high) == (1.5, 5.5)  # those of Q: a leaf's value alone is none
    assert uct(tree.root, [left, right], 0.0, returns) == [1.0, 0.0]


def test_selection_goes_by_the_scores_and_leaves_what_is_closed_or_taken() -> None:
    tree = made((2, 1.0), (3, 2.7), (1, 0.1))
    first, second, third = tree.children(tree.root)
    tree.root.status = first.status.EXPANDED

    def greedy(parent: Any, children: Any) -> list[float]:
        return uct(parent, children, 0.0, UNIT)

    assert selection(tree, greedy)[-1] is second
    assert selection(tree, greedy, taken={second.id})[-1] is first
    close(tree, second)
    assert selection(tree, greedy)[-1] is first
    assert selection(tree, greedy, taken={first.id})[-1] is third
    assert selection(tree, greedy, taken={first.id, third.id}) == [tree.root]  # nothing below is free
    close(tree, first)
    assert not tree.root.closed
    close(tree, third)
    assert tree.root.closed


@pytest.mark.parametrize(("c", "share"), [(sqrt(2), 0.71), (1.0, 0.82)])
def test_bandit(c: float, share: float) -> None:
    """Five Bernoulli arms, .9 and four of .6, 1,000 pulls, 200 seeds: the best arm's share, and UCB1's bound."""
    means, pulls, seeds = (0.9, 0.6, 0.6, 0.6, 0.6), 1000, 200
    mean_visits = [0.0] * 5
    for seed in range(seeds):
        rng, tree = random.Random(seed), made(*[(0, 0.0)] * 5)
        tree.root.status = tree.root.status.EXPANDED
        for _ in range(pulls):
            path = selection(tree, lambda parent, arms: uct(parent, arms, c, UNIT))
            backup(path, float(rng.random() < means[path[-1].id - 1]), UNIT)
        for i in range(5):
            mean_visits[i] += tree[i + 1].visits / seeds
    assert mean_visits[0] / pulls == pytest.approx(share, abs=0.015)
    if c == sqrt(2):  # Auer et al. 2002, theorem 1: E[N_i] <= 8 ln n / delta^2 + 1 + pi^2 / 3
        assert all(visits <= 8 * log(pulls) / 0.3**2 + 1 + 3.29 for visits in mean_visits[1:])
