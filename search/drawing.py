"""A search tree as a graph in the languages of Graphviz and Mermaid. What a model said is text there, never markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .excerpt import excerpt
from .labels import action_of, cut, state_of, status_of, worth_of
from .tree import DUPLICATE, FAILED, ILLEGAL, PRUNED, SOLVED, TERMINAL, Node
from .visible import one_line

if TYPE_CHECKING:
    from .result import SearchResult

LONGEST = 60  # characters of a line in a box
COLORS = {SOLVED: "#2e7d32", TERMINAL: "#b26a00", ILLEGAL: "#c62828", FAILED: "#c62828"}
PALE = (PRUNED, DUPLICATE)
PLAIN, GREY = "#444444", "#9e9e9e"
KEPT = set(" ,()/=!'?")  # the punctuation that has no meaning within quotes of Mermaid, at whatever place


def dot(result: SearchResult[Any, Any], most: int | None = None) -> str:
    """A digraph for Graphviz's `dot`; see `SearchResult.to_dot`."""
    part = excerpt(result, most)
    lines = [
        "digraph search {",
        '  graph [charset="UTF-8"];',
        '  node [shape=box, style=rounded, fontname="Helvetica", fontsize=10];',
    ]
    for node in part.nodes:
        color = COLORS.get(node.status, GREY if node.status in PALE else PLAIN)
        style = "dashed" if node.status in PALE else "rounded"
        look = f'color="{color}", style={style}, penwidth={2.5 if node.id in part.path else 1}'
        label = "\\n".join(_dot_text(line) for line in _lines(result, node))
        lines.append(f'  n{node.id} [label="{label}", {look}];')
    for node in part.nodes:
        if node.parent is not None:
            width = 2.5 if node.id in part.path else 1
            lines.append(f"  n{node.parent} -> n{node.id} [penwidth={width}];")
    for id, count in part.hidden.items():
        lines += [f'  m{id} [label="{_more(count)}", shape=plaintext];', f"  n{id} -> m{id} [style=dotted];"]
    return "\n".join([*lines, "}", ""])


def mermaid(result: SearchResult[Any, Any], most: int | None = None) -> str:
    """A flowchart for Mermaid; see `SearchResult.to_mermaid`."""
    part = excerpt(result, most)
    lines = ["flowchart TD"]
    for node in part.nodes:
        label = "<br/>".join(_mermaid_text(line) for line in _lines(result, node))
        lines.append(f'  n{node.id}["{label}"]')
    for node in part.nodes:
        if node.parent is not None:
            lines.append(f"  n{node.parent} {'==>' if node.id in part.path else '-->'} n{node.id}")
    for id, count in part.hidden.items():
        lines += [f'  m{id}["{_mermaid_text(_more(count))}"]', f"  n{id} -.-> m{id}"]
    lines += _class("path", "stroke-width:3px", (node for node in part.nodes if node.id in part.path))
    for status, color in COLORS.items():
        lines += _class(status.value, f"stroke:{color}", (node for node in part.nodes if node.status is status))
    pale = (node for node in part.nodes if node.status in PALE)
    lines += _class("pale", f"stroke:{GREY},stroke-dasharray:4", pale)
    return "\n".join([*lines, ""])


def _lines(result: SearchResult[Any, Any], node: Node[Any, Any]) -> Iterator[str]:
    """What a node's box says."""
    yield cut(f"#{node.id} {action_of(result, node)}", LONGEST)
    if state := one_line(state_of(result, node)):
        yield cut(state, LONGEST)
    visits = f"{node.visits} visits, mean {node.q:.3g}" if node.visits else ""
    yield cut("  ".join(filter(None, (worth_of(node), status_of(node), visits))), LONGEST)


def _more(count: int) -> str:
    return f"{count:,} more node{'s' * (count != 1)}"


def _dot_text(text: str) -> str:
    """Within double quotes: Graphviz reads backslashes and HTML's entities there."""
    return text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')


def _mermaid_text(text: str) -> str:
    """Within double quotes: all punctuation as entities, since Markdown, links, directives, styles and formulas begin
    with some of it, in some version. A list's number is followed by punctuation.
    """
    return "".join(c if c in KEPT or c.isalnum() or not c.isascii() else f"#{ord(c)};" for c in text)


def _class(name: str, style: str, nodes: Iterable[Node[Any, Any]]) -> list[str]:
    ids = ",".join(f"n{node.id}" for node in nodes)
    return [f"  classDef {name} {style}", f"  class {ids} {name}"] if ids else []
