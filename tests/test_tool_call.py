"""A tool call out of what a model writes."""

from __future__ import annotations

import pytest

from thoughtree.modules.tool_call import read_call
from thoughtree.search.protocol import Illegal


@pytest.mark.parametrize("label", ["", "Action: ", "  action 2 :  ", "Action:"])
def test_a_label_before_the_call_is_taken_off(label):
    called = read_call(f"{label}search(query='tree')", lambda tool: ["query"])
    assert not isinstance(called, Illegal)
    assert (called.tool, called.args) == ("search", {"query": "tree"})


def test_a_wall_of_blanks_is_read_in_one_pass():
    assert isinstance(read_call("Action" + " " * 500_000 + "search()", lambda tool: []), Illegal)
    assert isinstance(read_call("x" + " " * 500_000 + "y", lambda tool: []), Illegal)
