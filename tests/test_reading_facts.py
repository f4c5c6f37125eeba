"""What world models' replies of every shape predict. The kinds are those that users of tree searches ran into."""

import json
import os
from pathlib import Path
from random import Random
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoughtree.modules import reading
from thoughtree.modules.reading.facts import Error
from thoughtree.tasks import Blocksworld
from thoughtree.tasks.blocksworld_facts import completed, parts
from thoughtree.tasks.blocksworld_text import in_pddl, in_words

BLOCKS = Blocksworld.vocabulary

# -- one step: a block is taken off another

BEFORE = frozenset(["on(amber,coral)", "ontable(coral)", "ontable(jade)", "clear(amber)", "clear(jade)", "handempty"])
ACTION = "unstack amber from on top of coral"
TAKEN = frozenset(["holding(amber)", "clear(coral)", "ontable(coral)", "ontable(jade)", "clear(jade)"])
LISTED = "holding(amber)\nclear(coral)\nontable(coral)\nontable(jade)\nclear(jade)"
BULLETS = "- holding(amber)\n- clear(coral)\n- ontable(coral)\n- ontable(jade)\n- clear(jade)"


def read(reply, before=BEFORE, action=ACTION, **more):
    return reading.facts(reply, before, action, vocabulary=BLOCKS, **more)


@pytest.mark.parametrize(
    "reply",
    [
        LISTED,
        BULLETS,
        "1. holding(amber)\n2. clear(coral)\n3. ontable(coral)\n4. ontable(jade)\n5. clear(jade)",
        LISTED.replace("\n", ", "),
        "{" + LISTED.replace("\n", ", ") + "}",
        LISTED.replace("\n", " ∧ "),
        "(holding amber) (clear coral) (ontable coral) (ontable jade) (clear jade)",
        "(and (holding amber) (clear coral) (on-table coral) (on-table jade) (clear jade))",
        "Holding(Amber). Clear(Coral). OnTable(Coral). OnTable(Jade). Clear(Jade).",
        "holding(amber)\nclear(coral)\non(coral,table)\non(jade, table)\nclear(jade)\n!on(amber,coral)",
        "in_hand(amber) clear(coral) on_table(coral) (on jade table) clear(jade)",
        f"The state after unstacking the amber block:\n{LISTED}",
        "holding amber\nclear coral\nontable coral\nontable jade\nclear jade",
        f"```\n{LISTED}\n```",
        f"<answer>{LISTED}</answer>",
        f"<next_state>\n{LISTED}\n</next_state>",
        "| fact |\n|---|\n| holding(amber) |\n| clear(coral) |\n| ontable(coral) |\n| ontable(jade) |\n| clear(jade) |",
        "holding(amber) # taken\nclear(coral) (new)\nontable(coral)\nontable(jade) -- as before\nclear(jade)",
        f"Sure! Here is the new state:\n\n{LISTED}\n\nLet me know if you need anything else!",
        f"LEGAL\n{LISTED}",
        f"Amber is clear, amber is on coral and the hand is empty, so it can be unstacked.\n{LISTED}",
        f"The action is legal because amber is clear and the hand is empty.\n\nNew state:\n{BULLETS}",
        f"<think>is it clear? on(amber,coral), clear(amber), yes</think>\n{LISTED}",
        f"[[ ## next_state ## ]]\n{LISTED}\n\n[[ ## completed ## ]]",
    ],
)
def test_all_facts_in_formal_notation(reply):
    assert read(reply) == reading.Predicted(True, TAKEN)


