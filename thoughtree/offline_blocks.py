"""The stand-in's part for Blocksworld: what it proposes, predicts and approves, from the prompt alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .block_planning import good, moves_to_try, undone
from .modules.choose import listed_in
from .rules import Rules
from .search.protocol import Illegal
from .tasks import BlockMove, Blocksworld
from .tasks.blocksworld_facts import blocks_of
from .tasks.blocksworld_move import after, read_move
from .tasks.blocksworld_text import read_initial

BLOCKS = Blocksworld().instructions().partition(".")[0]  # the words by which a prompt is one of these


class BlockRules(Rules):
    """An engine: answers the prompts of a planner, each by the facts, the action and the goal that it shows."""

    def _fields(self, names: tuple[str, ...], inputs: dict[str, str]) -> Mapping[str, Any]:
        if not {"next_thoughts", "chosen_steps", "next_state", "step_verdict"} & set(names):
            raise ValueError(
                "the rule-based stand-in plans in Blocksworld, and neither rates nor sums up; give --model"
            )
        facts = read_initial(inputs["search_state"])
        if "next_state" in names:
            return {"next_state": predicted(facts, inputs["search_action"])}
        goal = Blocksworld().initial({"initial": inputs["search_state"], "goal": inputs["goal"]}).goal
        if "chosen_steps" in names:
            n = inputs["num_choices"]
            listed = [read_move(step, blocks_of(facts)) for step in listed_in(inputs["allowed_steps"])]
            places = [listed.index(move) + 1 for move in moves_to_try(facts, goal) if move in listed]
            return {"chosen_steps": ", ".join(map(str, places[: int(n) if n.isdigit() else None])) or "none"}
        if "next_thoughts" in names:
            n = inputs["num_thoughts"]
            moves = moves_to_try(facts, goal)[: int(n) if n.isdigit() else None]
            return {"next_thoughts": "\n".join(f"{i}. {move}" for i, move in enumerate(moves, 1)) or "none"}
        move = read_move(inputs["search_path"].splitlines()[-1].partition(". ")[2], blocks_of(facts))
        helps = isinstance(move, BlockMove) and good(move, undone(move, facts), goal)
        return {"step_reasoning": "by rule", "step_verdict": "yes" if helps else "no"}


def predicted(facts: frozenset[str], action: str) -> str:
    """What holds after an action, or why it is not possible."""
    move = read_move(action, blocks_of(facts))
    new = move if isinstance(move, Illegal) else after(facts, move)
    return f"ILLEGAL: {new.rule}" if isinstance(new, Illegal) else "\n".join(sorted(new))
