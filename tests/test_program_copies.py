"""Copies of a program, and the names of its predictors."""

from __future__ import annotations

import copy

import cloudpickle
import dspy
import pytest

from puzzle24 import PATH, PUZZLE, call, engine
from thoughtree import DFS, Beam, Game24, TreeOfThoughts


class Pipeline(dspy.Module):
    def __init__(self, **knobs):
        super().__init__()
        self.solve = TreeOfThoughts(task=Game24(), **knobs)
        self.tell = dspy.Predict("expression -> sentence")

    def forward(self, numbers):
        return self.solve(numbers=numbers)


# Copies


def test_names_of_predictors_are_fixed():
    def names(**knobs):
        return [name for name, _ in TreeOfThoughts("question -> answer", **knobs).named_predictors()]

    assert names() == ["propose.predict", "rate.predict", "answer.predict"]
    assert names(answer="path") == ["propose.predict", "rate.predict"]
    assert names(answer="path", value_fn=len) == ["propose.predict"]
    assert names(answer="path", value_fn=len, propose=len) == []
    game = TreeOfThoughts(task=Game24())
    assert [n for n, _ in game.named_predictors()] == ["propose.predict", "rate.predict"]
    assert [n for n, _ in Pipeline().named_predictors()] == [
        "solve.propose.predict",
        "solve.rate.predict",
        "tell",
    ]


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda p: p.deepcopy(), lambda p: cloudpickle.loads(cloudpickle.dumps(p))]
)
def test_a_copy_searches_alike_and_shares_no_predictor(copied):
    program = TreeOfThoughts(task=Game24(), controller=Beam(width=2))
    other = copied(program)
    assert other.plan == program.plan
    for mine, its in zip(program.predictors(), other.predictors(), strict=True):
        assert mine is not its
    other.controller = DFS()
    assert program.controller == Beam(width=2)
    model = engine()
    assert call(other, model, numbers=PUZZLE).search.path == PATH
    assert model.count("propose") == 4


def test_copies_share_the_lms_functions_and_task():
    lm = dspy.LM("stub/model", engine=engine())
    program = TreeOfThoughts("question -> answer", propose_lm=lm, value_fn=lambda inputs, path: 1.0)
    program.answer.set_lm(lm)
    other = program.deepcopy()
    assert other.propose_lm is lm
    assert other.answer.predict.lm is lm
    assert other.value_fn is program.value_fn
    assert other.task is program.task


def test_a_subclass_with_more_predictors_is_copied_whole():
    class More(TreeOfThoughts):
        def __init__(self):
            super().__init__("question -> answer")
            self.extra = [dspy.Predict("a -> b")]

    program = More()
    other = program.deepcopy()
    assert other.extra[0] is not program.extra[0]
    assert other.dump_state() == program.dump_state()


def test_whole_programs_are_saved_by_dspy(tmp_path):
    program = TreeOfThoughts(task=Game24(), controller=Beam(width=2))
    program.save(tmp_path / "whole", save_program=True)
    other = dspy.load(tmp_path / "whole", allow_pickle=True)
    assert other.controller == Beam(width=2)
