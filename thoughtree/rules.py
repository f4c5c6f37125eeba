"""A language model that answers by functions: for tests, and for running a program without a model.

It is a real `dspy.LM` over an engine, so prompts, adapters, parsing, budgets and journals are those of any
model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import dspy
from dspy import lm15

from .modules.choose import listed_in
from .prompts import input_values, output_names, prompt_text, written

ProposeRule = Callable[[dict[str, str], int | None], list[str]]
ChooseRule = Callable[[dict[str, str], int | None, list[str]], Iterable[Any]]
Rule = Callable[[dict[str, str]], Any]
WORDS = {"sure": 20.0, "maybe": 1.0, "likely": 1.0, "impossible": 0.001}
CANDIDATE = re.compile(r"^(\d+)\. ", re.M)
# The output field of a role that gives one value, and the rule for it.
ROLES = {
    "next_action": "act",
    "attempt_score": "judge",
    "attempt_lesson": "reflect",
    "next_state": "predict",
    "step_verdict": "approve",
}


@dataclass(frozen=True)
class Rules:
    """An engine: `complete(request)` answers by the rule of the role that asks."""

    propose: ProposeRule | None = None
    rate: Rule | None = None
    answer: Rule | None = None
    act: Rule | None = None
    judge: Rule | None = None
    reflect: Rule | None = None
    predict: Rule | None = None
    approve: Rule | None = None
    choose: ChooseRule | None = None

    def __deepcopy__(self, memo: Any) -> Rules:  # functions only: DSPy copies LMs that are bound to predictors
        return self

    def complete(self, request: Any) -> Any:
        prompt = prompt_text(request)
        names = output_names(prompt)
        text = written(self._fields(names, input_values(prompt)), prompt)
        tokens = len(prompt.split()), len(text.split())
        return lm15.Response(
            id=None,
            model=request.model,
            message=lm15.Message.assistant([lm15.TextPart(text)]),
            finish_reason="stop",
            usage=lm15.Usage(input_tokens=tokens[0], output_tokens=tokens[1], total_tokens=sum(tokens)),
        )

    def _fields(self, names: tuple[str, ...], inputs: dict[str, str]) -> Mapping[str, Any]:
        if "next_thoughts" in names:
            n = inputs.pop("num_thoughts", "")
            thoughts = _rule("propose", self.propose)(inputs, int(n) if n.isdigit() else None)
            return {"next_thoughts": "\n".join(f"{i}. {thought}" for i, thought in enumerate(thoughts, 1)) or "none"}
        if "chosen_steps" in names:
            n = inputs.pop("num_choices", "")
            steps = listed_in(inputs.pop("allowed_steps", ""))
            chosen = _rule("choose", self.choose)(inputs, int(n) if n.isdigit() else None, steps)
            return {"chosen_steps": ", ".join(str(_place(choice, steps)) for choice in chosen) or "none"}
        if "rating_reasoning" in names or "rating_reachable" in names:
            return dict.fromkeys(names, "by rule") | self._rating(names, inputs)
        for name, role in ROLES.items():
            if name in names:
                return dict.fromkeys(names, "by rule") | {name: str(_rule(role, getattr(self, role))(inputs))}
        given = _rule("answer", self.answer)(inputs)
        return given if isinstance(given, Mapping) else dict.fromkeys(names, "") | {names[-1]: given}

    def _rating(self, names: tuple[str, ...], inputs: dict[str, str]) -> dict[str, Any]:
        rate = _rule("rate", self.rate)
        if "search_candidates" not in inputs:
            rating = rate(inputs)
            if "rating_score" in names:
                return {"rating_reachable": "maybe", "rating_score": rating}
            return {"thought_rating": rating}
        candidates = _candidates(inputs.pop("search_candidates"))
        ratings = [rate({**inputs, **candidate}) for candidate in candidates]
        if "thought_ratings" in names:
            return {"thought_ratings": "\n".join(f"{i}. {rating}" for i, rating in enumerate(ratings, 1))}
        worth = [_number(rating) for rating in ratings]
        best = worth.index(max(worth)) + 1
        if "best_thought" in names:
            return {"best_thought": str(best)}
        return {"better_thought": "tie" if worth[0] == worth[1] else str(best)}


class AsyncRules:
    """The same engine for `aforward`."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def __deepcopy__(self, memo: Any) -> AsyncRules:
        return self

    async def complete(self, request: Any) -> Any:
        return self.rules.complete(request)


class RuleLM(dspy.LM):  # type: ignore[misc]
    """A `dspy.LM` that answers by functions, one for each role that the program has.

    propose(inputs, n) -> the next steps. rate(inputs) -> a word or number of the program's scale; asked once a
    candidate, also where a program rates siblings, votes or compares. answer(inputs) -> the output fields, or the last
    one's value. Of a LATS: act(inputs) -> the action, judge(inputs) -> a number from 0 to 1, reflect(inputs) -> the
    lesson. Of a RAP: predict(inputs) -> all facts, one a line, or "ILLEGAL: why", approve(inputs) -> "yes" or "no".
    Where a model chooses among legal moves: choose(inputs, n, steps) -> those of the steps that it takes, as their
    texts or numbers from 1. `inputs` are the prompt's fields as text: the problem's own, `search_path` (numbered steps,
    or "(none yet)"; of one candidate among several, its steps joined by "; ") and what else the role is shown:
    `search_state`, `search_lessons`, `search_action`, `attempt_feedback`. A role without a rule fails its calls, and
    the error says so.
    """

    def __init__(
        self,
        propose: ProposeRule | None = None,
        rate: Rule | None = None,
        answer: Rule | None = None,
        *,
        act: Rule | None = None,
        judge: Rule | None = None,
        reflect: Rule | None = None,
        predict: Rule | None = None,
        approve: Rule | None = None,
        choose: ChooseRule | None = None,
        model: str = "rules/none",
        cache: bool = False,
        **settings: Any,
    ) -> None:
        rules = Rules(propose, rate, answer, act, judge, reflect, predict, approve, choose)
        super().__init__(model, engine=rules, async_engine=AsyncRules(rules), cache=cache, **settings)


def _rule(name: str, rule: Any) -> Any:
    if rule is None:
        raise ValueError(f"RuleLM({name}=None): the program has the model {name}, and there is no rule for it")
    return rule


def _place(choice: Any, steps: list[str]) -> Any:
    """The number of a chosen step."""
    return steps.index(choice) + 1 if choice in steps else choice


def _candidates(text: str) -> list[dict[str, str]]:
    """The numbered candidates of a prompt: the path of each, and its state if it is shown."""
    found: list[dict[str, str]] = []
    for piece in re.split(r"\n\n(?=\d+\. )", text):
        path, shown, state = CANDIDATE.sub("", piece, count=1).partition("\n   ")
        found.append({"search_path": path} | ({"search_state": state} if shown else {}))
    return found


def _number(rating: Any) -> float:
    """What a rating is worth beside others, for a vote or a comparison."""
    if isinstance(rating, int | float):
        return float(rating)
    word = str(rating).strip().lower()
    try:
        return WORDS[word] if word in WORDS else float(word)
    except ValueError as error:
        raise ValueError(f"rate gave {rating!r}: to vote or compare, give a number, or {', '.join(WORDS)}") from error
