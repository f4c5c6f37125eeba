"""What replies of every shape say. The kinds are those that users of tree searches ran into."""

import json
import os
import re
from fractions import Fraction
from pathlib import Path

import pytest

from thoughtree.modules import reading

WORDS = ["sure", "likely", "impossible"]


# -- lists of proposals


@pytest.mark.parametrize(
    "reply",
    [
        "1. measure the base\n2. double the height",
        "1) measure the base\n2) double the height",
        "(1) measure the base\n(2) double the height",
        "1: measure the base\n2: double the height",
        "1 - measure the base\n2 - double the height",
        "1- measure the base\n2- double the height",
        "#1 measure the base\n#2 double the height",
        "1\\. measure the base\n2\\. double the height",
        "1.measure the base\n2.double the height",
        "１．measure the base\n２．double the height",
        "１、measure the base\n２、double the height",
        "① measure the base\n② double the height",
        "1️⃣ measure the base\n2️⃣ double the height",
        "1. measure the base\n1. double the height",
        "**1.** measure the base\n**2.** double the height",
        "**1. measure the base**\n**2. double the height**",
        "A. measure the base\nB. double the height",
        "A) measure the base\nB) double the height",
        "A: measure the base\nB: double the height",
        "(a) measure the base\n(b) double the height",
        "i. measure the base\nii. double the height",
        "Step 1: measure the base\nStep 2: double the height",
        "Option A: measure the base\n\nOption B: double the height",
        "Thought 1: measure the base\nThought 2: double the height",
        "**Candidate 1:** measure the base\n**Candidate 2:** double the height",
        "### Option 1\nmeasure the base\n\n### Option 2\ndouble the height",
        "- measure the base\n- double the height",
        "* measure the base\n* double the height",
        "+ measure the base\n+ double the height",
        "• measure the base\n• double the height",
        "– measure the base\n– double the height",
        "- [ ] measure the base\n- [x] double the height",
        "- **Step 1:** measure the base\n- **Step 2:** double the height",
        "> measure the base\n> double the height",
        "measure the base\ndouble the height",
        "measure the base\r\n\r\ndouble the height\r\n",
        "`measure the base`\n`double the height`",
        '1. "measure the base"\n2. “double the height”',
        "1. _measure the base_\n2. *double the height*",
        "Here are two ideas:\n\n1. measure the base\n2. double the height",
        "Sure! Here are two ideas.\nmeasure the base\ndouble the height\nLet me know if you want more.",
        "**Next steps**\nmeasure the base\ndouble the height",
        "# Next steps\n\n- measure the base\n- double the height\n\nThe first is the safer one.",
        '["measure the base", "double the height"]',
        "['measure the base', 'double the height', '', None]",
        '["measure the base", "double the height",]',
        '{"thoughts": ["measure the base", "double the height"]}',
        '{"result": {"next_steps": ["measure the base", "double the height"]}}',
        '{"1": "measure the base", "2": "double the height"}',
        '[{"step": "measure the base", "why": "size"}, {"step": "double the height", "why": "area"}]',
        '{"step": "measure the base"}\n{"step": "double the height"}',
        '{"step": "measure the base"}\n{"step": "measure the base"}\n\n{"step": "double the height"}',
        '{"thoughts": "1. measure the base\\n2. double the height"}',
        '```json\n{"ideas": ["measure the base", "double the height"]}\n```\nDone.',
        'Ideas: ["measure the base", "double the height"]',
        '["measure the base", "double the height", "then div',
        '{"thoughts": ["measure the base", "double the height"]}\n{"thoughts": ["made up"]}',
        '"measure the base", "double the height"',
        '"[\\"measure the base\\", \\"double the height\\"]"',
        '"{\\"thoughts\\": [\\"measure the base\\", \\"double the height\\"]}"',
        '"1. \\"measure the base\\"\\n2. double the height"',
        "```\n1. measure the base\n2. double the height\n```",
        "1. measure the base; 2. double the height",
        "(a) measure the base; (b) double the height",
        "Step 1: measure the base Step 2: double the height",
        "1. measure the base\\n2. double the height",
        "<step>measure the base</step><step>double the height</step>",
        "| # | Step |\n|---|---|\n| 1 | measure the base |\n| 2 | double the height |",
        "<think>1. guess\n2. give up</think>\n1. measure the base\n2. double the height",
        "1. guess\n</think>\n1. measure the base\n2. double the height",
        "[[ ## next_thoughts ## ]] 1. measure the base\n2. double the height [[ ## completed ## ]]",
        "[[ ## reasoning ## ]] no [[ ## a ## ]] - measure the base\n- double the height[[ ## completed ## ]]",
        "- measure the base\n- measure the base\n- Measure the base.\n- double the height",
        "measure the base | double the height",
    ],
)
def test_every_shape_of_a_list_gives_the_same_items(reply):
    assert reading.items(reply, 2) == ["measure the base", "double the height"]


