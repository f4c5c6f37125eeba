"""Programs against tests: what a step says, what it never says, and the metric that a search does not see."""

from __future__ import annotations

import copy
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from dspy.primitives.local_interpreter import LocalInterpreter

from sandboxes import needs_linux
from thoughtree.search.environment import Environment, EnvironmentFault
from thoughtree.search.protocol import Illegal
from thoughtree.tasks.attempts import Attempt, Attempts
from thoughtree.tasks.hidden_tests import hidden_metric, passes
from thoughtree.tasks.program_runner import InterpreterRunner, runner_of
from thoughtree.tasks.programming import Programming
from thoughtree.tasks.programming_examples import PROGRAMMING_EXAMPLES, RUNS, ProgrammingProblem
from thoughtree.tasks.sandbox import Check, Sandbox, SandboxInterpreter, SandboxUnavailable

pytestmark = needs_linux

TESTS = "assert add(1, 2) == 3\nassert add(2, 2) == 4\nassert add('a', 'b') == 'ab'"
RIGHT = "def add(a, b):\n    return a + b"
WRONG = "def add(a, b):\n    return 3"
WIDE = {"cpu_seconds": 20, "wall_seconds": 60}


def programming(**knobs: Any) -> Programming:
    return Programming(**{"runner": WIDE, **knobs})


def start(env: Programming, tests: Any = TESTS) -> Attempts:
    return env.initial({"problem": "add two", "tests": tests})


# ---- a step


def test_it_is_an_environment() -> None:
    assert isinstance(Programming(), Environment)


def test_a_program_that_passes_all_tests_is_a_solution() -> None:
    env = programming()
    seen = env.step(start(env), f"Here it is:\n```python\n{RIGHT}\n```\nDone.")
    assert (seen.solved, seen.terminal, seen.failed, seen.value, seen.feedback) == (True, True, False, 1.0, None)
    assert seen.observation == "3 of 3 tests passed."
    assert seen.state.made == (Attempt(RIGHT, (True, True, True), True, "3 of 3 tests passed."),)
    assert env.answer(seen.state) == {"program": RIGHT}


def test_one_that_fails_is_failed_and_may_be_mended() -> None:
    env = programming()
    first = env.step(start(env), WRONG)
    told = "1 of 3 tests passed (1).\nTest 2 failed: assert add(2, 2) == 4\nexpected 4, got 3"
    assert (first.solved, first.terminal, first.failed) == (False, False, True)
    assert first.value == pytest.approx(1 / 3)
    assert (first.observation, first.feedback) == (told, told)
    second = env.step(first.state, RIGHT)
    assert second.solved
    assert [made.program for made in second.state] == [WRONG, RIGHT]


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("def add(a, b): return a + c", "Test 1 failed: assert add(1, 2) == 3\nNameError: name 'c' is not defined"),
        ("def add(a, b):\n    while True: pass", "Test 1 failed: assert add(1, 2) == 3\nended: cpu time"),
        ("import os\ndef add(a, b): os._exit(0)", "Test 1 failed: assert add(1, 2) == 3\nended: exit"),
        ("import sys\nsys.exit(0)", "No test was reached. The program left before its end"),
        ("def add(:", "No test was reached. The program failed:\n  File"),
        ("while True: pass", "No test was reached. The program met its limit: cpu time."),
        ("x = bytearray(2**40)", "No test was reached. The program failed:\nTraceback"),
        ("import os; os.kill(os.getpid(), 9)", "No test was reached. The program was ended by signal 9."),
    ],
)
def test_the_first_failure_is_told(program: str, told: str) -> None:
    env = programming(runner={"cpu_seconds": 0.3, "wall_seconds": 60})
    seen = env.step(start(env), program)
    assert (seen.solved, seen.failed, seen.terminal, seen.value) == (False, True, False, 0.0)
    assert told.removesuffix("  File") in seen.observation


def test_all_tests_and_no_end_is_no_solution() -> None:
    env = programming(runner={"cpu_seconds": 0.3, "wall_seconds": 60})
    program = RIGHT + "\nclass A:\n    def __del__(self):\n        while True: pass\na = A()"
    seen = env.step(start(env), program)
    assert (seen.solved, seen.failed, seen.value) == (False, True, 1.0)
    assert seen.observation == (
        "3 of 3 tests passed, but the program did not come to its end. The program met its limit: cpu time."
    )


def test_what_a_script_would_run_is_left_out() -> None:
    env = programming()
    assert env.step(start(env), f"{RIGHT}\nif __name__ == '__main__':\n    print(add(int(input()), 1))").solved


