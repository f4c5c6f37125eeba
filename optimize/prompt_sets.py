"""Candidate prompts of a program: instructions and demos of each predictor, as some optimizer found them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import dspy

from .studies import digest

PROMPTS = "prompts"  # the dimension's name

# By a predictor's name: its instructions, and its demos.
PromptSet = Mapping[str, tuple[str, list[Any]]]


@dataclass(frozen=True, slots=True)
class Prompts:
    """sets: by an id that hangs on the texts alone, so that a study which is resumed knows them again. The first is
    the student's own.
    """

    sets: Mapping[str, PromptSet]

    @classmethod
    def of(cls, student: dspy.Module, given: Any) -> Prompts:
        """given: programs that were made from the student (their prompts), or one that an optimizer gave
        `candidate_programs`. TypeError or ValueError for what has no prompts that fit.
        """
        candidates = getattr(given, "candidate_programs", None)
        if candidates is not None:
            given = [one["program"] if isinstance(one, Mapping) else one for one in candidates]
        if isinstance(given, dspy.Module):
            given = [given]
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise TypeError(f"prompts={given!r}: give programs with other prompts, in a list")
        own = _prompts(student)
        found: dict[str, PromptSet] = {_id(own): own}
        for number, one in enumerate(given):
            if not isinstance(one, dspy.Module):
                raise TypeError(f"prompts[{number}]={one!r}: must be a program, made from the one that is tuned")
            other = _prompts(one)
            if not set(other) & set(own):
                raise ValueError(
                    f"prompts[{number}]: has predictors {sorted(other)}, and the program {sorted(own)}; none fits"
                )
            found.setdefault(_id(other), other)
        return cls(found)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self.sets)

    def put(self, program: dspy.Module, id: str) -> None:
        """Give `program` these prompts. Predictors that the set says nothing of keep theirs."""
        chosen = self.sets[id]
        found: Any = program.named_predictors()
        for name, predictor in found:
            if name in chosen:
                instructions, demos = chosen[name]
                predictor.signature = predictor.signature.with_instructions(instructions)
                predictor.demos = list(demos)


def _prompts(program: dspy.Module) -> PromptSet:
    found: Any = program.named_predictors()
    return {name: (str(predictor.signature.instructions), list(predictor.demos)) for name, predictor in found}


def _id(prompts: PromptSet) -> str:
    told = {name: [text, [dict(demo.items()) for demo in demos]] for name, (text, demos) in prompts.items()}
    return "prompts-" + digest(told)[:8]
