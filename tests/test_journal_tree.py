"""What a journal shows its readers: a row for each node as it comes, and at the end what became of the search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest

from engines import Engine, lm
from journals import replies
from kill_runs import PROGRAMS
from puzzle24 import PUZZLE, call, drivers, engine, script
from thoughtree import Beam, Game24, TreeOfThoughts
from thoughtree.search import Journal, SearchResult
from thoughtree.search.protocol import Ask, Propose, Proposed, Reply


def solver(**knobs: Any) -> TreeOfThoughts:
    return TreeOfThoughts(task=Game24(), controller=Beam(width=2), **knobs)


def noted(path: Path, kind: str) -> list[Any]:
    found = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return [line[kind] for line in found if kind in line]


def rows(path: Path) -> list[list[Any]]:
    """Of all nodes, in their order."""
    found: list[list[Any]] = []
    for count, _, stated, new, *changed in noted(path, "tree"):
        assert count - len(new) in (0, len(found))
        found[count - len(new) :] = new
        for id, *row in changed[0] if changed else ():
            found[id] = row
        assert stated == sum(len(row) > 2 and row[2] is not None for row in found)
    return found


def words(found: Any) -> list[list[Any]]:
    result, task = found.search, found.search.task
    return [
        [n.parent, result.shown(n) if n.id else None, None if n.state is None else task.render(n.state)]
        for n in result.tree
    ]


def padded(found: list[list[Any]]) -> list[list[Any]]:
    return [(row + [None] * 3)[:3] for row in found]


@drivers
def test_each_node_has_a_row_in_the_words_of_the_task(driver: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    found = call(solver(), engine(), driver, numbers=PUZZLE, config={"journal": path})
    written = rows(path)
    assert padded(written) == words(found)
    assert written[0] == [None, None, "4 9 10 13", "open"]
    assert written[1] == [0, "10-4=6", "6 9 13", "open"]
    assert written[-1][3] == "solved"


@drivers
def test_the_end_is_what_a_saved_result_says(driver: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    found = call(solver(), engine(tokens=(7, 3)), driver, numbers=PUZZLE, config={"journal": path})
    found.search.save(tmp_path / "result.json")
    saved, (end,) = json.loads((tmp_path / "result.json").read_text()), noted(path, "end")
    for name in ("status", "ended", "best", "answer", "spent", "spent_by", "unread", "rating", "controller"):
        assert end[name] == saved[name]
    told = ("id", "parent", "action", "state", "text")
    assert end["nodes"] == [{name: row[name] for name in row if name not in told} for row in saved["nodes"]]


def test_a_node_knows_what_its_replies_took(tmp_path: Path) -> None:
    found = call(solver(), engine(tokens=(7, 3)), numbers=PUZZLE).search
    assert found.by_node[0][:2] == (1.0, 10.0)  # one proposal
    sums = [sum(spent[i] for spent in found.by_node.values()) for i in range(4)]
    assert sums == pytest.approx([found.spent.calls, found.spent.tokens, found.spent.cost, found.spent.seconds])
    found.save(tmp_path / "result.json")
    assert SearchResult.load(tmp_path / "result.json").by_node == found.by_node


@drivers
def test_a_resumed_run_that_adds_nothing_leaves_the_file_as_it_is(driver: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    call(solver(), engine(), driver, numbers=PUZZLE, config={"journal": path})
    content = path.read_bytes()
    call(solver(), engine(), driver, numbers=PUZZLE, config={"journal": path})
    assert path.read_bytes() == content


@pytest.mark.parametrize("name", PROGRAMS)
def test_broken_off_behind_any_line_the_rows_become_those_of_the_whole_run(name: str, tmp_path: Path) -> None:
    make, inputs, reply = PROGRAMS[name]

    def run(path: Path) -> Any:
        model = Engine(lambda kind, inputs, n: reply(kind, inputs))
        with dspy.context(lm=lm(model)):
            return make()(**inputs, config={"journal": path, "concurrency": 1})

    whole = tmp_path / "whole.jsonl"
    run(whole)
    lines, expected = whole.read_bytes().splitlines(keepends=True), rows(whole)
    for cut in range(1, len(lines), 1 + len(lines) // 12):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(b"".join(lines[:cut]) + lines[cut][:20])
        run(path)
        assert padded(rows(path)) == padded(expected)
        assert len(replies(path)) == len(replies(whole))
        assert len(noted(path, "end")) == 1


def test_a_larger_budget_that_goes_another_way_writes_the_rows_anew(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for budget in (3, 5, 100):
        found = call(solver(), engine(), numbers=PUZZLE, config={"journal": path, "budget": budget})
        assert padded(rows(path)) == words(found)
    assert [end["ended"] for end in noted(path, "end")] == ["calls", "calls", "goal"]


def test_an_illegal_step_is_written_as_it_was_said_and_a_hook_that_raises_as_its_error(tmp_path: Path) -> None:
    class Odd(Game24):
        def show(self, action: Any) -> str:
            raise OSError("no words")

    def said(kind: str, inputs: dict[str, str], n: int) -> Any:
        return {"next_thoughts": "1. 5 + 5 = 10\n2. 10 - 4 = 6"} if kind == "propose" else script(kind, inputs, n)

    path, solve = tmp_path / "run.jsonl", TreeOfThoughts(task=Odd(), controller=Beam(max_depth=1), answer="path")
    call(solve, engine(said), numbers=PUZZLE, config={"journal": path})
    _, illegal, legal = rows(path)
    assert illegal[:4] == [0, "5 + 5 = 10", None, "illegal"]
    assert legal[1].startswith("(OSError: no words")
    assert legal[2:] == ["6 9 13", "open"]


def test_the_rows_keep_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-a1b2c3d4e5f6g7h8i9"
    monkeypatch.setenv("SOME_API_KEY", key)
    solve = TreeOfThoughts("question -> answer", controller=Beam(width=1, branching=1, max_depth=1), answer="path")

    def said(kind: str, inputs: dict[str, str], n: int) -> Any:
        return (
            {"next_thoughts": f"1. go on with {key}"}
            if kind == "propose"
            else {"rating_reasoning": "r", "thought_rating": "7"}
        )

    path = tmp_path / "run.jsonl"
    with dspy.context(lm=lm(engine(said))):
        solve(question=f"my key is {key}", config={"journal": path})
    assert key not in path.read_text()
    assert len(rows(path)) == 2


def test_a_row_is_written_with_the_line_that_follows_or_as_the_journal_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal = Journal(path, {"seed": 0})
    journal.note("tree", [1, 0, 0, [[None]]])
    assert noted(path, "tree") == []
    journal.write(Ask(0, Propose(0, 1)), Reply(Proposed(("a",))))
    assert (len(noted(path, "tree")), len(replies(path))) == (1, 1)
    journal.note("tree", [2, 0, 0, [[0, "a"]]])
    journal.close()
    assert len(noted(path, "tree")) == 2
    again = Journal(path, {"seed": 0})
    assert again.grown == (2, 0, 0)
    assert len(list(again.recorded())) == 1
    again.close()


def test_a_bare_core_that_is_told_no_words_writes_no_rows(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", {"seed": 0})
    assert (journal.grown, journal.ended) == ((0, 0, 0), False)
    journal.close()


def test_of_a_search_that_is_over_only_the_end_is_written(tmp_path: Path) -> None:
    """A step that hung, and that its search was left in, may come back late."""
    path = tmp_path / "run.jsonl"
    journal = Journal(path, {"seed": 0})
    ask, reply = Ask(0, Propose(0, 1)), Reply(Proposed(("a",)))
    journal.write(ask, reply)
    journal.seal()
    content = path.read_bytes()
    journal.write(ask, reply)
    journal.note("tree", [1, 0, 0, [[None]]])
    assert path.read_bytes() == content
    journal.note("end", {"nodes": []})
    journal.close()
    journal.note("end", {"nodes": []})
    assert path.read_bytes().startswith(content)
    assert [len(replies(path)), len(noted(path, "tree")), len(noted(path, "end"))] == [1, 0, 1]
