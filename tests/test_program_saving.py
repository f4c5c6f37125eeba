"""Saving and loading: alone, in a pipeline, from JSON alone; copies and pickles."""

from __future__ import annotations

import json
import re
from typing import Literal

import dspy
import pydantic
import pytest

import thoughtree
from puzzle24 import PATH, PUZZLE, call, engine
from thoughtree import DFS, Beam, BestFirst, Budget, Game24, Task, TreeOfThoughts


class Point(pydantic.BaseModel):
    x: int
    y: int


class Countdown(Task):
    """A task of a user's own."""

    def __init__(self, start: int = 3) -> None:
        self.start = start

    def config(self):
        return {"start": self.start}

    signature = "start -> answer"


class Pipeline(dspy.Module):
    def __init__(self, **knobs):
        super().__init__()
        self.solve = TreeOfThoughts(task=Game24(), **knobs)
        self.tell = dspy.Predict("expression -> sentence")

    def forward(self, numbers):
        return self.solve(numbers=numbers)


FULL = {
    "controller": BestFirst(branching=4, keep=3, expansions=7, depth_bonus=0.5, open=2),
    "budget": Budget(calls=9, seconds=2.5),
    "scale": {"yes": 2, "no": 0},
    "samples": 3,
    "join": "mean",
    "rate": "siblings",
    "answer": "lm",
    "first": "answer",
    "on_failure": "raise",
    "concurrency": 3,
    "seed": 7,
    "retries": 1,
    "history": True,
}


def saved(program, tmp_path):
    path = tmp_path / "program.json"
    program.save(path)
    return path


def test_every_knob_survives_saving(tmp_path):
    program = TreeOfThoughts("question -> answer", **FULL)
    path = saved(program, tmp_path)
    other = TreeOfThoughts("question -> answer", scale={"yes": 2, "no": 0}, rate="siblings", answer="lm")
    other.load(path)
    assert other.plan == program.plan
    assert thoughtree.load(path).plan == program.plan
    assert other.controller == FULL["controller"]
    assert other.budget == Budget(calls=9, seconds=2.5)


