"""Results on disk: whole, read strictly, never half."""

from __future__ import annotations

import copy
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from test_core_result import Words
from thoughtree.search import (
    Answered,
    Beam,
    BestFirst,
    Failed,
    Node,
    NodeStatus,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Rating,
    Request,
    Search,
    SearchResult,
    Stepped,
    Tree,
    Unread,
    run,
)
from worlds import Letters

QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


def rich_result() -> SearchResult[Any, Any]:
    """One node of every status, and something in every field."""
    world = Letters({"": "abxad", "a": "e", "ae": "f"}, {"a": 20.0, "b": 0.5}, illegal="x", ends=("d",))

    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        if isinstance(request, Propose) and request.node == 6:
            return Failed("timeout")
        if isinstance(request, Rate) and request.nodes == (1,):
            return Rated((25.0 - 5.0,), ("sure",), clamped=1)
        return world.answer(request, tree)

    running = Search(BestFirst(branching=9, max_depth=3), "", root_key="", step=world.step, closing=lambda best: True)
    result = run(running, answer).replace(seconds=1.5, unfinished=2)
    result.tree.lessons.append("look left")
    statuses = {node.status for node in result.tree}
    assert statuses == set(NodeStatus) - {NodeStatus.SOLVED, NodeStatus.OPEN}
    return result


def rows(result: SearchResult[Any, Any]) -> list[dict[str, Any]]:
    return [
        {f.name: getattr(node, f.name) for f in fields(Node)} | {"children": list(node.children)}
        for node in result.tree
    ]


def assert_same(loaded: SearchResult[Any, Any], result: SearchResult[Any, Any]) -> None:
    assert rows(loaded) == rows(result)
    for field in fields(SearchResult):
        if field.name not in ("tree", "best", "task", "explained"):
            assert getattr(loaded, field.name) == getattr(result, field.name), field.name
    assert loaded.best.id == result.best.id
    assert loaded.tree.lessons == result.tree.lessons
    assert loaded.summary() == result.summary()
    assert loaded.explain() == result.explain()
    assert (loaded.top(9), loaded.path) == ([loaded.tree[n.id] for n in result.top(9)], result.path)


def test_a_result_comes_back_as_it_was(tmp_path: Path) -> None:
    result = rich_result()
    result.save(tmp_path / "result.json")
    loaded = SearchResult.load(tmp_path / "result.json")
    assert_same(loaded, result)
    loaded.save(tmp_path / "again.json")  # and goes out again as it came
    assert (tmp_path / "again.json").read_text() == (tmp_path / "result.json").read_text()


def test_a_direct_answer_comes_back(tmp_path: Path) -> None:
    running = Search(Beam(), "", first=True)
    running.tell(0, Answered({"answer": 24, "steps": ["1", "2"]}, rule="no", reward=0.0, feedback="wrong"))
    running.tell(1, Unread("?"))
    result = running.result()
    result.save(tmp_path / "result.json")
    loaded = SearchResult.load(tmp_path / "result.json")
    assert_same(loaded, result)
    assert loaded.answer == {"answer": 24, "steps": ["1", "2"]}
    assert (loaded.best.value, loaded.best.observation) == (0.0, "wrong")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prior", 0.0),
        ("reason", 0),  # a duplicate of the root
        ("reason", 0.0),  # pruned at 0
        ("reason", ""),
        ("reason", False),
        ("value", 0.0),
        ("reward", -0.5),
        ("observation", 0),
        ("observation", ""),
        ("observation", []),
        ("observation", {"deep": [1, None, "x"]}),
        ("verdict", ""),
        ("answer", {}),
        ("visits", 3),
        ("total", 2.5),
        ("missed", True),
        ("lost", 2),
        ("sampled", 1.5),
    ],
)
def test_a_falsy_value_is_no_missing_one(tmp_path: Path, field: str, value: Any) -> None:
    result = Letters({"": "ab"}).run(Beam(max_depth=1))
    setattr(result.tree[1], field, value)
    result.save(tmp_path / "result.json")
    loaded = getattr(SearchResult.load(tmp_path / "result.json").tree[1], field)
    assert (loaded, type(loaded)) == (value, type(value))


def test_states_are_written_and_read_by_the_task(tmp_path: Path) -> None:
    world = Letters({"": "ab", "a": "c"}, {"a": 20.0})
    result = world.run(Beam(max_depth=2)).replace(task=Words({"a": True}))
    result.save(tmp_path / "result.json")
    written = json.loads((tmp_path / "result.json").read_text())["nodes"][3]
    assert (written["state"], written["text"], written["action"]) == (["a", "c"], "<ac>", "C")
    loaded = SearchResult.load(tmp_path / "result.json", task=Words({"a": True}))
    assert [node.state for node in loaded.tree] == [node.state for node in result.tree]
    assert (loaded.path, loaded.explain()) == (["A", "C"], result.explain())
    without = SearchResult.load(tmp_path / "result.json")
    assert (without.tree[3].state, without.path) == (["a", "c"], ["A", "C"])


