"""What can be tuned of a program: each knob's range, read where the knob is declared, and programs made by values."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dspy

from ..modules.parts import copy_of, parts_of
from ..modules.program import Program
from ..modules.rebuilding import rebuild
from .dimensions import Dimension, label
from .knob_ranges import dimensions_of, replanned
from .prompt_sets import PROMPTS, Prompts

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import Trial

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Space:
    """Dimensions in order: what one hangs on comes before it.

    known: every name that a user may narrow or add. usual: those that are tuned if nobody says anything. prompts: the
    candidates behind the dimension of that name; None: there are none.
    """

    dimensions: tuple[Dimension, ...]
    known: Mapping[str, Dimension]
    usual: frozenset[str]
    prompts: Prompts | None = None

    def __iter__(self) -> Iterator[Dimension]:
        return iter(self.dimensions)

    def __getitem__(self, name: str) -> Dimension:
        for dimension in self.dimensions:
            if dimension.name == name:
                return dimension
        raise KeyError(name)

    def branches(self) -> list[Dimension]:
        """Those of several choices on which it hangs whether others count."""
        named = {name for dimension in self.dimensions for name, _ in dimension.when}
        return [dimension for dimension in self.dimensions if dimension.name in named and len(dimension.choices) > 1]

    def narrowed(self, given: Mapping[str, Any] | None) -> Space:
        """With what a user says of some names: (low, high), a list of choices, or one value.

        A choice of several controllers brings in the usual knobs of each. Raises ValueError for a name that there is
        not, with those near it; for what is no range; and for a knob that nothing in the space makes count.
        """
        changed: dict[str, Dimension] = {}
        for name, wanted in (given or {}).items():
            if name not in self.known:
                near = difflib.get_close_matches(name, self.known, n=3, cutoff=0.5) or sorted(self.known)
                raise ValueError(f"space[{name!r}]: there is no such knob; near it are {', '.join(near)}")
            changed[name] = self.known[name].narrowed(wanted)
        every = {**self.known, **changed}
        for name in changed:
            if idle := _idle(every[name], every, changed):
                other, values = idle
                listed = ", ".join(map(repr, values))
                raise ValueError(f"space[{name!r}] counts only with {other} of {listed}; add {other!r} to the space")
        kept = [d for n, d in every.items() if n in changed or (n in self.usual and not _idle(d, every, changed))]
        return Space(tuple(kept), self.known, self.usual, self.prompts)

    def active(self, values: Mapping[str, Any]) -> Values:
        """Those of `values` that count, in order; a dimension that is missing has its default."""
        found: Values = {}
        for dimension in self.dimensions:
            if dimension.active(found):
                found[dimension.name] = values.get(dimension.name, dimension.default)
        return found

    def defaults(self) -> Values:
        """The program's own values, or, where the space leaves them out, the nearest that it has."""
        return self.active({dimension.name: _nearest(dimension) for dimension in self.dimensions})

    def has_default(self) -> bool:
        """Whether the program as it was given lies in the space."""
        return all(dimension.contains(dimension.default) for dimension in self.dimensions)

    def suggest(self, trial: Trial) -> Values:
        """Values for this trial; those alone that count."""
        found: Values = {}
        for dimension in self.dimensions:
            if dimension.active(found):
                found[dimension.name] = (
                    dimension.choices[0] if dimension.fixed and dimension.choices else (dimension.suggest(trial))
                )
        return found

    def params(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of a trial with these values."""
        return {
            name: value
            for dimension in self.dimensions
            if dimension.name in values and not (dimension.fixed and dimension.choices)
            for name, value in dimension.params(values[dimension.name]).items()
        }

    def settle(self, program: dspy.Module, values: Mapping[str, Any]) -> dspy.Module:
        """A copy of `program` with these values, prompts included. ValueError where they do not go together."""
        own = dict(values)
        chosen = own.pop(PROMPTS, None)
        if chosen is None or self.prompts is None:
            return settled(program, own)
        told: dspy.Module = copy_of(program)
        self.prompts.put(told, chosen)
        return settled(told, own)

    def distributions(self) -> dict[str, BaseDistribution]:
        """Of all parameters that a trial may have."""
        return {name: d for dimension in self.dimensions for name, d in dimension.distributions().items()}


def space_of(program: dspy.Module, given: Mapping[str, Any] | None = None, prompts: Prompts | None = None) -> Space:
    """The space of a program, and of every search program inside it (`solve.controller.width`).

    given: what a user says of some names. prompts: candidates, which become one more dimension, the first of all.
    Raises ValueError where there is no search program.
    """
    found = dict(programs_in(program))
    if not found:
        kind = type(program).__name__
        raise ValueError(f"{kind}: there is no TreeOfThoughts, LATS or RAP in it, and so nothing to tune")
    every = [pair for path, inner in found.items() for pair in dimensions_of(inner, path)]
    if prompts is not None:
        every.insert(0, (Dimension(name=PROMPTS, default=prompts.ids[0], choices=prompts.ids), True))
    known = {dimension.name: dimension for dimension, _ in every}
    usual = frozenset(dimension.name for dimension, usual in every if usual)
    space = Space((), known, usual, prompts).narrowed(given)
    for name in given or ():
        if name != PROMPTS:
            _try(found, space, space[name])
    return space


def settled(program: dspy.Module, values: Mapping[str, Any]) -> dspy.Module:
    """A copy of `program` with these values of its space.

    Raises ValueError where they do not go together in it.
    """
    copied: dspy.Module = copy_of(program)
    for path, inner in programs_in(copied):
        rebuild(inner, replanned(inner.plan, _own(values, path)))
    return copied


def programs_in(module: dspy.Module) -> Iterator[tuple[str, Program]]:
    """The search programs of a module by their paths: "" for the module itself, `solve`, `steps[0]`."""
    yield from parts_of(module, Program)


def holds_search(module: Any) -> bool:
    """Whether it is a search program, or has one inside."""
    return isinstance(module, dspy.Module) and any(True for _ in programs_in(module))


def _belongs(name: str, path: str) -> bool:
    return not path or name.startswith(f"{path}.")


def _idle(
    dimension: Dimension, every: Mapping[str, Dimension], changed: Mapping[str, Dimension]
) -> tuple[str, tuple[Any, ...]] | None:
    """What keeps a dimension from ever counting: a name, and the values that it would have to have."""
    for name, allowed in dimension.when:
        other = every[name]
        possible = other.choices if name in changed else (other.default,)
        if not set(map(label, possible)) & set(map(label, allowed)):
            return name, allowed
    return None


def _try(found: Mapping[str, Program], space: Space, dimension: Dimension) -> None:
    """ValueError, now and not in some trial, for a value that no plan can have."""
    path = max((path for path in found if _belongs(dimension.name, path)), key=len)
    for value in dimension.choices or dimension.ends:
        values = {name: next(v for v in _possible(space, name) if v in allowed) for name, allowed in dimension.when}
        try:
            replanned(found[path].plan, _own(values | {dimension.name: value}, path))
        except (TypeError, ValueError) as error:
            raise ValueError(f"space[{dimension.name!r}]: {error}") from error


def _possible(space: Space, name: str) -> tuple[Any, ...]:
    there = [dimension for dimension in space if dimension.name == name]
    return there[0].choices if there else (space.known[name].default,)


def _own(values: Mapping[str, Any], path: str) -> Values:
    """Those of the program at `path`, by their names without it."""
    return {name.removeprefix(f"{path}."): value for name, value in values.items() if _belongs(name, path)}


def _nearest(dimension: Dimension) -> Any:
    value = dimension.default
    if dimension.contains(value):
        return value
    if dimension.choices:
        return dimension.choices[0]
    low, high = dimension.ends
    nearest = min(max(value, low), high) if isinstance(value, int | float) else high  # None: as much as there is
    return int(nearest) if dimension.whole else nearest
