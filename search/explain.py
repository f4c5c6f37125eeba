"""Why a search went as it did, from counts: what was proposed, read, rated, dropped and spent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from . import losses
from .budget import Ended, SearchStatus
from .result import LONGEST, SearchResult
from .tree import FAILED, PRUNED, Node
from .visible import one_line

Result = SearchResult[Any, Any]


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({round(100 * part / whole)} %)" if whole else "none"


def _error(result: Result) -> str:
    return one_line(result.first_error or "none", LONGEST)


def _unclosed(result: Result) -> str:
    return one_line(result.unclosed or "none", LONGEST)


def contradicted(result: Result) -> tuple[list[Node[Any, Any]], list[Node[Any, Any]], int]:
    """Where code knows better: solvable nodes that were pruned, hopeless ones rated in the scale's upper half above
    the cut, and how many nodes were checked.
    """
    if result.task is None:
        return [], [], 0
    rating = result.rating
    cut, high = rating.threshold, (rating.low + rating.high) / 2 * rating.scale
    lost: list[Node[Any, Any]] = []
    praised: list[Node[Any, Any]] = []
    checked = 0
    for node in result.tree:
        if not node.ratings or node.state is None:
            continue
        truth = result.task.solvable(node.state)
        if truth is None:
            continue
        checked += 1
        if truth and node.status is PRUNED:
            lost.append(node)
        elif not truth and node.value is not None and node.value >= high and (cut is None or node.value > cut):
            praised.append(node)
    return lost, praised, checked


def warnings(result: Result) -> Iterator[str]:
    yield from losses.warnings(result)
    alike, groups = result.collapsed
    if groups and alike * 2 >= groups:
        yield (
            f"ratings hardly differ in {_share(alike, groups)} of the sibling groups: they steer little, "
            "and ties were broken by age or seed; try another scale, samples > 1, or a vote"
        )
    asked = max(1, result.spent.calls)
    if result.failed * 5 >= asked:
        yield f"failures: {result.failed} in {asked} calls; first: {_error(result)}"
    unread = sum(result.unread.values())
    if unread * 5 >= asked:
        yield f"replies that could not be read: {_share(unread, asked)} of the calls"
    if result.errors and result.path and not any(value is not None for value in (result.answer or {}).values()):
        yield f"no answer was made of the path; last error: {one_line(next(reversed(result.errors)), LONGEST)}"
    if result.unclosed is not None:
        yield f"the closing call gave no answer: {_unclosed(result)}; the fields hold what the best candidate says"
    if result.hung:
        yield (
            f"{', '.join(result.hung)}: still running as the time was up, and left behind; the result is what the "
            "search had found by then"
        )
    if result.clamped:
        yield f"{result.clamped} rating(s) were off the scale and clamped to it"
    raised, steps = _raised(result)
    if len(raised) * 5 >= max(1, steps):
        yield f"steps that raised an error: {_share(len(raised), steps)}; first: {one_line(raised[0], LONGEST)}"
    yield from dict.fromkeys(one_line(text, LONGEST) for text in _of_steps(result, "warning"))


def _of_steps(result: Result, what: str) -> list[str]:
    """What an environment told of its runs beside what an actor is shown: each `error`, or each `warning`."""
    return [str(record[what]) for record in _records(result) if record.get(what) is not None]


def _records(result: Result) -> list[dict[str, Any]]:
    """What is kept of each step in an environment."""
    kept: list[Any] = [node.observation for node in result.tree]
    return [cast("dict[str, Any]", record) for record in kept if isinstance(record, dict)]


def _raised(result: Result) -> tuple[list[str], int]:
    """The errors that steps came to, and how many steps there were."""
    return _of_steps(result, "error"), len(_records(result))


def explain(result: Result) -> list[str]:
    return [
        f"{result.status.value.capitalize()}: {_ending(result)}",
        *_proposals(result),
        *_ratings(result),
        *_spending(result),
        f"Change first: {_advice(result)}",
    ]


def _ending(result: Result) -> str:
    why = {
        Ended.GOAL: "a goal was reached",
        Ended.SEARCHED_OUT: "nothing was left to expand",
        Ended.ROLLOUTS: "all rollouts were used",
        Ended.EXPANSIONS: "all expansions were used",
        Ended.STOPPED: "it was stopped",
        Ended.ERROR: f"calls failed, first: {_error(result)}",
        None: "it has not ended",
    }.get(result.ended, f"the budget of {result.ended} was used up")
    nodes = f"{len(result.tree)} node{'s' * (len(result.tree) != 1)}"
    return f"{why}; {nodes} to depth {max(n.depth for n in result.tree)}."


def _proposals(result: Result) -> Iterator[str]:
    proposed = len(result.tree) - 1
    rules = result.rules_broken()
    if rules:
        listed = ", ".join(f"{one_line(rule, LONGEST)}: {count}" for rule, count in list(rules.items())[:3])
        yield f"Illegal proposals: {_share(sum(rules.values()), proposed)}; by rule: {listed}."
    if copies := result.duplicates():
        yield f"Duplicate proposals: {_share(copies, proposed)}."
    if failed := [n for n in result.tree if n.status is FAILED]:
        yield f"Failed nodes: {len(failed)}; first error: {one_line(str(failed[0].reason), LONGEST)}."
    raised, steps = _raised(result)
    if raised:
        yield f"Steps that raised an error: {_share(len(raised), steps)}; first: {one_line(raised[0], LONGEST)}."
    if result.unread:
        listed = ", ".join(f"{role}: {count}" for role, count in result.unread.items())
        yield f"Replies that could not be read: {listed}."


def _ratings(result: Result) -> Iterator[str]:
    lost, praised, checked = contradicted(result)
    if checked:
        yield (
            f"Ratings that code contradicts: {_share(len(lost) + len(praised), checked)}; "
            f"pruned though solvable: {len(lost)}; rated high though hopeless: {len(praised)}."
        )
        if lost and not result.solved:
            path = " -> ".join(one_line(step, LONGEST) for step in result.steps(lost[0]))
            yield f"For example {path} was pruned at value {lost[0].value:g}, and a solution follows from it."
    alike, groups = result.collapsed
    if groups and alike * 2 >= groups:
        yield f"Ratings hardly differ in {_share(alike, groups)} of the sibling groups."


def _spending(result: Result) -> Iterator[str]:
    if result.spent.calls:
        parts = ", ".join(
            f"{role} {_share(usage.calls, result.spent.calls)}"
            for role, usage in result.spent_by.items()
            if usage.calls
        )
        yield f"Calls: {result.spent.calls}: {parts}."
    if result.failed and result.ended is not Ended.ERROR:
        yield f"Failures: {result.failed}; first: {_error(result)}."
    if result.unfinished:
        yield f"Calls still in flight as it ended: {result.unfinished}."
    if result.unclosed is not None:
        yield f"The closing call gave no answer: {_unclosed(result)}."


def _advice(result: Result) -> str:
    """The one change that the counts speak for most."""
    proposed = max(1, len(result.tree) - 1)
    illegal = sum(result.rules_broken().values())
    lost, praised, checked = contradicted(result)
    alike, groups = result.collapsed

    def unread(role: str) -> bool:  # a third of its calls
        calls = result.spent_by[role].calls if role in result.spent_by else 0
        return result.unread.get(role, 0) * 3 >= max(1, calls)

    if (first := losses.advice(result)) is not None:
        return first
    if result.status is SearchStatus.SOLVED:
        return "nothing; if it was dear, try a smaller width or branching."
    if result.ended is Ended.ERROR or result.failed * 3 >= max(1, result.spent.calls):
        return f"the failing calls ({_error(result)})."
    raised, steps = _raised(result)
    if len(raised) * 3 >= max(1, steps):
        return f"what its steps raise ({one_line(raised[0], LONGEST)})."
    for role, mend in losses.FORMATS.items():
        if unread(role):
            return mend
    if result.unclosed is not None:
        return f"the closing call: {_unclosed(result)}."
    if illegal * 2 >= proposed:
        return "the proposals: most were illegal; show the rules in the instructions, or use propose='moves'."
    flat = bool(groups) and alike * 2 >= groups
    if lost and not (flat and all(node.value == node.reason for node in lost)):  # not only cut off among equals
        return "the rater: it drops solvable states; use samples > 1, a lower threshold, or a better rate_lm."
    if flat:
        return "the rating scale: nearly all values are equal; rank by vote or pairs instead."
    if praised and checked and len(praised) * 2 >= checked:
        return "the rater: it keeps hopeless states; show it how to check, or rate with code."
    if result.duplicates() * 2 >= proposed:
        return "the proposals' variety: most are duplicates; ask for fewer, or sample at more temperature."
    spent = (Ended.CALLS, Ended.TOKENS, Ended.COST, Ended.SECONDS, Ended.NODES, Ended.EXPANSIONS)
    if result.ended in spent:
        return f"the budget: the search ended for {result.ended} with states left to expand."
    return "the search's size: raise branching, then width or max_depth."
