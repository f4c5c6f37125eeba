"""What a tuner tries next, and what it looks at again at the end, from results that are written down by hand."""

from __future__ import annotations

from random import Random
from typing import Any

import optuna
import pytest

from thoughtree.optimize import trials
from thoughtree.optimize.bisection import Line
from thoughtree.optimize.confirm import Rule
from thoughtree.optimize.dimensions import Dimension
from thoughtree.optimize.neighbours import Record, neighbour, steps
from thoughtree.optimize.race import Result, Results
from thoughtree.optimize.space import Space
from thoughtree.optimize.trials import Change, Seen, Setting

optuna.logging.set_verbosity(optuna.logging.WARNING)

KIND = Dimension(name="kind", default="wide", choices=("wide", "deep"))
SIZE = Dimension(name="size", default=2, low=1, high=9, whole=True)
WIDTH = Dimension(name="width", default=1, low=1, high=4, whole=True, when=(("kind", ("wide",)),))
DEPTH = Dimension(name="depth", default=1, low=1, high=4, whole=True, when=(("kind", ("deep",)),))
SPACE = Space((KIND, SIZE, WIDTH, DEPTH), {}, frozenset())
ORDER = range(8)


def results(score: float, cost: float, n: int = 8) -> Results:
    return Results({id: Result(score, cost) for id in range(n)})


def setting(number: int, score: float, cost: float, n: int = 8, **values: Any) -> Setting:
    found = SPACE.active(values)
    return Setting(number, found, results(score, cost, n), None if n == 8 else 0)


def proposed(tried: list[Setting], draws: int = 60, pick: Any = "best") -> list[tuple[Change, dict[str, Any]]]:
    found = [neighbour(SPACE, tried, Rule(pick, 0.02), ORDER, Random(seed)) for seed in range(draws)]
    return [one for one in found if one is not None]


# ---- steps


def test_the_steps_of_a_number():
    assert steps(SIZE, 4) == [3, 5, 2, 8, 1, 9]
    assert steps(SIZE, 1) == [2, 9]
    assert steps(Dimension(name="x", default=None, low=1, high=9, whole=True, optional=True), None) == [2, 3, 5, 9]
    assert steps(Dimension(name="x", default=1.0, low=0.5, high=8.0, log=True), 2.0) == [1.0, 4.0, 0.5, 8.0]
    assert steps(KIND, "wide") == ["deep"]


# ---- neighbours


def test_a_neighbour_differs_in_one_knob_and_is_new():
    tried = [setting(0, 0.5, 10, kind="wide", size=2, width=1)]
    known = {one.key for one in tried}
    for change, values in proposed(tried):
        assert change.of == 0
        assert trials.key_of(values) not in known
        assert SPACE.active(values) == values
        if change.knob == "kind":
            assert values == {"kind": "deep", "size": 2, "depth": 1}
        else:
            assert {name for name, value in values.items() if tried[0].values[name] != value} == {change.knob}
    assert {change.knob for change, _ in proposed(tried)} == {"kind", "size", "width"}


def test_nothing_is_near_what_was_not_raced_to_its_end():
    assert proposed([setting(0, 0.5, 10, n=4, kind="wide", size=2, width=1)]) == []


def test_a_space_of_which_all_was_tried_has_no_neighbours():
    small = Space((Dimension(name="kind", default="a", choices=("a", "b")),), {}, frozenset())
    both = [Setting(number, {"kind": kind}, results(0.5, 1)) for number, kind in enumerate("ab")]
    assert neighbour(small, both, Rule("best", 0.02), ORDER, Random(0)) is None


def test_the_best_of_another_kind_is_tried_with_what_is_good_for_all():
    """Size 9 is the best wide one's; depth 4 was found at size 1, and left early. Both together are tried next."""
    tried = [
        setting(0, 0.5, 10, kind="wide", size=2, width=1),
        setting(1, 0.9, 10, kind="wide", size=9, width=1),
        setting(2, 0.25, 10, n=4, kind="deep", size=1, depth=4),
    ]
    joined = {"kind": "deep", "size": 9, "depth": 4}
    found = [change for change, values in proposed(tried) if values == joined]
    assert found
    assert set(found) == {Change("kind", 1)}


