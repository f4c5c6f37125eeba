"""`distill`: what a search found out, taught to one call. A tree is no teacher that dspy's optimizers accept."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from ..modules.header import digest, settled
from ..modules.parts import copy_of
from ..modules.program import Program
from ..search.whole_file import write_whole
from .chat import exchange
from .comparing_baselines import metric_for_all, question_of
from .demo_selection import selected
from .evaluate import Evaluate
from .evaluation import EvaluationResult
from .fields import fields_of
from .gathering import accepts
from .metrics import Solved, solved
from .outcome import Outcome
from .paired import Difference
from .report import mean
from .role_demos import Demo
from .running import search_of
from .wording import path_written

HELD_OUT = 4  # without a valset, one in so many examples is only measured on
REASONING = "reasoning"


@dataclass(frozen=True, slots=True)
class Distilled:
    """What `distill` made.

    student: one call, with winning paths as its demonstrations. rows: all winning paths for fine-tuning, in the chat
    format ({"messages": [...]}) of the student's own prompt. searches: that were made to learn from; wins: of them,
    those accepted, no two alike. teacher, taught, untaught: the search, the student, and the student as it was before,
    on the same examples, none of which was learned from. evaluate: the evaluation that they went through.
    """

    student: dspy.Module
    rows: tuple[dict[str, Any], ...]
    searches: int
    wins: int
    teacher: EvaluationResult
    taught: EvaluationResult
    untaught: EvaluationResult
    evaluate: Evaluate

    @property
    def lost(self) -> Difference:
        """The student minus the search."""
        return self.taught.against(self.teacher)

    @property
    def gained(self) -> Difference:
        """The student minus the one that it was before."""
        return self.taught.against(self.untaught)

    def score(self, student: Any) -> EvaluationResult:
        """Another student on the same examples: one that was fine-tuned on `rows`, say."""
        found: EvaluationResult = self.evaluate(student)
        return found

    def save_rows(self, path: str | Path) -> None:
        """Write the fine-tuning rows as JSON lines."""
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows)
        write_whole(Path(path), lines.encode("utf-8", "backslashreplace"))

    def json(self) -> dict[str, Any]:
        """The figures as JSON values."""
        parts = {"teacher": self.teacher, "student": self.taught, "student_without_demos": self.untaught}
        figures = {
            name: {
                "score": result.score,
                "interval": None if result.interval is None else list(result.interval),
                "calls": result.per_example("calls"),
                "tokens": result.per_example("tokens"),
                "errors": len(result.errors),
            }
            for name, result in parts.items()
        }
        return {"searches": self.searches, "wins": self.wins, "demos": len(_predictor(self.student).demos), **figures}

    def summary(self) -> str:
        """What was learned from, and the student beside the search."""
        lines = [
            f"{self.wins} winning paths of {self.searches} searches; {len(_predictor(self.student).demos)} are shown"
        ]
        for name, result in (("search", self.teacher), ("student", self.taught), ("untaught", self.untaught)):
            calls = result.per_example("calls")
            score = mean(result)
            lines.append(f"  {name}: {score} at {calls or 0:.1f} calls")
        lines += [f"student against search: {self.lost.summary()}", f"demonstrations: {self.gained.summary()}"]
        return "\n".join(lines)


def distill(
    program: Program,
    examples: Sequence[dspy.Example],
    *,
    metric: Callable[..., Any] | None = None,
    metric_threshold: float | None = None,
    student: dspy.Module | None = None,
    student_lm: Any = None,
    valset: Sequence[dspy.Example] | None = None,
    max_demos: int = 8,
    max_tokens: int = 4_000,
    num_threads: int | None = None,
    max_errors: int | None = None,
) -> Distilled:
    """Search on the examples, and teach the winning paths to a student that makes one call.

        found = distill(program, examples)
        print(found.summary())
        found.save_rows("train.jsonl")          # for fine-tuning
        found.student(question="...")           # one call, with demonstrations

    A path is a winner if the metric accepts its answer (above 0, or from metric_threshold on); its steps are the
    student's reasoning. metric: None: the task's own check of answers. student: a module with one predictor of the
    program's fields (None: dspy.ChainOfThought of its signature, with what the task adds to prompts). student_lm: the
    LM that it is scored with (None: the configured one). valset: what search and student are scored on (None: the last
    quarter of the examples, which is then not learned from). An example that is in both is only scored on. max_demos,
    max_tokens: of the demonstrations (a token: four characters). num_threads, max_errors: as Evaluate's.

    Raises ValueError where no search was accepted, or there is nothing left to learn from; EvaluationStopped where an
    evaluation does.
    """
    _check(program, metric, max_demos, max_tokens)
    train, fresh = _split(examples, valset)
    made = dspy.ChainOfThought(question_of(program)) if student is None else copy_of(student)
    predictor = _predictor(made)
    _check_fields(predictor, program)
    judge = metric_for_all(solved if metric is None else metric, program)
    evaluate = Evaluate(devset=fresh, metric=judge, num_threads=num_threads, max_errors=max_errors)
    ran: EvaluationResult = evaluate(program, devset=train)
    wins = _wins(ran, predictor, metric_threshold)
    if not wins:
        first = f"; the first of {len(ran.errors)} errors: {ran.errors[0].error}" if ran.errors else ""
        raise ValueError(f"none of {len(train)} searches was accepted, so there is nothing to distill{first}")
    untaught, predictor.demos = copy_of(made), []
    chosen = selected([[demo] for demo in wins], most=max_demos, per_search=1, tokens=max_tokens).demos
    rows = tuple(_row(demo, predictor) for demo in wins)
    predictor.demos = [demo.example() for demo in chosen]
    teacher: EvaluationResult = evaluate(program)
    with dspy.context(lm=student_lm or dspy.settings.lm):
        taught: EvaluationResult = evaluate(made)
        plain: EvaluationResult = evaluate(untaught)
    return Distilled(made, rows, len(train), len(wins), teacher, taught, plain, evaluate)


def _check(program: Any, metric: Any, max_demos: int, max_tokens: int) -> None:
    if not isinstance(program, Program):
        raise TypeError(f"program={type(program).__name__}: must be one of ours; of a pipeline, give the inner program")
    if (metric is None or (isinstance(metric, Solved) and metric.task is None)) and not program.task.has("check"):
        kind = type(program.task).__name__
        raise ValueError(f"metric={metric!r}: {kind} has no check(fields) to judge a student by; give a metric")
    for name, value in (("max_demos", max_demos), ("max_tokens", max_tokens)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name}={value!r}: must be a whole number of at least 1")


def _split(
    examples: Sequence[dspy.Example], valset: Sequence[dspy.Example] | None
) -> tuple[list[dspy.Example], list[dspy.Example]]:
    """What is learned from, and what is scored on: no inputs are in both."""
    if valset is None:
        held = max(1, len(examples) // HELD_OUT)
        train, fresh = list(examples[:-held]), list(examples[-held:])
    else:
        train, fresh = list(examples), list(valset)
    known = {_inputs(example) for example in fresh}
    train = [example for example in train if _inputs(example) not in known]
    if not train or not fresh:
        raise ValueError(
            f"{len(examples)} examples, of which {len(train)} are left to learn from and {len(fresh)} to score on: "
            "give more, or a valset of others"
        )
    return train, fresh


def _inputs(example: dspy.Example) -> str:
    return digest(settled(fields_of(example.inputs())))


def _predictor(student: dspy.Module) -> Any:
    found = student.predictors()
    if len(found) != 1:
        raise ValueError(
            f"student={type(student).__name__}: has {len(found)} predictors; one that makes one call has one"
        )
    return found[0]


def _check_fields(predictor: Any, program: Program) -> None:
    theirs, ours = predictor.signature, program.signature
    missing = [name for name in ours.input_fields if name not in theirs.input_fields]
    missing += [name for name in ours.output_fields if name not in theirs.output_fields]
    known = {*ours.fields, REASONING}
    strange = [name for name in theirs.fields if name not in known]
    if missing or strange:
        raise ValueError(
            f"student: its fields are {list(theirs.fields)}, the search's {list(ours.fields)}; "
            f"{', '.join(map(repr, missing or strange))} {'is missing' if missing else 'is not known to a search'}"
        )


def _wins(ran: EvaluationResult, predictor: Any, threshold: float | None) -> list[Demo]:
    """Accepted answers with their paths, the first of equal questions."""
    found: dict[str, Demo] = {}
    for outcome in ran.outcomes:
        if outcome.score is not None and accepts(outcome.score, threshold):
            found.setdefault(_inputs(outcome.example), Demo(predictor, _taught(outcome, predictor)))
    return list(found.values())


def _taught(outcome: Outcome, predictor: Any) -> dict[str, Any]:
    """The student's fields: the question, the path as its reasoning, and the answer."""
    said = {**fields_of(outcome.example.inputs()), **fields_of(outcome.prediction)}
    search = search_of(outcome.prediction)
    if search is not None and REASONING not in (search.answer or {}):
        said[REASONING] = "\n".join(path_written(search))
    return {name: said[name] for name in predictor.signature.fields if name in said}


def _row(demo: Demo, predictor: Any) -> dict[str, Any]:
    """One line of a fine-tuning file, as the configured adapter would ask and be answered."""
    asked, said = exchange(predictor.signature, demo.fields)
    return {"messages": [*asked, said]}
