"""Blocksworld: its rules and moves, what it reads and writes, plans, searches, and the world to act in."""

import copy
import json
import pickle
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoughtree.search import BestFirst, Illegal, Propose, Proposed, Rate, Rated, Rating, Search, run
from thoughtree.search.environment import Environment, LiveEnvironment
from thoughtree.tasks import (
    BlockMove,
    Blocksworld,
    BlocksworldEnvironment,
    BlocksworldState,
    LiveBlocksworld,
    Task,
    stepping,
)
from thoughtree.tasks.blocksworld_examples import BLOCKSWORLD_EXAMPLES
from thoughtree.tasks.blocksworld_facts import completed, fact, moved, parts, violated
from thoughtree.tasks.blocksworld_move import legal
from thoughtree.tasks.blocksworld_text import in_pddl, in_words, read_facts

TOWER = {"initial": "on(amber,coral), ontable(coral), ontable(jade)", "goal": "on(coral,jade)"}
PLAN = ["unstack amber from coral", "put down amber", "pick up coral", "stack coral on top of jade"]
WORLD = Blocksworld()


def facts(text):
    return frozenset(text.split())


def start(inputs=TOWER):
    return WORLD.initial(inputs)


def play(state, *texts):
    for text in texts:
        action = WORLD.parse(text, state)
        assert not isinstance(action, Illegal), (text, action)
        state = WORLD.apply(state, action)
        assert not isinstance(state, Illegal), (text, state)
    return state


# -- the rules of the world


@pytest.mark.parametrize(
    ("state", "broken"),
    [
        ("ontable(a) on(b,a) clear(b) handempty", []),
        ("ontable(a) on(b,a) holding(c)", []),  # what follows from places may be left out
        ("ontable(a) ontable(b) on(b,a) handempty", ["block in two places"]),
        ("ontable(a) holding(a)", ["block in two places"]),
        ("ontable(a) on(b,a) on(c,a) handempty", ["two blocks on one"]),
        ("holding(a) holding(b)", ["two blocks held"]),
        ("ontable(b) holding(a) handempty", ["hand empty and holding"]),
        ("ontable(a) on(b,a) clear(a) clear(b)", ["block clear under another"]),
        ("ontable(b) holding(a) clear(a)", ["block clear in the hand"]),
        ("holding(a) on(b,a)", ["block on one in the hand"]),
        ("on(a,b) on(b,a)", ["blocks in a circle"]),
        ("on(a,b) on(b,c) on(c,a) ontable(d)", ["blocks in a circle"]),
        ("on(a,a)", ["blocks in a circle"]),
        ("on(a,b)", ["block nowhere"]),
        ("clear(a)", ["block nowhere"]),
        ("above(a,b)", ["unknown fact"]),
        ("on(a)", ["unknown fact"]),
    ],
)
def test_rules(state, broken):
    assert violated(facts(state)) == broken


def test_rules_know_the_blocks_of_the_problem():
    task = WORLD.for_inputs(TOWER)
    gone = BlocksworldState(facts("ontable(coral) ontable(jade)"), task.start.goal)
    more = BlocksworldState(task.start.facts | {"ontable(opal)"}, task.start.goal)
    assert task.rules(gone) == ["block nowhere"]
    assert task.rules(more) == ["unknown block"]
    assert task.rules(task.start) == []


def test_what_follows_from_the_places_of_blocks():
    assert completed(facts("on(a,b) ontable(b)")) == facts("on(a,b) ontable(b) clear(a) handempty")
    assert completed(facts("holding(a) ontable(b)")) == facts("holding(a) ontable(b) clear(b)")
    assert moved(facts("on(a,b) ontable(b) clear(a) handempty"), ["ontable(a)"]) == facts(
        "ontable(a) ontable(b) clear(a) clear(b) handempty"
    )
    assert moved(facts("holding(a) ontable(b) clear(b)"), ["handempty"]) == facts("ontable(b) clear(b) handempty")


