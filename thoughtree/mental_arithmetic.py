"""The Game of 24 as someone plays it in the head: which moves come to mind, and how a position feels.

It sees the numbers in front of it and nothing else, looks a little way ahead, and errs: it is no solver.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Literal

from .search.protocol import Illegal
from .tasks import Game24, Game24State, Move
from .tasks.arithmetic import combine
from .tasks.notation import Number

Numbers = tuple[Number, ...]
Feeling = Literal["sure", "maybe", "impossible"]
GAME = Game24()  # its moves are those of any target


def moves_to_try(numbers: Numbers, target: Number) -> list[tuple[Move, Numbers]]:
    """The legal moves and the numbers that each leaves, those that come to mind first in front."""
    return sorted(moves(numbers), key=lambda found: -appeal(found[0], found[1], target))


def feeling(numbers: Numbers, target: Number) -> tuple[Feeling, str]:
    """How a position feels, and why. Two numbers are tried out, three only with whole results on the way."""
    if len(numbers) == 1:
        return ("sure" if numbers[0] == target else "impossible"), f"{numbers[0]} is left"
    if len(numbers) <= 3 and (line := seen_line(numbers, target)):
        return "sure", ", then ".join(map(str, line))
    if len(numbers) == 2:
        return "impossible", f"no operation on these two makes {target}"
    if out_of_reach(numbers, target):
        return "impossible", f"even multiplied they stay under {target}"
    return "maybe", "no way to finish comes to mind"


def appeal(move: Move, left: Numbers, target: Number) -> float:
    """How readily a move comes to mind: where it makes a small whole number that suits the target."""
    if left == (target,):
        return 100.0
    if len(left) == 2 and seen_line(left, target):
        return 50.0
    made = combine(move.left, move.op, move.right)
    if isinstance(made, Fraction) or made < 0:
        return -5.0
    fits = 3.0 * (isinstance(target, int) and made != 0 and target % made == 0)
    others = list(left)
    others.remove(made)
    meets = 2.0 * any(seen_line(tuple(sorted((made, other))), target) for other in others)
    small = 4.0 * (made <= 2 * max(target, -target)) - min(made, 400) / 100
    return fits + meets + small - 3.0 * (made == 0)


@lru_cache(maxsize=4096)
def seen_line(numbers: Numbers, target: Number) -> tuple[Move, ...]:
    """Moves that end on the target by way of whole results that are not negative; () if there are none."""
    for move, left in moves(numbers):
        if left == (target,):
            return (move,)
        made = combine(move.left, move.op, move.right)
        if len(left) > 1 and isinstance(made, int) and made >= 0 and (line := seen_line(left, target)):
            return (move, *line)
    return ()


def out_of_reach(numbers: Numbers, target: Number) -> bool:
    """Whether these are whole numbers too small to get there by multiplying."""
    if any(isinstance(number, Fraction) or number < 0 for number in numbers):
        return False
    most: Number = 1
    for number in numbers:
        most = max(most + number, most * number)
    return most < target


@lru_cache(maxsize=4096)
def moves(numbers: Numbers) -> tuple[tuple[Move, Numbers], ...]:
    """Each legal move, and the numbers that it leaves."""
    state, found = Game24State(numbers, numbers), []
    for move in GAME.moves(state):
        after = GAME.apply(state, move)
        if not isinstance(after, Illegal):
            found.append((move, after.numbers))
    return tuple(found)
