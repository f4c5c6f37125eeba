"""Evaluate: dspy.Evaluate's call shape; every example once, failures apart from scores, spending, stops."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
import signal
import subprocess
import sys
import threading
import time
import weakref
from types import SimpleNamespace

import dspy
import pytest
from dspy.utils.callback import BaseCallback

import thoughtree
from engines import Engine, lm
from patience import PATIENCE, until
from puzzle24 import PATH, PUZZLE, engine, script
from thoughtree import Beam, Evaluate, Game24, TreeOfThoughts, solved
from thoughtree.optimize import EvaluationInterrupted, EvaluationResult, EvaluationStopped
from thoughtree.search.protocol import Usage


def examples(n, **fields):
    return [dspy.Example(number=i, **fields).with_inputs("number") for i in range(n)]


def puzzles(n):
    return [dspy.Example(numbers=PUZZLE).with_inputs("numbers") for _ in range(n)]


def solver(**knobs):
    return TreeOfThoughts(task=Game24(), controller=Beam(width=2), **knobs)


class Says(dspy.Module):
    """Answers with `fn(number)`, without a model, and counts its runs."""

    def __init__(self, fn):
        super().__init__()
        self.fn, self.seen = fn, []

    def forward(self, number):
        self.seen.append(number)
        return dspy.Prediction(answer=self.fn(number))


def even(example, prediction, trace=None):
    return prediction.answer % 2 == 0


def quarter(example, prediction, trace=None):
    return 0.25


def asks(n=1, fields="number -> answer"):
    """A module that makes `n` calls."""

    class Asks(dspy.Module):
        def __init__(self):
            super().__init__()
            self.predict = dspy.Predict(fields)

        def forward(self, **inputs):
            return [self.predict(**inputs) for _ in range(n)][-1]

    return Asks()


def yes(kind, inputs, n):
    return {"answer": "yes"}


# -- the call shape of dspy.Evaluate


def test_score_is_in_percent_and_results_are_triples_in_the_dev_sets_order():
    devset = examples(7)
    result = Evaluate(devset=devset, metric=even, num_threads=3)(Says(lambda i: i))
    assert result.score == 57.14  # 4 of 7, two places, as dspy rounds
    assert [(e.number, p.answer, s) for e, p, s in result.results] == [(i, i, float(i % 2 == 0)) for i in range(7)]
    assert isinstance(result, dspy.evaluate.EvaluationResult)


def test_the_same_numbers_as_dspys():
    devset = examples(9)
    ours = Evaluate(devset=devset, metric=even, num_threads=2)(Says(lambda i: i))
    theirs = dspy.Evaluate(devset=devset, metric=even, num_threads=2)(Says(lambda i: i))
    assert ours.score == theirs.score
    assert [score for *_, score in ours.results] == [float(score) for *_, score in theirs.results]


def test_what_the_call_is_given_goes_before_the_constructors():
    evaluate = Evaluate(devset=examples(2), metric=even, num_threads=1)
    assert evaluate(Says(lambda i: 1)).score == 0.0
    assert evaluate(Says(lambda i: 1), metric=quarter, devset=examples(3)).score == 25.0


def test_a_function_is_a_program_too():
    result = Evaluate(devset=examples(2), metric=even)(lambda number: dspy.Prediction(answer=number))
    assert result.score == 50.0


def test_callbacks_hear_of_the_evaluation():
    heard = []

    class Ears(BaseCallback):
        def on_evaluate_start(self, call_id, instance, inputs):
            heard.append("start")

        def on_evaluate_end(self, call_id, outputs, exception=None):
            heard.append(outputs.score)

    with dspy.context(callbacks=[Ears()]):
        Evaluate(devset=examples(2), metric=even)(Says(lambda i: i))
    assert heard == ["start", 50.0]


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ({"devset": []}, ValueError, r"devset=\[\]: must hold at least one example"),
        ({"devset": [{"number": 1}]}, TypeError, r"devset\[0\] is a dict"),
        ({"devset": [dspy.Example(number=1)]}, ValueError, r"devset\[0\] does not say which fields are inputs"),
        ({"metric": None}, ValueError, "metric=None"),
        ({"metric": lambda only: 1}, TypeError, "takes 1 arguments"),
        ({"metric": lambda a, b, c, d, e, f: 1}, TypeError, "takes 6 arguments"),
        ({"num_threads": 0}, ValueError, "num_threads=0"),
        ({"max_errors": 0}, ValueError, "max_errors=0"),
        ({"failure_score": float("nan")}, ValueError, "failure_score=nan"),
        ({"save_as_csv": "nowhere/at/all.csv"}, ValueError, "save_as_csv='nowhere/at/all.csv'"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(settings, error, told):
    program = Says(lambda i: i)
    with pytest.raises(error, match=told):
        Evaluate(**{"devset": examples(2), "metric": even} | settings)(program)
    assert program.seen == []


def test_a_dev_set_may_be_an_iterator():
    evaluate = Evaluate(devset=iter(examples(2)), metric=even)
    assert [evaluate(Says(lambda i: i)).score for _ in range(2)] == [50.0, 50.0]


def test_it_needs_no_library_of_the_extra():
    code = (
        "import sys, thoughtree; thoughtree.Evaluate; thoughtree.load_examples; thoughtree.solved; "
        "import dspy; e = thoughtree.load_examples([{'q': 1}], inputs='q'); "
        "found = thoughtree.Evaluate(devset=e, metric=lambda a, b: 1)(lambda q: dspy.Prediction(a=1)); "
        "print([round(end, 1) for end in found.interval]); "
        "print({n.split('.')[0] for n in sys.modules} & {'datasets', 'optuna', 'pyarrow', 'pandas', 'scipy', 'plotly'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[20.7, 100.0]", "set()"]


def test_an_option_that_there_is_not_is_refused():
    with pytest.raises(TypeError, match="return_outputs"):
        Evaluate(devset=examples(1), metric=even, return_outputs=True)


# -- each example once


def test_a_slow_example_is_run_once(monkeypatch):
    """dspy.Evaluate submits what takes longer than 120 seconds again. Here its clock runs 1000 times as fast."""
    real = time.time
    monkeypatch.setattr("dspy.utils.parallelizer.time", SimpleNamespace(time=lambda: 1000 * real()))

    def slow(i):
        time.sleep(1.3)  # DSPy looks once a second
        return i

    def until_again(i):
        until(lambda: len(twice.seen) > 2)
        return i

    twice, once = Says(until_again), Says(slow)
    dspy.Evaluate(devset=examples(2), metric=even, num_threads=4)(twice)
    Evaluate(devset=examples(2), metric=even, num_threads=2)(once)
    assert sorted(once.seen) == [0, 1]
    assert len(twice.seen) > 2  # else this test could not fail


def test_at_most_num_threads_run_at_once_and_all_of_them_do():
    gathered, lock, now, peak = threading.Barrier(3, timeout=PATIENCE), threading.Lock(), [0], [0]

    def fn(i):
        with lock:
            now[0] += 1
            peak[0] = max(peak[0], now[0])
        gathered.wait()  # passes only with three at once
        with lock:
            now[0] -= 1
        return i

    result = Evaluate(devset=examples(9), metric=even, num_threads=3)(Says(fn))
    assert (result.errors, peak) == ([], [3])


def test_settings_of_the_caller_reach_the_workers_and_theirs_stay_inside():
    def fn(i):
        found = dspy.settings.get("flavour")
        return i if found == "vanilla" else -1

    with dspy.context(flavour="vanilla"):
        result = Evaluate(devset=examples(6), metric=lambda e, p: p.answer == e.number, num_threads=3)(Says(fn))
    assert result.score == 100.0
    assert dspy.settings.get("search_limit") is None


def test_many_examples_keep_their_order():
    result = Evaluate(devset=examples(3000), metric=even, num_threads=4)(Says(lambda i: i))
    assert result.score == 50.0
    assert [p.answer for _, p, _ in result.results] == list(range(3000))


# -- failures


def fails_on(*numbers):
    def fn(i):
        if i in numbers:
            raise KeyError(f"no answer for {i}")
        return i

    return fn


def test_a_failure_is_no_score_and_is_shown(caplog):
    result = Evaluate(devset=examples(5), metric=even, num_threads=2)(Says(fails_on(1, 3)))
    assert result.score == 100.0  # 0, 2 and 4
    assert [o.index for o in result.errors] == [1, 3]
    assert [(o.at, o.score) for o in result.errors] == [("program", None)] * 2
    assert "KeyError" in result.errors[0].error
    assert "no answer for 1" in result.errors[0].error
    assert [score for *_, score in result.results] == [1.0, None, 1.0, None, 1.0]
    assert "2 of 5 failed, left out of the score" in result.summary()
    assert "no answer for 3" in caplog.text


def test_a_failure_counts_as_failure_score_where_that_is_asked_for():
    result = Evaluate(devset=examples(5), metric=even, failure_score=0.0)(Says(fails_on(1, 3)))
    assert result.score == 60.0
    assert [score for *_, score in result.results] == [1.0, 0.0, 1.0, 0.0, 1.0]
    assert len(result.errors) == 2
    assert "counted as 0" in result.summary()


@pytest.mark.parametrize("said", [None, "0.7", float("nan"), float("inf"), [1], {"feedback": "no score"}])
def test_a_metric_that_gives_no_score_has_failed(said):
    metric = lambda example, prediction: said if example.number == 1 else 1  # noqa: E731
    result = Evaluate(devset=examples(3), metric=metric)(Says(lambda i: i))
    assert result.score == 100.0
    (failed,) = result.errors
    assert (failed.index, failed.at) == (1, "metric")
    assert failed.prediction.answer == 1  # what was paid for is kept


def test_a_metric_that_raises_has_failed():
    result = Evaluate(devset=examples(2), metric=lambda e, p: 1 / e.number)(Says(lambda i: i))
    assert result.score == 100.0
    assert result.errors[0].error.startswith("ZeroDivisionError: division by zero")


def test_failures_of_every_example_are_no_score():
    with pytest.raises(EvaluationStopped, match="every example failed, the first by KeyError") as stopped:
        Evaluate(devset=examples(2), metric=even)(Says(fails_on(0, 1)))
    assert stopped.value.result.score is None
    assert len(stopped.value.result.errors) == 2


def test_too_many_failures_stop_it_and_what_was_scored_is_kept():
    program = Says(fails_on(*range(5, 100)))
    with pytest.raises(EvaluationStopped, match=r"3 examples failed \(max_errors=3\)") as stopped:
        Evaluate(devset=examples(100), metric=even, num_threads=1, max_errors=3)(program)
    result = stopped.value.result
    assert [score for *_, score in result.results] == [1.0, 0.0, 1.0, 0.0, 1.0, None, None, None]
    assert (result.score, result.not_run) == (60.0, 92)
    assert len(program.seen) == 8


def test_dspys_own_ceiling_of_failures_holds():
    with dspy.context(max_errors=2), pytest.raises(EvaluationStopped, match="max_errors=2"):
        Evaluate(devset=examples(10), metric=even)(Says(fails_on(*range(10))))


@pytest.mark.parametrize("program", [solver(), asks(fields="numbers -> answer")])
def test_a_wrong_key_stops_it_at_once(program):
    def fn(*_):
        raise dspy.LMAuthError("the key is wrong", model="stub/model", provider="stub")

    with (
        dspy.context(lm=lm(Engine(fn))),
        pytest.raises(EvaluationStopped, match=r"no other example.*key is wrong") as s,
    ):
        Evaluate(devset=puzzles(50), metric=solved, num_threads=1)(program)
    assert len(s.value.result.errors) == 1


def test_tracebacks_are_kept_and_logged_where_they_are_asked_for(caplog):
    assert Evaluate(devset=examples(2), metric=even)(Says(fails_on(0))).errors[0].details is None
    assert "Traceback" not in caplog.text
    result = Evaluate(devset=examples(2), metric=even, provide_traceback=True)(Says(fails_on(0)))
    assert "in fn\n" in result.errors[0].details
    assert f"example 0: the program failed\n{result.errors[0].details}" in caplog.text


def test_no_key_reaches_an_error(monkeypatch, caplog):
    monkeypatch.setenv("OTHER_API_KEY", "planted-secret-1")

    def leaks(i):
        raise ValueError("sk-abcdefghijklmnop and planted-secret-1")

    with pytest.raises(EvaluationStopped) as stopped:
        Evaluate(devset=examples(1), metric=even, provide_traceback=True)(Says(leaks))
    (failed,) = stopped.value.result.errors
    told = f"{stopped.value} {failed.error} {failed.details} {caplog.text}"
    assert "sk-abc" not in told
    assert "planted-secret" not in told


def test_a_search_whose_calls_all_failed_is_a_failure_and_one_that_found_nothing_is_a_low_score():
    def down(kind, inputs, n):
        raise ValueError("the engine is down")

    nothing = {"next_thoughts": "give up", "rating_reasoning": "none", "thought_rating": "impossible"}
    with dspy.context(lm=lm(engine(down))), pytest.raises(EvaluationStopped, match="engine is down"):
        Evaluate(devset=puzzles(2), metric=solved)(solver(retries=0))
    with dspy.context(lm=lm(engine(lambda *_: nothing))):
        result = Evaluate(devset=puzzles(2), metric=solved)(solver())
    assert (result.score, result.errors) == (0.0, [])


def test_a_search_that_raises_when_it_finds_nothing_has_a_score():
    nothing = {"next_thoughts": "give up", "rating_reasoning": "none", "thought_rating": "impossible"}
    with dspy.context(lm=lm(engine(lambda *_: nothing))):
        result = Evaluate(devset=puzzles(2), metric=solved)(solver(on_failure="raise"))
    assert (result.score, result.errors) == (0.0, [])
    assert all(prediction.answer is None for _, prediction, _ in result.results)


# -- limits around it


@pytest.mark.parametrize("threads", [1, 4])
def test_an_example_that_a_limit_cut_short_is_not_scored(threads):
    """A search of 12 calls; 30 calls are two whole ones. The third found nothing, and that is the limit's doing."""
    model = engine()
    with dspy.context(lm=lm(model)), thoughtree.limit(calls=30), pytest.raises(EvaluationStopped) as stopped:
        Evaluate(devset=puzzles(9), metric=solved, num_threads=threads)(solver())
    assert "a limit around the evaluation was reached" in str(stopped.value)
    result = stopped.value.result
    assert all(outcome.score == 1.0 for outcome in result.outcomes)
    assert model.count() == 30
    assert len(result.outcomes) + result.not_run == 9
    if threads == 1:
        assert (result.score, result.not_run) == (100.0, 7)


