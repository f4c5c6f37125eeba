"""Ask and tell: what is a reply, what it does to the tree, and what is no reply."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import pytest

from thoughtree.search import (
    DFS,
    Answered,
    Ask,
    Beam,
    BestFirst,
    Budget,
    Ended,
    Failed,
    Illegal,
    NodeStatus,
    Propose,
    Proposed,
    ProtocolError,
    Rate,
    Rated,
    Reflected,
    Search,
    SearchStatus,
    Step,
    Stepped,
    Unread,
    run,
)
from worlds import Letters, found


def test_a_search_opens_with_one_proposal_for_the_root() -> None:
    running = Search(Beam(branching=4), "root")
    assert running.ask() == [Ask(0, Propose(0, 4), 0, 0.0)]
    assert running.ask() == []  # draining changes nothing, and hands out nothing twice
    assert (running.status, running.done, len(running.tree)) == (SearchStatus.RUNNING, False, 1)


def test_code_steps_need_no_request_and_a_world_is_asked_one_a_child() -> None:
    coded, asked = Letters({"": "ab"}), Letters({"": "ab"})
    coded.run(Beam(max_depth=1))
    asked.run(Beam(max_depth=1), step=None)
    assert coded.asked == ["propose ", "rate a", "rate b"]
    assert asked.asked == ["propose ", "step a", "step b", "rate a", "rate b"]


def test_the_same_action_of_a_sibling_never_reaches_the_world() -> None:
    world = Letters({"": "aba"})
    result = world.run(Beam(max_depth=1), step=None)
    assert world.asked == ["propose ", "step a", "step b", "rate a", "rate b"]
    assert [(n.action, n.reason) for n in result.tree if n.status is NodeStatus.DUPLICATE] == [("a", 1)]


def test_parse_reads_before_siblings_are_compared() -> None:
    world = Letters({"": ("A.", "a", "x!", "b")}, illegal="x")  # type: ignore[dict-item]

    def parse(state: str, text: str) -> str | Illegal:
        return Illegal("empty") if not text.strip("!.") else text.strip("!.").lower()

    result = world.run(Beam(max_depth=1), parse=parse)
    assert [(n.action, n.status, n.reason) for n in result.tree if n.id] == [
        ("a", NodeStatus.OPEN, None),
        ("a", NodeStatus.DUPLICATE, 1),
        ("x", NodeStatus.ILLEGAL, "no x"),
        ("b", NodeStatus.OPEN, None),
    ]


def test_a_parse_that_refuses_keeps_what_was_said() -> None:
    def parse(state: str, text: str) -> str | Illegal:
        raise Illegal("no such move")

    result = Letters({"": "a"}).run(Beam(), parse=parse)
    assert [(n.action, n.status, n.reason) for n in result.tree if n.id] == [("a", NodeStatus.ILLEGAL, "no such move")]


@pytest.mark.parametrize("returned", [True, False])
def test_illegal_may_be_returned_or_raised(returned: bool) -> None:
    def step(state: str, action: str) -> Stepped | Illegal:
        if returned:
            return Illegal("never")
        raise Illegal("never")

    result = Letters({"": "ab"}).run(Beam(), step=step)
    assert result.rules_broken() == {"never": 2}


def test_an_error_in_the_tasks_code_is_that_childs_failure_alone() -> None:
    def step(state: str, action: str) -> Stepped:
        if action == "b":
            raise AttributeError("'str' object has no attribute 'board'")
        return Stepped(state + action)

    result = Letters({"": "abc"}).run(Beam(max_depth=1), step=step)
    assert [(n.action, n.status) for n in result.tree if n.id] == [
        ("a", NodeStatus.OPEN),
        ("b", NodeStatus.FAILED),
        ("c", NodeStatus.OPEN),
    ]
    assert result.errors == {"AttributeError: 'str' object has no attribute 'board'": 1}


def test_actions_without_a_hash_are_compared_by_their_text() -> None:
    calls = ({"tool": "look", "at": [1]}, {"tool": "go"}, {"tool": "look", "at": [1]})
    for step in (None, lambda state, action: Stepped(state + action["tool"])):
        running = Search(Beam(max_depth=1), "", step=step)
        running.tell(0, Proposed(calls))
        assert [n.status for n in running.tree][1:] == [
            NodeStatus.OPEN,
            NodeStatus.OPEN,
            NodeStatus.DUPLICATE,
        ]


def test_a_key_without_a_hash_is_the_tasks_failure() -> None:
    def step(state: str, action: str) -> Stepped:
        return Stepped(state + action, key=[state, action])

    result = Letters({"": "a"}).run(Beam(), step=step)
    assert result.first_error == "TypeError: Stepped(key=['', 'a']): must be hashable, such as a tuple or a string"
    assert result.ended is Ended.ERROR


def test_without_a_key_no_state_is_a_duplicate() -> None:
    world = Letters({"": "ab", "a": "c", "b": "c"}, key=None)
    result = world.run(Beam(max_depth=2), step=lambda state, action: Stepped("same"))
    assert result.duplicates() == 0


def test_a_solved_node_is_never_rated_or_expanded() -> None:
    world = Letters({"": "ab", "a": "c", "b": "d"}, goals=("a",))
    result = world.run(Beam())
    assert world.asked == ["propose "]
    assert (found(result, NodeStatus.SOLVED), result.best.children) == (["a"], ())


@pytest.mark.parametrize("controller", [Beam(), DFS(), BestFirst()])
def test_what_the_model_calls_final_ends_the_search_unverified(controller: Any) -> None:
    def step(state: str, action: str) -> Stepped:
        return Stepped(state + action, claimed=action == "b", value=1.0 if action == "b" else None)

    world = Letters({"": "abc"})
    result = world.run(controller, step=step)
    assert (result.status, result.ended) == (SearchStatus.UNVERIFIED, Ended.GOAL)
    assert (result.best.state, result.value, result.best.status) == ("b", 1.0, NodeStatus.TERMINAL)
    assert world.asked == ["propose "]


def test_a_step_in_a_world_may_solve_claim_break_a_rule_be_unread_or_lost() -> None:
    outcomes = (
        Stepped("s1", terminal=True, reward=0.5, observation="a wall"),
        Illegal("no jumping"),
        Unread("???"),
        Failed("timeout"),
        Stepped("s5", missed=True),
    )
    running = Search(BestFirst(branching=None, keep=None), "s0")
    running.tell(running.ask()[0].id, Proposed(tuple("abcde")))
    for ask, outcome in zip(running.ask(), outcomes, strict=True):
        assert isinstance(ask.request, Step)
        running.tell(ask.id, outcome)
    nodes = list(running.tree)[1:]
    assert [(n.status, n.reason) for n in nodes] == [
        (NodeStatus.TERMINAL, "not a goal"),
        (NodeStatus.ILLEGAL, "no jumping"),
        (NodeStatus.FAILED, "the reply could not be read"),
        (NodeStatus.FAILED, "timeout"),
        (NodeStatus.OPEN, None),
    ]
    assert (nodes[0].reward, nodes[0].observation, nodes[4].missed) == (0.5, "a wall", True)
    assert [ask.request for ask in running.ask()] == [Rate((5,))]
    assert (running.unread["step"], running.failed) == (1, 1)


def test_unread_proposals_leave_the_node_expanded_with_that_reason() -> None:
    running = Search(Beam(), "")
    running.tell(0, Unread("I would look that up."))
    assert (running.tree.root.status, running.tree.root.reason) == (
        NodeStatus.EXPANDED,
        "the proposals could not be read",
    )
    assert (running.status, running.ended) == (SearchStatus.FAILED, Ended.SEARCHED_OUT)


def test_a_proposer_that_never_proposes_ends_the_search() -> None:
    asked = [0]

    def answer(request: Any, tree: Any) -> Unread:
        asked[0] += 1
        return Unread("I would look that up.")

    result = run(Search(BestFirst(), "", retries={Propose: 1}), answer)
    assert (asked[0], result.status, result.ended) == (2, SearchStatus.FAILED, Ended.SEARCHED_OUT)


@pytest.mark.parametrize(
    ("request_kind", "outcome"),
    [
        (Propose, Rated((1.0,))),
        (Propose, Illegal("no")),
        (Propose, Answered({})),
        (Rate, Rated((1.0, 2.0))),
        (Rate, Rated(())),
        (Rate, Proposed(())),
        (Rate, Reflected("well")),
        (Propose, None),
        (Rate, 1.0),
    ],
)
def test_an_outcome_of_the_wrong_kind_is_refused_and_changes_nothing(request_kind: Any, outcome: Any) -> None:
    running = Search(Beam(), "", step=Letters({}).step)
    if request_kind is Rate:
        running.tell(0, Proposed(("a",)))
    id = int(request_kind is Rate)
    with pytest.raises(ProtocolError, match="does not answer"):
        running.tell(id, outcome)
    assert running.spent.calls == id
    running.tell(id, Rated((1.0,)) if id else Proposed(("a",)))


def test_a_reply_to_nothing_is_refused() -> None:
    running = Search(Beam(), "")
    with pytest.raises(ProtocolError, match="reply 7 answers no open request"):
        running.tell(7, Proposed(()))
    running.tell(0, Proposed(()))
    with pytest.raises(ProtocolError, match="reply 0 answers no open request"):
        running.tell(0, Proposed(()))


def test_stop_keeps_the_best_so_far_and_late_replies_are_counted_only() -> None:
    running = Search(Beam(), "", step=Letters({}).step)
    running.tell(0, Proposed(("a", "b")))
    running.tell(1, Rated((3.0,)))
    running.stop()
    assert (running.status, running.ended, running.best().state) == (
        SearchStatus.UNVERIFIED,
        Ended.STOPPED,
        "a",
    )
    running.tell(2, Rated((9.0,)))
    assert (running.spent.calls, running.tree[2].value) == (3, None)
    running.stop()
    assert running.ended is Ended.STOPPED


def test_what_was_told_of_an_incomplete_batch_counts_at_the_end() -> None:
    running = Search(Beam(), "", step=Letters({}).step)
    running.tell(0, Proposed(("a", "b")))
    running.tell(2, Rated((9.0,)))
    assert running.tree[2].value is None  # its batch waits for the first
    running.stop()
    assert running.tree[2].value == 9.0


def test_a_result_can_be_read_at_any_time() -> None:
    running = Search(Beam(), "", step=Letters({}).step)
    result = running.result()
    assert (result.status, result.best.id, result.path) == (SearchStatus.RUNNING, 0, [])
    running.tell(0, Proposed(("a",)))
    running.tell(1, Rated((3.0,)))
    assert running.result().path == ["a"]
    assert running.result().summary() == "running (not ended): a [2 calls, 2 nodes]"


def test_a_direct_answer_comes_first_and_ends_it_where_code_accepts_it() -> None:
    running = Search(Beam(), "", first=True)
    (ask,) = running.ask()
    running.tell(ask.id, Answered({"answer": 24}, verified=True))
    result = running.result()
    assert (result.status, result.ended, result.spent.calls) == (SearchStatus.SOLVED, Ended.GOAL, 1)
    assert (result.answer, result.path) == ({"answer": 24}, ["24"])


def test_a_direct_answer_that_is_not_accepted_is_the_last_resort() -> None:
    running = Search(Beam(), "", first=True, step=Letters({}).step)
    running.tell(0, Answered({"answer": 23}, rule="23 is not 24"))
    assert (running.tree[1].status, running.tree[1].reason) == (NodeStatus.TERMINAL, "23 is not 24")
    assert running.best().id == 1
    (ask,) = running.ask()
    running.tell(ask.id, Proposed(("a",)))
    assert running.best().state == "a"


@pytest.mark.parametrize("lost", [Failed("down"), Unread("?")])
def test_a_lost_direct_answer_leaves_the_search_as_it_would_have_been(lost: Any) -> None:
    with_answer, without = (Letters({"": "ab", "a": "c"}, {"a": 5.0}) for _ in range(2))
    running = Search(Beam(), "", first=True, step=with_answer.step, root_key="")
    running.tell(0, lost)
    result = run(running, with_answer.answer)
    other = without.run(Beam())
    assert [(n.state, n.status, n.value) for n in result.tree] == [(n.state, n.status, n.value) for n in other.tree]
    assert result.spent.calls == other.spent.calls + 1


def test_independent_samples_are_requests_of_their_own_and_one_lost_fails_nobody() -> None:
    running = Search(Beam(branching=3, max_depth=1), "", step=Letters({}).step, sampled=True)
    asks = running.ask()
    assert [ask.request for ask in asks] == [Propose(0, 1, sample) for sample in range(3)]
    running.tell(asks[2].id, Proposed(("a",)))
    running.tell(asks[0].id, Failed("down"))
    running.tell(asks[1].id, Proposed(("a", "b")))  # one was asked for
    root = running.tree.root
    assert (root.status, root.reason) == (NodeStatus.EXPANDED, None)
    assert [(n.action, n.status) for n in running.tree][1:] == [
        ("a", NodeStatus.OPEN),
        ("a", NodeStatus.DUPLICATE),
    ]


def test_values_go_to_the_nodes_that_they_are_about() -> None:
    # Of [end, open, end, open] only the open ones are rated, and get what was said about them.
    world = Letters({"": "abcd"}, ends=("a", "c"))
    running = Search(Beam(max_depth=1), "", step=world.step)
    running.tell(0, Proposed(tuple("abcd")))
    asks = {ask.request: ask.id for ask in running.ask()}
    assert set(asks) == {Rate((2,)), Rate((4,))}
    running.tell(asks[Rate((4,))], Rated((0.9,)))
    running.tell(asks[Rate((2,))], Rated((0.2,)))
    assert [n.value for n in running.tree] == [None, None, 0.2, None, 0.9]


def test_priors_stay_with_their_actions() -> None:
    running = Search(Beam(branching=2), "", step=Letters({}).step)
    running.tell(0, Proposed(("a", "b", "c"), priors=(0.5, 0.25, 0.25)))
    assert [(n.action, n.prior) for n in running.tree][1:] == [("a", 0.5), ("b", 0.25)]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Proposed(("a", "b"), priors=(1.0,)), "for each of the 2 actions"),
        (
            lambda: Proposed(("a",), priors=(-0.1,)),
            r"Proposed\(priors=\(-0.1,\)\): must be one finite non-negative",
        ),
        (lambda: Proposed(("a",), priors=(float("nan"),)), "finite"),
        (lambda: Stepped("s", reward=float("inf")), r"Stepped\(reward=inf\): must be a finite number"),
        (lambda: Stepped("s", value=float("nan")), r"Stepped\(value=nan\): must be a finite number, or None"),
        (lambda: Rated((1.0, float("-inf"))), "must be finite; what is no number is Unread"),
        (lambda: Rated((1.0,), ("sure", "maybe")), "must be one for each of 1 values"),
        (
            lambda: Answered({}, reward=float("nan")),
            r"Answered\(reward=nan\): must be a finite number, or None",
        ),
    ],
)
def test_an_outcome_that_is_no_number_cannot_be_made(make: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


def test_without_a_ceiling_no_tree_hangs_on_the_order_of_replies_within_a_batch() -> None:
    worlds = []
    for order in permutations(range(3)):
        running = Search(Beam(width=2, max_depth=1), "", step=Letters({}).step)
        running.tell(0, Proposed(("a", "b", "c")))
        asks = running.ask()
        for i in order:
            running.tell(asks[i].id, Rated((float(i % 2),)))
        worlds.append([(n.state, n.value, n.status) for n in running.tree])
    assert all(world == worlds[0] for world in worlds)
    assert worlds[0][1:] == [
        ("a", 0.0, NodeStatus.OPEN),
        ("b", 1.0, NodeStatus.OPEN),
        ("c", 0.0, NodeStatus.PRUNED),
    ]


def test_the_global_random_state_is_not_touched() -> None:
    random.seed(5)
    state = random.getstate()
    Letters({"": "abcdefgh"}).run(Beam(width=2, select="sample", ties="seed"), seed=1)
    assert random.getstate() == state


def test_a_budget_of_seconds_is_the_drivers_and_moves_nothing_here() -> None:
    assert Letters({"": "ab"}).run(Beam(max_depth=1), budget=Budget(seconds=1e-9)).ended is Ended.SEARCHED_OUT
