"""The parts of a tuner that are arithmetic: races, fronts, the judgement at the end, the budget of processes."""

from __future__ import annotations

import threading
from math import inf, sqrt
from types import SimpleNamespace
from typing import Any

import optuna
import pytest

from thoughtree.optimize import studies, worker
from thoughtree.optimize.confirm import Rule, judge
from thoughtree.optimize.front import Point, front, picked
from thoughtree.optimize.ledger import Ledger
from thoughtree.optimize.race import Race, Result, Results, dominates, lead, rungs
from thoughtree.optimize.tuning import Tuning
from thoughtree.search import Budget
from thoughtree.search.protocol import Usage

optuna.logging.set_verbosity(optuna.logging.WARNING)


def results(scores: list[float | None], cost: float = 1.0, begin: int = 0) -> Results:
    """A setting's scores on examples begin, begin + 1, ...; None is a failure."""
    return Results(
        {begin + i: Result(score, cost, None if score is not None else "x") for i, score in enumerate(scores)}
    )


# ---- the race


def test_rungs_double():
    assert rungs(60) == [8, 16, 32, 60]
    assert rungs(8) == [8]
    assert rungs(5) == [5]
    assert rungs(40, first=5, factor=3) == [5, 15, 40]


def test_failures_are_no_scores():
    one = results([1, None, 0, 1])
    assert one.scored() == [0, 2, 3]
    assert one.score() == pytest.approx(2 / 3)
    assert results([None]).score() is None


def test_the_lead_is_the_mean_paired_difference():
    """Differences 1, 1, 0, 0: mean 1/2, and an error of sqrt(4 * 0.25 + 1) / 4."""
    mean, error = lead(results([1, 1, 0, 1]), results([0, 0, 0, 1]), [0, 1, 2, 3])
    assert mean == 0.5
    assert error == pytest.approx(sqrt(2) / 4)


def test_equal_scores_are_not_certain():
    assert lead(results([1] * 8), results([1] * 8), range(8)) == (0.0, 1 / 8)
    assert lead(results([1]), results([None]), [0]) == (0.0, inf)
    assert lead(results([50.0] * 4), results([50.0] * 4), range(4), unit=100.0) == (0.0, 25.0)


ALL = range(64)
GOOD, BAD = [1.0] * 64, [0.0] * 64
HALF = [1.0, 0.0] * 32


@pytest.mark.parametrize(
    ("race", "mine", "other", "left"),
    [
        (Race(two=False), results(BAD), results(GOOD), True),
        (Race(two=False), results(GOOD), results(BAD), False),
        (Race(two=False), results(GOOD), results(GOOD), True),  # the same in all 64: a knob without effect
        (Race(two=False), results(GOOD, cost=2), results(GOOD), False),
        (Race(two=True, pick="best"), results(BAD, cost=1), results(GOOD, cost=9), True),  # no use for it
        (Race(two=True, pick="knee"), results(BAD, cost=1), results(GOOD, cost=9), False),  # it is cheaper
        (Race(two=True, pick="knee"), results(BAD, cost=9), results(GOOD, cost=1), True),
        # As good for half: an error of 1/64. For a ninth: half of one, and not two ninths.
        (Race(two=True, pick="cheapest", tolerance=0.015), results(HALF, cost=8), results(HALF, cost=4), False),
        (Race(two=True, pick="cheapest", tolerance=0.016), results(HALF, cost=8), results(HALF, cost=4), True),
        (Race(two=True, pick="cheapest", tolerance=0.007), results(HALF, cost=9), results(HALF, cost=1), False),
        (Race(two=True, pick="cheapest", tolerance=0.008), results(HALF, cost=9), results(HALF, cost=1), True),
        (Race(two=True, pick="knee", tolerance=0.008), results(HALF, cost=9), results(HALF, cost=1), True),
        (Race(two=True, pick="cheapest", tolerance=0.1), results(HALF, cost=1), results(HALF, cost=9), False),
        (Race(two=True, pick="best", tolerance=0.031), results(HALF, cost=9), results(HALF, cost=1), False),  # 2/64
        (Race(two=True, pick="best", tolerance=0.032), results(HALF, cost=9), results(HALF, cost=1), True),
    ],
)
def test_a_setting_is_left_for_one_that_is_clearly_better_or_as_good_for_less(race, mine, other, left):
    assert race.beaten_by(mine, {7: other}, ALL) == (7 if left else None)


