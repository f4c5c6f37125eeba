"""A program inside DSPy: evaluation, parallel runs, callbacks, usage, LMs per role, tools, other modules."""

from __future__ import annotations

import copy
import json
import pickle
import time
from types import SimpleNamespace

import dspy
import pytest
from dspy.utils.callback import BaseCallback

from engines import lm
from patience import until
from puzzle24 import PATH, PUZZLE, call, drivers, engine, script
from thoughtree import Beam, Game24, SearchPrediction, SearchStatus, TreeOfThoughts

SOLVABLE = [dspy.Example(numbers=PUZZLE, answer="").with_inputs("numbers") for _ in range(6)]


def solver(**knobs):
    return TreeOfThoughts(task=Game24(), controller=Beam(width=2), **knobs)


def solved(example, prediction, trace=None):
    return prediction.search.solved


def test_evaluate_runs_it_and_saves_the_results(tmp_path):
    path = tmp_path / "results.json"
    with dspy.context(lm=lm(engine())):
        evaluate = dspy.Evaluate(devset=SOLVABLE, metric=solved, num_threads=4, save_as_json=str(path))
        result = evaluate(solver())
    assert result.score == 100.0
    assert len(result.results) == 6
    assert all(prediction.search.path == PATH for _, prediction, _ in result.results)
    assert json.loads(path.read_text())[0]["reasoning"] == "\n".join(PATH)


def test_parallel_and_batch_run_it():
    program = solver()
    model = engine()
    with dspy.context(lm=lm(model)):
        pairs = [(program, example) for example in SOLVABLE]
        found = dspy.Parallel(num_threads=3, disable_progress_bar=True)(pairs)
        batched = program.batch(SOLVABLE, num_threads=3, disable_progress_bar=True)
    assert [p.search.path for p in [*found, *batched]] == [PATH] * 12
    assert model.count("propose") == 12 * 5
    assert sum(p.search.spent.calls for p in [*found, *batched]) == model.count()


def test_a_slow_example_of_a_batch_is_run_once(monkeypatch):
    """DSPy's batches submit what takes longer than 120 seconds a second time, in a search as costly as the first."""
    real = time.time
    monkeypatch.setattr("dspy.utils.parallelizer.time", SimpleNamespace(time=lambda: 1000 * real()))
    counts = {}

    def slow(n):
        if n <= 2:
            time.sleep(1.2)  # DSPy looks once a second
            until(lambda: knobs == {} or model.count("propose") > 2 * 5)
        return 0.0

    for name, knobs in (("ours", {}), ("DSPy's", {"timeout": 120})):
        model = engine(delay=slow)
        with dspy.context(lm=lm(model)):
            solver().batch(SOLVABLE[:2], num_threads=4, disable_progress_bar=True, **knobs)
        counts[name] = model.count("propose")
    assert counts["ours"] == 2 * 5
    assert counts["DSPy's"] > 2 * 5


@drivers
def test_the_prediction_is_a_plain_one_outside(driver):
    found = call(solver(), engine(), driver, numbers=PUZZLE)
    assert isinstance(found, dspy.Prediction)
    assert isinstance(found, SearchPrediction)
    assert list(found.keys()) == ["reasoning", "answer"]
    assert dict(**found) == {"reasoning": "\n".join(PATH), "answer": found.answer}
    assert json.loads(json.dumps(found.toDict()))["answer"] == found.answer
    assert "search" not in str(found)
    for other in (copy.deepcopy(found), pickle.loads(pickle.dumps(found)), found.copy()):
        assert other.answer == found.answer
        assert other.search.path == PATH
        assert other.search.status is SearchStatus.SOLVED
    assert found.copy(answer="x").answer == "x"
    assert dspy.Prediction(**found).answer == found.answer
    with pytest.raises(AttributeError, match="carries no search"):
        _ = SearchPrediction(answer="x").search


class Spans(BaseCallback):
    """Each start and end, by the kind of thing and its class."""

    def __init__(self):
        self.open, self.closed, self.failed = {}, [], []

    def on_module_start(self, call_id, instance, inputs):
        self.open[call_id] = type(instance).__name__

    def on_module_end(self, call_id, outputs, exception=None):
        (self.failed if exception else self.closed).append(self.open.pop(call_id))

    def on_lm_start(self, call_id, instance, inputs):
        self.open[call_id] = "LM"

    def on_lm_end(self, call_id, outputs, exception=None):
        (self.failed if exception else self.closed).append(self.open.pop(call_id))


@drivers
def test_callbacks_see_each_call_start_and_end(driver):
    spans = Spans()
    with dspy.context(callbacks=[spans]):
        found = call(solver(), engine(), driver, numbers=PUZZLE)
    calls = found.search.spent.calls
    assert spans.open == {}
    assert spans.failed == []
    asked = [kind for kind in ("Propose", "Rate") for _ in range(found.search.spent_by[kind.lower()].calls)]
    assert sorted(spans.closed) == sorted([*["LM", "Predict"] * calls, *asked, "TreeOfThoughts"])


@drivers
@pytest.mark.parametrize("disable_history", [False, True])
def test_usage_is_what_the_engine_counted(driver, disable_history):
    model = engine(tokens=(30, 12))
    with dspy.context(track_usage=True, disable_history=disable_history):
        found = call(solver(), model, driver, numbers=PUZZLE)
    (usage,) = found.get_lm_usage().values()
    assert usage["prompt_tokens"] == 30 * model.count()
    assert usage["completion_tokens"] == 12 * model.count()
    assert found.search.spent.tokens == 42 * model.count()
    assert found.search.spent.calls == model.count()


@drivers
def test_usage_is_counted_where_branches_fail(driver):
    def fn(kind, inputs, n):
        if kind == "rate" and inputs["search_state"] == "13 15":
            raise ValueError("no such luck")
        return script(kind, inputs, n)

    model = engine(fn, tokens=(30, 12))
    with dspy.context(track_usage=True):
        found = call(solver(retries=0), model, driver, numbers=PUZZLE)
    replies = model.count() - 1
    assert found.search.spent.tokens == 42 * replies
    assert found.search.spent.calls == model.count()
    (usage,) = found.get_lm_usage().values()
    assert usage["total_tokens"] == 42 * replies


@drivers
def test_history_is_untouched_unless_asked_for(driver):
    program = solver()
    quiet, loud = lm(engine()), lm(engine())
    call(program, quiet, driver, numbers=PUZZLE)
    assert (quiet.history, program.history, program.rate.predict.history) == ([], [], [])
    found = call(program, loud, driver, numbers=PUZZLE, config={"history": True})
    assert len(loud.history) == found.search.spent.calls
    assert len(program.history) == found.search.spent.calls
