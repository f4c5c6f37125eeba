"""The legal moves of a state as a prompt lists them, and which move a listed text is."""

from __future__ import annotations

import warnings
from itertools import islice
from typing import Any

from ..search.protocol import Illegal
from ..search.tree import ILLEGAL, Tree

MOST = 100  # moves that one prompt lists


def legal_moves(task: Any, state: Any) -> dict[str, Any]:
    """The legal moves by the text that a prompt shows of each, in the task's order; more than MOST are cut, and warned
    of.
    """
    moves = list(islice(task.moves(state), MOST + 1))  # of which there may be no end
    if len(moves) > MOST:
        warnings.warn(
            f"propose='choose': {task.__class__.__name__} lists more than {MOST} moves, and a model is shown the first "
            f"{MOST}; list the likely ones first, or propose in another way",
            UserWarning,
            stacklevel=2,
        )
    found: dict[str, Any] = {}
    for move in moves[:MOST]:
        found.setdefault(" ".join(str(task.show(move)).split()), move)
    return found


def listed_move(task: Any, state: Any, text: Any) -> Any:
    """The legal move that is shown as `text`: the move itself, whatever the task would read in the text."""
    moves = legal_moves(task, state)
    return moves[text] if text in moves else Illegal("not among the listed steps")


def open_steps(task: Any, tree: Tree[Any, Any], id: int, *, before: bool = False) -> list[str]:
    """What a chooser is shown here: the legal moves that the node has no child by. It may be asked about again.

    before: what it was shown first, when there were no children.
    """
    node = tree[id]
    if before:
        return list(legal_moves(task, node.state))
    taken = {" ".join(str(task.show(c.action)).split()) for c in tree.children(node) if c.status is not ILLEGAL}
    return [text for text in legal_moves(task, node.state) if text not in taken]
