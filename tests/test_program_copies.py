"""Copies of a program, and the names of its predictors."""

from __future__ import annotations

import copy
import threading

import cloudpickle
import dspy
import pytest

from engines import lm
from puzzle24 import PATH, PUZZLE, call, engine
from thoughtree import DFS, Beam, BootstrapSearch, Game24, RoleOptimizer, SearchTuner, TreeOfThoughts, solved
from thoughtree.modules.parts import copy_of


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
    model = dspy.LM("stub/model", engine=engine())
    program = TreeOfThoughts("question -> answer", propose_lm=model, value_fn=lambda inputs, path: 1.0)
    program.answer.set_lm(model)
    other = program.deepcopy()
    assert other.propose_lm is model
    assert other.answer.predict.lm is model
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


# What cannot be copied


class Locked(dspy.Module):
    """Holds what no copy can be made of, beside a search that it has under two names."""

    def __init__(self):
        super().__init__()
        self.lock, self.kept = threading.Lock(), {"locks": [threading.Lock()], "seen": []}
        self.solve = TreeOfThoughts(task=Game24(), controller=Beam(width=2))
        self.again = self.solve
        self.others = [TreeOfThoughts(task=Game24(), controller=Beam(width=1)), threading.Lock()]

    def forward(self, numbers):
        with self.lock:
            return self.solve(numbers=numbers)


def test_what_cannot_be_copied_is_shared_and_all_else_is_not():
    program = Locked()
    made = copy_of(program)
    assert made.lock is program.lock
    assert made.kept["locks"][0] is program.kept["locks"][0]
    assert made.others[1] is program.others[1]
    assert made.kept["seen"] is not program.kept["seen"]
    assert made.again is made.solve is not program.solve
    assert made.others[0] is not program.others[0]
    made.solve.controller = Beam(width=7)
    assert (program.solve.controller.width, made.again.controller.width) == (2, 7)


@pytest.mark.parametrize(
    "optimizer",
    [
        BootstrapSearch(max_demos=1, num_threads=1),
        SearchTuner(solved, trials=2, num_threads=1),
        RoleOptimizer(dspy.LabeledFewShot(k=1), metric=solved, num_threads=1),
    ],
    ids=lambda optimizer: type(optimizer).__name__,
)
def test_a_pipeline_with_a_lock_is_compiled_and_left_as_it_was(optimizer):
    program, puzzles = Locked(), [dspy.Example(numbers=PUZZLE, id=i).with_inputs("numbers") for i in range(8)]
    before = program.dump_state()
    with dspy.context(lm=lm(engine())):
        made = optimizer.compile(program, trainset=puzzles)
        assert made(numbers=PUZZLE).search.solved
    assert made is not program
    assert made.lock is program.lock
    assert program.dump_state() == before
