"""Whether a cheaper rater, fewer samples, or no rater at all would tell good nodes from bad ones as well."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from random import Random
from statistics import fmean
from typing import Any

import dspy

from ..modules.calls.adapter import search_adapter
from ..modules.calls.failures import describe
from ..search.order import UNREAD
from ..search.protocol import Rated, Request
from .calibration_auc import Counts, auc_gain, auc_of
from .calibration_readings import Reading
from .intervals import Interval
from .seen import Seen
from .workers import in_threads

FEW = 0.5  # labelled nodes, of all that were rated, before the labels may mislead
TOLERANCE = 0.02  # of the area under the curve: as well as
COIN = 0.05  # how far from 0.5 a rater may be, and still be of no use


def by_search(readings: Sequence[Reading], value: Callable[[Reading], float]) -> list[Counts]:
    """The labelled ones, as counts of each value and truth, a search at a time."""
    found: defaultdict[int, Counts] = defaultdict(Counter)
    for reading in readings:
        if reading.truth is not None:
            found[reading.search][value(reading), reading.truth] += 1
    return list(found.values())


def on_no_rater(areas: dict[int, tuple[float | None, Interval | None]], share: float) -> Iterator[str]:
    """areas: by depth. share: of all calls, that rate."""
    spared = f"ratings are {share:.0%} of all calls"
    useless = [depth for depth, (_, within) in areas.items() if within is not None and within[1] <= 0.5 + COIN]
    unclear = [
        depth
        for depth, (_, within) in areas.items()
        if depth not in useless and within is not None and within[0] <= 0.5
    ]
    if useless and len(useless) == len(areas):
        yield f"No rater at all would do as well: at no depth does it beat a coin, and {spared}."
    elif useless:
        yield f"At depth {_listed(useless)} no rater would do as well: it does not beat a coin there."
    if unclear:
        yield f"At depth {_listed(unclear)} these examples cannot tell the rater from a coin: give more of them."
    if areas and not useless and not unclear and all(within is not None for _, within in areas.values()):
        yield f"The rater is worth asking: it beats a coin at every depth that was measured ({spared})."


def on_labels(readings: Sequence[Reading], code: bool) -> Iterator[str]:
    """code: whether code knew the truth of every node. Else a search that ends at its first solution has a bias: the
    nodes on its path are known to be good, and of those that it left alone, most of which are bad, nothing is known.
    """
    unknown = sum(reading.truth is None for reading in readings)
    if not code and unknown > (1 - FEW) * len(readings):
        yield (
            f"{unknown} of {len(readings)} rated nodes have no label, as code cannot tell what can be solved. Searches "
            "that end at a solution label good nodes rather than bad ones: trust the order of the verdicts more than "
            "what they are worth, which is too much."
        )


def on_samples(readings: Sequence[Reading], samples: int) -> Iterator[str]:
    """Whether the mean of fewer samples has the same area, on nodes that were sampled in full."""
    values: defaultdict[Hashable, dict[int, Reading]] = defaultdict(dict)
    for reading in readings:
        if reading.truth is not None:
            values[reading.search, reading.node][reading.sample] = reading
    whole = [found for found in values.values() if len(found) == samples]
    for fewer in range(1, samples):
        pairs = _pairs(
            (
                found[0],
                fmean(found[k].value for k in sorted(found)[:fewer]),
                fmean(found[k].value for k in sorted(found)),
            )
            for found in whole
        )
        gain, within = auc_gain(pairs)
        if gain is not None and within is not None and within[0] >= -TOLERANCE:
            yield f"{_counted(fewer)} would do as well as {samples}: {_figure(gain, within)}."
            return
    if samples > 1:
        told = "" if whole else "; no labelled node was sampled in full"
        yield f"Fewer than {samples} samples would not do as well, as far as these examples can tell{told}."


def on_cheaper(
    searches: Sequence[Seen], readings: Sequence[Reading], cheaper: Any, *, most: int, threads: int
) -> Iterator[str]:
    """Ask another LM for the ratings of at most `most` requests, drawn by lot, and compare the areas.

    A call that fails is counted and told: what the rater itself said is paid for.
    """
    asked: dict[tuple[int, Request], list[Reading]] = defaultdict(list)
    for reading in readings:
        if reading.request is not None and not reading.sample and reading.truth is not None:
            asked[reading.search, reading.request].append(reading)
    jobs = Random(0).sample(list(asked.items()), min(most, len(asked)))
    said: list[tuple[Reading, float, float]] = []
    failed: list[str] = []

    def ask(job: tuple[tuple[int, Request], list[Reading]]) -> None:
        (number, request), known = job
        seen = searches[number]
        role = seen.role(request)
        try:
            with dspy.context(lm=cheaper, adapter=search_adapter(dspy.settings.adapter), trace=None):
                made = role.predict(**seen.fields(request), lm=cheaper)
        except Exception as error:
            failed.append(describe(error))
            return
        nodes: tuple[int, ...] = request.nodes  # type: ignore[union-attr]
        outcome = role.read(made, len(nodes))
        if isinstance(outcome, Rated):
            told = dict(zip(nodes, zip(outcome.values, outcome.verdicts or (), strict=True), strict=True))
            said.extend((r, told[r.node][0], r.value) for r in known if told[r.node][1] != UNREAD)

    in_threads(jobs, ask, threads)
    gain, within = auc_gain(_pairs(said))
    name = getattr(cheaper, "model", type(cheaper).__name__)
    told = f"{name} on {len(said)} nodes"
    if failed:
        told += f", {len(failed)} calls failed, the first by {failed[0]}"
    if gain is None or within is None:
        yield f"The cheaper rater, {told}, cannot be judged by so few labelled nodes."
        return
    figure = _figure(gain, within)
    if within[0] >= -TOLERANCE:
        yield f"The cheaper rater would do as well: {told}, {figure}."
    elif within[1] < 0:
        yield f"The cheaper rater would do worse: {told}, {figure}."
    else:
        yield f"These examples cannot tell whether the cheaper rater would do as well: {told}, {figure}."


def _pairs(found: Any) -> list[tuple[Counts, Counts]]:
    """From (reading, first value, second value): counts of both, a search at a time."""
    made: defaultdict[int, tuple[Counts, Counts]] = defaultdict(lambda: (Counter(), Counter()))
    for reading, first, second in found:
        made[reading.search][0][first, reading.truth] += 1
        made[reading.search][1][second, reading.truth] += 1
    return [made[number] for number in sorted(made)]


def areas_by_depth(readings: Sequence[Reading]) -> dict[int, tuple[float | None, Interval | None]]:
    """Of the depths with nodes of both kinds."""
    found = {}
    for depth in sorted({reading.depth for reading in readings}):
        area = auc_of(by_search([r for r in readings if r.depth == depth], lambda r: r.value))
        if area[0] is not None:
            found[depth] = area
    return found


def _listed(depths: Sequence[int]) -> str:
    return ", ".join(map(str, depths))


def _figure(gain: float, within: Interval) -> str:
    return f"area {gain:+.3f} [{within[0]:+.3f}, {within[1]:+.3f}]"


def _counted(samples: int) -> str:
    return "1 sample" if samples == 1 else f"{samples} samples"