class Sums(Words):
    """Its states are numbers."""

    def load(self, value: Any) -> Any:
        return sum(value)


class Signs(Words):
    """It makes something of any list."""

    def load(self, value: Any) -> Any:
        return "+" * len(value)


class Moved(Words):
    """The same task under another name."""


KINDS = {kind: f"{kind.__module__}:{kind.__name__}" for kind in (Words, Sums, Signs)}


def of_words(folder: Path) -> Path:
    """A result whose states `Words` wrote."""
    Letters({"": "ab", "a": "c"}, {"a": 20.0}).run(Beam(max_depth=2)).replace(task=Words()).save(folder / "words.json")
    return folder / "words.json"


@pytest.mark.parametrize(
    ("task", "why"),
    [
        (Sums(), "(TypeError: unsupported operand type(s) for +: 'int' and 'str')"),
        (Signs(), "(ValueError: node 1 is '<+>', and was '<a>')"),
    ],
    ids=["unreadable", "read as something else"],
)
def test_another_task_than_that_of_the_states_is_named(tmp_path: Path, task: Words, why: str) -> None:
    path = of_words(tmp_path)
    with pytest.raises(ValueError, match="states") as caught:
        SearchResult.load(path, task=task)
    assert str(caught.value) == (
        f"{path}: its states were written by {KINDS[Words]}, and task={KINDS[type(task)]} cannot read them; "
        f"give the one that wrote them, or none {why}"
    )
    data = json.loads(path.read_text())
    del data["task"]  # as an earlier version wrote it
    path.write_text(json.dumps(data))
    if isinstance(task, Sums):
        with pytest.raises(ValueError, match=f"states were written by another task, and task={KINDS[Sums]} cannot"):
            SearchResult.load(path, task=task)


def test_a_task_that_has_changed_since_and_a_damaged_file_are_told_apart(tmp_path: Path) -> None:
    path = of_words(tmp_path)
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | {"task": KINDS[Sums]}))
    with pytest.raises(ValueError, match=f"{KINDS[Sums]} can no longer read the states that it wrote"):
        SearchResult.load(path, task=Sums())
    path.write_text(json.dumps(data | {"best": 99}))
    with pytest.raises(ValueError, match=r"a damaged search result \(ValueError: best is node 99 of 4\)"):
        SearchResult.load(path, task=Sums())


def test_a_task_that_was_moved_still_reads_its_states(tmp_path: Path) -> None:
    path = of_words(tmp_path)
    assert [node.state for node in SearchResult.load(path, task=Moved()).tree] == ["", "a", "b", "ac"]
    bare = SearchResult.load(path)
    assert bare.saved_of == KINDS[Words]
    bare.save(tmp_path / "again.json")  # without the task, its name is kept
    assert SearchResult.load(tmp_path / "again.json").saved_of == KINDS[Words]


def test_a_task_that_shows_actions_of_its_own_type_reads_a_loaded_path(tmp_path: Path) -> None:
    class Moves(Words):
        def show(self, action: Any) -> str:
            return f"move {action.letter}"

        def dump(self, state: Any) -> Any:
            return [f"{x.numerator}/{x.denominator}" for x in state]

        def load(self, value: Any) -> Any:
            return tuple(Fraction(x) for x in value)

    class Move:
        letter = "z"

    running = Search(Beam(max_depth=1), (Fraction(1, 3),), step=lambda state, move: Stepped((*state, Fraction(2))))
    running.tell(0, Proposed((Move(),)))
    running.tell(1, Rated((3.0,)))
    result = running.result().replace(task=Moves())
    result.save(tmp_path / "result.json")
    loaded = SearchResult.load(tmp_path / "result.json", task=Moves())
    assert (loaded.path, loaded.best.state) == (["move z"], (Fraction(1, 3), Fraction(2)))
    loaded.save(tmp_path / "result.json")


