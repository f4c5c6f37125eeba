"""What is run on a data set: the program, its examples, the metric, and the model that answers."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import dspy

from .data_options import DataOptions, MeasureOptions
from .flags import flag
from .imported import called, imported, named_object
from .mistake import Mistake
from .model import SUCH_AS, model_of, named
from .modules import limit
from .modules.program import Program
from .offline import MODEL, NOTICE
from .output import say
from .problem import CEILINGS, KNOBS, RUN, equip, program_of, restored, said
from .search.protocol import Illegal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .crew import Crew

Metric = Callable[..., Any]
TOTALS = ("calls", "tokens", "cost", "seconds")


@dataclass(frozen=True, slots=True)
class Subject:
    """valset: fresh examples, where some were given. lm: to configure; None: the program has its own. ceilings: of all
    that is spent at work.
    """

    program: dspy.Module
    examples: Sequence[dspy.Example]
    metric: Metric
    lm: Any
    valset: Sequence[dspy.Example] | None = None
    ceilings: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @contextmanager
    def at_work(self, crew: Crew | None = None) -> Iterator[None]:
        """With its model; nothing is logged that the report says anyway, and what programs print is no report.

        crew: the processes that spend together with this one.
        """
        loggers = [logging.getLogger(name) for name in ("thoughtree", "dspy")]
        before = [logger.level for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            purse = limit(**self.ceilings) if crew is None else crew.purse(self.ceilings)
            with dspy.context(lm=self.lm), purse, redirect_stdout(sys.stderr):
                yield
        finally:
            for logger, level in zip(loggers, before, strict=True):
                logger.setLevel(level)


def subject_of(options: DataOptions, valset: str | None = None) -> Subject:
    """Raises Mistake, ValueError or OSError, each saying what to mend, before anything is paid."""
    from .optimize import exact_match

    program = program_named(options)
    metric = metric_of(options.metric or "solved")
    inputs = _inputs(options, program)
    examples = _examples(options.data, options, program, inputs)
    fresh = None if valset is None else _examples(valset, options, program, inputs)
    for source, found in ((options.data, examples), (valset, fresh)):
        if metric is exact_match and found is not None:
            _comparable(str(source), found, program)
    if isinstance(program, Program):
        equip(program, options, _readable(program, [*examples, *(fresh or [])]))
    lm = _model(options, program)
    if lm is not None and lm.model == MODEL and not options.quiet:
        say(NOTICE)
    ceilings = said(options, TOTALS, "total_") if isinstance(options, MeasureOptions) else {}
    limit(**ceilings)  # what is wrong with one is said now
    return Subject(program, examples, metric, lm, fresh, ceilings)


def metric_of(name: str) -> Metric:
    """Ours by their names, the user's by `module:name`; a class is asked for one of its kind."""
    from .optimize import exact_match, solved

    ours: dict[str, Metric] = {"solved": solved, "exact": exact_match}
    if name in ours:
        return ours[name]
    if ":" not in name:
        raise Mistake(f"--metric {name!r}: it is solved, exact, or a function of your own, as module:name")
    found, kind = named_object("--metric", name, "scoring:metric")
    if isinstance(found, type):
        found = called(f"--metric {name}", kind, found)
    if not callable(found):
        raise Mistake(f"--metric {name}: this is a {type(found).__name__}; name a function of (example, prediction)")
    metric: Metric = found
    from .optimize.scoring import Scorer

    try:
        Scorer(metric)
    except TypeError as error:  # of what it takes
        raise Mistake(f"--metric {name}: {str(error).partition(': ')[2]}") from error
    return metric


def program_named(options: DataOptions) -> dspy.Module:
    """Of the user's own, any module of DSPy will do."""
    if not options.program:
        return program_of(options)
    program = restored(options, imported(options.program, dspy.Module, "dspy.Module, such as a TreeOfThoughts"))
    if not isinstance(program, Program):
        knobs = said(options, (*KNOBS, *RUN, "controller", "rate_model"))
        ceilings = said(options, CEILINGS, "budget_")
        for name in [*knobs, *(f"budget_{ceiling}" for ceiling in ceilings)]:
            if name != "seed":  # a study's, too
                raise Mistake(f"{flag(name)}: {options.program} is no search itself; set this where it makes one")
    return program


def _inputs(options: DataOptions, program: dspy.Module) -> list[str]:
    known = program.signature.input_fields if isinstance(program, Program) else None
    if options.inputs is None:
        if known is None:
            raise Mistake("--inputs: say which columns the program is given, such as --inputs question")
        return [name for name, info in known.items() if info.is_required()]
    names = [name.strip() for name in options.inputs.split(",") if name.strip()]
    if not names:
        raise Mistake(f"--inputs {options.inputs!r}: name at least one column")
    for name in names:
        if known is not None and name not in known:
            raise Mistake(f"--inputs {name}: the program has no such input; it has {', '.join(known)}")
    return names


def _examples(source: str, options: DataOptions, program: dspy.Module, inputs: list[str]) -> list[dspy.Example]:
    from .optimize import load_examples

    types = program.signature if isinstance(program, Program) else None
    return load_examples(source, inputs, split=options.split, limit=options.limit, seed=options.shuffle, types=types)


def _comparable(source: str, examples: list[dspy.Example], program: dspy.Module) -> None:
    """Mistake where `exact` could compare no answer at all; single rows without a label fail by themselves."""
    from .optimize.fields import fields_of

    labels = {name for example in examples for name in fields_of(example.labels())}
    outputs = [*program.signature.output_fields] if isinstance(program, Program) else None
    if labels and (outputs is None or not labels.isdisjoint([*outputs, "reasoning"])):
        return
    wanted = "the right answers" if outputs is None else " or ".join(outputs)
    raise Mistake(
        f"--metric exact: {source} has no column of {wanted} to compare with; beside the inputs there are "
        f"{', '.join(sorted(labels)) or 'none'}"
    )


def _readable(program: Program, examples: list[dspy.Example]) -> Iterator[dict[str, Any]]:
    """The inputs of those that the task can read; the others fail by themselves, each with its reason."""
    for example in examples:
        inputs = example.inputs().toDict()
        try:
            state = program.task.for_inputs(inputs).initial(inputs)
        except (Illegal, ValueError, TypeError, KeyError):
            continue
        if not isinstance(state, Illegal):
            yield inputs


def _model(options: DataOptions, program: dspy.Module) -> Any:
    if isinstance(program, Program):
        return model_of(options, program)
    if options.model is not None:
        return named("--model", options.model, options)
    if dspy.settings.lm is None and any(predictor.lm is None for predictor in program.predictors()):
        raise Mistake(f"the rule-based stand-in plays game24 and blocksworld alone: give --model, {SUCH_AS}")
    return dspy.settings.lm
