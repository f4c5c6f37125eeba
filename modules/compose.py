"""A role's own signature: the user's inputs and instructions, then what the role is shown and asked."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import dspy

from .about import build
from .prediction import SearchPrediction

CALL = ("config", "demos", "signature", "lm", "self", "completions")  # what DSPy's own calls take beside the inputs


def user_signature(signature: Any, task: Any) -> type[dspy.Signature]:
    """The user's signature, else the task's. ValueError if neither has one, or a name is not to be had."""
    found = signature if signature is not None else getattr(task, "signature", None)
    if found is None:
        raise ValueError("signature=None: give one, as in TreeOfThoughts('question -> answer'), or a task that has one")
    made: type[dspy.Signature] = _parsed(found) if isinstance(found, str) else found
    if not (isinstance(made, type) and issubclass(made, dspy.Signature)):
        raise TypeError(
            f"signature={signature!r}: must be a string like 'question -> answer' or a dspy.Signature class"
        )
    if not made.input_fields or not made.output_fields:
        raise ValueError(f"signature={signature!r}: needs at least one input and one output field")
    for name in made.input_fields:
        if name in CALL:
            raise ValueError(f"signature: the input field {name!r} is a keyword of every DSPy call; rename it")
    for name in made.output_fields:
        if hasattr(SearchPrediction, name) or name in ("self", "base"):
            raise ValueError(f"signature: the output field {name!r} hides the prediction's own {name}; rename it")
    return made


def _parsed(text: str) -> type[dspy.Signature]:
    try:
        return build(text)
    except (TypeError, SyntaxError, IndexError) as error:  # of a field named `signature`, among others
        raise ValueError(f"signature={text!r}: DSPy cannot build it ({error})") from error


def compose(
    user: type[dspy.Signature],
    role: type[dspy.Signature],
    *,
    notes: str | None = None,
    leave_out: tuple[str, ...] = (),
    descriptions: dict[str, str] | None = None,
    answers: bool = False,
) -> type[dspy.Signature]:
    """`role`'s signature for `user`'s problems.

    Fields in order: the user's inputs (types kept; the same for a whole search, so that a provider's prompt
    cache hits), the role's inputs, then its outputs, or the user's own where `answers`. notes: what the task
    adds to the instructions. leave_out: role inputs that say nothing here. descriptions: of role fields,
    where they hang on a scale.
    """
    fields: dict[str, tuple[Any, Any]] = {}
    for name, info in user.input_fields.items():
        fields[name] = info.annotation, deepcopy(info)  # optimizers write descriptions into them
    own = {**role.input_fields, **({} if answers else role.output_fields)}
    for name, info in own.items():
        if name in leave_out:
            continue
        if name in fields:
            raise ValueError(f"signature: the input field {name!r} is also a field of the search's own; rename it")
        fields[name] = info.annotation, deepcopy(info)
    if answers:
        for name, info in user.output_fields.items():
            if name in fields:
                raise ValueError(f"signature: the output field {name!r} is also a field of the search's own; rename it")
            fields[name] = info.annotation, deepcopy(info)
    said = [role.instructions, "The task:\n" + user.instructions]
    if notes:
        said.append(notes)
    made: Any = build(fields, "\n\n".join(said))
    for name, text in (descriptions or {}).items():
        made = made.with_updated_fields(name, desc=text)
    made.__name__ = role.__name__
    return made