@pytest.mark.parametrize(
    "reply",
    [
        "* the hand is holding the amber block\n* the coral block is clear\n* the coral block is on the table\n"
        "* the jade block is on the table\n* the jade block is clear",
        "The amber block is in the hand, the coral block is clear, the jade block is clear, the coral block is on the "
        "table, and the jade block is on the table.",
        "The hand is holding amber, which was on coral, which is on the table and is clear. Jade is on the table and "
        "is clear.",
        "I am holding the amber block. The coral and jade blocks are clear. Both coral and jade are on the table.",
        "The coral block is on the table, the jade block is on the table, both are clear, and I'm holding amber.",
        "The amber block is being held by the hand. Nothing is on the coral block and nothing is on the jade block. "
        "The coral block is on the table. The jade block is on the table.",
        "The robot's arm is holding the amber block, the coral block sits on the table with nothing on top, the jade "
        "block sits on the table with nothing on top.",
        "**Holding:** amber\n**Clear:** coral, jade\n**On table:** coral, jade",
        "hand: amber\nclear: coral, jade\ntable: coral, jade",
        "After unstacking amber from coral, the hand is holding amber, coral is clear, coral is on the table, jade is "
        "clear and jade is on the table.",
        "I see that amber is on coral and the hand is empty. After the action, the hand is holding amber, coral is "
        "clear, coral and jade are on the table, and jade is clear.",
        "The state would be: holding amber, coral clear, jade clear, coral on table, jade on table",
        "After the action, the hand would be holding amber, coral would be clear, coral and jade would still be on the "
        "table, and jade would remain clear.",
        "1. Amber: held by the hand\n2. Coral: on the table, clear\n3. Jade: on the table, clear",
        "Amber - in hand\nCoral - on table, clear\nJade - on table, clear",
        "hand = amber; coral = table; jade = table; clear = coral, jade",
        "holding: [amber]\nclear: [coral, jade]\nontable: [coral, jade]\non: []",
        "Amber gets lifted from the coral block into the hand. Now coral is clear. Coral and jade stay on the table; "
        "jade stays clear.",
        "The hand picks amber up, so it's now holding amber. The coral block, no longer covered, is clear. Coral and "
        "jade are still on the table and jade is still clear.",
        "* **Hand**: holding amber\n* **On table**: coral, jade\n* **Clear**: coral, jade\n* **Stacks**: none",
        "Before: amber is on coral, coral and jade are on the table, the hand is empty\nAfter: amber is in the hand, "
        "coral is clear, coral is on the table, jade is on the table, jade is clear",
        "Current state: amber is on coral, coral and jade are on the table, the hand is empty.\nNew state: amber is in "
        "the hand, coral is clear, coral is on the table, jade is on the table, jade is clear.",
    ],
)
def test_all_facts_in_words(reply):
    assert read(reply) == reading.Predicted(True, TAKEN)


@pytest.mark.parametrize(
    "reply",
    [
        "[CHANGE] The hand was empty and is now holding the amber block, the amber block was on top of the coral block "
        "and is now in the hand, the amber block is no longer clear, and the coral block is now clear.",
        "[CHANGE] My hand goes from empty to holding amber, amber leaves coral, amber stops being clear, and coral "
        "becomes clear.",
        "[CHANGE] amber: on coral -> in hand; coral: covered -> clear; hand: empty -> holding amber",
        "hand: empty → holding amber\ncoral: not clear → clear",
        "+ holding(amber)\n+ clear(coral)\n- on(amber,coral)\n- clear(amber)\n- handempty",
        "Add: holding(amber), clear(coral)\nDelete: on(amber,coral), clear(amber), handempty",
        "Added:\n- holding(amber)\n- clear(coral)\nRemoved:\n- on(amber,coral)\n- clear(amber)\n- handempty",
        "Changes: the hand is now holding amber and coral is now clear.",
        "The hand now holds the amber block, and the coral block is clear. Everything else stays the same.",
        "The amber block is now in the hand; coral is now clear; the rest is unchanged.",
        '{"add": ["holding(amber)", "clear(coral)"], "delete": ["on(amber,coral)", "clear(amber)", "handempty"]}',
        "Precondition check: clear(amber) ✓\nEffects: holding(amber), clear(coral); not on(amber,coral), not handempty",
    ],
)
def test_what_changes_is_applied_to_what_was(reply):
    assert read(reply) == reading.Predicted(True, TAKEN)