@pytest.mark.parametrize(
    "reply",
    [
        "", "  \n ", None, "...", "None", "N/A", "[]", "{}", '{"error": null}', '{"steps": []}',
        '[{"id": 1}]', "- \n- ", "1.\n2.",
        "<think>1. all of it is thought",
        "I'm sorry, but I can't help with that.", "There are no legal moves.", "[[ ## completed ## ]]",
    ],
)  # fmt: skip
def test_a_reply_without_a_proposal_gives_none(reply):
    assert reading.items(reply) == []


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Read chapter 3. It is short.", ["Read chapter 3. It is short."]),
        ("1. See table 2. It is off.\n2. Cite page 3. too", ["See table 2. It is off.", "Cite page 3. too"]),
        ("1. try 2 and 3 2. try 4 3. stop", ["try 2 and 3", "try 4", "stop"]),
        ("Check the base, then the height, and stop", ["Check the base, then the height, and stop"]),
        ("Compare names, dates, and places.", ["Compare names, dates, and places."]),
        ("check the base, measure the height, draw it", ["check the base", "measure the height", "draw it"]),
        ("Use `f(x)` where x**2 + y**2 = [1, 2]", ["Use `f(x)` where x**2 + y**2 = [1, 2]"]),
        ("Let $x$ cost $5, “half” of m²", ["Let $x$ cost $5, “half” of m²"]),
        ("__init__ runs first", ["__init__ runs first"]),
        ("1.5 * 4 = 6\n2.5 * 4 = 10", ["1.5 * 4 = 6", "2.5 * 4 = 10"]),
        ("8 - 5\n3 - 1", ["8 - 5", "3 - 1"]),
        ("A. 10-4=6", ["10-4=6"]),
        ("1. ANSWER: 42\n2. add 1", ["ANSWER: 42", "add 1"]),
        ("1. first\n   - a detail\n2. second", ["first a detail", "second"]),
        ("1. first\ngoes on\n2. second", ["first goes on", "second"]),
        ("1. one\n\nWhy one.\n\n2. two\n\nWhy two.", ["one Why one.", "two Why two."]),
        ("Sums:\n1. a plus b\n\nProducts:\n2. a times b", ["a plus b", "a times b"]),
        ("Thought: it is on top.\nAction: lift it", ["lift it"]),
        ("Thought 1: it is on top. Action 1: lift it Observation 1: done", ["lift it"]),
        ("[[ ## step_1 ## ]] lift [[ ## step_2 ## ]] drop [[ ## completed ## ]]", ["lift", "drop"]),
        ("- Search[a, b]\n- Lookup[c]", ["Search[a, b]", "Lookup[c]"]),
        ("['don't stop', 'go on']", ["don't stop", "go on"]),
        ('{"action": "Search", "action_input": "Rome"}', ["Search[Rome]"]),
    ],
)  # fmt: skip
def test_what_is_in_an_item_stays_in_it(reply, expected):
    assert reading.items(reply) == expected


def test_at_most_n_items():
    assert reading.items("1. a1\n2. b2\n3. c3", 2) == ["a1", "b2"]
    assert reading.items("a1\nb2\nc3", 1) == ["a1"]


