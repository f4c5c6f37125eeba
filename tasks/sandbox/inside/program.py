"""The program itself: run as `__main__` in this interpreter, to its very end."""

from __future__ import annotations

import atexit
import builtins
import gc
import os
import sys

from .channel import Channel
from .checks import run_checks

NAME = "<program>"
RESERVE = 1 << 20  # bytes given back when memory is out, so that this can still be said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from .order import Order


def run(order: Order, channel: Channel, answer_all: Callable[[dict[str, Any]], bool] | None) -> NoReturn:
    """Runs the setup, the code, the checks, and what a script's end runs; says "end" only after all of it.

    answer_all: answers an examiner, where it is one who runs the checks; False: it did not come to the end of them.
    """
    reserve = bytearray(RESERVE)
    names = _module(order["name"])
    gc.enable()
    try:
        if order["setup"]:
            exec(compile(order["setup"], "<setup>", "exec", dont_inherit=True), names)
        exec(compile(order["code"], NAME, "exec", dont_inherit=True), names)
        run_checks(order["checks"] or (), dict(names), channel.say)
        if answer_all is not None and not answer_all(names):
            _flush()
            os._exit(1)  # a check has ended its examiner
        _finish(names)
    except BaseException as error:
        del reserve
        os._exit(_raised(error, channel))
    channel.say("end")
    os._exit(0)


def _module(name: str) -> dict[str, Any]:
    """The names of a new module, as a script would find them, or what imports it."""
    module = type(sys)(name)
    module.__builtins__ = builtins  # type: ignore[attr-defined]
    builtins.exit = builtins.quit = sys.exit  # type: ignore[assignment]
    sys.modules[name] = sys.modules["__main__"] = module
    sys.argv[:] = [NAME]
    return module.__dict__


def _finish(names: dict[str, Any]) -> None:
    """What an interpreter does when a script is over: threads, exit functions, buffers, destructors."""
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()
    atexit._run_exitfuncs()
    names.clear()
    gc.collect()
    _flush()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()  # type: ignore[union-attr]
        except Exception:  # closed, or put there by the program: an interpreter does not mind either
            continue


def _raised(error: BaseException, channel: Channel) -> int:
    """Says what the program raised, shows it as an interpreter would, and returns the exit code."""
    if isinstance(error, SystemExit):
        channel.say("exit")
    elif isinstance(error, MemoryError):
        channel.say("memory")
    else:
        channel.say("raised", type(error).__name__, str(_number(error)))
    try:
        if not isinstance(error, SystemExit):
            traceback = error.__traceback__
            error.__traceback__ = traceback.tb_next if traceback is not None else None  # the program's part of it
            sys.__excepthook__(type(error), error, error.__traceback__)
        elif isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except BaseException:  # of the error's own code: the verdict is said, only its text is lost
        return 1
    finally:
        _flush()
    if isinstance(error, SystemExit):
        return error.code & 0xFF if isinstance(error.code, int) else int(error.code is not None)
    return 1


def _number(error: BaseException) -> int:
    """The system's error number that it stands for, or 0."""
    number = error.errno if isinstance(error, OSError) else 0
    return number if type(number) is int else 0