@pytest.mark.parametrize(
    "reply",
    [
        '{"holding": "amber", "clear": ["coral", "jade"], "on_table": ["coral", "jade"], "on": []}',
        '{"holding": "amber", "clear": ["coral", "jade"], "ontable": ["coral", "jade"], "handempty": false}',
        '{"holding": ["amber"], "clear": ["coral", "jade"], "ontable": ["coral", "jade"], "on": {}, '
        '"handempty": "False", "legal": "True"}',
        '["holding(amber)", "clear(coral)", "ontable(coral)", "ontable(jade)", "clear(jade)"]',
        '{"state": "the hand holds amber. coral and jade are on the table. coral and jade are clear"}',
        '{"legal": true, "new_state": ["the hand is holding amber", "coral is clear", "coral is on the table", '
        '"jade is on the table", "jade is clear"]}',
        '{"facts": [["holding","amber"],["clear","coral"],["ontable","coral"],["ontable","jade"],["clear","jade"]]}',
        '[{"predicate":"holding","args":["amber"]},{"predicate":"clear","args":["coral"]},'
        '{"predicate":"ontable","args":["coral"]},{"predicate":"ontable","args":["jade"]},'
        '{"predicate":"clear","args":["jade"]}]',
        '{"blocks": {"amber": {"in_hand": true, "clear": false}, "coral": {"on": "table", "clear": true}, '
        '"jade": {"position": "on the table", "clear": true}}, "hand": "amber"}',
        '{"blocks": [{"name": "amber", "in_hand": true}, {"name": "coral", "on": "table", "clear": true}, '
        '{"name": "jade", "on": "table", "clear": true}]}',
        '{"hand": "amber", "coral": "table", "jade": "table", "clear": ["coral", "jade"]}',
        '{"holding(amber)": true, "clear(coral)": true, "ontable(coral)": true, "ontable(jade)": true, '
        '"clear(jade)": true, "handempty": false}',
        "```json\n{'holding': 'amber', 'clear': ['coral', 'jade'], 'on_table': ['coral', 'jade'],}\n```\nDone.",
        "State: {hand: amber, table: [coral, jade], clear: [coral, jade]}",
    ],
)
def test_json_of_any_shape(reply):
    assert read(reply) == reading.Predicted(True, TAKEN)


@pytest.mark.parametrize(
    ("reply", "met"),
    [
        (f"{LISTED}\n\nGoal met: yes", True),
        (f"{LISTED}\nGoal met: no", False),
        (f"{LISTED}\nThe goal has been reached.", True),
        (f"{LISTED}\nThe goal is not yet met.", False),
        ('{"holding": "amber", "clear": ["coral","jade"], "on_table": ["coral","jade"], "goal_met": "True"}', True),
        ('{"holding": "amber", "clear": ["coral","jade"], "on_table": ["coral","jade"], "done": "no"}', False),
        (LISTED, None),
    ],
)
def test_whether_it_says_that_the_goal_is_met(reply, met):
    assert read(reply) == reading.Predicted(True, TAKEN, done=met)


@pytest.mark.parametrize(
    "reply",
    [
        "[STATE 1] holding amber, coral is clear, jade is clear, coral is on the table, jade is on the table.\n"
        "[ACTION 2] put down amber\n[STATE 2] amber is on the table, coral is clear.",
        "[STATE 0] amber is on coral, coral is on the table, jade is on the table, the hand is empty\n"
        f"[ACTION 1] {ACTION}\n[STATE 1] holding amber, coral and jade are clear, coral and jade are on the table.",
        "[CHANGE] The hand was empty and is now holding amber, and coral is now clear.\n"
        "[STATE 1] holding amber, coral is clear, jade is clear, coral and jade are on the table.",
        f"{LISTED}\n\n[ACTION] put down amber\nontable(amber)\nhandempty\nclear(amber)",
        f"{LISTED}\nNext, I would put down the amber block and stack the jade block on it.",
        "Before: on(amber,coral), ontable(coral), ontable(jade), clear(amber), clear(jade), handempty\n"
        f"After: {LISTED}".replace("\n", ", ").replace("empty, After", "empty\nAfter"),
        f"State after the action:\n{LISTED}\n\nState 2:\non(amber,jade)\nhandempty",
    ],
)
def test_of_several_states_the_first_counts(reply):
    assert read(reply).state == TAKEN


@pytest.mark.parametrize(
    "reply",
    [
        "All three blocks are on the table, all are clear, and the hand is empty.",
        "All blocks are on the table. Hand empty.",
    ],
)
def test_all_blocks_at_once(reply):
    done = completed(f"ontable({block})" for block in ("amber", "coral", "jade"))
    found = read(reply, TAKEN, "put down amber").state
    assert found is not None
    assert completed(found) == done