@pytest.mark.parametrize(
    "reply",
    [
        "9 - 3 = 6 (left: 2 6 6)",
        "9-3=6 (left: 2, 6, 6)",
        "`9 - 3 = 6` (left: 2 6 6)",
        "**9 - 3 = 6** (Left: 2 6 6)",
        "９ － ３ ＝ ６（left： ２ ６ ６）",
        "9 − 3 = 6 (left: 2 6 6)",
        "9 – 3 = 6 → left: 2 6 6",
        "$9 - 3 = 6$ (left: $2, 6, 6$)",
        "\\(9 - 3 = 6\\) (left: 2 6 6)",
        "9 - 3 = 6 | remaining: [2, 6, 6]",
        "9 - 3 = 6, remaining numbers: 2, 6 and 6",
        "Subtract 3 from 9: 9 - 3 = 6 (left: 2 6 6), which is even.",
        "Subtract.\n9 - 3 = 6\nLeft: 2 6 6",
    ],
)
def test_a_step_of_arithmetic_has_one_form(reply):
    assert reading.items(f"1. {reply}\n2. 2 * 3 = 6 (left: 6 6 9)") == [
        "9 - 3 = 6 (left: 2 6 6)",
        "2 * 3 = 6 (left: 6 6 9)",
    ]


def test_operators_of_arithmetic():
    signs = "8 × 3 = 24\n8 ÷ 4 = 2\n3 · 2 = 6\n8 x 2 = 16\n6 \\times 2 = 12\n9 − 2 = 7\n３ ＊ ３ ＝ ９"
    assert [step.split()[1] for step in reading.items(signs)] == ["*", "/", "*", "*", "*", "-", "*"]
    assert reading.items('[{"step": "6 / 4", "result": 1.5, "left": [1.5, 2]}]') == ["6 / 4 = 1.5 (left: 1.5 2)"]
    assert reading.items("(10 - 4) × 4 = 24") == ["(10 - 4) * 4 = 24"]
    assert reading.items("1. 2 + 3 * 4 = 14 (left: 14)") == ["2 + 3 * 4 = 14 (left: 14)"]


# -- verdicts


@pytest.mark.parametrize(
    "reply",
    [
        "likely", "Likely.", "**Likely.**", "LIKELY!", "`likely`", '"likely"', "- likely", "ｌｉｋｅｌｙ",
        "very likely",
        "likely\nBecause 7 + 5 is near.", "likely, since 7 + 5 is near", "likely (but far)",
        "Likely - it is near.",
        "7 + 5 = 12\nlikely", "7 + 5 = 12. Likely.", "sure?\nNo.\nlikely",
        "Judgement: LIKELY.", "**Verdict:** *likely*", "Verdict - likely",
        "My rating is likely because 12 is near.",
        "Judgement:\nlikely", "Choices: sure / likely / impossible\nVerdict: likely",
        "sure\nlikely\nimpossible\n\nlikely",
        "So I would rate this as likely.", "It is impossible to tell, but I would call this: likely",
        "Reasoning: " + "it is near, " * 30 + "so Verdict: likely, I think.",
        "Sure, I can rate that.\n\nVerdict: likely", "Sure! Here it is: likely", "Can it be done? Likely",
        "It is not impossible, so likely.", "It is neither sure nor impossible, so it is likely",
        '{"judgement": "likely"}', '```json\n{"why": "near", "verdict": "Likely"}\n```', "\\boxed{likely}",
        "<think>sure</think>likely", "sure, hm\n</think>\nlikely", "<answer>likely</answer>",
        "[[ ## verdict ## ]] likely [[ ## completed ## ]]",
        "[[ ## reasoning ## ]]\nimpossible\n[[ ## rating ## ]]\nlikely",
    ],
)  # fmt: skip
def test_every_way_to_say_likely(reply):
    assert reading.verdict(reply, WORDS) == "likely"