def test_each_move_changes_the_facts_that_it_should():
    states = [start().facts]
    for k in range(len(PLAN)):
        states.append(play(start(), *PLAN[: k + 1]).facts)
    gained = [sorted(new - old) for old, new in pairwise(states)]
    lost = [sorted(old - new) for old, new in pairwise(states)]
    assert gained == [
        ["clear(coral)", "holding(amber)"],
        ["clear(amber)", "handempty", "ontable(amber)"],
        ["holding(coral)"],
        ["clear(coral)", "handempty", "on(coral,jade)"],
    ]
    assert lost == [
        ["clear(amber)", "handempty", "on(amber,coral)"],
        ["holding(amber)"],
        ["clear(coral)", "handempty", "ontable(coral)"],
        ["clear(jade)", "holding(coral)"],
    ]


@pytest.mark.parametrize(
    ("done", "text", "rule"),
    [
        (0, "pick up coral", "block not clear"),
        (0, "pick up amber", "block not on the table"),
        (0, "unstack amber from jade", "block not on that block"),
        (0, "unstack jade from coral", "block not on that block"),
        (0, "put down amber", "block not held"),
        (0, "stack amber on coral", "block not held"),
        (1, "pick up jade", "hand not empty"),
        (1, "put down jade", "block not held"),
        (1, "stack amber on amber", "block below not clear"),
        (2, "stack amber on jade", "block not held"),
    ],
)
def test_illegal_moves_say_which_rule(done, text, rule):
    state = play(start(), *PLAN[:done])
    assert WORLD.apply(state, WORLD.parse(text, state)) == Illegal(rule)


def test_a_move_of_a_block_that_is_not_there_is_illegal():
    assert WORLD.apply(start(), BlockMove("pick up", "opal")) == Illegal("unknown block")
    assert WORLD.parse("pick up opal", start()) == Illegal("unknown block")


def test_moves_come_in_a_fixed_order():
    assert list(map(str, WORLD.moves(start()))) == [
        "unstack the amber block from on top of the coral block",
        "pick up the jade block",
    ]
    assert list(map(str, WORLD.moves(play(start(), PLAN[0])))) == [
        "put down the amber block",
        "stack the amber block on top of the coral block",
        "stack the amber block on top of the jade block",
    ]
    assert legal(facts("ontable(a) clear(a)")) == []  # neither empty nor holding: no state of this world


def _worlds(seed, names):
    rng, names = Random(seed), list(names)
    rng.shuffle(names)
    found, tops = [], []
    if rng.random() < 0.3:
        found.append(fact("holding", names.pop()))
    for name in names:
        under = tops.pop(rng.randrange(len(tops))) if tops and rng.random() < 0.5 else None
        found.append(fact("ontable", name) if under is None else fact("on", name, under))
        tops.append(name)
    return completed(found)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_every_listed_move_is_legal_and_can_be_undone_and_no_other_is_legal(seed, count):
    before = BlocksworldState(_worlds(seed, "abcdef"[:count]), frozenset({"on(a,b)"}))
    moves = WORLD.moves(before)
    undo = {"pick up": "put down", "put down": "pick up", "stack": "unstack", "unstack": "stack"}
    for move in moves:
        after = WORLD.apply(before, move)
        assert violated(after.facts) == []
        assert completed(after.facts) == after.facts
        assert WORLD.apply(after, BlockMove(undo[move.verb], move.block, move.other)).facts == before.facts
        assert WORLD.parse(str(move), before) == WORLD.parse(move.pddl, before) == move
    names = sorted("abcdef"[:count])
    every = [BlockMove(verb, a) for verb in ("pick up", "put down") for a in names]
    every += [BlockMove(verb, a, b) for verb in ("stack", "unstack") for a in names for b in names]
    assert {m for m in every if not isinstance(WORLD.apply(before, m), Illegal)} == set(moves)


