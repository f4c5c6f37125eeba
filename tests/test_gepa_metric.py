"""What GEPA is told of one call of a search, and of the faults of its role."""

from __future__ import annotations

import inspect
from typing import Any

import dspy
import pytest

from coding import Runner, actor
from engines import Engine, lm
from puzzle24 import PUZZLE, engine, script
from thoughtree import DFS, LATS, MCTS, Game24, TreeOfThoughts
from thoughtree.modules.trace import credit_of
from thoughtree.optimize.gepa import gepa_metric
from thoughtree.optimize.metrics import solved
from thoughtree.optimize.role_sets import role_examples

GOLD = dspy.Example(numbers=PUZZLE).with_inputs("numbers")


def traced(program: Any, model: Engine, **inputs: Any) -> tuple[Any, list[Any]]:
    with dspy.context(lm=lm(model), trace=[]):
        prediction = program(**inputs)
        return prediction, list(dspy.settings.trace)


def solver(**knobs: Any) -> TreeOfThoughts:
    return TreeOfThoughts(task=Game24(), controller=DFS(), concurrency=1, **knobs)


def asked(program: Any, prediction: Any, trace: Any, name: str, state: str, **given: Any) -> Any:
    predictor = dict(program.named_predictors())[name]
    (entry,) = [e for e in trace if e[0] is predictor and e[1]["search_state"] == state]
    return gepa_metric(**given)(GOLD, prediction, trace, name, [entry])


def test_the_score_of_the_run_and_five_arguments():
    program = solver()
    prediction, trace = traced(program, engine(), numbers=PUZZLE)
    metric = gepa_metric(solved)
    inspect.signature(metric).bind(None, None, None, None, None)
    assert metric(GOLD, prediction).score == 1.0
    assert metric(GOLD, prediction).feedback == "The score of the whole run is 1. The search ended solved: goal."
    assert asked(program, prediction, trace, "propose.predict", "4 6").score == 1.0
    dspy.GEPA(metric=metric, max_metric_calls=1, reflection_lm=lm(engine()))


def test_a_metric_with_words_of_its_own_keeps_them():
    def judged(example: Any, prediction: Any, trace: Any = None) -> Any:
        return dspy.Prediction(score=0.25, feedback="too long")

    prediction, _ = traced(solver(), engine(), numbers=PUZZLE)
    said = gepa_metric(judged)(GOLD, prediction)
    assert (said.score, said.feedback) == (0.25, "too long")


def test_every_proposal_is_named_with_what_became_of_it():
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if kind == "propose" and inputs["search_state"] == "6 9 13":
            return {"next_thoughts": "1. 6 + 9 = 15\n2. 7 + 9 = 16\n3. 13 - 9 = 4"}
        return script(kind, inputs, n)

    program = solver()
    prediction, trace = traced(program, engine(fn), numbers=PUZZLE)
    said = asked(program, prediction, trace, "propose.predict", "6 9 13").feedback
    about = said.split("About this call:\n")[1].splitlines()
    assert about[0] == "`6 + 9 = 15`: a dead end (code says that it cannot be solved)."
    assert about[1].startswith("`7 + 9 = 16`: illegal (")
    assert about[2] == "`13 - 9 = 4`: good (a solution follows)."
    # Of another call, the same fault is told as one of its kind.
    other = asked(program, prediction, trace, "propose.predict", "4 6").feedback
    faults = other.split("Faults of this kind in the same search:\n")[1]
    assert faults.startswith("From `6 9 13`, `7 + 9 = 16` is illegal: ")


def test_verdicts_that_were_wrong_are_told_also_where_the_trace_leaves_them_out():
    program = solver()
    prediction, trace = traced(program, engine(), numbers=PUZZLE)
    said = asked(program, prediction, trace, "rate.predict", "6 9 13").feedback
    assert "About this call:\n`6 9 13` was rightly called promising: a solution follows." in said
    # 13 15 was called sure: it is on no path, so the curated trace does not have it
    assert "`13 15` was wrongly called promising: code says that it cannot be solved." in said
    assert "13 15" not in [e[1]["search_state"] for e in trace if e[0] is program.rate.predict]
    assert "10 13 13" not in said  # rightly impossible: no fault


def test_a_hopeful_state_that_was_called_hopeless():
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if kind == "rate" and inputs["search_state"] == "6 9 13":
            return {"rating_reasoning": "", "thought_rating": "impossible"}
        return script(kind, inputs, n)

    program = solver()
    with dspy.context(lm=lm(engine(fn)), trace=[], search_traces=[]):
        prediction = program(numbers=PUZZLE)
        (kept,) = dspy.settings.search_traces
    assert not prediction.search.solved
    entries = [entry for request, found in kept.kept.items() for entry in found if entry[0] is program.rate.predict]
    said = gepa_metric()(GOLD, prediction, [], "rate.predict", [entries[-1]])
    assert said.score == 0.0
    assert "`6 9 13` was wrongly called hopeless: code says that it can be solved." in said.feedback