# -- no new state


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("ILLEGAL: amber is not clear", "illegal: amber is not clear"),
        ("**ILLEGAL**\n\nThe hand is holding jade.", "illegal: The hand is holding jade."),
        ("ILLEGAL", "illegal"),
        ("[ILLEGAL] the hand holds jade", None),
        ("This action is not legal: amber isn't clear.", None),
        ("The action is illegal because the hand is not empty.", None),
        ("That's not possible, because the coral block isn't clear.", None),
        ("I cannot unstack amber since jade is on it.", None),
        ("You can't do that: the amber block is under the jade block.", None),
        ("Since jade is on amber, amber is not clear. Therefore, this move is not allowed.", None),
        ("Invalid action: the precondition clear(amber) is not satisfied.", None),
        ("The preconditions are not met: the hand is not empty.", None),
        ("This would violate the rule that the hand must be empty.", None),
        ("False. The action is not applicable.", None),
        ("This isn't a valid move; amber is not on coral.", None),
        ("The action fails because amber isn't on coral.", None),
        ("Not a legal action. The state stays as it was.", None),
        ('{"legal": false, "reason": "the hand is not empty"}', "illegal: the hand is not empty"),
        ('{"illegal": true, "why": "amber is not clear"}', "illegal: amber is not clear"),
        ('{"error": "amber is not clear"}', "illegal: amber is not clear"),
        ('{"valid": "False", "state": null}', "illegal"),
        ('{"status": "ILLEGAL", "reason": "amber is covered", "state": ["on(amber,coral)"]}', None),
    ],
)
def test_an_illegal_action_leaves_the_state_and_says_why(reply, reason):
    found = read(reply)
    assert (found.valid, found.state, found.error, found.noop) == (False, BEFORE, None, False)
    assert found.reason == reason or (reason is None and found.reason.startswith("illegal: "))


@pytest.mark.parametrize(
    "reply",
    [
        f"This is not an illegal action.\n{LISTED}",
        f"No rule is broken.\n{LISTED}",
        f"It can be done without breaking any rule.\n{LISTED}",
        f"This doesn't violate any precondition.\n{LISTED}",
    ],
)
def test_a_denied_verdict_is_none(reply):
    assert read(reply).state == TAKEN


@pytest.mark.parametrize(
    "reply",
    [
        "Nothing changes.",
        "No change.",
        "The state remains the same.",
        "The state is unchanged: the hand already holds it.",
        "This action has no effect.",
        "\n".join(sorted(BEFORE)),
        '{"on": [["amber","coral"]], "on_table": ["coral","jade"], "clear": ["amber","jade"], "hand": "empty"}',
        '{"changed": false}',
    ],
)
def test_a_step_to_the_same_state_is_no_step(reply):
    assert read(reply) == reading.Predicted(False, BEFORE, "nothing changes", noop=True)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("handempty, holding(amber), ontable(coral), ontable(jade)", "hand empty and holding"),
        ("on(amber,coral)\non(amber,jade)\nontable(coral)\nontable(jade)", "block in two places"),
        ("amber is on coral, jade is on coral, coral is on the table, the hand is empty", "two blocks on one"),
        ("coral is clear, amber is on coral, coral is on the table, jade is on the table", "block clear under another"),
        ("on(amber,coral), on(coral,jade), on(jade,amber)", "blocks in a circle"),
        ("holding(amber), holding(jade), ontable(coral)", "two blocks held"),
        ("holding(amber), clear(amber), ontable(coral), ontable(jade)", "block clear in the hand"),
        ("amber, coral, jade and the pearl block are on the table. The pearl block is clear.", "unknown block"),
        (
            "amber is clear, amber is not clear, amber, coral and jade are on the table",
            "it both states and denies clear(amber)",
        ),
        ("[CHANGE] the hand is now empty and is now holding amber", "what it says of handempty does not fit the rest"),
        (
            "[CHANGE] amber is now in the hand, and coral is not clear",
            "what it says of clear(coral) does not fit the rest",
        ),
        ('{"hand":"empty","holding":"amber","on_table":["coral","jade"]}', "hand empty and holding"),
    ],
)
def test_what_cannot_be_is_a_contradiction(reply, reason):
    assert read(reply) == reading.Predicted(False, None, reason, "contradiction")


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ("holding(amber)\nclear(coral)\nontable(co", "cut off"),
        ("the hand is holding the amber block, the coral block is clear, the coral block is on the", "cut off"),
        ("the hand is holding the amber block, the coral block is on the table, the jade", "cut off"),
        ('{"holding": "amber", "clear": ["coral", "ja', "cut off"),
        ('```json\n{"holding": "amber", "clear": ["coral", "jade"], "on_table": ["coral"', "cut off"),
        ("[CHANGE] The hand was empty and is now", "cut off"),
        ("(holding amber) (clear coral) (ontable", "cut off"),
        ("holding(amber)\nclear(coral)\nontable(coral)", "incomplete"),
        ("The coral block is clear, and the amber block is in the hand.", "incomplete"),
        ("", "unread"),
        (None, "unread"),
        ("I don't know.", "unread"),
        ("42", "unread"),
        ("The blocks are pretty.", "unread"),
    ],
)
def test_half_a_reply_is_no_state(reply, error):
    found = read(reply)
    assert (found.valid, found.state, found.error) == (False, None, error)
    assert found.reason


