"""Types as text, and back. Reading imports nothing: a saved program must not be able to name code to run."""

from __future__ import annotations

import ast
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

import dspy
from pydantic import BaseModel

BUILTIN: dict[str, Any] = {
    kind.__name__: kind for kind in (str, int, float, bool, list, tuple, dict, set, frozenset, complex, bytes)
}
TYPING: dict[str, Any] = {
    name: getattr(typing, name) for name in ("Any", "Dict", "List", "Literal", "Optional", "Set", "Tuple", "Union")
}
KNOWN: dict[str, Any] = {**BUILTIN, **TYPING, "None": None, "NoneType": None}


def written(annotation: Any) -> str:
    """A type as text, the same in every process, such as `list[int]` or `Point | None`."""
    if annotation is None or annotation is type(None):
        return "None"
    if annotation is Ellipsis:
        return "..."
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, args))}]"
    if origin in (Union, types.UnionType):
        return " | ".join(map(written, args))
    if isinstance(origin, type) and args:
        return f"{written(origin)}[{', '.join(map(written, args))}]"
    if isinstance(annotation, type):
        ours = getattr(dspy, annotation.__name__, None) is annotation
        return f"dspy.{annotation.__name__}" if ours else annotation.__name__
    return str(annotation).replace("typing.", "")


def read(text: str, custom: Mapping[str, Any] | None = None) -> Any:
    """The type that `written` wrote. custom: what other names stand for. ValueError for a name not known."""
    try:
        return _read(ast.parse(text, mode="eval").body, {**KNOWN, **(custom or {})})
    except (SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text!r} is no type ({error})") from error


def _read(node: ast.expr, known: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(id=name):
            if name not in known:
                raise ValueError(f"the type {name!r} is not known here")
            return known[name]
        case ast.Constant(value=value) if value is None or value is Ellipsis:
            return value
        case ast.Attribute(value=ast.Name(id="dspy"), attr=name):
            found = vars(dspy).get(name)
            if isinstance(found, type) and issubclass(found, BaseModel):
                return found
            raise ValueError(f"dspy.{name} is no type of a field")
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return Union[_read(left, known), _read(right, known)]  # noqa: UP007  types known only here
        case ast.Subscript(value=base, slice=inner):
            kind = _read(base, known)
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            values = [ast.literal_eval(p) if kind is Literal else _read(p, known) for p in parts]
            return kind[tuple(values) if len(values) > 1 else values[0]]
    raise ValueError(f"{ast.unparse(node)!r} is no type")
