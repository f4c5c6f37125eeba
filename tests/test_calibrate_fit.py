"""Shares, curves, prune thresholds and areas under the curve, each against figures worked out by hand."""

from __future__ import annotations

from collections import Counter

import pytest

from thoughtree.optimize.calibration_auc import auc, auc_gain, auc_of, resampled
from thoughtree.optimize.calibration_fit import Level, fit_worth, isotonic, prune_below


def nodes(depth, value, good, bad):
    return [(depth, value, True)] * good + [(depth, value, False)] * bad


@pytest.mark.parametrize(
    ("levels", "shares"),
    [
        ([(10, 1), (10, 5), (10, 9)], [0.1, 0.5, 0.9]),
        ([(10, 5), (10, 3), (20, 18)], [0.4, 0.4, 0.9]),  # 8 of 20
        ([(10, 9), (10, 5), (30, 1)], [0.3, 0.3, 0.3]),  # 15 of 50: each falls, so all are one
        ([(10, 2), (10, 6), (10, 4), (10, 4)], [0.2, 14 / 30, 14 / 30, 14 / 30]),
    ],
)
def test_adjacent_violators_are_pooled_by_their_numbers(levels, shares):
    found = isotonic([Level(i, n, good) for i, (n, good) in enumerate(levels)])
    assert found == pytest.approx(shares)


def test_a_tie_counts_half_in_the_area_under_the_curve():
    """Good 3 and 1, bad 2 and 1: 3 beats both, 1 loses to 2 and ties with 1. 2.5 of 4 pairs."""
    assert auc({(3, True): 1, (1, True): 1, (2, False): 1, (1, False): 1}) == 0.625


@pytest.mark.parametrize(
    ("counts", "area"),
    [
        ({(1, True): 5, (0, False): 9}, 1.0),
        ({(0, True): 5, (1, False): 9}, 0.0),
        ({(1, True): 5, (1, False): 9}, 0.5),
        ({(1, True): 5}, None),
        ({}, None),
    ],
)
def test_areas_of_the_extremes(counts, area):
    assert auc(counts) == area


def test_searches_are_drawn_whole():
    """Every search is rated perfectly, so every draw of them is; one search alone says nothing of others."""
    one = Counter({(1.0, True): 2, (0.0, False): 3})
    assert auc_of([one, one, one]) == (1.0, (1.0, 1.0))
    assert auc_of([one]) == (1.0, None)
    assert resampled([1, 3], lambda drawn: sum(drawn) / 2) == (1, 3)


def test_the_gain_of_one_rater_over_another_on_the_same_nodes():
    right, wrong = Counter({(1.0, True): 2, (0.0, False): 3}), Counter({(0.0, True): 2, (1.0, False): 3})
    assert auc_gain([(right, wrong)] * 2) == (1.0, (1.0, 1.0))
    assert auc_gain([(right, right)] * 2) == (0.0, (0.0, 0.0))


FEW = nodes(1, 20.0, 8, 2) + nodes(1, 1.0, 2, 8)


def test_few_nodes_have_the_pooled_shares_with_two_more_of_the_mean():
    """The mean is 0.5, so a share of 8 in 10 is (8 + 1) / 12, and 2 in 10 is (2 + 1) / 12."""
    worth = fit_worth(FEW)
    assert worth.by_depth == {}
    assert worth.at(7).points == ((1.0, 0.25), (20.0, 0.75))
    assert worth.at(7).unread == 0.5


def test_a_depth_with_enough_nodes_has_shares_of_its_own_with_two_more_of_the_pooled():
    worth = fit_worth(FEW, least=20)
    assert set(worth.by_depth) == {1}
    assert [share for _, share in worth.at(1).points] == pytest.approx([(2 + 0.5) / 12, (8 + 1.5) / 12])
    assert worth.at(2) == worth.pooled


def test_a_verdict_that_a_depth_never_had_is_worth_what_it_is_elsewhere():
    """Depth 2 has no 20: it takes the pooled share, 8 good of 10 and two more of the mean 12 in 50."""
    worth = fit_worth([*FEW, *nodes(2, 1.0, 2, 28)])
    assert set(worth.by_depth) == {2}
    assert worth.at(2)(20.0) == pytest.approx((8 + 2 * 12 / 50) / 12)
    assert worth.at(2)(1.0) == pytest.approx((2 + 2 * worth.pooled(1.0)) / 32)


def test_a_depth_of_one_kind_alone_has_no_curve_of_its_own():
    assert set(fit_worth([*FEW, *nodes(2, 1.0, 0, 40)]).by_depth) == set()


@pytest.mark.parametrize(("kind", "said"), [(True, "can be solved"), (False, "cannot be solved")])
def test_nodes_of_one_kind_teach_nothing(kind, said):
    with pytest.raises(ValueError, match=f"all 3 labelled nodes {said}"):
        fit_worth([(1, 1.0, kind)] * 3)


@pytest.mark.parametrize(("lost", "cut"), [(0.02, None), (0.24, None), (0.25, 0.5), (0.99, 0.5)])
def test_the_cut_drops_no_more_of_the_good_ones_than_it_may(lost, cut):
    """Of 10 good ones expected, 2.5 are worth 0.25 each; midway to the next is 0.5. The best is never dropped."""
    assert prune_below(fit_worth(FEW, lost=lost), FEW, lost) == cut == fit_worth(FEW, lost=lost).cut
