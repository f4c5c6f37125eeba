"""Trees and worlds written out, for the tests of Monte-Carlo tree search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thoughtree.search import Propose, Proposed, Rate, Rated, Rating, Reflect, Reflected, Step, Stepped, Tree

UNIT = Rating(join="mean", unread=0.0, cut=None, low=0.0, high=1.0)


def made(*visits_totals: tuple[int, float]) -> Tree[Any, Any]:
    """A root whose children have these visits and totals."""
    tree: Tree[Any, Any] = Tree(None)
    for visits, total in visits_totals:
        child = tree.add(tree.root, len(tree))
        child.visits, child.total = visits, total
    tree.root.visits = sum(visits for visits, _ in visits_totals)
    return tree


def counting(values: Callable[[tuple[int, ...]], float], branching: int = 2) -> Callable[[Any, Any], Any]:
    """A world of unbounded depth: state = the path, valued by `values`."""

    def answer(request: Any, tree: Any) -> Any:
        match request:
            case Propose(_, n):
                return Proposed(tuple(range(n or branching)))
            case Step(id):
                node = tree[id]
                return Stepped((*tree[node.parent].state, node.action))
            case Rate(nodes):
                return Rated(tuple(values(tree[i].state) for i in nodes))
            case Reflect(id):
                return Reflected(f"not {tree[id].action}")
        raise AssertionError(request)

    return answer
