"""DSPy's optimizers see a program's roles, and learn only from calls that deserve it."""

from __future__ import annotations

import dspy
import pytest

from puzzle24 import PUZZLE, call, drivers, engine, script
from thoughtree import DFS, Beam, Game24, TreeOfThoughts


def solver(**knobs):
    return TreeOfThoughts(task=Game24(), controller=DFS(), **knobs)


def solved(example, prediction, trace=None):
    return prediction.search.solved


def traced(program, model, driver="threads", **inputs):
    with dspy.context(trace=[]):
        call(program, model, driver, **inputs)
        return list(dspy.settings.trace)


@drivers
def test_the_trace_holds_the_path_and_confirmed_negatives(driver):
    program = solver(concurrency=1)
    entries = traced(program, engine(), driver, numbers=PUZZLE)
    propose, rate = program.propose.predict, program.rate.predict
    # The path: 10-4=6, 13-9=4, 6*4=24. Its states are proposed from at 4 9 10 13, 6 9 13 and 4 6.
    proposals = [inputs["search_state"] for p, inputs, _ in entries if p is propose]
    assert proposals == ["4 9 10 13", "6 9 13", "4 6"]
    ratings = [(inputs["search_state"], made.thought_rating) for p, inputs, made in entries if p is rate]
    # Two positives are on the path; as many negatives: 10 13 13 and 9 10 52 cannot make 24, as code knows.
    assert sorted(ratings) == [
        ("10 13 13", "impossible"),
        ("4 6", "maybe"),
        ("6 9 13", "sure"),
        ("9 10 52", "impossible"),
    ]
    assert all(p is propose or p is rate for p, _, _ in entries)
    assert all(set(inputs) == {"numbers", "search_path", "search_state"} for p, inputs, _ in entries if p is rate)


def test_no_trace_is_kept_unless_one_is_asked_for():
    before = len(dspy.settings.trace or [])
    call(solver(), engine(), numbers=PUZZLE)
    assert len(dspy.settings.trace or []) == before


def test_the_closing_call_is_learned_from():
    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": "1. a\n2. b"}
        if kind == "rate":
            good = inputs["search_path"].endswith("b")
            return {"rating_reasoning": "", "thought_rating": "sure" if good else "maybe"}
        return {"answer": "42"}

    program = TreeOfThoughts("question -> answer", controller=Beam(width=1, max_depth=1))
    entries = traced(program, engine(fn), question="q")
    assert [p for p, _, _ in entries] == [
        program.propose.predict,
        program.rate.predict,
        program.answer.predict,
    ]
    assert entries[1][1]["search_path"] == "1. b"  # nothing of the branch that was left
    assert entries[2][2].answer == "42"


def test_unread_replies_are_not_learned_from():
    def fn(kind, inputs, n):
        if kind == "rate":
            return {"rating_reasoning": "", "thought_rating": "who knows"}
        return script(kind, inputs, n)

    program = solver()
    entries = traced(program, engine(fn), numbers=PUZZLE)
    assert entries
    assert not [p for p, _, _ in entries if p is program.rate.predict]


@drivers
def test_a_failed_search_leaves_nothing_to_learn_that_code_refutes(driver):
    """The best candidate's calls are the trace, though nothing is solved: to use them is the metric's say."""

    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": "1. 4 + 9 = 13"}
        return {"rating_reasoning": "", "thought_rating": "sure"}

    program = solver()
    entries = traced(program, engine(fn), driver, numbers=PUZZLE)
    assert [inputs["search_state"] for p, inputs, _ in entries if p is program.rate.predict] == ["10 13 13"]