# -- actions in text


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("unstack the amber block from on top of the coral block", BlockMove("unstack", "amber", "coral")),
        ("Unstack amber from coral.", BlockMove("unstack", "amber", "coral")),
        ("(unstack amber coral)", BlockMove("unstack", "amber", "coral")),
        ("unstack(amber, coral)", BlockMove("unstack", "amber", "coral")),
        ("take the amber block off the coral block", BlockMove("unstack", "amber", "coral")),
        ("pick up amber from on top of coral", BlockMove("unstack", "amber", "coral")),
        ("pick up the jade block", BlockMove("pick up", "jade")),
        ("**Pick up** the jade block from the table", BlockMove("pick up", "jade")),
        ("pick-up jade", BlockMove("pick up", "jade")),
        ("(pick_up jade)", BlockMove("pick up", "jade")),
        ("pickup(jade)", BlockMove("pick up", "jade")),
        ("Action 1: pick up jade", BlockMove("pick up", "jade")),
        ("[ACTION 1] pick up jade", BlockMove("pick up", "jade")),
        ("1. pick up jade", BlockMove("pick up", "jade")),
        ("I will pick up the jade block", BlockMove("pick up", "jade")),
        ("put down amber on the table", BlockMove("put down", "amber")),
        ("(put-down amber)", BlockMove("put down", "amber")),
        ("put the amber block on the table", BlockMove("put down", "amber")),
        ("put amber down", BlockMove("put down", "amber")),
        ("stack the amber block on top of the jade block", BlockMove("stack", "amber", "jade")),
        ("stack amber on jade", BlockMove("stack", "amber", "jade")),
        ("place the amber block onto the jade block", BlockMove("stack", "amber", "jade")),
        ("stack amber jade", BlockMove("stack", "amber", "jade")),
        ("", Illegal("not an action of Blocksworld")),
        ("think about amber", Illegal("not an action of Blocksworld")),
        ("move amber from coral to jade", Illegal("not an action of Blocksworld")),
        ("unstack amber from coral, then put down amber", Illegal("several actions")),
        ("unstack amber from coral and put down amber", Illegal("several actions")),
        ("pick up jade\nstack jade on amber", Illegal("several actions")),
        ("pick up the opal block", Illegal("unknown block")),
    ],
)
def test_actions_are_read(text, move):
    assert WORLD.parse(text, start()) == move


# -- states and goals in text

WHOLE = facts("on(amber,coral) ontable(coral) ontable(jade) clear(amber) clear(jade) handempty")


@pytest.mark.parametrize(
    "given",
    [
        "on(amber,coral), ontable(coral), ontable(jade), clear(amber), clear(jade), handempty",
        "on(amber,coral) ontable(coral) ontable(jade)",
        ["on(amber,coral)", "ontable(coral)", "ontable(jade)"],
        ["on amber coral", "ontable coral", "ontable jade", "handempty"],
        "on amber coral\nontable coral\nontable jade\nclear amber\nclear jade",
        "(on amber coral) (ontable coral) (on-table jade) (arm-empty)",
        "(:init (on amber coral) (ontable coral) (ontable jade))",
        "(define (problem p) (:domain blocks) (:objects amber coral jade) (:init (on amber coral) (ontable coral) "
        "(ontable jade) (handempty)) (:goal (and (on jade amber))))",
        "The amber block is on top of the coral block, the coral block is on the table and the jade block is on the "
        "table. The hand is empty.",
        "As initial conditions I have that, the amber block is clear, the jade block is clear, the hand is empty, the "
        "amber block is on top of the coral block, the coral block is on the table and the jade block is on the table.",
        "amber is on coral; coral and jade are on the table; my hand is empty",
        "Coral is under amber. Coral and jade stand on the table.",
        "ON(AMBER, CORAL)\nONTABLE(CORAL)\nONTABLE(JADE)",
    ],
)
def test_states_are_read(given):
    assert WORLD.initial({"initial": given, "goal": "on(jade,amber)"}).facts == WHOLE


@pytest.mark.parametrize(
    "given",
    [
        "on(jade,amber), on(amber,coral)",
        ["on(jade,amber)", "the amber block is on the coral block"],
        "(and (on jade amber) (on amber coral))",
        "(define (problem p) (:init (ontable jade)) (:goal (and (on jade amber) (on amber coral))))",
        "My goal is to have that the jade block is on top of the amber block and the amber block is on top of the "
        "coral block.",
        "I want the jade block to be on the amber block. The amber block should be on the coral block.",
    ],
)
def test_goals_are_read(given):
    assert WORLD.initial(TOWER | {"goal": given}).goal == facts("on(jade,amber) on(amber,coral)")