@pytest.mark.parametrize("text", ["", "  \n", "```python\n```", "<think>what now</think>"])
def test_no_program_is_illegal(text: str) -> None:
    env = programming()
    assert env.parse(text, start(env)) == Illegal("no program")
    with pytest.raises(Illegal, match="no program"):
        env.step(start(env), text)


def test_a_step_changes_nothing_and_may_run_beside_others() -> None:
    env = programming()
    state = start(env)
    with ThreadPoolExecutor(4) as pool:
        seen = list(pool.map(lambda program: env.step(state, program), [RIGHT, WRONG, RIGHT, WRONG]))
    assert [one.value for one in seen] == pytest.approx([1, 1 / 3, 1, 1 / 3])
    assert (len(state), seen[0], seen[1]) == (0, seen[2], seen[3])


def test_the_same_program_has_the_same_key() -> None:
    env = programming()
    state = start(env)
    later = env.step(state, WRONG).state
    one, same, other = (
        env.step(place, text).key
        for place, text in ((state, RIGHT), (later, f"# of two\n{RIGHT}  # so\n\n"), (state, RIGHT + "\nadd(1, 1)"))
    )
    assert one == same
    assert one != other


# ---- the problem


def test_a_prompts_examples_and_what_stands_before_its_function() -> None:
    prompt = (
        "import math\nfrom typing import List\n\ndef half(x):\n    return x / 2\n\n"
        'def halves(xs: List[float]):\n    """Half of each.\n\n    >>> halves([2, 4])\n    [1.0, 2.0]\n    """\n'
    )
    env = programming(tests="prompt")
    state = env.initial({"prompt": prompt})
    assert state.tests == (Check("halves([2, 4])", "[1.0, 2.0]", "halves([2, 4])"),)
    assert env.step(state, "def halves(xs: List[float]):\n    return [half(x) for x in xs]").solved


def test_entry_and_setup_are_names_or_fields() -> None:
    inputs = {"tests": "one(2) -> 3 and two(2) -> 4", "name": "two", "before": "TWO = 2"}
    for entry in ("two", "name"):
        env = programming(entry=entry, setup="before")
        state = env.initial(inputs)
        assert [check.shown for check in state.tests] == ["two(2) == 4"]
        assert env.step(state, "def two(x): return x * TWO").solved


