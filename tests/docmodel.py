"""Who answers on the pages of docs/: the rule-based stand-in for puzzles and blocks, and a script for all else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import dspy

from thoughtree.offline import WORTH, StandIn
from thoughtree.offline_blocks import BLOCKS
from thoughtree.rules import AsyncRules, Rules

SLOW = {"tuning.md", "local-model.md"}  # pages that take seconds
NEEDS = {"local-model.md": "xllamacpp"}  # pages of an extra, and a module of it
PUZZLES = ["numbers", *(f"{a} {b} 10 13" for a in (4, 6, 8) for b in (7, 8, 9)), "1 1 1 1"]


def files() -> dict[str, str]:
    """The files that pages read, by name."""
    return {"puzzles.csv": "\n".join(PUZZLES)}


class Scripted(Rules):
    """An engine: puzzles and blocks by the stand-in's rules, else by those given."""

    def complete(self, request: Any) -> Any:
        told = str(request.system or "")
        if BLOCKS in told or "from the given numbers" in told:
            return StandIn().complete(request)
        if "a number from 0" in told:
            return Rules.complete(replace(self, rate=lambda inputs: WORTH[rate(inputs)]), request)
        return super().complete(request)


STEPS = {
    "(none yet)": ["Measure the stairs.", "Call three friends."],
    "1. Measure the stairs.": ["Ask a crane firm.", "Take the legs off."],
}


def propose(inputs: dict[str, str], n: int | None) -> list[str]:
    if "guests" in inputs:  # whoever comes to mind, seated or not
        return [f"{guest.strip()} comes next." for guest in inputs["guests"].split(",")][:n]
    return STEPS.get(inputs["search_path"], ["Carry it down."])


def rate(inputs: dict[str, str]) -> str:
    return "sure" if inputs["search_path"].endswith(("stairs.", "firm.")) else "maybe"


def answer(inputs: dict[str, str]) -> str:
    return "Hire a crane, and take the window out."


def act(inputs: dict[str, str]) -> str:
    """Doubles once it was told how, submits what it has looked up, and shortens what it is to shorten."""
    if "problem" in inputs:
        result = "2 * n" if "4" in inputs["search_lessons"] else "n"
        return f"```python\ndef double(n):\n    return {result}\n```"
    if "lights" in inputs:
        return "press 3" if "press 1" in inputs["search_path"] else "press 1"
    if "text" in inputs:
        return "It snowed all night." if "(none" in inputs["search_lessons"] else "All is white."
    return 'submit(answer="Madrid")' if "Madrid" in inputs["search_path"] else 'look_up(country="Spain")'


def doc_lm() -> Any:
    """A model for all pages."""
    rules = Scripted(
        propose=propose,
        rate=rate,
        answer=answer,
        act=act,
        judge=lambda inputs: 0.5,
        reflect=lambda inputs: "double(2) must give 4." if "problem" in inputs else "Say what is seen now.",
    )
    return dspy.LM("scripted/docs", engine=rules, async_engine=AsyncRules(rules), cache=False)