def test_only_those_who_came_as_far_count():
    assert Race(two=False).beaten_by(results(BAD), {7: results(GOOD[:8])}, ALL) is None


def test_a_lead_has_to_be_clear():
    """Of 16, all equal: an error of 1/16. As good for as much within 0.1 is likely (1/16), and not clear (2/16)."""
    mine, other = results(HALF, cost=9.0), results(HALF, cost=9.0)
    mine.by_example[63] = Result(0.0, 8.0)  # they are not the same in all
    race = Race(two=True, pick="cheapest", tolerance=0.1)
    assert race.beaten_by(mine, {7: other}, range(16)) is None
    assert race.beaten_by(mine, {7: other}, range(32)) == 7  # 2/32
    # 3 better and 0 worse of 8: a mean of 0.375, and an error of sqrt(3 * 0.625**2 + 5 * 0.375**2 + 1) / 8 = 0.212
    assert Race(two=False).beaten_by(results([0.0] * 8), {7: results([1.0] * 3 + [0.0] * 5)}, range(8)) is None
    assert Race(two=False).beaten_by(results([0.0] * 8), {7: results([1.0] * 5 + [0.0] * 3)}, range(8)) == 7


def test_two_that_do_the_same_on_few_examples_may_differ_on_others():
    assert Race(two=False).beaten_by(results(GOOD), {7: results(GOOD)}, range(32)) is None
    assert Race(two=False).beaten_by(results(GOOD), {7: results(GOOD)}, ALL) == 7


def test_nobody_is_left_for_one_that_was_left_but_for_one_that_does_the_same():
    assert Race(two=False).beaten_by(results(BAD), {7: results(GOOD)}, ALL, left={7}) is None
    assert Race(two=False).beaten_by(results(BAD), {7: results(BAD)}, ALL, left={7}) == 7


def test_one_that_may_be_better_is_not_left_for_a_cheaper_one_that_was_lucky():
    """Of 128, 10 solved by the cheaper one alone and 10 by the other: an error of sqrt(20 + 1) / 128 = 0.036. What
    costs a tenth more is left where 1.8 of it are within the tolerance, and what costs twice as much where one is.
    """
    mine, other = results([1.0] * 10 + [0.0] * 118, cost=1.0), results([0.0] * 10 + [1.0] * 10 + [0.0] * 108, cost=0.9)
    assert Race(two=True, pick="cheapest", tolerance=0.064).beaten_by(mine, {7: other}, range(128)) is None
    assert Race(two=True, pick="cheapest", tolerance=0.065).beaten_by(mine, {7: other}, range(128)) == 7
    other = results([0.0] * 10 + [1.0] * 10 + [0.0] * 108, cost=0.5)
    assert Race(two=True, pick="cheapest", tolerance=0.035).beaten_by(mine, {7: other}, range(128)) is None
    assert Race(two=True, pick="cheapest", tolerance=0.036).beaten_by(mine, {7: other}, range(128)) == 7


def test_half_of_four_is_left():
    """Scores .5, .625, .75 and mine of .4375: none is clearly better, and mine is the last of four."""
    mine = results([1.0] * 7 + [0.0] * 9)
    others = {
        1: results([0.0] * 8 + [1.0] * 8),
        2: results([0.0] * 6 + [1.0] * 10),
        3: results([0.0] * 4 + [1.0] * 12),
    }
    first = range(16)
    assert Race(two=False).beaten_by(mine, {1: others[1], 2: others[2]}, first) is None  # of three nobody is
    assert Race(two=False).beaten_by(mine, others, first) == 3
    assert Race(two=False).beaten_by(results([1.0] * 11 + [0.0] * 5), others, first) is None  # the second


