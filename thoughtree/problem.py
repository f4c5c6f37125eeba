"""The program that the options ask for, and the inputs of its one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

import dspy

from .block_planning import enough_steps
from .flags import flag
from .imported import imported
from .mistake import Mistake
from .modules import load
from .modules.loading import UntrustedTask
from .modules.program import Program
from .offline import PRICES
from .options import Options
from .program_options import ProgramOptions
from .search import ABMCTS, DFS, MCTS, Beam, BestFirst
from .task_programs import KINDS, TAKEN
from .tasks import Blocksworld, Game24
from .typed_input import inputs_of
from .typed_number import ALL

M = TypeVar("M", bound=dspy.Module)
CONTROLLERS: dict[str, type[Any]] = {
    "dfs": DFS,
    "beam": Beam,
    "bfs": Beam,
    "best-first": BestFirst,
    "mcts": MCTS,
    "ab-mcts": ABMCTS,
}
KNOBS = tuple(dict.fromkeys(f.name for kind in CONTROLLERS.values() for f in fields(kind)))
CEILINGS = ("calls", "seconds", "cost", "tokens", "nodes")
RUN = ("samples", "concurrency", "seed")
FINISHED = ("task", *TAKEN)  # what a finished program has already


def problem_of(options: Options) -> tuple[Program, dict[str, Any]]:
    """Raises Mistake, ValueError or OSError, each saying what to mend."""
    program = program_of(options)
    inputs = inputs_of(program.signature, options.words or [], options.input or [])
    equip(program, options, [inputs])
    return program, inputs


def program_of(options: ProgramOptions) -> Program:
    """The program of a task's name, of a module or of a file, without the knobs that were said."""
    return _finished(options) if options.program or options.load else _new(options)


def equip(program: Program, options: ProgramOptions, problems: Iterable[Mapping[str, Any]]) -> None:
    """Give it the knobs and ceilings that were said, and a new one the depth that all these problems need."""
    knobs = said(options, KNOBS)
    if not (options.program or options.load) and "max_depth" not in knobs:
        for inputs in problems:
            enough = _enough_steps(program, inputs)
            knobs |= {name: max(value, knobs.get(name, 0)) for name, value in enough.items()}
    program.prices = PRICES | program.prices
    program.controller = _controller(program.controller, options.controller, knobs)
    program.budget = replace(program.budget, **said(options, CEILINGS, "budget_"))
    program.plan = program.plan.replace(on_failure="best", **said(options, RUN))


def _new(options: ProgramOptions) -> Program:
    name = options.task or "game24"
    given = said(options, TAKEN)
    for option in given:
        if option not in KINDS[name].takes:
            having = ", ".join(other for other, kind in KINDS.items() if option in kind.takes)
            raise Mistake(f"{flag(option)}: only --task {having} has this")
    return KINDS[name].make(given)


def _finished(options: ProgramOptions) -> Program:
    if options.program:
        return restored(options, imported(options.program, Program))
    _has_its_own(options)
    assert options.load is not None
    try:
        return cast("Program", load(options.load))
    except UntrustedTask as error:
        told = str(error).partition("; give ")[0]
        raise Mistake(f"{told}; give --program MODULE:ATTRIBUTE too, a program with that task of yours") from error


def restored(options: ProgramOptions, program: M) -> M:
    """A program of the user's own, with its saved state where that was said."""
    _has_its_own(options)
    if options.load is not None:
        try:
            load(options.load, into=program)
        except KeyError as error:
            raise Mistake(f"--load {options.load}: it says nothing of {error}; saved from another program?") from error
    return program


def _has_its_own(options: ProgramOptions) -> None:
    for name in said(options, FINISHED):
        raise Mistake(f"{flag(name)}: the program of {'--program' if options.program else '--load'} has its own")


def said(options: ProgramOptions, names: tuple[str, ...], prefix: str = "") -> dict[str, Any]:
    """Those of the options that were said."""
    found = {name: getattr(options, prefix + name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _enough_steps(program: Program, inputs: Mapping[str, Any]) -> dict[str, int]:
    """A Game of 24 takes a step less than it has numbers; blocks as many as their plan may need."""
    if isinstance(program.task, Game24):
        enough = len(program.task.for_inputs(inputs).numbers or ()) - 1
    elif isinstance(program.task, Blocksworld):
        start = program.task.initial(inputs)
        enough = enough_steps(start.facts, start.goal)
    else:
        return {}
    return {"max_depth": max(program.controller.max_depth, enough)}


def _controller(now: Any, name: str | None, knobs: dict[str, Any]) -> Any:
    """The controller of this name, or the program's own, with these knobs."""
    kind = CONTROLLERS[name] if name is not None else type(now)
    known = [f.name for f in fields(kind)]
    for knob in knobs:
        if knob not in known:
            has = ", ".join(map(flag, known))
            raise Mistake(f"{flag(knob)}: {kind.__name__} has no such knob; it has {has}")
    values = {knob: _value(value) for knob, value in knobs.items()}
    return replace(now, **values) if type(now) is kind else kind(**values)


def _value(given: Any) -> Any:
    """A count as it was written is a number, and "all" is None."""
    if given == ALL:
        return None
    return int(given) if isinstance(given, str) and given.isdigit() else given
