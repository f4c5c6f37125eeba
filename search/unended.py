"""What the replies of a search tell that has not ended: no more than that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from .account import Account
from .budget import SearchStatus
from .order import UNREAD
from .protocol import Failed, Rate, Reflect, Step, Unread, Usage
from .rating import Rating
from .result import SearchResult
from .tree import EXPANDED, OPEN, Node, Tree

if TYPE_CHECKING:
    from .story import Json, Story, Told


def pieced_together(story: Story) -> Json:
    """As `SearchResult.save` writes a result: status failed, no end, the root as its best."""
    from .saving import DEFAULTS, summed

    account, rating, rows = Account(), _rating(story.header), [dict(row) for row in story.rows or [_root()]]
    nodes, lessons = [Node[Any, Any](row["id"], row["parent"], 0) for row in rows], list[str]()
    for told in story.told:
        _count(account, told)
        if isinstance(told.request, Rate) and told.outcome is not None:
            _rate(rating, nodes, told)
        elif isinstance(told.request, Step) and told.outcome is not None and told.outcome[0] == "stepped":
            _step(nodes, told.request.node, told.outcome)
        elif isinstance(told.request, Reflect) and told.outcome is not None and told.outcome[0] == "reflected":
            lessons.append(str(told.outcome[1]))
    parents = {row["parent"] for row in rows}
    for row, node in zip(rows, nodes, strict=True):
        if row["status"] == OPEN and row["id"] in parents:
            row["status"] = EXPANDED.value
        names = ["reward", "missed", "observation"]
        names += ["value", "ratings", "sampled", "rater", "verdict"] if node.value is not None else []
        row |= {name: found for name in names if (found := getattr(node, name)) != DEFAULTS[name]}
        if (spent := account.by_node.get(row["id"])) is not None:
            row["spent"] = spent
    tree: Tree[Any, Any] = Tree(None)
    tree.lessons.extend(lessons)
    result: SearchResult[Any, Any] = SearchResult(
        status=SearchStatus.FAILED,
        ended=None,
        best=tree.root,
        tree=tree,
        spent=account.spent.usage(),
        spent_by={role: tally.usage() for role, tally in account.by_role.items() if tally.calls or tally.seconds},
        unread={role: count for role, count in account.unread.items() if count},
        failed=account.failed,
        errors=account.errors,
        clamped=0,
        rating=rating,
        controller=_controller(story.header),
    )
    return {**summed(result), "explained": [], "nodes": rows}


def _root() -> Json:
    return {"id": 0, "parent": None, "status": OPEN.value}


def _count(account: Account, told: Told) -> None:
    calls, tokens, cost, seconds = told.usage
    account.pay(told.request, Usage(int(calls), int(tokens), cost, seconds))
    if told.outcome is not None and told.outcome[0] == "unread":
        account.count_fault(type(told.request), Unread(str(told.outcome[1])))
    elif told.outcome is not None and told.outcome[0] == "failed":
        account.count_fault(type(told.request), Failed(str(told.outcome[1])))


def _rate(rating: Rating, nodes: list[Node[Any, Any]], told: Told) -> None:
    assert told.outcome is not None
    assert isinstance(told.request, Rate)
    kind, *rest = told.outcome
    for place, id in enumerate(told.request.nodes):
        if id >= len(nodes):
            continue
        if kind == "rated":
            values, verdicts, _, *settled = rest
            verdict = list(verdicts)[place] if verdicts else None
            rating.add(nodes[id], values[place], verdict, told.request.rater, bool(settled and settled[0]))
        elif kind == "unread":
            value = rest[1] if len(rest) > 1 and rest[1] is not None else rating.unread
            if value is not None:
                rating.add(nodes[id], value, UNREAD, told.request.rater)


def _step(nodes: list[Node[Any, Any]], id: int, outcome: list[Any]) -> None:
    """What was seen there. Whether that ended it is the row's status."""
    _, _, _, flags, reward, _, observation, *_ = outcome
    if id < len(nodes):
        nodes[id].reward, nodes[id].missed, nodes[id].observation = reward, bool(flags[3]), observation


def _rating(header: Json) -> Rating:
    """How samples are joined, as far as the header says. It does not say between which ends."""
    said = header.get("rating")
    known = cast("Json", said) if isinstance(said, dict) else {}
    samples = known.get("samples", 1)
    return Rating(
        samples=samples if isinstance(samples, int) else 1, join=known.get("join", "sum"), cut=None, declared=False
    )


def _controller(header: Json) -> Json:
    found = header.get("controller")
    return cast("Json", found) if isinstance(found, dict) else {"kind": str(found)}
