"""Tools that a search may call again and again, in any order, from any branch: they change nothing in the world."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import dspy

T = TypeVar("T", bound=Callable[..., Any])
MARK = "repeatable"


def repeatable(tool: T) -> T:
    """Mark a function or a dspy.Tool as one that gives the same for the same arguments and changes nothing.

    A tree search tries branches and leaves them: what a tool did in one of them cannot be taken back.
    Setting the attribute `repeatable = True` on a function does the same.
    """
    given: Any = tool
    if isinstance(given, dspy.Tool):
        object.__setattr__(tool, MARK, True)  # pydantic takes fields alone
        return tool
    try:
        setattr(tool, MARK, True)
    except (AttributeError, TypeError):  # a bound method, or a function written in C

        @functools.wraps(tool)
        def marked(*args: Any, **kwargs: Any) -> Any:
            return tool(*args, **kwargs)

        marked.__annotations__ = dict(getattr(tool, "__annotations__", {}))  # not this wrapper's
        return repeatable(marked)  # type: ignore[return-value]
    return tool


def accepted(tools: Iterable[Any], reserved: str) -> dict[str, dspy.Tool]:
    """The tools by name. TypeError for one that is not marked as repeatable; ValueError for a name taken twice."""
    found: dict[str, dspy.Tool] = {}
    for given in tools:
        make: Any = dspy.Tool
        tool: dspy.Tool = given if isinstance(given, dspy.Tool) else make(given)
        name = str(tool.name)
        if not (getattr(given, MARK, False) or getattr(tool.func, MARK, False)):
            raise TypeError(
                f"tools: {name} is not marked as repeatable, and a tree search calls tools in branches that it leaves "
                f"again. If calling it changes nothing, mark it: put @thoughtree.repeatable above `def {name}`, or "
                f"give thoughtree.repeatable({name}); otherwise give an env= that can be put back"
            )
        if name in found or name == reserved:
            whose = "the action that ends an attempt" if name == reserved else "another tool"
            raise ValueError(f"tools: {name!r} is also the name of {whose}; rename it, as in dspy.Tool(fn, name=...)")
        found[name] = tool
    if not found:
        raise ValueError("tools=[]: give at least one function or dspy.Tool")
    return found
