"""`calibrate_rater`: whole runs, with outcomes that are known by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import dspy
import pytest

from engines import lm
from puzzle24 import PUZZLE, engine, script
from thoughtree import DFS, Beam, BestFirst, Game24, Illegal, Task, TreeOfThoughts
from thoughtree.modules.worth import Curve, Worth
from thoughtree.optimize import calibrate_rater
from thoughtree.optimize.calibration_advice import on_labels
from thoughtree.optimize.calibration_readings import Reading
from thoughtree.testing import RuleLM


class Fork(Task[tuple[str, ...], str]):
    """Two turns, left or right; the example says which ones are right. No hook says what can be solved."""

    signature = "way -> turns"

    def initial(self, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        return (inputs["way"],)

    def moves(self, state: tuple[str, ...]) -> list[str]:
        return ["left", "right"] if len(state) < 3 else []

    def parse(self, text: str, state: tuple[str, ...]) -> str | Illegal:
        return text if text in ("left", "right") else Illegal("no turn")

    def render(self, state: tuple[str, ...]) -> str:
        return " ".join(state[1:]) or "start"

    def is_goal(self, state: tuple[str, ...]) -> bool:
        return " ".join(state[1:]) == state[0].partition("#")[0]

    def answer(self, state: tuple[str, ...]) -> dict[str, Any]:
        return {"turns": " ".join(state[1:])}


class Known(Fork):
    """The same, and code knows which places the way leads through."""

    def solvable(self, state: tuple[str, ...]) -> bool:
        return state[0].startswith(" ".join(state[1:]))


def forks(*ways: str) -> list[dspy.Example]:
    return [dspy.Example(way=f"{way}#{i}").with_inputs("way") for i, way in enumerate(ways)]


def walker(controller: Any = None, task: Any = None, **given: Any) -> TreeOfThoughts:
    chosen = controller or DFS(branching=2, max_depth=2, threshold=0.0)
    return TreeOfThoughts(task=task or Known(), controller=chosen, propose="moves", concurrency=1, **given)


def rater(**words: str) -> dspy.LM:
    """Says the word for where one stands; sure of all else."""
    return RuleLM(rate=lambda fields: words.get(fields["search_state"].splitlines()[-1], "sure"))


def calibrated(model: Any, program: Any, examples: list[dspy.Example], **given: Any) -> Any:
    with dspy.context(lm=model):
        return calibrate_rater(program, examples, num_threads=1, **given)


def counts(report: Any) -> dict[tuple[int | None, str], tuple[int, int, int]]:
    return {(row.depth, row.verdict): (row.good, row.n, row.unlabelled) for row in report.rows}


def test_code_that_knows_the_truth_labels_every_rated_node():
    """Called sure: 6 9 13, which makes 24, and 13 15, which does not; maybe: 4 6, which does; the others are dead."""
    program = TreeOfThoughts(task=Game24(), controller=BestFirst(branching=None, keep=None, prune_below=0.0))
    report = calibrated(lm(engine(script)), program, [dspy.Example(numbers=PUZZLE).with_inputs("numbers")])
    assert counts(report) == {
        (None, "sure"): (1, 2, 0),
        (None, "maybe"): (1, 1, 0),
        (None, "impossible"): (0, 2, 0),
        (1, "sure"): (1, 1, 0),
        (1, "impossible"): (0, 2, 0),
        (2, "sure"): (0, 1, 0),
        (2, "maybe"): (1, 1, 0),
    }
    # Good: 20 and 1. Bad: 20, 0.001, 0.001. Of 6 pairs 20 wins 2 and ties 1, 1 wins 2: 4.5.
    assert report.auc == 0.75
    assert {depth: area for depth, (area, _) in report.auc_by_depth.items()} == {1: 1.0, 2: 0.0}


def test_without_a_hook_what_the_search_found_below_is_the_truth():
    """Left comes first and is searched out in vain; then right, and its second turn, lead home."""
    report = calibrated(rater(right="maybe"), walker(task=Fork()), forks("right right"))
    assert counts(report)[1, "maybe"] == (1, 1, 0)
    assert counts(report)[1, "sure"] == (0, 1, 0)
    assert report.auc_by_depth[1][0] == 0.0


def test_what_was_pruned_is_no_negative():
    """Right leads home, and is pruned; left is searched out."""
    report = calibrated(rater(right="impossible"), walker(DFS(branching=2, max_depth=2), Fork()), forks("right right"))
    assert counts(report)[1, "impossible"] == (0, 0, 1)
    assert counts(report)[1, "sure"] == (0, 1, 0)
    assert report.worth is None
    with pytest.raises(ValueError, match="all 1 labelled nodes cannot be solved"):
        report.apply(walker())


@pytest.mark.parametrize(
    ("labels", "code", "said"), [([True], False, True), ([True], True, False), ([True, False], False, False)]
)
def test_few_labels_are_said_to_be_biased_where_code_does_not_know_better(labels, code, said):
    readings = [Reading(0, i, 1, 1.0, "maybe", truth) for i, truth in enumerate([*labels, None, None])]
    found = list(on_labels(readings, code))
    assert len(found) == said
    assert not said or found[0].startswith("2 of 3 rated nodes have no label, as code cannot tell")


def test_nothing_that_is_labelled_is_an_error_that_says_what_to_do():
    beam = walker(Beam(width=1, branching=2, max_depth=1), Fork())
    with pytest.raises(ValueError, match="2 nodes were rated in 1 searches, and of none is it known"):
        calibrated(rater(), beam, forks("right right"))


RIGHT = forks(*["right left"] * 6)


def test_a_rater_that_always_says_the_same_is_no_better_than_none():
    report = calibrated(rater(), walker(), RIGHT)
    assert any("No rater at all would do as well: at no depth does it beat a coin" in said for said in report.advice)


def test_a_rater_that_is_right_is_worth_asking_and_samples_that_agree_are_too_many():
    report = calibrated(rater(left="impossible"), walker(samples=3), RIGHT)
    assert report.auc_by_depth[1] == (1.0, (1.0, 1.0))
    assert any("beats a coin at every depth" in said for said in report.advice)
    assert "1 sample would do as well as 3: area +0.000 [+0.000, +0.000]." in report.advice


@pytest.mark.parametrize(
    ("words", "said"),
    [({"left": "impossible"}, "The cheaper rater would do as well: "), ({}, "The cheaper rater would do worse: ")],
)
def test_another_lm_is_asked_about_the_same_nodes(words, said):
    report = calibrated(rater(left="maybe"), walker(), RIGHT, cheaper=rater(**words))
    assert report.advice[-1].startswith(said)
    assert "on 12 nodes" in report.advice[-1]


def test_calls_of_the_other_lm_that_fail_are_told_and_lose_nothing():
    def down(fields: Any) -> str:
        raise ConnectionError("no route")

    report = calibrated(rater(left="maybe"), walker(), RIGHT, cheaper=RuleLM(rate=down))
    assert report.auc == 1.0
    assert "cannot be judged by so few labelled nodes" in report.advice[-1]
    assert "on 0 nodes, 12 calls failed, the first by LMUnexpectedError: [rules/none] no route" in report.advice[-1]


def test_apply_gives_a_copy_that_searches_by_worth_with_the_fitted_threshold(tmp_path):
    program = walker(Beam(width=2, branching=2, max_depth=2, solved_threshold=20.0, min_score=1.0))
    report = calibrated(rater(left="maybe"), program, RIGHT, lost=0.3)
    made = report.apply(program)
    assert program.plan.worth is None
    assert made.plan.worth == report.worth
    assert report.worth.pooled.points == ((1.0, 0.125), (20.0, 0.875))  # (0 + 1) / 8 and (6 + 1) / 8
    assert made.controller.min_score == report.worth.cut == 0.5
    assert made.controller.solved_threshold == 0.875
    assert report.apply(program, prune=False).controller.min_score is None
    made.save(tmp_path / "made.json")
    program.load(tmp_path / "made.json")
    assert program.plan == made.plan


def test_a_calibrated_program_is_calibrated_anew_from_what_its_rater_says():
    """Its thresholds are in worth already, and what is measured is the words again."""
    program = walker(Beam(width=2, branching=2, max_depth=2, solved_threshold=20.0))
    first = calibrated(rater(left="maybe"), program, RIGHT)
    again = calibrated(rater(left="maybe"), first.apply(program), RIGHT)
    assert again.worth == first.worth
    assert again.apply(first.apply(program)).plan == first.apply(program).plan


def test_apply_takes_back_what_made_up_for_depths():
    program = walker(BestFirst(branching=2, keep=None, max_depth=2, prune_below=0.0, depth_bonus=1.0, normalise=True))
    report = calibrated(rater(left="maybe"), program, RIGHT)
    made = report.apply(program).controller
    assert (made.prune_below, made.depth_bonus, made.normalise) == (None, 0.0, False)


def test_apply_refuses_a_program_of_another_rater():
    report = calibrated(rater(left="maybe"), walker(), RIGHT)
    with pytest.raises(ValueError, match="measured was rate='value'"):
        report.apply(walker(scale="unit"))


def test_a_pipeline_is_calibrated_through_its_one_search():
    class Pipeline(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.walk = walker()

        def forward(self, way: str) -> Any:
            return self.walk(way=way)

    report = calibrated(rater(left="maybe"), Pipeline(), RIGHT)
    assert report.apply(Pipeline()).walk.plan.worth == report.worth
    with pytest.raises(ValueError, match="holds 0 searches"):
        calibrated(rater(), dspy.Predict("way -> turns"), RIGHT)


def test_a_rater_on_no_scale_of_ours_is_measured_and_not_applied():
    def by_code(inputs: Any, nodes: Any) -> list[float]:
        return [0.25 if "left" in node.path else 0.75 for node in nodes]

    report = calibrated(rater(), walker(rate=by_code), RIGHT)
    assert report.auc_by_depth[1][0] == 1.0
    assert report.worth is None
    with pytest.raises(ValueError, match="votes and comparisons are on no scale"):
        calibrated(rater(), walker(rate="vote"), RIGHT)


def test_the_report_is_json_and_a_table(tmp_path):
    report = calibrated(rater(left="maybe"), walker(), RIGHT)
    report.save(tmp_path / "report.json")
    saved = json.loads((tmp_path / "report.json").read_text())
    assert Worth.load(saved["worth"]) == report.worth
    assert isinstance(report.worth.pooled, Curve)
    assert report.table().row_count == len(saved["rows"]) == len(report.rows)
    assert "area under the curve" in report.summary()


@pytest.mark.parametrize(
    ("given", "said"), [({"least": 0}, "least=0"), ({"lost": 1.0}, "lost=1.0"), ({"most": 0}, "most=0")]
)
def test_settings_that_cannot_be_meant_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        calibrated(rater(), walker(), RIGHT, **given)
    with pytest.raises(ValueError, match="nothing to measure"):
        calibrated(rater(), walker(), [])


def test_a_progress_bar_is_on_stderr_and_only_where_it_is_wanted(capsys):
    """Each search rates the root's two turns, and none of the last depth, where nothing can follow: two calls each."""
    calibrated(rater(), walker(), forks("left left", "right right"))
    assert capsys.readouterr().err == ""
    calibrated(rater(), walker(), forks("left left", "right right"), display_progress=True)
    shown = capsys.readouterr()
    assert "2/2" in shown.err
    assert "100.0 %, 4 calls" in shown.err
    assert shown.out == ""


