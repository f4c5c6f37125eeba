"""What can be checked in code. A task answers what a model need not be asked."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..search.protocol import Illegal
from .free_text import FreeText, Thought
from .task import Task

if TYPE_CHECKING:
    from .blocksworld import Blocksworld, BlocksworldState
    from .blocksworld_environment import BlocksworldEnvironment, LiveBlocksworld
    from .blocksworld_examples import BLOCKSWORLD_EXAMPLES
    from .blocksworld_move import BlockMove
    from .crosswords import Crosswords, CrosswordsState
    from .crosswords_examples import CROSSWORDS_EXAMPLES
    from .crosswords_fill import Fill
    from .game24 import Game24, Game24State
    from .game24_move import Move
    from .hidden_tests import hidden_metric, passes
    from .programming import Programming
    from .programming_examples import PROGRAMMING_EXAMPLES
    from .sandbox import Sandbox, SandboxInterpreter

# Loaded when they are asked for: most programs have one task.
_FILES = {
    "BLOCKSWORLD_EXAMPLES": "blocksworld_examples",
    "BlockMove": "blocksworld_move",
    "Blocksworld": "blocksworld",
    "BlocksworldEnvironment": "blocksworld_environment",
    "BlocksworldState": "blocksworld",
    "CROSSWORDS_EXAMPLES": "crosswords_examples",
    "Crosswords": "crosswords",
    "CrosswordsState": "crosswords",
    "Fill": "crosswords_fill",
    "Game24": "game24",
    "Game24State": "game24",
    "LiveBlocksworld": "blocksworld_environment",
    "Move": "game24_move",
    "PROGRAMMING_EXAMPLES": "programming_examples",
    "Programming": "programming",
    "Sandbox": "sandbox",
    "SandboxInterpreter": "sandbox",
    "hidden_metric": "hidden_tests",
    "passes": "hidden_tests",
}

__all__ = [
    "BLOCKSWORLD_EXAMPLES",
    "CROSSWORDS_EXAMPLES",
    "PROGRAMMING_EXAMPLES",
    "BlockMove",
    "Blocksworld",
    "BlocksworldEnvironment",
    "BlocksworldState",
    "Crosswords",
    "CrosswordsState",
    "Fill",
    "FreeText",
    "Game24",
    "Game24State",
    "Illegal",
    "LiveBlocksworld",
    "Move",
    "Programming",
    "Sandbox",
    "SandboxInterpreter",
    "Task",
    "Thought",
    "hidden_metric",
    "passes",
]


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])  # by which Python says what was meant
    found = getattr(import_module(f".{_FILES[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
