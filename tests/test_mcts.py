"""The formulas of Monte-Carlo tree search, its statistics, and how a search with it ends."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thoughtree.search import (
    MCTS,
    Ended,
    NodeStatus,
    Propose,
    Proposed,
    Rate,
    Rated,
    Rating,
    Reflect,
    Reflected,
    Search,
    SearchResult,
    SearchStatus,
    Step,
    Stepped,
    run,
)
from thoughtree.search.rollout_log import RolloutLog
from trees import UNIT, counting


@pytest.mark.parametrize("rollouts", [0, 1, 2])
def test_few_rollouts(rollouts: int) -> None:
    result = run(Search(MCTS(rollouts=rollouts), (), rating=UNIT), counting(lambda state: 0.5))
    assert result.ended is Ended.ROLLOUTS
    assert len(result.tree) == 1 + 2 * rollouts
    assert result.status is (SearchStatus.UNVERIFIED if rollouts else SearchStatus.FAILED)


def test_the_better_arm_of_a_known_tree_is_found() -> None:
    """Three levels; the first move 1 leads to .8 at best, move 0 looks better at first (.6) and is worth .2."""
    values = {(0,): 0.6, (1,): 0.5, (0, 0): 0.2, (0, 1): 0.2, (1, 0): 0.4, (1, 1): 0.8}
    answer = counting(lambda state: values.get(state, 0.9 if state == (1, 1, 0) else 0.2))
    result = run(Search(MCTS(rollouts=12, max_depth=3), (), rating=UNIT), answer)
    assert result.best.state == (1, 1, 0)


@pytest.mark.parametrize("final", ["visits", "mean"])
def test_the_final_choice_by_name(final: Any) -> None:
    answer = counting(lambda state: 0.9 if state[0] == 1 else 0.1)
    result = run(Search(MCTS(rollouts=20, max_depth=2, final=final), (), rating=UNIT), answer)
    assert result.tree.path(result.best)[1].action == 1


def test_terminal_leaves_are_backed_up_and_never_expanded() -> None:
    def answer(request: Any, tree: Any) -> Any:
        if isinstance(request, Step):
            return Stepped(request.node, terminal=True)
        return counting(lambda state: 0.3)(request, tree) if not isinstance(request, Rate) else Rated((0.3,))

    result = run(Search(MCTS(rollouts=10), (), rating=UNIT), answer)
    assert (result.ended, len(result.tree)) == (Ended.SEARCHED_OUT, 3)
    assert [n.visits for n in result.tree] == [2, 1, 1]
    assert not any(n.children for n in result.tree if n.id)


@pytest.mark.parametrize(("reroot", "proposals"), [(None, 3), (False, 1), (True, 3)])
def test_when_all_is_spent_it_proposes_again_with_its_lessons_or_ends(reroot: bool | None, proposals: int) -> None:
    shown: list[list[str]] = []

    def answer(request: Any, tree: Any) -> Any:
        match request:
            case Propose():
                shown.append(tree.lessons[: request.lessons])
                return Proposed((f"a{request.sample}", f"b{request.sample}"))
            case Step(id):
                return Stepped(tree[id].action, tree[id].action, terminal=True, missed=True)
            case Rate():
                return Rated((0.1,))
            case Reflect(id):
                return Reflected(f"not {tree[id].action}")
        raise AssertionError(request)

    result = run(Search(MCTS(rollouts=3, reroot=reroot), "", rating=UNIT), answer)
    assert len(shown) == proposals
    if proposals == 3:
        assert shown[1] == ["not a0", "not b0"]
        assert result.ended is Ended.ROLLOUTS
    else:
        assert result.ended is Ended.SEARCHED_OUT


def test_values_of_any_range_give_the_same_visits() -> None:
    def visits(stretch: Callable[[float], float]) -> list[int]:
        rng = random.Random(5)
        drawn: dict[Any, float] = {}
        answer = counting(lambda state: stretch(drawn.setdefault(state, rng.random())))
        rating = Rating(join="mean", unread=None, cut=None, declared=False)
        return [n.visits for n in run(Search(MCTS(rollouts=40), (), rating=rating), answer).tree]

    plain = visits(lambda v: v)
    assert plain == visits(lambda v: 200 * v - 100) == visits(lambda v: v / 1000)
    assert plain != visits(lambda v: 0.0)  # they do steer


def test_two_exploration_constants_give_different_visits() -> None:
    answer = counting(lambda state: 0.9 if state[0] else 0.4)
    counts = [run(Search(MCTS(rollouts=30, exploration=c), (), rating=UNIT), answer).tree[1].visits for c in (0.1, 2.0)]
    assert counts[0] < counts[1]


def test_simulated_nodes_count_one_visit_and_stay_open() -> None:
    result = run(
        Search(MCTS(rollouts=1, simulate=True, max_depth=4), (), rating=UNIT), counting(lambda s: 0.1 * len(s))
    )
    chain = [n for n in result.tree if n.depth >= 2]
    assert [n.depth for n in chain] == [2, 3, 4]
    assert [n.visits for n in chain] == [1, 1, 1]
    assert [n.status for n in chain[:2]] == [NodeStatus.OPEN] * 2
    assert result.tree.root.visits == 3  # two new children, and the end of the simulation
    assert result.tree.root.total == pytest.approx(0.1 + 0.1 + 0.4)


@pytest.mark.parametrize("best", [0, 1, 2])
def test_simulation_starts_from_the_best_new_child(best: int) -> None:
    result = run(
        Search(MCTS(rollouts=1, branching=3, simulate=True, max_depth=3), (), rating=UNIT),
        counting(lambda state: 0.9 if state == (best,) else 0.2),
    )
    assert [n.state[0] for n in result.tree if n.depth >= 2] == [best, best]


def test_the_end_of_a_simulation_that_failed_is_reflected_on_too() -> None:
    """The one terminal state that the rollout came to, three steps down, was judged wrong; those above it were not."""

    def answer(request: Any, tree: Any) -> Any:
        if isinstance(request, Step):
            state = (*tree[tree[request.node].parent].state, tree[request.node].action)
            return Stepped(state, terminal=len(state) == 3, missed=len(state) == 3)
        if isinstance(request, Reflect):
            return Reflected(f"not {tree[request.node].state}")
        return counting(lambda state: 0.5)(request, tree)

    result = run(Search(MCTS(rollouts=1, simulate=True), (), rating=UNIT), answer)
    assert result.tree.lessons == ["not (0, 0, 0)"]
    assert result.tree.rollouts[0].reflections == 1


def test_lazily_only_visited_children_are_stepped_and_rated() -> None:
    result = run(Search(MCTS(rollouts=3, lazy=True, branching=5), (), rating=UNIT), counting(lambda state: 0.5))
    asked = [(log.proposals, log.steps, log.ratings) for log in result.tree.rollouts]
    assert asked == [(1, 1, 1), (0, 1, 1), (0, 1, 1)]
    assert [n.state is not None for n in result.tree if n.id] == [True, True, True, False, False]


def test_patience() -> None:
    result = run(Search(MCTS(rollouts=50, patience=4), (), rating=UNIT), counting(lambda state: 0.5))
    assert (result.ended, len(result.tree.rollouts)) == (Ended.PATIENCE, 5)


def test_each_rollout_logs_what_it_asked() -> None:
    result = run(Search(MCTS(rollouts=2), (), rating=UNIT), counting(lambda state: 0.5))
    each = {"calls": 5, "proposals": 1, "steps": 2, "ratings": 2, "value": 0.5}
    assert result.tree.rollouts == [RolloutLog(leaf=0, **each), RolloutLog(leaf=1, **each)]


def test_the_log_is_saved_and_loaded_with_the_tree(tmp_path: Path) -> None:
    result = run(Search(MCTS(rollouts=3), (), rating=UNIT), counting(lambda state: 0.5))
    result.save(tmp_path / "result.json")
    loaded = SearchResult.load(tmp_path / "result.json")
    assert loaded.tree.rollouts == result.tree.rollouts
    assert [(n.visits, n.total) for n in loaded.tree] == [(n.visits, n.total) for n in result.tree]
    text = (tmp_path / "result.json").read_text()
    (tmp_path / "bad.json").write_text(text.replace('"calls": 5', '"calls": -5'))
    with pytest.raises(ValueError, match="calls is -5"):
        SearchResult.load(tmp_path / "bad.json")


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"rollouts": -1}, "rollouts=-1"),
        ({"rollouts": False}, "rollouts=False"),
        ({"reroot": "yes"}, "reroot='yes'"),
        ({"exploration": -0.1}, "exploration=-0.1"),
        ({"discount": 0.0}, "discount=0.0"),
        ({"widening": 2.0}, "widening=2.0"),
        ({"selection": "ucb"}, "'uct', 'puct'"),
        ({"final": "best"}, "'value', 'visits', 'mean'"),
    ],
)
def test_bad_knobs_are_named(knobs: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MCTS(**knobs)