def test_pydantic_values_and_odd_ones_are_written_as_well_as_can_be(tmp_path: Path) -> None:
    class Model:
        def model_dump(self, mode: str) -> Any:
            assert mode == "json"
            return {"city": "Oslo"}

    result = Letters({"": "a"}).run(Beam(max_depth=1))
    result.tree[1].observation = {
        "model": Model(),
        "set": {1},
        "nan": float("nan"),
        "third": Fraction(1, 3),
        5: (1, 2),
    }
    result.save(tmp_path / "result.json")
    assert SearchResult.load(tmp_path / "result.json").tree[1].observation == {
        "model": {"city": "Oslo"},
        "set": [1],
        "nan": "nan",
        "third": "1/3",
        "5": [1, 2],
    }


@pytest.mark.parametrize(
    ("dumped", "said"),
    [
        (Fraction(1, 3), "Fraction value Fraction(1, 3) is not JSON"),
        (float("inf"), "Out of range float values"),
    ],
)
def test_a_state_that_cannot_be_written_is_an_error_and_leaves_the_old_file(
    tmp_path: Path, dumped: Any, said: str
) -> None:
    class Bad(Words):
        def dump(self, state: Any) -> Any:
            return dumped

    result = Letters({"": "a"}).run(Beam(max_depth=1))
    path = tmp_path / "result.json"
    result.save(path)
    before = path.read_bytes()
    with pytest.raises(TypeError) as caught:
        result.replace(task=Bad()).save(path)
    assert str(caught.value).startswith("SearchResult.save: ")
    assert said in str(caught.value)
    assert "give the task `dump` and `load` hooks" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert path.read_bytes() == before


def test_texts_of_any_kind_come_back(tmp_path: Path) -> None:
    texts = ["½ × ８ = 4", "line\nbreak", "\u2028", "nul\0", "𝔘"]
    result = Letters({"": "a"}).run(Beam(max_depth=1))
    result.tree[1].observation = texts
    result.save(tmp_path / "result.json")
    assert SearchResult.load(tmp_path / "result.json").tree[1].observation == texts
    result.tree[1].observation = "lone \ud800 surrogate"  # what no file can hold as it is
    result.save(tmp_path / "result.json")
    assert "surrogate" in SearchResult.load(tmp_path / "result.json").tree[1].observation


# ---- damage


def saved(tmp_path: Path) -> dict[str, Any]:
    rich_result().save(tmp_path / "result.json")
    data: dict[str, Any] = json.loads((tmp_path / "result.json").read_text())
    return data


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x80\x81", "not a saved search result (not JSON"),
        (b"{}", "format None, expected 'thoughtree.result/1'"),
        (b"[]", "format 'list'"),
        (b'{"format": "thoughtree.result/2"}', "format 'thoughtree.result/2'"),
        (b'{"format": "thoughtree.result/1"}', "a damaged search result (KeyError: 'nodes')"),
        (b"[" * 100_000, "not JSON"),
        (b"", "not a saved search result: the file is empty"),
        (b"\n", "not a saved search result: the file is empty"),
    ],
)
def test_what_is_no_result_is_a_value_error_that_says_so(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="result") as caught:
        SearchResult.load(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"status": "great"}, "'great' is not a valid SearchStatus"),
        ({"ended": "tired"}, "'tired' is not a valid Ended"),
        ({"best": 99}, "best is node 99 of"),
        ({"best": -1}, "best is -1, which is no count"),
        ({"best": "1"}, "best is '1', which is no count"),
        ({"nodes": []}, "IndexError"),
        ({"failed": -1}, "failed is -1, which is no count"),
        ({"seconds": "long"}, "seconds is 'long', which is no number"),
        ({"errors": {"x": "many"}}, "errors is 'many', which is no count"),
        ({"answer": [1]}, "answer is [1], which is no object"),
        ({"explained": [5]}, "explained is 5, which is no text"),
        ({"spent": {"calls": 1}}, "KeyError: 'tokens'"),
        ({"rating": {"samples": 0}}, "Rating(samples=0)"),
        ({"rating": {"colour": "red"}}, "colour"),
        ({"controller": "Beam"}, "controller is 'Beam', which is no object"),
    ],
)
def test_a_damaged_field_is_found_as_the_file_is_read(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    data = saved(tmp_path)
    path = tmp_path / "result.json"
    path.write_text(json.dumps(data | change))
    with pytest.raises(ValueError, match="a damaged search result") as caught:
        SearchResult.load(path)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"id": 7},
        {"parent": 3},
        {"parent": -1},
        {"parent": None},
        {"status": "sleeping"},
        {"value": "high"},
        {"value": True},
        {"ratings": 1.5},
        {"missed": 1},
        {"verdict": 5},
        {"rater": None},
        {"answer": "24"},
    ],
)
def test_a_damaged_node_is_found_as_the_file_is_read(tmp_path: Path, change: dict[str, Any]) -> None:
    data = saved(tmp_path)
    data["nodes"][3] |= change
    (tmp_path / "result.json").write_text(json.dumps(data))
    with pytest.raises(ValueError, match="a damaged search result"):
        SearchResult.load(tmp_path / "result.json")


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_number_that_json_has_not_is_damage(tmp_path: Path, number: str) -> None:
    data = saved(tmp_path)
    data["nodes"][3]["value"] = "here"
    (tmp_path / "result.json").write_text(json.dumps(data).replace('"here"', number))
    with pytest.raises(ValueError, match=f"not JSON: {number} is no JSON number"):
        SearchResult.load(tmp_path / "result.json")


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10**30),
    st.floats(),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.just([{}]),
)


