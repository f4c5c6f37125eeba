"""A model that answers by functions drives a program in every mode, through every adapter."""

from __future__ import annotations

import copy

import dspy
import pytest

from puzzle24 import PATH, PUZZLE, RATINGS, STEPS, call, drivers
from thoughtree import DFS, LATS, MCTS, RAP, Beam, Blocksworld, Game24, TreeOfThoughts
from thoughtree.testing import RuleLM

WORTH = {"sure": 1.0, "maybe": 0.5, "impossible": 0.0}


def propose(inputs, n):
    return STEPS.get(inputs["search_state"], [])[:n]


def word(inputs):
    return RATINGS.get(inputs["search_state"], "impossible")


@drivers
@pytest.mark.parametrize("adapter", [None, dspy.JSONAdapter(), dspy.XMLAdapter()])
@pytest.mark.parametrize("mode", ["value", "siblings", "vote", "pairs"])
def test_it_solves_a_puzzle_in_every_mode(driver, adapter, mode):
    program = TreeOfThoughts(task=Game24(), rate=mode, controller=Beam(width=3))
    with dspy.context(adapter=adapter):
        found = call(program, RuleLM(propose=propose, rate=word), driver, numbers=PUZZLE)
    assert found.search.path == PATH


@pytest.mark.parametrize(
    ("scale", "rule"),
    [
        ("unit", lambda inputs: WORTH[word(inputs)]),
        ("anchored", lambda inputs: 10 * WORTH[word(inputs)]),
        ({"great": 2, "poor": 1}, lambda inputs: "great" if word(inputs) == "sure" else "poor"),
    ],
)
@pytest.mark.parametrize("mode", ["value", "siblings"])
def test_it_rates_on_every_scale(scale, rule, mode):
    program = TreeOfThoughts(task=Game24(), rate=mode, scale=scale, controller=Beam(width=1, max_depth=1))
    found = call(program, RuleLM(propose=propose, rate=rule), numbers=PUZZLE)
    assert found.search.unread == {}
    assert found.search.path == ["10-4=6"]


def test_it_is_told_the_state_and_the_path_in_every_mode():
    seen = {}
    for mode in ("value", "siblings"):

        def rate(inputs, mode=mode):
            seen.setdefault(mode, []).append(dict(inputs))
            return "maybe"

        program = TreeOfThoughts(task=Game24(), rate=mode, controller=Beam(max_depth=1), concurrency=1)
        call(program, RuleLM(propose=propose, rate=rate), numbers=PUZZLE)
    assert [i["search_state"] for i in seen["value"]] == ["6 9 13", "10 13 13", "9 10 52"]
    assert [i["search_state"] for i in seen["siblings"]] == ["6 9 13", "10 13 13", "9 10 52"]
    assert [i["search_path"] for i in seen["siblings"]] == ["10-4=6", "4+9=13", "13*4=52"]
    assert {i["numbers"] for i in seen["value"] + seen["siblings"]} == {PUZZLE}


@drivers
def test_it_answers_by_a_value_or_by_fields(driver):
    for answer in (lambda inputs: "42", lambda inputs: {"answer": "42"}):
        rules = RuleLM(propose=lambda inputs, n: ["a"], rate=lambda inputs: "sure", answer=answer)
        found = call(
            TreeOfThoughts("question -> answer: int", controller=Beam(max_depth=1)), rules, driver, question="q"
        )
        assert found.answer == 42


@drivers
def test_a_missing_rule_says_which(driver):
    found = call(TreeOfThoughts(task=Game24()), RuleLM(propose=propose), driver, numbers=PUZZLE)
    assert "RuleLM(rate=None): the program has the model rate, and there is no rule for it" in found.search.first_error


def test_a_word_that_cannot_be_compared_says_so():
    rules = RuleLM(propose=propose, rate=lambda inputs: "great")
    found = call(TreeOfThoughts(task=Game24(), rate="pairs"), rules, numbers=PUZZLE)
    assert "rate gave 'great': to vote or compare, give a number" in found.search.first_error


def test_no_proposal_is_a_dead_end_and_no_failure():
    rules = RuleLM(propose=lambda inputs, n: [], rate=word)
    found = call(TreeOfThoughts(task=Game24(), controller=DFS()), rules, numbers=PUZZLE)
    assert (found.search.spent.calls, found.search.unread, found.search.failed) == (1, {}, 0)


def test_a_copy_answers_by_the_same_functions():
    rules = RuleLM(propose=propose, rate=word)
    program = TreeOfThoughts(task=Game24(), controller=DFS())
    program.set_lm(copy.deepcopy(rules))
    assert call(program, None, numbers=PUZZLE).search.path == PATH


@drivers
def test_it_acts_judges_and_reflects(driver):
    """The first attempt earns a lesson; the lesson makes the second one right."""
    seen = []

    def act(inputs):
        seen.append(inputs["search_lessons"])
        return "four" if "spell" in inputs["search_lessons"] else "4"

    def reward(inputs, prediction):
        return float(prediction.answer == "four")

    program = LATS("question -> answer", reward_fn=reward, controller=MCTS(rollouts=2, branching=1))
    model = RuleLM(act=act, judge=lambda inputs: 0.25, reflect=lambda inputs: "Always spell the number out.")
    found = call(program, model, driver, question="2 + 2?")
    assert (found.answer, found.search.status) == ("four", "solved")
    assert ["spell" in lessons for lessons in seen] == [False, True]
    assert found.search.tree[1].value == 0.5 * 0.25  # the model's half, and the reward's: 0


@drivers
def test_it_predicts_and_approves(driver):
    program = RAP(task=Blocksworld(), controller=MCTS(rollouts=1, branching=1))
    model = RuleLM(
        propose=lambda inputs, n: ["pick up the red block"],
        predict=lambda inputs: "holding(red)\nontable(blue)\nclear(blue)",
        approve=lambda inputs: "yes",
    )
    found = call(program, model, driver, initial="ontable(red), ontable(blue)", goal="holding(red)")
    assert (found.search.path, found.search.status) == (["pick up the red block"], "solved")


def test_a_role_without_a_rule_says_which():
    program = LATS("question -> answer", reward_fn=lambda inputs, prediction: 0.0, controller=MCTS(rollouts=1))
    result = call(program, RuleLM(), "sync", question="?").search
    assert "RuleLM(act=None): the program has the model act, and there is no rule for it" in result.first_error