@pytest.mark.parametrize("driver", ["threads", "asyncio"])
def test_what_hangs_as_the_time_of_a_limit_is_up_is_left_to_itself(driver, tmp_path):
    """A retriever, a tool: no search, whose calls would end with it, and no call at all."""
    release, path = threading.Event(), tmp_path / "kept.json"

    class Hangs(dspy.Module):
        def forward(self, number):
            if number == 1:
                release.wait(PATIENCE)
            return dspy.Prediction(answer=number)

    evaluate = Evaluate(devset=examples(3), metric=lambda e, p: 1, num_threads=3, save_as_json=path)
    try:
        with thoughtree.limit(seconds=1), pytest.raises(EvaluationStopped, match="its time is over; 2 of 3") as stopped:
            asyncio.run(evaluate.acall(Hangs())) if driver == "asyncio" else evaluate(Hangs())
        assert not release.is_set()
    finally:
        release.set()
    assert sorted(outcome.index for outcome in stopped.value.result.outcomes) == [0, 2]
    assert path.read_text().count("answer") == 2


def test_a_limit_holds_for_programs_that_are_no_search_and_may_be_used_up_exactly():
    model = Engine(yes)
    evaluate = Evaluate(devset=examples(4), metric=lambda e, p: p.answer == "yes", num_threads=2)
    with dspy.context(lm=lm(model)), thoughtree.limit(calls=8):
        assert evaluate(asks(2)).score == 100.0
        with pytest.raises(EvaluationStopped):
            evaluate(asks())
    assert model.count() == 8


