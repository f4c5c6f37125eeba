"""A report as one HTML page: nothing on it is fetched, and nothing that a model said is markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from .search.visible import visible
from .search.whole_file import write_whole

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #222 }
pre { background: #f5f5f5; padding: 1rem; white-space: pre-wrap }
table { border-collapse: collapse; font-size: 13px }
th, td { border-bottom: 1px solid #ddd; padding: .3rem .7rem; text-align: left; vertical-align: top }
"""


def paragraph(text: str) -> str:
    """Text as it stands, its lines kept."""
    return f"<pre>{escape(visible(text))}</pre>"


def heading(text: str) -> str:
    return f"<h2>{escape(visible(text))}</h2>"


def table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{escape(visible(name))}</th>" for name in names)
    body = "\n".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table>\n<tr>{head}</tr>\n{body}\n</table>"


def write_page(path: Path, title: str, parts: Iterable[str]) -> None:
    """The parts, as they are, under a title."""
    told = escape(visible(title))
    text = "\n".join(
        [
            "<!doctype html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{told}</title><style>{STYLE}</style></head>',
            f"<body><h1>{told}</h1>",
            *parts,
            "</body></html>",
        ]
    )
    write_whole(path, f"{text}\n".encode("utf-8", "backslashreplace"))


def _cell(value: object) -> str:
    if value is None:
        return ""
    return escape(visible(f"{value:.4g}" if isinstance(value, float) else str(value)))
