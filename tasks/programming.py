"""Programs against tests: each action is a whole program, each step runs the tests that the problem shows.

Source: Zhou et al. 2024, "Language Agent Tree Search", arXiv 2310.04406, section 5.2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..search.environment import Observed
from ..search.protocol import Illegal
from .attempts import Attempts, judged
from .layout import brief
from .program_runner import MODULE, Runner, runner_of
from .program_text import normal_form, program_text
from .visible_tests import preamble, visible_tests

MOST_PROGRAM = 200_000  # characters


@dataclass(frozen=True)
class Programming:
    """A pure environment, and what prompts need to know of it. A state is a sequence of attempts, the newest last.

    tests: the input field that holds the visible tests: asserts, or text with a docstring's examples (a prompt), or a
    list of such texts; see `visible_tests`. output: the output field for the program. entry: the function under test,
    or the input field that names it (default: the last function that the tests' text defines). setup: the input field
    with code that runs before each program (default: what a prompt has before its last function: imports, helpers).
    runner: what runs programs: a Sandbox (the default), a dict of its knobs, or a code interpreter of DSPy's shape.
    allow_no_tests: take problems without a test, of which none is ever solved.

    A program is loaded as a module is: what it guards by `if __name__ == "__main__"` does not run. One that fails is
    failed, not terminal: the next one may mend it. A runner that does not work is an EnvironmentFault, never a score.
    Hidden tests are no concern of a search: see `hidden_tests.passes`.
    """

    tests: str = "tests"
    output: str = "program"
    entry: str | None = None
    setup: str | None = None
    runner: Any = None
    allow_no_tests: bool = False
    _runner: Runner = field(init=False, repr=False, compare=False)

    action_format = "one whole Python program in a ```python code fence"

    def __post_init__(self) -> None:
        for name in ("tests", "output"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise ValueError(f"Programming({name}={getattr(self, name)!r}): must be the name of a field")
        object.__setattr__(self, "_runner", runner_of(self.runner))

    @property
    def signature(self) -> str:
        """Of a program that is given this environment and no signature of its own."""
        return f"problem, {self.tests} -> {self.output}"

    def config(self) -> dict[str, Any]:
        runner = self.runner if isinstance(self.runner, Mapping | None) else repr(self.runner)
        names = ("tests", "output", "entry", "setup", "allow_no_tests")
        return {name: getattr(self, name) for name in names} | {"runner": runner}

    def instructions(self) -> str:
        return (
            "Each action is one whole Python program: imports, helper functions and all. It is run, then the visible"
            " tests are run in its names. It has the standard library, no network, and little time and memory."
            " When tests fail, the next program should mend what the first failing test shows, for every input and"
            " not for that test alone."
        )

    # The environment

    def initial(self, inputs: Mapping[str, Any]) -> Attempts:
        """No attempt yet. ValueError for inputs without tests."""
        text = _given(inputs, self.tests, "the visible tests")
        if not isinstance(text, str) and not (isinstance(text, Sequence) and all(isinstance(one, str) for one in text)):
            raise ValueError(f"inputs[{self.tests!r}]={brief(text)}: must be text, or a list of texts")
        entry = inputs.get(self.entry, self.entry) if self.entry is not None else None
        found = visible_tests(text, entry)
        if not found and not self.allow_no_tests:
            raise ValueError(
                f"inputs[{self.tests!r}]={brief(text)}: no test found; give assert lines, or examples such as"
                " `>>> f(1)` with the result below, or say Programming(allow_no_tests=True)"
            )
        if self.setup is not None:
            return Attempts(found, str(_given(inputs, self.setup, "code to run before the program")))
        return Attempts(found, preamble(text, entry))

    def step(self, state: Attempts, action: str) -> Observed:
        """Runs the visible tests on a program. Illegal for text without one."""
        program = program_text(action)
        if not program:
            raise Illegal("no program")
        if len(program) > MOST_PROGRAM:
            raise Illegal(f"a program of more than {MOST_PROGRAM} characters")
        result = self._runner.run(program, checks=state.tests, setup=state.setup, name=MODULE)
        attempt, gaps = judged(program, state.tests, result), result.isolation.gaps
        return Observed(
            state.after(attempt),
            observation=attempt.outcome,
            solved=attempt.solved,
            terminal=attempt.solved,
            failed=not attempt.solved and (bool(state.tests) or not result.ok),
            feedback=None if attempt.solved else attempt.outcome,
            value=attempt.rate,
            key=_key(program),
            warning=f"programs were run with less than full protection: {gaps}" if gaps else None,
        )

    # To the reader, and to the disk

    def parse(self, text: str, state: Attempts) -> str | Illegal:
        return program_text(text) or Illegal("no program")

    def render(self, state: Attempts) -> str:
        shown = (
            f"Program {number}:\n```python\n{made.program}\n```\nOutcome: {made.outcome}"
            for number, made in enumerate(state, 1)
        )
        return "\n\n".join(shown) or "(no program yet)"

    def answer(self, state: Attempts) -> dict[str, Any]:
        return {self.output: state[-1].program} if len(state) else {}

    def dump(self, state: Attempts) -> dict[str, Any]:
        return state.json()

    def load(self, value: dict[str, Any]) -> Attempts:
        return Attempts.read(value)


def _key(program: str) -> str:
    """The same for programs that differ in comments and spacing alone."""
    return hashlib.sha256(normal_form(program).encode("utf-8", "surrogatepass")).hexdigest()


def _given(inputs: Mapping[str, Any], name: str, what: str) -> Any:
    if name not in inputs:
        raise ValueError(f"inputs: there is no field {name!r} with {what}, only {sorted(inputs)}")
    return inputs[name]
