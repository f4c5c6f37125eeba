"""Settings next to a good one: one knob at its default, at another choice, or some steps from where it is.

A sampler that looks at all knobs at once finds good regions, and leaves in them whatever does no harm there: three
samples where one would do. Changing one knob at a time takes it out, mostly at the price of nothing, since the calls
are shared. (Local search around the best, as in SMAC: Hutter et al. 2011, LION 5.)

Good is not only the best one. What a kind of controller could do is seen after some of its own knobs have changed, so
the best of each kind is a start too. And knobs whose changes were gains before are changed more often (Thompson 1933,
Biometrika 25:285).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from random import Random
from typing import Any

from .bisection import Line
from .confirm import Rule
from .dimensions import Dimension, label
from .race import Results, lead_at_least
from .space import Space, Values
from .trials import Change, Setting, key_of

FEW = 4  # settings between the choice and the highest score that are looked at too


def neighbour(
    space: Space, tried: Sequence[Setting], rule: Rule, order: Sequence[int], rng: Random
) -> tuple[Change, Values] | None:
    """A setting that was not tried; None where no setting was raced to its end, or there is none left."""
    known = {setting.key for setting in tried}
    record = Record.of(tried, rule.tolerance)
    for start, others in _starts(space, tried, rule, order, rng):
        for change, values in chain(_joined(space, start, others), _moves(space, start, tried, record, rng)):
            if key_of(values) not in known:
                return change, values
    return None


@dataclass(frozen=True, slots=True)
class Record:
    """How often a change of a knob was tried, and how often it was a gain, by its name."""

    tried: Mapping[str, int]
    gained: Mapping[str, int]

    @classmethod
    def of(cls, settings: Sequence[Setting], tolerance: float) -> Record:
        """A gain: it scores more than what it was made from, or as much for less, and fared no worse in the race."""
        by_number = {setting.number: setting for setting in settings}
        tried, gained = Counter[str](), Counter[str]()
        for setting in settings:
            if setting.made_by is None or setting.made_by.of not in by_number:
                continue
            tried[setting.made_by.knob] += 1
            before = by_number[setting.made_by.of]
            as_far = setting.beaten_by is None or len(setting.results.by_example) >= len(before.results.by_example)
            gained[setting.made_by.knob] += as_far and _gain(setting.results, before.results, tolerance)
        return cls(tried, gained)

    def draw(self, knob: str, before: int, rng: Random) -> float:
        """A chance that a change is a gain, drawn from what is known of it. before: gains taken for granted."""
        gained = self.gained.get(knob, 0)
        return rng.betavariate(1 + before + gained, 1 + self.tried.get(knob, 0) - gained)


def _gain(after: Results, before: Results, tolerance: float) -> bool:
    ids = [id for id in after.by_example if id in before.by_example]
    score, cost, old, old_cost = after.score(ids), after.cost(ids), before.score(ids), before.cost(ids)
    if score is None or cost is None or old is None or old_cost is None:
        return False
    return score > old + tolerance or (score >= old - tolerance and cost < old_cost)


def _starts(
    space: Space, tried: Sequence[Setting], rule: Rule, order: Sequence[int], rng: Random
) -> Iterator[tuple[Setting, list[tuple[str, Setting]]]]:
    """Half of the time the best of another kind first; else what would be picked, or scores highest, or lies between
    these. Of either, those first next to which the least was spent: equal trials would mostly go to what is dear.

    With settings of other kinds whose other knobs may be taken, and the dimension that makes them so.
    """
    by_number = {setting.number: setting for setting in tried}
    whole = {setting.number: setting.results for setting in tried if setting.results.has(order)}
    chosen = rule.choose(whole, order)
    if chosen is None:
        return
    highest = replace(rule, pick="best")
    best = highest.choose(whole, order)
    assert best is not None  # where one rule finds something, the other does
    front = dict.fromkeys([chosen, best, *rule.few(whole, order, FEW)])
    near = _spent_near(tried)
    groups = [
        sorted(rng.sample(list(front), len(front)), key=lambda number: near[number]),
        [number for number in _kinds(space, tried, highest, near, rng) if number not in (chosen, best)],
    ]
    if rng.random() < 1 / 2:
        groups.reverse()
    branches = [dimension.name for dimension in space.branches()]
    for number in chain(*groups):
        yield by_number[number], [(name, by_number[other]) for other in (chosen, best) for name in branches]


def _spent_near(tried: Sequence[Setting]) -> Mapping[int, float]:
    """What settings cost that were made from another one, by that one's number."""
    spent = defaultdict[int, float](float)
    for setting in tried:
        if setting.made_by is not None:
            spent[setting.made_by.of] += sum(one.cost for one in setting.results.by_example.values())
    return spent