@pytest.mark.parametrize("names", ["ab", ["b1", "b2"], ["1", "2"], ["red", "dark-red"], "ij"])
def test_blocks_may_be_called_anything(names):
    first, second = names
    for text in (
        f"on({first},{second}), ontable({second})",
        f"(on {first} {second}) (ontable {second})",
        f"block {first} is on top of block {second}, block {second} is on the table",
    ):
        state = WORLD.initial({"initial": text, "goal": f"on({second},{first})"})
        assert state.facts == {
            f"on({first},{second})",
            f"ontable({second})",
            f"clear({first})",
            "handempty",
        }
    assert WORLD.initial({"initial": "a is on b, b is on the table", "goal": "b is on a"}).goal == {"on(b,a)"}


@pytest.mark.parametrize(
    ("field", "given", "message"),
    [
        ("initial", "", r"initial='': no facts; write facts such as `on\(a,b\)"),
        ("initial", 5, r"initial=5: no text and no list"),
        ("initial", [5], r"initial: 5 is no text"),
        ("initial", "on(a,b", r"initial: unbalanced brackets in 'on\(a,b'"),
        ("initial", "on(a,b)", r"initial='on\(a,b\)': block nowhere; say where b is, such as `ontable\(b\)`"),
        ("initial", "on(a,b), on(b,a)", r"initial='on\(a,b\), on\(b,a\)': blocks in a circle"),
        ("initial", "on(a,c), on(b,c), ontable(c)", "two blocks on one"),
        ("initial", "holding(amber), handempty, ontable(coral)", "hand empty and holding"),
        ("initial", "the amber block is purple", r"no fact, in 'amber purple'"),
        ("initial", "hello", r"initial='hello': no fact"),
        ("goal", "", r"goal='': no facts, so that anything would do"),
        ("goal", [], r"goal=\[\]: no facts, so that anything would do"),
        ("goal", "on(amber,coral", r"goal: unbalanced brackets in 'on\(amber,coral'"),
        ("goal", "on(amber,opal)", r"goal: unknown block 'opal'; the blocks are amber, coral, jade"),
        ("goal", "the opal block is on the amber block", r"goal: unknown block 'opal'"),
        ("goal", "on(amber,jade), on(coral,jade)", r"cannot hold: two blocks on one"),
        ("goal", "on(amber,coral), on(coral,amber)", r"cannot hold: blocks in a circle"),
        ("goal", "on(amber,coral), clear(coral)", r"cannot hold: block clear under another"),
        ("goal", "not on(amber,coral)", r"goal='not on\(amber,coral\)' denies on\(amber,coral\); give only what holds"),
        ("goal", "(not (on amber coral))", r"denies on\(amber,coral\)"),
        ("goal", "above(amber,coral)", r"goal='above\(amber,coral\)': no fact"),
        ("goal", "on(amber)", r"goal='on\(amber\)': no fact"),
    ],
)
def test_input_that_is_no_problem_is_an_error_that_says_so(field, given, message):
    for ask in (WORLD.initial, WORLD.for_inputs):
        with pytest.raises(ValueError, match=message):
            ask(TOWER | {field: given})


@pytest.mark.parametrize("field", ["initial", "goal"])
def test_a_missing_field_is_an_error_that_names_it(field):
    inputs = {name: value for name, value in TOWER.items() if name != field}
    with pytest.raises(ValueError, match=f"has no field `{field}`; give initial="):
        WORLD.initial(inputs)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_what_is_written_is_read_again(seed):
    state = _worlds(seed, ["amber", "b2", "coral", "d"])
    for text in (in_pddl(state), "\n".join(map(in_words, state)), ", ".join(map(in_words, state)), "; ".join(state)):
        assert read_facts(text, "initial") == state


@given(st.text(alphabet="on(a,b) clehdigtpy.;:[]\n&<>", max_size=60))
def test_no_text_crashes_the_readers(text):
    WORLD.parse(text, start())
    try:
        state = WORLD.initial({"initial": text, "goal": "handempty"})
    except ValueError as error:
        assert str(error).startswith("initial")  # noqa: PT017
    else:
        assert violated(state.facts) == []


# -- the task


