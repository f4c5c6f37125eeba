"""Which nodes a request is about, in one number: a node's id alone says it of one run only.

A run that resumes compares the number on disk with its own. They differ where the task's code has changed since,
or where a larger budget goes another way.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

from .protocol import Rate, Request
from .tree import Tree


class Marks:
    """A node's mark is made of its path: at each step, which child it is, and the action where that is plain."""

    def __init__(self, tree: Tree[Any, Any]) -> None:
        self._tree = tree
        self._marks = [0]
        self._born = [0]  # children that have a mark already, by node

    def of(self, request: Request) -> int:
        ids = request.nodes if isinstance(request, Rate) else (request.node,)
        if max(ids) >= len(self._marks):
            self._grow()
        if len(ids) == 1:
            return self._marks[ids[0]]
        return crc32(repr([self._marks[id] for id in ids]).encode())

    def node(self, id: int) -> int:
        """The mark of one node."""
        if id >= len(self._marks):
            self._grow()
        return self._marks[id]

    def _grow(self) -> None:
        marks, born, tree = self._marks, self._born, self._tree
        for id in range(len(marks), len(tree)):
            node = tree[id]
            parent = node.parent or 0
            marks.append(
                crc32(f"{born[parent]} {_plain(node.action)}".encode(errors="backslashreplace"), marks[parent])
            )
            born[parent] += 1
            born.append(0)


def _plain(action: Any) -> Any:
    """What is written the same in every process; a set has no order, and an object may be known by its address."""
    return action if type(action) in (str, int, float, bool) else ""
