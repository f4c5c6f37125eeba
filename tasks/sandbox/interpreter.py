"""The sandbox in the shape of DSPy's CodeInterpreter, for whatever takes one."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

from .result import SandboxResult, Why
from .sandbox import Sandbox


class SandboxError(RuntimeError):
    """Code that did not run to its end. `result`: all that is known of it."""

    def __init__(self, message: str, result: SandboxResult) -> None:
        super().__init__(message)
        self.result = result


class SandboxInterpreter:
    """`execute(code, variables)` in a sandbox. Every call starts afresh: no name is kept from one to the next.

    The variables are plain values: text, bytes, numbers, None, and lists, tuples, dicts and sets of them.
    """

    execution_instructions = (
        "Each piece of code is a whole Python script. It starts with no names but the variables given; nothing is kept"
        " from earlier ones. It has the standard library, no network, and an empty folder. Print what is to be seen."
    )

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self.sandbox = sandbox if sandbox is not None else Sandbox()

    @property
    def tools(self) -> dict[str, Callable[..., Any]]:
        """None: code in here reaches nothing of the host's."""
        return {}

    def start(self) -> None:
        """There is nothing to start: each call has its own process."""

    def execute(self, code: str, variables: dict[str, Any] | None = None) -> str | None:
        """What `code` prints; None if nothing.

        SyntaxError if it is no Python; SandboxError if it does not reach its end.
        """
        given = {name: _literal(name, value) for name, value in (variables or {}).items()}
        names = "".join(f"{name} = {value}\n" for name, value in given.items())
        result = self.sandbox.run(f"{names}exec(compile({code!r}, '<code>', 'exec'))" if names else code)
        if result.ok:
            return result.stdout or None
        if result.why is Why.ERROR and result.error.startswith(("SyntaxError", "IndentationError", "TabError")):
            raise SyntaxError(result.error)
        raise SandboxError(result.stderr.strip() or result.error, result)

    def shutdown(self) -> None:
        """There is nothing to end: no process outlives its call."""


def _literal(name: str, value: Any) -> str:
    """`value` as Python text that means the same again."""
    if not name.isidentifier():
        raise ValueError(f"execute(variables={{{name!r}: ...}}): must be a name that Python allows")
    _plain(name, value)
    return repr(value)


def _plain(name: str, value: Any) -> None:
    if value is None or type(value) in (str, bytes, bool, int):
        return
    if type(value) is float:
        if not isfinite(value):
            raise ValueError(f"execute(variables={{{name!r}: {value}}}): a number must be finite")
        return
    if type(value) in (list, tuple, set, frozenset):
        parts = list(value)
    elif type(value) is dict:
        parts = [part for pair in value.items() for part in pair]
    else:
        raise TypeError(f"execute(variables={{{name!r}: ...}}): a {type(value).__name__} cannot go into a sandbox")
    for part in parts:
        _plain(name, part)
