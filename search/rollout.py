"""One rollout of Monte-Carlo tree search: selection, expansion, evaluation, backup, reflection, simulation.

Selection is in `policy`, backup in `returns`; `Rollouts` says where each rollout works.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from .controller import Logged
from .protocol import Reflect, Request, Step
from .rollout_log import RolloutLog
from .rollouts import Batches, Rollouts
from .tree import DEAD, OPEN, A, Node, S


def rollout(run: Rollouts[S, A]) -> Batches:
    """Once down the tree. At the leaf the new children are looked at; lazily, one child is."""
    path = yield from run.place()
    if path is None:
        return
    log = run.begin(path)
    try:
        if run.recipe.lazy:
            seen = yield from visit(run, path, log)
        else:
            seen = yield from grow(run, path, log)
        yield from reflection(run, seen, log)
        rated = [node for node in seen if not node.closed and node.value is not None]
        if run.recipe.simulate and rated:
            best = max(rated, key=lambda node: (node.value or 0.0, -node.id))
            if best is not path[-1]:
                run.descend(path, best)
            yield from simulation(run, path, log)
    finally:
        run.end(path, log)


def grow(
    run: Rollouts[S, A], path: list[Node[S, A]], log: RolloutLog
) -> Generator[Sequence[Request], None, list[Node[S, A]]]:
    """Expand the leaf, evaluate all its new children, and back each up."""
    leaf = path[-1]
    new = yield from expansion(run, leaf, run.width(leaf), log)
    yield from stepping(run, leaf, new, log)
    yield from evaluation(run, leaf, new, log)
    run.settle_children(leaf, new)
    for child in new:
        run.back_up([*path, child], log)
    return new


def visit(
    run: Rollouts[S, A], path: list[Node[S, A]], log: RolloutLog
) -> Generator[Sequence[Request], None, list[Node[S, A]]]:
    """Evaluate one node: the leaf if it was only proposed so far, else the best of its new children."""
    if not run.is_unseen(path[-1]):
        leaf = path[-1]
        new = yield from expansion(run, leaf, run.width(leaf), log)
        run.settle_children(leaf, new)
        live = [child for child in new if not child.closed]
        if not live:
            return []
        scores = run.scores(leaf, live)
        run.descend(path, live[scores.index(max(scores))])
    yield from look(run, path, log)
    return [path[-1]]


def look(run: Rollouts[S, A], path: list[Node[S, A]], log: RolloutLog) -> Batches:
    """Step and evaluate the last node of `path`, and back its value up."""
    node = path[-1]
    yield from stepping(run, node, [node], log)
    yield from evaluation(run, node, [node], log)
    run.growing.pop(node.id, None)  # it holds nothing where there was nothing to ask
    if node.value is None:
        run.unrated.add(node.id)
    run.settle(node)
    run.back_up(path, log)


def expansion(
    run: Rollouts[S, A], leaf: Node[S, A], n: int | None, log: RolloutLog
) -> Generator[Sequence[Request], None, list[Node[S, A]]]:
    """Ask for `n` more children of `leaf`; return those that are new."""
    known = len(leaf.children)
    yield run.holds(leaf, [run.proposal(leaf, n)], log)
    if leaf.children:
        leaf.children = tuple(leaf.children)  # a list that was appended to holds spare places
    return [run.tree[id] for id in leaf.children[known:]]


def stepping(run: Rollouts[S, A], at: Node[S, A], nodes: Sequence[Node[S, A]], log: RolloutLog) -> Batches:
    """Ask where the actions of `nodes` lead, where code has not said so; who comes to `at` meanwhile waits."""
    steps = [Step(node.id) for node in nodes if node.state is None and node.status is OPEN]
    if steps:
        yield run.holds(at, steps, log)


def evaluation(run: Rollouts[S, A], at: Node[S, A], nodes: Sequence[Node[S, A]], log: RolloutLog) -> Batches:
    """Give the usable ones of `nodes` their values; who comes to `at` meanwhile waits."""
    usable = [node for node in nodes if node.status not in DEAD and node.state is not None]
    for batch in run.rating.rate([usable], None):
        if batch:
            yield run.holds(at, batch, log)


def simulation(run: Rollouts[S, A], path: list[Node[S, A]], log: RolloutLog) -> Batches:
    """From the last node of `path` to a terminal state or the depth limit, one sample a step; back its end's value up.

    The nodes stay in the tree with one visit each, and are open: a later rollout may give them more children.
    """
    start = len(path)
    while (node := path[-1]).status is OPEN and node.depth < run.recipe.max_depth and node.id not in run.growing:
        new = yield from expansion(run, node, 1, log)
        yield from stepping(run, node, new, log)
        del run.growing[node.id]
        run.keep_open(node)
        for child in new:
            run.settle(child)
        live = [child for child in new if child.status not in DEAD]
        if not live:
            break
        run.descend(path, live[0])
    if len(path) > start:
        yield from look(run, path, log)
        yield from reflection(run, [path[-1]], log)


def reflection(run: Rollouts[S, A], nodes: Sequence[Node[S, A]], log: RolloutLog) -> Batches:
    """Ask about each failure. A rollout that has nothing else to do meanwhile waits for the lessons."""
    missed = [Reflect(node.id) for node in nodes if node.missed and node.status not in DEAD]
    if missed:
        first = missed[0].node
        batch = run.reflecting[first] = Logged(missed, log)
        yield batch
        del run.reflecting[first]
