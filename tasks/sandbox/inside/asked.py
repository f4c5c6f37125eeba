"""In the program's process: what stands for the things of a test's own that it is handed."""

from __future__ import annotations

from .operations import OPERATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Ask = Callable[..., Any]


class Asked:
    """A function to call back, or an object of a class that the test defines. `ask(number, what, ...)` passes it on."""

    _ask: Ask
    _number: int

    def __init__(self, ask: Ask, number: int) -> None:
        object.__setattr__(self, "_ask", ask)
        object.__setattr__(self, "_number", number)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._ask(self._number, "call", args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return self._ask(self._number, "get", name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._ask(self._number, "set", name, value)


def _operation(name: str) -> Any:
    def operation(self: Asked, *args: Any) -> Any:
        return self._ask(self._number, "operate", name, args)

    return operation


for _name in OPERATIONS - {"__call__", "__hash__"}:
    setattr(Asked, _name, _operation(_name))
Asked.__hash__ = object.__hash__  # type: ignore[method-assign]
