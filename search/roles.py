"""Who is asked by each kind of request, and which outcomes answer it."""

from __future__ import annotations

from .protocol import (
    Answer,
    Answered,
    Failed,
    Illegal,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Reflect,
    Reflected,
    Refused,
    Request,
    Step,
    Stepped,
    Unread,
)

ANSWERS: dict[type[Request], tuple[type[Outcome], ...]] = {
    Propose: (Proposed, Unread, Failed, Refused),
    Step: (Stepped, Illegal, Unread, Failed, Refused),
    Rate: (Rated, Unread, Failed, Refused),
    Reflect: (Reflected, Unread, Failed, Refused),
    Answer: (Answered, Unread, Failed, Refused),
}
ROLES: dict[type[Request], str] = {
    Propose: "propose",
    Step: "step",
    Rate: "rate",
    Reflect: "reflect",
    Answer: "answer",
}


class ProtocolError(Exception):
    """A reply that answers nothing, or answers the wrong kind of request."""


def check_answer(request: Request, outcome: Outcome) -> None:
    """Raise ProtocolError for an outcome that does not answer the request."""
    if type(outcome) in ANSWERS[type(request)] and not (
        type(outcome) is Rated and len(outcome.values) != len(request.nodes)  # type: ignore[union-attr]
    ):
        return
    raise ProtocolError(f"{outcome!r} does not answer {request!r}")