# -- what it cost


def test_spending_of_a_search_is_its_own_meters():
    model = engine(tokens=(30, 12))
    with dspy.context(lm=lm(model)):
        result = Evaluate(devset=puzzles(3), metric=solved, num_threads=2)(solver())
    assert [o.spent.calls for o in result.outcomes] == [12, 12, 12]
    assert (result.spent.calls, result.spent.tokens) == (36, 36 * 42)
    assert [result.per_example(what) for what in ("calls", "tokens")] == [12.0, 504.0]
    assert result.per_example("cost") is None  # of this stub nobody knows a price
    assert result.unpriced == 36


def test_dollars_where_prices_are_known():
    model = engine(tokens=(1000, 500))
    with dspy.context(lm=lm(model)):
        program = solver(prices={"stub/model": (2.0, 8.0)})  # 0.006 dollars a call
        result = Evaluate(devset=puzzles(2), metric=solved)(program)
    assert result.per_example("cost") == pytest.approx(12 * 0.006)
    assert result.unpriced == 0


@pytest.mark.parametrize("bound", [False, True])
def test_spending_of_other_programs_is_metered_too(bound):
    model = lm(engine := Engine(yes, tokens=(3, 4)))
    program = asks(2)
    if bound:  # an LM of its own, which no gate stands before
        program.set_lm(model)
    with dspy.context(lm=None if bound else model):
        result = Evaluate(devset=examples(5), metric=lambda e, p: True)(program)
    assert engine.count() == 10
    assert [o.spent.calls for o in result.outcomes] == [2] * 5
    assert result.spent.tokens == 10 * 7


