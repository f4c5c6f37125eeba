"""A proposer that sees no next step has answered; one that says nothing has not."""

from __future__ import annotations

import pytest

from thoughtree.modules.propose import proposed
from thoughtree.search import Proposed, Unread


@pytest.mark.parametrize(
    "text", ["none", "None.", "(none)", "N/A", "There are no legal moves left.", "No further steps.", "**Nothing**"]
)
def test_a_dead_end_is_an_answer(text: str) -> None:
    assert proposed(text, 3) == Proposed(())


@pytest.mark.parametrize("text", ["", "   ", "...", "<think>hm", "I'm sorry, I can't help with that."])
def test_silence_and_refusals_are_unread(text: str) -> None:
    assert isinstance(proposed(text, 3), Unread)


def test_a_step_that_begins_like_a_dead_end_is_a_step() -> None:
    assert proposed("1. Nothing is given about x, so set x = 1", 3) == Proposed(
        ("Nothing is given about x, so set x = 1",)
    )
