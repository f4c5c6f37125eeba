"""What baselines are built from and match: the question that the reference answers, and what it asks with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from ..modules.calls.gate import gate
from ..modules.program import Program
from ..modules.roles import lms_of
from .comparing_baselines import Reward, question_of, reward_of
from .estimating import refuse_unpriced
from .space import programs_in


@dataclass(frozen=True, slots=True)
class Reference:
    """name: of the program that all others are measured against. program: a search, or a pipeline with searches inside.
    question: the signature that the baselines answer. search: whose task and reward fit that signature; None: no one's.
    """

    name: str
    program: dspy.Module
    question: Any
    search: Program | None

    @property
    def searches(self) -> list[Program]:
        return [inner for _, inner in programs_in(self.program)]

    @property
    def reward(self) -> Reward | None:
        return None if self.search is None else reward_of(self.search)

    def lm(self) -> Any:
        """The LM that the baselines call: the first search's proposer's, at its prices."""
        first = self.searches[0]
        lm = lms_of(first).get("propose") or dspy.settings.lm
        priced = isinstance(lm, dspy.BaseLM) and first.prices
        return gate(lm, prices=first.prices, retries=True) if priced else lm

    def refuse_unpriced(self) -> None:
        """ValueError for an LM whose dollars nobody knows, before anything is paid for."""
        refuse_unpriced(self.program, "match")


def reference_of(programs: Mapping[str, Any], devset: Sequence[dspy.Example], signature: Any) -> Reference:
    """The first program that is a search or holds one. ValueError where there is none, or nothing says its question.

    signature: of the baselines; None: the search's own, which for one inside a pipeline must ask for no more than what
    the examples give.
    """
    for name, program in programs.items():
        searches = [inner for _, inner in programs_in(program)] if isinstance(program, dspy.Module) else []
        if not searches:
            continue
        if signature is not None:
            asked: Any = dspy.Predict(signature).signature
            _given(asked, devset, "signature=")
            return Reference(name, program, asked, None)
        search = searches[0]
        if search is program or (len({*map(_asks, searches)}) == 1 and _answers(search, devset)):
            return Reference(name, program, question_of(search), search)
        why = (
            "searches ask several questions"
            if len({*map(_asks, searches)}) > 1
            else "search asks another question than the examples put"
        )
        raise ValueError(
            f"programs={list(programs)}: {name} is a pipeline whose {why}; say what the baselines "
            "answer by signature='question -> answer', with the examples' own fields"
        )
    raise ValueError(f"programs={list(programs)}: none is a search, so there is no spending to match; add one")


def _asks(search: Program) -> tuple[Any, ...]:
    """Programs that ask the same can be told by the same."""
    task = type(search.task), repr(search.task.config())
    return tuple(search.signature.input_fields), tuple(search.signature.output_fields), task


def _answers(search: Program, devset: Sequence[dspy.Example]) -> bool:
    given = set(devset[0].inputs().keys()) if devset else set()
    return {name for name, info in search.signature.input_fields.items() if info.is_required()} <= given


def _given(signature: Any, devset: Sequence[dspy.Example], argument: str) -> None:
    given = set(devset[0].inputs().keys()) if devset else set()
    missing = [name for name in signature.input_fields if name not in given]
    if missing:
        raise ValueError(
            f"{argument}{signature.signature!r}: the examples have no input {missing[0]!r}; they have "
            f"{', '.join(sorted(given)) or 'none'}"
        )
