"""The tree in a journal, for those who read it without the task: a row for each node, written as it comes.

A journal's replies say what was answered, and a resumed run needs no more. Where each action led, and in which words,
only the task knows. So behind a reply stands what it added to the tree, and at the end what became of it:

    {"tree": [nodes so far, their mark, those with a state, [row, ...], [[id, *row], ...]]}
    {"end": what `SearchResult.save` writes, with the nodes' numbers alone}

A row is [parent, action, state, status, reason], without the nulls at its end. Rows follow each other; with an id, a
row takes the place of one before it, as a step has led somewhere. Rows from the root on take the place of all before
them: a larger budget went another way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

from .marks import Marks
from .protocol import Request, Step
from .tree import OPEN, A, Node, S, Tree

if TYPE_CHECKING:
    from .journal import Journal
    from .result import SearchResult

Row = list[Any]


class Growth:
    """Writes the rows of one search's tree, where the journal's codec says how a node is shown."""

    def __init__(self, journal: Journal, tree: Tree[Any, Any], marks: Marks) -> None:
        self._journal, self._tree, self._marks = journal, tree, marks
        self._show = journal.codec.show
        self._rows = self._stated = self._mark = 0  # on disk: rows, those with a state, and the nodes' mark
        self._stepping: list[int] = []  # their steps were told, and not applied
        self._live = False  # what the journal held was told again

    def resumed(self) -> None:
        """All that the journal held was told again. Its rows are this tree's, or are written anew."""
        count, mark, stated = self._journal.grown
        if count <= len(self._tree) and self._marked(0, count, 0) == mark:
            known = sum(self._tree[id].state is not None for id in range(count))
            if known == stated:
                self._rows, self._mark, self._stated = count, mark, stated
        self._stepping = [id for id in self._stepping if self._is_out(self._tree[id])]
        self._live = True
        self._write()

    def note(self, request: Request) -> None:
        """The reply to this was told: write the rows of the nodes that came with it, or that it led somewhere."""
        if type(request) is Step:
            self._stepping.append(request.node)
        if self._live:
            self._write()

    def _write(self) -> None:
        if self._show is None:
            return
        changed = self._stepped() if self._stepping else []
        first, count = self._rows, len(self._tree)
        if count == first and not changed:
            return
        rows = [self._row(self._tree[id]) for id in range(first, count)]
        self._mark, self._rows = self._marked(first, count, self._mark), count
        told = [count, self._mark, self._stated, rows]
        self._journal.note("tree", [*told, changed] if changed else told)

    def _stepped(self) -> list[Row]:
        nodes = [self._tree[id] for id in self._stepping]
        self._stepping = [node.id for node in nodes if self._is_out(node)]
        return [[node.id, *self._row(node)] for node in nodes if not self._is_out(node) and node.id < self._rows]

    @staticmethod
    def _is_out(node: Node[Any, Any]) -> bool:
        return node.state is None and node.status is OPEN

    def _row(self, node: Node[Any, Any]) -> Row:
        from .saving import plain

        assert self._show is not None
        self._stated += node.state is not None
        row = [node.parent, *self._show(node), node.status.value, plain(node.reason)]
        while row[-1] is None:
            del row[-1]
        return row

    def _marked(self, first: int, end: int, mark: int) -> int:
        for id in range(first, end):
            mark = crc32(self._marks.node(id).to_bytes(4, "big"), mark)
        return mark


def note_end(journal: Journal, result: SearchResult[S, A]) -> None:
    """Write what became of the search. A run that is resumed and adds nothing leaves the end that is there."""
    from .saving import numbers, summed

    if journal.codec.show is not None and not journal.ended:
        journal.note("end", {**summed(result), "nodes": [numbers(result, node) for node in result.tree]})