@pytest.mark.parametrize(
    "reply",
    [
        "", None, "sure / likely / impossible", "sure|likely|impossible", "sure, likely, impossible",
        "sure or likely",
        "sure\nlikely\nimpossible", "Judgement: sure / likely / impossible",
        "Choose one: sure, likely, or impossible.",
        "I cannot judge this.", "unlikely", "Judgement: unlikely", "I'm not sure.", "It is not impossible.",
        "Neither sure nor impossible.", "It is not sure, it is not likely",
        "Impossible to say.", "Sure!  Here is what I think: it is hard.",
        "Sure thing",
        "Likely impossible", "<think>It is impossible.</think>", "<think>sure", "maybe",
        "Judgement: almost sure",
    ],
)  # fmt: skip
def test_no_verdict(reply):
    assert reading.verdict(reply, WORDS) is None


def test_only_the_labels_given_count_and_come_back_as_given():
    assert reading.verdict("maybe", ["sure", "maybe"]) == "maybe"
    assert reading.verdict("REACHABLE: no", ["Yes", "Maybe", "No"]) == "No"
    assert reading.verdict("No, the block is covered.", ["Yes", "No"]) == "No"
    assert reading.verdict("not sure", ["sure", "not sure"]) == "not sure"
    assert reading.verdict("sure", []) is None


# -- numbers


@pytest.mark.parametrize(
    ("reply", "low", "high", "expected"),
    [
        ("0.4", 0, 1, 0.4), (".4", 0, 1, 0.4), ("**0.4**", 0, 1, 0.4), ("0,45", 0, 1, 0.45),
        ("０．４", 0, 1, 0.4),
        ("40%", 0, 1, 0.4), ("40 percent", 0, 1, 0.4), ("4/10", 0, 1, 0.4), ("4 out of 10", 0, 1, 0.4),
        ("2 stars out of 5", 0, 1, 0.4), ("2/5", 0, 1, 0.4), ("1e-1", 0, 1, 0.1), ("\\boxed{0.4}", 0, 1, 0.4),
        ("72.5", 0, 100, 72.5), ("72.5%", 0, 100, 72.5), ("4/10", 0, 10, 4), ("4/5", 1, 5, 4),
        ("10", 1, 10, 10),
        ("50%", 0, 10, 5), ("10/10", 0, 10, 10), ("Grade: 10", 0, 10, 10), ("1,250", 0, 5000, 1250),
        ("I checked 2 of the 4 claims and found 1 gap.\nScore: 0.4", 0, 1, 0.4), ("Score:\n0.4", 0, 1, 0.4),
        ("Score: 0,4.", 0, 1, 0.4), ("score = 0.4", 0, 1, 0.4), ("The score is 0.4, as 3 fails", 0, 1, 0.4),
        ("Style score: 0.9\nFinal score: 0.4\nDetail score: 0.7", 0, 1, 0.4), ("Value: 0.4", 0, 1, 0.4),
        ("Confidence: 0.9\nScore: 0.4", 0, 1, 0.4), ("Score (0-10): 4", 0, 10, 4),
        ("Score (out of 10): 4", 0, 1, 0.4),
        ("On a scale of 1 to 10, I give this a 4.", 0, 10, 4), ("I'd say 4/10.", 0, 10, 4),
        ("Score: 0.4/1", 0, 1, 0.4),
        ("0.4 (a gap)", 0, 1, 0.4), ("0.4 - a gap", 0, 1, 0.4), ("0.4, because of the gap", 0, 1, 0.4),
        ("0.4\nThere are 2 gaps.", 0, 1, 0.4), ("There are 2 gaps.\n0.4", 0, 1, 0.4),
        ("Score： ４", 0, 10, 4),
        ('{"score": 0.4}', 0, 1, 0.4), ('{"value": "4/10", "gaps": 2}', 0, 1, 0.4),
        ('{"a": {"rating": 0.4}}', 0, 1, 0.4),
        ('```json\n{"why": "see {y}", "score": 0.4,}\n```', 0, 1, 0.4), ("{'score': 0.4}", 0, 1, 0.4),
        ('{"evaluation": 0.4}\n{"evaluation": 0.9}', 0, 1, 0.4), ('{"score": 0.4', 0, 1, 0.4),
        ("<think>Score: 0.9</think>0.4", 0, 1, 0.4), ("0.4[[ ## completed ## ]]", 0, 1, 0.4),
        ("[[ ## thought_rating ## ]] 0.4 [[ ## completed ## ]]", 0, 1, 0.4),
        ("[[ ## reasoning ## ]] 0.9 [[ ## score ## ]] 0.4 [[ ## completed ## ]]\nScore: 0.1", 0, 1, 0.4),
    ],
)  # fmt: skip
def test_numbers(reply, low, high, expected):
    assert reading.number(reply, low, high) == reading.Reading(pytest.approx(expected), clamped=False)