def test_domination():
    assert dominates(results([1, 1], cost=1), results([1, 1], cost=2))
    assert dominates(results([1, 1], cost=2), results([1, 0], cost=2))
    assert not dominates(results([1, 1], cost=2), results([1, 0], cost=1))
    assert not dominates(results([1]), results([1]))


# ---- the front

POINTS = {
    0: Point(0.5, 10),
    1: Point(0.7, 20),
    2: Point(0.72, 60),
    3: Point(0.6, 30),
    4: Point(0.7, 25),
    5: Point(0.1, 5),
}


def test_the_front_is_what_nothing_beats():
    assert front(POINTS) == [5, 0, 1, 2]
    assert front({}) == []
    assert front({3: Point(1, 1), 1: Point(1, 1)}) == [1]


def test_picks():
    """The knee: 1, which lies (0.6/0.62) - (15/55) = 0.695 above the line; 0 lies 0.554 above it."""
    assert picked(POINTS, "best", 0.02) == 2
    assert picked(POINTS, "cheapest", 0.02) == 1
    assert picked(POINTS, "cheapest", 0.25) == 0
    assert picked(POINTS, "knee", 0.02) == 1
    assert picked({4: Point(0.5, 1)}, "knee", 0.0) == 4


def test_no_pick():
    with pytest.raises(ValueError, match=r"^pick='most': must be one of 'best', 'knee', 'cheapest'$"):
        picked(POINTS, "most", 0.02)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="nothing to pick from"):
        picked({}, "best", 0.02)


# ---- the end

RACED, FRESH = range(20), list(range(20, 60))


def end(
    tuned: list[float | None], default: list[float | None], tuned_cost: float = 1.0, default_cost: float = 1.0, **rule
):
    """Two settings, 40 fresh examples; the first wins the race."""
    candidates = {
        0: Results({**results([0] * 20, default_cost).by_example, **results(default, default_cost, 20).by_example}),
        5: Results({**results([1] * 20, tuned_cost).by_example, **results(tuned, tuned_cost, 20).by_example}),
    }
    return judge(candidates, RACED, FRESH, Rule(rule.get("pick", "best"), 0.02, rule.get("limit")), 0)


def test_a_setting_that_is_better_beyond_doubt():
    """10 better and 0 worse of 40: McNemar 2/1024."""
    verdict = end([1] * 30 + [0] * 10, [1] * 20 + [0] * 20)
    assert (verdict.winner, verdict.better, verdict.cheaper) == (5, True, False)
    assert (verdict.difference.difference, verdict.difference.wins) == (25.0, 10)
    assert (verdict.tuned.score, verdict.default.score) == (0.75, 0.5)


def test_a_setting_that_was_lucky_in_the_race():
    """4 better and 2 worse of 40: the interval may leave out 0 or not, the exact test says p = 0.69."""
    verdict = end([1] * 24 + [0] * 16, [1] * 18 + [0] * 4 + [1] * 2 + [0] * 16)
    assert (verdict.winner, verdict.improved) == (5, False)


def test_few_disagreements_prove_nothing():
    """4 better and 0 worse: p = 1/8, though no resample would say that the other is better."""
    assert not end([1] * 4 + [0] * 36, [0] * 40).improved


def test_as_good_for_less():
    same = [1.0, 0.0] * 20
    assert end(same, same, tuned_cost=1, default_cost=2).cheaper
    assert not end(same, same, tuned_cost=2, default_cost=1).improved
    assert not end([0.0] * 40, same, tuned_cost=1, default_cost=2).improved  # for less, but worse


def test_one_of_forty_is_no_worse():
    verdict = end([1] * 19 + [0] * 21, [1] * 20 + [0] * 20, tuned_cost=1, default_cost=2)
    assert verdict.difference.difference == -2.5
    assert verdict.cheaper


