"""The command line on Blocksworld, programming and crosswords: what answers, what is verified, what is refused."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.clients import Cache
from typer.testing import CliRunner

from engines import Engine, lm
from thoughtree import ABMCTS, LATS, MCTS, RAP, Beam, Blocksworld
from thoughtree.block_planning import enough_steps, good, moves_to_try, undone
from thoughtree.cli import app
from thoughtree.exits import Exit
from thoughtree.mistake import Mistake
from thoughtree.modules.about import build
from thoughtree.offline import NOTICE, offline_lm, plays
from thoughtree.offline_blocks import predicted
from thoughtree.problem import _controller
from thoughtree.tasks import BLOCKSWORLD_EXAMPLES as BLOCKS
from thoughtree.tasks import CROSSWORDS_EXAMPLES as CROSSWORDS
from thoughtree.tasks import Crosswords, Programming
from thoughtree.tasks.blocksworld_move import BlockMove, after, legal
from thoughtree.tasks.blocksworld_text import read_initial
from thoughtree.typed_input import inputs_of

SWAP = ("on(red,blue), ontable(blue)", "--task", "blocksworld", "--input", "goal=on(blue,red)")
PLAN = [
    "unstack the red block from on top of the blue block",
    "put down the red block",
    "pick up the blue block",
    "stack the blue block on top of the red block",
]
DOUBLE = ("Write double(n).", "--task", "programming", "--input", "tests=assert double(2) == 4")


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.setitem(vars(dspy), "cache", Cache(False, False, None))
    for name in ("OPENAI_API_KEY", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


def solve(*arguments: str) -> Any:
    found = CliRunner().invoke(app, ["solve", *arguments])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found


def in_json(*arguments: str) -> tuple[dict[str, Any], int]:
    found = solve(*arguments, "--json")
    return json.loads(found.stdout), found.exit_code


def complaint(*arguments: str) -> str:
    """The one line on stderr of a run that is refused."""
    found = solve(*arguments)
    assert (found.stdout, found.stderr.count("\n"), found.exit_code) == ("", 1, Exit.USAGE)
    return str(found.stderr).removeprefix("thoughtree: ").rstrip("\n")


def verified(example: dict[str, str], answer: dict[str, Any]) -> bool:
    return Blocksworld().for_inputs(example).check(answer) is True


# ---- Blocksworld


def test_blocks_without_a_model_are_planned_by_a_stand_in_that_says_so() -> None:
    found = solve(*SWAP)
    assert found.exit_code == Exit.SOLVED
    assert found.stderr == f"thoughtree: {NOTICE}\n"
    shown = found.stdout.splitlines()
    assert shown[:4] == [f"plan: {PLAN[0]}", *PLAN[1:]]
    assert shown[4:6] == ["status: solved: code has verified the answer", "path:"]
    assert shown[10].startswith("world model: ")


def test_the_stand_in_answers_the_prompts_of_all_three_roles() -> None:
    told, _ = in_json(*SWAP)
    assert (told["model"], told["errors"], told["unread"]) == ("offline/rules", {}, {})
    assert set(told["spent_by"]) == {"propose", "step", "rate"}
    assert told["predicted"] == {"right": told["spent_by"]["step"]["calls"], "wrong": 0}


@pytest.mark.parametrize("example", BLOCKS)
@pytest.mark.parametrize("more", [[], ["--propose", "moves"], ["--controller", "beam"], ["--transition", "replace"]])
def test_the_examples_are_solved(example: dict[str, str], more: list[str]) -> None:
    arguments = (example["initial"], "--task", "blocksworld", "--input", f"goal={example['goal']}", *more)
    told, code = in_json(*arguments)
    assert code == Exit.SOLVED
    assert verified(example, told["answer"])
    assert ("propose" in told["spent_by"], "step" in told["spent_by"]) == ("moves" not in more, "replace" not in more)


def test_a_tower_of_seven_is_turned_over() -> None:
    """Longer than the 10 rollouts of one step each that a plan would otherwise have."""
    blocks = [f"b{i}" for i in range(7)]
    tower = [f"on({top},{below})" for below, top in itertools.pairwise(blocks)]
    example = {"initial": ", ".join(["ontable(b0)", *tower])}
    example["goal"] = ", ".join(f"on({below},{top})" for below, top in itertools.pairwise(blocks))
    told, code = in_json(example["initial"], "--task", "blocksworld", "--input", f"goal={example['goal']}")
    assert (code, verified(example, told["answer"])) == (Exit.SOLVED, True)


def test_a_world_model_that_errs_does_not_make_a_plan_verified() -> None:
    """It says of every step that the goal holds after it; the rules have the last word."""

    def dreams(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if "next_thoughts" in kind:
            return {"next_thoughts": f"1. {PLAN[0]}\n2. {PLAN[2]}"}
        if "next_state" in kind:
            return {"next_state": "on(blue,red)\nontable(red)\nclear(blue)\nhandempty"}
        return {"step_reasoning": "r", "step_verdict": "yes"}

    with dspy.context(lm=lm(Engine(dreams))):
        told, code = in_json(*SWAP, "--rollouts", "2")
    assert (told["status"], code) == ("unverified", Exit.UNVERIFIED)
    assert told["predicted"]["right"] == 0
    assert told["predicted"]["wrong"] >= 2


@pytest.mark.parametrize("adapter", [dspy.ChatAdapter(), dspy.JSONAdapter(), dspy.XMLAdapter()])
@pytest.mark.parametrize("style", ["facts", "words", "pddl"])
def test_the_stand_in_reads_every_adapter_and_style(adapter: Any, style: Any) -> None:
    program = RAP(task=Blocksworld(style=style))
    with dspy.context(lm=offline_lm(), adapter=adapter):
        found = program(**BLOCKS[1])
    assert (found.search.solved, found.search.unread, found.search.errors) == (True, {}, {})


def test_what_it_plays() -> None:
    assert plays(Blocksworld())
    assert not plays(Crosswords())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["on(a,b)", "--input", "goal=on(b,a)"],
            "initial='on(a,b)': block nowhere; say where b is, such as `ontable(b)`",
        ),
        (["ontable(a)", "--input", "goal=on(a,c)"], "goal: unknown block 'c'; the blocks are a"),
        (["ontable(a)"], "input 'goal' is missing: give --input goal=..."),
        (["ontable(a)", "--input", "goal=ontable(a)", "--target", "3"], "--target: only --task game24 has this"),
        (
            ["ontable(a)", "--input", "goal=ontable(a)", "--rate", "vote"],
            "--rate: only --task game24, crosswords, text has this",
        ),
        (
            ["ontable(a)", "--input", "goal=ontable(a)", "--propose", "samples"],
            "--propose 'samples': must be 'lm', 'choose' or 'moves'",
        ),
    ],
)
def test_blocks_that_cannot_be(arguments: list[str], message: str) -> None:
    assert complaint(*arguments, "--task", "blocksworld") == message


# ---- how the stand-in plans


def test_moves_that_bring_the_goal_nearer_come_first() -> None:
    facts, goal = read_initial("on(red,blue), ontable(blue), ontable(green)"), frozenset({"on(green,blue)"})
    assert [str(move) for move in moves_to_try(facts, goal)] == [PLAN[0], "pick up the green block"]
    free = read_initial("ontable(red), ontable(blue), ontable(green)")
    assert str(moves_to_try(free, goal)[0]) == "pick up the green block"


def test_a_block_is_put_down_until_its_place_is_ready() -> None:
    goal = frozenset({"on(a,b)"})
    covered = read_initial("holding(a), on(c,b), ontable(b)")
    ready = read_initial("holding(a), ontable(c), ontable(b)")
    assert next(str(move) for move in moves_to_try(covered, goal)) == "put down block a"
    assert next(str(move) for move in moves_to_try(ready, goal)) == "stack block a on top of block b"
    assert not good(BlockMove("stack", "a", "c"), ready, goal)


@pytest.mark.parametrize(
    ("start", "goal", "steps"),
    [
        ("on(a,b), ontable(b), ontable(c)", "on(a,b)", 0),
        ("on(a,b), ontable(b), ontable(c)", "on(b,c)", 8),  # a and b
        ("holding(a), ontable(b)", "handempty", 4),
    ],
)
def test_steps_that_a_plan_takes_at_most(start: str, goal: str, steps: int) -> None:
    assert enough_steps(read_initial(start), frozenset({goal})) == steps


@pytest.mark.parametrize("start", ["on(a,b), ontable(b), ontable(c)", "holding(a), on(c,b), ontable(b)"])
def test_a_move_is_undone_to_what_held_before(start: str) -> None:
    before = read_initial(start)
    moves = legal(before)
    assert len(moves) == 2
    for move in moves:
        made = after(before, move)
        assert isinstance(made, frozenset)
        assert undone(move, made) == before


def test_what_it_predicts() -> None:
    facts = read_initial("on(a,b), ontable(b)")
    assert predicted(facts, "unstack a from b").splitlines() == ["clear(b)", "holding(a)", "ontable(b)"]
    assert predicted(facts, "pick up b") == "ILLEGAL: block not clear"


# ---- programming and crosswords


def programmer(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    """Writes a wrong program first, and mends it once it sees the test that failed."""
    if "next_action" in kind:
        body = "2 * n" if "Test 1 failed" in inputs["search_path"] else "n"
        return {"act_reasoning": "r", "next_action": f"```python\ndef double(n):\n    return {body}\n```"}
    if "attempt_score" in kind:
        return {"judge_reasoning": "r", "attempt_score": "0.5"}
    return {"attempt_lesson": "Multiply."}


@pytest.mark.parametrize("more", [(), ("--controller", "mcts")])
def test_a_program_is_searched_for_and_its_tests_are_run(more: tuple[str, ...]) -> None:
    with dspy.context(lm=lm(Engine(programmer))):
        told, code = in_json(*DOUBLE, *more, "--branching", "1", "--rollouts", "3")
    assert (code, told["status"]) == (Exit.SOLVED, "solved")
    assert "return 2 * n" in told["answer"]["program"]
    assert len(told["path"]) == 2


def test_tests_come_from_a_file() -> None:
    Path("tests.txt").write_text("assert double(2) == 4\nassert double(3) == 7\n")
    with dspy.context(lm=lm(Engine(programmer))):
        told, code = in_json(*DOUBLE[:3], "--input", "tests=@tests.txt", "--rollouts", "2", "--branching", "1")
    assert (code, told["status"]) == (Exit.UNVERIFIED, "unverified")  # no program doubles 3 to 7


def test_tests_that_are_none() -> None:
    message = complaint(*DOUBLE[:3], "--input", "tests=as you like", "--model", "openai/gpt-4o-mini")
    assert message.startswith("inputs['tests']='as you like': no test found; give assert lines")


def filler(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    """Fills in the rows of the first example, and is sure of each."""
    if "next_thoughts" in kind:
        rows = ["brine", "rival", "avoid", "nerve", "dryer"]
        left = [
            f"h{i}. {word} (certain)" for i, word in enumerate(rows, 1) if f"h{i}. {word}" not in inputs["search_path"]
        ]
        return {"next_thoughts": "\n".join(f"{i}. {step}" for i, step in enumerate(left[:1], 1)) or "none"}
    return dict.fromkeys(kind, "sure")


@pytest.mark.parametrize("more", [(), ("--controller", "mcts", "--selection", "puct")])
def test_a_crossword_is_filled_in_and_nobody_calls_it_right(more: tuple[str, ...]) -> None:
    clues = "\n".join(f"{slot}. {clue}" for slot, clue in CROSSWORDS[0]["clues"].items())
    Path("clues.txt").write_text(clues)
    with dspy.context(lm=lm(Engine(filler))):
        found = solve("--task", "crosswords", "--input", "clues=@clues.txt", *more)
    assert found.exit_code == Exit.UNVERIFIED
    assert found.stdout.splitlines()[:6] == [
        "board: B R I N E",
        "R I V A L",
        "A V O I D",
        "N E R V E",
        "D R Y E R",
        "status: unverified (searched out): nothing in code has checked the answer",
    ]


def test_clues_that_are_none() -> None:
    assert complaint("h1. only one", "--task", "crosswords", "--model", "openai/gpt-4o-mini").startswith("clues: ")


@pytest.mark.parametrize(
    ("arguments", "lacks"), [(DOUBLE, "write programs"), (("1. clue", "--task", "crosswords"), "guess words")]
)
def test_without_a_model_they_are_refused(arguments: tuple[str, ...], lacks: str) -> None:
    told = f"the rule-based stand-in plays game24 and blocksworld, and cannot {lacks}: give --model, such as "
    assert complaint(*arguments).startswith(told)


# ---- programs of one's own that act and plan


def test_a_saved_planner_plans() -> None:
    RAP(task=Blocksworld(), controller=MCTS(rollouts=30, max_depth=8, simulate=True), transition="check").save("r.json")
    told, code = in_json(SWAP[0], "--input", SWAP[4], "--load", "r.json")
    assert (code, told["path"]) == (Exit.SOLVED, PLAN)


def test_a_saved_writer_of_programs_finds_its_environment_again() -> None:
    LATS(env=Programming(tests="asserts"), controller=MCTS(rollouts=3, branching=1)).save("writer.json")
    with dspy.context(lm=lm(Engine(programmer))):
        told, code = in_json(DOUBLE[0], "--input", "asserts=assert double(2) == 4", "--load", "writer.json")
    assert (code, len(told["path"])) == (Exit.SOLVED, 2)


def test_what_acts_in_code_of_ones_own_comes_by_program() -> None:
    Path("own_acts.py").write_text(
        "import thoughtree\n"
        "def reward(inputs, prediction):\n"
        "    return float(prediction.answer == 'four')\n"
        "program = thoughtree.LATS('question -> answer', reward_fn=reward)\n"
    )
    LATS("question -> answer", reward_fn=lambda inputs, prediction: 0.0).save("attempts.json")
    assert complaint("2 + 2?", "--load", "attempts.json") == (
        "attempts.json: a LATS acts in an environment, which is not in the file; give env=, tools= or reward_fn=, "
        "or on the command line --program"
    )

    def says(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        return {name: "four" if name == "answer" else "0.5" for name in kind} | (
            {"next_action": "four"} if "next_action" in kind else {}
        )

    with dspy.context(lm=lm(Engine(says))):
        told, code = in_json("2 + 2?", "--program", "own_acts:program")
    assert (code, told["answer"]) == (Exit.SOLVED, {"answer": "four"})


# ---- MCTS, and inputs from files


def test_adaptive_branching() -> None:
    assert _controller(Beam(), "ab-mcts", {"rollouts": 5, "at_once": 2}) == ABMCTS(rollouts=5, at_once=2)
    told, _ = in_json("4 9 10 13", "--controller", "ab-mcts", "--rollouts", "5")
    assert (told["ended"], told["spent_by"]["propose"]["calls"]) == ("rollouts", 5)
    assert complaint("4 6", "--controller", "ab-mcts", "--branching", "2").startswith(
        "--branching: ABMCTS has no such knob; it has --dedupe, --ties, --rollouts, --max-depth, --at-once"
    )


def test_mcts_with_all_its_knobs() -> None:
    told, code = in_json("4 9 10 13", "--controller", "mcts")
    assert (code, told["path"]) == (Exit.SOLVED, ["13-10=3", "9-3=6", "4*6=24"])
    given = {"rollouts": 7, "exploration": 0.5, "selection": "puct", "returns": "discounted", "discount": 0.9}
    given |= {"simulate": True, "widening": 0.5, "reroot": False, "final": "visits", "at_once": 2, "lazy": True}
    made = _controller(Beam(), "mcts", {**given, "patience": "all", "branching": "3"})
    assert made == MCTS(**given, patience=None, branching=3)


@pytest.mark.parametrize("controller", ["mcts", "ab-mcts"])
def test_no_rollout_is_a_search_that_failed_and_cost_nothing(controller: str) -> None:
    told, code = in_json("4 9 10 13", "--controller", controller, "--rollouts", "0")
    assert (code, told["status"], told["ended"], told["spent"]["calls"]) == (Exit.FAILED, "failed", "rollouts", 0)


def test_mcts_names_the_knobs_that_it_has() -> None:
    message = complaint("4 6", "--controller", "mcts", "--width", "3")
    assert message.startswith("--width: MCTS has no such knob; it has --dedupe, --ties, --rollouts, --branching, ")
    assert complaint("4 6", "--rollouts", "3").startswith("--rollouts: Beam has no such knob; it has ")
    assert complaint("4 6", "--controller", "mcts", "--discount", "2") == (
        "--discount 2.0: must be above 0 and at most 1"
    )


def test_an_input_from_a_file_and_an_at_sign() -> None:
    Path("list.json").write_text("[1,\n 2]\n")
    Path("given.txt").write_text("\ufeff4 9 10 13\n", encoding="utf-8")
    signature = build("numbers -> answer")
    assert inputs_of(signature, [], ["numbers=@given.txt"]) == {"numbers": "4 9 10 13\n"}
    assert inputs_of(signature, [], ["numbers=@@given.txt"]) == {"numbers": "@given.txt"}
    assert inputs_of(build("n: list[int] -> answer"), [], ["n=@list.json"]) == {"n": [1, 2]}
    with pytest.raises(Mistake, match=r"^--input numbers=@: no file is named"):
        inputs_of(signature, [], ["numbers=@"])


@pytest.mark.parametrize(
    ("name", "problem"),
    [("none.txt", "No such file or directory"), (".", "Is a directory"), ("torn.txt", "this file is no UTF-8 text")],
)
def test_a_file_that_cannot_be_read_is_one_line(name: str, problem: str) -> None:
    Path("torn.txt").write_bytes(b"\xff\xfe\xfa")
    assert complaint("--input", f"numbers=@{name}") == f"--input numbers=@{name}: {problem}"
