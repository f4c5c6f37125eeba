"""The stand-in that answers where no model is given: rules for two kinds of puzzle behind a `dspy.LM`.

It is no language model. It reads prompts and writes replies, so adapters, parsing, budgets and journals are
those of any model; what it knows of a puzzle is what the prompt says.
"""

from __future__ import annotations

import re
from typing import Any

import dspy

from .mental_arithmetic import feeling, moves_to_try
from .offline_blocks import BLOCKS, BlockRules
from .rules import AsyncRules, Rules
from .search.protocol import Illegal
from .tasks import Blocksworld, Game24, Game24State, Move
from .tasks.arithmetic import written
from .tasks.notation import Number, read_number

MODEL = "offline/rules"
PRICES = {MODEL: (0.0, 0.0)}
NOTICE = "no --model given: a rule-based stand-in answers, not a language model"

_TARGET = re.compile(r"\bMake (\S+) from the given numbers\b")
_RANGE = re.compile(r"\ba number from (\S+) \(hopeless\) to (\S+) \(solved\)")
_ANCHORED = re.compile(r"\ba whole number: 0 to 2\b")
_STEP = re.compile(r"^\d+\. (.+)$", re.M)
WORTH = {"sure": 0.9, "maybe": 0.5, "impossible": 0.0}  # of a scale's length


def plays(task: Any) -> bool:
    """Whether the stand-in can answer for this task."""
    return isinstance(task, Game24 | Blocksworld)


def offline_lm() -> Any:
    """The stand-in as a `dspy.LM`."""
    rules = StandIn()
    return dspy.LM(MODEL, engine=rules, async_engine=AsyncRules(rules), cache=False)


class StandIn(Rules):
    """An engine: for each prompt, the rules that its own instructions ask for."""

    def complete(self, request: Any) -> Any:
        told = str(request.system or "")
        if BLOCKS in told:
            return BlockRules().complete(request)
        found = _TARGET.search(told)
        if found is None:
            raise ValueError(
                "the rule-based stand-in plays the Game of 24 and Blocksworld, and nothing else; give --model"
            )
        player = Player(read_number(found[1]), told)
        return Rules(player.propose, player.rate, player.answer, choose=player.choose).complete(request)


class Player:
    """Answers one prompt. target: what the numbers shall make. told: the instructions, with the scale."""

    def __init__(self, target: Number, told: str) -> None:
        self.target, self.told = target, told

    def propose(self, inputs: dict[str, str], n: int | None) -> list[str]:
        found = moves_to_try(shown(inputs["search_state"]), self.target)[:n]
        return [f"{move} (left: {' '.join(map(str, left))})" for move, left in found]

    def choose(self, inputs: dict[str, str], n: int | None, steps: list[str]) -> list[str]:
        """Of the listed moves those that it would propose, in its own order."""
        game, state = Game24(target=self.target), Game24State.of(shown(inputs["search_state"]))
        listed = {_after(game, state, game.parse(step, state)).numbers: step for step in steps}
        wanted = [_after(game, state, move).numbers for move, _ in moves_to_try(state.numbers, self.target)]
        return list(dict.fromkeys(listed[numbers] for numbers in wanted if numbers in listed))[:n]

    def rate(self, inputs: dict[str, str]) -> str:
        numbers = shown(inputs["search_state"].splitlines()[-1])  # a candidate's steps stand before its state
        word, _ = feeling(numbers, self.target)
        if _ANCHORED.search(self.told):
            return str(round(10 * WORTH[word]))
        if found := _RANGE.search(self.told):
            low, high = float(found[1]), float(found[2])
            return f"{low + (high - low) * WORTH[word]:g}"
        return word

    def answer(self, inputs: dict[str, str]) -> str:
        """One expression: the steps that are given, then whatever comes to mind first."""
        game = Game24(target=self.target)
        state = game.initial(inputs)
        for step in _STEP.findall(inputs.get("search_path", "")):
            state = _after(game, state, game.parse(step, state))
        while len(state.numbers) > 1:
            state = _after(game, state, moves_to_try(state.numbers, self.target)[0][0])
        return written(state.expressions[0])


def _after(game: Game24, state: Game24State, move: Move | Illegal) -> Game24State:
    new = move if isinstance(move, Illegal) else game.apply(state, move)
    return state if isinstance(new, Illegal) else new


def shown(text: str) -> tuple[Number, ...]:
    """The numbers of a position as a prompt shows it."""
    return tuple(sorted(map(read_number, text.split())))