def test_a_reply_known_to_be_cut_is_no_state_however_whole_it_looks():
    assert read(LISTED, cut=True).error == "cut off"
    assert read('{"legal": false, "reason": "not clear"}', cut=True).error is None  # nothing more was to come


# -- what goes out comes in again

NAMES = (
    ["amber", "coral", "jade", "pearl"],
    ["a", "b", "c", "d"],
    ["b1", "b2", "b3"],
    ["1", "2", "3"],
    ["i", "j", "k"],
)


def _short(fact):
    forms = {"on": "{} is on {}", "ontable": "{} is on the table", "clear": "{} is clear", "holding": "holding {}"}
    predicate, *blocks = parts(fact)
    return forms.get(predicate, "the hand is empty").format(*blocks)


def _by_relation(facts):
    found = {"on": [], "hand": "empty"}
    for fact in facts:
        predicate, *blocks = parts(fact)
        if predicate == "on":
            found["on"].append(blocks)
        elif predicate == "holding":
            found["hand"] = blocks[0]
        elif blocks:
            found.setdefault(predicate, []).extend(blocks)
    return json.dumps(found)


def _by_block(facts):
    found = {}
    for fact in facts:
        predicate, *blocks = parts(fact)
        if blocks:
            said = {"on": ("on", blocks[-1]), "ontable": ("on", "table"), "holding": ("in_hand", True)}
            key, value = said.get(predicate, (predicate, True))
            found.setdefault(blocks[0], {})[key] = value
        else:
            found["hand"] = None
    return json.dumps({"state": found})


SHAPES = {
    "lines": "\n".join,
    "commas": ", ".join,
    "pddl": in_pddl,
    "bare": lambda facts: "\n".join(" ".join(parts(fact)) for fact in facts),
    "words": lambda facts: "\n".join(map(in_words, facts)),
    "sentence": lambda facts: ", ".join(map(in_words, facts)) + ".",
    "sentences": lambda facts: " ".join(f"{in_words(fact).capitalize()}." for fact in facts),
    "short": lambda facts: ", ".join(map(_short, facts)),
    "lists": lambda facts: json.dumps([list(parts(fact)) for fact in facts]),
    "by relation": _by_relation,
    "by block": _by_block,
}


def _world(rng, names):
    names, facts = rng.sample(names, len(names)), []
    if rng.random() < 0.4:
        facts.append(f"holding({names.pop()})")
    tops = []
    for name in names:
        if tops and rng.random() < 0.5:
            facts.append(f"on({name},{tops.pop(rng.randrange(len(tops)))})")
        else:
            facts.append(f"ontable({name})")
        tops.append(name)
    return completed(facts)


@pytest.mark.parametrize("shape", SHAPES)
def test_any_state_in_any_shape_is_read_as_it_is(shape):
    rng = Random(0)
    for _ in range(40):
        names = rng.choice(NAMES)
        before, after = _world(rng, names), _world(rng, names)
        if before != after:
            reply = SHAPES[shape](rng.sample(sorted(after), len(after)))
            assert read(reply, before, "") == reading.Predicted(True, after), reply


# -- a world that code knows nothing of

ROOM = frozenset({"door closed", "lamp on", "key on hook"})
HAS_KEY = frozenset({"door closed", "lamp on", "key in hand"})


@pytest.mark.parametrize(
    "reply",
    [
        "door closed\nlamp on\nkey in hand",
        "- Door closed\n- lamp on.\n- key in hand",
        "Here is the new state:\n\n1. door closed\n2. lamp on\n3. key in hand",
        '["door closed", "lamp on", "key in hand"]',
        '{"facts": ["door closed", "lamp on", "key in hand"]}',
        '{"door": "closed", "lamp": "on", "key": "in hand"}',
        "+ key in hand\n- key on hook",
        "Add: key in hand\nRemove: key on hook",
        '{"added": ["key in hand"], "removed": ["key on hook"]}',
        "[CHANGE] not key on hook\nkey in hand",
        "[STATE 1] door closed\nlamp on\nkey in hand\n[ACTION 2] open the door\n[STATE 2] door open",
    ],
)
def test_without_a_vocabulary_each_line_is_a_fact(reply):
    assert reading.facts(reply, ROOM, "take the key") == reading.Predicted(True, HAS_KEY)


