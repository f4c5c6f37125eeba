"""What a result is turned into: JSON by its schema, Graphviz, Mermaid, a table, and a page in a notebook."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pandas
import pytest

from hostile import KINDS, PROGRAMS, obeyed, search
from puzzle24 import PUZZLE, call, engine
from thoughtree import DFS, Game24, NodeStatus, SearchResult, TreeOfThoughts, result_schema
from thoughtree.notebook import page_of
from thoughtree.search import Beam, Budget, Ended, Search, SearchStatus, Tree, run
from thoughtree.search.excerpt import excerpt
from thoughtree.search.protocol import Propose, Proposed, Rate, Rated, Stepped
from thoughtree.search.rollout_log import RolloutLog
from thoughtree.search.saving import NODE_FIELDS, summed

FEW = ("terminal", "HTML", "line ends")
hostile = pytest.mark.parametrize(
    ("name", "kind"), [(n, k) for n in PROGRAMS for k in KINDS if n == "values" or k in FEW]
)


@cache
def searched(name: str, kind: str) -> SearchResult[Any, Any]:
    """A small search of this program, into which the text is planted."""
    found: SearchResult[Any, Any] = search(name, KINDS[kind])[0].search
    return found


@pytest.fixture(scope="module")
def solved() -> SearchResult[Any, Any]:
    """Depth-first through 4 9 10 13: the root, three children of which two are hopeless, and so on."""
    program = TreeOfThoughts(task=Game24(), controller=DFS(), concurrency=1)
    found: SearchResult[Any, Any] = call(program, engine(), numbers=PUZZLE).search
    return found


def wide(children: int, depth: int = 1) -> SearchResult[Any, Any]:
    """A root with so many children, each of them of one letter."""

    def answer(request: Any, tree: Any) -> Any:
        match request:
            case Propose(_, n):
                return Proposed(tuple(f"step {i}" for i in range(n or 1)))
            case Rate(nodes):
                return Rated(tuple(1.0 for _ in nodes))
        raise AssertionError(request)

    made = Search(
        Beam(width=children, branching=children, max_depth=depth),
        "",
        step=lambda state, action: Stepped(f"{state}{action}."),
        budget=Budget(),
    )
    return run(made, answer)


# ---- JSON


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(result_schema())


def test_the_schema_names_all_that_there_is():
    """Statuses, ends and fields that the code knows, and no other."""
    schema = result_schema()
    node = schema["$defs"]["node"]["properties"]
    assert set(node) == {"id", "parent", "status", "action", "state", "text", "spent", *NODE_FIELDS}
    assert node["status"]["enum"] == [status.value for status in NodeStatus]
    assert set(schema["properties"]["status"]["enum"]) == {status.value for status in SearchStatus}
    assert set(schema["properties"]["ended"]["enum"]) == {None, *(ended.value for ended in Ended)}
    assert set(schema["$defs"]["rollout"]["properties"]) == {*RolloutLog.__slots__}
    assert set(schema["properties"]) == {*summed(wide(1)), "task", "explained", "nodes"}
    described = [*schema["properties"].values(), *node.values()]
    assert [entry for entry in described if not entry.get("description")] == []


@hostile
def test_a_result_of_any_program_is_valid_by_the_schema(name: str, kind: str, tmp_path: Path):
    result = searched(name, kind)
    made = result.to_dict()
    jsonschema.validate(made, result_schema())
    result.save(tmp_path / "result.json")
    assert json.loads((tmp_path / "result.json").read_text(encoding="ascii")) == made
    loaded = SearchResult.load(tmp_path / "result.json")
    jsonschema.validate(loaded.to_dict(), result_schema())


def test_what_is_wrong_is_not_valid(solved: SearchResult[Any, Any]):
    made = solved.to_dict()
    made["nodes"][1]["status"] = "burnt"
    with pytest.raises(jsonschema.ValidationError, match="burnt"):
        jsonschema.validate(made, result_schema())


# ---- the table


def test_a_table_of_plain_values(solved: SearchResult[Any, Any]):
    rows = solved.to_records()
    assert [row["id"] for row in rows] == list(range(len(solved.tree)))
    assert {type(value) for row in rows for value in row.values()} <= {str, int, float, bool, type(None)}
    assert [row["action"] for row in rows if row["on_path"]] == [None, "10-4=6", "13-9=4", "6*4=24"]
    (first,) = [row for row in rows if row["action"] == "10-4=6"]
    assert first == {
        **first,
        "parent": 0,
        "depth": 1,
        "state": "6 9 13",
        "status": "expanded",
        "reason": None,
        "value": 20.0,
        "verdict": "sure",
        "ratings": 1,
        "visits": 0,
        "mean": None,
        "children": 2,
    }


def test_pandas_takes_the_table_as_it_is(solved: SearchResult[Any, Any]):
    table = pandas.DataFrame(solved.to_records()).set_index("id")
    assert list(table[table.status == "solved"].action) == ["6*4=24"]
    assert table.value.max() == 20.0
    assert math.isnan(table.parent[0])
    assert table.groupby("depth").size().to_dict() == {
        depth: sum(node.depth == depth for node in solved.tree) for depth in {node.depth for node in solved.tree}
    }


@hostile
def test_nothing_in_the_table_is_obeyed(name: str, kind: str):
    rows = searched(name, kind).to_records()
    texts = [value for row in rows for value in row.values() if isinstance(value, str)]
    assert [bad for text in texts for bad in obeyed(text)] == []
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


# ---- Graphviz

DOT_NODE = re.compile(r'  [nm](\d+) \[label="((?:[^"\\]|\\.)*)", (?:[a-z]+=(?:"#[0-9a-f]{6}"|[a-z0-9.]+)(?:, |\];$))+')
DOT_EDGE = re.compile(r"  n(\d+) -> ([nm]\d+) \[(?:penwidth=[\d.]+|style=dotted)\];")


def dot_text(label: str) -> list[str]:
    """The lines that Graphviz draws of a label: escapes are read first, then entities."""
    lines = re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], label).split("\n")
    return [line.replace("&amp;", "&") for line in lines]


@hostile
def test_every_line_of_the_graph_is_a_statement(name: str, kind: str):
    result = searched(name, kind)
    first, *lines, last = result.to_dot().splitlines()
    assert (first, last) == ("digraph search {", "}")
    nodes = [match for line in lines[2:] if (match := DOT_NODE.fullmatch(line))]
    edges = [match for line in lines[2:] if (match := DOT_EDGE.fullmatch(line))]
    assert len(nodes) + len(edges) == len(lines) - 2
    assert [int(node[1]) for node in nodes] == list(range(len(result.tree)))
    assert sorted((edge[1], edge[2]) for edge in edges) == sorted(
        (str(node.parent), f"n{node.id}") for node in result.tree if node.id
    )
    assert obeyed(result.to_dot()) == []
    for node in nodes:
        assert re.search(r"&(?!amp;)", node[2]) is None  # no other entity
        assert max(map(len, dot_text(node[2]))) <= 60


def test_the_graph_says_what_became_of_each_node(solved: SearchResult[Any, Any]):
    labels = [dot_text(match[2]) for line in solved.to_dot().splitlines() if (match := DOT_NODE.fullmatch(line))]
    assert labels[0] == ["#0 start", "4 9 10 13", "expanded"]
    (first,) = [label for label in labels if "10-4=6" in label[0]]
    assert first[1:] == ["6 9 13", "20 sure  expanded"]
    assert next(label for label in labels if "6*4=24" in label[0])[1:] == ["24", "solved"]


def test_a_backslash_a_quote_and_an_entity_are_drawn_as_they_are():
    found, _ = search("values", 'C:\\new "x" &lt; \\')
    texts = [dot_text(m[2])[0] for line in found.search.to_dot().splitlines() if (m := DOT_NODE.fullmatch(line))]
    assert '#2 beta C:\\new "x" &lt; \\' in texts


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed (Debian: graphviz)")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "a megabyte"])
def test_graphviz_draws_it(kind: str):
    result = searched("values", kind)
    drawn = subprocess.run(["dot", "-Tsvg"], input=result.to_dot(), capture_output=True, text=True, timeout=60)
    assert (drawn.returncode, drawn.stderr) == (0, "")
    assert drawn.stdout.count('class="node"') == len(result.tree)
    assert "<script" not in drawn.stdout


# ---- Mermaid

MERMAID = [
    re.compile(r'  [nm]\d+\["(?P<label>(?:[\w ,()/=!\'?\u0080-\U0010ffff]|#\d+;|<br/>)*)"\]'),
    re.compile(r"  n\d+ (?:-->|==>|-\.->) [nm]\d+"),
    re.compile(r"  classDef \w+ [a-z-]+:[#\w]+(?:,[a-z-]+:\w+)*"),
    re.compile(r"  class n\d+(?:,n\d+)* \w+"),
]


def mermaid_text(label: str) -> list[str]:
    return [re.sub(r"#(\d+);", lambda found: chr(int(found[1])), line) for line in label.split("<br/>")]


@hostile
def test_every_line_of_the_flowchart_is_a_statement(name: str, kind: str):
    result = searched(name, kind)
    first, *lines = result.to_mermaid().splitlines()
    assert first == "flowchart TD"
    for line in lines:
        assert any(pattern.fullmatch(line) for pattern in MERMAID), line
    labels = [match["label"] for line in lines if (match := MERMAID[0].fullmatch(line))]
    assert len(labels) == len(result.tree)
    assert [bad for label in labels for text in mermaid_text(label) for bad in obeyed(text)] == []


def test_no_punctuation_means_anything_in_the_flowchart():
    """Quotes, brackets, line ends, directives, Markdown, entities, styles, links and formulas."""
    said = 'a"]; click n0 call x() %%{init: {}}%% `b` **c** #quot; style n0 fill:#f00; $$x$$ [d](javascript:e)\n<i>'
    found, _ = search("values", said)
    text = found.search.to_mermaid()
    (line,) = [line for line in text.splitlines() if line.startswith('  n2["')]
    assert mermaid_text(MERMAID[0].fullmatch(line)["label"])[0] == f"#2 beta {' '.join(said.split())}"[:59] + "…"
    for mark in ("%%", "`", "**", "$$", "<i>", "javascript:", "#quot"):
        assert mark not in text


# ---- large trees


def test_of_a_large_tree_the_path_and_what_is_nearest_to_the_root():
    result = wide(30, depth=2)
    whole = len(result.tree)
    part = excerpt(result, 10)
    assert len(part.nodes) == 10
    assert {node.id for node in result.tree.path(result.best)} == part.path <= {node.id for node in part.nodes}
    assert part.left_out == whole - 10
    assert [node.depth for node in part.nodes if node.id not in part.path] == [1] * 7
    assert result.to_mermaid(10).count("-.->") == len(part.hidden)
    assert f"{part.hidden[0]:,} more nodes" in result.to_dot(10)
    assert len(excerpt(result, None).nodes) == whole
    with pytest.raises(ValueError, match="most=0"):
        result.to_dot(0)


def test_the_whole_path_is_kept_however_long():
    tree: Tree[Any, Any] = Tree("")
    node = tree.root
    for _ in range(3000):
        node = tree.add(node, "down")
    result = wide(1).replace(tree=tree, best=node)
    assert len(excerpt(result, 10).nodes) == 3001
    assert result.to_dot(10).count("->") == 3000
    assert page_of(result, 10).count("<details") == 3000


# ---- notebooks


class Page(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


DRAWN = {"html", "head", "meta", "style", "body", "p", "details", "summary", "span", "div", "pre"}


@hostile
def test_a_notebook_shows_the_tree_and_runs_nothing(name: str, kind: str):
    result = searched(name, kind)
    ((tag, given),) = Page(result._repr_html_()).elements
    assert (tag, given["sandbox"]) == ("iframe", "")
    page = given["srcdoc"]
    assert page is not None
    inner = Page(page)
    assert {tag for tag, _ in inner.elements} <= DRAWN
    assert {name for _, attributes in inner.elements for name in attributes} <= {
        "class", "open", "lang", "charset", "http-equiv", "content",
    }  # fmt: skip
    assert "default-src 'none'" in page
    assert obeyed(page) == []
    assert len(page) < 100_000
    for node in result.tree:
        assert f"#{node.id} " in inner.text


def test_a_notebook_opens_at_the_path(solved: SearchResult[Any, Any]):
    page = page_of(solved)
    inner = Page(page)
    assert inner.text.index("10-4=6") < inner.text.index("13-9=4") < inner.text.index("6*4=24")
    assert next(attributes for tag, attributes in inner.elements if tag == "details") == {"open": None}
    assert "solved: 10-4=6 -> 13-9=4 -> 6*4=24" in inner.text
    assert "thoughtree view" in inner.text
    assert page.count("<details") == page.count("</details>")


def test_a_notebook_of_a_large_tree_stays_small():
    result = wide(100, depth=2)
    assert len(result.tree) == 10_101
    page = result._repr_html_()
    assert len(page) < 200_000
    assert "9,801 more nodes are not shown here" in page


def test_a_loaded_result_is_shown_without_its_task(solved: SearchResult[Any, Any], tmp_path: Path):
    solved.save(tmp_path / "result.json")
    loaded = SearchResult.load(tmp_path / "result.json")
    assert [row["action"] for row in loaded.to_records()] == [row["action"] for row in solved.to_records()]
    assert loaded.to_dot().count("->") == solved.to_dot().count("->")
    assert "10-4=6" in page_of(loaded)
