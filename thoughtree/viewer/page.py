"""One self-contained HTML file of documents, styles and scripts. It fetches nothing, and no data on it is markup."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from ..search.visible import visible
from .document import calls, document
from .runs import Run

MARK = "<!doctype html>\n<!-- thoughtree view -->\n"  # what a page of ours begins with
STYLE = "viewer.css"
SCRIPTS = (
    "text.js",
    "run.js",
    "layout.js",
    "paint.js",
    "map.js",
    "outline.js",
    "prompts.js",
    "details.js",
    "summary.js",
    "compare.js",
    "player.js",
    "theme.js",
    "tip.js",
    "keys.js",
    "app.js",
)


def page(runs: Sequence[Run]) -> str:
    """The page of one run, or of two to compare."""
    style = _shipped(STYLE)
    script = '"use strict";\n(() => {\n' + "\n".join(_shipped(name) for name in SCRIPTS) + "\n})();\n"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    names = " and ".join(run.name for run in runs)
    return "".join(
        [
            MARK,
            '<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="color-scheme" content="light dark">\n',
            f"<title>{escape(visible(names))} - thoughtree</title>\n",
            f"<style>{style}</style>\n</head>\n<body>\n",
            _shipped("viewer.html"),
            *[_data(f"run-{i}", document(run)) for i, run in enumerate(runs)],
            *[_data(f"calls-{i}", calls(run)) for i, run in enumerate(runs)],
            f"<script>{script}</script>\n</body>\n</html>\n",
        ]
    )


def _data(name: str, value: object) -> str:
    """A block of JSON that the browser does not run. In ASCII, and without "<": nothing in it ends the block."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def _shipped(name: str) -> str:
    return files(__name__.rpartition(".")[0]).joinpath("static", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
