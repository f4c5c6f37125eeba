"""A result in a notebook: its tree as a page within the page, without a script. What a model said is text there."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from .search import Node, SearchResult
from .search.excerpt import Excerpt, excerpt
from .search.labels import action_of, cut, state_of, status_of, worth_of
from .search.visible import one_line, visible

MOST = 300  # nodes: a notebook is saved with what it shows
LINE, TEXT = 120, 2_000  # characters of a node's line, and of each text that it opens to
HEIGHT = 420  # pixels, at most
STYLE = """
:root { color-scheme: light dark }
body { font: 13px/1.5 system-ui, sans-serif; margin: 8px; background: Canvas; color: CanvasText }
p { margin: 0 0 6px }
details { margin-left: 16px }
summary { cursor: pointer }
summary:focus-visible { outline: 2px solid Highlight }
div.leaf { margin-left: 29px }
pre { margin: 2px 0 4px 29px; white-space: pre-wrap; overflow-wrap: anywhere; opacity: .85 }
.path { font-weight: 700 }
.value { color: light-dark(#1a5fb4, #8ab4f8) }
.solved { color: light-dark(#1b6e20, #81c995) }
.terminal { color: light-dark(#7a4d00, #fdd663) }
.illegal, .failed { color: light-dark(#b3261e, #f28b82) }
.pruned, .duplicate, .dim { color: light-dark(#5f6368, #a5a9ae) }
"""


def html_of(result: SearchResult[Any, Any], most: int = MOST) -> str:
    """An iframe that runs no script and loads nothing; its page holds at most `most` nodes and the whole path."""
    text = page_of(result, most)
    height = min(HEIGHT, 90 + 22 * min(most, len(result.tree)))
    return (
        f'<iframe sandbox="" title="search tree" srcdoc="{escape(text)}" '
        f'style="width: 100%; height: {height}px; border: 1px solid #8888; resize: vertical"></iframe>'
    )


def page_of(result: SearchResult[Any, Any], most: int = MOST) -> str:
    """The page itself."""
    part = excerpt(result, most)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{STYLE}</style></head><body>',
            f"<p>{_text(cut(result.summary(), TEXT))}</p>",
            *_nodes(result, part),
            f'<p class="dim">{_text(_note(part))}</p>',
            "</body></html>",
        ]
    )


def _note(part: Excerpt) -> str:
    left = f"{part.left_out:,} more nodes are not shown here. " if part.left_out else ""
    return f"{left}In full: thoughtree.view(result), or `thoughtree view` of its journal, which has the prompts too."


def _nodes(result: SearchResult[Any, Any], part: Excerpt) -> Iterator[str]:
    """Depth first, without recursion: a path may be as long as it likes."""
    stack: list[Node[Any, Any] | str] = [part.nodes[0]]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
            continue
        below: list[Node[Any, Any] | str] = list(part.children(node))
        if hidden := part.hidden.get(node.id):
            below.append(f'<div class="leaf dim">… {hidden:,} more</div>')
        more = _more(result, node)
        if below or more:
            shown = " open" if node.id in part.path or node.depth == 0 else ""
            yield f"<details{shown}><summary>{_line(result, node, part)}</summary>{more}"
            stack += ["</details>", *reversed(below)]
        else:
            yield f'<div class="leaf">{_line(result, node, part)}</div>'


def _line(result: SearchResult[Any, Any], node: Node[Any, Any], part: Excerpt) -> str:
    action, state = cut(action_of(result, node), LINE), cut(one_line(state_of(result, node)), LINE)
    spans = [
        _span("dim", f"#{node.id}"),
        _span("path" if node.id in part.path else "", action),
        _span("", f"[{state}]" if state else ""),
        _span("value", cut(worth_of(node), LINE)),
        _span("dim", f"{node.visits} visits, mean {node.q:.3g}" if node.visits else ""),
        _span(node.status.value, cut(status_of(node), LINE)),
    ]
    return " ".join(filter(None, spans))


def _more(result: SearchResult[Any, Any], node: Node[Any, Any]) -> str:
    """What does not fit on the line: a state of several lines, and what was observed."""
    state = state_of(result, node)
    texts = [state if len(state) > LINE or "\n" in state.strip() else ""]
    seen = node.observation
    if isinstance(seen, dict):
        seen = next((seen[name] for name in ("observation", "feedback") if seen.get(name)), None)
    texts.append("" if seen is None else str(seen))
    return "".join(f"<pre>{_text(cut(text, TEXT))}</pre>" for text in texts if text.strip())


def _span(kind: str, text: str) -> str:
    return f'<span class="{kind}">{_text(text)}</span>' if text else ""


def _text(text: str) -> str:
    return escape(visible(text))
