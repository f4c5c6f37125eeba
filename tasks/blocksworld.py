"""Blocksworld: blocks on a table and in stacks, and a hand that moves one at a time, until the goal's facts hold.

States are sets of facts, as in RAP (Hao et al. 2023, "Reasoning with Language Model is Planning with World Model",
arXiv 2305.14992, section 4.1). Its rules are those of the planning domain of Gupta and Nau, 1992.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from ..search.protocol import Illegal
from .blocksworld_facts import NOWHERE, blocks_of, completed, violated
from .blocksworld_move import BlockMove, after, legal, read_move
from .blocksworld_text import in_pddl, in_words, read_facts, read_initial
from .blocksworld_vocabulary import BlocksworldVocabulary
from .codec import texts
from .layout import brief
from .task import Task


@dataclass(frozen=True, slots=True)
class BlocksworldState:
    """What holds, what shall, and the moves made so far. Two states with the same facts are one to a search."""

    facts: frozenset[str]
    goal: frozenset[str]
    plan: tuple[str, ...] = ()


def read_goal(given: Any, blocks: Iterable[str]) -> frozenset[str]:
    """The facts that have to hold, of text or a list of texts about these blocks.

    ValueError, with the mend, for what is no fact, for none, and for some that cannot hold together.
    """
    goal = read_facts(given, "goal", frozenset(blocks))
    if not goal:
        raise ValueError(f"goal={brief(given)}: no facts, so that anything would do; give some, such as `on(a,b)`")
    for rule in violated(goal):
        if rule != NOWHERE:  # a goal says no more than it wants
            raise ValueError(f"goal={brief(given)} cannot hold: {rule}")
    return goal


@dataclass(frozen=True)
class Blocksworld(Task[BlocksworldState, BlockMove]):
    """Reads `initial` and `goal` (text or lists: `on(a,b)`, PDDL, or plain words), gives `plan`: one action a line.

    style: how prompts show states and actions. "facts": `on(a,b)`, and actions in words; "words": both in words;
    "pddl": `(on a b)`, `(stack a b)`. start: of the problem that this copy is about; `for_inputs` sets it, and `check`
    needs it.
    """

    style: Literal["facts", "words", "pddl"] = "facts"
    start: BlocksworldState | None = None

    signature = "initial, goal -> plan"
    vocabulary: ClassVar[BlocksworldVocabulary] = BlocksworldVocabulary()

    def __post_init__(self) -> None:
        if self.style not in ("facts", "words", "pddl"):
            raise ValueError(f"Blocksworld(style={self.style!r}): must be 'facts', 'words' or 'pddl'")

    def config(self) -> dict[str, Any]:
        return {"style": self.style}

    @property
    def action_format(self) -> str:
        """The four actions, as prompts show them."""
        if self.style == "pddl":
            return "`(pick-up a)`, `(put-down a)`, `(stack a b)` or `(unstack a b)`"
        return "`pick up a`, `put down a`, `stack a on top of b` or `unstack a from on top of b`"

    def instructions(self) -> str:
        return (
            "Blocks stand on a table or on each other, and one hand moves them, one at a time. The actions are "
            f"{self.action_format}. A block is picked up from the table, or unstacked from the block below it, if it "
            "is clear and the hand is empty; it is put down on the table, or stacked on a block that is clear. A block "
            "is clear if nothing is on it and it is not held. The plan is the actions in order, one a line; after the "
            "last one every condition of the goal holds."
        )

    # The problem

    def for_inputs(self, inputs: Mapping[str, Any]) -> Blocksworld:
        return replace(self, start=self.initial(inputs))

    def initial(self, inputs: Mapping[str, Any]) -> BlocksworldState:
        for name in ("initial", "goal"):
            if name not in inputs:
                mend = "give initial='on(a,b), ontable(b)', goal='on(b,a)'"
                raise ValueError(f"inputs={brief(dict(inputs))} has no field `{name}`; {mend}")
        facts = read_initial(inputs["initial"])
        return BlocksworldState(facts, read_goal(inputs["goal"], blocks_of(facts)))

    def inputs_at(self, state: BlocksworldState, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The problem that is left, from `state` on: the inputs with another start."""
        return {**inputs, "initial": ", ".join(sorted(state.facts))}

    # One step

    def parse(self, text: str, state: BlocksworldState) -> BlockMove | Illegal:
        return read_move(text, blocks_of(state.facts))

    def apply(self, state: BlocksworldState, action: BlockMove) -> BlocksworldState | Illegal:
        facts = after(state.facts, action)
        return facts if isinstance(facts, Illegal) else self.predicted(state, action, facts)

    def predicted(self, state: BlocksworldState, action: BlockMove, facts: Iterable[str]) -> BlocksworldState:
        """The state in which `facts` hold after `action`, whoever says so; what follows from them is added."""
        return BlocksworldState(completed(facts), state.goal, (*state.plan, self.show(action)))

    def rules(self, state: BlocksworldState) -> list[str]:
        return violated(state.facts, blocks_of(self.start.facts if self.start else state.facts | state.goal))

    def key(self, state: BlocksworldState) -> Hashable:
        return state.facts

    def moves(self, state: BlocksworldState) -> list[BlockMove]:
        return legal(state.facts)

    # Verdicts

    def is_goal(self, state: BlocksworldState) -> bool:
        return state.goal <= state.facts

    def goal_share(self, state: BlocksworldState) -> float:
        """Goal conditions met / all, 0 to 1."""
        return len(state.goal & state.facts) / len(state.goal)

    def value(self, state: BlocksworldState) -> float:
        return self.goal_share(state)

    def is_terminal(self, state: BlocksworldState) -> bool:
        return False  # what was taken can be put back

    def solvable(self, state: BlocksworldState) -> bool:
        """Every legal state can be reached from every other: take all stacks down, then build."""
        return not self.rules(state)

    def check(self, fields: Mapping[str, Any]) -> bool | Illegal:
        """Does the plan lead from the start to the goal? Its lines, or the items of a list, are run one by one."""
        if self.start is None:
            raise ValueError("check does not know the problem; ask for_inputs(inputs).check(fields)")
        given = fields.get("plan")
        lines = given if isinstance(given, list | tuple) else str(given or "").splitlines()
        state = self.start
        for line in lines:
            text = re.sub(r"^\s*(?:[0-9]{1,3}\s?[.):]|[-*•])\s*", "", str(line)).strip()
            if not text:
                continue
            action = self.parse(text, state)
            after_it = action if isinstance(action, Illegal) else self.apply(state, action)
            if isinstance(after_it, Illegal):
                return after_it
            state = after_it
        return True if self.is_goal(state) else Illegal("goal not met")

    # To the reader

    def render(self, state: BlocksworldState) -> str:
        if self.style == "pddl":
            return in_pddl(state.facts)
        facts = sorted(state.facts)
        return "\n".join(map(in_words, facts) if self.style == "words" else facts)

    def show(self, action: BlockMove) -> str:
        return action.pddl if self.style == "pddl" else str(action)

    def answer(self, state: BlocksworldState) -> dict[str, Any]:
        return {"plan": "\n".join(state.plan)}

    def dump(self, state: BlocksworldState) -> Any:
        return {"facts": sorted(state.facts), "goal": sorted(state.goal), "plan": list(state.plan)}

    def load(self, value: Any) -> BlocksworldState:
        facts, goal, plan = (texts(value[name]) for name in ("facts", "goal", "plan"))
        return BlocksworldState(frozenset(facts), frozenset(goal), plan)