def test_a_kind_that_hangs_on_another_choice_is_no_kind_of_those_without_it():
    """Only with a scale there is a size of it; the best setting has none."""
    scale = Dimension(name="scale", default="a", choices=("a", "b"), when=(("rated", (True,)),))
    for_b = Dimension(name="size", default=1, low=1, high=4, whole=True, when=(("scale", ("b",)),))
    space = Space((Dimension(name="rated", default=True, choices=(True, False)), scale, for_b), {}, frozenset())
    tried = [
        Setting(0, {"rated": False}, results(0.9, 1)),
        Setting(1, {"rated": True, "scale": "b", "size": 2}, results(0.5, 1)),
    ]
    found = [neighbour(space, tried, Rule("best", 0.02), ORDER, Random(seed)) for seed in range(40)]
    assert {one[0].of for one in found if one is not None} == {0, 1}


def test_what_other_knobs_hang_on_is_changed_early():
    """The kind at twice the odds of a knob of which nothing is known: 2/3 against 1/3, of two others."""
    knobs = [change.knob for change, _ in proposed([setting(0, 0.5, 10, kind="wide", size=2, width=1)], 300)]
    assert knobs.count("kind") > 1.3 * knobs.count("size")


def test_one_that_was_left_early_is_the_start_of_its_kind_only():
    tried = [
        setting(0, 0.9, 10, kind="wide", size=9, width=1),
        setting(1, 0.25, 10, n=4, kind="deep", size=9, depth=4),
        setting(2, 0.0, 10, n=2, kind="deep", size=8, depth=1),
    ]
    assert {change.of for change, _ in proposed(tried)} == {0, 1}


def test_the_best_of_a_kind_is_not_one_that_only_went_farther():
    """The first solves 2 of 6, and none of the first four. A later one that was left after four solves one of them: a
    lead of 1/4 with an error of sqrt(0.75 + 1) / 4 = 0.33; another one solves all four: a lead of 1, an error of 1/4.
    """
    wide = setting(0, 0.9, 10, kind="wide", size=9, width=1)
    first = Setting(1, SPACE.active({"kind": "deep", "size": 9, "depth": 1}), right([4, 5], 6), 0)
    lucky = Setting(2, SPACE.active({"kind": "deep", "size": 9, "depth": 2}), right([0], 4), 0)
    later = Setting(3, SPACE.active({"kind": "deep", "size": 9, "depth": 4}), right([0, 1, 2, 3], 4), 0)
    assert {change.of for change, _ in proposed([wide, first, lucky])} == {0, 1}
    assert {change.of for change, _ in proposed([wide, first, lucky, later])} == {0, 3}


def right(solved: list[int], n: int) -> Results:
    return Results({id: Result(float(id in solved), 10) for id in range(n)})


def test_knobs_whose_changes_were_gains_are_changed_more_often():
    """Twelve changes of width came to nothing, and three of four of size to something."""
    tried = [setting(0, 0.5, 10, kind="wide", size=2, width=1)]
    for number in range(1, 13):
        lost = Setting(number, {"kind": "wide", "size": 2, "width": 9 + number}, results(0.5, 10), 0)
        lost.made_by = Change("width", 0)
        tried.append(lost)
    for number, score in enumerate((0.6, 0.7, 0.8, 0.5), 13):
        won = Setting(number, {"kind": "wide", "size": 20 + number, "width": 1}, results(score, 10))
        won.made_by = Change("size", 0)
        tried.append(won)
    record = Record.of(tried, 0.02)
    assert dict(record.tried) == {"width": 12, "size": 4}
    assert (record.gained["width"], record.gained["size"]) == (0, 3)
    knobs = [change.knob for change, _ in proposed(tried, 200)]
    assert knobs.count("size") > 3 * knobs.count("width")


@pytest.mark.parametrize(
    ("after", "n", "gain"),
    [
        ((0.6, 20.0), 8, True),  # better
        ((0.6, 20.0), 4, False),  # and left before it came as far
        ((0.5, 9.0), 8, True),  # as good for less
        ((0.49, 9.0), 8, True),  # within the tolerance
        ((0.5, 10.0), 8, False),
        ((0.51, 11.0), 8, False),  # a difference that is none, for more
        ((0.3, 1.0), 8, False),
    ],
)
@pytest.mark.parametrize("beaten", [None, 5])
def test_a_gain(after: tuple[float, float], n: int, gain: bool, beaten: int | None):
    """Of one that was left in the end too: it may have been the best of its kind."""
    before = Setting(0, {"x": 1}, results(0.5, 10.0), beaten)
    changed = Setting(1, {"x": 2}, results(*after, n), None if n == 8 and beaten is None else 5, None, Change("x", 0))
    assert Record.of([before, changed], 0.02).gained.get("x", 0) == gain


