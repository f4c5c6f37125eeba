"""An environment of programs, and a model that writes them: good ones once it has learnt a lesson."""

from __future__ import annotations

from typing import Any

from thoughtree.search.environment import Observed


class Runner:
    """A pure environment of whole programs: only "good" passes."""

    signature = "task -> program"

    def __init__(self) -> None:
        self.runs: list[str] = []

    def initial(self, inputs: dict[str, Any]) -> tuple[str, ...]:
        return ()

    def step(self, state: tuple[str, ...], action: str) -> Observed:
        self.runs.append(action)
        passed = action == "good"
        return Observed(
            (*state, action),
            observation="ran",
            solved=passed,
            failed=not passed,
            feedback="assert f(1) == 2 failed",
            value=float(passed),
            key=(*state, action),
        )

    def answer(self, state: tuple[str, ...]) -> dict[str, Any]:
        return {"program": state[-1]} if state else {}


def actor(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    """Bad programs until lessons are shown."""
    if "next_action" in kind:
        return {"act_reasoning": "r", "next_action": "good" if inputs["search_lessons"] != "(none)" else f"bad{n}"}
    if "attempt_score" in kind:
        return {"judge_reasoning": "r", "attempt_score": "0.2"}
    if "attempt_lesson" in kind:
        return {"attempt_lesson": f"do not repeat {inputs['search_path'].splitlines()[-2]}"}
    return {"program": "closing"}
