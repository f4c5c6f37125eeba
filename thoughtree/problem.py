"""The program that the options ask for, and the inputs of its one call."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, cast

from .block_planning import enough_steps
from .imported import imported
from .mistake import Mistake
from .modules import load
from .modules.program import Program
from .offline import PRICES
from .options import ALL, Options
from .search import ABMCTS, DFS, MCTS, Beam, BestFirst
from .task_programs import KINDS, TAKEN
from .tasks import Blocksworld, Game24
from .typed_input import inputs_of

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
FINISHED = ("task", *TAKEN)  # what a finished program has already


def problem_of(options: Options) -> tuple[Program, dict[str, Any]]:
    """Raises Mistake, ValueError or OSError, each saying what to mend."""
    program = _finished(options) if options.program or options.load else _new(options)
    inputs = inputs_of(program.signature, options.words or [], options.input or [])
    knobs = _given(options, KNOBS)
    if not (options.program or options.load) and "max_depth" not in knobs:
        knobs |= _enough_steps(program, inputs)
    program.prices = PRICES | program.prices
    program.controller = _controller(program.controller, options.controller, knobs)
    program.budget = replace(program.budget, **_given(options, CEILINGS, "budget_"))
    run = _given(options, ("samples", "concurrency", "seed"))
    program.plan = program.plan.replace(on_failure="best", **run)
    return program, inputs


def _new(options: Options) -> Program:
    name = options.task or "game24"
    said = _given(options, TAKEN)
    for option in said:
        if option not in KINDS[name].takes:
            having = ", ".join(other for other, kind in KINDS.items() if option in kind.takes)
            raise Mistake(f"{_flag(option)}: only --task {having} has this")
    return KINDS[name].make(said)


def _finished(options: Options) -> Program:
    for name in _given(options, FINISHED):
        raise Mistake(f"{_flag(name)}: the program of {'--program' if options.program else '--load'} has its own")
    if not options.program:
        assert options.load is not None
        return cast("Program", load(options.load))
    program = imported(options.program)
    if options.load is not None:
        try:
            program.load(options.load)
        except KeyError as error:
            raise Mistake(f"--load {options.load}: it says nothing of {error}; saved from another program?") from error
    return program


def _given(options: Options, names: tuple[str, ...], prefix: str = "") -> dict[str, Any]:
    """Those of the options that were said."""
    found = {name: getattr(options, prefix + name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _enough_steps(program: Program, inputs: dict[str, Any]) -> dict[str, int]:
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
            has = ", ".join(map(_flag, known))
            raise Mistake(f"{_flag(knob)}: {kind.__name__} has no such knob; it has {has}")
    values = {knob: _value(value) for knob, value in knobs.items()}
    return replace(now, **values) if type(now) is kind else kind(**values)


def _value(given: Any) -> Any:
    """A count as it was written is a number, and "all" is None."""
    if given == ALL:
        return None
    return int(given) if isinstance(given, str) and given.isdigit() else given


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