def test_spending_of_a_pipeline_holds_that_of_the_search_inside():
    class Pipeline(dspy.Module):
        def __init__(self):
            super().__init__()
            self.solve, self.tell = solver(), dspy.Predict("expression -> answer")

        def forward(self, numbers):
            return self.tell(expression=self.solve(numbers=numbers).answer)

    def fn(kind, inputs, n):
        return {"answer": "so"} if kind == ("answer",) else script(kind, inputs, n)

    with dspy.context(lm=lm(engine(fn))):
        result = Evaluate(devset=puzzles(3), metric=lambda e, p: p.answer == "so", num_threads=2)(Pipeline())
    assert result.score == 100.0
    assert [o.spent.calls for o in result.outcomes] == [13] * 3


def test_what_a_judging_metric_spends_is_counted_apart():
    class Judge(dspy.Module):
        def __init__(self):
            super().__init__()
            self.judge = dspy.Predict("said -> good: bool")

        def forward(self, example, prediction, trace=None):
            return self.judge(said=str(prediction.answer)).good

    def fn(kind, inputs, n):
        return {"good": "True"} if kind == ("good",) else yes(kind, inputs, n)

    with dspy.context(lm=lm(Engine(fn))):
        result = Evaluate(devset=examples(3), metric=Judge())(asks(2))
    assert result.score == 100.0
    assert (result.spent.calls, result.judged.calls) == (6, 3)


