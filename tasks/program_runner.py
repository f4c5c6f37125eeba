"""Whatever runs programs, in the one shape that the tasks need: the sandbox, or any interpreter of DSPy's shape."""

from __future__ import annotations

import ast
import inspect
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from ..search.environment import EnvironmentFault
from .sandbox import Check, Checked, Isolation, Sandbox, SandboxResult, Why
from .sandbox.inside import checks as check_module
from .sandbox.result import NOT_REACHED

VERDICTS = ("passed", "failed")
MODULE = "program"  # what a program under test is named: it is not run as a script

HARNESS = """\
def _whole():
    tools, names = {{}}, {{"__name__": {name!r}}}
    exec({checks_source!r}, tools)
    def say(*texts):
        print("\\n{word}", repr(texts))
    try:
        for code, file in (({setup!r}, "<setup>"), ({program!r}, "<program>")):
            exec(compile(code, file, "exec", dont_inherit=True), names)
        tools["run_checks"]({checks!r}, dict(names), say)
    except BaseException as error:
        say("raised", type(error).__name__ + ": " + str(error))
    else:
        say("end")
_whole()
"""


@runtime_checkable
class Runner(Protocol):
    """Runs a program and its checks. EnvironmentFault if it could not: that is no verdict."""

    def run(
        self, code: str, stdin: str = "", checks: Iterable[Check] = (), setup: str = "", name: str = "__main__"
    ) -> SandboxResult: ...


def runner_of(given: Any) -> Runner:
    """A runner: None (a Sandbox), the knobs of one, a runner, or what InterpreterRunner takes. TypeError for others."""
    if given is None:
        return Sandbox()
    if isinstance(given, Mapping):
        return Sandbox(**given)
    if isinstance(given, Runner) and not isinstance(given, type):
        return given
    if _executes(given) or callable(given):
        return InterpreterRunner(given)
    raise TypeError(
        f"runner={given!r}: must be a Sandbox, a dict of its knobs, or a code interpreter (an object with"
        " execute(code), or a function without arguments that makes one)"
    )


class InterpreterRunner:
    """A code interpreter of DSPy's shape, or a function that makes one, as a runner.

    An interpreter is used by one program at a time, and keeps what programs leave in it; a function makes one for each.
    It brings its own limits: what it raises when one is met is a fault here, and not a verdict; only a TimeoutError
    counts as the program's. Standard input is what the interpreter gives. Checks run in it beside the program, which
    can deceive them if it sets out to: a Sandbox has an examiner against that.
    """

    def __init__(self, interpreter: Any) -> None:
        self._shared = interpreter if _executes(interpreter) else None
        self._make: Callable[[], Any] = interpreter
        self._lock = threading.Lock()

    def __reduce__(self) -> Any:
        """In another process: another interpreter, as the one that it was made with is."""
        return InterpreterRunner, (self._make,)

    def __deepcopy__(self, memo: dict[int, Any]) -> InterpreterRunner:
        """Itself: a copy of what holds it goes on with the same interpreter, one program at a time."""
        return self

    def run(
        self, code: str, stdin: str = "", checks: Iterable[Check] = (), setup: str = "", name: str = "__main__"
    ) -> SandboxResult:
        if stdin:
            raise ValueError(f"stdin={stdin[:40]!r}: a code interpreter gives no standard input; use a Sandbox")
        asked = [(check.code, check.want) for check in checks]
        word = secrets.token_hex(16)
        source = inspect.getsource(check_module)
        whole = HARNESS.format(checks_source=source, word=word, setup=setup, program=code, name=name, checks=asked)
        try:
            output = self._execute(whole)
        except TimeoutError:
            return _result(Why.WALL, "", "", ())
        except EnvironmentFault:
            raise
        except Exception as error:
            raise EnvironmentFault(f"the code interpreter failed: {type(error).__name__}: {error}") from error
        return _read(output, word, len(asked))

    def _execute(self, code: str) -> str:
        if self._shared is not None:
            with self._lock:
                return _text(self._shared.execute(code))
        interpreter = self._make()
        try:
            interpreter.start()
            return _text(interpreter.execute(code))
        finally:
            interpreter.shutdown()


def _executes(given: Any) -> bool:
    """Is it an interpreter, and not a class of them, which makes one?"""
    return callable(getattr(given, "execute", None)) and not isinstance(given, type)


def _text(output: Any) -> str:
    """What an interpreter returns, as text: it may be nothing, lines, or the final output that a program gave."""
    if isinstance(output, list | tuple):
        return "\n".join(map(str, output))
    return output if isinstance(output, str) else ""


def _read(output: str, word: str, checks: int) -> SandboxResult:
    told: list[tuple[str, ...]] = []
    other: list[str] = []
    for line in output.splitlines():
        if line.startswith(word):
            told.append(ast.literal_eval(line[len(word) :].strip()))
        else:
            other.append(line)
    kinds = {texts[0]: texts[-1] for texts in told}
    done = {int(texts[1]): Checked(texts[0] == "passed", texts[2]) for texts in told if texts[0] in VERDICTS}
    results = [done.get(number, Checked(False, NOT_REACHED)) for number in range(checks)]
    raised = kinds.get("raised", "")
    left = not raised or raised.startswith("SystemExit")
    why = Why.END if "end" in kinds else Why.EXIT if left else Why.ERROR
    return _result(why, "\n".join(other), raised, results)


def _result(why: Why, stdout: str, stderr: str, checks: Iterable[Checked]) -> SandboxResult:
    unknown = Isolation(lacking={"all": "a code interpreter keeps the program as it does"})
    return SandboxResult(
        ok=why is Why.END,
        exit=0 if why is Why.END else 1,
        stdout=stdout,
        stderr=stderr,
        why=why,
        seconds=0.0,
        cpu_seconds=0.0,
        isolation=unknown,
        checks=tuple(checks),
    )
