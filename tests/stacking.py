"""Three blocks, a plan of four actions, and a model that knows it: Blocksworld as tests of RAP play it."""

from __future__ import annotations

from typing import Any

from thoughtree import Blocksworld, Illegal
from thoughtree.tasks import BlocksworldState

START = "on(red,blue), ontable(blue), ontable(green), clear(red), clear(green), handempty"
GOAL = "on(blue,green)"
PLAN = [
    "unstack the red block from on top of the blue block",
    "put down the red block",
    "pick up the blue block",
    "stack the blue block on top of the green block",
]
TASK = Blocksworld().for_inputs({"initial": START, "goal": GOAL})


def state_of(inputs: dict[str, str]) -> BlocksworldState:
    assert TASK.start is not None
    return BlocksworldState(frozenset(inputs["search_state"].splitlines()), TASK.start.goal)


def world(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    """A model that knows Blocksworld, lists all legal actions, and approves of the plan's own steps."""
    if "next_thoughts" in kind:
        return {"next_thoughts": "\n".join(f"{i}. {m}" for i, m in enumerate(TASK.moves(state_of(inputs)), 1))}
    if "next_state" in kind:
        state = state_of(inputs)
        action = TASK.parse(inputs["search_action"], state)
        after = TASK.apply(state, action) if not isinstance(action, Illegal) else action
        return {"next_state": f"ILLEGAL: {after.rule}" if isinstance(after, Illegal) else "\n".join(after.facts)}
    good = inputs["search_path"].splitlines()[-1].split(". ", 1)[1] in PLAN
    return {"step_reasoning": "r", "step_verdict": "yes" if good else "no"}
