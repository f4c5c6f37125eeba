"""What a calibrated rater's values are worth: read off a curve by depth, saved and loaded, used and journaled."""

from __future__ import annotations

import json

import pytest

import thoughtree
from puzzle24 import PUZZLE, call, engine, script
from thoughtree import RAP, BestFirst, Blocksworld, Game24, TreeOfThoughts
from thoughtree.modules.worth import Curve, Worth
from thoughtree.optimize import space_of
from thoughtree.search import JournalError, Rating
from thoughtree.search.protocol import Failed, Rated, Unread

SHALLOW = Curve(((0.001, 0.25), (1.0, 0.25), (20.0, 0.9)), unread=0.3)
DEEP = Curve(((0.001, 0.01), (1.0, 0.02), (20.0, 1.0)), unread=0.1)
WORTH = Worth(SHALLOW, {2: DEEP}, cut=0.05)


def program(**given):
    return TreeOfThoughts(task=Game24(), controller=BestFirst(branching=None, keep=None), concurrency=1, **given)


def calibrated(**given):
    made = program(**given)
    made.plan = made.plan.replace(worth=WORTH)
    return made


@pytest.mark.parametrize(
    ("value", "worth"), [(-1, 0.0), (0, 0.0), (5, 0.25), (10, 0.5), (15, 0.75), (20, 1.0), (99, 1)]
)
def test_between_two_points_worth_is_on_the_straight_line_and_beyond_them_it_stays(value, worth):
    assert Curve(((0, 0.0), (10, 0.5), (20, 1.0)), 0.5)(value) == worth


@pytest.mark.parametrize(
    ("points", "unread"),
    [
        ((), 0.5),
        (((1, 0.5), (0, 0.6)), 0.5),
        (((0, 0.5), (0, 0.6)), 0.5),
        (((0, 0.6), (1, 0.5)), 0.5),
        (((0, 0.5), (1, 1.5)), 0.5),
        (((0, float("nan")),), 0.5),
        (((float("inf"), 0.5),), 0.5),
        (((0, 0.5),), 2.0),
    ],
)
def test_a_curve_that_falls_or_is_none_is_refused(points, unread):
    with pytest.raises(ValueError, match="Curve"):
        Curve(points, unread)


def test_each_node_has_the_worth_of_its_own_depth():
    rated = Rated((20.0, 20.0, 1.0, 1.0, 7.0), ("sure", "sure", "maybe", "maybe", "unread"))
    assert WORTH.of(rated, [1, 2, 1, 2, 2]) == Rated((0.9, 1.0, 0.25, 0.02, 0.1), rated.verdicts)
    assert WORTH.of(Unread("?"), [2]) == Unread("?", 0.1)
    assert WORTH.of(Unread("?"), [1, 2]) == Unread("?")  # no one value for both: the search's own
    assert WORTH.of(Failed("down"), [1]) == Failed("down")


def test_an_unread_reply_is_never_worth_less_than_the_cut():
    assert WORTH.rating(Rating()).threshold == 0.05
    low = Worth(Curve(((0, 0.0), (1, 0.5)), unread=0.02), cut=0.05)
    assert (low.rating(Rating()).unread, low.rating(Rating()).cut) == (0.05, 0.05)


def test_a_search_orders_by_worth_and_prunes_under_the_cut():
    """The script calls 6 9 13 and 13 15 sure, 4 6 maybe, all else impossible."""
    found = call(calibrated(), engine(script), numbers=PUZZLE).search
    rated = {found.task.render(n.state): n.value for n in found.tree if n.ratings}
    dead = {"10 26": 0.01, "0 10": 0.01, "10 43": 0.01, "19 52": 0.01}
    assert rated == {"6 9 13": 0.9, "10 13 13": 0.25, "9 10 52": 0.25, "13 15": 1.0, "4 6": 0.02, **dead}
    pruned = {found.task.render(n.state): n.reason for n in found.tree if n.status == "pruned"}
    assert pruned == dict.fromkeys(["4 6", *dead], 0.05)


def test_worth_is_saved_and_loads_into_a_program_that_was_built_without(tmp_path):
    calibrated().save(tmp_path / "program.json")
    plain = program()
    plain.load(tmp_path / "program.json")
    assert plain.plan.worth == WORTH == thoughtree.load(tmp_path / "program.json").plan.worth
    assert plain.deepcopy().plan.worth == WORTH


def test_without_worth_a_saved_program_and_a_journal_say_nothing_of_it(tmp_path):
    program().save(tmp_path / "program.json")
    assert "worth" not in json.loads((tmp_path / "program.json").read_text())["settings"]["plan"]
    call(program(), engine(script), numbers=PUZZLE, config={"journal": tmp_path / "run.jsonl"})
    assert "worth" not in json.loads((tmp_path / "run.jsonl").read_text().splitlines()[0])


def test_a_journal_is_continued_by_the_same_worth_only(tmp_path):
    first = call(calibrated(), engine(script), numbers=PUZZLE, config={"journal": tmp_path / "run.jsonl"})
    model = engine(script)
    again = call(calibrated(), model, numbers=PUZZLE, config={"journal": tmp_path / "run.jsonl"})
    assert model.count() == 0
    assert [n.value for n in again.search.tree] == [n.value for n in first.search.tree]
    with pytest.raises(JournalError, match="worth"):
        call(program(), engine(script), numbers=PUZZLE, config={"journal": tmp_path / "run.jsonl"})


def test_worth_of_one_rater_is_not_kept_for_another():
    plan = calibrated().plan
    assert plan.replace(scale="unit").worth is None
    assert plan.replace(rate="siblings").worth is None
    assert plan.replace(scale="verdict", samples=3).worth == WORTH


@pytest.mark.parametrize(("knobs", "said"), [({"rate": "vote"}, "rate='vote'"), ({"near": 2.0}, "near=2.0")])
def test_worth_is_refused_where_values_are_no_verdicts_on_a_scale(knobs, said):
    with pytest.raises(ValueError, match=said):
        program().plan.replace(**knobs, worth=WORTH)


def test_worth_is_refused_by_a_program_whose_rater_speaks_on_no_scale():
    judged = RAP(task=Blocksworld())
    with pytest.raises(ValueError, match="the rater of this RAP speaks on no scale"):
        judged.plan = judged.plan.replace(rate="value", near=None, worth=WORTH)


def test_a_saved_worth_that_is_damaged_is_refused(tmp_path):
    calibrated().save(tmp_path / "program.json")
    state = json.loads((tmp_path / "program.json").read_text())
    state["settings"]["plan"]["worth"]["pooled"]["points"] = [[1, 0.9], [2, 0.1]]
    (tmp_path / "program.json").write_text(json.dumps(state))
    with pytest.raises(ValueError, match="never falls"):
        program().load(tmp_path / "program.json")


def test_a_tuner_finds_thresholds_in_worth_and_no_words_to_value():
    plain, by_worth = space_of(program()), space_of(calibrated())
    assert "scale.maybe" in {dimension.name for dimension in plain}
    assert "scale.maybe" not in {dimension.name for dimension in by_worth}
    cut = by_worth["controller.prune_below"]
    assert (cut.low, cut.high, cut.choices) == (0.0, 1.0, ())
