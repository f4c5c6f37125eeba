"""Replies of the shapes that models of 135 and 270 million parameters really give: what they say, or that they say
nothing.
"""

from __future__ import annotations

import dspy
import pytest

from engines import Engine, response
from puzzle24 import KINDS, call
from thoughtree import Beam, Game24, TreeOfThoughts
from thoughtree.modules import reader
from thoughtree.modules.calls.sections import sections

NAMES = ("next_thoughts",)
ECHO = """[[ ## numbers ## ]]
4 9 10 13

[[ ## num_thoughts ## ]]
5

[[ ## search_path ## ]]
(none yet)

[[ ## search_state ## ]]
4 9 10 13

Respond with the corresponding output fields, starting with the field `[[ ## next_thoughts ## ]]`, and then ending \
with the marker for `[[ ## completed ## ]]`, and then with the rest.
"""
# What is no reply: nothing of it may become a step.
SAYS_NOTHING = {
    "the prompt, said again": ECHO,
    "the prompt, and the turns that would follow": f"{ECHO}\n<|im_end|>user\n[[ ## numbers ## ]]\n8 9 10 13\n",
    "markers alone, with signs missing": "[[ ## next_thoughts ## ]]\n\n[[## completed ## ]]\n\n[## completed## ]",
    "the fields' names": "[ ## numbers ## ]]\n[ ## num_thoughts ## ]]\n[ ## next_thoughts ## ]]\n[ ## completed ## ]]",
    "fields of the prompt": "[[ ## numbers ## ]]\n\n[[ ## search_path ## ]]\n(none)\n[#]\n\n[## plan ## ]\n\n[[## co",
    "nothing": " \n",
    "the end of a turn": "<|im_end|>\n",
    "a field that is never begun": "[[ ## next_",
}


@pytest.mark.parametrize("said", SAYS_NOTHING.values(), ids=SAYS_NOTHING)
def test_what_is_no_reply_is_unread_and_becomes_no_step(said: str):
    model = Engine(lambda kind, inputs, n: response(said), kinds=KINDS)
    program = TreeOfThoughts(task=Game24(), controller=Beam(width=1, branching=5, max_depth=1))
    found = call(program, model, numbers="4 9 10 13").search
    assert [node.depth for node in found.tree] == [0]
    assert found.unread == {"propose": 2}  # asked once more
    assert found.failed == 0


@pytest.mark.parametrize(
    ("said", "read"),
    [
        # The value of a field ends with the turn.
        ("[[ ## next_thoughts ## ]]\n10 - 4 = 6<|im_end|>\n\n[[ ## completed ## ]]", ["10 - 4 = 6"]),
        ("[[ ## next_thoughts ## ]]\n10 - 4 = 6\n<end_of_turn>\n<start_of_turn>user\n1. 9 - 4 = 5", ["10 - 4 = 6"]),
        ("10 - 4 = 6</s>\nWhat is next?", ["10 - 4 = 6"]),
        ("<|im_start|>10 - 4 = 6", ["10 - 4 = 6"]),
        # A marker of one bracket, or without its closing signs, on a line of its own.
        ("[## next_thoughts ## ]\n10 - 4 = 6\n[## completed ##]", ["10 - 4 = 6"]),
        ("[[ ## next_thoughts\n10 - 4 = 6\n[[ ## completed", ["10 - 4 = 6"]),
        # The prompt's own line, and after it an answer.
        (ECHO + "\n[[ ## next_thoughts ## ]]\n10 - 4 = 6\n[[ ## completed ## ]]", ["10 - 4 = 6"]),
        # The same answer over and over.
        ("[[ ## next_thoughts ## ]]\n10 - 4 = 6\n\n[[ ## completed ## ]]\n" * 4, ["10 - 4 = 6"]),
    ],
)
def test_what_is_said_among_it_is_read(said: str, read: list[str]):
    assert reader.items(sections(said, NAMES).get("next_thoughts", sections(said, NAMES)[""])) == read


@pytest.mark.parametrize("said", ["[#1]", "[1]", "[#2] is best", "best: [#3]"])
def test_a_name_in_brackets_is_no_marker(said: str):
    assert reader.vote(said, 3) == int(next(c for c in said if c.isdigit())) - 1


@pytest.mark.parametrize("said", ["I like </s> in HTML", "x<|end|>y<|end|>z"])
def test_a_reply_ends_at_the_first_mark_that_has_something_before_it(said: str):
    assert sections(said, NAMES)[""] == said.partition("</s>")[0].partition("<|end|>")[0].strip()


def test_a_reply_that_chatadapter_reads_is_read_alike():
    signature = dspy.Signature("question -> next_thoughts")
    said = (
        "[[ ## next_thoughts ## ]]\n[## not a field ##]\nRespond with the corresponding output fields, starting with\n"
    )
    assert sections(said, NAMES)["next_thoughts"] == dspy.ChatAdapter().parse(signature, said)["next_thoughts"]
