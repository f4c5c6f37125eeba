"""A stand-in for a model that knows more than it says, and says first what looks like its demonstrations.

It recalls steps as the noisy policy does, and says a few of them: those first whose shape its demonstrations show most
often at states of as many numbers, the shape being the operator and what kind of number comes out. Without
demonstrations it says them in the policy's order. It has a bad habit, a step with numbers that are not there, as often
as its demonstrations have it. It never knows which steps are good.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any, TypeAlias

import dspy
from dspy import lm15

from thoughtree import Illegal
from thoughtree.modules.reading import items
from thoughtree.prompts import input_values, output_names, prompt_text, written
from thoughtree.tasks import Game24State
from thoughtree.tasks.notation import Number

from .stub_policy import CONFIGS, TASK, StubPolicy, u
from .whole_program import NOTHING, WORDS, shown_state

Shape: TypeAlias = tuple[str, str] | None  # operator and kind of result; None: an illegal step
Shown: TypeAlias = dict[int, list[list[Shape]]]  # the steps of each demonstration, by how many numbers its state has
ILLEGAL_STEP = "1000 + 1000 = 2000"  # no puzzle has these
HABIT = 0.3  # how often it says one, unless its demonstrations are shown
STEPS = 3  # said at a time
TARGET = 24


def kind(result: Number) -> str:
    if result == TARGET:
        return "the target"
    if result != int(result):
        return "a fraction"
    if result <= 0:
        return "zero or less"
    if TARGET % result == 0:
        return "a divisor of the target"
    return "below the target" if result < TARGET else "above the target"


def shape(text: str, state: Game24State) -> Shape:
    """Of a step as a reply says it."""
    move = TASK.parse(text, state)
    if isinstance(move, Illegal):
        return None
    new = TASK.apply(state, move)
    return None if isinstance(new, Illegal) else (move.op, kind(_made(state, new)))


def _made(state: Game24State, new: Game24State) -> Number:
    """The number of `new` that a step has made."""
    left = list(state.numbers)
    for number in new.numbers:
        if number not in left:
            return number
        left.remove(number)
    return new.numbers[-1]  # it made a number that was there already


@lru_cache(maxsize=4)
def shown(messages: tuple[tuple[str, str], ...]) -> Shown:
    """The steps of the demonstrations in a prompt, from its pairs of question and reply."""
    found: Shown = {}
    for question, reply in messages:
        state = shown_state(input_values(question))
        steps = items(input_values(reply).get("next_thoughts", ""))
        found.setdefault(len(state.numbers), []).append([shape(step, state) for step in steps])
    return found


class Copying:
    """The engine. seed: of all its coins. calls: how many it answered."""

    def __init__(self, seed: int) -> None:
        self.seed, self.calls = seed, 0

    def __deepcopy__(self, memo: Any) -> Copying:
        return self

    def complete(self, request: Any) -> Any:
        self.calls += 1
        prompt = prompt_text(request)
        fields = input_values(prompt)
        policy, state = StubPolicy(CONFIGS["gpt4-like"], fields["numbers"], self.seed), shown_state(fields)
        if "next_thoughts" in output_names(prompt):
            texts = [message.text for message in request.messages[:-1]]
            steps = self.steps(policy, state, shown(tuple(zip(texts[::2], texts[1::2], strict=True))))
            said = {"next_thoughts": "\n".join(f"{i}. {step}" for i, step in enumerate(steps or [NOTHING], 1))}
        else:
            said = {"rating_reasoning": "by a coin", "thought_rating": WORDS[policy.rate(state)]}
        return lm15.Response(
            id=None,
            model=request.model,
            message=lm15.Message.assistant([lm15.TextPart(written(said, prompt))]),
            finish_reason="stop",
            usage=lm15.Usage(input_tokens=1, output_tokens=1, total_tokens=2),
        )

    def steps(self, policy: StubPolicy, state: Game24State, demos: Shown) -> list[str]:
        """At most STEPS of them."""
        models = demos.get(len(state.numbers), [])
        counts = Counter(one for demo in models for one in demo)
        recalled = [str(move) for move in policy.propose(state)]
        ordered = sorted(recalled, key=lambda step: -counts[shape(step, state)])
        habit = sum(None in demo for demo in models) / len(models) if models else HABIT
        if u(self.seed, "habit", policy.puzzle, TASK.render(state)) < habit:
            ordered.insert(0, ILLEGAL_STEP)
        return ordered[:STEPS]


def copying_lm(seed: int) -> dspy.LM:
    return dspy.LM("benchmark/copying", engine=Copying(seed), cache=False)
