"""The calls of a finished search that are fit to be shown: what each role said rightly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import dspy

from ..modules.act import Act
from ..modules.choose import Choose
from ..modules.reflect import Reflect as Reflector
from ..search.protocol import Answer, Propose, Rate, Reflect, Reflected, Request, Step
from ..tasks import layout
from .seen import Seen
from .step_evidence import Kind, Steps
from .verdict_evidence import Verdicts

DROPPED = (Kind.ILLEGAL, Kind.BAD, Kind.REPEATED)  # of a proposer's list, before it is shown


@dataclass(frozen=True, slots=True, eq=False)
class Demo:
    """predictor: whose. truth: of a rating of one node, its class; None: this kind has no classes."""

    predictor: Any
    fields: dict[str, Any]
    truth: bool | None = None

    @property
    def tokens(self) -> int:
        """About how many it adds to a prompt: a quarter of its characters."""
        return sum(len(name) + len(str(value)) for name, value in self.fields.items()) // 4 + 1

    def example(self) -> dspy.Example:
        return dspy.Example(augmented=True, **self.fields)


def demos_of(seen: Seen) -> Iterator[Demo]:
    """In the order of the calls. Of a module of the user's own, what the curated trace would give."""
    chosen: set[int] = set()
    for request, entries in seen.entries.items():
        role = seen.role(request)
        for predictor, inputs, made in entries:
            if role is None:
                if not chosen:
                    chosen = _curated(seen)
                if id(made) in chosen:
                    yield Demo(predictor, {**inputs, **made.toDict()})
            elif predictor is role.predict:
                found = _demo(seen, request, inputs, made)
                if found is not None:
                    yield Demo(predictor, *found)


def _curated(seen: Seen) -> set[int]:
    """The calls on the path that is given back, if it is right."""
    right = seen.result.solved if seen.accepted is None else seen.accepted
    if not right:
        return {-1}
    path = {node.id for node in seen.result.tree.path(seen.result.best)}
    return {
        id(made)
        for request, entries in seen.entries.items()
        if set(getattr(request, "nodes", ()) or (request.node,)) & path  # type: ignore[union-attr]
        for *_, made in entries
    } or {-1}


def _demo(seen: Seen, request: Request, inputs: Any, made: Any) -> tuple[dict[str, Any], bool | None] | None:
    """Fields and class of a call that was right, else None."""
    fields = {**inputs, **made.toDict()}
    match request:
        case Propose():
            shown = _proposals(seen, request, fields, made)
            return None if shown is None else (shown, None)
        case Rate():
            return _rating(seen, request, fields, made)
        case Step():
            evidence = seen.evidence(request)
            right = seen.leads(request.node) if evidence is None else evidence.judge(made).right
            return (fields, None) if right else None
        case Reflect():
            return (fields, None) if helped(seen, request, made) else None
        case Answer():
            right = seen.result.solved if seen.accepted is None else seen.accepted
            return (fields, None) if right and request.node == seen.result.best.id else None


def _proposals(seen: Seen, request: Propose, fields: dict[str, Any], made: Any) -> dict[str, Any] | None:
    """Of a state on the path: the steps that led on, without those that were illegal or dead ends.

    What the task had to mend in a step, or reads in other forms too, is shown as the task asks for it.
    """
    evidence = seen.evidence(request)
    if not isinstance(evidence, Steps) or not seen.leads(request.node):
        return None
    kinds = evidence.kinds(made)
    if not any(kind is Kind.GOOD for _, kind, _ in kinds):
        return None
    if isinstance(evidence.role, Act):
        return fields
    if isinstance(evidence.role, Choose):
        chosen = [text for text, kind, _ in kinds if kind not in DROPPED]
        asked = str(len(chosen)) if str(fields.get("num_choices", "")).isdigit() else fields.get("num_choices")
        return {**fields, "num_choices": asked, "chosen_steps": evidence.places(chosen)}
    texts = [text for text, *_ in kinds]
    kept = [evidence.as_asked(text) for text, kind, _ in kinds if kind not in DROPPED]
    if kept == texts:
        return fields
    asked = str(len(kept)) if str(fields.get("num_thoughts", "")).isdigit() else fields.get("num_thoughts")
    return {**fields, "num_thoughts": asked, "next_thoughts": layout.numbered(kept)}


def _rating(seen: Seen, request: Rate, fields: dict[str, Any], made: Any) -> tuple[dict[str, Any], bool | None] | None:
    """On the path and called promising, or known dead and called hopeless; of several nodes, each that is known."""
    evidence = seen.evidence(request)
    if not isinstance(evidence, Verdicts) or not evidence.judge(made).right:
        return None
    first, *others = zip(request.nodes, evidence.labels, strict=True)
    if others:
        return fields, None
    id, label = first
    assert label is not None
    return None if label.truth and not seen.leads(id) else (fields, label.truth)


def helped(seen: Seen, request: Reflect, made: Any) -> bool:
    """Whether the lesson was shown where a step that a solution follows was proposed."""
    role = seen.role(request)
    assert isinstance(role, Reflector)
    read = role.read(made)
    if not isinstance(read, Reflected) or read.lesson not in seen.result.tree.lessons:
        return False
    place = seen.result.tree.lessons.index(read.lesson)
    return any(
        later.lessons > place and _proposals(seen, later, dict(inputs), said) is not None
        for later, entries in seen.entries.items()
        if isinstance(later, Propose)
        for _, inputs, said in entries
    )
