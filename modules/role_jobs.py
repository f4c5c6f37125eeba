"""One call of a role of ours: by which LM, with which settings, and how its reply is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dspy

from ..search.protocol import Outcome, Propose, Rate, Request
from .calls.adapter import SearchAdapter, search_adapter
from .calls.inert import inert
from .constrained import constrains
from .job import Job, unread_cut
from .likelihood import gives_probabilities, wanted
from .own_jobs import OwnJobs
from .plan import Plan
from .sampling import chosen, more_room, sampling


class RoleJobs:
    """What one call of a program knows of its LMs, and learns of them on the way."""

    def __init__(self, plan: Plan, gated: Callable[[Any], Any], per_prediction: int) -> None:
        self.plan, self._gated = plan, gated
        self.refused: set[str] = set()  # models that take no temperature
        self.without_probabilities: set[str] = set()  # models that refused to tell the probabilities of tokens
        self._gives: dict[int, bool] = {}  # whether to ask an LM for them, by its id
        self.without_schema: set[str] = set()  # models that refused to hold a reply to a schema
        self._holds: dict[int, bool] = {}  # whether to ask an LM for that, by its id
        self.cut: set[Request] = set()  # requests whose last reply the token limit cut
        self._lms: dict[tuple[int, int], Any] = {}  # of a role and an LM of its own, by their ids
        self.own = OwnJobs(gated, per_prediction)
        self._plain = isinstance(
            search_adapter(dspy.settings.adapter), SearchAdapter
        )  # others ask for forms of their own
        self._tagged = isinstance(dspy.settings.adapter, dspy.XMLAdapter)

    def _role(
        self,
        request: Request,
        attempt: int,
        role: Any,
        own_lm: Any,
        fields: dict[str, Any],
        *,
        read: Callable[[Any], Outcome],
        read_cut: Callable[[Any], Outcome] = unread_cut,
        independent: bool = False,
        extra: int = 0,
        reads_long: bool = False,
        probabilities: bool = False,
        schema: dict[str, Any] | None = None,
    ) -> Job:
        """One call of a role of ours. independent: samples are to differ. extra: calls of what reads it.

        probabilities: ask for those of its tokens, if the LM gives them. schema: the one to hold the reply to,
        if the LM does that.
        """
        predict, lm = role.predict, self._lm(role, own_lm, request)
        fields = inert(fields, predict.signature.fields if self._tagged else ())
        settings = {**lm.kwargs, **predict.config}
        sample, warmth = getattr(request, "sample", 0), self._temperature(request)
        told = probabilities and self._gives_probabilities(lm)
        independent = independent and bool(sample or not told)  # what tells all that samples would is none of them
        config = sampling(lm, settings, sample, attempt, independent, self.refused, warmth)
        if told:
            config |= wanted(settings)
        if schema is not None and self._plain and self._constrains(lm):
            config["response_format"] = schema
        if attempt and request in self.cut:
            config |= more_room(settings)
        return Job(
            lambda: predict(**fields, lm=lm, config=config),
            lambda: predict.acall(**fields, lm=lm, config=config),
            read,
            self.own.calls(role) + extra,
            read_cut,
            reads_long,
            config,
            lm.model,
            again=lambda told: predict(**fields, lm=told, config=config),
        )

    def _temperature(self, request: Request) -> float | None:
        """The plan's, of this kind of call."""
        if isinstance(request, Propose):
            return self.plan.temperature
        return self.plan.rate_temperature if isinstance(request, Rate) else None

    def _lm(self, role: Any, own_lm: Any, request: Request) -> Any:
        """The LM that the role calls, behind the gate; chosen once, as a choice may be a new copy."""
        key = id(role), id(own_lm)
        if key not in self._lms:
            cheap = isinstance(request, Rate) and request.rater == "cheap"
            lm = chosen(role.predict.lm, own_lm, dspy.settings.lm, cheap=cheap)
            self._lms[key] = self._gated(lm)
        return self._lms[key]

    def _constrains(self, lm: Any) -> bool:
        if id(lm) not in self._holds:
            self._holds[id(lm)] = constrains(lm)
        return self._holds[id(lm)] and lm.model not in self.without_schema

    def _gives_probabilities(self, lm: Any) -> bool:
        if id(lm) not in self._gives:
            self._gives[id(lm)] = gives_probabilities(lm)
        return self._gives[id(lm)] and lm.model not in self.without_probabilities
