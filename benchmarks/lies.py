"""A proposer that gets sums wrong, and goes on with what it got: what repair saves, what is ever claimed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from thoughtree.search import DFS, Beam, BestFirst, Illegal
from thoughtree.search.controller import Controller
from thoughtree.tasks import Game24, Game24State, Move
from thoughtree.tasks.arithmetic import combine
from thoughtree.tasks.notation import Number, read_number

from .controls import random_order
from .data import Puzzle, papers_puzzles
from .game24 import Outcomes, search
from .report import Report, Row, at_least, beside, exactly
from .stub_policy import CONFIGS, StubPolicy, u
from .whole_program import solve_all

LIES = 0.3  # of the lines
KEPT = 0.95  # of the solves without lies
SEEDS = (0, 1, 2)
NOISE = CONFIGS["gpt4-like"]
PROGRAM = "best-first(100)"  # the one that a whole program runs too
MEAN_EXPANSIONS = 15  # of best-first(100) here
CONTROLLERS: dict[str, Controller] = {
    "beam 5": Beam(branching=None),
    "dfs": DFS(branching=None),
    "best-first(100)": BestFirst(branching=None, keep=None, prune_below=0.0, expansions=100),
}


class Liar:
    """Writes a policy's moves as text, a share of them with a wrong result, also among the numbers left.

    Of a last move it says that it makes 24 (25 where it does).
    """

    def __init__(self, policy: StubPolicy, share: float) -> None:
        self.policy, self.share = policy, share
        self.lines = self.lies = 0
        self.rate = policy.rate

    def propose(self, state: Game24State) -> list[str]:
        return [self.line(state, move) for move in self.policy.propose(state)]

    def line(self, state: Game24State, move: Move) -> str:
        policy = self.policy
        result: Number = combine(move.left, move.op, move.right)
        operation = str(move).rpartition("=")[0]
        rest = list(state.numbers)
        rest.remove(move.left)
        rest.remove(move.right)
        self.lines += 1
        if u(policy.seed, "lie", policy.puzzle, f"{' '.join(map(str, state.numbers))}>{move}") < self.share:
            self.lies += 1
            result = 24 if not rest and result != 24 else result + 1
        left = " ".join(map(str, sorted([*rest, result])))
        return f"{operation} = {result} (left: {left})"


@dataclass(frozen=True, slots=True)
class Believed:
    """A move, and the result that was stated for it."""

    move: Move
    result: Number


class Trusting(Game24):
    """The control without a check: what is stated as the result is the result."""

    def parse(self, text: str, state: Game24State) -> Any:
        move, stated = super().parse(text, state), text.partition(" = ")[2].partition(" (")[0]
        return move if isinstance(move, Illegal) else Believed(move, read_number(stated))

    def apply(self, state: Game24State, action: Any) -> Game24State | Illegal:
        new, move = super().apply(state, action.move), action.move
        if isinstance(new, Illegal):
            return new
        at = new.numbers.index(combine(move.left, move.op, move.right))
        numbers = [*new.numbers[:at], action.result, *new.numbers[at + 1 :]]
        pairs = sorted(zip(numbers, new.expressions, strict=True), key=lambda pair: pair[0])
        return Game24State(tuple(n for n, _ in pairs), tuple(e for _, e in pairs))


@dataclass(slots=True)
class Run:
    """One controller over puzzles and seeds. lines, lies: proposed in all, and the false ones of them."""

    outcomes: Outcomes
    lines: int
    lies: int


def lied_to(puzzles: Sequence[Puzzle], controller: Controller, task: Game24, share: float) -> Run:
    run = Run(Outcomes(), 0, 0)
    for seed in SEEDS:
        for puzzle in puzzles:
            liar = _liar(puzzle, share, seed)
            run.outcomes += search(puzzle, controller, liar, task=task)
            run.lines, run.lies = run.lines + liar.lines, run.lies + liar.lies
    return run


def measure(data: Path) -> Report:
    puzzles = papers_puzzles(data)
    notes = [
        f"{len(puzzles)} puzzles, mean of {len(SEEDS)} seeds, a policy as noisy as GPT-4.",
        "Repaired: result and remaining numbers are worked out in code. Strict: a wrong line is dropped.",
        "Believed: the control without a check, in which a stated result is the result.",
    ]
    return Report("lies", "a proposer that makes 30 % of its results false", list(rows(puzzles)), notes)


def rows(puzzles: Sequence[Puzzle]) -> Iterator[Row]:
    lines = lies = false = 0
    for name, controller in CONTROLLERS.items():
        honest = lied_to(puzzles, controller, Game24(), 0.0).outcomes
        repaired = lied_to(puzzles, controller, Game24(), LIES)
        strict = lied_to(puzzles, controller, Game24(strict=True), LIES)
        believed = lied_to(puzzles, controller, Trusting(), LIES).outcomes
        lines, lies = lines + repaired.lines + strict.lines, lies + repaired.lies + strict.lies
        false += honest.false + repaired.outcomes.false + strict.outcomes.false
        yield at_least(f"{name}: solves kept with repair", repaired.outcomes.solved / honest.solved, KEPT)
        yield beside(f"{name}: solves kept with strict", strict.outcomes.solved / honest.solved)
        solved = {"without lies": honest, "repaired": repaired.outcomes, "strict": strict.outcomes}
        for what, got in solved.items():
            yield beside(f"{name}, {what}: solved", got.solved / len(SEEDS), f"of {len(puzzles)}")
        claims = f"of {believed.solved} claims"
        yield beside(f"control, {name}, believed: false claims", believed.false, claims)
    honest, kept = (_by_program(puzzles, share) for share in (0.0, LIES))
    false += honest.false + kept.false
    yield at_least(f"whole program, {PROGRAM}: solves kept with repair", kept.solved / honest.solved, KEPT)
    yield beside(f"whole program, {PROGRAM}, repaired: solved", kept.solved / len(SEEDS), f"of {len(puzzles)}")
    yield exactly("repaired and strict: claims that the independent checker refuses", false, 0)
    yield beside("lines that lie", lies / lines)
    chance = random_order(puzzles, _liar, expansions=MEAN_EXPANSIONS)
    figure = f"control, the lines in random order, repaired, up to {MEAN_EXPANSIONS} expansions: solved"
    at = f"{chance.expansions:.1f} expansions"
    yield beside(figure, chance.share * len(puzzles), f"of {len(puzzles)}", at)


def _liar(puzzle: Puzzle, share: float = LIES, seed: int = 0) -> Liar:
    return Liar(StubPolicy(NOISE, puzzle.text, seed), share)


def _by_program(puzzles: Sequence[Puzzle], share: float) -> Outcomes:
    total = Outcomes()
    for seed in SEEDS:
        total += solve_all(puzzles, CONTROLLERS[PROGRAM], partial(_liar, share=share, seed=seed))
    return total