def test_the_kind_next_to_which_fewest_were_tried_comes_first():
    """Three kinds; next to the second kind's best three settings were tried, next to the third's none."""
    kinds = Dimension(name="kind", default="a", choices=("a", "b", "c"))
    own = Dimension(name="size", default=2, low=1, high=99, whole=True)
    for_b = Dimension(name="width", default=1, low=1, high=4, whole=True, when=(("kind", ("b",)),))
    space = Space((kinds, own, for_b), {}, frozenset())
    tried = [
        Setting(n, space.active({"kind": kind, "size": 2}), results(0.9 - n / 10, 10)) for n, kind in enumerate("abc")
    ]
    for number in range(3, 6):
        tried.append(
            Setting(number, {"kind": "b", "size": 30 + number}, results(0.0, 10, 2), 0, None, Change("size", 1))
        )
    found = [neighbour(space, tried, Rule("best", 0.02), ORDER, Random(seed)) for seed in range(80)]
    of = [one[0].of for one in found if one is not None]
    assert of.count(2) > 2 * of.count(1)


def test_kinds_of_two_knobs_take_turns():
    """The best is (c, a). Next to the best (d) three settings were tried, next to the best (b) none, and though the
    knob that makes (d) comes first in the space, it is (b)'s turn.
    """
    one = Dimension(name="one", default="c", choices=("c", "d"))
    two = Dimension(name="two", default="a", choices=("a", "b"))
    size = Dimension(name="size", default=2, low=1, high=99, whole=True)
    for_d = Dimension(name="width", default=1, low=1, high=4, whole=True, when=(("one", ("d",)),))
    for_b = Dimension(name="depth", default=1, low=1, high=4, whole=True, when=(("two", ("b",)),))
    space = Space((one, two, size, for_d, for_b), {}, frozenset())
    values = [{"one": "c", "two": "a"}, {"one": "d", "two": "a"}, {"one": "c", "two": "b"}]
    tried = [Setting(n, space.active({**v, "size": 2}), results(0.9 - n / 10, 10)) for n, v in enumerate(values)]
    for n in range(3, 6):
        near = space.active({**values[1], "size": 30 + n})
        tried.append(Setting(n, near, results(0.0, 10, 2), 0, None, Change("size", 1)))
    found = [neighbour(space, tried, Rule("best", 0.02), ORDER, Random(seed)) for seed in range(80)]
    of = [one[0].of for one in found if one is not None]
    assert of.count(2) > 4 * of.count(1)


# ---- where a number begins to matter


def middles(dimension: Dimension, start: Setting, tried: list[Setting]) -> list[Any]:
    return Line.through(start, dimension, tried).middles()


def test_a_middle_lies_where_a_number_begins_to_matter():
    """64 does the same as no limit, 32 does not: halfway is 48. What another size did says nothing."""
    limit = Dimension(name="limit", default=None, low=1, high=64, whole=True, optional=True)
    start = Setting(0, {"limit": None, "size": 2}, results(0.5, 10))
    tried = [
        start,
        Setting(1, {"limit": 64, "size": 2}, results(0.5, 10, 4)),
        Setting(2, {"limit": 32, "size": 2}, results(0.5, 9)),
        Setting(3, {"limit": 8, "size": 2}, results(0.25, 4)),
        Setting(4, {"limit": 40, "size": 3}, results(0.5, 10)),
    ]
    assert middles(limit, start, tried) == [48]
    assert middles(limit, tried[2], tried) == [20, 48]
    assert middles(SIZE, start, tried[:4]) == []
    assert middles(KIND, setting(0, 0.5, 10, kind="wide", size=2, width=1), []) == []


