"""Deterministic worlds for the core's tests: the answer hangs on the seed and the request alone, in any order."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable
from typing import Any

from thoughtree.search import (
    Answer,
    Answered,
    Ask,
    Budget,
    Failed,
    Illegal,
    Propose,
    Proposed,
    Rate,
    Rated,
    Rating,
    Reply,
    Request,
    Search,
    Step,
    Stepped,
    Tree,
    Unread,
)
from thoughtree.search.search import ROLES


class Digits:
    """States are tuples of digits 0 to 5; 3 is illegal; equal up to order is equal. `goal`: a state that solves."""

    def __init__(
        self, seed: int = 0, flaky: float = 0.0, unread: float = 0.0, goal: tuple[int, ...] | None = None
    ) -> None:
        self.seed, self.flaky, self.unread, self.goal, self.calls = seed, flaky, unread, goal, 0

    def u(self, *key: Hashable) -> float:
        return random.Random(repr((self.seed, *key))).random()

    def step(self, state: tuple[int, ...], action: int) -> Stepped | Illegal:
        if action == 3:
            return Illegal("no threes")
        state = (*state, action)
        return Stepped(state, key=tuple(sorted(state)), solved=state == self.goal)

    def answer(self, request: Request, tree: Tree[Any, Any], attempt: int = 0) -> Any:
        self.calls += 1
        ids = request.nodes if isinstance(request, Rate) else (request.node,)
        paths = tuple(tuple(n.action for n in tree.path(tree[id])[1:]) for id in ids)
        who = (type(request).__name__, paths, getattr(request, "sample", 0), attempt)
        if self.u("flaky", *who) < self.flaky:
            return Failed("flaky", transient=True, retry_after=0.0)
        if self.u("unread", *who) < self.unread:
            return Unread("?")
        match request:
            case Propose(_, n):
                return Proposed(tuple(int(self.u("act", i, *who) * 6) for i in range(n or 4)))
            case Rate(nodes):
                return Rated(tuple([20.0, 1.0, 0.001][int(self.u("value", p) * 3)] for p in paths[: len(nodes)]))
            case Step(id):
                return self.step(tree[tree[id].parent or 0].state or (), tree[id].action)
            case Answer():
                return Answered({"answer": "done"})
        raise AssertionError(request)


def search(controller: Any, world: Digits, *, calls: int | None = None, samples: int = 1, **more: Any) -> Search[Any, Any]:
    """A search over `world` in which code steps; unread replies and failures are asked once more."""
    more.setdefault("step", world.step)
    more.setdefault("rating", Rating(samples=samples))
    return Search(
        controller,
        (),
        budget=Budget(calls=calls),
        retries={Rate: 1, Propose: 1},
        transient=1,
        root_key=(),
        **more,
    )


def play(
    running: Search[Any, Any], world: Digits, choose: Callable[[int], int] = lambda n: 0
) -> list[tuple[int, Any]]:
    """Answer open asks in the order that `choose` draws; the log of what was told."""
    log, asks = [], running.ask()
    while asks and not running.done:
        ask = asks.pop(choose(len(asks)))
        outcome = world.answer(ask.request, running.tree, ask.attempt)
        log.append((ask.id, outcome))
        running.tell(ask.id, outcome)
        asks += running.ask()
    return log


def prepared(world: Digits, pause: Callable[[], None] = lambda: None) -> Callable[[Ask, Tree[Any, Any]], Any]:
    """For the thread driver: answers are worked out on the driver's thread, and come after `pause`."""

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Callable[[], Reply]:
        reply = Reply(world.answer(ask.request, tree, ask.attempt))

        def call() -> Reply:
            pause()
            return reply

        return call

    return prepare


def shot(running: Search[Any, Any]) -> Any:
    """All that must be equal for two searches to be the same."""
    nodes = [
        (n.id, n.parent, n.action, n.state, n.status, n.value, n.verdict, n.ratings, n.visits, n.total, str(n.reason))
        for n in running.tree
    ]
    unread = sum(running.unread[role] for role in ROLES.values())
    return nodes, running.status, running.ended, running.spent.calls, running.failed, unread, running.best().id
