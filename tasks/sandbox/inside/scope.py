"""The names that checks see."""

from __future__ import annotations

import builtins
import io
import sys

from . import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

BUILTINS = {name: value for name, value in vars(builtins).items() if not name.startswith("__")}
PYTHONS = plain.LIBRARY | BUILTINS.keys()


def _empty() -> None: ...


def _described() -> None:
    """For another constant before the one returned."""


def _to_be_written() -> None:
    raise NotImplementedError


STUBS = frozenset(one.__code__.co_code for one in (_empty, _described, _to_be_written))


class Names(dict):  # type: ignore[type-arg]
    """Those of checks and setup, and else the program's, as they are at that moment.

    named: gives what the program has by a name, or raises NameError. known: names that it has. only_pythons: the checks
    name nothing of the program's but what is also a name of Python's own: then that is what they test. Else `abs` and
    `math` are Python's, whatever the program calls by these names.
    """

    def __init__(
        self, own: dict[str, Any], named: Callable[[str], Any], known: frozenset[str], only_pythons: bool
    ) -> None:
        super().__init__(own)
        self._named, self._known, self._only_pythons = named, known, only_pythons

    def __missing__(self, name: str) -> Any:
        if name in PYTHONS and not (self._only_pythons and name in self._known):
            if name in BUILTINS:
                return BUILTINS[name]
            if name in self._known:  # a module that the program imports, and the checks do not
                return plain.made("module", (name,))
        try:
            return self._named(name)
        except NameError:
            raise KeyError(name) from None

    def copy(self) -> Names:
        return Names(self, self._named, self._known, self._only_pythons)


def scope(
    checks: list[tuple[str, str | None]], setup: str, module: str, named: Callable[[str], Any], known: frozenset[str]
) -> Names:
    """The names for `checks`, of a program that has the `known` ones.

    Functions that the setup defines are helpers, and its own, whatever the program defines by their names. But where
    checks name nothing else of the program's, or a function has no body yet, it is what the program is to define.
    """
    used = {name for code, _ in checks for name in _names_in(code)}
    own = _own_of(setup, module)
    defined = {name for name, value in own.items() if _defined_in(module, value)}
    helpers = {name for name in defined if own[name].__code__.co_code not in STUBS}
    tested = used & known - PYTHONS - helpers
    for name in defined if not tested else defined - helpers:
        del own[name]
    return Names(own, named, known, not (used & known - PYTHONS))


def _names_in(code: str) -> set[str]:
    """All names in a piece of code."""
    found: set[str] = set()
    try:
        left = [compile(code, "<test>", "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):  # told where it is run
        return found
    while left:
        one = left.pop()
        found |= {*one.co_names}
        left += [constant for constant in one.co_consts if isinstance(constant, type(one))]
    return found


def _own_of(setup: str, name: str) -> dict[str, Any]:
    """The modules and functions that the setup brings, which come from the problem and so are not the program's."""
    scope: dict[str, Any] = {"__name__": name, "__builtins__": builtins}
    stdout, sys.stdout = sys.stdout, io.StringIO()
    try:
        exec(compile(setup, "<setup>", "exec", dont_inherit=True), scope)
    except BaseException:  # told by the program's process, where it is run too
        return {"__name__": name, "__builtins__": builtins}
    finally:
        sys.stdout = stdout
    kinds = (type(sys), type(_own_of), type(len))
    kept = {one: value for one, value in scope.items() if isinstance(value, kinds) or one.startswith("__")}
    return kept | {one: value for one, value in scope.items() if _of_library(value)}


def _defined_in(module: str, value: Any) -> bool:
    return type(value) is type(scope) and value.__module__ == module


def _of_library(value: Any) -> bool:
    return getattr(value, "__module__", None) in plain.LIBRARY
