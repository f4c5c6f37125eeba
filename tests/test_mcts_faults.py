"""Faults that other Monte-Carlo tree searches were reported with, each at a value that was worked out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from thoughtree.search import (
    MCTS,
    Answered,
    Ended,
    Failed,
    NodeStatus,
    Propose,
    Proposed,
    Rate,
    Rated,
    Rating,
    Reflect,
    Reflected,
    Search,
    SearchStatus,
    Step,
    Stepped,
    run,
)
from thoughtree.tasks import FreeText
from trees import UNIT, counting
from worlds import Letters

each_kind = pytest.mark.parametrize("knobs", [{}, {"lazy": True}, {"simulate": True}, {"selection": "puct"}], ids=str)


def ended(steps: dict[str, str], ends: tuple[str, ...], **knobs: Any) -> Any:
    """A search over a world of letters, each value 1 of 0..20."""
    return Letters(steps, ends=ends).run(MCTS(**{"branching": None, **knobs}))


@each_kind
def test_a_root_whose_only_child_is_terminal_ends_the_search(knobs: dict[str, Any]) -> None:
    result = ended({"": "a"}, ("a",), rollouts=10, **knobs)
    assert (result.ended, len(result.tree), len(result.tree.rollouts)) == (Ended.SEARCHED_OUT, 2, 1)
    assert [node.visits for node in result.tree] == [1, 1]


@each_kind
def test_an_end_node_keeps_its_value_and_gets_no_children(knobs: dict[str, Any]) -> None:
    """`a` is an end worth 20; 50 rollouts go on in `b` and below, and its mean is still that one value."""
    steps = {"": "ab"} | {"b" * n: "b" for n in range(1, 70)}
    result = Letters(steps, values={"a": 20.0}, ends=("a",)).run(
        MCTS(rollouts=50, branching=None, max_depth=70, **knobs)
    )
    end = result.tree[1]
    assert (end.state, end.visits, end.q, list(end.children), end.closed) == ("a", 1, 20.0, [], True)
    assert result.best is end


def test_a_subtree_in_which_all_is_done_is_left() -> None:
    """`a` has two ends below it and looks best; both seen, every further rollout is spent in `b`."""
    steps = {"": "ab", "a": "xy"} | {"b" * n: "b" for n in range(1, 20)}
    values = {"a": 20.0, "ax": 20.0, "ay": 20.0}
    result = Letters(steps, values=values, ends=("ax", "ay")).run(MCTS(rollouts=10, branching=None, max_depth=20))
    tree = result.tree
    assert [(node.state, node.visits) for node in tree if node.depth == 1] == [("a", 3), ("b", 9)]
    assert [node.closed for node in tree.children(tree.root)] == [True, False]
    assert [log.leaf for log in tree.rollouts][:2] == [0, 1]
    assert all(tree[log.leaf].state.startswith("b") for log in tree.rollouts[2:])


def test_a_subtree_in_which_all_failed_is_left() -> None:
    """Whatever follows `a` is illegal: it is dead, and its own value is all that it is counted for."""
    steps = {"": "ab", "a": "xx", "b": "b", "bb": "b"}
    result = Letters(steps, values={"a": 20.0}, illegal="x").run(MCTS(rollouts=9, branching=None, max_depth=3))
    dead = result.tree[1]
    assert (dead.closed, dead.visits) == (True, 1)
    assert {child.status for child in result.tree.children(dead)} == {NodeStatus.ILLEGAL, NodeStatus.DUPLICATE}
    assert result.ended is Ended.SEARCHED_OUT


@pytest.mark.parametrize("simulate", [False, True])
def test_one_sample_a_node_ends_at_the_depth_limit_and_says_so(simulate: bool) -> None:
    """A chain of 10: ten expansions and eleven nodes, simulated ones too, then nothing is left of 50 rollouts."""
    chain = {"a" * n: "a" for n in range(11)}
    result = Letters(chain).run(MCTS(rollouts=50, branching=1, max_depth=10, simulate=simulate))
    assert result.ended is Ended.SEARCHED_OUT
    assert len([node for node in result.tree if node.status is not NodeStatus.DUPLICATE]) == 11


@pytest.mark.parametrize("returns", ["mean", "max", "discounted"])
def test_at_the_depth_limit_a_state_has_its_estimate(returns: Any) -> None:
    """max_depth 1 is the root and its children: each rated .7, none expanded."""
    controller = MCTS(rollouts=9, branching=2, max_depth=1, returns=returns)
    result = run(Search(controller, (), rating=UNIT), counting(lambda state: 0.7))
    assert [(node.depth, node.value, node.visits) for node in result.tree] == [(0, None, 2), (1, 0.7, 1), (1, 0.7, 1)]
    assert result.tree.root.q == pytest.approx(0.7)


@each_kind
def test_a_state_met_before_is_not_expanded_again(knobs: dict[str, Any]) -> None:
    """`a` leads to `b` and back: the third state is the first one, and nothing follows."""

    def answer(request: Any, tree: Any) -> Any:
        match request:
            case Propose(id):
                return Proposed(("to b" if tree[id].state == "a" else "to a",))
            case Step(id):
                state = tree[id].action[-1]
                return Stepped(state, key=state)
            case _:
                return Rated((0.5,))

    result = run(Search(MCTS(rollouts=30, max_depth=20, **knobs), "a", rating=UNIT, root_key="a"), answer)
    assert [node.state for node in result.tree if node.status is not NodeStatus.DUPLICATE] == ["a", "b"]
    assert all(not node.children for node in result.tree if node.status is NodeStatus.DUPLICATE)
    assert result.ended is Ended.SEARCHED_OUT
    assert [node.visits for node in result.tree][:3] == [1, 1, 0]


@each_kind
def test_proposals_that_are_none_end_the_search(knobs: dict[str, Any]) -> None:
    asked: list[Any] = []

    def answer(request: Any, tree: Any) -> Any:
        asked.append(request)
        return Proposed(())

    result = run(Search(MCTS(rollouts=5, reroot=True, **knobs), (), rating=UNIT), answer)
    assert [type(request) for request in asked] == [Propose] * 5  # each rollout asks for another sample
    assert len({request.sample for request in asked}) == 5
    assert (result.status, result.ended, result.best.id) == (SearchStatus.FAILED, Ended.ROLLOUTS, 0)


def test_a_blank_action_is_on_no_path() -> None:
    """At depth 3 the model says nothing twice: those are no actions, and the third one is."""
    task = FreeText()

    def answer(request: Any, tree: Any) -> Any:
        if isinstance(request, Propose):
            return Proposed(("", " \n", "go") if tree[request.node].depth == 2 else ("go", "on", "up"))
        return Rated((0.5,))

    def parse(state: Any, text: str) -> Any:
        return task.parse(text, state)

    def step(state: Any, action: Any) -> Stepped:
        return Stepped((*state, str(action)))

    controller = MCTS(rollouts=40, branching=3, max_depth=5)
    result = run(Search(controller, (), parse=parse, step=step, rating=UNIT), answer)
    usable = [node for node in result.tree if node.id and node.status is not NodeStatus.ILLEGAL]
    assert max(node.depth for node in usable) >= 4
    assert all(str(node.action).strip() for node in usable)
    assert all(len(node.state) == node.depth for node in usable if node.state is not None)


def test_a_failed_generation_is_never_rated() -> None:
    def answer(request: Any, tree: Any) -> Any:
        match request:
            case Propose():
                return Proposed((None, "a"))
            case Step(id):
                return Failed("nothing to do") if tree[id].action is None else Stepped(tree[id].action)
            case Rate(ids):
                assert [tree[id].action for id in ids] == ["a"]
                return Rated((0.5,))
        raise AssertionError(request)

    result = run(Search(MCTS(rollouts=1), "", rating=UNIT), answer)
    assert [(node.status, node.value) for node in result.tree][1:] == [
        (NodeStatus.FAILED, None),
        (NodeStatus.OPEN, 0.5),
    ]
    assert result.tree.root.visits == 1


@each_kind
def test_a_goal_ends_the_search_and_is_never_expanded_or_reflected_on(knobs: dict[str, Any]) -> None:
    world = Letters({"": "ab", "a": "ab", "b": "ab"}, goals=("ab", "ba"))
    result = world.run(MCTS(rollouts=50, branching=None, **knobs))
    assert (result.ended, result.status) == (Ended.GOAL, SearchStatus.SOLVED)
    assert result.best.state in world.goals
    assert not set(world.proposed()) & set(world.goals)


def test_identical_siblings_are_one_child() -> None:
    result = Letters({"": "aaab", "a": "c", "b": "c"}).run(MCTS(rollouts=1, branching=None))
    assert [node.status.value for node in result.tree][1:] == ["open", "duplicate", "duplicate", "open"]
    assert result.tree.root.visits == 2


def test_never_more_children_than_were_asked_for() -> None:
    result = Letters({"": "abcdef"}).run(MCTS(rollouts=1, branching=4))
    assert len(result.tree.root.children) == 4


@pytest.mark.parametrize("selection", ["uct", "puct"])
def test_rewards_of_any_size_give_the_same_visits(selection: Any) -> None:
    """The exploration constant is for returns of 0..1: rewards of +-1, +-100 and +-.001 are brought there."""

    def visits(size: float) -> list[int]:
        def answer(request: Any, tree: Any) -> Any:
            if isinstance(request, Step):
                node = tree[request.node]
                state = (*tree[node.parent].state, node.action)
                return Stepped(state, reward=size * (hash(state) % 101 - 50) / 50)
            return counting(lambda state: size * (hash(state) % 13 - 6) / 6, 3)(request, tree)

        controller = MCTS(rollouts=60, branching=3, returns="discounted", discount=0.75, selection=selection)
        rating = Rating(join="mean", unread=None, cut=None, declared=False)
        return [node.visits for node in run(Search(controller, (), rating=rating), answer).tree]

    assert visits(1.0) == visits(128.0) == visits(2.0**-10)


def test_no_child_is_starved_by_rewards_far_off_the_scale() -> None:
    """Returns of 100 and -100: a constant of 1 would drown beside them, and the worse arm be tried once."""

    def value(state: tuple[int, ...]) -> float:
        return 100.0 if state[0] else -100.0

    rating = Rating(join="mean", unread=None, cut=None, declared=False)
    result = run(Search(MCTS(rollouts=200, max_depth=400), (), rating=rating), counting(value))
    scaled = run(Search(MCTS(rollouts=200, max_depth=400), (), rating=UNIT), counting(lambda s: float(s[0])))
    assert [node.visits for node in result.tree] == [node.visits for node in scaled.tree]
    assert result.tree[1].visits == 5  # n of 401 with sqrt(ln 401 / n) = 1 + sqrt(ln 401 / (401 - n)): 4.8


VALUES = {(0,): 0.5, (1,): 0.9, (1, 0): 0.2, (1, 1): 0.1, (0, 0): 0.6, (0, 1): 0.5}


@pytest.mark.parametrize(("final", "chosen"), [("value", (1,)), ("mean", (0, 0))])
def test_the_final_choice_is_named_and_each_name_gives_its_own_node(final: Any, chosen: tuple[int, ...]) -> None:
    """(1,) has the best value, .9; but (0,) has the best mean, (.5 + .6 + .5) / 3 against (.9 + .2 + .1) / 3."""
    answer = counting(lambda state: VALUES[state])
    result = run(Search(MCTS(rollouts=3, exploration=0.5, max_depth=2, final=final), (), rating=UNIT), answer)
    assert [(node.state, node.visits) for node in result.tree] == [((), 6), ((0,), 3), ((1,), 3)] + [
        (state, 1) for state in ((1, 0), (1, 1), (0, 0), (0, 1))
    ]
    assert result.best.state == chosen


def test_by_visits_it_is_the_child_most_often_gone_to() -> None:
    """The arm of mean .8 gets the most visits; a single better value lies in the other."""
    answer = counting(lambda state: 0.95 if state == (0,) else 0.1 if state[0] == 0 else 0.8)
    by_visits = run(Search(MCTS(rollouts=30, max_depth=20, final="visits"), (), rating=UNIT), answer)
    by_value = run(Search(MCTS(rollouts=30, max_depth=20), (), rating=UNIT), answer)
    assert by_visits.path[0] == "1"
    assert by_value.best.state == (0,)


def test_by_mean_the_steps_own_reward_counts() -> None:
    """Left pays 1 and ends worth .2, right pays 0 and ends worth .9: Q is 1.2 against .9."""

    def answer(request: Any, tree: Any) -> Any:
        if isinstance(request, Step):
            action = tree[request.node].action
            return Stepped((action,), reward=1.0 - action, terminal=True)
        return counting(lambda state: (0.2, 0.9)[state[0]])(request, tree)

    result = run(Search(MCTS(rollouts=1, returns="discounted", final="mean"), (), rating=UNIT), answer)
    assert result.best.action == 0


@pytest.mark.parametrize("final", ["value", "mean", "visits"])
def test_of_five_finished_leaves_the_valid_one_is_given(final: Any) -> None:
    world = Letters({"": "abcde"}, values={"a": 20.0}, goals=("d",), ends=("a", "b", "c", "e"))
    result = world.run(MCTS(rollouts=3, branching=None, final=final))
    assert (result.best.state, result.status) == ("d", SearchStatus.SOLVED)


def test_the_terminal_flag_is_the_nodes_own() -> None:
    """Two branches stepped in turn, one of which ends: only its own node is terminal."""
    result = ended({"": "ab", "a": "x", "b": "x"}, ("ax",), rollouts=3, max_depth=3)
    found = {node.state: node.status.value for node in result.tree if node.depth == 2}
    assert found == {"ax": "terminal", "bx": "open"}


def reflecting(missed: Callable[[Any], bool]) -> Callable[[Any, Any], Any]:
    def answer(request: Any, tree: Any) -> Any:
        if isinstance(request, Step):
            action = tree[request.node].action
            return Stepped((action,), missed=missed(action), terminal=not missed(action))
        if isinstance(request, Reflect):
            return Reflected(f"not {tree[request.node].action}")
        return counting(lambda state: 0.5)(request, tree)

    return answer


def test_only_failed_ends_are_reflected_on_and_the_log_says_how_often() -> None:
    result = run(Search(MCTS(rollouts=1, branching=4), (), rating=UNIT), reflecting(lambda action: action % 2 == 1))
    assert result.tree.lessons == ["not 1", "not 3"]
    assert (result.tree.rollouts[0].reflections, result.tree.rollouts[0].calls) == (2, 11)
    none = run(Search(MCTS(rollouts=1, branching=4), (), rating=UNIT), reflecting(lambda action: False))
    assert (none.tree.lessons, none.tree.rollouts[0].reflections) == ([], 0)


def test_where_nobody_reflects_the_log_counts_no_reflections() -> None:
    s = Search(MCTS(rollouts=1, branching=4), (), rating=UNIT, reflect=False)
    result = run(s, reflecting(lambda action: True))
    assert (result.tree.rollouts[0].reflections, result.tree.rollouts[0].ratings) == (0, 4)


def test_retries_and_samples_are_in_the_log_and_what_costs_nothing_is_no_call() -> None:
    """Two proposals of one each, the first asked twice; two steps of an environment; two ratings of 3 samples each."""
    tries: list[int] = []

    def answer(request: Any, tree: Any) -> Any:
        if isinstance(request, Propose):
            tries.append(request.sample)
            return Failed("again", transient=True) if tries == [0] else Proposed((request.sample,))
        return counting(lambda state: 0.5)(request, tree)

    rating = Rating(samples=3, join="mean", unread=0.0, cut=None, low=0.0, high=1.0)
    s = Search(MCTS(rollouts=1), (), rating=rating, sampled=True, transient=1, calls={Step: 0})
    log = run(s, answer).tree.rollouts[0]
    assert (log.proposals, log.steps, log.ratings, log.calls) == (3, 2, 6, 9)
    assert log.calls == s.spent.calls


def test_a_closing_call_is_no_rollouts() -> None:
    def answer(request: Any, tree: Any) -> Any:
        if type(request).__name__ == "Answer":
            return Answered({"answer": "x"})
        return counting(lambda state: 0.5)(request, tree)

    s = Search(MCTS(rollouts=2), (), rating=UNIT, closing=lambda best: True)
    run(s, answer)
    assert sum(log.calls for log in s.tree.rollouts) == s.spent.calls - 1