def test_labeled_few_shot_gives_demos_to_every_role():
    examples = [
        dspy.Example(numbers="1 2 3 4", answer="1*2*3*4").with_inputs("numbers"),
        dspy.Example(numbers="6 6 6 6", answer="6+6+6+6").with_inputs("numbers"),
    ]
    program = TreeOfThoughts("numbers -> answer", controller=Beam(width=1, max_depth=1, branching=1))
    compiled = dspy.LabeledFewShot(k=2).compile(program, trainset=examples)
    assert [len(p.demos) for p in compiled.predictors()] == [2, 2, 2]
    assert [len(p.demos) for p in program.predictors()] == [0, 0, 0]
    model = engine(
        lambda kind, inputs, n: (
            {"next_thoughts": "1. a"}
            if kind == "propose"
            else {"rating_reasoning": "", "thought_rating": "sure"}
            if kind == "rate"
            else {"answer": "x"}
        )
    )
    call(compiled, model, numbers="4 9 10 13")
    closing = model.calls[-1].request
    assert "1*2*3*4" in str(closing.messages[:-1])  # the demos reach the prompt of the role that has their outputs


@pytest.mark.parametrize("rounds", [1, 2])
def test_bootstrap_takes_demos_from_the_solution_path_only(rounds):
    examples = [dspy.Example(numbers=PUZZLE, answer="x").with_inputs("numbers")]
    program = solver()
    optimizer = dspy.BootstrapFewShot(metric=solved, max_bootstrapped_demos=4, max_labeled_demos=0, max_rounds=rounds)
    with dspy.context(lm=dspy.LM("unused/model")):
        compiled = call(_Compile(optimizer, program, examples), engine(), numbers=PUZZLE)
    on_path = {"4 9 10 13", "6 9 13", "4 6"}
    proposals = compiled.propose.predict.demos
    assert proposals
    assert {demo["search_state"] for demo in proposals} <= on_path
    ratings = compiled.rate.predict.demos
    assert ratings
    assert {demo["search_state"] for demo in ratings} <= on_path | {"10 13 13", "9 10 52"}
    assert compiled.controller == program.controller
    model = engine()
    assert call(compiled, model, numbers=PUZZLE).search.solved
    assert "next_thoughts" in str(model.calls[0].request.messages[:-1])  # the demos are in the prompts


class _Compile:
    """Calls an optimizer under the test's LM."""

    def __init__(self, optimizer, program, examples):
        self.optimizer, self.program, self.examples = optimizer, program, examples

    def __call__(self, numbers):
        return self.optimizer.compile(self.program, trainset=self.examples)


def test_a_compiled_program_is_saved_with_its_demos(tmp_path):
    program = solver()
    program.rate.predict.demos = [dspy.Example(numbers="1", search_state="1", thought_rating="sure")]
    program.save(tmp_path / "compiled.json")
    other = solver()
    other.load(tmp_path / "compiled.json")
    assert [dict(d)["thought_rating"] for d in other.rate.predict.demos] == ["sure"]


def test_predictors_that_are_none_of_the_programs_stay_out_of_the_trace():
    """Refine and others look every traced predictor up by name, and fail on one that the program does not have."""
    grade = dspy.Predict("answer -> grade: float")

    def reward(inputs, prediction):
        return grade(answer=prediction.answer).grade

    reward.calls = 1

    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": "1. a"}
        if kind == "rate":
            return {"rating_reasoning": "", "thought_rating": "sure"}
        if kind == ("grade",):
            return {"grade": "0.5"}
        if "advice" in kind:
            return {"discussion": "-", "advice": "{}"}
        return {"answer": f"answer {n}"}

    program = TreeOfThoughts(
        "question -> answer", reward_fn=reward, threshold=1.0, controller=Beam(width=1, branching=1, max_depth=1)
    )
    entries = traced(program, engine(fn), question="q")
    assert [p for p, _, _ in entries] == program.predictors()
    answers = []

    def outer(inputs, prediction):
        answers.append(prediction.answer)
        return 0.0

    call(dspy.Refine(module=program, N=3, reward_fn=outer, threshold=1.0, fail_count=1), engine(fn), question="q")
    assert len(set(answers)) == 3