def test_the_middle_of_numbers_that_are_not_whole():
    """Of 1 and 4 it is 2.5; 2 where their ratio counts. Nothing lies between 3 and 4 that is whole."""
    tried = [Setting(0, {"x": 1.0}, results(0.5, 10)), Setting(1, {"x": 4.0}, results(0.5, 9))]
    assert middles(Dimension(name="x", default=1.0, low=0.5, high=8.0), tried[0], tried) == [2.5]
    assert middles(Dimension(name="x", default=1.0, low=0.5, high=8.0, log=True), tried[0], tried) == [2.0]
    near = [Setting(0, {"x": 3}, results(0.5, 10)), Setting(1, {"x": 4}, results(0.5, 9))]
    assert middles(Dimension(name="x", default=3, low=1, high=9, whole=True), near[0], near) == []


@pytest.mark.parametrize("log", [False, True])
def test_numbers_that_are_nearly_the_same_have_no_middle(log: bool):
    """Else halving would never end: from 7.6 to 8 it is a sixteenth of the range, and of 7.6."""
    tried = [Setting(0, {"x": 7.6}, results(0.5, 10)), Setting(1, {"x": 8.0}, results(0.5, 9))]
    assert middles(Dimension(name="x", default=1.0, low=0.5, high=8.0, log=log), tried[0], tried) == []


def test_a_knob_without_effect_is_left_alone_between_values_that_did_the_same():
    """4 does what 2 does, 8 does not: what lies from 2 to 4 is known, and what lies beyond or below is not."""
    size = Dimension(name="size", default=2, low=1, high=16, whole=True)
    start = Setting(0, {"size": 2}, results(0.5, 10))
    tried = [start, Setting(1, {"size": 4}, results(0.5, 10)), Setting(2, {"size": 8}, results(0.5, 9))]
    line = Line.through(start, size, tried)
    assert [value for value in range(1, 17) if line.flat(value)] == [2, 3, 4]
    assert not line.flat(None)
    assert not Line.through(tried[2], size, tried).flat(4)


# ---- the last few


def test_the_choice_is_looked_at_with_the_highest_score_and_what_lies_between():
    """Of 100 examples: 70, 72, 74 and 75 solved, each more than those before; the choice is the cheapest."""
    few = {n: half_solved(solved, cost) for n, (solved, cost) in enumerate([(70, 5), (72, 10), (74, 20), (75, 30)])}
    few[4] = half_solved(10, 1)
    ids = range(100)
    rule = Rule("cheapest", 0.1)
    assert rule.choose(few, ids) == 0
    assert rule.few(few, ids, 4) == [0, 3, 2, 1]
    assert rule.few(few, ids, 2) == [0, 3]
    assert rule.few(few, ids, 5) == [0, 3, 2, 1]  # not what is clearly worse
    few[5] = half_solved(75, 40)
    assert rule.few(few, ids, 5) == [0, 3, 2, 1]  # nor what is as good for more
    assert Rule("best", 0.1).few(few, ids, 3) == [3, 5, 2]
    assert rule.few({}, ids, 3) == []


def test_nothing_over_the_limit_is_on_the_front():
    few = {0: half_solved(70, 5), 1: half_solved(75, 30), 2: half_solved(60, 6)}
    assert Rule("best", 0.02, limit=10.0).front(few, range(100)) == [0]
    assert Rule("best", 0.02).front(few, range(100)) == [0, 1]


def half_solved(solved: int, cost: float) -> Results:
    return Results({id: Result(float(id < solved), cost) for id in range(100)})


# ---- what a study knows


def test_settings_that_have_ended_are_read_once_and_those_at_work_anew():
    study = optuna.create_study()
    seen = Seen(study)
    first, second = study.ask(), study.ask()
    for trial, width in ((first, 1), (second, 2)):
        trial.set_user_attr("values", {"width": width})
        trial.set_user_attr("results", [[7, 1.0, 3.0, None]])
    study.tell(first, 1.0)
    before = seen.settings()
    second.set_user_attr("results", [[7, 1.0, 3.0, None], [8, 0.0, 4.0, None]])
    after = seen.settings()
    assert [len(one.results.by_example) for one in before] == [1, 1]
    assert [len(one.results.by_example) for one in after] == [1, 2]
    assert after[0] is before[0]
    study.tell(second, state=optuna.trial.TrialState.FAIL)
    assert [one.number for one in seen.settings()] == [0]


def test_a_change_is_kept_with_its_trial():
    study = optuna.create_study()
    study.enqueue_trial({}, user_attrs={trials.CHANGE: list(Change("width", 3))})
    study.ask().set_user_attr("values", {"width": 1})
    (found,) = trials.settings(study)
    assert found.made_by == Change("width", 3)
