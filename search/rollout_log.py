"""What each rollout of Monte-Carlo tree search cost, and came to."""

from __future__ import annotations

from dataclasses import dataclass

from .protocol import Propose, Rate, Reflect, Request, Step


@dataclass(slots=True)
class RolloutLog:
    """What one rollout asked for, and came to.

    leaf: the node where it worked. calls: LM calls, every sample and retry one. proposals, steps, ratings, reflections:
    replies of each kind; a step is a run of the environment, or a prediction of the world model. value: the best of the
    nodes that it evaluated; None: none.
    """

    leaf: int
    calls: int = 0
    proposals: int = 0
    steps: int = 0
    ratings: int = 0
    reflections: int = 0
    value: float | None = None

    def count(self, kind: type[Request], calls: int) -> None:
        """A reply was told. `calls`: the LM calls that it took."""
        self.calls += calls
        if kind is Rate:
            self.ratings += 1
        elif kind is Propose:
            self.proposals += 1
        elif kind is Step:
            self.steps += 1
        elif kind is Reflect:
            self.reflections += 1
