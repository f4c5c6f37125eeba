"""Proposers' replies: unread, empty, cut by the token limit, the same twice."""

from __future__ import annotations

from engines import lm, response
from one_level import children, flat, says
from puzzle24 import PUZZLE, call, drivers, engine
from thoughtree import DFS, Beam, Game24, NodeStatus, SearchStatus, TreeOfThoughts

# Replies


@drivers
def test_an_unread_reply_is_asked_again_once(driver):
    model = engine(lambda kind, inputs, n: {"next_thoughts": "" if n == 1 else "1. a"})
    found = call(flat(), model, driver, question="q")
    assert (children(found), model.count()) == (["a"], 2)
    assert found.search.unread == {"propose": 1}
    assert found.search.failed == 0


def test_a_proposer_that_never_says_anything_ends_the_search():
    model = says("")
    found = call(flat(controller=DFS()), model, question="q")
    assert model.count() == 2
    assert found.search.status is SearchStatus.FAILED
    assert found.search.ended == "searched out"
    assert found.search.tree.root.reason == "the proposals could not be read"


def test_an_answer_that_no_rule_allows_ends_too():
    """Every reply says the same useless thing: each node is expanded once, and then nothing is left."""
    model = engine(lambda kind, inputs, n: {"next_thoughts": "I would look that up."})
    found = call(TreeOfThoughts(task=Game24(), controller=DFS()), model, numbers=PUZZLE)
    assert model.count() <= 2
    assert found.search.status is SearchStatus.FAILED


@drivers
def test_no_path_holds_a_blank_step_however_deep_and_each_prompt_shows_its_path(driver):
    def fn(kind, inputs, n):
        steps = [line for line in inputs["search_path"].splitlines() if line != "(none yet)"]
        if len(steps) == 3:
            return {"next_thoughts": "" if steps[-1] == "3. left" else "1. \n2. right\n3.  "}
        return {"next_thoughts": "1. left\n2. right"}

    model = engine(fn)
    found = call(flat(controller=Beam(width=None, branching=2, max_depth=5)), model, driver, question="q")
    paths = [found.search.steps(node) for node in found.search.tree]
    assert max(map(len, paths)) == 5
    assert {step for path in paths for step in path} == {"left", "right"}
    # Of the eight nodes at depth 3, four end in "left": each is asked twice, and has no child.
    assert found.search.unread == {"propose": 4 * 2}
    shown = {"\n".join(f"{i}. {step}" for i, step in enumerate(path, 1)) or "(none yet)" for path in paths}
    assert all(asked.inputs["search_path"] in shown for asked in model.calls)
    assert len({asked.inputs["search_path"] for asked in model.calls}) == 1 + 2 + 4 + 8 + 4


@drivers
def test_a_reply_cut_by_the_token_limit_loses_its_last_half_step(driver):
    def fn(kind, inputs, n):
        return response("[[ ## next_thoughts ## ]]\n1. whole\n2. Subtract 15 from one of", finish="length")

    found = call(flat(), engine(fn), driver, question="q")
    assert children(found) == ["whole"]


@drivers
def test_a_reply_cut_before_anything_was_said_gets_more_room(driver):
    def fn(kind, inputs, n):
        if n == 1:
            return response("", finish="length")
        return response("[[ ## next_thoughts ## ]]\n1. a\n\n[[ ## completed ## ]]")

    model = engine(fn)
    found = call(flat(), lm(model, max_tokens=100), driver, question="q")
    assert children(found) == ["a"]
    assert [c.request.config.max_tokens for c in model.calls] == [100, 200]
    assert found.search.unread == {"propose": 1}


def test_a_reply_that_was_whole_when_the_limit_came_is_whole():
    def fn(kind, inputs, n):
        return response("[[ ## next_thoughts ## ]]\n1. a\n2. b\n\n[[ ## completed ## ]]", finish="length")

    assert children(call(flat(), engine(fn), question="q")) == ["a", "b"]


@drivers
def test_siblings_that_say_the_same_are_one(driver):
    def propose(inputs, node, n):
        return ["Think.", "think", "other"]

    found = call(flat(propose=propose), None, driver, question="q")
    assert [n.status for n in found.search.tree if n.depth] == [
        NodeStatus.OPEN,
        NodeStatus.DUPLICATE,
        NodeStatus.OPEN,
    ]
    assert found.search.tree[2].reason == 1  # of this node
    assert found.search.duplicates() == 1