def test_a_program_that_cannot_be_written_says_why_and_leaves_nothing_behind(tmp_path):
    program = TreeOfThoughts(task=Game24())
    with pytest.raises(FileNotFoundError) as caught:
        program.save(tmp_path / "missing" / "program.json")
    assert caught.value.strerror == (
        f"there is no folder {str(tmp_path / 'missing')!r}; make it first, or give another path"
    )
    saved(program, tmp_path)
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(IsADirectoryError):
        program.save(tmp_path / "folder.json")
    program.rate.predict.demos = [dspy.Example(note=object())]
    with pytest.raises(RuntimeError, match=re.escape(f"Failed to save state to {tmp_path / 'program.json'} with")):
        saved(program, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.json", "program.json"]
    assert thoughtree.load(tmp_path / "program.json").plan == program.plan  # the one before


@pytest.mark.parametrize("ending", ["json", "pkl"])
def test_a_pipeline_keeps_the_width_of_the_program_in_it(tmp_path, ending):
    path = tmp_path / f"pipeline.{ending}"
    Pipeline(controller=Beam(width=2)).save(path)
    other = Pipeline()
    assert other.solve.controller.width == 5
    other.load(path, allow_pickle=True)
    assert other.solve.controller == Beam(width=2)
    model = engine()
    assert call(other, model, numbers=PUZZLE).search.path == PATH
    assert model.count("propose") == 5


def test_reset_copy_forgets_demos_and_keeps_the_width(tmp_path):
    program = Pipeline()
    program.solve.controller = Beam(width=2)
    program.solve.rate.predict.demos = [dspy.Example(numbers="1 2", thought_rating="sure")]
    fresh = program.reset_copy()
    assert fresh.solve.controller.width == 2
    assert fresh.solve.rate.predict.demos == []
    assert len(program.solve.rate.predict.demos) == 1


def test_demos_and_instructions_come_back_with_load(tmp_path):
    program = TreeOfThoughts("question -> answer")
    rate = program.rate.predict
    rate.demos = [dspy.Example(question="q", search_path="1. a", rating_reasoning="r", thought_rating="sure")]
    rate.signature = rate.signature.with_instructions("Be strict.")
    again = thoughtree.load(saved(program, tmp_path))
    assert again.rate.predict.signature.instructions == "Be strict."
    assert again.rate.predict.demos[0]["thought_rating"] == "sure"


class Everything(dspy.Signature):
    """Answer in four ways."""

    question: str = dspy.InputField(desc="what is asked")
    level: int = dspy.InputField(default=3)
    picture: dspy.Image | None = dspy.InputField(default=None)
    numbers: list[int] = dspy.OutputField(desc="all of them")
    mood: Literal["glad", "sad"] = dspy.OutputField()
    places: dict[str, Point | None] = dspy.OutputField()


def test_typed_signatures_load_from_json_alone(tmp_path):
    program = TreeOfThoughts(Everything, controller=DFS(max_depth=2))
    again = thoughtree.load(saved(program, tmp_path), custom_types={"Point": Point})
    fields = again.signature.fields
    assert {name: info.annotation for name, info in fields.items()} == {
        "question": str,
        "level": int,
        "picture": dspy.Image | None,
        "numbers": list[int],
        "mood": Literal["glad", "sad"],
        "places": dict[str, Point | None],
    }
    assert again.signature.instructions == "Answer in four ways."
    assert fields["question"].json_schema_extra["desc"] == "what is asked"
    assert (fields["level"].default, fields["picture"].default) == (3, None)
    assert again.controller == DFS(max_depth=2)
    assert again.dump_state() == program.dump_state()
    with pytest.raises(ValueError, match=r"'Point' is not known here.*custom_types"):
        thoughtree.load(saved(program, tmp_path))
    assert thoughtree.load(saved(program, tmp_path), signature=Everything).signature is Everything


def test_game24_loads_with_its_target(tmp_path):
    program = TreeOfThoughts(task=Game24(target="3/2", count=3, strict=True))
    again = thoughtree.load(saved(program, tmp_path))
    assert again.task == program.task
    assert again.task.config() == {"target": "3/2", "count": 3, "strict": True}


def test_a_task_of_the_users_own_is_imported_only_on_consent(tmp_path):
    path = saved(TreeOfThoughts(task=Countdown(start=9)), tmp_path)
    with pytest.raises(ValueError, match=r"Countdown', whose import would run code; give task="):
        thoughtree.load(path)
    assert thoughtree.load(path, task=Countdown(start=9)).task.start == 9
    assert thoughtree.load(path, allow_task_import=True).task.start == 9


def test_a_file_cannot_make_load_import_a_module(tmp_path):
    path = saved(TreeOfThoughts("question -> answer: int"), tmp_path)
    (tmp_path / "planted.py").write_text("raise SystemExit('this ran')")
    for kind in ("planted.x", "planted", "__import__('planted')", "dspy.settings"):
        state = json.loads(path.read_text())
        state["settings"]["outputs"]["answer"] = kind
        path.write_text(json.dumps(state))
        with pytest.raises(ValueError, match="signature cannot be built"):
            thoughtree.load(path)


def test_parts_that_are_never_saved_are_asked_for(tmp_path):
    def propose(inputs, node, n):
        return ["a"]

    program = TreeOfThoughts("q -> a", propose=propose, value_fn=lambda inputs, path: 1.0)
    path = saved(program, tmp_path)
    with pytest.raises(ValueError, match=r"a propose of the user's own.*give propose="):
        thoughtree.load(path)
    with pytest.raises(ValueError, match=r"a rate of the user's own.*give rate="):
        thoughtree.load(path, propose=propose)
    again = thoughtree.load(path, propose=propose, value_fn=lambda inputs, path: 1.0)
    assert again.propose_fn is propose


def broken(path, change):
    state = json.loads(path.read_text())
    change(state)
    path.write_text(json.dumps(state))
    return path


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda s: s["settings"].update(format="thoughtree.program/9"), "format 'thoughtree.program/9'"),
        (lambda s: s["settings"]["plan"].update(warp=1), r"unknown settings \['warp'\]"),
        (lambda s: s["settings"]["plan"]["controller"].update(kind="Spiral"), "controller 'Spiral'"),
        (lambda s: s["settings"]["plan"]["controller"].update(depth=3), "controller Beam"),
        (lambda s: s["settings"]["plan"]["controller"].update(width=0), "width=0"),
        (lambda s: s["settings"].pop("plan"), "plan"),
        (lambda s: s["settings"].update(plan=[1]), "settings cannot be read|damaged settings"),
        (lambda s: s["settings"]["inputs"].update(more="str"), "inputs|more"),
        (lambda s: s["settings"].update(task=None), "task is None"),
        (lambda s: s["propose.predict"].update(demos=None), r"propose\.predict is damaged: its demos"),
        (lambda s: s["rate.predict"].update(demos=["x"]), r"rate\.predict is damaged: its demos"),
        (lambda s: s["rate.predict"]["signature"].update(instructions=3), "is damaged: its signature"),
        (lambda s: s["rate.predict"]["signature"]["fields"][0].update(prefix=[]), "is damaged: its signature"),
        (lambda s: s.update({"rate.predict": 3}), r"rate\.predict is damaged"),
        (
            lambda s: s["propose.predict"].update(config={"api_base": "http://somebody.else"}),
            r"propose\.predict is not to be trusted: DSPy saves no config of a predictor",
        ),
        (lambda s: s["rate.predict"].update(forward="x"), "not to be trusted: DSPy saves no forward"),
    ],
)
def test_another_version_or_other_fields_are_a_clear_error(tmp_path, change, says):
    path = broken(saved(TreeOfThoughts("question -> answer"), tmp_path), change)
    program = TreeOfThoughts("question -> answer")
    before = program.dump_state()
    with pytest.raises(ValueError, match=says):
        program.load(path)
    assert program.dump_state() == before  # nothing was half applied
    if "inputs" not in says:
        with pytest.raises(ValueError, match=says):
            thoughtree.load(path)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (lambda: TreeOfThoughts("question -> reply"), "its outputs is"),
        (lambda: TreeOfThoughts("question -> answer: int"), "its outputs is"),
        (lambda: TreeOfThoughts("question, hint -> answer"), "its inputs is"),
        (lambda: TreeOfThoughts("question -> answer", task=Countdown()), "its task is"),
        (lambda: TreeOfThoughts("question -> answer", rate="vote"), "saved with rate='value'"),
        (lambda: TreeOfThoughts("question -> answer", scale="unit"), "saved with scale="),
        (lambda: TreeOfThoughts("question -> answer", answer="lm"), "saved with answer='auto'"),
        (lambda: TreeOfThoughts("question -> answer", answer="path"), "saved with answer='auto'"),
        (lambda: TreeOfThoughts("question -> answer", propose=len), "saved with propose='lm'"),
    ],
)
def test_another_program_or_structure_is_a_clear_error(tmp_path, other, says):
    path = saved(TreeOfThoughts("question -> answer"), tmp_path)
    with pytest.raises(ValueError, match=says):
        other().load(path)


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', '{"settings": 3}', "[" * 100_000])
def test_what_is_no_program_is_said(tmp_path, text):
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"p\.json: not a saved"):
        thoughtree.load(path)


