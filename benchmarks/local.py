"""What a small real model solves by choosing among the legal moves, beside random choice at equal expansions."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations_with_replacement, pairwise
from pathlib import Path
from random import Random
from statistics import fmean, quantiles
from typing import Any

import dspy

from thoughtree import Beam, Blocksworld, Game24, SearchResult, Task, TreeOfThoughts, local_lm
from thoughtree.modules.listing import legal_moves
from thoughtree.optimize.intervals import wilson
from thoughtree.search.protocol import Illegal
from thoughtree.search.tree import ILLEGAL
from thoughtree.tasks.blocksworld import BlocksworldState
from thoughtree.tasks.reachable import reachable
from thoughtree.testing import RuleLM

from .report import Report, Row, beside

MODELS = ("smollm2-135m", "gemma3-270m")
PUZZLES = 20
SEEDS = 100  # of random choice
ROOM = 80  # tokens of a reply
CARDS = range(1, 14)
COLOURS = ("red", "green", "blue")
STEPS = (2, 4)  # of the shortest plan


@dataclass(frozen=True, slots=True)
class Game:
    """One kind of puzzle. good: whether a move from a state (the second) to another (the third) is a right one."""

    name: str
    task: Task[Any, Any]
    controller: Any
    puzzles: Sequence[dict[str, Any]]
    good: Callable[[Any, Any, Any], bool | None]

    def program(self) -> TreeOfThoughts:
        """Nothing but the chooser knows anything: all values are equal, and the beam keeps what was chosen first."""
        return TreeOfThoughts(
            task=self.task,
            propose="choose",
            value_fn=lambda inputs, path: 1.0,
            controller=self.controller,
            answer="path",
            concurrency=1,
        )


@dataclass
class Tally:
    """Sums over puzzles. right, choices: chosen moves from states that can be solved. by_chance: of as many drawn from
    the same lists at random, how many would be right on average.
    """

    solved: int = 0
    expansions: int = 0
    calls: int = 0
    unread: int = 0
    tokens: int = 0
    seconds: float = 0.0
    right: int = 0
    choices: int = 0
    by_chance: float = 0.0
    per_puzzle: list[int] = field(default_factory=list)

    def add(self, game: Game, inputs: dict[str, Any], result: SearchResult[Any, Any], seconds: float) -> None:
        self.solved += result.solved
        self.per_puzzle.append(int(result.solved))
        self.expansions += sum(bool(node.children) for node in result.tree)
        self.calls += result.spent.calls
        self.unread += sum(result.unread.values())
        self.tokens += result.spent.tokens
        self.seconds += seconds
        task = game.task.for_inputs(inputs)
        for node in result.tree:
            made = [child for child in result.tree.children(node) if child.status is not ILLEGAL]
            if not made:
                continue
            listed = [task.apply(node.state, move) for move in legal_moves(task, node.state).values()]
            known = [game.good(task, node.state, new) for new in listed if not isinstance(new, Illegal)]
            if None in known or len(made) == len(known):
                continue
            self.right += sum(bool(game.good(task, node.state, task.apply(node.state, c.action))) for c in made)
            self.choices += len(made)
            self.by_chance += len(made) * fmean(map(bool, known))


def measure(data: Path | None = None) -> Report:
    notes = [
        f"{PUZZLES} puzzles of each game, drawn by a fixed seed. Every model chooses, at temperature 0, from the same "
        "lists of legal moves in the same search, whose values are all equal; a server that holds replies to a schema "
        f"lets it say nothing but numbers of the list. Random choice: the same search, {SEEDS} seeds.",
        "Right choices: of the moves chosen where the puzzle could still be solved, those after which it still can "
        "(Game of 24), or that bring the goal a step nearer (Blocksworld). By chance: of as many drawn from the very "
        "same lists. Lists of which all were taken are left out.",
        "Always the first: a model may have a liking for a place in the list, and no other; the lists' order then does "
        "its work.",
        "A share of random runs of 5 % or less would speak for a model; the intervals are of 95 %.",
    ]
    return Report("local", "small real models that choose among legal moves, beside chance", list(rows()), notes)


def rows(models: Sequence[str] = MODELS, puzzles: int = PUZZLES, seeds: int = SEEDS) -> Iterator[Row]:
    for game in (game24(puzzles), blocksworld(puzzles)):
        runs = [played(game, chance(seed)) for seed in range(seeds)]
        counts = sorted(run.solved for run in runs)
        cuts = quantiles(counts, n=40, method="inclusive")
        expanded = f"{fmean(run.expansions for run in runs) / puzzles:.1f} expansions"
        at = f"95 % of runs: {cuts[0]:g} to {cuts[-1]:g}; {expanded}"
        yield beside(f"{game.name}: random choice solves, of {puzzles}", fmean(counts), at=at)
        first = played(game, RuleLM(choose=lambda inputs, n, steps: steps[:n]))
        at = f"{first.expansions / puzzles:.1f} expansions; {right(first)}"
        yield beside(f"{game.name}: always the first of the list solves, of {puzzles}", first.solved, at=at)
        for model in models:
            found = played(game, local_lm(model, cache=False, temperature=0.0, max_tokens=ROOM))
            yield from of_model(game.name, model, found, counts)


def of_model(game: str, model: str, found: Tally, counts: Sequence[int]) -> Iterator[Row]:
    """counts: of the puzzles that each run of random choice has solved."""
    puzzles = len(found.per_puzzle)
    low, high = wilson(found.solved, puzzles)
    as_good = sum(count >= found.solved for count in counts) / len(counts)
    name = f"{game}: {model}"
    at = f"{low * puzzles:.1f} to {high * puzzles:.1f}; {found.expansions / puzzles:.1f} expansions"
    yield beside(f"{name} solves, of {puzzles}", found.solved, at=at)
    yield beside(f"{name}: random runs that solve as many", 100 * as_good, unit="%")
    if found.choices:
        share = 100 * found.right / found.choices
        yield beside(f"{name}: right choices, of {found.choices}", share, "%", at=right(found))
    yield beside(f"{name}: replies that chose nothing, of {found.calls}", found.unread)
    at = f"{found.seconds:.0f} s in all, {found.tokens / max(1, found.calls):.0f} tokens a call"
    yield beside(f"{name}: time a call", found.seconds / max(1, found.calls), "s", at)


def right(tally: Tally) -> str:
    """The share of right choices, and what chance would make of the same lists."""
    if not tally.choices:
        return "no choices"
    low, high = wilson(tally.right, tally.choices)
    chance = 100 * tally.by_chance / tally.choices
    return f"right: {100 * low:.0f} to {100 * high:.0f} %, by chance {chance:.0f} %"


def played(game: Game, lm: Any) -> Tally:
    """All puzzles of a game, with this chooser."""
    tally, program = Tally(), game.program()
    with dspy.context(lm=lm):
        for inputs in game.puzzles:
            began = time.perf_counter()
            result = program(**inputs).search
            tally.add(game, inputs, result, time.perf_counter() - began)
    return tally


def chance(seed: int) -> Any:
    """A chooser that draws."""
    rng = Random(seed)
    return RuleLM(choose=lambda inputs, n, steps: rng.sample(steps, min(n or 1, len(steps))))


# ---- the games


def game24(many: int) -> Game:
    cards = [cards for cards in combinations_with_replacement(CARDS, 4) if reachable(cards, 24)]
    drawn = Random(24).sample(cards, many)
    puzzles = [{"numbers": " ".join(map(str, four))} for four in drawn]

    @cache
    def solvable(numbers: tuple[Any, ...]) -> bool:
        return reachable(numbers, 24)

    def good(task: Any, state: Any, new: Any) -> bool | None:
        return solvable(new.numbers) if solvable(state.numbers) else None

    return Game("Game of 24", Game24(), Beam(width=1, branching=5, max_depth=3), puzzles, good)


def blocksworld(many: int) -> Game:
    """Three blocks; the goal is a whole arrangement, two to four steps away."""
    task, rng = Blocksworld(), Random(3)
    puzzles: list[dict[str, Any]] = []
    while len(puzzles) < many:
        initial, goal = arranged(rng), arranged(rng)
        inputs = {"initial": initial, "goal": goal}
        made = task.for_inputs(inputs)
        if STEPS[0] <= steps_to_goal(made.initial(inputs)) <= STEPS[1]:
            puzzles.append(inputs)

    def good(task: Any, state: Any, new: Any) -> bool:
        return steps_to_goal(new) < steps_to_goal(state)

    one_path = Beam(width=1, branching=1, max_depth=6, dedupe=False)  # a plan as a policy makes it, step by step
    return Game("Blocksworld", task, one_path, puzzles, good)


def arranged(rng: Random) -> str:
    """Some stacks of all blocks."""
    stacks: list[list[str]] = []
    for block in rng.sample(COLOURS, len(COLOURS)):
        place = rng.randrange(len(stacks) + 1)
        if place == len(stacks):
            stacks.append([])
        stacks[place].append(block)
    said = [f"ontable({stack[0]})" for stack in stacks]
    said += [f"on({upper},{lower})" for stack in stacks for lower, upper in pairwise(stack)]
    return ", ".join(said)


def steps_to_goal(state: Any) -> int:
    """The length of the shortest plan."""
    return _shortest(state.facts, state.goal)


@cache
def _shortest(facts: frozenset[str], goal: frozenset[str]) -> int:
    task = Blocksworld()
    ahead, seen = deque([(BlocksworldState(facts, goal, ()), 0)]), {facts}
    while ahead:
        here, steps = ahead.popleft()
        if task.is_goal(here):
            return steps
        for move in task.moves(here):
            new = task.apply(here, move)
            if not isinstance(new, Illegal) and new.facts not in seen:
                seen.add(new.facts)
                ahead.append((new, steps + 1))
    raise AssertionError("every arrangement can be reached from every other")
