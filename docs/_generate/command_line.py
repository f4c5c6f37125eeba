"""Writes docs/command-line.md from the options themselves.

python docs/_generate/command_line.py
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from thoughtree.cli import app
from thoughtree.exits import MEANINGS

PAGE = Path(__file__).parents[1] / "command-line.md"
HEAD = """\
# Command line

This page is made from the commands themselves. `thoughtree COMMAND --help` says the same.

```console
$ thoughtree solve "4 9 10 13"
answer: 4 * (9 - (13 - 10))
status: solved: code has verified the answer
path:
  1. 13-10=3
  2. 9-3=6
  3. 4*6=24
spent: 33 calls, ..., 32 nodes, ...
```

Without `--model` a rule-based stand-in answers, which plays `game24` and `blocksworld`; a line on stderr says so.
Results go to stdout, all else to stderr.
"""
SHARED = 3  # commands that have an option alike, from which on it is listed once for all


@dataclass(frozen=True)
class Option:
    """One option or argument of a command, as a row of a table."""

    names: str
    takes: str
    help: str
    panel: str

    @property
    def row(self) -> str:
        names = f"{self.names} {self.takes}".rstrip()
        return f"| {_cell(f'`{names}`')} | {_cell(self.help)} |"

    def row_of(self, commands: list[str], users: list[str]) -> str:
        """The row, with the commands that have it, of those that share options."""
        of = "all" if commands == users else ", ".join(f"`{name}`" for name in commands)
        return f"{self.row} {of} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def options(callback: Any) -> list[Option]:
    """The options of a command in the order of its help."""
    hints = get_type_hints(callback, include_extras=True)
    found = []
    for name in inspect.signature(callback).parameters:
        kind, *notes = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name],)
        info = next(note for note in notes if isinstance(note, OptionInfo | ArgumentInfo))
        if isinstance(info, ArgumentInfo):
            names, panel = info.metavar or name.upper(), info.rich_help_panel or "Arguments"
            found.append(Option(names, "", info.help or "", panel))
        elif not info.hidden:
            named = _named(name, kind, info)
            found.append(Option(named, _takes(kind, info), info.help or "", info.rich_help_panel or "Options"))
    return found


def _named(name: str, kind: Any, info: OptionInfo) -> str:
    """As typer names it. The first of the names that an annotation gives is kept as its default."""
    given = [text for text in (info.default, *(info.param_decls or ())) if isinstance(text, str)]
    if given:
        return ", ".join(given)
    usual = name.replace("_", "-")
    return f"--{usual} / --no-{usual}" if _is_flag(kind) else f"--{usual}"


def _is_flag(kind: Any) -> bool:
    return bool in (kind, *get_args(kind))


def _takes(kind: Any, info: OptionInfo) -> str:
    if _is_flag(kind):
        return ""
    if info.metavar:
        return info.metavar
    for part in (kind, *get_args(kind)):
        if get_origin(part) is Literal:
            return "|".join(map(str, get_args(part)))
    return "VALUE"


def _tables(listed: list[Option], level: str) -> Iterator[str]:
    for panel in dict.fromkeys(option.panel for option in listed):
        yield f"{level} {panel}\n\n| option | |\n|---|---|"
        yield "\n".join(option.row for option in listed if option.panel == panel) + "\n"


def _shared_tables(listed: list[Option], have: dict[str, list[Option]]) -> Iterator[str]:
    """The same of several commands. An option counts as a command's where that has it with these very words."""
    for panel in dict.fromkeys(option.panel for option in listed):
        yield f"### {panel}\n\n| option | | of |\n|---|---|---|"
        for option in listed:
            if option.panel == panel:
                yield option.row_of([name for name, options in have.items() if option in options], list(have))
        yield ""


def page() -> str:
    """The page as it has to be."""
    commands = {str(info.name): info for info in app.registered_commands}
    have = {name: options(info.callback) for name, info in commands.items()}
    everywhere = [option for listed in have.values() for option in listed]
    shared = [option for option in dict.fromkeys(everywhere) if everywhere.count(option) >= SHARED]
    parts = [HEAD]
    for name, info in commands.items():
        own = [option for option in have[name] if option not in shared]
        takes = "".join(f"[{option.names}] " for option in have[name] if option.panel == "Arguments")
        more = "Also the [shared options](#shared-options).\n" if len(own) < len(have[name]) else ""
        parts.append(f"## {name}\n\n`thoughtree {name} {takes}[OPTIONS]`\n\n{inspect.getdoc(info.callback)} {more}")
        parts.extend(_tables(own, "###"))
    users = [name for name in commands if any(option in shared for option in have[name])]
    named = ", ".join(f"`{name}`" for name in users)
    parts.append(f"## Shared options\n\nEach row names the commands that have it; all: {named}.\n")
    parts.extend(_shared_tables(shared, {name: have[name] for name in users}))
    rows = "\n".join(f"| {int(code)} | {meaning} |" for code, meaning in MEANINGS.items())
    parts.append(f"## Exit codes\n\n| code | meaning |\n|---|---|\n{rows}")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}", file=sys.stderr)