@pytest.mark.parametrize(("n", "fewer", "cheaper"), [(3, 0, False), (9, 0, False), (10, 0, True), (10, 1, False)])
def test_from_a_few_examples_nothing_follows(n: int, fewer: int, cheaper: bool):
    """The default solves 3. An error of 1/n, and so up to that and what was seen lower: 1/9 is more than 0.1."""
    fresh = list(range(20, 20 + n))
    default, tuned = ([1] * count + [0] * (n - count) for count in (3, 3 - fewer))
    theirs = results([0] * 20, 2).by_example | results(default, 2, 20).by_example
    mine = results([1] * 20, 1).by_example | results(tuned, 1, 20).by_example
    verdict = judge({0: Results(theirs), 5: Results(mine)}, RACED, fresh, Rule("best", 0.02), 0)
    assert (verdict.winner, verdict.cheaper) == (5, cheaper)


def test_that_there_were_too_few_is_said():
    """3 of 3 at half the cost: 0.1 of a score is no error of three examples, but of ten."""
    fresh, each = [20, 21, 22], [1] * 3
    theirs = results([0] * 20, 2).by_example | results(each, 2, 20).by_example
    mine = results([1] * 20, 1).by_example | results(each, 1, 20).by_example
    verdict = judge({0: Results(theirs), 5: Results(mine)}, RACED, fresh, Rule("best", 0.02), 0)
    tuning = Tuning(
        values={}, verdict=verdict, settings={}, raced=list(RACED), fresh=fresh, calls=0, paid=0, cost="calls", ended=""
    )
    assert tuning.summary().startswith(
        "nothing beat the default, as far as the fresh examples can tell; 10 of them or more could tell that one is as "
        "good for less: the program is as it was"
    )


def test_that_no_fresh_example_was_scored_is_said():
    verdict = judge({0: results([1] * 20), 5: results([1] * 20)}, RACED, [20, 21], Rule("best", 0.02), 0)
    tuning = Tuning(
        values={},
        verdict=verdict,
        settings={},
        raced=list(RACED),
        fresh=[20, 21],
        calls=0,
        paid=0,
        cost="calls",
        ended="",
    )
    assert tuning.summary().startswith("no fresh example was scored for the default and another setting")


def test_nothing_over_the_limit_is_taken():
    assert end([1] * 40, [0] * 40, tuned_cost=9, limit=5.0).winner == 0
    assert end([1] * 40, [0] * 40, tuned_cost=9, default_cost=8, limit=5.0).winner == 0  # the cheapest, of none within


@pytest.mark.parametrize("pick", ["best", "cheapest", "knee"])
def test_a_setting_that_fails_on_what_is_hard_is_not_the_best(pick: str):
    """The default has all of 40 scored, half of them right; the other fails on the half that the default has wrong."""
    verdict = end([1] * 20 + [None] * 20, [1] * 20 + [0] * 20, tuned_cost=1, default_cost=2, pick=pick)
    assert (verdict.winner, verdict.improved) == (0, False)
    assert (verdict.default.n, verdict.default.score) == (40, 0.5)


def test_one_failure_costs_no_setting_its_chance():
    """10 better and 0 worse of the 39 that both have."""
    verdict = end([1] * 30 + [0] * 9 + [None], [1] * 20 + [0] * 20)
    assert (verdict.winner, verdict.better) == (5, True)


def test_the_judgement_is_of_examples_that_the_choice_did_not_see():
    """Two settings, each perfect on one half of the fresh examples: what one half chooses fails on the other."""
    evens, odds = [1.0, 0.0] * 20, [0.0, 1.0] * 20
    candidates = {
        0: Results({**results([0.5] * 20).by_example, **results([0.5] * 40, begin=20).by_example}),
        1: Results({**results([0.6] * 20).by_example, **results(evens, begin=20).by_example}),
        2: Results({**results([0.6] * 20).by_example, **results(odds, begin=20).by_example}),
    }
    verdict = judge(candidates, RACED, FRESH, Rule("best", 0.02), 0)
    assert verdict.difference.difference == -50.0
    assert not verdict.improved