@pytest.mark.parametrize(
    ("reply", "low", "high", "expected"),
    [
        ("Rating: 12", 0, 10, 10), ("12", 0, 10, 10), ("-1", 0, 10, 0), ("0", 1, 10, 1), ("120%", 0, 1, 1),
        ("11/10", 0, 10, 10), ('{"score": 7}', 0, 1, 1), ("Score: -0.5", 0, 1, 0),
    ],
)  # fmt: skip
def test_a_number_off_the_scale_is_clamped_and_says_so(reply, low, high, expected):
    assert reading.number(reply, low, high) == reading.Reading(expected, clamped=True)


@pytest.mark.parametrize(
    "reply",
    [
        "", None, "nan", "inf", "-inf", "Score: NaN", "Score: none, though I found 4/10.", '{"score": NaN}',
        "1e999",
        "9" * 400, '{"score": null, "confidence": 0.9}', "2 premises are missing",
        "Evaluation: 1 gap was found",
        "It is hardly great.", "good", "6 * 4 = 24", "The value is 24", "This gets 24.", "8 - 5",
        "3, 5 and 8 remain",
        "Numbers left:\n4", "Score: 0-10", "Score: 3, 5", "Score: 4-6", "The score is between 0 and 10.",
        "5/0", "v0.5", "0.8.1",
        "8²", "½", "Score: 3 of the 5 premises hold", "9/10 of the steps hold", "1. It adds.\n2. It divides.",
        "<think>Score: 4", "4</think>", "Clarity: 8/10. Rigour: 6/10.", '{"a": 3, "b": 4}', "Answer: 24",
        "1,000",
    ],
)  # fmt: skip
def test_nothing_unreadable_becomes_a_number(reply):
    assert reading.number(reply, 0, 10) is None


def test_an_empty_scale_is_refused():
    with pytest.raises(ValueError, match=r"low must be below high, got low=1 and high=1"):
        reading.number("1", 1, 1)
    with pytest.raises(ValueError, match="low must be below high"):
        reading.scores("1", 1, 1, 0)


