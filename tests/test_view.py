"""What the viewer shows, before any browser: a run's document, its prompts, the page, and where it is written."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import dspy
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from engines import Engine, lm
from kill_runs import PROGRAMS
from puzzle24 import PUZZLE, call, engine
from thoughtree import Beam, Game24, TreeOfThoughts, view
from thoughtree.cli import app
from thoughtree.search import JournalError, SearchResult
from thoughtree.search.chain import sealed
from thoughtree.search.story import Story
from thoughtree.viewer import Run, calls, document, page
from thoughtree.viewer.page import MARK
from thoughtree.viewer.texts import Texts
from viewed import wide


def solver(**knobs: Any) -> TreeOfThoughts:
    return TreeOfThoughts(task=Game24(), controller=Beam(width=2), concurrency=1, **knobs)


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, Any]:
    path = tmp_path / "run.jsonl"
    return path, call(solver(), engine(tokens=(7, 3)), numbers=PUZZLE, config={"journal": path})


def read(texts: list[Any], number: int) -> str:
    """As the page reads it, by UTF-16 units."""
    written = texts[number]
    if isinstance(written, str):
        return written
    base, head, tail, middle = written
    units = texts[base].encode("utf-16-le", "surrogatepass")
    end = units[len(units) - 2 * tail :]
    return (units[: 2 * head] + middle.encode("utf-16-le", "surrogatepass") + end).decode("utf-16-le", "surrogatepass")


def states(nodes: dict[str, Any]) -> list[str]:
    """As the page reads them."""
    found: list[str] = []
    for written, parent in zip(nodes["state"], nodes["parent"], strict=True):
        if isinstance(written, str):
            found.append(written)
            continue
        units = found[parent].encode("utf-16-le", "surrogatepass")[: 2 * written[0]]
        rest = written[1].encode("utf-16-le", "surrogatepass")
        found.append((units + rest).decode("utf-16-le", "surrogatepass"))
    return found


# ---- the document


def test_nodes_are_columns(run: tuple[Path, Any]) -> None:
    path, found = run
    result, told = found.search, document(Run.of(path))
    nodes = told["nodes"]
    assert nodes["parent"] == [-1, *[n.parent for n in result.tree][1:]]
    assert nodes["action"] == ["", *[result.shown(n) for n in result.tree][1:]]
    assert states(nodes) == ["" if n.state is None else result.task.render(n.state) for n in result.tree]
    assert [told["statuses"][status] for status in nodes["status"]] == [n.status for n in result.tree]
    assert nodes["value"] == [n.value for n in result.tree]
    assert nodes["verdict"] == {str(n.id): n.verdict for n in result.tree if n.verdict is not None}
    assert nodes["spent"]["0"][:2] == [1, 10]
    assert told["facts"]["status"] == "solved"
    assert told["facts"]["answer"] == {"answer": found.answer}
    assert told["notes"] == []


def test_steps_are_the_replies_and_say_when_nodes_came_and_were_rated(run: tuple[Path, Any]) -> None:
    told = document(Run.of(run[0]))
    assert told["steps"][0] == ["propose", [0], "3 proposals", 10, 0.0, told["steps"][0][5]]
    assert told["steps"][1][:3] == ["rate", [1], "20 sure"]
    assert told["nodes"]["born"][:4] == [0, 1, 1, 1]
    assert told["nodes"]["rated"][1:4] == [2, 3, 4]
    assert told["nodes"]["first"][0] == "open"
    assert told["nodes"]["settled"][0] == 1  # expanded
    assert all(b <= s for b, s in zip(told["nodes"]["born"], told["nodes"]["settled"], strict=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_any_program_is_shown_from_its_result_its_file_and_its_journal(name: str, tmp_path: Path) -> None:
    make, inputs, reply = PROGRAMS[name]
    model, path = Engine(lambda kind, inputs, n: reply(kind, inputs)), tmp_path / "run.jsonl"
    with dspy.context(lm=lm(model)):
        found = make()(**inputs, config={"journal": path})
    found.search.save(tmp_path / "result.json")
    sources = [found, found.search, tmp_path / "result.json", path]
    live, bare, saved, told = (document(Run.of(source)) for source in sources)
    assert live == bare
    twins = {str(n.id): n.reason for n in found.search.tree if n.status == "duplicate"}
    assert live["nodes"]["of"] == twins
    assert twins or name not in ("lats", "rap")
    for other in (saved, told):
        assert other["facts"]["spent"] == live["facts"]["spent"]
        assert other["facts"]["best"] == live["facts"]["best"]
        assert states(other["nodes"]) == states(live["nodes"])
        for column in set(live["nodes"]) - {"born", "rated", "settled", "first"}:
            assert other["nodes"][column] == live["nodes"][column], column
    joined = document(Run.of(found, journal=path))
    assert {**joined, "name": "", "notes": []} == {**told, "name": "", "notes": [], "facts": joined["facts"]}
    assert len(calls(Run.of(path))["calls"]) == told["calls"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_any_program_is_shown_wherever_it_broke_off(name: str, tmp_path: Path) -> None:
    make, inputs, reply = PROGRAMS[name]
    model, path = Engine(lambda kind, inputs, n: reply(kind, inputs)), tmp_path / "run.jsonl"
    with dspy.context(lm=lm(model)):
        make()(**inputs, config={"journal": path})
    lines = path.read_bytes().splitlines(keepends=True)
    nodes = [0]
    for cut in range(1, len(lines), 1 + len(lines) // 15):
        path.write_bytes(b"".join(lines[:cut]) + lines[cut][:-9])
        run = Run.of(path)
        told = document(run)
        assert told["facts"]["status"] == "unfinished"
        assert len(told["nodes"]["parent"]) == len(told["nodes"]["born"]) >= nodes[-1]
        assert told["calls"] == len(calls(run)["calls"])
        assert page([run]).startswith(MARK)
        nodes.append(len(told["nodes"]["parent"]))
    assert nodes[-1] > 1


def test_a_damaged_run_is_not_called_unfinished(run: tuple[Path, Any]) -> None:
    lines = run[0].read_bytes().splitlines(keepends=True)
    lines[-1] = lines[-1][:-20] + b"~" + lines[-1][-19:]
    run[0].write_bytes(b"".join(lines))
    facts = document(Run.of(run[0]))["facts"]
    assert (facts["status"], facts["ended"]) == ("damaged", None)
    assert facts["worth"] == "its journal is damaged, and does not say what became of it"


def test_every_prompt_and_reply_comes_back_to_the_letter(run: tuple[Path, Any]) -> None:
    found, lines = calls(Run.of(run[0])), [json.loads(line) for line in run[0].read_text().splitlines()]
    records = [record for line in lines for record in line.get("calls", ())]
    assert len(records) == len(found["calls"]) == 12
    for told, record in zip(found["calls"], records, strict=True):
        assert [[role, read(found["texts"], text)] for role, text in told["messages"]] == [
            [message["role"], message["content"]] for message in record["messages"]
        ]
        assert [read(found["texts"], text) for text in told["outputs"]] == record["outputs"]
        assert told["tokens"][:2] == [7, 3]


def test_prompts_are_written_as_what_differs(run: tuple[Path, Any]) -> None:
    found = calls(Run.of(run[0]))
    plain = sum(len(read(found["texts"], text)) for told in found["calls"] for _, text in told["messages"])
    assert len(json.dumps(found["texts"])) < plain / 4


def test_of_a_chain_the_page_grows_with_its_length_alone() -> None:
    """Each state holds all before it."""
    sizes = []
    for nodes in (100, 200, 400):
        result: SearchResult[Any, Any] = wide(1)
        at = result.tree.root
        for id in range(1, nodes):
            before, at = at, result.tree.add(at, f"step {id} \U0001f600")
            at.state = f"{before.state}\nline {id} with a smile \U0001f600"
        told = document(Run.of(result))
        assert states(told["nodes"]) == [node.state for node in result.tree]
        sizes.append(len(json.dumps(told)))
    assert sizes[2] - sizes[1] < 2.1 * (sizes[1] - sizes[0])


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=12))
@example([("\U0001f600", "\ud800"), ("\U0001f601", "\udc00"), ("", "\U0001f600")])
def test_texts_come_back(ends: list[tuple[str, str]]) -> None:
    texts, given = Texts(), [f"{a}{'the same in all, ' * 9}{b}{'and here too. ' * 9}" for a, b in ends]
    numbers = [texts.add(text, "kind") for text in given]
    written = json.loads(json.dumps(texts.written))
    assert [read(written, number) for number in numbers] == given


def test_a_page_grows_with_its_nodes_and_no_faster() -> None:
    sizes = [len(page([Run.of(wide(nodes))])) for nodes in (100, 1_000, 10_000)]
    each = [(sizes[1] - sizes[0]) / 900, (sizes[2] - sizes[1]) / 9_000]
    assert each[1] < 1.5 * each[0]  # states get longer with their depth, which is one more
    assert each[1] < 500


# ---- the page


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


HOSTILE = [
    "</script><script>x()</script>",
    "<!-- <script>",
    "\u2028\u2029",
    "a\x00\x1b[31m",
    "\ud800",
    "&lt;b&gt;",
    "]]>",
]


def test_no_data_is_markup_and_all_of_it_comes_back() -> None:
    program = TreeOfThoughts("question -> answer", propose=lambda inputs, node, n: HOSTILE, answer="path")
    with dspy.context(lm=lm(Engine(lambda kind, inputs, n: {"rating_reasoning": "r", "thought_rating": "maybe"}))):
        found = program(question="q", config={"controller": Beam(branching=7, max_depth=1)})
    text = page([Run.of(found, name="<b>name</b>")])
    elements = Elements()
    elements.feed(text)
    scripts = [attributes for tag, attributes in elements.found if tag == "script"]
    assert scripts == [
        {"type": "application/json", "id": "run-0"},
        {"type": "application/json", "id": "calls-0"},
        {},
    ]
    assert "b" not in [tag for tag, _ in elements.found]
    block = re.search(r'id="run-0">(.*?)</script>', text, re.S)
    assert block is not None
    assert block[1].isascii()
    assert "<" not in block[1]
    assert json.loads(block[1])["nodes"]["action"][1:] == [text.strip() for text in HOSTILE if text.strip()]


def test_the_page_is_complete_and_names_no_other_place(run: tuple[Path, Any]) -> None:
    text = page([Run.of(run[0])])
    elements = Elements()
    elements.feed(text)
    assert text.startswith(MARK)
    assert [
        attributes for _, attributes in elements.found if {"src", "srcset", "action", "onclick"} & set(attributes)
    ] == []
    assert {attributes["href"] for _, attributes in elements.found if "href" in attributes} == {"#outline"}
    (policy,) = [a["content"] for _, a in elements.found if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "url(" not in text
    assert "innerHTML" not in text


# ---- what is read


def test_a_journal_of_another_run_is_refused(run: tuple[Path, Any], tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    found = call(solver(), engine(), numbers="1 2 3 4", config={"journal": other, "budget": 5})
    with pytest.raises(ValueError, match=r"other\.jsonl is of another run than result"):
        Run.of(run[1], journal=other)
    with pytest.raises(ValueError, match="is a journal already"):
        Run.of(other, journal=other)
    assert Run.of(found, journal=other).story is not None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "neither a journal nor a saved result"),
        (b"\xff\x00", "neither a journal nor a saved result"),
        (b"[]", "not a saved search result"),
        (b'{"format": "thoughtree.result/9"}', "not a saved search result"),
        (b'{"format": "thoughtree.result/1"}', "a damaged search result"),
        (b'{"status": "solved", "spent_by": {}}', "is no saved result; run it with --journal"),
        (b'{"format": "thoughtree.journal/1"}\n', "this version reads"),
    ],
)
def test_what_is_neither_is_refused_in_words(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises((ValueError, JournalError), match=said):
        Run.of(tmp_path / "x")
    found = CliRunner().invoke(app, ["view", str(tmp_path / "x")])
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.count("\n") == 1


def endless(kind: str, folder: Path) -> Path:
    if kind == "device":
        return Path("/dev/zero")
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_what_may_never_end_is_not_read(kind: str, run: tuple[Path, Any], tmp_path: Path) -> None:
    path = endless(kind, tmp_path)
    for read in (Run.of, lambda it: Run.of(run[1], it), Story.read, SearchResult.load):
        with pytest.raises(OSError, match="not a regular file"):
            read(path)
    for command in (["view"], ["view", str(run[0])], ["export", "--to", "json"], ["export", "--to", "dot"]):
        found = CliRunner().invoke(app, [*command, str(path)])
        assert (found.exit_code, found.stdout, found.stderr) == (2, "", f"thoughtree: {path}: not a regular file\n")
    with pytest.raises(FileExistsError, match="is no page that view wrote"):
        view(run[0], to=path)


def test_a_source_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match=r"view\(int\): give a SearchResult"):
        view(3)


# ---- where it goes


def test_it_goes_beside_its_source_and_over_pages_of_ours_alone(run: tuple[Path, Any], tmp_path: Path) -> None:
    path = view(run[0])
    assert path == tmp_path / "run.html"
    first = path.read_bytes()
    assert view(run[0]) == path
    assert path.read_bytes() == first
    (tmp_path / "mine.html").write_text("<p>mine</p>")
    with pytest.raises(FileExistsError, match="is no page that view wrote"):
        view(run[0], to=tmp_path / "mine.html")
    assert (tmp_path / "mine.html").read_text() == "<p>mine</p>"
    with pytest.raises(FileExistsError):
        view(run[0], to=run[0])
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mine.html", "run.html", "run.jsonl"]


NO_FOLDER = "there is no folder {folder!r}; make it first, or give another path"


@pytest.mark.parametrize(("to", "said"), [("absent/x", NO_FOLDER), (".", "Is a directory"), ("run.jsonl/x", NO_FOLDER)])
def test_where_nothing_can_be_written_the_name_that_was_given_is_told(
    run: tuple[Path, Any], tmp_path: Path, to: str, said: str
) -> None:
    path = tmp_path / to
    found = CliRunner().invoke(app, ["view", str(run[0]), "-o", str(path)])
    assert found.exit_code == 2
    assert found.stderr == f"thoughtree: {path}: {said.format(folder=str(path.parent))}\n"
    assert [file.name for file in tmp_path.iterdir()] == ["run.jsonl"]


def test_a_folder_is_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(app, ["view", "."])
    assert (found.exit_code, found.stderr) == (2, "thoughtree: .: Is a directory\n")


def test_the_command_writes_a_page_and_says_where(run: tuple[Path, Any], tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["view", str(run[0]), "-o", str(tmp_path / "tree.html")])
    assert (found.exit_code, found.stdout) == (0, f"{tmp_path / 'tree.html'}\n")
    run[1].search.save(tmp_path / "result.json")
    both = CliRunner().invoke(app, ["view", str(tmp_path / "result.json"), str(run[0]), "--journal", str(run[0])])
    assert (both.exit_code, both.stdout) == (0, f"{tmp_path / 'result.html'}\n")
    assert '"id":"run-1"' not in (tmp_path / "result.html").read_text()
    assert 'id="run-1"' in (tmp_path / "result.html").read_text()
    absent = CliRunner().invoke(app, ["view", str(tmp_path / "absent.jsonl")])
    assert (absent.exit_code, absent.stderr) == (
        2,
        f"thoughtree: {tmp_path / 'absent.jsonl'}: No such file or directory\n",
    )
    (tmp_path / "mine.html").write_text("mine")
    refused = CliRunner().invoke(app, ["view", str(run[0]), "-o", str(tmp_path / "mine.html")])
    assert refused.exit_code == 2
    assert "--output" in refused.stderr


def test_the_command_says_where_a_journal_is_damaged(run: tuple[Path, Any], tmp_path: Path) -> None:
    lines, bad = run[0].read_bytes().splitlines(keepends=True), tmp_path / "bad.jsonl"
    lines[2] = lines[2][:20] + b"~" + lines[2][21:]
    bad.write_bytes(b"".join(lines))
    damage = f"it is damaged at line 3 of {len(lines)} (it was changed"
    alone = CliRunner().invoke(app, ["view", str(bad)])
    assert (alone.exit_code, alone.stdout) == (0, f"{tmp_path / 'bad.html'}\n")
    assert alone.stderr.startswith(f"thoughtree: {bad}: {damage}")
    run[1].search.save(tmp_path / "result.json")
    joined = CliRunner().invoke(app, ["view", str(tmp_path / "result.json"), "--journal", str(bad)])
    assert (joined.exit_code, joined.stdout, joined.stderr.count("\n")) == (2, "", 1)
    assert damage in joined.stderr
    assert "another run" not in joined.stderr


def test_a_dash_is_stdout(run: tuple[Path, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(app, ["view", str(run[0]), "-o", "-"])
    assert (found.exit_code, found.stdout, found.stderr) == (0, page([Run.of(run[0])]), "")
    opened = CliRunner().invoke(app, ["view", str(run[0]), "-o", "-", "--open"])
    assert (opened.exit_code, opened.stderr.count("\n")) == (2, 1)
    assert [file.name for file in tmp_path.iterdir()] == ["run.jsonl"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="streams have no such names on this system")
def test_of_a_stream_the_page_has_to_be_named(run: tuple[Path, Any], tmp_path: Path) -> None:
    with run[0].open("rb") as file:
        stream = f"/dev/fd/{file.fileno()}"
        found = CliRunner().invoke(app, ["view", stream])
        assert (found.exit_code, found.stdout, found.stderr.count("\n")) == (2, "", 1)
        assert "-o FILE" in found.stderr
        named = CliRunner().invoke(app, ["view", stream, "-o", str(tmp_path / "tree.html")])
        assert (named.exit_code, named.stdout) == (0, f"{tmp_path / 'tree.html'}\n")
    (tmp_path / "link.jsonl").symlink_to(run[0])  # a link of somebody's own has its place
    assert view(tmp_path / "link.jsonl") == tmp_path / "link.html"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a shell script stands in for the browser")
def test_it_is_shown_in_the_browser_where_that_was_asked_for(run: tuple[Path, Any], tmp_path: Path) -> None:
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {tmp_path}/shown\n')
    script.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "thoughtree", "view", str(run[0]), "--open"],
        env=os.environ | {"BROWSER": f"{script} %s"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'run.html'}\n")
    assert (tmp_path / "shown").read_text() == (tmp_path / "run.html").as_uri()


def test_the_same_search_makes_the_same_page(run: tuple[Path, Any]) -> None:
    assert page([Run.of(run[0])]) == page([Run.of(run[0])])


def test_states_that_no_file_can_hold_are_shown_all_the_same() -> None:
    class Odd:
        def __str__(self) -> str:
            return "an odd state"

    result: SearchResult[Any, Any] = wide(3)
    result.tree[1].state = Odd()
    assert "an odd state" in states(document(Run.of(result))["nodes"])[1]


# ---- files that nobody of ours wrote

ODD: list[Any] = [None, True, -1, 3.5, 1e308, "", "x", [], {}, [[]], {"a": 1}, "\ud800", 10**30, [None], [1, 2, 3]]


def changed(value: Any, rng: random.Random, share: float) -> Any:
    """A value of which some parts are others, or are gone."""
    if rng.random() < share:
        return rng.choice(ODD)
    if isinstance(value, list):
        found = [changed(item, rng, share) for item in value]
        if found and rng.random() < share:
            found.pop(rng.randrange(len(found)))
        return found
    if isinstance(value, dict):
        return {name: changed(item, rng, share) for name, item in value.items() if rng.random() > share / 3}
    return value


@pytest.mark.parametrize("name", ["beam", "lats", "rap"])
def test_a_forged_file_is_refused_or_shown_as_far_as_it_goes(name: str, tmp_path: Path) -> None:
    make, inputs, reply = PROGRAMS[name]
    model, path, saved = Engine(lambda kind, inputs, n: reply(kind, inputs)), tmp_path / "run", tmp_path / "result"
    with dspy.context(lm=lm(model)):
        make()(**inputs, config={"journal": path}).search.save(saved)
    result, (header, *lines) = json.loads(saved.read_text()), map(json.loads, path.read_text().splitlines())
    shown = 0
    for seed in range(40):
        rng = random.Random(seed)
        forged = [changed(line, rng, 0.01) if rng.random() > 0.7 else line for line in lines]
        path.write_bytes(resealed([header, *forged]))
        saved.write_text(json.dumps(changed(result, rng, 0.002)))
        for source in (path, saved):
            with suppress(ValueError, JournalError):
                shown += page([Run.of(source)]).startswith(MARK)
    assert shown >= 40  # every journal, as far as it goes


def resealed(lines: list[Any]) -> bytes:
    """A journal of these lines, checks and all."""
    check, found = 0, []
    for line in lines:
        body = {name: value for name, value in line.items() if name != "sum"} if isinstance(line, dict) else {}
        sealed_line, check = sealed(json.dumps(body or {"ask": 0}).encode(), check)
        found.append(sealed_line + b"\n")
    return b"".join(found)
