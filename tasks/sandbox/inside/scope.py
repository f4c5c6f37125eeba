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
WITH_EFFECTS = frozenset(("print", "input", "open", "exec", "eval", "breakpoint", "next", "setattr", "delattr"))
ONLY_PARSED = 0x400  # of `compile`: gives the tree, whose kinds need no import
PYTHONS = plain.LIBRARY | BUILTINS.keys()


def _empty() -> None: ...


def _described() -> None:
    """For another constant before the one returned."""


def _to_be_written() -> None:
    raise NotImplementedError


STUBS = frozenset(one.__code__.co_code for one in (_empty, _described, _to_be_written))


class Names(dict):  # type: ignore[type-arg]
    """Those of checks and setup, and else the program's, as they are at that moment.

    named: gives what the program has by a name, or raises NameError. known: names that it has. theirs: names of
    Python's own that are the program's here. All others are Python's: `math`, and `abs` where both agree on it.
    """

    def __init__(
        self, own: dict[str, Any], named: Callable[[str], Any], known: frozenset[str], theirs: frozenset[str]
    ) -> None:
        super().__init__(own)
        self._named, self._known, self._theirs = named, known, theirs

    def __missing__(self, name: str) -> Any:
        if name in PYTHONS and name not in self._theirs:
            if name in BUILTINS:
                return self._python_s(name, BUILTINS[name])
            if name in self._known:  # a module that the program imports, and the checks do not
                return plain.made("module", (name,))
        try:
            return self._named(name)
        except NameError:
            raise KeyError(name) from None

    def _python_s(self, name: str, own: Any) -> Any:
        """A built-in. Nobody knows whether it is tested, where the program redefines it: then both are to agree."""
        if name not in self._known or type(own) is not type(len) or name in WITH_EFFECTS:
            return own
        theirs = self._named(name)

        def both(*args: Any, **kwargs: Any) -> Any:
            found, other = own(*args, **kwargs), theirs(*args, **kwargs)
            if type(found) is not type(other) or found != other:
                raise TypeError(f"the program redefines {name}, and gives {other!r} where Python gives {found!r}")
            return found

        return both

    def copy(self) -> Names:
        return Names(self, self._named, self._known, self._theirs)


def scope(
    checks: list[tuple[str, str | None]], setup: str, module: str, named: Callable[[str], Any], known: frozenset[str]
) -> Names:
    """The names for `checks`, of a program that has the `known` ones.

    Functions that the setup defines are helpers, and its own, whatever the program defines by their names. But where
    checks name nothing else of the program's, or a function has no body yet, it is what the program is to define.
    """
    names = [_names_in(code) for code, _ in checks]
    used = {name for read, _ in names for name in read} - {name for _, given in names for name in given}
    own = _own_of(setup, module)
    defined = {name for name, value in own.items() if _defined_in(module, value)}
    helpers = {name for name in defined if own[name].__code__.co_code not in STUBS}
    tested = used & known - PYTHONS - helpers
    for name in defined if not tested else defined - helpers:
        del own[name]
    return Names(own, named, known, _theirs(used & known))


def _theirs(used: set[str] | frozenset[str]) -> frozenset[str]:
    """The name of Python's own, of the names `used` that the program has, that is what is tested.

    It is the only one, a built-in function before a module, and nothing else of the program's is used.
    """
    found = used & BUILTINS.keys() or used
    return frozenset(found) if len(found) == 1 and not used - PYTHONS else frozenset()


def _names_in(code: str) -> tuple[set[str], set[str]]:
    """The names that a piece of code reads, and those that it gives something itself."""
    read: set[str] = set()
    given: set[str] = set()
    try:
        left: list[Any] = [compile(code, "<test>", "exec", ONLY_PARSED, dont_inherit=True)]
    except (SyntaxError, ValueError):  # told where it is run
        return read, given
    while left:
        node = left.pop()
        if isinstance(node, list):
            left += node
        elif hasattr(node, "_fields"):
            left += [getattr(node, field, None) for field in node._fields]
            match type(node).__name__:
                case "Name":
                    (read if type(node.ctx).__name__ == "Load" else given).add(node.id)
                case "FunctionDef" | "AsyncFunctionDef" | "ClassDef":
                    given.add(node.name)
                case "arg":
                    given.add(node.arg)
                case "alias":
                    given.add((node.asname or node.name).partition(".")[0])
    return read, given


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