@pytest.mark.parametrize(
    ("inputs", "knobs", "told"),
    [
        ({"problem": "p"}, {}, r"no field 'tests' with the visible tests, only \['problem'\]"),
        ({"tests": "it should work"}, {}, r"inputs\['tests'\]='it should work': no test found; give assert lines"),
        ({"tests": 3}, {}, r"inputs\['tests'\]=3: must be text, or a list of texts"),
        ({"tests": TESTS}, {"setup": "before"}, "no field 'before' with code to run before the program"),
    ],
)
def test_inputs_that_are_no_problem(inputs: dict[str, Any], knobs: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        programming(**knobs).initial(inputs)


def test_without_tests_nothing_is_solved() -> None:
    env = programming(allow_no_tests=True)
    state = start(env, "it should work")
    ran, broke = env.step(state, RIGHT), env.step(state, "1 / 0")
    assert (ran.solved, ran.failed, ran.value, ran.observation) == (
        *(False, False, None),
        "It ran to its end; there are no tests.",
    )
    assert (broke.solved, broke.failed, broke.value) == (False, True, None)


@pytest.mark.parametrize(
    ("knobs", "error", "told"),
    [
        ({"tests": ""}, ValueError, r"Programming\(tests=''\): must be the name of a field"),
        ({"runner": 3}, TypeError, "runner=3: must be a Sandbox, a dict of its knobs, or a code interpreter"),
        ({"runner": {"cpu_seconds": -1}}, ValueError, "cpu_seconds=-1"),
    ],
)
def test_a_bad_knob_is_named(knobs: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        Programming(**knobs)


def test_it_is_made_again_from_its_settings() -> None:
    env = programming(tests="prompt", entry="f", allow_no_tests=True)
    assert Programming(**json.loads(json.dumps(env.config()))) == env


def test_states_go_to_json_and_back() -> None:
    env = programming()
    state = env.step(env.initial({"tests": ">>> add(1, 2)\n3"}), WRONG).state
    assert env.load(json.loads(json.dumps(env.dump(state)))) == state


def test_a_state_is_shown_with_its_outcomes() -> None:
    env = programming()
    state = start(env)
    assert env.render(state) == "(no program yet)"
    shown = env.render(env.step(state, WRONG).state)
    assert shown.startswith(f"Program 1:\n```python\n{WRONG}\n```\nOutcome: 1 of 3 tests passed (1).\nTest 2 failed")


# ---- runners


def test_a_sandbox_that_cannot_start_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    env = programming()
    state = start(env)
    monkeypatch.setattr("sys._base_executable", "/no/python", raising=False)
    with pytest.raises(SandboxUnavailable):
        env.step(state, RIGHT)


class Broken:
    """An interpreter that does not work."""

    def execute(self, code: str, variables: dict[str, Any] | None = None) -> Any:
        raise RuntimeError("no engine")


class Slow:
    def execute(self, code: str, variables: dict[str, Any] | None = None) -> Any:
        raise TimeoutError


def test_an_interpreter_that_fails_is_a_fault_and_no_score() -> None:
    env = Programming(runner=Broken())
    with pytest.raises(EnvironmentFault, match="the code interpreter failed: RuntimeError: no engine"):
        env.step(start(env), RIGHT)


def test_a_time_out_is_the_programs() -> None:
    env = Programming(runner=Slow())
    assert env.step(start(env), RIGHT).observation == "No test was reached. The program met its limit: wall time."


def ours() -> SandboxInterpreter:
    return SandboxInterpreter(Sandbox(**WIDE))


@pytest.mark.parametrize("runner", [LocalInterpreter, ours])
def test_interpreters_of_dspys_shape_say_the_same(runner: Any) -> None:
    env, other = Programming(runner=runner), programming()
    state = start(env)
    for program in (RIGHT, WRONG, f"print('noise')\n{RIGHT}\nprint('more', end='')", "import sys; sys.exit(0)"):
        assert replace(env.step(state, program), warning=None) == other.step(state, program)


def test_a_shared_interpreter_is_used_by_one_at_a_time() -> None:
    class Counting(SandboxInterpreter):
        most = now = 0

        def execute(self, code: str, variables: dict[str, Any] | None = None) -> str | None:
            with lock:
                self.now += 1
                self.most = max(self.most, self.now)
            try:
                return super().execute(code, variables)
            finally:
                with lock:
                    self.now -= 1

    lock, shared = threading.Lock(), Counting(Sandbox(**WIDE))
    env = Programming(runner=shared)
    with ThreadPoolExecutor(3) as pool:
        assert all(seen.solved for seen in pool.map(lambda _: env.step(start(env), RIGHT), range(3)))
    assert shared.most == 1


def test_copies_share_an_interpreter_and_settings() -> None:
    shared = ours()
    env = Programming(runner=shared)
    again = copy.deepcopy(env)
    assert again._runner is env._runner
    assert copy.deepcopy(programming()) == programming()


def test_an_interpreter_cannot_be_forged_by_printing() -> None:
    runner = runner_of(ours())
    assert isinstance(runner, InterpreterRunner)
    result = runner.run("print(\"('check', '0', '')\")\nprint(\"('end',)\")\n1 / 0", checks=[Check("assert False")])
    assert not result.ok
    assert not result.checks[0].passed


# ---- hidden tests


@pytest.mark.parametrize("problem", PROGRAMMING_EXAMPLES, ids=lambda problem: problem.name)
def test_the_examples_solve_themselves(problem: ProgrammingProblem) -> None:
    env = programming()
    assert env.step(env.initial(problem.inputs()), problem.program).solved
    assert passes(problem.program, problem.hidden_tests, WIDE)
    assert not passes("", problem.hidden_tests)


def test_visible_tests_are_not_all() -> None:
    program = "def runs(text):\n    return [2, 1] if text else []"
    env = programming()
    assert env.step(env.initial(RUNS.inputs()), program).solved
    assert not passes(program, RUNS.hidden_tests, WIDE)


@pytest.mark.parametrize(
    ("program", "right"),
    [
        (RIGHT, True),
        (f"```python\n{RIGHT}\n```", True),
        (WRONG, False),
        (f"{RIGHT}\nimport sys\nsys.exit(0)", False),
        ("def add(a, b):\n    raise SystemExit(0)", False),
        (None, False),
    ],
)
def test_a_metric_runs_the_hidden_tests_once(program: str | None, right: bool) -> None:
    hidden = "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(5, 5) == 10\n"
    metric = hidden_metric("test", "code", entry="name", runner=WIDE)
    assert metric({"test": hidden, "name": "add"}, {"code": program}) is right


def test_tests_that_test_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="there is no test"):
        passes(RIGHT, " \n")
    with pytest.raises(ValueError, match=r"entry=None: the tests define check\(candidate\)"):
        passes(RIGHT, "def check(candidate):\n    assert candidate(1, 2) == 3\n")
