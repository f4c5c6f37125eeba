"""LATS writes programs: the tests run in a sandbox, the hidden ones stay hidden."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import dspy
import pytest

import thoughtree
from engines import Engine, lm
from sandboxes import needs_linux
from thoughtree import LATS, MCTS, SearchStatus
from thoughtree.tasks import Programming, Sandbox
from thoughtree.tasks.hidden_tests import hidden_metric

pytestmark = needs_linux

TESTS = "assert add(1, 2) == 3\nassert add(2, 2) == 4\nassert add('a', 'b') == 'ab'"
HIDDEN = "assert add([1], [2]) == [1, 2]"
RIGHT, WRONG = "def add(a, b):\n    return a + b", "def add(a, b):\n    return 3"
WIDE = {"cpu_seconds": 20, "wall_seconds": 60}
each = pytest.mark.parametrize(
    ("concurrency", "driver"), [(c, d) for c in (1, 8) for d in ("threads", "asyncio")], ids=str
)


def writes(*programs: str) -> Any:
    """The first two children are the first program, the later ones the next."""

    def answer(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if "next_action" in kind:
            first = inputs["search_path"] == "(none)" and inputs["search_lessons"] == "(none)"
            return {"act_reasoning": "r", "next_action": f"```python\n{programs[0 if first else -1]}\n```"}
        if "attempt_score" in kind:
            return {"judge_reasoning": "r", "attempt_score": "0.2"}
        return {"attempt_lesson": f"it failed: {inputs['attempt_feedback'].splitlines()[-1]}"}

    return answer


def solve(program: LATS, engine: Engine, driver: str = "threads", **config: Any) -> Any:
    with dspy.context(lm=lm(engine)):
        inputs = {"problem": "add two", "tests": TESTS, "config": config}
        return asyncio.run(program.acall(**inputs)) if driver == "asyncio" else program(**inputs)


@each
def test_a_failed_program_teaches_and_is_mended(concurrency: int, driver: str) -> None:
    engine = Engine(writes(WRONG, RIGHT))
    found = solve(LATS(env=Programming(runner=WIDE), blend=0.75, concurrency=concurrency), engine, driver)
    assert (found.program, found.search.status) == (RIGHT, SearchStatus.SOLVED)
    first = found.search.tree[1]
    assert first.value == pytest.approx(0.25 * 0.2 + 0.75 * 1 / 3)  # the model's score, and the share of tests passed
    assert (first.missed, first.status.value) == (True, "expanded")  # failed, and not the end: its child is right
    assert found.search.tree.lessons == ["it failed: expected 4, got 3"]  # of the one child: the other is the same
    shown = [call.inputs["search_path"] for call in engine.calls if "next_action" in call.kind][-1]
    for told in ("1 of 3 tests passed (1).", "Test 2 failed: assert add(2, 2) == 4", "expected 4, got 3"):
        assert told in shown


def test_no_prompt_holds_a_hidden_test_and_the_metric_runs_it_once_on_the_answer() -> None:
    engine = Engine(writes(RIGHT))
    example = dspy.Example(problem="add two", tests=TESTS, hidden_tests=HIDDEN).with_inputs("problem", "tests")
    with dspy.context(lm=lm(engine)):
        found = LATS(env=Programming(runner=WIDE))(**example.inputs())
    assert hidden_metric(runner=WIDE)(example, found) is True
    assert all(HIDDEN not in str(call.request) for call in engine.calls)
    only_visible = "def add(a, b):\n    return {(1, 2): 3, (2, 2): 4, ('a', 'b'): 'ab'}[a, b]"
    found = solve(LATS(env=Programming(runner=WIDE)), Engine(writes(only_visible)))
    assert found.search.status is SearchStatus.SOLVED
    assert hidden_metric(runner=WIDE)(example, found) is False


def test_a_program_that_sets_out_to_deceive_is_no_solution() -> None:
    liar = "class Any:\n    def __eq__(self, other): return True\ndef add(a, b): return Any()"
    found = solve(LATS(env=Programming(runner=WIDE), controller=MCTS(rollouts=2)), Engine(writes(liar, liar + "\n")))
    assert found.search.status is SearchStatus.UNVERIFIED
    assert {node.observation["value"] for node in found.search.tree if node.observation is not None} == {0.0}


def test_a_sandbox_that_does_not_start_is_an_error_and_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys._base_executable", "/no/python", raising=False)
    found = solve(LATS(env=Programming()), Engine(writes(RIGHT))).search
    assert found.status is SearchStatus.FAILED
    assert "could not be started" in str(found.first_error)
    assert all(node.value is None for node in found.tree)


def test_what_the_system_does_not_isolate_is_said_once_on_the_result() -> None:
    without = frozenset({"namespaces", "filter"})
    runner = Sandbox(cpu_seconds=20, wall_seconds=60, without=without)
    found = solve(LATS(env=Programming(runner=runner)), Engine(writes(WRONG, RIGHT))).search
    assert found.status is SearchStatus.SOLVED
    (told,) = [text for text in found.warnings if "NOT isolated" in text]
    assert told.startswith("programs were run with less than full protection: ")
    assert "network NOT isolated: " in told
    assert all("NOT isolated" not in str(node.observation["observation"]) for node in found.tree if node.observation)


def test_it_is_loaded_whole_and_resumed(tmp_path: Path) -> None:
    LATS(env=Programming(runner=WIDE, allow_no_tests=True), controller=MCTS(rollouts=3)).save(tmp_path / "lats.json")
    loaded, engine = thoughtree.load(tmp_path / "lats.json"), Engine(writes(WRONG, RIGHT))
    assert loaded.task.env == Programming(runner=WIDE, allow_no_tests=True)
    journal = tmp_path / "run.jsonl"
    solve(loaded, engine, journal=journal, budget=3)
    found = solve(loaded, engine, journal=journal)
    assert (found.program, found.search.spent.calls) == (RIGHT, len(engine.calls))
