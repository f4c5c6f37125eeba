"""Files that were damaged, or made to do harm: one documented class of error, nothing imported, nothing written."""

from __future__ import annotations

import copy
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest

import thoughtree
from hostile import PROGRAMS, SMALL, Case, Room, obeyed, search
from thoughtree import DFS, LATS, RAP, Beam, BestFirst, Blocksworld, Evaluate, Game24, SearchResult, TreeOfThoughts
from thoughtree.modules.lessons import Lessons
from thoughtree.optimize import LogError
from thoughtree.report import summary_text
from thoughtree.search import JournalError
from thoughtree.search.visible import in_json
from thoughtree.tasks import Programming
from thoughtree.tree_view import tree_view

PLANTED = "planted_module"  # on the path, and writes a file when it is imported
JUNK: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**30, 10**400, 1e308, "", "x", "\ud800", "a\0b", "NaN", [], {}, [[]], [{}], {"a": 1}),
    *(
        f"{PLANTED}:Task",
        f"{PLANTED}.Task",
        "os:system",
        "thoughtree.cli:main",
        "thoughtree.tasks.sandbox.inside.run:x",
    ),
    {"__class__": f"{PLANTED}.Task"},
    {"py/object": f"{PLANTED}.Task", "py/reduce": []},
    {"_dspy_lm_class": f"{PLANTED}.LM", "model": "x"},
    {"model": "openai/x", "engine": {"class": f"{PLANTED}.Engine", "state": {}}},
    {"model": "openai/x", "fallbacks": [{"model": "openai/y", "api_base": "http://elsewhere"}]},
    *({"~": kind, "of": of} for kind in ("tuple", "set", "dict", "x") for of in ([1], [[1]], [[[1], 2]], None)),
    *("list[", "Literal['a']", f"__import__('{PLANTED}')", "[" * 300, "lambda: 0"),
]
NESTED = [50, 400, 5000]


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The address of everything in a JSON value."""
    found = [at] if at else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += places(inner, (*at, key))
    return found


def changed(data: Any, at: tuple[Any, ...], draw: random.Random) -> Any:
    """`data` with something else at this place, or nothing, or a part of itself."""
    data = copy.deepcopy(data)
    *way, last = at
    inner = data
    for key in way:
        inner = inner[key]
    kind = draw.random()
    if kind < 0.15:
        del inner[last]
    elif kind < 0.25:
        inner[last] = copy.deepcopy(data)
    else:
        inner[last] = copy.deepcopy(draw.choice(JUNK))
    return data


def as_text(data: Any, draw: random.Random) -> bytes:
    """JSON, and now and then what Python reads as JSON though it is none, or JSON that few expect."""
    text, kind = json.dumps(data), draw.random()
    if kind < 0.03:
        text = text.replace(": ", ": NaN, ", 1).replace("0", "1e999", 1)
    elif kind < 0.06:
        deep = draw.choice(NESTED)
        text = text.replace("null", "[" * deep + "]" * deep, 1)
    elif kind < 0.09:
        text = text.replace("0", "1" * 5000, 1)
    elif kind < 0.12:
        text = text.replace('{"', '{"format": 5, "', 1)  # twice
    elif kind < 0.14:
        text = "\ufeff" + text
    return text.encode()


def damaged(content: bytes, draw: random.Random) -> bytes:
    if draw.random() < 0.3:
        return content[: draw.randrange(len(content))]
    flipped = bytearray(content)
    for _ in range(draw.choice([1, 1, 3, 10])):
        flipped[draw.randrange(len(flipped))] = draw.randrange(256)
    return bytes(flipped)


def variants(content: bytes, seed: int, most: int = 400) -> Iterator[bytes]:
    """Every place of a JSON file changed, or as many as there is time for; then bytes."""
    draw, data = random.Random(seed), json.loads(content)
    every = places(data)
    for at in every if len(every) <= most else draw.sample(every, most):
        yield as_text(changed(data, at, draw), draw)
    for _ in range(40):
        yield damaged(content, draw)
    yield from (b"", b"null", b"[]", b"{}", b'"x"', b"[" * 100_000, b"\xff\xfe", b'{"format": "thoughtree.result/99"}')


def lines(content: bytes, seed: int, most: int) -> Iterator[bytes]:
    """A file of JSON lines: one line changed, lost, doubled, in another place, or bytes."""
    draw, whole = random.Random(seed), content.split(b"\n")[:-1]
    for _ in range(most):
        kept, at = list(whole), draw.randrange(len(whole))
        kind = draw.random()
        if kind < 0.5:
            data = json.loads(kept[at])
            kept[at] = as_text(changed(data, draw.choice(places(data)), draw), draw)
        elif kind < 0.6:
            del kept[at]
        elif kind < 0.7:
            kept.insert(at, draw.choice(whole))
        elif kind < 0.75:
            draw.shuffle(kept)
        elif kind < 0.8:
            kept.insert(at, draw.choice([b"", b"{}", b"[]", b"null", b"\xff", b"{" * 3000, b'{"code": 1}']))
        else:
            yield damaged(content, draw)
            continue
        yield b"\n".join(kept) + b"\n"


@pytest.fixture(autouse=True)
def _nothing_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No file makes Python import what it names, and none appears but those that the test wrote."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / f"{PLANTED}.py").write_text(f"open({str(tmp_path / 'it ran')!r}, 'w')")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "path"), *sys.path])
    yield
    assert PLANTED not in sys.modules
    assert {path.name for path in tmp_path.iterdir()} <= {"path", "saved", "file.json", "again.json"}


def refused(path: Path, read: Callable[[], Any], kind: type[Exception] = ValueError) -> bool:
    """Whether `read` refuses the file, as documented: by this class, naming the file, in a text one can print."""
    try:
        read()
    except kind as error:
        said = str(error)
    else:
        return False
    assert str(path) in said
    return True


# ---- programs

SAVED: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "thoughts": (lambda: TreeOfThoughts("question, tags: list[str] -> answer: int", rate="siblings", budget=50), {}),
    "game": (lambda: TreeOfThoughts(task=Game24(target=10), controller=DFS()), {}),
    "best": (lambda: TreeOfThoughts("question -> answer", controller=BestFirst(), scale="unit", first="answer"), {}),
    "world": (lambda: RAP(task=Blocksworld()), {}),
    "environment": (lambda: LATS(env=Room("x")), {"env": Room("x")}),
    "code": (lambda: LATS(env=Programming()), {}),
}


@pytest.mark.parametrize("name", SAVED)
def test_a_program_is_loaded_or_refused(name: str, tmp_path: Path) -> None:
    make, given = SAVED[name]
    program = make()
    first = program.predictors()[0]
    first.demos = [dspy.Example(question="q", answer="1")]
    first.lm = dspy.LM("openai/gpt-4o-mini")
    path = tmp_path / "file.json"
    program.save(path)
    content, outcomes = path.read_bytes(), []
    for i, variant in enumerate(variants(content, seed=len(name), most=150)):
        path.write_bytes(variant)
        outcomes.append(refused(path, lambda: repr(thoughtree.load(path, **given))))
        if i % 3 == 0:
            copied = program.deepcopy()
            before = copied.dump_state()
            if refused(path, lambda copied=copied: copied.load(path)):
                assert copied.dump_state() == before
    assert set(outcomes) == {True, False}


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "openai/x", "fallbacks": [{"api_base": "http://elsewhere"}]},
        {"model": "openai/x", "headers": {"x": "https://elsewhere"}},
        {"model": "x", "_dspy_lm_class": f"{PLANTED}.LM"},
        {"model": "x", "engine": {"class": f"{PLANTED}.Engine", "state": {}}},
        {"model": 5},
        "openai/x",
    ],
)
def test_no_file_chooses_where_calls_go(settings: Any, tmp_path: Path) -> None:
    """Alone, and where a pipeline around loads it."""

    class Pipeline(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = TreeOfThoughts("question -> answer")

    path = tmp_path / "file.json"
    Pipeline().save(path)
    state = json.loads(path.read_text())
    state["inner.rate.predict"]["lm"] = settings
    path.write_text(json.dumps(state))
    with pytest.raises(ValueError, match=r"not to be trusted|damaged|Refusing to import|engine"):
        Pipeline().load(path)
    TreeOfThoughts("question -> answer").save(path)
    state = json.loads(path.read_text())
    state["rate.predict"]["lm"] = settings
    path.write_text(json.dumps(state))
    with pytest.raises(ValueError, match=str(path)):
        thoughtree.load(path)


@pytest.mark.parametrize("runner", [{"without": ["network"]}, {"paths": ["/"]}, "sh -c", [1]])
def test_no_file_opens_the_sandbox(runner: Any, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    LATS(env=Programming()).save(path)
    assert isinstance(thoughtree.load(path).task.env, Programming)
    state = json.loads(path.read_text())
    state["settings"]["task"] = state["settings"]["task"].replace('"runner": null', f'"runner": {json.dumps(runner)}')
    path.write_text(json.dumps(state))
    with pytest.raises(ValueError, match="give env="):
        thoughtree.load(path)


@pytest.mark.parametrize("task", ["thoughtree.cli:main", "thoughtree.tasks.sandbox.inside.run:x", f"{PLANTED}:Task"])
def test_no_file_makes_load_import_anything(task: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    TreeOfThoughts("question -> answer").save(path)
    state = json.loads(path.read_text())
    state["settings"]["task"] = task
    path.write_text(json.dumps(state))
    before = set(sys.modules)
    with pytest.raises(ValueError, match="whose import would run code"):
        thoughtree.load(path)
    assert {name for name in set(sys.modules) - before if not name.startswith("thoughtree.tasks.")} == set()


@pytest.mark.parametrize("version", ["3\x1b[2J", "3\x1b]0;title\x07", "\u202e11.3", "3\n4", "3" * 101, ["3"]])
def test_no_version_in_a_file_is_obeyed_by_a_terminal(version: Any, tmp_path: Path) -> None:
    """DSPy logs it where it is not the one that is installed."""
    path = tmp_path / "file.json"
    program = TreeOfThoughts("question -> answer")
    program.save(path)
    state = json.loads(path.read_text())
    state["metadata"]["dependency_versions"]["python"] = version
    path.write_text(json.dumps(state))
    with pytest.raises(ValueError, match="which is no version") as raised:
        program.load(path)
    assert (obeyed(str(raised.value)), "\n" in str(raised.value), len(str(raised.value)) < 500) == ([], False, True)


def test_a_task_that_a_file_names_is_obeyed_by_no_terminal(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    TreeOfThoughts("question -> answer").save(path)
    state = json.loads(path.read_text())
    state["settings"]["task"] = "\x1b[2J\u202etask\0"
    path.write_text(json.dumps(state))
    for allowed in (False, True):
        with pytest.raises(ValueError, match="its task") as raised:
            thoughtree.load(path, allow_task_import=allowed)
        assert obeyed(str(raised.value)) == []


# ---- results


def puzzle(text: str, **knobs: Any) -> TreeOfThoughts:
    def rate(inputs: Any, nodes: Any) -> list[float]:
        return [float(len(node.text)) for node in nodes]

    return TreeOfThoughts(task=Game24(), propose="moves", rate=rate, controller=SMALL, **knobs)


def program(text: str, **knobs: Any) -> LATS:
    wide = {"cpu_seconds": 20, "wall_seconds": 60}
    return LATS(env=Programming(runner=wide), controller=Beam(width=1, branching=1, max_depth=1), **knobs)


FOUND = {
    **{name: PROGRAMS[name] for name in ("votes", "environment", "tools", "reward", "world")},
    "puzzle": Case(puzzle, {"numbers": "4 9 10 13"}),
    "programs": Case(program, {"problem": "add", "tests": "assert add(1, 2) == 3"}),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_result_is_loaded_or_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROGRAMS, name, FOUND[name])
    found, _ = search(name, "plain")
    path, task = tmp_path / "file.json", found.search.task
    found.search.save(path)
    outcomes = []
    for i, variant in enumerate(variants(path.read_bytes(), seed=len(name), most=200)):
        path.write_bytes(variant)
        given = task if i % 2 else None
        outcomes.append(refused(path, lambda given=given: told(SearchResult.load(path, given))))
    assert set(outcomes) == {True, False}


def told(result: SearchResult[Any, Any]) -> None:
    """Whatever is loaded can be looked at."""
    for text in (result.summary(), result.explain(), *result.warnings, *result.path, repr(result)):
        assert isinstance(text, str)
    assert result.top(3) is not None
    if result.task is not None:
        tree_view(result)
        summary_text(result)


# ---- journals


@pytest.mark.parametrize("name", ["values", "votes", "proposals", "environment", "tools", "reward", "world", "puzzle"])
def test_a_journal_is_continued_or_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROGRAMS, name, {**PROGRAMS, **FOUND}[name])
    path, outcomes = tmp_path / "file.json", []
    search(name, "plain", config={"journal": path})
    for variant in lines(path.read_bytes(), seed=len(name), most=60):
        path.write_bytes(variant)

        def run() -> None:
            found, _ = search(name, "plain", config={"journal": path})
            told(found.search)

        outcomes.append(refused(path, run, JournalError))
    assert set(outcomes) == {True, False}


# ---- lessons


def test_lessons_are_loaded_or_refused(tmp_path: Path) -> None:
    path, outcomes = tmp_path / "file.json", []
    Lessons(["look left", "never run", "½ 日本"]).save(path)
    for variant in variants(path.read_bytes(), seed=1):
        path.write_bytes(variant)
        outcomes.append(refused(path, lambda: Lessons.load(path).save(tmp_path / "again.json")))
    assert set(outcomes) == {True, False}


def test_lessons_are_readable_and_obeyed_by_no_terminal(tmp_path: Path) -> None:
    path, harm = tmp_path / "file.json", "a\x1b[2J\x9b31m\u202eb\u2028c\ud800d\U000e0041 日本 \u200d"
    Lessons([harm]).save(path)
    text = path.read_text("utf-8")
    assert r"a\u001b[2J\u009b31m\u202eb\u2028c\ud800d\udb40\udc41 日本 " in text
    assert Lessons.load(path) == (harm,)
    assert in_json('{"日本": "½\\n"}') == '{"日本": "½\\n"}'


# ---- evaluations


def test_an_evaluation_is_continued_or_refused(tmp_path: Path) -> None:
    def answer(question: str) -> Any:
        return dspy.Prediction(answer=question)

    def metric(example: Any, prediction: Any, trace: Any = None) -> Any:
        return dspy.Prediction(score=0.5, feedback="near")

    examples = [dspy.Example(question=f"q{i}", answer=str(i)).with_inputs("question") for i in range(3)]
    folder, outcomes = tmp_path / "saved", []

    def run() -> None:
        result = Evaluate(devset=examples, metric=metric, num_threads=1, resume=folder)(answer)
        assert result.table() is not None
        assert str(len(examples)) in result.summary()

    run()
    (path,) = folder.iterdir()
    for variant in lines(path.read_bytes(), seed=3, most=150):
        path.write_bytes(variant)
        outcomes.append(refused(path, run, LogError))
    assert set(outcomes) == {True, False}
