"""What can be checked in code. A task answers what a model need not be asked."""

from ..search.protocol import Illegal
from .free_text import FreeText, Thought
from .game24 import Game24, Game24State
from .game24_move import Move
from .task import Task

__all__ = ["FreeText", "Game24", "Game24State", "Illegal", "Move", "Task", "Thought"]