def test_a_failed_example_has_spent_too():
    class Breaks(dspy.Module):
        def __init__(self):
            super().__init__()
            self.predict = dspy.Predict("number -> answer")

        def forward(self, number):
            self.predict(number=number)
            raise ValueError("after a call")

    with dspy.context(lm=lm(Engine(yes))):
        result = Evaluate(devset=examples(2), metric=even, failure_score=0.0)(Breaks())
    assert [o.spent for o in result.errors] == [Usage(1, 2, 0.0, o.spent.seconds) for o in result.errors]


def test_an_lms_own_retries_stay_on():
    def fn(kind, inputs, n):
        if n == 1:
            raise dspy.LMRateLimitError("slow down", model="stub/model", provider="stub", retry_after=0.01)
        return {"answer": "yes"}

    model = Engine(fn)
    with dspy.context(lm=lm(model, num_retries=2)):
        result = Evaluate(devset=examples(1), metric=lambda e, p: p.answer == "yes")(asks())
    assert (result.score, model.count()) == (100.0, 2)


@pytest.mark.parametrize("bound", [False, True])
def test_neither_history_nor_trace_grows(bound):
    model, program = lm(Engine(yes)), asks()
    if bound:
        program.set_lm(model)
    held = len(dspy.settings.trace)
    with dspy.context(lm=model):
        Evaluate(devset=examples(8), metric=lambda e, p: True)(program)
        assert (model.history, program.history, program.predict.history) == ([], [], [])
        assert len(dspy.settings.trace) == held
        Evaluate(devset=examples(8), metric=lambda e, p: True, history=True)(program)
    assert len(program.history) == 8


# -- async


