"""The Game of 24: join the numbers with + - * /, each once, to make the target.

Source: Yao et al. 2023, "Tree of Thoughts", arXiv 2305.10601, section 4.1.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from ..search.protocol import Illegal
from .arithmetic import Expression, check_expression, combine, value_of, written
from .game24_input import MOST_NUMBERS, read_numbers, read_target
from .game24_move import BY_ZERO, NOT_AVAILABLE, Move, read_move
from .layout import brief
from .notation import Number, read_number
from .reachable import reachable
from .stepping import marked_answer
from .task import Task

OPERATORS = ("+", "-", "*", "/")
SOLVABLE_UP_TO = 6  # numbers; about a tenth of a second


@dataclass(frozen=True, slots=True)
class Game24State:
    """The numbers that are left, sorted, and beside each the expression that made it."""

    numbers: tuple[Number, ...]
    expressions: tuple[Expression, ...]

    @classmethod
    def of(cls, expressions: Iterable[Expression]) -> Game24State:
        """The state in which these expressions, or plain numbers, are left."""
        pairs = sorted(((value_of(e), e) for e in expressions), key=lambda pair: pair[0])
        return cls(tuple(number for number, _ in pairs), tuple(expression for _, expression in pairs))


@dataclass(frozen=True)
class Game24(Task[Game24State, Move]):
    """Reads `numbers` ("4 9 10 13", or a list), makes `target`, gives `answer`: one expression.

    target: whole or a fraction (`"3/2"`). count: how many numbers a puzzle has; None: any. strict: a move
    must also state its result, and be right about it and about the numbers that remain, if it states them;
    otherwise both are recomputed. numbers: of the puzzle that this copy is about; `for_inputs` sets it, and
    `check` needs it.
    """

    target: int | str | Fraction = 24
    count: int | None = None
    strict: bool = False
    numbers: tuple[int, ...] | None = None

    signature = "numbers -> answer"

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", read_target(self.target))
        if self.count is not None and not 1 <= self.count <= MOST_NUMBERS:
            raise ValueError(f"count={self.count!r} must be 1 to {MOST_NUMBERS}, or None for any")

    @property
    def goal(self) -> Number:
        """The target as a number."""
        assert not isinstance(self.target, str)
        return self.target

    def config(self) -> dict[str, Any]:
        target = self.goal if isinstance(self.goal, int) else str(self.goal)
        return {"target": target, "count": self.count, "strict": self.strict}

    def instructions(self) -> str:
        return (
            f"Make {self.goal} from the given numbers with + - * / and brackets, each number exactly once. "
            "A step takes two of the numbers that are left and puts the result of one operation in their "
            "place: write it as `a - b = c (left: the numbers that then remain)`. Fractions are allowed. "
            f"The answer is one expression over the given numbers that equals {self.goal}."
        )

    def for_inputs(self, inputs: Mapping[str, Any]) -> Game24:
        return replace(self, numbers=self._puzzle(inputs))

    def initial(self, inputs: Mapping[str, Any]) -> Game24State:
        return Game24State.of(self._puzzle(inputs))

    def _puzzle(self, inputs: Mapping[str, Any]) -> tuple[int, ...]:
        numbers = read_numbers(inputs, self.count)
        if len(numbers) == 1 and numbers[0] != self.goal:
            raise ValueError(
                f"numbers={brief(inputs['numbers'])}: too few numbers (1) to make {self.goal}; give at least 2"
            )
        return numbers

    def parse(self, text: str, state: Game24State) -> Move | Illegal:
        return read_move(text, state.numbers, self.strict)

    def apply(self, state: Game24State, action: Move) -> Game24State | Illegal:
        numbers, expressions = list(state.numbers), list(state.expressions)
        try:
            i = numbers.index(action.left)
            del numbers[i]
            j = numbers.index(action.right)
            del numbers[j]
            result = combine(action.left, action.op, action.right)
        except ZeroDivisionError:
            return Illegal(BY_ZERO)
        except ValueError:
            return Illegal(NOT_AVAILABLE)
        expression = (expressions.pop(i), action.op, expressions.pop(j))
        at = bisect_right(numbers, result)
        numbers.insert(at, result)
        expressions.insert(at, expression)
        return Game24State(tuple(numbers), tuple(expressions))

    def write(self, action: Move, state: Game24State) -> str:
        """`10 - 4 = 6 (left: 6 9 13)`."""
        after = self.apply(state, action)
        left = "" if isinstance(after, Illegal) else f" (left: {' '.join(map(str, after.numbers))})"
        return f"{action.spaced()}{left}"

    def moves(self, state: Game24State) -> list[Move]:
        """The legal moves that lead to different numbers: sums, differences, products, quotients by pair."""
        found: dict[Hashable, Move] = {}
        for low, high in dict.fromkeys(combinations(state.numbers, 2)):
            moves = [Move(low, "+", high), Move(high, "-", low), Move(low, "-", high), Move(low, "*", high)]
            moves += [Move(a, "/", b) for a, b in ((high, low), (low, high)) if b]
            for move in moves:
                new = self.apply(state, move)
                if not isinstance(new, Illegal):
                    found.setdefault(new.numbers, move)
        return list(found.values())

    def key(self, state: Game24State) -> Hashable:
        return state.numbers

    def is_goal(self, state: Game24State) -> bool:
        return state.numbers == (self.target,)

    def is_terminal(self, state: Game24State) -> bool:
        return len(state.numbers) == 1

    def solvable(self, state: Game24State) -> bool | None:
        return reachable(state.numbers, self.goal) if len(state.numbers) <= SOLVABLE_UP_TO else None

    def render(self, state: Game24State) -> str:
        return " ".join(map(str, state.numbers))

    def answer(self, state: Game24State) -> dict[str, Any]:
        return {"answer": written(state.expressions[0])} if len(state.numbers) == 1 else {}

    def check(self, fields: Mapping[str, Any]) -> bool | Illegal:
        if self.numbers is None:
            raise ValueError("check does not know the puzzle's numbers; ask for_inputs(inputs).check(fields)")
        answer = fields.get("answer")
        if not isinstance(answer, str) or not answer.strip():
            return Illegal("no answer")
        marked = marked_answer(answer)
        return check_expression(answer if marked is None else marked, self.numbers, self.goal)

    def dump(self, state: Game24State) -> Any:
        return [_dump(expression) for expression in state.expressions]

    def load(self, value: Any) -> Game24State:
        return Game24State.of(_load(expression) for expression in value)


def _dump(expression: Expression) -> Any:
    if isinstance(expression, tuple):
        left, op, right = expression
        return [_dump(left), op, _dump(right)]
    return expression if isinstance(expression, int) else str(expression)


def _load(value: Any) -> Expression:
    if isinstance(value, list):
        left, op, right = value
        if op not in OPERATORS:
            raise ValueError(f"{op!r} is no operator of {', '.join(OPERATORS)}")
        return (_load(left), op, _load(right))
    if isinstance(value, bool):
        raise ValueError(f"{value!r} is no number")
    return value if isinstance(value, int) else read_number(value)