# ---- the budget


def study() -> optuna.Study:
    return optuna.create_study(directions=["maximize"])


def test_a_claim_is_what_is_wanted_or_what_is_left():
    shared = study()
    ledger = Ledger(shared, Budget(calls=100, cost=1.0))
    first, second = shared.ask().number, shared.ask().number
    assert ledger.claim(first, {}, {"calls": 60, "cost": 0.2}) == {"calls": 60.0, "cost": 0.2}
    assert ledger.claim(second, {}, {"calls": 60, "cost": 0.2}) == {"calls": 40.0, "cost": 0.2}
    assert ledger.claim(second, {"calls": 40.0, "cost": 0.2}, {"calls": 1, "cost": 0.1}) is None
    ledger.settle(first, Usage(10, 0, 0.1, 0.0))
    assert ledger.left() == {"calls": 50.0, "cost": 0.7}
    assert ledger.claim(second, {"calls": 40.0, "cost": 0.2}, {"calls": 100, "cost": 0.1})["calls"] == 90.0


def test_a_share_is_kept_for_the_end():
    shared = study()
    ledger = Ledger(shared, Budget(calls=100))
    assert ledger.claim(shared.ask().number, {}, {"calls": 500}, share=0.7) == {"calls": 70.0}
    assert ledger.claim("final", {}, {"calls": 500}) == {"calls": 30.0}
    assert ledger.left() == {"calls": 0.0}


def test_without_a_budget_anything_goes():
    shared = study()
    assert Ledger(shared, Budget()).claim(shared.ask().number, {}, {"calls": 1e9}) == {}


def test_seconds_count_once_however_many_runs_are_at_work(monkeypatch):
    """Runs from 100 to 130, from 110 to 150, and from 200 to 205: 50 and 5 seconds."""
    now = 100.0
    monkeypatch.setattr("thoughtree.optimize.ledger.time", SimpleNamespace(time=lambda: now))
    shared = study()
    first = Ledger(shared, Budget())
    now = 110.0
    second = Ledger(shared, Budget())
    now = 130.0
    assert first.seconds() == 30.0
    now = 150.0
    assert second.seconds() == 50.0
    now = 200.0
    third = Ledger(shared, Budget())
    now = 205.0
    assert third.seconds() == 55.0


def test_a_trial_at_work_gives_signs_of_life(monkeypatch):
    monkeypatch.setattr(studies, "BEAT", 0.001)
    shared = study()
    trial = shared.ask()
    seen = set[float]()
    with studies.alive(trial):
        while len(seen) < 3:  # the test's own timeout ends it
            seen.add(trial.user_attrs.get("seen", 0.0))
    last = trial.user_attrs["seen"]
    assert not any(thread.name == "thoughtree-alive" for thread in threading.enumerate())
    other_host = {"host": "elsewhere", "pid": 1, "born": None}
    trial.set_user_attr("worker", other_host)
    assert not studies.lost(shared.trials[0], grace=60.0)
    trial.set_user_attr("seen", last - 61)
    assert studies.lost(shared.trials[0], grace=60.0)


# ---- workers


def test_of_two_trials_of_the_same_values_one_goes_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker, "GIVES_WAY", 0.0)
    shared = study()
    first, second, other = shared.ask(), shared.ask(), shared.ask()
    first.set_user_attr("key", "a")
    second.set_user_attr("key", "a")
    other.set_user_attr("key", "b")
    at_work: Any = SimpleNamespace(study=shared)
    same = worker.Worker._same
    assert same(at_work, second.number, "a") == first.number  # the later one gives way
    assert same(at_work, first.number, "a") == second.number  # unless it runs already
    assert same(at_work, other.number, "b") is None
    shared.tell(second, state=optuna.trial.TrialState.FAIL)
    assert same(at_work, first.number, "a") is None
