"""What a search gives back, and what it says about itself."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from thoughtree.search import (
    DFS,
    Answer,
    Beam,
    BestFirst,
    Budget,
    Ended,
    Failed,
    Illegal,
    NodeStatus,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Rating,
    Request,
    Search,
    SearchResult,
    SearchStatus,
    Stepped,
    Tree,
    Unread,
    Usage,
    run,
)
from worlds import Letters


class Words:
    """A task as a result sees one: actions are shown in capitals; what is solvable is written out."""

    def __init__(self, solvable: dict[str, bool] | None = None) -> None:
        self.truth = solvable or {}

    def render(self, state: Any) -> str:
        return f"<{state}>"

    def show(self, action: Any) -> str:
        return str(action).upper()

    def dump(self, state: Any) -> Any:
        return list(state)

    def load(self, value: Any) -> Any:
        return "".join(value)

    def solvable(self, state: Any) -> bool | None:
        return self.truth.get(state)


def lines(result: SearchResult[Any, Any], start: str) -> list[str]:
    """The lines of explain() that start so."""
    return [line for line in result.explain().splitlines() if line.startswith(start)]


# ---- the fields


def test_path_value_and_summary_of_a_solved_search() -> None:
    result = Letters({"": "ab", "a": "cd"}, {"a": 20.0}, goals=("ad",)).run(Beam(width=1))
    assert (result.solved, result.path, result.value, result.answer) == (True, ["a", "d"], None, None)
    assert result.summary() == "solved: a -> d [4 calls, 5 nodes]"
    assert result.replace(task=Words()).path == ["A", "D"]


def test_the_summary_says_why_it_ended_and_what_was_spent() -> None:
    running = Search(DFS(max_depth=1), "", step=Letters({}).step)
    running.tell(0, Proposed(("a",)), Usage(1, 1200, 0.0125))
    running.tell(1, Rated((1.0,)), Usage(1, 34))
    assert running.result().summary() == "failed (searched out): a [2 calls, 1,234 tokens, $0.0125, 2 nodes]"
    running = Search(DFS(), "")
    running.tell(0, Failed("down"))
    assert running.result().summary() == "failed (error): (no step) [1 call, 1 node]"


def test_spending_is_told_by_role() -> None:
    running = Search(Beam(max_depth=1), "", step=Letters({}).step, closing=lambda best: True)
    running.tell(0, Proposed(("a", "b")), Usage(1, 100, 0.1, 2.0))
    running.tell(1, Rated((1.0,)), Usage(1, 10, 0.01, 0.5))
    running.tell(2, Unread("?"), Usage(1, 20, 0.02, 0.5))
    result = running.result()
    assert result.spent_by == {"propose": Usage(1, 100, 0.1, 2.0), "rate": Usage(2, 30, 0.03, 1.0)}
    assert result.spent == Usage(3, 130, 0.13, 3.0)
    assert (result.unread, result.failed, result.errors) == ({"rate": 1}, 0, {})


def test_errors_are_counted_in_their_order_of_appearance() -> None:
    running = Search(Beam(max_depth=1), "", step=Letters({}).step)
    running.tell(0, Proposed(tuple("abcd")))
    for id, error in enumerate(("timeout", "refused", "timeout"), 1):
        running.tell(id, Failed(error))
    result = running.result()
    assert list(result.errors.items()) == [("timeout", 2), ("refused", 1)]
    assert (result.first_error, result.failed) == ("timeout", 3)


def test_top_lists_solved_then_finished_then_unfinished_ones_by_value() -> None:
    world = Letters({"": "abcd", "a": "ef"}, {"a": 9.0, "b": 5.0, "c": 7.0}, goals=("af",), ends=("d",))
    result = world.run(Beam(width=2))
    assert [n.state for n in result.top(9)] == ["af", "d", "a", "c", "ae"]  # "b" was dropped, "ae" is unrated
    assert [n.state for n in result.top(2)] == ["af", "d"]
    assert result.top(0) == []


def test_nodes_are_counted_by_status() -> None:
    world = Letters({"": "abax", "a": "c"}, illegal="x")
    result = world.run(Beam(max_depth=2))
    assert result.status_counts() == {"expanded": 3, "duplicate": 1, "illegal": 1, "open": 1}
    assert (result.rules_broken(), result.duplicates(), result.nodes_evaluated) == ({"no x": 1}, 1, 3)


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result))])
def test_a_copy_is_whole_and_apart(clone: Callable[[Any], Any]) -> None:
    result = Letters({"": "ab", "a": "cd"}, {"a": 20.0}, goals=("ad",)).run(Beam(width=1))
    result = result.replace(task=Words())
    other = clone(result)
    assert other.best is other.tree[result.best.id]
    assert other.best is not result.best
    assert (other.summary(), other.explain(), other.path) == (result.summary(), result.explain(), result.path)
    other.tree[1].value = -1.0
    assert result.tree[1].value == 20.0


# ---- values that hardly differ


def test_nine_equal_candidates_of_which_five_are_kept_are_a_warning() -> None:
    world = Letters({"": "abcdefghi"}, dict.fromkeys("abcdefghi", 3.0))
    result = world.run(Beam(width=5, branching=9, max_depth=1))
    assert result.collapsed == (1, 1)
    (warning,) = result.warnings
    assert warning.startswith("ratings hardly differ in 1 of 1 (100 %) of the sibling groups: they steer little")
    assert lines(result, "Ratings hardly differ") == ["Ratings hardly differ in 1 of 1 (100 %) of the sibling groups."]
    assert lines(result, "Change first") == [
        "Change first: the rating scale: nearly all values are equal; rank by vote or pairs instead."
    ]


@pytest.mark.parametrize(
    ("values", "samples", "collapsed"),
    [
        ((3.0, 3.0), 1, (1, 1)),
        ((3.0, 3.19), 1, (1, 1)),  # a hundredth of the scale, 0 to 20, and no more
        ((3.0, 3.21), 1, (0, 1)),
        ((3.0, 3.2), 3, (1, 1)),  # the scale of a sum of three is three times as long
        ((1.0, 20.0), 1, (0, 1)),
        ((3.0,), 1, (0, 0)),  # one child says nothing
    ],
)
def test_values_collapse_within_a_hundredth_of_the_scale(values: Any, samples: int, collapsed: Any) -> None:
    letters = "ab"[: len(values)]
    world = Letters({"": letters}, dict(zip(letters, values, strict=True)))
    result = world.run(Beam(max_depth=1), rating=Rating(samples=samples))
    assert result.collapsed == collapsed


def test_collapse_in_less_than_half_of_the_groups_is_no_warning() -> None:
    steps = {"": "ab", "a": "cd", "b": "ef"}
    world = Letters(steps, {"a": 9.0, "b": 2.0, "ac": 5.0, "ad": 1.0, "be": 1.0, "bf": 1.0})
    result = world.run(Beam(max_depth=2))
    assert (result.collapsed, result.warnings) == ((1, 3), ())


def test_many_unread_replies_are_a_warning() -> None:
    running = Search(Beam(max_depth=1), "", step=Letters({}).step)
    running.tell(0, Proposed(tuple("abcd")))
    running.tell(1, Unread("?"))
    for id in (2, 3, 4):
        running.tell(id, Rated((20.0,)))
    assert running.result().warnings == ("replies that could not be read: 1 of 5 (20 %) of the calls",)


# ---- explain()


def test_a_solved_search_has_nothing_to_change() -> None:
    result = Letters({"": "a"}, goals=("a",)).run(Beam())
    assert result.explain().splitlines() == [
        "Solved: a goal was reached; 2 nodes to depth 1.",
        "Calls: 1: propose 1 of 1 (100 %).",
        "Change first: nothing; if it was dear, try a smaller width or branching.",
    ]


def test_illegal_proposals_are_told_by_rule() -> None:
    world = Letters({"": "axyxa"}, illegal="xy")
    result = world.run(Beam(branching=9, max_depth=1, dedupe=False))
    assert lines(result, "Illegal") == ["Illegal proposals: 3 of 5 (60 %); by rule: no x: 2, no y: 1."]
    assert lines(result, "Change first") == [
        "Change first: the proposals: most were illegal; show the rules in the instructions, or use propose='moves'."
    ]


def test_duplicates_are_told() -> None:
    result = Letters({"": "aaab"}).run(Beam(max_depth=1, branching=4), rating=Rating(samples=1))
    assert lines(result, "Duplicate") == ["Duplicate proposals: 2 of 4 (50 %)."]
    world = Letters({"": "aaab"}, {"a": 20.0})
    assert lines(world.run(Beam(max_depth=1)), "Change first")[0].startswith("Change first: the proposals' variety")


def test_unread_replies_are_told_by_role() -> None:
    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        return Unread("?") if isinstance(request, Rate) else Letters({"": "ab"}).answer(request, tree)

    result = run(Search(Beam(max_depth=1), "", step=Letters({}).step), answer)
    assert lines(result, "Replies that") == ["Replies that could not be read: rate: 2."]
    assert lines(result, "Change first")[0].startswith("Change first: the ratings' format")
    result = run(Search(Beam(), ""), lambda request, tree: Unread("I would look that up."))
    assert lines(result, "Change first")[0].startswith("Change first: the proposals' format")
    world = Letters({"": "ab"}, {"a": 20.0})

    def closing(request: Request, tree: Tree[Any, Any]) -> Outcome:
        return Unread("?") if isinstance(request, Answer) else world.answer(request, tree)

    result = run(Search(Beam(max_depth=1), "", step=world.step, closing=lambda best: True), closing)
    assert lines(result, "Replies that") == ["Replies that could not be read: answer: 1."]
    assert lines(result, "Change first")[0].startswith("Change first: the answer's format")


def test_failures_are_told_with_the_first_error() -> None:
    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        return Failed("timeout") if request == Rate((1,)) else Letters({"": "abcdefgh"}).answer(request, tree)

    result = run(Search(Beam(max_depth=1), "", step=Letters({}).step), answer)
    assert lines(result, "Failed nodes") == ["Failed nodes: 1; first error: timeout."]


def test_a_step_that_could_not_be_read_is_told_as_that() -> None:
    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        return Proposed(("a",)) if isinstance(request, Propose) else Unread("a haze")

    result = run(Search(Beam(), ""), answer)
    assert lines(result, "Failed nodes") == ["Failed nodes: 1; first error: the reply could not be read."]


def test_ratings_that_code_contradicts_are_told_with_an_example() -> None:
    values = {"a": 20.0, "b": 0.001, "c": 1.0, "d": 20.0}
    world = Letters({"": "abcd"}, values)
    truth = {"a": False, "b": True, "c": False, "d": True}
    result = world.run(DFS(max_depth=1, branching=4)).replace(task=Words(truth))
    # "a" is praised though hopeless, "b" dropped though solvable; "c" was rated a mere maybe, "d" rightly.
    assert lines(result, "Ratings that code") == [
        "Ratings that code contradicts: 2 of 4 (50 %); pruned though solvable: 1; rated high though hopeless: 1."
    ]
    assert lines(result, "For example") == ["For example B was pruned at value 0.001, and a solution follows from it."]
    assert lines(result, "Change first")[0].startswith("Change first: the rater: it drops solvable states")


def test_a_solvable_state_cut_off_among_equals_is_the_scales_fault_and_no_verdict_of_the_rater() -> None:
    world = Letters({"": "ab", "a": "c"}, {"a": 20.0, "b": 20.0, "ac": 20.0})
    result = world.run(Beam(width=1, max_depth=2)).replace(task=Words({"a": False, "b": True, "ac": False}))
    assert "pruned though solvable: 1; rated high though hopeless: 2" in result.explain()
    assert lines(result, "Change first")[0].startswith("Change first: the rating scale: nearly all values are equal")


def test_a_rater_that_keeps_hopeless_states_is_told_so() -> None:
    world = Letters({"": "ab"}, {"a": 20.0, "b": 18.0})
    result = world.run(DFS(max_depth=1)).replace(task=Words({"a": False, "b": False}))
    assert lines(result, "Change first")[0].startswith("Change first: the rater: it keeps hopeless states")


@pytest.mark.parametrize(
    ("low", "high", "cut", "praised"), [(1.0, 10.0, None, 1), (0.0, 10.0, 4.0, 1), (-1.0, 1.0, None, 2)]
)
def test_high_is_the_upper_half_of_any_scale(low: float, high: float, cut: float | None, praised: int) -> None:
    # On 1 to 10 the middle is 5.5, on -1 to 1 it is 0.
    values = {"a": 5.4, "b": 5.6} if high == 10.0 and low == 1.0 else {"a": 0.1, "b": 0.9}
    values = {"a": 4.5, "b": 5.0} if low == 0.0 else values
    world = Letters({"": "ab"}, values)
    rating = Rating(low=low, high=high, cut=cut, unread=None)
    result = world.run(Beam(max_depth=1), rating=rating).replace(task=Words({"a": False, "b": False}))
    assert f"rated high though hopeless: {praised}" in result.explain()


def test_where_code_knows_nothing_nothing_is_said() -> None:
    result = Letters({"": "ab"}).run(Beam(max_depth=1)).replace(task=Words())
    assert lines(result, "Ratings that code") == []


@pytest.mark.parametrize(
    ("controller", "budget", "said"),
    [
        (Beam(), {"calls": 4}, "the budget of calls was used up"),
        (Beam(), {"nodes": 4}, "the budget of nodes was used up"),
        (BestFirst(expansions=1), {}, "all expansions were used"),
    ],
)
def test_a_spent_budget_is_told_and_what_was_left(controller: Any, budget: Any, said: str) -> None:
    world = Letters({"": "ab", "a": "cd"}, {"a": 20.0})
    result = world.run(controller, budget=Budget(**budget))
    assert lines(result, "Unverified")[0].startswith(f"Unverified: {said}; ")
    assert lines(result, "Change first") == [
        f"Change first: the budget: the search ended for {result.ended} with states left to expand."
    ]


def test_a_search_that_found_nothing_left_should_be_larger() -> None:
    world = Letters({"": "ab"}, {"a": 20.0})
    result = world.run(DFS())
    assert result.ended is Ended.SEARCHED_OUT
    assert lines(result, "Change first") == [
        "Change first: the search's size: raise branching, then width or max_depth."
    ]


def test_where_the_budget_went() -> None:
    result = Letters({"": "abc"}, {"a": 9.0}).run(Beam(max_depth=1))
    assert lines(result, "Calls") == ["Calls: 4: propose 1 of 4 (25 %), rate 3 of 4 (75 %)."]


def test_a_result_of_nothing_explains_itself_too() -> None:
    for running in (Search(Beam(), ""), Search(DFS(), "")):
        result = running.result()
        assert result.status is SearchStatus.RUNNING
        assert result.explain().startswith("Running: it has not ended; 1 node to depth 0.")
        assert (result.warnings, result.top(), result.value) == ((), [], None)


def test_an_action_that_the_task_could_not_read_is_shown_as_it_was_said() -> None:
    class Strict(Words):
        def show(self, action: Any) -> str:
            return f"move {action[0]}"  # of a tuple

    def parse(state: str, text: str) -> Any:
        return Illegal("unreadable") if text == "?" else (text,)

    running = Search(Beam(max_depth=1), "", parse=parse, step=lambda state, move: Stepped(state + move[0]))
    running.tell(0, Proposed(("a", "?")))
    running.tell(1, Rated((1.0,)))
    result = running.result().replace(task=Strict())
    assert [result.shown(n) for n in result.tree if n.id] == ["move a", "?"]
    assert result.tree[2].status is NodeStatus.ILLEGAL
