"""The most that a search can cost."""

from __future__ import annotations

from itertools import product

import pytest

from thoughtree.search import DFS, Beam, BestFirst
from thoughtree.search.estimate import MANY, most_expanded
from worlds import Letters


def test_the_figures_of_the_literature() -> None:
    # Branching 3, depth 3: 1 + 3 + 9 expansions, three evaluations each; a beam of 2: 1 + 2 + 2.
    assert most_expanded(3, 3, None, None) == (13, 39)
    assert most_expanded(3, 3, 2, None) == (5, 15)
    assert Beam(branching=3, width=2).most() == (5, 15)
    assert Beam(branching=3, width=None).most() == (13, 39)
    assert DFS(branching=3, max_depth=3).most() == (13, 39)
    assert BestFirst(branching=3, max_depth=3, keep=None).most() == (13, 39)


def test_keep_and_expansions_bound_best_first() -> None:
    assert BestFirst().most() == (7, 21)  # two of three are kept: 1 + 2 + 4
    assert BestFirst(max_depth=9).most() == (25, 75)
    assert BestFirst(keep=9, expansions=10**6).most() == (13, 39)
    assert DFS(expansions=4).most() == (4, 12)


def test_without_a_branching_the_most_moves_bound_it_or_nothing_does() -> None:
    assert Beam(branching=None).most() is None
    assert Beam(branching=None, width=2, max_depth=2).most(moves=36) == (3, 108)


@pytest.mark.parametrize(
    ("arguments", "expanded"),
    [
        ((1, 10**18, None, None), 10**18),
        ((10, 10**18, 5, None), 1 + 5 * (10**18 - 1)),
        ((2, 10**18, None, 10**9), 10**9),
        ((10**9, 10**9, 10**9, 10**18), 1 + 10**9 * (10**9 - 1)),
        ((2, 10**18, None, None, 1), 10**18),
    ],
)
def test_huge_numbers_take_no_time(arguments: tuple[int, ...], expanded: int) -> None:
    assert most_expanded(*arguments) == (expanded, expanded * arguments[0])


def test_what_is_beyond_all_bounds_is_told_as_many() -> None:
    found = most_expanded(10, 10**18, None, None)
    assert found is not None
    assert found[0] >= MANY


def test_no_search_expands_or_rates_more() -> None:
    for branching, depth, limit, cap in product((1, 2, 3), (1, 2, 3), (None, 1, 2), (None, 1, 4)):
        steps = {"": "abc"[:branching]}
        for _ in range(depth):
            steps |= {s + a: "abc"[:branching] for s in steps for a in steps[s]}
        controllers = [
            Beam(branching=branching, max_depth=depth, width=limit),
            DFS(branching=branching, max_depth=depth, expansions=cap),
            BestFirst(branching=branching, max_depth=depth, keep=limit, expansions=cap or 99),
        ]
        for controller in controllers:
            world = Letters(steps)
            world.run(controller)
            most = controller.most()
            assert most == (len(world.proposed()), len(world.rated()))  # with nothing dropped, exactly
