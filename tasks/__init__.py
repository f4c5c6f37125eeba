"""What can be checked in code. A task answers what a model need not be asked."""

from ..search.protocol import Illegal
from .blocksworld import Blocksworld, BlocksworldState
from .blocksworld_environment import BlocksworldEnvironment, LiveBlocksworld
from .blocksworld_move import BlockMove
from .free_text import FreeText, Thought
from .game24 import Game24, Game24State
from .game24_move import Move
from .task import Task

__all__ = [
    "BlockMove",
    "Blocksworld",
    "BlocksworldEnvironment",
    "BlocksworldState",
    "FreeText",
    "Game24",
    "Game24State",
    "Illegal",
    "LiveBlocksworld",
    "Move",
    "Task",
    "Thought",
]
