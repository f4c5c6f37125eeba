"""What a tree is to be compared with: the same question without a search, answered once or many times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import dspy

from ..modules.header import digest, settled
from ..modules.program import Program
from ..modules.sampling import sampling
from ..tasks import Task
from .fields import fields_of
from .identity import called
from .metrics import Solved, normalized

Reward = Callable[[dict[str, Any], Any], float]


def question_of(program: Program) -> Any:
    """The program's signature, with what its task adds to every prompt."""
    notes = program.task.instructions()
    signature = program.signature
    return signature if not notes else signature.with_instructions(f"{signature.instructions}\n\n{notes}")


def metric_for_all(metric: Callable[..., Any], program: Program) -> Callable[..., Any]:
    """The metric, as it also judges what is no search: `solved` by the program's task, where that checks answers."""
    if isinstance(metric, Solved) and metric.task is None and program.task.has("check"):
        return Solved(program.task)
    return metric


class SelfConsistency(dspy.Module):
    """Chain of thought `n` times, each its own sample, and the answer that most agree on (Wang et al. 2022).

    Answers are alike if all output fields are, after `normalized`; among equals the first stands. A sample that cannot
    be read has no vote; if none can be, the last one's error is raised.
    """

    def __init__(self, signature: Any, n: int) -> None:
        super().__init__()
        self.answer = dspy.ChainOfThought(signature)
        asked: Any = dspy.Predict(signature).signature
        self.n, self._outputs = n, tuple(asked.output_fields)

    def forward(self, **inputs: Any) -> Any:
        votes: Counter[str] = Counter()
        first: dict[str, Any] = {}
        lost: Exception | None = None
        for sample in range(self.n):
            try:
                made = self.answer(**inputs, config=_sampled(self.answer.predict, sample))
            except dspy.AdapterParseError as error:
                lost = error
                continue
            key = digest(settled({name: normalized(made[name]) for name in self._outputs}))
            votes[key] += 1
            first.setdefault(key, made)
        if not votes:
            assert lost is not None
            raise lost
        return first[max(votes, key=lambda key: votes[key])]


class Attempts(dspy.Module):
    """dspy.BestOfN or dspy.Refine on a chain of thought: at most `n` attempts, until one is verified.

    Theirs is made anew for each question: it counts failed attempts on itself.
    """

    def __init__(self, kind: Any, signature: Any, n: int, reward: Reward) -> None:
        super().__init__()
        self.answer = dspy.ChainOfThought(signature)
        self.n, self._kind, self._reward = n, kind, reward
        self.rewarded = digest([called(kind), called(reward)])  # an evaluation by another reward is another

    def forward(self, **inputs: Any) -> Any:
        made = self._kind(module=self.answer, N=self.n, reward_fn=self._reward, threshold=1.0, fail_count=self.n)
        found = made(**inputs)
        if found is None:
            raise ValueError(f"none of {self.n} attempts gave an answer that could be read")
        return found


def reward_of(program: Program) -> Reward | None:
    """1.0 for an answer that the search itself would stop at, by what it may ask too: never a label. None: nothing can.

    The task's own check of output fields; else the program's reward function, at its threshold.
    """
    task, threshold = program.task, program.plan.threshold
    if task.has("check"):

        def verified(args: dict[str, Any], pred: Any) -> float:
            return float(checks(task, args, pred))

        return verified
    given: Any = program.reward_fn
    if given is None or threshold is None:
        return None

    def reached(args: dict[str, Any], pred: Any) -> float:
        said = given(args, pred)
        return float(getattr(said, "score", said) >= threshold)

    return reached


def checks(task: Task[Any, Any], inputs: Mapping[str, Any], prediction: Any) -> bool:
    """Whether the task accepts these output fields."""
    return task.for_inputs(dict(inputs)).check(fields_of(prediction)) is True


def _sampled(predictor: Any, sample: int) -> dict[str, Any]:
    lm = predictor.lm or dspy.settings.lm
    config: dict[str, Any] = sampling(lm, {**lm.kwargs, **predictor.config}, sample, 0, True, set())
    return config
