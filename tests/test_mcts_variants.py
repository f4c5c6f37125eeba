"""Monte-Carlo tree search with lazy steps, simulations, progressive widening, and sampled branching."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thoughtree.search import (
    ABMCTS,
    MCTS,
    Answer,
    Answered,
    Budget,
    Ended,
    Failed,
    Journal,
    NodeStatus,
    Propose,
    Proposed,
    Rate,
    Rated,
    Rating,
    Search,
    Step,
    Stepped,
    run,
)
from thoughtree.search.abmcts import _Sampled
from thoughtree.search.returns import Bounds, Returns
from trees import UNIT, counting


def recorded(answer: Callable[[Any, Any], Any]) -> tuple[list[Any], Callable[[Any, Any], Any]]:
    """`answer`, and the list of what it was asked."""
    asked: list[Any] = []

    def remembering(request: Any, tree: Any) -> Any:
        asked.append(request)
        return answer(request, tree)

    return asked, remembering


# ---- progressive widening


@pytest.mark.parametrize(("rollouts", "children"), [(2, 1), (3, 2), (5, 2), (6, 3), (10, 3), (11, 4)])
def test_a_node_of_n_visits_has_the_root_of_n_children_rounded_up(rollouts: int, children: int) -> None:
    """alpha .5: the second child as N is 2, the third as it is 5, the fourth as it is 10; one visit a rollout."""
    controller = MCTS(rollouts=rollouts, branching=1, widening=0.5, max_depth=99, dedupe=False)
    result = run(Search(controller, (), rating=UNIT), counting(lambda state: 0.5))
    assert len(result.tree.root.children) == children
    assert result.tree.root.visits == rollouts


def test_a_node_gets_its_branching_first_and_then_one_by_one_in_new_samples() -> None:
    asked, answer = recorded(counting(lambda state: 0.5))
    run(Search(MCTS(rollouts=12, branching=3, widening=0.6, max_depth=9, dedupe=False), (), rating=UNIT), answer)
    root = [request for request in asked if isinstance(request, Propose) and request.node == 0]
    assert root[:3] == [Propose(0, 3, 0), Propose(0, 1, 3), Propose(0, 1, 4)]


def test_a_node_that_has_no_more_children_to_give_is_widened_no_more() -> None:
    def answer(request: Any, tree: Any) -> Any:
        if isinstance(request, Propose) and request.sample:
            return Proposed(())
        return counting(lambda state: 0.5)(request, tree)

    asked, answer = recorded(answer)
    run(Search(MCTS(rollouts=30, branching=2, widening=0.5, max_depth=20), (), rating=UNIT), answer)
    expanded = [request.node for request in asked if isinstance(request, Propose)]
    assert len(expanded) == 30
    assert max(expanded.count(node) for node in expanded) == 2  # once, and once in vain


# ---- lazy steps


def test_a_terminal_child_that_code_found_is_still_visited_and_backed_up() -> None:
    def step(state: Any, action: Any) -> Stepped:
        return Stepped((*state, action), terminal=True)

    controller = MCTS(rollouts=9, branching=3, lazy=True)
    result = run(Search(controller, (), step=step, rating=UNIT), counting(lambda state: 0.1 * state[0]))
    assert [node.visits for node in result.tree] == [3, 1, 1, 1]
    assert result.tree.root.total == pytest.approx(0.0 + 0.1 + 0.2)
    assert (result.ended, len(result.tree.rollouts)) == (Ended.SEARCHED_OUT, 3)


def test_a_child_whose_rating_was_lost_is_not_looked_at_again() -> None:
    """A visit without a value is no sample; the child is expanded the next time."""
    rating = Rating(join="mean", unread=None, cut=None, low=0.0, high=1.0, together="siblings")

    def answer(request: Any, tree: Any) -> Any:
        if isinstance(request, Rate) and request.nodes == (1,):
            return Failed("lost")
        return counting(lambda state: 0.5)(request, tree)

    asked, answer = recorded(answer)
    result = run(Search(MCTS(rollouts=4, branching=1, lazy=True, max_depth=9), (), rating=rating), answer)
    assert asked.count(Rate((1,))) == 1
    assert [node.visits for node in result.tree] == [3, 3, 3, 2, 1]
    assert result.tree[1].value is None


def test_lazily_and_with_simulation_a_rollout_goes_on_from_the_child_that_it_visited() -> None:
    controller = MCTS(rollouts=1, branching=3, lazy=True, simulate=True, max_depth=3)
    result = run(Search(controller, (), rating=UNIT), counting(lambda state: 0.2 * len(state)))
    assert [(node.depth, node.visits) for node in result.tree] == [(0, 2), (1, 2), (1, 0), (1, 0), (2, 1), (3, 1)]
    assert [node.state for node in result.tree][2:4] == [None, None]  # only visited children were stepped
    assert result.tree.root.total == pytest.approx(0.2 + 0.6)


# ---- simulation


def test_a_simulated_node_whose_next_expansion_fails_keeps_its_child() -> None:
    def answer(request: Any, tree: Any) -> Any:
        if isinstance(request, Propose) and request.sample and request.node:
            return Failed("down")
        return counting(lambda state: 0.5)(request, tree)

    controller = MCTS(rollouts=3, branching=1, simulate=True, max_depth=4)
    result = run(Search(controller, (), rating=UNIT), answer)
    assert NodeStatus.FAILED not in [node.status for node in result.tree]
    assert list(result.tree[1].children) == [2]


# ---- an answer of the model's own, before anything else


@pytest.mark.parametrize("lazy", [False, True])
def test_a_direct_answer_is_a_finished_child_and_never_expanded(lazy: bool) -> None:
    def answer(request: Any, tree: Any) -> Any:
        if isinstance(request, Answer):
            return Answered({"answer": "?"})
        return counting(lambda state: 0.5)(request, tree)

    asked, answer = recorded(answer)
    result = run(Search(MCTS(rollouts=4, lazy=lazy), (), rating=UNIT, first=True), answer)
    assert result.tree[1].answer == {"answer": "?"}
    assert not any(request == Propose(1, 2) or request == Step(1) for request in asked)
    assert (result.tree[1].closed, result.tree.root.closed) == (True, False)


# ---- AB-MCTS-A


def test_a_belief_is_drawn_from_a_beta_distribution() -> None:
    """Three values that add up to 2.1, of 0..1: Beta(0.5 + 2.1, 0.5 + 0.9), whose mean is 2.6 / 4."""
    tree = Search(ABMCTS(), ()).tree
    sampled = _Sampled(tree, UNIT, ABMCTS(), Returns(Bounds(0.0, 1.0)), random.Random(0))
    draws = [sampled._belief(3, 2.1) for _ in range(20_000)]
    assert sum(draws) / len(draws) == pytest.approx(0.65, abs=0.01)
    variance = sum((draw - 0.65) ** 2 for draw in draws) / len(draws)
    assert variance == pytest.approx(2.6 * 1.4 / (4**2 * 5), abs=0.002)


@pytest.mark.parametrize(
    ("new", "below", "shape"),
    [(0.1, 0.9, "deep"), (0.9, 0.1, "wide"), (0.6, 0.97, "deep"), (0.3, 0.02, "wide")],
)
def test_it_goes_deep_where_that_pays_and_wide_where_it_does_not(new: float, below: float, shape: str) -> None:
    """What counts is which is better, a first attempt or one that builds on it, and not how good either is."""

    def children(seed: int) -> int:
        search = Search(ABMCTS(rollouts=60, dedupe=False), (), rating=UNIT, seed=seed)
        return len(run(search, counting(lambda state: new if len(state) == 1 else below)).tree.root.children)

    at_depth_1 = [children(seed) for seed in range(10)]
    assert all(n < 20 for n in at_depth_1) if shape == "deep" else all(n > 38 for n in at_depth_1)


@pytest.mark.parametrize("at_once", [1, 8])
def test_each_of_its_rollouts_makes_one_child_that_all_above_it_count(at_once: int) -> None:
    for seed in range(4):
        s = Search(ABMCTS(rollouts=30, at_once=at_once, dedupe=False), (), rating=UNIT, seed=seed)
        rng, asks, answer = random.Random(seed), s.ask(), counting(lambda state: 0.3)
        proposing: set[int] = set()
        while asks:
            ask = asks.pop(rng.randrange(len(asks)))
            if isinstance(ask.request, Propose):
                proposing.discard(ask.request.node)
            s.tell(ask.id, answer(ask.request, s.tree))
            new = s.ask()
            for node in (a.request.node for a in new if isinstance(a.request, Propose)):
                assert node not in proposing  # a node makes one child at a time
                proposing.add(node)
            asks += new
        assert (len(s.tree), s.tree.root.visits, len(s.tree.rollouts)) == (31, 30, 30)
        for node in s.tree:
            assert node.virtual == 0
            assert node.visits == (node.id > 0) + sum(s.tree[child].visits for child in node.children)


class Hashed(str):
    """An action that counts how often it is looked for."""

    looks = 0

    def __hash__(self) -> int:
        Hashed.looks += 1
        return str.__hash__(self)


@pytest.mark.parametrize("parse", [None, lambda state, action: action])
def test_a_node_of_thousands_of_children_knows_them_apart_without_a_look_at_each(parse: Any) -> None:
    """Every third proposal repeats the one that came two before it."""
    n, Hashed.looks = 1_500, 0

    def answer(request: Any, tree: Any) -> Any:
        if isinstance(request, Propose):
            made = len(tree.root.children)
            return Proposed((Hashed(made - 2 if made % 3 == 2 else made),))
        return Rated((0.5,)) if isinstance(request, Rate) else Stepped(None)

    tree = run(Search(ABMCTS(rollouts=n, max_depth=1), (), rating=UNIT, parse=parse), answer).tree
    assert len(tree) == 1 + n
    first = {node.id: node.reason for node in tree if node.status is NodeStatus.DUPLICATE}
    assert first == {id: id - 2 for id in range(3, n + 1, 3)}
    assert Hashed.looks < 20 * n  # n / 2 times n, if each new one were compared with all


def test_a_run_that_is_told_again_draws_nothing_and_goes_on_as_the_unbroken_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each way down has random numbers of its own: of those that a journal knows, none is needed."""
    draws = [0]

    belief = _Sampled._belief

    def counted(self: Any, n: int, total: float) -> float:
        draws[0] += 1
        return belief(self, n, total)

    monkeypatch.setattr(_Sampled, "_belief", counted)

    def go(path: Path, calls: int) -> tuple[Any, int]:
        before = draws[0]
        search = Search(ABMCTS(rollouts=40, dedupe=False), (), rating=UNIT, seed=3, budget=Budget(calls=calls))
        journal = Journal(path, {})
        result = run(search, counting(lambda state: 0.1 * len(state)), journal=journal)
        journal.close()
        return result, draws[0] - before

    whole, needed = go(tmp_path / "whole", 200)
    short, first = go(tmp_path / "run", 41)
    again, second = go(tmp_path / "run", 200)
    same, none = go(tmp_path / "run", 200)
    assert 0 < first < needed
    assert (first + second, none) == (needed, 0)
    assert len(short.tree) < len(whole.tree)
    trees = [[(n.parent, n.action, n.value, n.visits, n.total) for n in each.tree] for each in (whole, again, same)]
    assert trees[1:] == [trees[0]] * 2