# -- votes, comparisons, several ratings


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("3", 2), ("**3**", 2), ("C", 2), ("(C)", 2), ("Choice 3", 2), ("#3", 2), ("[[C]]", 2), ("3.", 2),
        ("Option 1 forgets a case, option 2 is slow.\n\nThe best choice is 3.", 2), ("Best: option C", 2),
        ("I vote for candidate 3, as 1 fails.", 2), ("Candidate 3 is the most promising.", 2),
        ("Winner: C.", 2),
        ("The third one is best.", 2), ('{"why": "2 fails", "best": 3}', 2), ("3, because it keeps both.", 2),
        ("<think>The best is 1.</think>3", 2), ("Choice 1 is not the best.\nThe best choice is 3", 2),
        ("The best choice is 2 or 3.", None), ("Options 1 and 2 are both fine.", None),
        ("The best choice is 9.", None),
        ("1, 2, 3", None), ("1\n2\n3", None), ("Choice 1 is not the best.", None),
        ("A good step is hard to find.", None),
        ("0", None), ("", None), (None, None), ("none of them", None),
    ],
)  # fmt: skip
def test_votes(reply, expected):
    assert reading.vote(reply, 4) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("1", 1.0), ("A", 1.0), ("first", 1.0), ("Candidate 1", 1.0), ("The first is better.", 1.0),
        ("A > B", 1.0),
        ("A is better than B", 1.0), ("I prefer 1 over 2.", 1.0), ("2 is worse than 1", 1.0), ("[[A]]", 1.0),
        ("2", 0.0), ("B.", 0.0), ("Better: the second", 0.0), ("B > A", 0.0),
        ("Candidate 2 is better than 1.", 0.0),
        ('{"better": "B"}', 0.0), ("Candidate 1 is weak.\n\n2", 0.0), ("2, because it keeps both", 0.0),
        ("tie", 0.5), ("A tie.", 0.5), ("Both are equally promising.", 0.5), ("Neither is better.", 0.5),
        ("", None), ("1, 2 or tie", None), ("The first is not better.", None), ("hard to say", None),
        ("3", None),
    ],
)  # fmt: skip
def test_comparisons(reply, expected):
    assert reading.comparison(reply) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("1: 0.8\n2: 0.3\n3: 0.5", [0.8, 0.3, 0.5]), ("1. 0.8\n2. 0.3\n3. 0.5", [0.8, 0.3, 0.5]),
        ("1. 8 + 1 = 9 (left: 2 9): 0.8\n2. 8 - 1 = 7: 0.3\n3. 8 * 1 = 8", [0.8, 0.3, None]),
        ("A) 0.8 - near\nC) 5/10", [0.8, None, 0.5]), ("3: 0.5\n1: 0.8", [0.8, None, 0.5]),
        ("Candidate 1:\n1. 9 - 3 = 6\nScore: 0.8\n\nCandidate 3 (last)\nScore: 0.5", [0.8, None, 0.5]),
        ("1: 0.8, 2: 0.3, 3: 0.5", [0.8, 0.3, 0.5]), ("| 1 | 0.8 |\n| 3 | 50% |", [0.8, None, 0.5]),
        ('{"1": 0.8, "3": {"why": "far", "score": 0.5}}', [0.8, None, 0.5]),
        ("[0.8, 0.3, 0.5]", [0.8, 0.3, 0.5]),
        ('{"scores": [{"id": 1, "score": 0.8}, {"id": 3, "score": 0.5}]}', [0.8, None, 0.5]),
        ("0: 0.8\n1: 0.3\n2: 0.5", [0.8, 0.3, 0.5]), ("0.8\n0.3\n0.5", [0.8, 0.3, 0.5]),
        ("0.8, 0.3, 0.5", [0.8, 0.3, 0.5]),
        ("Candidate 1 gets 0.8.\nCandidate 2 gets 0.3.", [0.8, 0.3, None]),
        ("1: none\n2: 0.3", [None, 0.3, None]),
        ("1: weak at 3 places\n1: 0.8", [0.8, None, None]), ("7: 0.8", [None, None, None]),
        ("0.8\n0.3", [None] * 3), ("[0.8, 0.3]", [None] * 3), ("all are fine", [None] * 3), ("", [None] * 3),
        ("0.8\nunclear\n0.5", [None] * 3), ("1. 9 - 3 = 6\n2. 3 + 4 = 7", [None] * 3),
    ],
)  # fmt: skip
def test_scores_stay_with_their_candidates(reply, expected):
    found = reading.scores(reply, 3, 0, 1)
    assert [None if one is None else one.value for one in found] == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("1: sure\n2: likely\n3: impossible", ["sure", "likely", "impossible"]),
        ("1. Sure - 6 * 4\n3. **Impossible.**", ["sure", None, "impossible"]),
        ("Candidate 1: 6 * 4 works.\nVerdict: sure\nCandidate 2: hm", ["sure", None, None]),
        ("A: sure, B: likely, C: sure", ["sure", "likely", "sure"]),
        ("1. 6 * 4 = 24: sure\n2. 6 - 4 = 2. Impossible.", ["sure", "impossible", None]),
        ('["sure", "sure", "likely"]', ["sure", "sure", "likely"]), ("sure\nlikely\nimpossible", WORDS),
        ("sure, likely, impossible", [None] * 3), ("sure / likely / impossible", [None] * 3),
        ("sure", [None] * 3),
    ],
)  # fmt: skip
def test_verdicts_stay_with_their_candidates(reply, expected):
    assert reading.verdicts(reply, 3, WORDS) == expected