def test_a_metric_that_refuses_takes_its_good_name_from_the_path():
    class Blind(Game24):
        def solvable(self, state: Any) -> None:
            return None

    program = TreeOfThoughts(task=Blind(), controller=DFS(), concurrency=1)
    prediction, trace = traced(program, engine(), numbers=PUZZLE)
    good = asked(program, prediction, trace, "propose.predict", "4 6", metric=solved).feedback
    assert "`6 * 4 = 24`: good (it solves the problem)." in good
    bad = asked(program, prediction, trace, "propose.predict", "6 9 13", metric=lambda e, p, trace=None: 0).feedback
    assert "`13 - 9 = 4`: nobody knows where this leads." in bad
    fine = asked(program, prediction, trace, "propose.predict", "6 9 13", metric=solved).feedback
    assert "`13 - 9 = 4`: good (a solution follows)." in fine


def test_actions_judges_and_lessons():
    program = LATS(env=Runner(), controller=MCTS(rollouts=2, branching=2), concurrency=1)
    with dspy.context(lm=lm(Engine(actor)), trace=[], search_traces=[]):
        prediction = program(task="t")
        (kept,) = dspy.settings.search_traces
    gold = dspy.Example(task="t").with_inputs("task")

    def said(predictor: Any) -> list[str]:
        entries = [entry for found in kept.kept.values() for entry in found if entry[0] is predictor]
        return [gepa_metric()(gold, prediction, [], "x", [entry]).feedback for entry in entries]

    actions = said(program.propose.predict)
    assert "`bad1`: a dead end (it was tried, and judged wrong)." in actions[0]
    assert "`good`: good (a solution follows)." in actions[-1]
    assert "was rightly called hopeless: it was tried, and judged wrong." in said(program.rate.predict)[0]
    assert "A step that a solution follows was found with this lesson." in said(program.reflect.predict)[0]


def test_a_search_inside_a_pipeline_is_told_of_too():
    class Pipeline(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.solve = solver()

        def forward(self, numbers: str) -> Any:
            return dspy.Prediction(said=f"It is {self.solve(numbers=numbers).answer}.")

    program = Pipeline()
    prediction, trace = traced(program, engine(), numbers=PUZZLE)
    (entry,) = [e for e in trace if e[1]["search_state"] == "4 6" and e[0] is program.solve.propose.predict]
    refused = gepa_metric(lambda e, p, trace=None: 0.0)
    said = refused(GOLD, prediction, trace, "solve.propose.predict", [entry])
    assert said.score == 0.0
    # The pipeline is wrong; of the search inside, code knows that it was right.
    assert "`6 * 4 = 24`: good (it solves the problem)." in said.feedback


def test_a_call_of_no_search_has_the_runs_own_feedback():
    predictor = dspy.Predict("a -> b")
    prediction = dspy.Prediction(b="1")
    said = gepa_metric(lambda e, p, trace=None: 0.5)(dspy.Example(), prediction, [], "x", [(predictor, {}, prediction)])
    assert (said.score, said.feedback) == (0.5, "The score of the whole run is 0.5.")


def test_on_a_roles_own_examples_it_judges_the_reply():
    program = solver()
    with dspy.context(lm=lm(engine())):
        sets = role_examples(program(numbers=PUZZLE), program)
    example = next(e for e in sets["rate"] if e.search_state == "4 6")
    said = gepa_metric(solved)(example, dspy.Prediction(thought_rating="impossible"))
    assert said.score == 0.0
    assert said.feedback == "`4 6` was wrongly called hopeless: a solution follows."


@pytest.mark.parametrize("copied", [False, True])
def test_credit_is_kept_by_the_prediction_and_left_out_of_copies_on_disk(copied: bool):
    import copy
    import pickle

    program = solver()
    prediction, trace = traced(program, engine(), numbers=PUZZLE)
    made = copy.deepcopy(trace[0][2]) if copied else trace[0][2]
    credit = credit_of(made)
    assert credit is not None
    assert credit.trace.result is not None
    assert credit.trace.result.tree is prediction.search.tree
    assert credit_of(pickle.loads(pickle.dumps(dspy.Prediction(made)))) is None
    assert credit_of(dspy.Prediction(a=1)) is None