class Later(dspy.Module):
    """Has an asynchronous form only."""

    def __init__(self):
        super().__init__()
        self.now = self.peak = 0

    async def aforward(self, number):
        self.now += 1
        self.peak = max(self.peak, self.now)
        await asyncio.sleep(0.01)
        self.now -= 1
        return dspy.Prediction(answer=number)


def test_a_module_that_is_only_async_is_evaluated():
    program = Later()
    result = Evaluate(devset=examples(6), metric=even, num_threads=3)(program)
    assert (result.score, program.peak) == (50.0, 3)


def test_acall_runs_on_the_running_loop_and_awaits_an_async_metric():
    async def metric(example, prediction, trace=None):
        await asyncio.sleep(0)
        return prediction.search.path == PATH

    async def main():
        return await Evaluate(devset=puzzles(5), metric=metric, num_threads=2).acall(solver())

    with dspy.context(lm=lm(engine())):
        result = asyncio.run(main())
    assert (result.score, result.spent.calls) == (100.0, 60)


def test_an_async_metric_in_threads_is_told_how():
    async def metric(example, prediction):
        return 1

    with pytest.raises(EvaluationStopped, match=r"metric metric is async: evaluate with `await evaluate.acall"):
        Evaluate(devset=examples(1), metric=metric)(Says(lambda i: i))


def test_acall_runs_programs_that_are_only_sync_in_threads():
    gathered = threading.Barrier(3, timeout=PATIENCE)

    def fn(number):
        gathered.wait()  # passes only with three at once
        return dspy.Prediction(answer=number)

    async def other(number):
        return dspy.Prediction(answer=number)

    async def main():
        evaluate = Evaluate(devset=examples(6), metric=even, num_threads=3)
        return [await evaluate.acall(program) for program in (fn, Says(lambda i: fn(i).answer), other)]

    assert [result.score for result in asyncio.run(main())] == [50.0] * 3


def test_a_module_that_is_only_async_is_not_run_inside_a_loop_without_await():
    async def main():
        Evaluate(devset=examples(1), metric=even)(Later())

    with pytest.raises(RuntimeError, match=r"Later has only an aforward.*await evaluate\.acall\(program\)"):
        asyncio.run(main())


def test_one_at_a_time_is_in_the_callers_own_thread():
    seen = Evaluate(devset=examples(2), metric=lambda e, p: p.answer, num_threads=1)(
        Says(lambda i: threading.current_thread() is threading.main_thread())
    )
    assert seen.score == 100.0


def test_cancelling_it_cancels_what_is_in_flight():
    begun, ended = [], []

    class Hangs(dspy.Module):
        async def aforward(self, number):
            begun.append(number)
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(number)

    async def main():
        task = asyncio.create_task(Evaluate(devset=examples(9), metric=even, num_threads=2).acall(Hangs()))
        while len(begun) < 2:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert sorted(begun) == sorted(ended) == [0, 1]


def test_an_inner_cancellation_is_that_examples_failure():
    class Inner(dspy.Module):
        async def aforward(self, number):
            if number == 1:
                raise asyncio.CancelledError
            return dspy.Prediction(answer=number)

    result = Evaluate(devset=examples(3), metric=even)(Inner())
    assert (result.score, [o.index for o in result.errors]) == (100.0, [1])


# -- Ctrl-C


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_keeps_what_is_there_and_stops_the_rest(tmp_path, threads):
    """The last example to begin sends the signal, and then hangs. Of two threads the other one hangs from the start."""
    release, program, path = threading.Event(), Says(lambda i: hang(i)), tmp_path / "kept.json"
    other = threading.Event()  # hangs

    def hang(i):
        if i == threads:
            assert threads == 1 or other.wait(PATIENCE)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            release.wait(PATIENCE)
        if i == threads - 2:
            other.set()
            release.wait(PATIENCE)
        return i

    try:
        with pytest.raises(EvaluationInterrupted, match="1 of 9 examples were scored") as interrupted:
            Evaluate(devset=examples(9), metric=lambda e, p: 1, num_threads=threads, save_as_json=path)(program)
    finally:
        release.set()
    assert isinstance(interrupted.value, KeyboardInterrupt)
    assert [o.index for o in interrupted.value.result.outcomes] == [threads - 1]
    assert path.read_text().count("answer") == 1
    assert sorted(program.seen) == list(range(threads + 1))