# -- kept in a folder


def test_what_was_paid_before_a_kill_is_not_paid_again(tmp_path):
    """Killed within the 10th call; of another LM that is asked about the same nodes, within its 3rd."""

    class Killed(BaseException):
        pass

    def failing(after):
        def fn(kind, inputs, n):
            if n > after:
                raise Killed
            return script(kind, inputs, n)

        return fn

    program = TreeOfThoughts(task=Game24(), controller=Beam(width=2), concurrency=1)
    examples = [dspy.Example(numbers=PUZZLE, n=n).with_inputs("numbers") for n in range(2)]

    def run(first, other):
        with dspy.context(lm=lm(first)):
            cheaper = lm(other, model="stub/cheaper")
            return calibrate_rater(program, examples, cheaper=cheaper, num_threads=1, resume=tmp_path / "kept")

    whole, cheap = engine(), engine()
    with dspy.context(lm=lm(whole)):
        alone = calibrate_rater(program, examples, cheaper=lm(cheap, model="stub/cheaper"), num_threads=1)
    first, second, third = engine(failing(10)), engine(), engine()
    other, last = engine(failing(3)), engine()
    with pytest.raises(Killed):
        run(first, engine())
    with pytest.raises(Killed):
        run(second, other)
    found = run(third, last)
    assert found.json() == alone.json()
    # One puzzle twice is asked once, as the same request has one reply in a recording.
    assert whole.count() == 2 * 12
    assert (10 + second.count(), third.count()) == (12, 0)
    assert 3 + last.count() == len({str(call.request) for call in cheap.calls})