# -- programs, actions, moves, answers, words


@pytest.mark.parametrize(
    "reply",
    [
        "```python\nif x:\n    y = 1\n```", "Here:\n\n```\nif x:\n    y = 1\n```\nDone.\n```\nprint(1)\n```",
        "~~~py\nif x:\n    y = 1\n~~~", "1. Use:\n   ```\n   if x:\n       y = 1\n   ```",
        "```py\nif x:\n    y = 1",
        "<think>```\nno\n```</think>\n```python3.11\n\nif x:\n    y = 1\n\n```",
        "[[ ## code ## ]]\n```\nif x:\n    y = 1\n```\n[[ ## completed ## ]]", "if x:\n    y = 1\n",
    ],
)  # fmt: skip
def test_code_is_the_first_fenced_block(reply):
    assert reading.code(reply) == "if x:\n    y = 1"


def test_code_without_a_fence_keeps_its_indentation():
    assert reading.code("    return x × 2  # “８”\n") == "    return x × 2  # “８”"
    assert reading.code('```\ns = """\n```inner\n"""\n```') == 's = """\n```inner\n"""'
    assert reading.code("```print(1)```") == "print(1)"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Thought 1: ask.\nAction 1: Search[Rome]\nObservation 1: x\nAction 2: Finish[x]", ["Search[Rome]"]),
        ("Thought 1: look. Action 1: Search[Rome] Observation 1: big Action 2: Finish[x]", ["Search[Rome]"]),
        ("**Action 1:** `Search[Rome]`", ["Search[Rome]"]),
        ("Action: Search\nAction Input: Rome", ["Search[Rome]"]),
        ("Not Lookup[x].\nAction: Search[Rome [Italy]]", ["Search[Rome [Italy]]"]),
        ("Search[Rome]", ["Search[Rome]"]),
        ('{"action": "Search", "action_input": "Rome"}', ["Search[Rome]"]),
        ("Action: go north", ["go north"]),
        ("Action 1: Finish[]", []), ("Action: Finish[ ]", []), ("Action: None", []),
        ("I would look that up.", []),
        ("Observation 1: big\nAction 2: Finish[big]", []), ('{"action": "Finish", "action_input": ""}', []),
        ("", []),
        ("<think>Action: Search[x]", []),
    ],
)  # fmt: skip
def test_the_first_action_before_the_first_made_up_observation(reply, expected):
    assert reading.actions(reply) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("lift the cup", "lift the cup"), ("Lift the CUP.", "lift the cup"),
        ("**Action:** `lift the cup`", "lift the cup"),
        ("My move is this:\n\n> Lift the cup.", "lift the cup"), ("1. lift cup", "lift the cup"),
        ("Lift the cup.\nIt frees the plate.", "lift the cup"), ("[drop the cup]", "drop the cup"),
        ("lift the cup\ndrop the cup", None), ("lift the jug", None), ("", None),
    ],
)  # fmt: skip
def test_matching_a_legal_move(reply, expected):
    assert reading.match_move(reply, ["lift the cup", "drop the cup"]) == expected


