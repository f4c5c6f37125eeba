"""Intervals and paired tests, against worked values."""

from __future__ import annotations

from random import Random
from statistics import fmean, pstdev

import pytest

from thoughtree.optimize.intervals import binary, bootstrap, interval, mcnemar, wilson
from thoughtree.optimize.paired import Difference


@pytest.mark.parametrize(
    ("successes", "n", "confidence", "low", "high"),
    [
        # z = 1.959964, z^2 = 3.841459. 48 of 70: (0.685714 + 0.027439 -+ 0.112159) / 1.054878
        (48, 70, 0.95, 0.569729, 0.782377),
        # 0 of 10: the upper end is z^2 / (10 + z^2)
        (0, 10, 0.95, 0.0, 0.277533),
        (10, 10, 0.95, 0.722467, 1.0),
        # 1 of 2, 90 %: z^2 = 2.705543; half = z sqrt(1/8 + z^2/16) / (1 + z^2/2)
        (1, 2, 0.9, 0.120866, 0.879134),
        (0, 1, 0.95, 0.0, 0.793450),
    ],
)
def test_wilson(successes, n, confidence, low, high):
    assert wilson(successes, n, confidence=confidence) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize(("successes", "n"), [(1, 0), (-1, 5), (6, 5)])
def test_wilson_of_no_share(successes, n):
    with pytest.raises(ValueError, match=rf"wilson\(successes={successes}, n={n}\)"):
        wilson(successes, n)


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.5])
def test_a_confidence_that_is_none(confidence):
    with pytest.raises(ValueError, match=f"confidence={confidence}"):
        wilson(1, 2, confidence=confidence)


def test_bootstrap_of_two_scores_is_known_exactly():
    """The mean of two draws from {0, 0.5} is 0, 0.25 or 0.5, at 1/4, 1/2 and 1/4."""
    assert bootstrap([0.0, 0.5]) == (0.0, 0.5)
    assert bootstrap([0.0, 0.5], confidence=0.4) == (0.25, 0.25)


def test_bootstrap_of_many_scores_is_the_normal_interval():
    rng = Random(1)
    scores = [rng.random() for _ in range(400)]
    half = 1.96 * pstdev(scores) / 20
    assert bootstrap(scores) == pytest.approx((fmean(scores) - half, fmean(scores) + half), abs=0.003)


def test_bootstrap_is_repeatable_and_leaves_the_global_random_numbers_alone():
    import random

    random.seed(7)
    state = random.getstate()
    assert bootstrap([0.1, 0.5, 0.9]) == bootstrap([0.1, 0.5, 0.9])
    assert random.getstate() == state


def test_too_few_scores_have_no_interval():
    assert interval([]) is None
    assert interval([0.5]) is None
    assert interval([1.0]) == pytest.approx((0.206549, 1.0), abs=1e-6)  # Wilson's does: 1 of 1


def test_which_interval():
    assert interval([1.0, 0.0, 1.0]) == wilson(2, 3)
    assert interval([1.0, 0.0, 0.5]) == bootstrap([1.0, 0.0, 0.5])
    assert (binary([0, 1, True]), binary([0.5]), binary([2])) == (True, False, False)


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [
        (8, 2, 112 / 1024),  # 2 (1 + 10 + 45) / 2^10
        (2, 8, 112 / 1024),
        (5, 0, 2 / 32),
        (1, 1, 1.0),
        (0, 0, 1.0),
        (6, 5, 1.0),
    ],
)
def test_mcnemar(wins, losses, p):
    assert mcnemar(wins, losses) == pytest.approx(p)


def test_a_count_below_0():
    with pytest.raises(ValueError, match=r"wins=-1"):
        mcnemar(-1, 3)


def test_a_difference_is_surer_than_two_means():
    """40 pairs that agree but for 6, all won by the first: two separate intervals would overlap."""
    pairs = [(1.0, 0.0)] * 6 + [(1.0, 1.0)] * 14 + [(0.0, 0.0)] * 20
    found = Difference.of(pairs)
    assert (found.difference, found.wins, found.losses, found.ties) == (15.0, 6, 0, 34)
    assert found.p_value == pytest.approx(2 / 64)
    assert found.clear
    assert wilson(20, 40)[0] < wilson(14, 40)[1]


def test_a_difference_of_graded_scores_has_no_mcnemar():
    found = Difference.of([(0.5, 0.25), (0.5, 0.75)])
    assert (found.difference, found.p_value, found.interval) == (0.0, None, (-25.0, 25.0))
    assert not found.clear


def test_one_pair_tells_nothing():
    found = Difference.of([(1.0, 0.0)])
    assert (found.difference, found.interval, found.clear) == (100.0, None, False)
    with pytest.raises(ValueError, match="nothing to compare"):
        Difference.of([])


# -- units


def test_shares_are_told_in_points_and_other_scores_in_their_own_unit():
    shares = Difference.of([(1.0, 0.5), (0.5, 0.5)])
    assert (shares.share, shares.difference) == (True, 25.0)
    assert "+25.0 points [+0.0, +50.0] on 2 examples" in shares.summary()
    marks = Difference.of([(90.0, 40.0), (60.0, 60.0)])
    assert (marks.share, marks.difference, marks.interval) == (False, 25.0, (0.0, 50.0))
    assert "+25 [+0, +50] on 2 examples" in marks.summary()
    assert "points" not in marks.summary()
    below = Difference.of([(-0.5, 0.5), (0.5, 0.5)])  # no share lies below 0
    assert (below.share, below.difference) == (False, -0.5)