def test_styles():
    state, move = start(), BlockMove("stack", "amber", "jade")
    by_style = {style: Blocksworld(style) for style in ("facts", "words", "pddl")}
    assert by_style["facts"].render(state).splitlines()[2:4] == ["handempty", "on(amber,coral)"]
    assert by_style["words"].render(state).splitlines()[2] == "the hand is empty"
    assert by_style["pddl"].render(state).splitlines()[3] == "(on amber coral)"
    assert by_style["words"].show(move) == "stack the amber block on top of the jade block"
    assert by_style["pddl"].show(move) == "(stack amber jade)"
    for task in by_style.values():
        assert WORLD.initial(TOWER | {"initial": task.render(state)}).facts == state.facts
        assert task.action_format in task.instructions()
    with pytest.raises(ValueError, match=r"Blocksworld\(style='prose'\): must be 'facts', 'words' or 'pddl'"):
        Blocksworld("prose")


def test_goals_values_and_answers():
    inputs = TOWER | {"goal": "on(coral,jade), ontable(jade)"}
    states = [play(start(inputs), *PLAN[:k]) for k in range(5)]
    assert [WORLD.goal_share(state) for state in states] == [0.5, 0.5, 0.5, 0.5, 1.0]
    assert [WORLD.is_goal(state) for state in states] == [False] * 4 + [True]
    assert WORLD.value(states[4]) == 1.0
    assert WORLD.answer(states[4])["plan"].splitlines()[-1] == "stack the coral block on top of the jade block"
    assert not WORLD.is_terminal(states[4])
    assert all(WORLD.solvable(state) for state in states)
    assert not WORLD.solvable(BlocksworldState(facts("ontable(amber) on(amber,coral)"), states[0].goal))


@pytest.mark.parametrize(
    ("plan", "verdict"),
    [
        ("\n".join(PLAN), True),
        (PLAN, True),
        ("1. unstack amber from coral\n2. put down amber\n3. pick up coral\n4. stack coral on jade\n", True),
        ("(unstack amber coral)\n(put-down amber)\n(pick-up coral)\n(stack coral jade)", True),
        ("\n".join(PLAN[:3]), Illegal("goal not met")),
        ("", Illegal("goal not met")),
        (None, Illegal("goal not met")),
        ("pick up coral", Illegal("block not clear")),
        ("pick up opal", Illegal("unknown block")),
        ("do something", Illegal("not an action of Blocksworld")),
    ],
)
def test_check(plan, verdict):
    assert WORLD.for_inputs(TOWER).check({"plan": plan}) == verdict


def test_check_needs_the_problem():
    with pytest.raises(ValueError, match=r"ask for_inputs\(inputs\)\.check\(fields\)"):
        WORLD.check({"plan": ""})


def test_two_ways_to_the_same_facts_are_one_state():
    there = play(start(), "pick up jade", "put down jade")
    assert there.plan == ("pick up the jade block", "put down the jade block")
    assert WORLD.key(there) == WORLD.key(start())
    assert there != start()


def test_a_prediction_becomes_a_state_and_the_rules_judge_it():
    task = WORLD.for_inputs(TOWER)
    said = task.predicted(task.start, BlockMove("unstack", "amber", "coral"), ["holding(amber)", "ontable(coral)"])
    assert said.plan == ("unstack the amber block from on top of the coral block",)
    assert task.rules(said) == ["block nowhere"]  # nobody said where jade is
    whole = task.predicted(task.start, BlockMove("pick up", "jade"), [*said.facts, "ontable(jade)"])
    assert whole.facts == facts("holding(amber) ontable(coral) ontable(jade) clear(coral) clear(jade)")
    assert task.rules(whole) == []


def test_tasks_and_states_are_values_and_states_come_back_from_json():
    task = Blocksworld("pddl").for_inputs(TOWER)
    assert copy.deepcopy(task) == pickle.loads(pickle.dumps(task)) == task
    assert Blocksworld(**task.config()) == Blocksworld("pddl")
    state = play(start(), *PLAN[:2])
    assert task.load(json.loads(json.dumps(task.dump(state)))) == state
    assert json.dumps(task.dump(state)) == json.dumps(task.dump(WORLD.load(task.dump(state))))
    assert isinstance(task, Task)


