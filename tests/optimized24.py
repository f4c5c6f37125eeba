"""Two kinds of puzzles, and a model that solves the second kind only if it is told or shown how, and writes prompts.

The easy one is 4 9 10 13, as in `puzzle24`. The hard one is 1 2 3 4: its proposer knows a dead end alone, unless its
instructions say BOLD or its prompt shows a demonstration. Each order of the numbers makes another example.
"""

from __future__ import annotations

from itertools import islice, permutations
from typing import Any

import dspy

from engines import Engine, lm, response
from puzzle24 import KINDS, RATINGS, STEPS
from thoughtree import DFS, Game24, TreeOfThoughts
from thoughtree.prompts import prompt_text, written

EASY, HARD = (4, 9, 10, 13), (1, 2, 3, 4)
BOLD = "Be BOLD: multiply."
HARD_STEPS = {"1 2 3 4": ["1 * 2 = 2"], "2 3 4": ["2 * 3 = 6"], "4 6": STEPS["4 6"]}
DEAD = {"1 2 3 4": ["4 - 3 = 1", "5 + 5 = 10"], "1 1 2": ["1 + 1 = 2"]}  # 1 1 2 makes no 24, and there is no 5
ON_PATH = {"4 9 10 13", "6 9 13", "1 2 3 4", "2 3 4", "4 6"}


class Model(Engine):
    """Plays, and writes the prompts that optimizers ask for: each of its texts is BOLD."""

    def __init__(self) -> None:
        super().__init__(lambda *_: None, kinds=KINDS)

    def _reply(self, call: Any, n: int) -> Any:
        request = call.request
        reply = self._play(call.kind, call.inputs, len(request.messages) > 1 or BOLD in str(request.system))
        text = reply if isinstance(reply, str) else written(reply, prompt_text(request))
        return response(text, request.model, tokens=self.tokens)

    def _play(self, kind: Any, inputs: Any, helped: bool) -> Any:
        if kind == "rate":
            good = inputs["search_state"] in {**RATINGS, "2 3 4": "sure"}
            return {"rating_reasoning": "by script", "thought_rating": "sure" if good else "impossible"}
        if kind != "propose":
            return dict.fromkeys(kind, BOLD) if kind else f"```\n{BOLD}\n```"
        steps = {**STEPS, **(HARD_STEPS if helped else DEAD)}.get(inputs["search_state"], ["stuck"])
        return {"next_thoughts": "\n".join(f"{i}. {step}" for i, step in enumerate(steps, 1))}


def examples(easy: int, hard: int) -> list[dspy.Example]:
    """So many of each, the easy ones first."""
    orders = [*islice(permutations(EASY), easy), *islice(permutations(HARD), hard)]
    return [dspy.Example(numbers=" ".join(map(str, order))).with_inputs("numbers") for order in orders]


def program(branching: int | None = None) -> TreeOfThoughts:
    return TreeOfThoughts(task=Game24(), controller=DFS(branching=branching), concurrency=1)


def score(made: dspy.Module, model: Model, devset: list[dspy.Example]) -> list[bool]:
    with dspy.context(lm=lm(model)):
        return [made(**example.inputs()).search.solved for example in devset]