def test_without_a_vocabulary_verdicts_are_read_as_well():
    assert reading.facts("ILLEGAL: the door is locked", ROOM).reason == "illegal: the door is locked"
    assert reading.facts("Nothing changes.", ROOM).noop
    assert reading.facts("door closed\nlamp on\nkey on hook", ROOM).noop
    assert reading.facts("door open\nlamp on\nGoal met: yes", ROOM).done is True
    assert reading.facts("door open", ROOM).state == {"door open"}
    assert reading.facts("door open\ngoal met", ROOM) == reading.Predicted(True, {"door open", "goal met"}, done=True)
    assert reading.facts("the twig breaks\ndoor open", ROOM).state == {"the twig breaks", "door open"}


# -- numbers


@pytest.mark.parametrize(
    "reply",
    [
        "5 9 14",
        "9 + 5 = 14 (left: 5 9 14)",
        "That leaves 5, 9 and 14.",
        "5, 9 and 14 remain.",
        "We are left with 5 9 14.",
        "The numbers 5, 9, and 14 are left.",
        "Numbers left: **5**, **9**, **14**",
        "Remaining: {5, 9, 14}",
        "[STATE 1] 5 9 14\n[STATE 2] 5 23",
        '{"remaining": [5, 9, 14]}',
        '{"left": "5 9 14.0"}',
        "2 * 7 = 14. We now have 5 and 9 along with 14.",
    ],
)
def test_numbers_left(reply):
    assert reading.numbers_left(reply, ["2", "5", "7", "9"], "2 * 7 = 14") == reading.Left(True, ("5", "9", "14"))


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ("left: 5 14", "contradiction"),
        ("left: 4 8 14", "contradiction"),
        ("left: 5 9 7 14", "contradiction"),
        ("", "unread"),
        ("I am not sure.", "unread"),
    ],
)
def test_numbers_that_cannot_be_left(reply, error):
    found = reading.numbers_left(reply, ["2", "5", "7", "9"])
    assert (found.valid, found.numbers, found.error) == (False, None, error)


def test_an_illegal_step_leaves_the_numbers():
    found = reading.numbers_left("ILLEGAL: there is no 8", ["2", "5"])
    assert (found.valid, found.numbers, found.reason) == (False, ("2", "5"), "illegal: there is no 8")


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("3 boxes of 14 make 3 × 14 = 42. The answer is 42.", "42"),
        ("**Therefore, the answer is $3,400.00.**", "3400"),
        ("The answer is 0.50", "0.5"),
        ("The answer is -7.", "-7"),
        ("The answer is 1/3.", "1/3"),
        ("The answer is 12 pears, not 15.", "12"),
        ("#### 17", "17"),
        ("Thus \\boxed{\\$3,400.00}", "3400"),
        ("He spends **$17** a week.", "17"),
        ("Altogether she sold 30+12 = 42 cups in two days.", "42"),
        ("Step 1. 2+5=7\nStep 2. 6*7 = 42", "42"),
        ('{"reasoning": "half of 84", "answer": "42"}', "42"),
        ('{"answer": 42}', "42"),
        ("Answer: 42.\nQuestion 2: And how many pears?\nAnswer: 15", "42"),
        ("It takes 3 hours and 20 minutes.", None),
        ("The answer is twelve", None),
        ("I am not sure", None),
        ("", None),
        (None, None),
    ],
)
def test_final_number(reply, answer):
    assert reading.final_number(reply) == answer


# -- no text breaks them

