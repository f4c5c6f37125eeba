"""The program for each kind of problem that the command line knows by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .modules import LATS, RAP, TreeOfThoughts
from .modules.program import Program
from .search import DFS, MCTS
from .tasks import Blocksworld, Crosswords, FreeText, Game24, Programming

TREE_ROLES = ("propose", "rate", "scale")


@dataclass(frozen=True, slots=True)
class Kind:
    """make: the program of the options that were said. takes: those it may be given, of TAKEN. lacks: what a rule-based
    stand-in cannot do here, so that a model is needed; None where it plays.
    """

    make: Callable[[dict[str, Any]], Program]
    takes: tuple[str, ...]
    lacks: str | None = None


def _game24(said: dict[str, Any]) -> Program:
    task = Game24(target=said.pop("target", 24), strict=said.pop("strict", False))
    return TreeOfThoughts(task=task, **said)


def _text(said: dict[str, Any]) -> Program:
    return TreeOfThoughts("question -> answer", task=FreeText(), **said)


def _blocksworld(said: dict[str, Any]) -> Program:
    """Checked by the rules: a plan that is called verified works in the world, and not in a prediction alone.

    Rollouts go on to an end, as in the paper: plans are longer than ten rollouts of one step each.
    """
    controller = MCTS(rollouts=10, branching=3, max_depth=6, exploration=1.0, simulate=True)
    given: dict[str, Any] = {"transition": "check", **said}
    return RAP(task=Blocksworld(), controller=controller, **given)


def _programming(said: dict[str, Any]) -> Program:
    return LATS(env=Programming(), **said)


def _crosswords(said: dict[str, Any]) -> Program:
    """As the paper has it: five words a step at most, and a board that holds an impossible clue is left."""
    return TreeOfThoughts(task=Crosswords(), controller=DFS(branching=5, max_depth=10, lazy=True), **said)


KINDS = {
    "game24": Kind(_game24, ("target", "strict", *TREE_ROLES)),
    "blocksworld": Kind(_blocksworld, ("propose", "transition")),
    "programming": Kind(_programming, (), "write programs"),
    "crosswords": Kind(_crosswords, TREE_ROLES, "guess words"),
    "text": Kind(_text, TREE_ROLES, "reason about text"),
}
TAKEN = ("target", "strict", *TREE_ROLES, "transition")
