"""Deterministic worlds for the core's tests: an answer hangs on the seed and the request, in any order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

from thoughtree.search import (
    Answer,
    Answered,
    Ask,
    Budget,
    Failed,
    Illegal,
    NodeStatus,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Rating,
    Reply,
    Request,
    Search,
    SearchResult,
    Step,
    Stepped,
    Tree,
    Unread,
    run,
)
from thoughtree.search.roles import ROLES


class Digits:
    """States are tuples of digits 0 to 5; 3 is illegal; equal up to order is equal. `goal`: what solves."""

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
            case Rate():
                return Rated(tuple([20.0, 1.0, 0.001][int(self.u("value", p) * 3)] for p in paths))
            case Step(id):
                return self.step(tree[tree[id].parent or 0].state or (), tree[id].action)
            case Answer():
                return Answered({"answer": "done"})
        raise AssertionError(request)


class Letters:
    """A world written out, of one-letter actions: a state is the text of its path, "" the root.

    steps: state -> its actions, in the proposer's order. values: state -> value (1 where not given).
    goals: states that solve. illegal: letters that no rule allows. ends: states that nothing follows.
    key: what makes two states one. `asked` lists all that was asked: "propose ab", "rate a b" ("#1" on
    the second sample).
    """

    def __init__(
        self,
        steps: dict[str, str],
        values: dict[str, float] | None = None,
        goals: tuple[str, ...] = (),
        illegal: str = "",
        ends: tuple[str, ...] = (),
        key: Callable[[str], Hashable] | None = str,
    ) -> None:
        self.steps, self.values, self.goals = steps, values or {}, goals
        self.illegal, self.ends, self.key = illegal, ends, key
        self.asked: list[str] = []

    def step(self, state: str, action: str) -> Stepped | Illegal:
        if action in self.illegal:
            return Illegal(f"no {action}")
        new = state + action
        key = None if self.key is None else self.key(new)
        return Stepped(new, key, solved=new in self.goals, terminal=new in self.ends)

    def answer(self, request: Request, tree: Tree[Any, Any]) -> Outcome:
        states = {node.id: str(node.state) for node in tree}
        match request:
            case Propose(id):
                self.asked.append(f"propose {states[id]}")
                return Proposed(tuple(self.steps.get(states[id], "")))
            case Rate(ids, sample, rater):
                names = " ".join(states[id] for id in ids)
                self.asked.append(f"{rater} {names}" + (f"#{sample}" if sample else ""))
                return Rated(tuple(self.values.get(states[id], 1.0) for id in ids))
            case Step(id):
                node = tree[id]
                self.asked.append(f"step {states[node.parent or 0]}{node.action}")
                return self.step(states[node.parent or 0], str(node.action))
            case Answer(id):
                self.asked.append(f"answer {states[id]}")
                return Answered({"answer": states[id]})
            case _:
                raise AssertionError(request)

    def proposed(self) -> list[str]:
        """The states that were expanded, in order."""
        return [asked.removeprefix("propose ") for asked in self.asked if asked.startswith("propose")]

    def rated(self) -> list[str]:
        """What was rated, in order."""
        return [asked.removeprefix("rate ") for asked in self.asked if asked.startswith("rate ")]

    def run(self, controller: Any, **more: Any) -> SearchResult[Any, Any]:
        """One search, in which code steps."""
        more.setdefault("step", self.step)
        return run(Search(controller, "", root_key=self.key("") if self.key else None, **more), self.answer)


def found(result: SearchResult[Any, Any], status: NodeStatus) -> list[str]:
    """The states (or, where there is none, the actions) of the nodes of a status, in order of id."""
    return [node.state or str(node.action) for node in result.tree if node.status is status and node.id]


def search(
    controller: Any, world: Digits, *, calls: int | None = None, samples: int = 1, **more: Any
) -> Search[Any, Any]:
    """A search over `world` in which code steps; unread replies and failures are asked once more."""
    more.setdefault("step", world.step)
    more.setdefault("rating", Rating(samples=samples))
    more.setdefault("budget", Budget(calls=calls))
    return Search(
        controller,
        (),
        retries={Rate: 1, Propose: 1},
        transient=1,
        root_key=(),
        **more,
    )


def play(running: Search[Any, Any], world: Digits, choose: Callable[[int], int] = lambda n: 0) -> list[tuple[int, Any]]:
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


def aprepared(world: Digits) -> Callable[[Ask, Tree[Any, Any]], Any]:
    """For the asyncio driver: likewise, after a moment."""

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Callable[[], Awaitable[Reply]]:
        reply = Reply(world.answer(ask.request, tree, ask.attempt))

        async def call() -> Reply:
            await asyncio.sleep(random.random() / 3000)
            return reply

        return call

    return prepare


def shot(running: Search[Any, Any]) -> Any:
    """All that must be equal for two searches to be the same."""
    nodes = [
        (
            (n.id, n.parent, n.action, n.state),
            (n.status, str(n.reason)),
            (n.value, n.verdict, n.ratings, n.visits),
        )
        for n in running.tree
    ]
    counts = running.spent.calls, running.failed, sum(running.unread[role] for role in ROLES.values())
    return nodes, running.status, running.ended, counts, running.best().id
