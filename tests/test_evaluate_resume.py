"""Evaluate(resume=folder): a killed evaluation goes on without paying again, and refuses to go on as another."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import dspy
import pytest

from engines import Engine, lm
from patience import PATIENCE, until
from puzzle24 import PUZZLE, engine, script
from thoughtree import Beam, BestFirst, Evaluate, Game24, Solved, TreeOfThoughts, limit, solved
from thoughtree.optimize import EvaluationStopped, LogError


def puzzles(n):
    return [dspy.Example(numbers=PUZZLE).with_inputs("numbers") for _ in range(n)]


def numbers(n):
    return [dspy.Example(number=i, answer="yes").with_inputs("number") for i in range(n)]


def solver(**knobs):
    return TreeOfThoughts(task=Game24(), **{"controller": Beam(width=2)} | knobs)


def right(example, prediction, trace=None):
    return prediction.answer == example.answer


def yes(*_):
    return {"answer": "yes"}


def kept(folder):
    lines = (folder / "finished.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines[1:]]


def test_what_is_finished_is_not_paid_again_and_the_result_is_the_same(tmp_path):
    model, folder = engine(tokens=(3, 4)), tmp_path / "run"
    evaluate = Evaluate(devset=puzzles(4), metric=solved, num_threads=2, resume=folder)
    with dspy.context(lm=lm(model)):
        first = evaluate(solver())
        paid = model.count()
        again = evaluate(solver())
    assert model.count() == paid == 48
    assert (again.score, again.spent, again.interval) == (first.score, first.spent, first.interval)
    assert [o.seconds for o in again.outcomes] == [o.seconds for o in first.outcomes]
    assert all(o.resumed for o in again.outcomes)
    assert [p.answer for _, p, _ in again.results] == [p.answer for _, p, _ in first.results]
    assert "4 examples read from an earlier run" in again.summary()


def test_half_done_searches_go_on_from_their_journals(tmp_path):
    """Of 9 searches at 12 calls, 30 calls made two whole ones and half of a third."""
    model = engine()
    evaluate = Evaluate(devset=puzzles(9), metric=solved, num_threads=1, resume=tmp_path)
    with dspy.context(lm=lm(model)):
        with limit(calls=30), pytest.raises(EvaluationStopped):
            evaluate(solver())
        assert len(kept(tmp_path)) == 2
        result = evaluate(solver())
    assert model.count() == 9 * 12
    assert result.score == 100.0
    assert [o.spent.calls for o in result.outcomes] == [12] * 9  # of the whole search, whenever they were made


def test_a_failed_example_is_run_again(tmp_path):
    failing = [True]

    def fn(kind, inputs, n):
        if failing[0] and inputs["number"] == "1":
            raise ValueError("down")
        return yes()

    model = Engine(fn)
    evaluate = Evaluate(devset=numbers(3), metric=right, resume=tmp_path)
    with dspy.context(lm=lm(model)):
        first = evaluate(dspy.Predict("number -> answer"))
        failing[0] = False
        calls = model.count()
        second = evaluate(dspy.Predict("number -> answer"))
    assert ([o.index for o in first.errors], second.errors) == ([1], [])
    assert model.count() == calls + 1
    assert [o.resumed for o in second.outcomes] == [True, False, True]


def test_equal_examples_are_kept_apart(tmp_path):
    model = Engine(lambda kind, inputs, n: {"answer": "yes" if n == 1 else "no"})
    evaluate = Evaluate(devset=[numbers(1)[0]] * 3, metric=right, num_threads=1, resume=tmp_path)
    with dspy.context(lm=lm(model)):
        assert evaluate(dspy.Predict("number -> answer")).score == 33.33
        assert evaluate(dspy.Predict("number -> answer")).score == 33.33
    assert model.count() == 3


def test_an_example_that_has_no_words_has_a_key(tmp_path):
    loop: list = []
    loop.append(loop)
    devset = [dspy.Example(number=i, answer="yes", note=loop).with_inputs("number") for i in range(2)]
    evaluate = Evaluate(devset=devset, metric=right, resume=tmp_path)
    with dspy.context(lm=lm(Engine(yes))):
        evaluate(dspy.Predict("number -> answer"))
        assert [o.resumed for o in evaluate(dspy.Predict("number -> answer")).outcomes] == [True, True]


def test_by_acall_too(tmp_path):
    model = Engine(yes)
    evaluate = Evaluate(devset=numbers(3), metric=right, resume=tmp_path)

    async def main():
        return [await evaluate.acall(dspy.Predict("number -> answer")) for _ in range(2)]

    with dspy.context(lm=lm(model)):
        results = asyncio.run(main())
    assert [r.score for r in results] == [100.0, 100.0]
    assert model.count() == 3


@pytest.mark.parametrize("cut", [1, 25])
def test_a_torn_last_line_is_written_again(tmp_path, cut):
    model, path = Engine(yes), tmp_path / "finished.jsonl"
    evaluate = Evaluate(devset=numbers(3), metric=right, num_threads=1, resume=tmp_path)
    with dspy.context(lm=lm(model)):
        evaluate(dspy.Predict("number -> answer"))
        path.write_bytes(path.read_bytes()[:-cut])
        assert evaluate(dspy.Predict("number -> answer")).score == 100.0
    assert model.count() == 3  # its reply is kept as well
    assert len(kept(tmp_path)) == 3


@pytest.mark.parametrize("bad", ["{", "[1]", '{"key": "x"}', '{"key": "x", "score": "high"}', "\x00"])
def test_a_damaged_line_is_an_error_that_names_it(tmp_path, bad):
    path = tmp_path / "finished.jsonl"
    evaluate = Evaluate(devset=numbers(2), metric=right, num_threads=1, resume=tmp_path)
    with dspy.context(lm=lm(Engine(yes))):
        evaluate(dspy.Predict("number -> answer"))
        lines = path.read_text().splitlines()
        path.write_text("\n".join([lines[0], bad, *lines[2:]]) + "\n")
        with pytest.raises(LogError, match=r"finished\.jsonl, line 2"):
            evaluate(dspy.Predict("number -> answer"))


@pytest.mark.parametrize("line", [1, 2])
def test_a_line_that_was_changed_is_found_out(tmp_path, line):
    path = tmp_path / "finished.jsonl"
    evaluate = Evaluate(devset=numbers(2), metric=right, resume=tmp_path)
    with dspy.context(lm=lm(Engine(yes))):
        evaluate(dspy.Predict("number -> answer"))
        lines = path.read_text().splitlines(keepends=True)
        changed = lines[line - 1].replace('"score": 1.0', '"score": 7.0').replace("stub/model", "stub/other")
        assert changed != lines[line - 1]
        path.write_text("".join([*lines[: line - 1], changed, *lines[line:]]))
        with pytest.raises(LogError, match=rf"line {line}: it was changed since it was written"):
            evaluate(dspy.Predict("number -> answer"))


@dataclass
class Close:
    """A metric with a knob."""

    within: int

    def __call__(self, example, prediction, trace=None):
        return True


def demo(program):
    program.demos = [dspy.Example(number=7, answer="yes")]
    return program


def warm(program):
    program.config["temperature"] = 0.9
    return program


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"program": solver()}, "program.kind"),
        ({"program": demo(dspy.Predict("number -> answer"))}, "program.self"),
        ({"program": warm(dspy.Predict("number -> answer"))}, "program.self"),
        ({"program": dspy.Predict("number -> answer", instructions="Be brief.")}, "program.self"),
        ({"metric": Close(2)}, "metric"),
        ({"metric": right}, "metric"),
        ({"metric": lambda example, prediction: 1}, "metric"),
        ({"devset": numbers(4)}, "devset.digest.*devset.examples: 3 there, 4 now"),
        ({"devset": [e.with_inputs("number", "answer") for e in numbers(3)]}, "devset.digest"),
        ({"model": "stub/other"}, "lm: .*stub/model.* there, .*stub/other.* now"),
    ],
)
def test_another_evaluation_is_refused_by_what_differs(tmp_path, change, told):
    given = {"program": dspy.Predict("number -> answer"), "metric": Close(1), "devset": numbers(3)} | change
    engine, program = Engine(yes), given.pop("program")
    with dspy.context(lm=lm(engine)):
        Evaluate(devset=numbers(3), metric=Close(1), resume=tmp_path)(dspy.Predict("number -> answer"))
    calls = engine.count()
    with (
        dspy.context(lm=lm(engine, given.pop("model", "stub/model"))),
        pytest.raises(LogError, match=rf"is of another evaluation \(.*{told}.*give this one a folder of its own"),
    ):
        Evaluate(**given, resume=tmp_path)(program)
    assert engine.count() == calls


def test_a_metric_that_was_changed_is_another(tmp_path):
    def run(metric):
        Evaluate(devset=numbers(1), metric=metric, resume=tmp_path)(dspy.Predict("number -> answer"))

    with dspy.context(lm=lm(Engine(yes))):
        run(lambda example, prediction: 1)
        run(lambda example, prediction: 1)  # on another line
        for metric in (lambda example, prediction: 0.5, lambda example, prediction: (lambda: 1)()):
            with pytest.raises(LogError, match=r"\(metric: "):
                run(metric)


def test_knobs_of_a_search_make_it_another(tmp_path):
    evaluate = Evaluate(devset=puzzles(1), metric=Solved(Game24()), resume=tmp_path)
    with dspy.context(lm=lm(engine())):
        evaluate(solver())
        for other in (solver(controller=BestFirst()), solver(seed=1), solver(samples=2)):
            with pytest.raises(LogError, match=r"program\.settings"):
                evaluate(other)


def test_a_program_is_the_same_in_another_process_whatever_lm_it_was_given(tmp_path):
    """An engine of the user's own cannot be saved, and is known by its address alone."""
    for _ in range(2):
        program = dspy.Predict("number -> answer")
        program.set_lm(lm(Engine(lambda kind, inputs, n: {"answer": "1"})))
        result = Evaluate(devset=numbers(2), metric=lambda example, prediction: 1, resume=tmp_path)(program)
        assert result.score == 100.0
    assert [outcome.resumed for outcome in result.outcomes] == [True, True]