def test_no_rollouts_of_it_give_no_answer() -> None:
    result = run(Search(ABMCTS(rollouts=0), (), rating=UNIT), counting(lambda state: 0.5))
    assert (result.ended, len(result.tree), result.best.id) == (Ended.ROLLOUTS, 1, 0)


# ---- priors


def test_what_several_samples_say_is_as_much_likelier_and_visited_more() -> None:
    """Of eight samples seven say 0 and one says 1; both lead to states worth .5, so only the priors tell them apart."""

    def answer(request: Any, tree: Any) -> Any:
        if isinstance(request, Propose) and not request.node:
            return Proposed((int(request.sample == 3),))
        return counting(lambda state: 0.5)(request, tree)

    def visits(selection: Any) -> tuple[float, float, list[int]]:
        controller = MCTS(rollouts=41, branching=8, selection=selection, max_depth=99)
        tree = run(Search(controller, (), rating=UNIT, sampled=True), answer).tree
        often, once = (next(n for n in tree if n.depth == 1 and n.action == action) for action in (0, 1))
        return often.prior, once.prior, [often.visits, once.visits]

    often, once, by_priors = visits("puct")
    assert (often, once) == (7.0, 1.0)
    assert 5 <= by_priors[0] / by_priors[1] <= 9  # N + 1 as P, where the values are equal
    assert visits("uct")[2][0] < 2 * visits("uct")[2][1]
