"""A stand-in for a model that plays the Game of 24 with a chosen noise. Every coin is a hash, so that any
implementation, and any order of calls, meets the same policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256

from thoughtree.tasks import Game24, Game24State, Move

SURE, LIKELY, IMPOSSIBLE = 20.0, 1.0, 0.001
TASK = Game24()

Noise = Mapping[tuple[int, bool], float]  # by how many numbers a state has, and whether 24 can be reached


def u(seed: int, kind: str, puzzle: str, key: str) -> float:
    """A coin in [0, 1): 52 bits of a hash."""
    return int(sha256(f"{seed}|{kind}|{puzzle}|{key}".encode()).hexdigest()[:13], 16) / 2**52


@dataclass(frozen=True, slots=True)
class Config:
    """recall: how likely a successor is proposed, by the numbers of the state it comes from and its own
    solvability. sure, likely: how likely a state gets these labels; else it is called impossible.
    """

    recall: Noise
    sure: Noise
    likely: Noise


def _both(solvable: float, unsolvable: float) -> dict[tuple[int, bool], float]:
    return {(n, truth): solvable if truth else unsolvable for n in (2, 3, 4) for truth in (True, False)}


def binary(false_negatives: float, false_positives: float, recall: float = 1.0) -> Config:
    """Only sure and impossible, wrong as often as this."""
    return Config(_both(recall, recall), _both(1 - false_negatives, false_positives), _both(0, 0))


CONFIGS = {
    "perfect": binary(0, 0),
    "full recall, eps=0.1": binary(0.1, 0.1),
    "full recall, eps=0.2": binary(0.2, 0.2),
    "full recall, eps=0.3": binary(0.3, 0.3),
    "full recall, no signal": Config(_both(1, 1), _both(0, 0), _both(1, 1)),
    "recall 0.5, perfect value": binary(0, 0, recall=0.5),
    # As measured on what GPT-4 said of the paper's puzzles.
    "gpt4-like": Config(
        recall={
            (4, True): 0.439,
            (4, False): 0.276,
            (3, True): 0.653,
            (3, False): 0.351,
            (2, True): 0.935,
            (2, False): 0.530,
        },
        sure={(3, True): 0.420, (3, False): 0.003, (2, True): 0.963, (2, False): 0.0},
        likely={(3, True): 0.476, (3, False): 0.797, (2, True): 0.012, (2, False): 0.298},
    ),
}


class StubPolicy:
    """One puzzle's proposer and rater."""

    def __init__(self, config: Config, puzzle: str, seed: int = 0) -> None:
        self.config, self.puzzle, self.seed = config, puzzle, seed

    def propose(self, state: Game24State) -> list[Move]:
        """The successors recalled, in ascending order of their numbers."""
        size, here = len(state.numbers), TASK.render(state)
        return [
            move
            for move, there, solvable in successors(state.numbers)
            if u(self.seed, "prop", self.puzzle, f"{here}>{there}") < self.config.recall[size, solvable]
        ]

    def rate(self, state: Game24State) -> float:
        case = len(state.numbers), bool(TASK.solvable(state))
        x = u(self.seed, "val", self.puzzle, TASK.render(state))
        if x < self.config.sure[case]:
            return SURE
        return LIKELY if x < self.config.sure[case] + self.config.likely[case] else IMPOSSIBLE


@cache
def successors(numbers: tuple[int, ...]) -> tuple[tuple[Move, str, bool], ...]:
    """A move to each distinct successor, its numbers as text, and whether 24 can be reached from there."""
    state = Game24State(numbers, numbers)
    found = []
    for move in TASK.moves(state):
        new = TASK.apply(state, move)
        assert isinstance(new, Game24State)
        found.append((new.numbers, move, TASK.render(new), bool(TASK.solvable(new))))
    return tuple((move, text, solvable) for _, move, text, solvable in sorted(found, key=lambda s: s[0]))