PIECES = [
    "on(amber,coral)", "on(amber", "(on amber", "clear(", ")", "not ", "holding(jade)", "handempty", "the amber block ",
    "is on top of ", "the table", " is clear", "the hand is empty", "amber", "coral", ", ", " and ", ". ", "\n", ": ",
    "[CHANGE] ", "[STATE 1] ", "[ACTION 2] ", "New state: ", "After ", "+ ", "- ", "Add: ", "Removed: ", "ILLEGAL",
    "nothing changes", "goal met: ", "was ", "now ", "no longer ", "both ", "all blocks ", "under ", "from ", "to ",
    '{"on": ', '"amber"', "[", "]", "{", "}", '"legal": false', "null", "true", "left: ", "3", "8 24", "answer is ",
    "$", "<think>", "</think>", "```", "**", "@", "<", ">", "<amber>", "ON TABLE", "é", "\ud800",
]  # fmt: skip
replies = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=200),
    st.lists(st.sampled_from(PIECES), max_size=25).map("".join),
)


@settings(max_examples=300, deadline=None)
@given(replies, st.sampled_from([BLOCKS, None]))
def test_a_prediction_is_whole_or_says_what_is_wrong(text, vocabulary):
    found = reading.facts(text, BEFORE, ACTION, vocabulary=vocabulary)
    assert found.valid is (found.reason is None)
    if found.valid:
        assert found.state is not None
        assert found.state != BEFORE
    else:
        assert (found.state is None) is (found.error is not None)
        assert found.state in (None, BEFORE)
    if found.valid and vocabulary:
        task = Blocksworld().for_inputs({"initial": sorted(BEFORE), "goal": "on(jade,amber)"})
        assert task.rules(task.predicted(task.start, task.moves(task.start)[0], found.state)) == []
    reading.numbers_left(text, ["3", "8", "8"])
    reading.final_number(text)


@pytest.mark.parametrize(
    "piece", [*PIECES, "amber and ", "not not ", "was now ", "the the ", '{"a":', "[[", "3 ", "3,", "9"]
)
def test_time_is_proportional_to_length(piece):
    """A reader that goes over what it has read again and again would not end in the suite's time limit."""
    text = piece * (20_000 // len(piece))
    reading.facts(text, BEFORE, ACTION, vocabulary=BLOCKS)
    reading.facts(text, ROOM)
    reading.numbers_left(text, ["3", "8"])
    reading.final_number(text)


# -- the recorded replies


def _shared(name):
    folder = Path(os.environ.get("THOUGHTREE_SHARED") or Path(__file__).parents[2] / "shared")
    path = folder / "replies" / name
    if not path.is_file():
        reason = f"{path} is absent: set THOUGHTREE_SHARED to the folder that holds replies/"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason), id="absent")]
    return [pytest.param(entry, id=entry["id"]) for entry in json.loads(path.read_text(encoding="utf-8"))]


def _found(entry):
    """What we read of an entry, under the names that it expects."""
    reply, before, action = entry["reply"], entry["given"] or [], entry["action"]
    match entry["task"]:
        case "game24":
            left = reading.numbers_left(reply, before, action)
            numbers = None if left.numbers is None else list(left.numbers)
            return {"valid": left.valid, "state": numbers, "error": left.error}
        case "gsm8k":
            answer = reading.final_number(reply)
            return {"valid": answer is not None, "answer": answer, "error": "unread" if answer is None else None}
        case task:
            found = reading.facts(reply, before, action, vocabulary=BLOCKS if task == "blocksworld" else None)
            state = None if found.state is None else sorted(found.state)
            return {"valid": found.valid, "state": state, "error": found.error, "noop": found.noop, "done": found.done}


@pytest.mark.parametrize("entry", _shared("world.json"))
def test_recorded_predictions(entry):
    found, wanted = _found(entry), dict(entry["expected"])
    if wanted.get("error") not in (None, *get_args(Error)):  # the same under another name
        assert found["error"] is not None
        del wanted["error"]
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("reply", "facts"),
    [
        ("done", {"done"}),
        ("at(4)\ndone", {"at(4)", "done"}),
        ("- end\n- at(4)", {"end", "at(4)"}),
        ("step 4", {"step 4"}),
        ("Step 4", {"Step 4"}),
        ("step4\nat(4)", {"step4", "at(4)"}),
        ("Step 4\nat(4)", {"at(4)"}),  # a heading
        ("Done. The new state:\nat(4)", {"at(4)"}),
        ("Done.", None),
        ("none", None),
    ],
)
def test_without_a_vocabulary_a_line_is_a_fact_whatever_it_would_be_in_a_list_of_proposals(reply, facts):
    found = reading.facts(reply, {"at(3)"}, "go on")
    assert found.state == (None if facts is None else frozenset(facts))
    assert found.valid is (facts is not None)
