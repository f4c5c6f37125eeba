"""`distill`: winning paths taught to one call, and the student scored beside the search."""

from __future__ import annotations

import json
from typing import Any

import dspy
import pytest

import optimized24
import rankings
from engines import lm
from thoughtree import Game24
from thoughtree.optimize import distill

ANSWER = "(10 - 4) * (13 - 9)"
STUDENT = ("reasoning", "answer")


class Model(optimized24.Model):
    """Plays as a search's roles; as a student it answers rightly if it is shown how."""

    def _play(self, kind: Any, inputs: Any, helped: bool) -> Any:
        if kind in (STUDENT, ("answer",)):
            return {"reasoning": "so", "answer": ANSWER if helped else "no idea"}
        return super()._play(kind, inputs, helped and kind != "propose")


# As the question asks for steps.
STEPS = "10 - 4 = 6 (left: 6 9 13)\n13 - 9 = 4 (left: 4 6)\n6 * 4 = 24 (left: 24)"


def distilled(examples: Any, model: Any = None, **given: Any) -> tuple[Any, Any]:
    engine = model or Model()
    with dspy.context(lm=lm(engine)):
        return distill(optimized24.program(), examples, num_threads=1, **given), engine


EASY, MIXED = optimized24.examples(8, 0), [*optimized24.examples(0, 3), *optimized24.examples(5, 0)]


def test_the_student_learns_from_three_quarters_and_is_scored_on_the_rest():
    found, _ = distilled(EASY)
    assert (found.searches, found.wins, len(found.rows)) == (6, 6, 6)
    assert [result.score for result in (found.teacher, found.taught, found.untaught)] == [100.0, 100.0, 0.0]
    assert [len(result.outcomes) for result in (found.teacher, found.taught, found.untaught)] == [2, 2, 2]
    assert found.taught.per_example("calls") == 1.0
    assert (found.lost.wins, found.lost.losses, found.lost.ties) == (0, 0, 2)
    assert found.gained.wins == 2


def test_a_demonstration_is_the_question_the_path_and_the_answer():
    found, _ = distilled(EASY, max_demos=2)
    demos = found.student.predictors()[0].demos
    assert len(demos) == 2
    assert demos[0].numbers == "4 9 10 13"
    assert demos[0].reasoning == STEPS
    assert Game24().for_inputs({"numbers": "4 9 10 13"}).check({"answer": demos[0].answer}) is True


def test_only_accepted_searches_are_learned_from():
    """The first three are hard, and no search solves them."""
    found, _ = distilled(MIXED, valset=optimized24.examples(7, 0)[5:])
    assert (found.searches, found.wins) == (8, 5)
    assert all("1 2 3 4" not in json.dumps(row) for row in found.rows)


def test_rows_are_chats_in_the_students_own_prompt(tmp_path):
    found, engine = distilled(EASY)
    found.save_rows(tmp_path / "train.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text().splitlines()]
    assert rows == list(found.rows)
    assert [message["role"] for message in rows[0]["messages"]] == ["system", "user", "assistant"]
    said = rows[0]["messages"][2]["content"]
    assert f"[[ ## reasoning ## ]]\n{STEPS}" in said
    assert "[[ ## answer ## ]]" in said
    asked = next(call for call in engine.calls if call.kind == STUDENT)
    assert rows[0]["messages"][0]["content"] == str(asked.request.system)


def test_rows_speak_as_the_adapter_does():
    with dspy.context(adapter=dspy.JSONAdapter()):
        found, _ = distilled(EASY)
    said = json.loads(found.rows[0]["messages"][-1]["content"])
    assert said["reasoning"] == STEPS
    assert found.taught.score == 100.0


def test_an_example_of_both_sets_is_only_scored_on():
    found, _ = distilled(EASY, valset=EASY[:3])
    assert found.searches == 5
    assert all(demo.numbers != EASY[0].numbers for demo in found.student.predictors()[0].demos)


def test_a_student_of_ones_own_keeps_its_signature_and_is_not_changed():
    student = dspy.Predict("numbers -> answer")
    found, _ = distilled(EASY, student=student)
    assert student.demos == []
    shown = found.student.demos[0].toDict()
    assert (shown.pop("augmented"), set(shown)) == (True, {"numbers", "answer"})
    assert found.student.signature.instructions == student.signature.instructions


def test_another_student_is_scored_on_the_same_examples():
    found, engine = distilled(EASY)
    with dspy.context(lm=lm(engine)):
        again = found.score(found.student)
    assert again.against(found.taught).ties == 2


def test_the_student_is_scored_with_an_lm_of_its_own():
    small = Model()
    found, large = distilled(EASY, student_lm=lm(small, "stub/small"))
    assert small.count() == small.count(STUDENT) == 4  # two examples, before and after
    assert large.count(STUDENT) == 0
    assert found.taught.score == 100.0


def test_the_report_in_words_and_in_json():
    found, _ = distilled(EASY)
    said = found.json()
    assert (said["wins"], said["demos"], said["student"]["score"], said["student"]["calls"]) == (6, 6, 100.0, 1.0)
    assert "6 winning paths of 6 searches; 6 are shown" in found.summary()
    assert json.loads(json.dumps(said)) == said


def test_nothing_won_is_nothing_to_distill():
    with pytest.raises(ValueError, match="none of 3 searches was accepted"):
        distilled(optimized24.examples(0, 4))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"examples": EASY[:1]}, "0 are left to learn from"),
        ({"student": dspy.Predict("numbers -> sum")}, "'answer' is missing"),
        ({"student": dspy.Predict("numbers, hint -> answer")}, "'hint' is not known"),
        ({"student": optimized24.program()}, "has 2 predictors"),
        ({"max_demos": 0}, "max_demos=0"),
    ],
)
def test_what_cannot_be_taught_is_refused(given, said):
    engine = Model()
    with pytest.raises(ValueError, match=said):
        distilled(**{"examples": EASY, "model": engine, **given})
    assert engine.count() == 0


def test_a_task_that_checks_no_answers_needs_a_metric():
    with pytest.raises(ValueError, match=r"Ranking has no check\(fields\)"):
        distill(rankings.program(), rankings.examples([1, 1]))
    with pytest.raises(TypeError, match="must be one of ours"):
        distill(dspy.Predict("a -> b"), EASY)  # type: ignore[arg-type]


def test_a_graded_metric_wins_from_the_threshold_on():
    def graded(example: Any, prediction: Any, trace: Any = None) -> float:
        return 0.5 if example.numbers.startswith("4 9") else 1.0

    assert distilled(EASY, metric=graded, metric_threshold=0.6)[0].wins < distilled(EASY, metric=graded)[0].wins == 6