def loaded_or_refused(path: Path) -> SearchResult[Any, Any] | None:
    """The result, or None for a file that is refused as it should be: by a ValueError that names it."""
    try:
        return SearchResult.load(path)
    except ValueError as error:
        said = str(error)
    assert said.startswith(str(path))
    return None


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The address of everything in a JSON value."""
    found = [at] if at else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += places(inner, (*at, key))
    return found


@settings(max_examples=400, deadline=None, suppress_health_check=QUIET)
@given(st.data())
def test_any_one_thing_changed_gives_a_value_error_or_a_result_that_can_be_read(
    tmp_path: Path, data: st.DataObject
) -> None:
    content = copy.deepcopy(FUZZED)
    *way, last = data.draw(st.sampled_from(places(content)))
    inner = content
    for key in way:
        inner = inner[key]
    if data.draw(st.booleans()):
        inner[last] = data.draw(JUNK)
    else:
        del inner[last]
    path = tmp_path / "fuzzed.json"
    path.write_text(json.dumps(content))
    loaded = loaded_or_refused(path)
    if loaded is None:
        return
    for text in (loaded.summary(), loaded.explain(), *loaded.warnings, *loaded.path):
        assert isinstance(text, str)
    assert loaded.top(3) is not None
    assert loaded.status_counts()
    loaded.save(tmp_path / "again.json")


@settings(max_examples=200, deadline=None, suppress_health_check=QUIET)
@given(st.data())
def test_bytes_changed_or_cut_give_a_value_error_or_a_result(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(json.dumps(FUZZED).encode())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "fuzzed.json"
    path.write_bytes(content)
    loaded = loaded_or_refused(path)
    assert loaded is None or loaded.summary()


def _fuzzed() -> dict[str, Any]:
    from thoughtree.search.saving import dump

    return json.loads(json.dumps(dump(rich_result())))


FUZZED = _fuzzed()


def test_loading_needs_no_code_of_the_file(tmp_path: Path) -> None:
    result = Letters({"": "a"}).run(Beam(max_depth=1))
    result.save(tmp_path / "result.json")
    assert asdict(SearchResult.load(tmp_path / "result.json").rating) == asdict(Rating())
    with pytest.raises(FileNotFoundError):
        SearchResult.load(tmp_path / "nothing.json")


def test_two_may_save_to_one_place_at_once(tmp_path: Path) -> None:
    result = run(Search(Beam(), "", step=Letters({"": "ab"}).step), Letters({"": "ab"}).answer)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: result.save(tmp_path / "result.json"), range(100)))
    assert SearchResult.load(tmp_path / "result.json").path == result.path
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_what_cannot_be_saved_leaves_nothing_behind(tmp_path: Path) -> None:
    result = run(Search(Beam(), "", step=Letters({"": "ab"}).step), Letters({"": "ab"}).answer)
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        result.save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("folder", ["missing", "file"])
def test_a_folder_that_is_missing_is_named_with_the_mend(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="there is no folder") as caught:
        Letters({"": "a"}).run(Beam(max_depth=1)).save(tmp_path / folder / "result.json")
    assert caught.value.strerror == (
        f"there is no folder {str(tmp_path / folder)!r}; make it first, or give another path"
    )
    assert caught.value.filename == str(tmp_path / folder / "result.json")


def test_a_link_stays_one_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    result = Letters({"": "a"}).run(Beam(max_depth=1))
    (tmp_path / "kept").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "kept" / "result.json")
    for _ in range(2):  # with nothing behind the link yet, then over the old file
        result.save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert SearchResult.load(tmp_path / "kept" / "result.json").path == result.path

    if not hasattr(os, "mkfifo"):
        return
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit((tmp_path / "pipe").read_bytes)
        result.save(tmp_path / "pipe")
        assert reading.result() == (tmp_path / "kept" / "result.json").read_bytes()
    assert (tmp_path / "pipe").is_fifo()