# -- results


def test_two_programs_are_compared_example_by_example():
    evaluate = Evaluate(devset=examples(20), metric=lambda e, p: p.answer, max_errors=99)
    first = evaluate(Says(lambda i: i < 15))
    second = evaluate(Says(lambda i: 3 <= i < 8))
    found = first.against(second)
    assert (found.n, found.difference) == (20, 50.0)
    assert (found.wins, found.losses, found.ties) == (10, 0, 10)
    assert found.p_value == pytest.approx(2 / 2**10)
    assert found.clear
    assert found.summary().startswith("+50.0 points [+30.0, +70.0] on 20 examples: 10 better, 0 worse, 10 alike")


def test_only_examples_that_both_were_scored_on_are_compared():
    evaluate = Evaluate(devset=examples(6), metric=even)
    found = evaluate(Says(fails_on(0))).against(evaluate(Says(fails_on(1))))
    assert (found.n, found.left_out, found.difference) == (4, 2, 0.0)
    assert not found.clear


def test_results_on_other_examples_are_not_compared():
    first = Evaluate(devset=examples(3), metric=even)(Says(lambda i: i))
    second = Evaluate(devset=examples(3, more=1), metric=even)(Says(lambda i: i))
    with pytest.raises(ValueError, match="example 0 is not the same in both"):
        first.against(second)


def test_a_result_is_copied_and_pickled_whole():
    result = Evaluate(devset=examples(3), metric=quarter)(asks_nothing)
    for again in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert isinstance(again, EvaluationResult)
        assert (again.score, again.spent, len(again.outcomes)) == (25.0, result.spent, 3)


def asks_nothing(number):
    return dspy.Prediction(answer=number)


def test_the_interval_goes_with_the_scores():
    result = Evaluate(devset=examples(70), metric=lambda e, p: p.answer)(Says(lambda i: i < 48))
    assert result.interval == pytest.approx((56.97, 78.24), abs=0.005)  # Wilson, 48 of 70
    assert result.interval_at(0.9) == pytest.approx((58.90, 76.86), abs=0.005)
    graded = Evaluate(devset=examples(4), metric=quarter)(Says(lambda i: i))
    assert graded.interval == (25.0, 25.0)


def test_nothing_of_an_evaluation_stays_behind():
    program = Says(lambda i: i)
    threads = set(threading.enumerate())
    result = Evaluate(devset=examples(20), metric=even, num_threads=4)(program)
    gone = weakref.ref(result)
    del result
    gc.collect()
    for thread in threading.enumerate():
        if thread.name.startswith("thoughtree-evaluate"):
            thread.join(PATIENCE)
    assert (gone(), set(threading.enumerate()) - threads) == (None, set())


def test_a_metric_from_0_to_100_is_told_in_its_own_unit_and_scored_as_dspy_scores_it():
    devset = examples(4)

    def marks(example, prediction, trace=None):
        return 10 * prediction.answer + 40

    found = Evaluate(devset=devset, metric=marks, num_threads=1)(Says(lambda number: number))
    theirs = dspy.Evaluate(devset=devset, metric=marks, num_threads=1, display_progress=False)(Says(lambda n: n))
    assert found.score == theirs.score == 5500.0
    assert (found.mean, found.share) == (55.0, False)
    assert found.summary().startswith("marks: 55 [")
    assert "%" not in found.summary()
    worse = Evaluate(devset=devset, metric=marks, num_threads=1)(Says(lambda number: 0))
    assert found.against(worse).difference == 15.0
    assert found.against(worse).summary().startswith("+15 [")


def test_a_pipeline_that_hands_on_what_one_search_found_has_spent_what_all_of_them_have():
    class Both(dspy.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = solver(), solver()

        def forward(self, numbers):
            self.first(numbers=numbers)
            return self.second(numbers=numbers)

    model = engine()
    with dspy.context(lm=lm(model)):
        result = Evaluate(devset=puzzles(2), metric=solved, num_threads=1)(Both())
    assert (result.score, result.spent.calls) == (100.0, model.count())
    assert result.spent.calls == 2 * 2 * 12