@pytest.mark.parametrize(
    ("thought", "expected"),
    [
        ("ANSWER: 42", "42"), ("answer: the cup", "the cup"), ("**ANSWER:** 42", "42"),
        ("**ANSWER: 42**", "42"),
        ("Step 3: ANSWER: `42`", "42"), ("- Final answer: 42", "42"), ("ANSWER:\n42", "42"),
        ("ANSWER:", None),
        ("The answer is 42", None), ("Answer 42", None), ("<think>ANSWER: 1</think>add 2", None), ("", None),
        (None, None),
    ],
)  # fmt: skip
def test_the_answer_that_a_thought_states(thought, expected):
    assert reading.answer_text(thought) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("h2. Stone (High)\nv1. bread (certain)", ["h2. stone (high)", "v1. bread (certain)"]),
        ("- **H2**: *STONE* - confidence: high", ["h2. stone (high)"]),
        ("H2 = STONE [medium]", ["h2. stone (medium)"]),
        ("h2. A piece of rock: STONE (low)", ["h2. stone (low)"]),
        ("h2. S T O N E (low)", ["h2. stone (low)"]),
        ("**Across**\n2. STONE (high)\n**Down**\n1. BREAD (low)", ["h2. stone (high)", "v1. bread (low)"]),
        ("h2. stone (high); h2. stone (low); v1. bread (low)", ["h2. stone (high)", "v1. bread (low)"]),
        ("h2. stone", ["h2. stone"]), ("h2. stones (high)\nh3. _____ (low)\nh4. (low)", []), ("", []),
    ],
)  # fmt: skip
def test_crossword_words(reply, expected):
    assert reading.clues(reply) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("<think>a</think> It’s m², ½ “so”…", "It’s m², ½ “so”…"), ("pages 10–14 of 3", "pages 10–14 of 3"),
        ("４ × ３", "4 * 3"), ("$4 \\times 3$", "4 * 3"), ("$x \\times y$", "$x \\times y$"), ("−3", "-3"),
        ("計算：４＋３", "計算：4+3"), ("a\x00b\ud800c\ud83d\ude00", "abc\U0001f600"),
        ("0.7[[ ## completed ## ]]", "0.7"),
        ("yes [[ ## comp", "yes"), ("<think>a", ""), ("a</think>b", "b"),
        ("<think>a<think>b</think>c</think>d", "d"),
        (None, ""),
    ],
)  # fmt: skip
def test_clean_text(reply, expected):
    assert reading.clean(reply) == expected


# -- the recorded replies


def _shared(name):
    folder = Path(os.environ.get("THOUGHTREE_SHARED") or Path(__file__).parents[2] / "shared")
    path = folder / "replies" / name
    if not path.is_file():
        reason = f"{path} is absent: set THOUGHTREE_SHARED to the folder that holds replies/"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason), id="absent")]
    return [pytest.param(entry, id=entry["id"]) for entry in json.loads(path.read_text(encoding="utf-8"))]


def _legal_steps(steps, given):
    """The steps that arithmetic and the numbers at hand allow, one for each state they lead to."""
    found = {}
    for step in steps:
        read = re.fullmatch(r"(\S+) ([-+*/]) (\S+) = (\S+) \(left: (.*)\)", step)
        a, b, result, *left = (
            (Fraction(part) for part in (*read.group(1, 3, 4), *read[5].split())) if read else (0, 0, 1)
        )
        rest = [Fraction(number) for number in given]
        try:
            rest.remove(a)
            rest.remove(b)
            true = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else None}[read[2]] if read else None
        except ValueError:
            continue
        if result == true and sorted(left) == sorted([*rest, result]):
            found.setdefault(tuple(sorted(left)), step)
    return list(found.values())


def _proposals(entry):
    reply = entry["reply"]
    match entry["task"]:
        case "hotpotqa":
            return reading.actions(reply)
        case "crosswords":
            return reading.clues(reply)
        case "humaneval":
            return [code] if (code := reading.code(reply)) else []
        case "blocksworld":
            return [reading.normal(move) for move in reading.items(reply)]
        case "game24" if "given" in entry:
            return _legal_steps(reading.items(reply), entry["given"])
        case _:
            return reading.items(reply)


def _rating(entry):
    reply, scale = entry["reply"], entry["scale"]
    if isinstance(scale, list):
        found = reading.number(reply, *scale)
        return None if found is None else pytest.approx(found.value)
    if scale.startswith("vote:"):
        first, last = map(int, scale.removeprefix("vote:").split(".."))
        chosen = reading.vote(reply, last - first + 1)
        return None if chosen is None else chosen + first
    return reading.verdict(reply, scale.split("|"))


@pytest.mark.parametrize("entry", _shared("propose.json"))
def test_recorded_proposals(entry):
    assert _proposals(entry) == (entry["expected"] or [])


@pytest.mark.parametrize("entry", _shared("rate.json"))
def test_recorded_ratings(entry):
    assert _rating(entry) == entry["expected"]