def test_two_runs_do_not_share_a_folder(tmp_path):
    evaluate = Evaluate(devset=numbers(1), metric=right, resume=tmp_path)

    def inner(number):
        evaluate(inner)

    with pytest.raises(EvaluationStopped, match="another run is writing to it"):
        evaluate(inner)


def test_a_place_that_is_no_folder_is_refused(tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(LogError, match=r"resume='.*file'"):
        Evaluate(devset=numbers(1), metric=right, resume=str(path))(lambda number: None)


def test_no_key_is_in_the_folder(tmp_path):
    key = "planted-secret-2"
    program = dspy.Predict("number -> answer")
    program.other = dspy.Predict("question -> answer")  # which is not called here
    program.other.lm = dspy.LM("openai/gpt-4o-mini", api_key=key)

    def metric(example, prediction):
        return dspy.Prediction(score=1.0, feedback=f"the key was api_key={key}")

    with dspy.context(lm=lm(Engine(yes))):
        result = Evaluate(devset=numbers(2), metric=metric, resume=tmp_path)(program)
    assert result.score == 100.0
    assert "redacted" in result.outcomes[0].feedback
    assert [path for path in tmp_path.rglob("*") if path.is_file() and key in path.read_text()] == []


@pytest.mark.parametrize("search", [False, True])
def test_no_key_of_an_lm_is_in_what_a_metric_or_a_program_says(search, tmp_path):
    """However they know it, and whatever it looks like: it is a key by the LM's settings alone."""
    key = "planted4secret5"

    client = Engine(yes)
    client.access_token = key

    def leaks(example, prediction):
        if example.number == 1:
            return dspy.Prediction(score=1.0, feedback=f"asked with {key}")
        raise RuntimeError(f"asked with {key}")

    program = TreeOfThoughts("number -> answer", propose=lambda *_: ["a"], rate=lambda *_: [1.0], answer="path")
    if not search:
        program = dspy.Predict("number -> answer")
    with dspy.context(lm=lm(client)):
        result = Evaluate(devset=numbers(2), metric=leaks, resume=tmp_path)(program)
        with pytest.raises(EvaluationStopped) as stopped:
            Evaluate(devset=numbers(1), metric=leaks, provide_traceback=True)(program)
    assert (result.score, [o.at for o in result.outcomes]) == (100.0, ["metric", None])
    told = [result.outcomes[0].error, result.outcomes[1].feedback, str(stopped.value)]
    assert all("asked with [redacted]" in text for text in told)
    assert key not in stopped.value.result.outcomes[0].details
    assert [path for path in tmp_path.rglob("*") if path.is_file() and key in path.read_text()] == []


KILLED = """
    import sys, threading, time, os
    sys.path.insert(0, {tests!r})
    import dspy
    from engines import lm
    from puzzle24 import engine, script, PUZZLE
    from thoughtree import Beam, Evaluate, Game24, TreeOfThoughts, solved

    log, hangs = open({calls!r}, "a", buffering=1), int(sys.argv[1])

    def fn(kind, inputs, n):
        log.write(f"{{kind}}\\n")
        if n > hangs:
            threading.Event().wait()
        return script(kind, inputs, n)

    devset = [dspy.Example(numbers=PUZZLE).with_inputs("numbers") for _ in range(8)]
    program = TreeOfThoughts(task=Game24(), controller=Beam(width=2), concurrency=2)
    with dspy.context(lm=lm(engine(fn, 0.01))):
        result = Evaluate(devset=devset, metric=solved, num_threads=2, resume={folder!r})(program)
    print(result.score, result.spent.calls, [p.answer for _, p, _ in result.results] == ["(10 - 4) * (13 - 9)"] * 8)
"""


def test_killed_for_real_it_goes_on_and_repeats_only_what_was_in_flight(tmp_path):
    """An unbroken run makes 96 calls. Each kill may repeat the calls in flight: 2 searches of 2 each.

    Two runs are killed while their calls after the 20th hang, so that it is never too late for it.
    """
    calls, folder, kills = tmp_path / "calls", tmp_path / "run", 2
    source = textwrap.dedent(KILLED).format(tests=str(Path(__file__).parent), calls=str(calls), folder=str(folder))
    made = lambda: len(calls.read_text().splitlines()) if calls.exists() else 0  # noqa: E731
    for _ in range(kills):
        before = made()
        process = subprocess.Popen([sys.executable, "-c", source, "20"], stdout=subprocess.DEVNULL)
        until(lambda before=before: made() > before + 20)
        process.send_signal(signal.SIGKILL)
        assert process.wait(PATIENCE) == -signal.SIGKILL
    done = subprocess.run(
        [sys.executable, "-c", source, "1000"], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert done.stdout.split("\n")[-2] == "100.0 96 True"
    assert 96 <= made() <= 96 + 4 * kills


class Chain(dspy.Module):
    """Four calls, one after the other; `breaks` ends it after so many."""

    def __init__(self, breaks=None):
        super().__init__()
        self.step = dspy.Predict("number, before -> answer")
        self._breaks = breaks or {}

    def forward(self, number):
        said = []
        for i in range(4):
            if self._breaks.get(number) == i:
                raise KeyError("the machine went down")
            said.append(self.step(number=number, before=len(said)).answer)
        return dspy.Prediction(answer="yes", said=said)


@pytest.mark.parametrize("cache", [False, True])
def test_half_done_examples_of_any_program_go_on_from_their_replies(tmp_path, cache, cached):
    model = Engine(lambda kind, inputs, n: {"answer": f"reply {n}"})
    evaluate = Evaluate(devset=numbers(3), metric=right, num_threads=1, resume=tmp_path)
    breaks = {1: 3}
    with dspy.context(lm=lm(model, cache=cache)):
        first = evaluate(Chain(breaks))
        assert (len(first.errors), model.count()) == (1, 4 + 3 + 4)
        breaks.clear()
        second = evaluate(Chain(breaks))
    assert model.count() == 12
    assert second.results[1][1].said == ["reply 5", "reply 6", "reply 7", "reply 12"]
    assert second.outcomes[1].spent.calls == 4


class Pipeline(dspy.Module):
    """A search, and a call after it: 13 calls."""

    def __init__(self):
        super().__init__()
        self.solve, self.tell = solver(), dspy.Predict("expression -> answer")

    def forward(self, numbers):
        return self.tell(expression=self.solve(numbers=numbers).answer)


@pytest.mark.parametrize("cut", [5, 13, 20, 25])
def test_a_pipeline_with_a_search_inside_goes_on_where_a_limit_cut_it(tmp_path, cut):
    def fn(kind, inputs, n):
        return {"answer": "yes"} if kind == ("answer",) else script(kind, inputs, n)

    model = engine(fn)
    evaluate = Evaluate(devset=puzzles(3), metric=lambda e, p: p.answer == "yes", num_threads=1, resume=tmp_path)
    with dspy.context(lm=lm(model)):
        with limit(calls=cut), pytest.raises(EvaluationStopped, match="a limit around the evaluation"):
            evaluate(Pipeline())
        assert model.count() == cut
        result = evaluate(Pipeline())
    assert (result.score, model.count()) == (100.0, 3 * 13)
    assert [o.spent.calls for o in result.outcomes] == [13] * 3


class Own(Pipeline):
    """A pipeline whose parts have each an LM of their own, in each of the ways that there are."""

    def __init__(self, model):
        super().__init__()
        self.solve.set_lm(lm(model))
        self.tell.set_lm(lm(model, "stub/told"))
        self.lm = lm(model, "stub/other")

    def forward(self, numbers):
        found = super().forward(numbers)
        with dspy.context(lm=self.lm):
            return dspy.Predict("expression -> answer")(expression=found.answer)


@pytest.mark.parametrize("driver", ["sync", "async"])
@pytest.mark.parametrize("cut", [5, 12, 13, 20, 30])
def test_a_pipeline_with_lms_of_its_own_goes_on_too(tmp_path, cut, driver):
    """14 calls an example: 12 by the search, one by each of the two LMs after it."""

    def fn(kind, inputs, n):
        if n == limits[0]:
            raise KeyboardInterrupt
        return {"answer": "yes"} if kind == ("answer",) else script(kind, inputs, n)

    limits, model = [cut], engine(fn, tokens=(3, 4))
    evaluate = Evaluate(devset=puzzles(3), metric=lambda e, p: p.answer == "yes", num_threads=1, resume=tmp_path)
    program = Own(model)
    lms = [predictor.lm for predictor in program.predictors()]
    with pytest.raises(KeyboardInterrupt):
        evaluate(program)
    limits[0] = 0
    result = evaluate(program) if driver == "sync" else asyncio.run(evaluate.acall(program))
    assert (result.score, model.count()) == (100.0, 3 * 14 + 1)  # the one that was cut is asked again
    assert [(o.spent.calls, o.spent.tokens) for o in result.outcomes] == [(14, 14 * 7)] * 3
    assert [predictor.lm for predictor in program.predictors()] == lms


class Samples(dspy.Module):
    """Asks the same thing three times."""

    def __init__(self):
        super().__init__()
        self.predict = dspy.Predict("number -> answer")

    def forward(self, number):
        return dspy.Prediction(answer="yes", said=[self.predict(number=number).answer for _ in range(3)])


def test_samples_of_a_model_without_a_cache_stay_apart(tmp_path):
    model = Engine(lambda kind, inputs, n: {"answer": f"reply {n}"})
    evaluate = Evaluate(devset=[numbers(1)[0]] * 2, metric=right, num_threads=1, resume=tmp_path)
    with dspy.context(lm=lm(model)):
        result = evaluate(Samples())
        (tmp_path / "finished.jsonl").unlink()  # as if killed before the first example was whole
        again = evaluate(Samples())
    assert [p.said for _, p, _ in result.results] == [
        ["reply 1", "reply 2", "reply 3"],
        ["reply 4", "reply 5", "reply 6"],
    ]
    assert [p.said for _, p, _ in again.results] == [p.said for _, p, _ in result.results]
    assert model.count() == 6


def test_a_log_cut_at_any_byte_goes_on_to_the_same_result(tmp_path):
    """What was torn is run again, or read from its replies; nothing that is whole is lost, and no score is made up."""

    def once(folder):
        return Evaluate(devset=numbers(3), metric=right, num_threads=1, resume=folder)(dspy.Predict("number -> answer"))

    model, path = (
        Engine(lambda kind, inputs, n: {"answer": "no" if inputs["number"] == "1" else "yes"}),
        "finished.jsonl",
    )
    with dspy.context(lm=lm(model)):
        whole = once(tmp_path / "whole")
        content = (tmp_path / "whole" / path).read_bytes()
        for cut in range(0, len(content), 23):
            folder = tmp_path / str(cut)
            folder.mkdir()
            (folder / path).write_bytes(content[:cut])
            found = once(folder)
            assert (found.score, [s for *_, s in found.results]) == (66.67, [1.0, 0.0, 1.0])
            assert sum(o.resumed for o in found.outcomes) == max(0, content[:cut].count(b"\n") - 1)
    assert whole.score == 66.67
