"""The README keeps its word: its code prints what its comments say, and its figures are the real ones.

No model is called: where a block names one, a scripted one stands in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import dspy
import pytest

from pages import MODEL, ROOT, Block, Command, blocks, commands, printed, run
from thoughtree import ABMCTS, DFS, MCTS, Beam, BestFirst, Budget, SearchStatus, TreeOfThoughts
from thoughtree.exits import MEANINGS
from thoughtree.search import Ended
from thoughtree.tasks.blocksworld_facts import blocks_of
from thoughtree.tasks.blocksworld_move import BlockMove, after, read_move
from thoughtree.tasks.blocksworld_text import read_initial
from thoughtree.testing import RuleLM

README = (ROOT / "README.md").read_text(encoding="utf-8")
WRITTEN = "```python\ndef double(n):\n    return {}\n```"
MOVES = ["10 - 4 = 6", "13 - 9 = 4", "6 * 4 = 24"]
TAKEN = [move.replace(" ", "") for move in MOVES]  # as they stand in a list
PUZZLES = ["numbers", *(f"{a} {b} 10 13" for a in (4, 6, 8) for b in (7, 8, 9)), "1 1 1 1"]
LINES = ["The snow has hushed the wood.", "Roots sleep.", "Even the fox is still.", "Evening falls."]


CODE = blocks(README, "python")
COMMANDS = [command for block in blocks(README, "console") for command in commands(block)]


def act(inputs: dict[str, str]) -> str:
    """Doubles once it was told how, and submits what it has looked up. What it is to shorten, it shortens."""
    if "problem" in inputs:
        return WRITTEN.format("2 * n" if "4" in inputs["search_lessons"] else "n")
    if "text" in inputs:
        return "All is white."
    return 'submit(answer="Madrid")' if "Madrid" in inputs["search_path"] else 'look_up(country="Spain")'


def predict(inputs: dict[str, str]) -> str:
    """The facts after a move, which it knows from the rules."""
    facts = read_initial(inputs["search_state"])
    move = read_move(inputs["search_action"], blocks_of(facts))
    assert isinstance(move, BlockMove)
    return "\n".join(after(facts, move))


@pytest.fixture
def scripted() -> Iterator[RuleLM]:
    """A model that knows how to solve 4 9 10 13, how to write a poem, and what else this page asks."""
    before = dspy.settings.lm
    yield RuleLM(
        propose=lambda inputs, n: MOVES if "numbers" in inputs else LINES,
        rate=lambda inputs: "sure",
        answer=lambda inputs: "Subtract twice, then multiply.",
        act=act,
        judge=lambda inputs: 0.5,
        reflect=lambda inputs: "double(2) must give 4.",
        predict=predict,
        approve=lambda inputs: "yes",
        choose=lambda inputs, n, steps: [step for step in steps if step in TAKEN] or steps[:1],
    )
    dspy.configure(lm=before)


@pytest.mark.parametrize("block", CODE, ids=lambda block: f"line {block.line}")
def test_a_block_of_code_prints_what_its_comments_say(
    block: Block, scripted: RuleLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert block.code.count(MODEL) == 1
    assert block.said != []
    assert printed(block.code, f"README line {block.line}", {}, scripted) == block.said


def test_the_readme_shows_a_search_composed_called_and_saved():
    assert len(CODE) >= 7


@pytest.mark.parametrize("use", ["Compose a search", "Tune it", "Call it from another pipeline"])
def test_a_use_takes_twelve_lines(use: str):
    section = README.split(f"### {use}\n", 1)[1]
    code = section.split("```python\n", 1)[1].split("```", 1)[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 12


def test_setting_up_takes_two_commands():
    first, second = (block.code for block in blocks(README, "bash"))
    assert first.count("\n") == second.count("\n") == 1
    assert first.split(" && ")[-1] == '.venv/bin/thoughtree solve "4 9 10 13"\n'
    assert second == '.venv/bin/pip install -e ".[test]" && .venv/bin/pytest -n auto\n'


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command.arguments))
def test_a_command_does_what_it_is_shown_for(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "puzzles.csv").write_text("\n".join(PUZZLES))
    if "run.jsonl" in command.arguments:
        run(Command(("thoughtree", "solve", "4 9 10 13", "--journal", "run.jsonl", "--quiet"), 0, ()))
    run(command)


def test_the_exit_codes_are_the_command_lines():
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", README, re.M)
    assert {int(code): meaning for code, meaning in rows} == MEANINGS


def test_the_defaults_of_the_controllers_are_the_ones_it_names():
    beam, dfs, best = Beam(), DFS(), BestFirst()
    dfs_calls = TreeOfThoughts("question -> answer", controller=dfs).budget.calls
    rows = {line.split("|")[1].strip(): line for line in README.splitlines() if line.startswith("| `")}
    assert f"width {beam.width}, branching {beam.branching}, {beam.max_depth} levels" in rows["`Beam`"]
    assert f"branching {dfs.branching}, depth {dfs.max_depth} | {dfs_calls} calls" in rows["`DFS`"]
    mcts, adaptive = MCTS(), ABMCTS()
    assert f"branching {mcts.branching}, depth {mcts.max_depth}, {mcts.rollouts} rollouts" in rows["`MCTS`"]
    assert f"depth {adaptive.max_depth}, {adaptive.rollouts} rollouts" in rows["`ABMCTS`"]
    sizes = f"branching {best.branching}, depth {best.max_depth}, keeps {best.keep} of them"
    assert f"{sizes}, {best.expansions} expansions" in rows["`BestFirst`"]


# A beam of width 2, 3 children a node, 2 levels: 1 + 2 nodes are expanded, 3 + 6 new ones rated.
@pytest.mark.parametrize(
    ("mode", "samples", "calls"),
    [
        ("value", 1, 3 + 6),
        ("value", 2, 2 * (3 + 6)),
        ("siblings", 1, 1 + 2),
        ("siblings", 2, 2 * (1 + 2)),
        ("vote", 1, 2),
        ("vote", 3, 3 * 2),
        ("pairs", 1, 3 + 15),
        ("pairs", 2, 2 * (3 + 15)),
    ],
)
def test_a_way_of_rating_makes_the_calls_in_the_table(mode: str, samples: int, calls: int):
    model = RuleLM(
        propose=lambda inputs, n: [f"{len(inputs['search_path'])} then {i}" for i in range(n or 0)],
        rate=lambda inputs: "maybe",
    )
    program = TreeOfThoughts(
        "question -> answer",
        controller=Beam(width=2, branching=3, max_depth=2),
        rate=mode,
        samples=samples,
        answer="path",
    )
    with dspy.context(lm=model):
        result = program(question="?").search
    assert result.spent_by["propose"].calls == 1 + 2
    assert result.spent_by["rate"].calls == calls


def test_the_default_way_of_rating_is_one_call_a_node():
    plan = TreeOfThoughts("question -> answer").plan
    assert (plan.rate, plan.samples) == ("value", 1)
    assert f'The default is `rate="{plan.rate}"` with one sample' in README


def test_every_status_every_end_and_every_ceiling_is_named():
    outcomes = set(SearchStatus) - {SearchStatus.RUNNING, SearchStatus.CLOSING}
    assert outcomes == {"solved", "unverified", "failed"}
    for name in (*outcomes, *Ended):
        assert f"`{name}`" in README
    for ceiling in Budget.__dataclass_fields__:
        assert f"{ceiling}=" in README


def test_its_links_into_the_repository_lead_somewhere():
    targets = re.findall(r"\]\((?!https:)([^)#]+)\)", README)
    assert targets != []
    assert [target for target in targets if not (ROOT / target).exists()] == []
