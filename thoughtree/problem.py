"""The program that the options ask for, and the inputs of its one call."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from .imported import imported
from .mistake import Mistake
from .modules import TreeOfThoughts, load
from .offline import PRICES
from .options import ALL, Options
from .search import DFS, Beam, BestFirst
from .tasks import FreeText, Game24, Task
from .typed_input import inputs_of

CONTROLLERS: dict[str, type[Any]] = {"dfs": DFS, "beam": Beam, "bfs": Beam, "best-first": BestFirst}
KNOBS = tuple(dict.fromkeys(f.name for kind in CONTROLLERS.values() for f in fields(kind)))
CEILINGS = ("calls", "seconds", "cost", "tokens", "nodes")
FINISHED = ("task", "target", "strict", "propose", "rate", "scale")  # what a finished program has already


def problem_of(options: Options) -> tuple[TreeOfThoughts, dict[str, Any]]:
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


def _new(options: Options) -> TreeOfThoughts:
    task: Task[Any, Any]
    if options.task == "text":
        for name in _given(options, ("target", "strict")):
            raise Mistake(f"{_flag(name)}: only --task game24 has this")
        task, signature = FreeText(), "question -> answer"
    else:
        task, signature = Game24(target=options.target or 24, strict=bool(options.strict)), None
    roles = _given(options, ("propose", "rate", "scale"))
    return TreeOfThoughts(signature, task=task, **roles)


def _finished(options: Options) -> TreeOfThoughts:
    for name in _given(options, FINISHED):
        raise Mistake(f"{_flag(name)}: the program of {'--program' if options.program else '--load'} has its own")
    if not options.program:
        assert options.load is not None
        saved = load(options.load)
        if not isinstance(saved, TreeOfThoughts):
            raise Mistake(f"--load {options.load}: a {type(saved).__name__} cannot be loaded here; use --program")
        return saved
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


def _enough_steps(program: TreeOfThoughts, inputs: dict[str, Any]) -> dict[str, int]:
    """A Game of 24 takes a step less than it has numbers."""
    if not isinstance(program.task, Game24):
        return {}
    numbers = program.task.for_inputs(inputs).numbers or ()
    return {"max_depth": max(program.controller.max_depth, len(numbers) - 1)}


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
