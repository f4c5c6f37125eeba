"""How a search ends: why, and what its answer is worth."""

from __future__ import annotations

from typing import Any

from .account import Account
from .budget import Ended, SearchStatus
from .controller import Controller
from .grow import Grower
from .protocol import Answered, Outcome
from .tree import DUPLICATE, FAILED, UNJUDGED, Node, Tree

# The ends after which there is still a call to give: a purse, a clock or a person did not say stop.
MAY_CLOSE = (
    Ended.GOAL,
    Ended.SEARCHED_OUT,
    Ended.ROLLOUTS,
    Ended.PATIENCE,
    Ended.EXPANSIONS,
    Ended.CALLS,
    Ended.NODES,
)


def why_over(controller: Controller, tree: Tree[Any, Any]) -> Ended:
    """Why no routine follows: the controller may know better than that nothing is left."""
    say = getattr(controller, "why_over", None)
    return Ended.SEARCHED_OUT if say is None else say(tree)


def is_all_failures(why: Ended, account: Account, best: Node[Any, Any], tree: Tree[Any, Any]) -> bool:
    """Whether failed calls are why there is nothing to give back: that is no low score."""
    if why not in (Ended.SEARCHED_OUT, Ended.ROLLOUTS, Ended.PATIENCE) or not account.failed or best.id:
        return False
    return account.failed >= account.told or all(
        node.status in (FAILED, DUPLICATE) for node in tree if not node.children
    )


def worth(
    grower: Grower[Any, Any],
    closed: Outcome | None,
    ended: Ended | None,
    best: Node[Any, Any],
    controller: Controller,
) -> SearchStatus:
    """What the answer is worth. closed: what the closing call gave.

    Where an unverified answer is worth nothing, a claim that nobody can check, or a finished state that nobody can
    judge, is another thing.
    """
    verified = isinstance(closed, Answered) and closed.verified
    if grower.solution is not None or verified:
        return SearchStatus.SOLVED
    nobody_can = grower.claim is not None or best.reason is UNJUDGED
    if ended is Ended.ERROR or not best.id or (controller.must_verify and not nobody_can):
        return SearchStatus.FAILED
    return SearchStatus.UNVERIFIED