def _kinds(
    space: Space, tried: Sequence[Setting], highest: Rule, near: Mapping[int, float], rng: Random
) -> Iterator[int]:
    """The best of each kind: those kinds first next to which the least was spent.

    Among all kinds at once: one that is looked at whenever another one is would keep that one from ever being started
    at.
    """
    found = list[tuple[float, int]]()
    for dimension in space.branches():
        for value in dimension.choices:
            kind = {s.number: s.results for s in tried if label(s.values.get(dimension.name)) == label(value)}
            spent = sum(near[number] for number in kind)
            found += [(spent, number) for number in _best_of(kind, highest)]
    rng.shuffle(found)
    yield from dict.fromkeys(number for _, number in sorted(found, key=lambda one: one[0]))


def _joined(space: Space, start: Setting, others: Sequence[tuple[str, Setting]]) -> Iterator[tuple[Change, Values]]:
    """What is this kind's own, with all that other kinds have too as the others have it."""
    for name, other in others:
        if name in other.values and name in start.values and other.values[name] != start.values[name]:
            shared = {n: value for n, value in other.values.items() if n in start.values and n != name}
            yield Change(name, other.number), space.active({**start.values, **shared})


def _best_of(kind: Mapping[int, Results], highest: Rule) -> list[int]:
    """The highest score of those that went farthest; or one that is likely better on as many as it was tried on.

    A later one of the kind meets stronger others, and is left earlier than a worse one was before it.
    """
    most = max((len(results.by_example) for results in kind.values()), default=0)
    far = {number: results for number, results in kind.items() if len(results.by_example) == most > 0}
    found = highest.choose(far, list(next(iter(far.values())).by_example)) if far else None
    if found is None:
        return []
    for number, results in kind.items():
        unit = max(1.0, abs(results.score() or 0.0))
        if lead_at_least(results, kind[found], list(results.by_example), unit) > 0:
            found = number
    return [found]


def _moves(
    space: Space, start: Setting, tried: Sequence[Setting], record: Record, rng: Random
) -> Iterator[tuple[Change, Values]]:
    """All of them: the knob by Thompson's sampling, one of its values at random.

    What other knobs hang on changes most, and comes early.
    """
    values = start.values
    own = [dimension for dimension in space if dimension.name in values and not dimension.fixed]
    left = {one.name: _values(one, values[one.name], Line.through(start, one, tried), rng) for one in own}
    branches = {dimension.name for dimension in space.branches()}
    while left := {name: found for name, found in left.items() if found}:
        name = max(left, key=lambda name: record.draw(name, int(name in branches), rng))
        yield Change(name, start.number), space.active({**values, name: left[name].pop()})


def _values(dimension: Dimension, value: Any, line: Line, rng: Random) -> list[Any]:
    back = [dimension.default] if dimension.contains(dimension.default) and dimension.default != value else []
    found = dict.fromkeys([*back, *steps(dimension, value), *line.middles()])
    left = [other for other in found if not line.flat(other)]
    rng.shuffle(left)
    return left


def steps(dimension: Dimension, value: Any) -> list[Any]:
    """The values next to `value`: every other choice; of a number the next whole ones, half, twice, both ends,
    None; of None an eighth, a quarter and a half of the range, and its end."""
    if dimension.choices:
        return [choice for choice in dimension.choices if choice != value]
    low, high = dimension.ends
    if value is None:
        some = [low + (high - low) * share for share in (1 / 8, 1 / 4, 1 / 2, 1)]
        return list(dict.fromkeys(map(int, some))) if dimension.whole else some
    found: list[Any]
    if dimension.whole:
        found = [value - 1, value + 1, value // 2, value * 2]
    elif dimension.log:
        found = [value / 2, value * 2]
    else:
        found = [value - (value - low) / 2, value + (high - value) / 2]
    found += [int(low), int(high)] if dimension.whole else [low, high]
    inside = [other for other in dict.fromkeys(found) if low <= other <= high and other != value]
    return inside + ([None] if dimension.optional else [])
