"""The choice between recorded programs, on inputs of known results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarked import benchmark
from sandboxes import needs_linux
from thoughtree.tasks.sandbox import Check, Checked

YES, NO = Checked(True), Checked(False, "no")


humaneval = benchmark("humaneval")
PROBLEM = humaneval.Problem("id", "f", "", (Check("a"),), (Check("b"), Check("c")), "hidden", ("p", "q"))


def candidate(program: str, visible: Checked, *asserts: Checked) -> Any:
    return humaneval.Candidate(PROBLEM, program, True, (visible,), asserts)


def test_visible_tests_come_before_agreement() -> None:
    agree = [candidate(name, NO, YES, YES) for name in "abc"]
    alone = candidate("d", YES, NO, NO)
    assert humaneval.finalists([*agree, alone]) == [alone]


def test_a_group_weighs_its_members_times_the_asserts_they_pass() -> None:
    """Two that pass both asserts: 2 x (1 + 2) = 6; three that pass none: 3 x 1; one that passes one: 1 x 2."""
    two = [candidate(name, YES, YES, YES) for name in "ab"]
    three = [candidate(name, YES, NO, NO) for name in "cde"]
    assert humaneval.finalists([*three, *two, candidate("f", YES, YES, NO)]) == two


def test_ties_do_not_go_by_place() -> None:
    pair = [candidate(name, YES, YES, YES) for name in "ab"]
    assert humaneval.chosen(pair) is humaneval.chosen(pair[::-1])


def test_without_visible_tests_a_program_has_to_run() -> None:
    assert humaneval.Candidate(PROBLEM, "p", False, (), ()).rate == 0
    assert humaneval.Candidate(PROBLEM, "p", True, (), ()).rate == 1


@needs_linux
def test_a_run_of_one_task(tmp_path: Path) -> None:
    (tmp_path / "sets").mkdir()
    task = {
        "id": "t/0",
        "entry_point": "inc",
        "prompt": "def inc(x: int) -> int:\n    'One more.'\n",
        "visible_tests": ["assert inc(1) == 2"],
        "test": "def check(candidate):\n    assert candidate(5) == 6\n",
    }
    wrong, right = "def inc(x):\n    return 2", "def inc(x: Optional[int]):\n    return x + 1"
    recorded = {
        "id": "t/0",
        "lm_tests": [["assert inc(2) == 3", 1], ["assert inc(0) == 0", 0]],
        "solutions": [{"code": wrong, "passes_hidden": False}, {"code": right, "passes_hidden": True}],
    }
    (tmp_path / "sets" / "humaneval.jsonl").write_text(json.dumps(task))
    (tmp_path / "sets" / "humaneval_lm_solutions.jsonl").write_text(json.dumps(recorded))
    rows = list(humaneval.run(tmp_path))
    assert [(row.figure, row.measured) for row in rows] == [
        ("visible tests, then agreement", 1),
        ("the same, ties at random", 1.0),
        ("random choice", 0.5),
        ("any program that is right", 1),
    ]