@pytest.mark.parametrize(("example", "length"), list(zip(BLOCKSWORLD_EXAMPLES, (2, 4, 6), strict=True)))
def test_examples_are_solved_in_as_many_steps_as_they_say(example, length):
    task = WORLD.for_inputs(example)

    def answer(request, tree):
        match request:
            case Propose(id):
                return Proposed(tuple(task.moves(tree[id].state)))
            case Rate((id,)):
                return Rated((-float(tree[id].depth),))  # breadth first

    search = Search(
        BestFirst(branching=None, keep=None, expansions=10_000, max_depth=20),
        task.start,
        parse=lambda state, action: action,
        step=lambda state, action: stepping.step(task, state, action),
        rating=Rating(cut=None, low=-100.0, high=0.0),
        root_key=task.key(task.start),
    )
    result = run(search, answer)
    assert len(result.path) == len(result.best.state.plan) == length
    assert task.check(task.answer(result.best.state)) is True


# -- the world to act in


def test_the_environment_steps_as_the_task_does():
    world = BlocksworldEnvironment()
    assert isinstance(world, Environment)
    state = world.initial(TOWER)
    for text in PLAN:
        seen = world.step(state, text)
        assert seen.state == play(state, text)
        assert seen.key == seen.state.facts
        assert seen.observation == WORLD.render(seen.state)
        state = seen.state
    assert (seen.solved, seen.terminal, seen.value) == (True, True, 1.0)


def test_an_action_that_the_world_refuses_changes_nothing():
    world = BlocksworldEnvironment()
    live = LiveBlocksworld(world, TOWER)
    for action, rule in (("pick up coral", "block not clear"), (BlockMove("put down", "jade"), "block not held")):
        with pytest.raises(Illegal, match=rule):
            world.step(world.initial(TOWER), action)
        with pytest.raises(Illegal, match=rule):
            live.step(action)
    assert live.state == start()


def test_a_block_that_slips_falls_on_the_table():
    clumsy = BlocksworldEnvironment(drop=1.0)
    seen = clumsy.step(clumsy.initial(TOWER), "unstack amber from coral")
    on_table = facts("ontable(amber) ontable(coral) ontable(jade) clear(amber) clear(coral) clear(jade) handempty")
    assert seen.state.facts == on_table
    assert seen.observation.startswith("unstack the amber block from on top of the coral block: the block slipped")
    held = play(start(), "pick up jade")
    assert clumsy.step(held, "stack jade on amber").state.facts == start().facts
    assert clumsy.step(held, "put down jade").state == play(held, "put down jade")  # nowhere to fall
    assert clumsy.step(start(), "pick up jade").state.facts == start().facts


def test_chance_is_the_seed_s_and_has_no_memory():
    def slips(world, state):
        return world.step(state, "pick up jade").state.facts == state.facts

    state = start()
    half = [BlocksworldEnvironment(drop=0.5, seed=seed) for seed in range(400)]
    slipped = [slips(world, state) for world in half]
    assert slipped == [slips(world, state) for world in half]
    assert 160 < sum(slipped) < 240  # within four standard deviations of 200
    later = play(state, "pick up jade", "put down jade")  # the same facts, two moves later
    assert [slips(world, later) for world in half] != slipped
    for wrong in (-0.1, 1.5):
        with pytest.raises(ValueError, match=rf"drop={wrong}\): must be 0 to 1"):
            BlocksworldEnvironment(drop=wrong)


def test_a_live_world_goes_back_to_its_snapshots():
    live = LiveBlocksworld(BlocksworldEnvironment(drop=0.5, seed=3), TOWER)
    assert isinstance(live, LiveEnvironment)
    first = live.snapshot()
    seen = [live.step(text).state for text in ("pick up jade",)]
    live.restore(first)
    assert live.state == start()
    assert [live.step("pick up jade").state] == seen
    assert live.steps == 2
    assert live.reset(BLOCKSWORLD_EXAMPLES[0]) == WORLD.render(start(BLOCKSWORLD_EXAMPLES[0]))


def test_parts_of_a_fact():
    assert parts("on(a,b)") == ("on", "a", "b")
    assert parts("handempty") == ("handempty",)
    assert fact("on", "a", "b") == "on(a,b)"
