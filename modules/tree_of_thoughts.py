"""Tree of Thoughts (Yao et al. 2023, arXiv 2305.10601): a model proposes and rates, code steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import dspy

from ..search import Beam, Budget
from ..tasks import FreeText, Task
from . import roles
from .about import about
from .combination import check
from .compose import user_signature
from .plan import Plan, Settings
from .pricing import prices_of
from .program import Program
from .scale import scale_of


class TreeOfThoughts(Program):
    """A tree search as a DSPy module, called like `dspy.ChainOfThought`.

    signature: any DSPy signature, a string or a class; left out, the task's own.
    task: what code can check (default: FreeText, which checks nothing).
    controller: Beam(), DFS() or BestFirst(). budget: a Budget, or a number of calls.
    propose: "lm" (n steps in one call), "samples" (n calls of one step), "choose" (n of the task's legal moves, by
        their numbers, in one call), "moves" (its first `branching` legal moves, no model; branching=None: all), a
        function `propose(inputs, node, n) -> list[str]`, or any module. Of a function `search.Proposed(actions,
        priors)` is taken too; the weights are what MCTS(selection="puct") goes by.
    rate: "value" (one node a call), "siblings", "vote", "pairs", "code" (the task's `value`), a function
        `rate(inputs, nodes) -> list[float]`, or any module. By default "value" with 1 sample, which is one call a node,
        or "code" where the task values states. value_fn: `value_fn(inputs, path) -> float` instead.
    scale: "verdict" (sure, maybe, impossible: 20, 1, 0.001), "unit" (0 to 1), "anchored" (0 to 10), or a mapping of
        words to values. samples, join: ratings per node, and their "sum" or "mean".
    cheap_rate: an LM or a function that rates first; the usual rater is then asked only about values within `near` of
        the line between kept and dropped.
    answer: "auto" (by code where it can, else one closing call), "lm", or "path" (the raw steps).
    first: "answer" makes one direct answer before anything else; where code accepts it the search ends there.
    reward_fn, threshold: `reward_fn(inputs, prediction) -> float | Prediction(score, feedback)`; a finished answer that
        reaches the threshold is verified. A function that calls an LM says how often by an attribute `calls`.
    propose_lm, rate_lm, answer_lm: LMs per role; `program.rate.set_lm(lm)` works too. They are not saved.
    concurrency: calls in flight. seed: for ties and sampling. retries: of calls that may go through later.
    on_failure: "best" gives the best candidate with its status; "raise" raises SearchFailed.
    prices: {model: (dollars per million tokens in, out)}, for models whose price DSPy does not know.
    history: also write each call to DSPy's history.

    Per call: `program(question=..., config={"budget": 60, "controller": DFS(), "seed": 1, "journal": "run.jsonl"})`.
    """

    def __init__(
        self,
        signature: str | type[dspy.Signature] | None = None,
        *,
        task: Task[Any, Any] | None = None,
        controller: Any = None,
        budget: Budget | int | Mapping[str, Any] | None = None,
        propose: Any = None,
        rate: Any = None,
        answer: Any = None,
        value_fn: Callable[..., float] | None = None,
        scale: Any = "verdict",
        samples: int = 1,
        join: Any = "sum",
        cheap_rate: Any = None,
        near: float | None = None,
        first: Any = None,
        reward_fn: Callable[..., Any] | None = None,
        threshold: float | None = None,
        propose_lm: Any = None,
        rate_lm: Any = None,
        answer_lm: Any = None,
        concurrency: int = 8,
        seed: int = 0,
        retries: int = 2,
        on_failure: Any = "best",
        prices: Mapping[str, tuple[float, float]] | None = None,
        history: bool = False,
    ) -> None:
        super().__init__()
        if task is not None and not isinstance(task, Task):
            raise TypeError(f"task={task!r}: must be a Task, as in task=Game24(); a class is called first")
        self.task: Task[Any, Any] = task if task is not None else FreeText()
        self.signature = user_signature(signature, self.task)
        if value_fn is not None and rate is not None:
            raise ValueError(f"rate={rate!r} and value_fn={value_fn!r}: both say how nodes are rated; give one")
        plan = Plan(
            controller=Beam() if controller is None else controller,
            budget=None if budget is None else Budget.of(budget),
            propose=_kind("propose", propose, "lm"),
            rate="own" if value_fn is not None else _kind("rate", rate, "code" if self.task.has("value") else "value"),
            scale=scale_of(scale),
            samples=samples,
            join=join,
            near=0.0 if near is None and cheap_rate is not None else near,
            answer="auto" if answer is None else answer,
            first=first,
            threshold=threshold,
            on_failure=on_failure,
            concurrency=concurrency,
            seed=seed,
            retries=retries,
            history=history,
        )
        self.propose_fn = propose if callable(propose) and not isinstance(propose, dspy.Module) else None
        self.rate_fn = rate if callable(rate) and not isinstance(rate, dspy.Module) else None
        self.value_fn, self.reward_fn, self.cheap_rate = value_fn, reward_fn, cheap_rate
        self.propose_lm, self.rate_lm, self.answer_lm = propose_lm, rate_lm, answer_lm
        self.prices = prices_of(prices)
        # Before the roles: what does not fit is then said by name, and not as a predictor that is missing.
        self.settings = Settings(plan, about(type(self).__name__, self.signature, self.task))
        # Direct attributes: DSPy finds, tunes and saves their predictors by these names.
        for name, role in roles.made(self, plan, propose, rate).items():
            setattr(self, name, role)
        check(self, plan)


def _kind(name: str, given: Any, default: str) -> Any:
    if given is None:
        return default
    if isinstance(given, dspy.BaseLM):
        raise TypeError(f"{name}={given!r}: an LM is given as {name}_lm=")
    if given == "own" or isinstance(given, type):
        raise ValueError(f"{name}={given!r}: give the function or module itself; a class is called first")
    return "own" if callable(given) else given