def test_other_instructions_do_not_stop_loading(tmp_path):
    path = saved(TreeOfThoughts(dspy.Signature("question -> answer", "Old words.")), tmp_path)
    program = TreeOfThoughts(dspy.Signature("question -> answer", "New words."))
    program.load(path)
    assert "Old words." in program.rate.predict.signature.instructions  # what was saved, as for any DSPy module


def test_a_controller_of_the_users_own_says_that_it_cannot_be_saved(tmp_path):
    class Mine(Beam):
        pass

    program = TreeOfThoughts("question -> answer", controller=Mine())
    with pytest.raises(TypeError, match="only DFS, Beam, BestFirst, MCTS, ABMCTS can"):
        program.save(tmp_path / "p.json")


def test_the_state_of_another_module_is_said_to_be_that(tmp_path):
    dspy.Predict("question -> answer").save(tmp_path / "other.json")
    with pytest.raises(ValueError, match="the state of another module: it has no settings of a thoughtree program"):
        TreeOfThoughts("question -> answer").load(tmp_path / "other.json")


def test_a_role_that_is_missing_on_either_side_is_named(tmp_path):
    with_answer = TreeOfThoughts(task=Game24(), first="answer")
    path = saved(with_answer, tmp_path)
    with pytest.raises(ValueError, match="first='answer': this program was built without that role"):
        TreeOfThoughts(task=Game24()).load(path)
    path = saved(TreeOfThoughts(task=Game24()), tmp_path)
    with pytest.raises(ValueError, match=r"a program that has no answer\.predict; build this one alike"):
        with_answer.load(path)


def test_knobs_given_on_loading_stand_before_the_saved_ones(tmp_path):
    path = saved(TreeOfThoughts("question -> answer", controller=Beam(width=2), seed=4), tmp_path)
    again = thoughtree.load(path, controller=DFS(), budget=9)
    assert (again.controller, again.budget, again.plan.seed) == (DFS(), Budget(calls=9), 4)
    with pytest.raises(ValueError, match=r"cannot be loaded.*saved with rate='value'"):
        thoughtree.load(path, rate="vote")
