"""A page keeps its word: its code runs and prints what it says, and its commands do what they are shown for.

    for block in blocks(text): ...                    # ```python, ```console, ```text, ...
    printed(block.code, names)                        # what running it prints, with a scripted model for a real one
    assert agree(printed, said(block, following))     # "..." stands for any lines

A python block says what it prints in comments behind its prints, or whole in a text block right under it. Commands
begin with "$ "; the lines under one are what it answers, and `# exits with 3` behind it says how it ends.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from thoughtree.cli import app

ROOT = Path(__file__).parents[1]
MODEL = 'dspy.LM("openai/gpt-4o-mini")'
ANY = "..."
THEIRS = "theirs"  # a mark of code for another library, which is not run
_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```$", re.M | re.S)
_SAID = re.compile(r"^ *print\(.*\)  # (.+)$", re.M)
_EXITS = re.compile(r"  # exits with (\d+)$")


@dataclass(frozen=True)
class Block:
    """language: as the fence names it. marks: other words of the fence. line: of the fence in its page.

    output: the text block right under it, if any.
    """

    language: str
    marks: tuple[str, ...]
    code: str
    line: int
    output: str | None = None

    @property
    def said(self) -> list[str]:
        """The lines that it says it prints. AssertionError if it says so twice: one of them would be no promise."""
        assert self.output is None or not _SAID.search(self.code), f"line {self.line}: comments and a text block"
        return _SAID.findall(self.code) if self.output is None else self.output.splitlines()


def blocks(text: str, language: str | None = None) -> list[Block]:
    """The fenced blocks of a page in its order: all, or those of one language."""
    found: list[Block] = []
    for fence, following in pairwise([*_FENCE.finditer(text), None]):
        assert fence is not None
        words = tuple(word.removeprefix(".") for word in fence["info"].strip("{} ").split())
        under = following is not None and following["info"].strip() == "text"
        under = under and text[fence.end() : following.start()].strip() == ""
        found.append(
            Block(
                words[0] if words else "",
                words[1:],
                _dedented(fence["code"], fence["indent"]),
                text.count("\n", 0, fence.start()) + 1,
                _dedented(following["code"], following["indent"]) if under else None,
            )
        )
    return [block for block in found if language in (None, block.language)]


def _dedented(code: str, indent: str) -> str:
    return "".join(line.removeprefix(indent) for line in code.splitlines(keepends=True))


def printed(code: str, name: str, names: dict[str, Any], model: Any) -> list[str]:
    """The lines that running the code in this namespace prints; wherever it names a model, `model` answers."""
    names["scripted"] = model
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code.replace(MODEL, "scripted"), name, "exec"), names)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def agree(lines: list[str], shown: list[str]) -> bool:
    """Whether these lines are the shown ones, where a line "..." is any lines, and "..." in a line any text."""
    if not shown or not lines:
        return not lines and all(line.strip() == ANY for line in shown)
    if shown[0].strip() == ANY:
        return any(agree(lines[start:], shown[1:]) for start in range(len(lines) + 1))
    parts = map(re.escape, shown[0].rstrip().split(ANY))
    return re.fullmatch(".*".join(parts), lines[0]) is not None and agree(lines[1:], shown[1:])


@dataclass(frozen=True)
class Command:
    """arguments: of the command line. code: its exit code. answer: the lines under it, or none shown."""

    arguments: tuple[str, ...]
    code: int
    answer: tuple[str, ...]


def commands(block: Block) -> list[Command]:
    """The commands of a console block."""
    found: list[Command] = []
    for piece in re.split(r"^\$ ", block.code, flags=re.M)[1:]:
        first, *answer = piece.rstrip("\n").split("\n")
        exits = _EXITS.search(first)
        arguments = shlex.split(first[: exits.start()] if exits else first)
        found.append(Command(tuple(arguments), int(exits[1]) if exits else 0, tuple(answer)))
    return found


def run(command: Command, env: Mapping[str, str] | None = None) -> list[str]:
    """The lines on stdout of our own command, in this process. AssertionError if it ends otherwise than shown."""
    name, *arguments = command.arguments
    assert name == "thoughtree", command.arguments
    done = CliRunner().invoke(app, arguments, env=env)
    assert done.exit_code == command.code, (command.arguments, done.exit_code, done.output, done.exception)
    return [line.rstrip() for line in done.stdout.splitlines()]
