"""The plan's temperatures: which calls they reach, and which models are spared them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dspy
import pytest

from engines import Engine, lm
from thoughtree import Beam, TreeOfThoughts
from thoughtree.search import JournalError


def reply(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    return {"next_thoughts": "1. a step"} if "next_thoughts" in kind else dict.fromkeys(kind, "sure")


def sent(config: Mapping[str, Any], **settings: Any) -> dict[str, Any]:
    """The temperature of each kind of call of one search."""
    found: dict[str, Any] = {}

    class Watching(Engine):
        def complete(self, request: Any) -> Any:
            text = request.messages[-1].text or ""
            found["propose" if "next_thoughts" in text else "rate"] = request.config.temperature
            return super().complete(request)

    program = TreeOfThoughts("question -> answer", controller=Beam(width=1, branching=1, max_depth=1), answer="path")
    with dspy.context(lm=lm(Watching(reply), **settings)):
        program(question="?", config=dict(config))
    return found


def test_each_reaches_its_own_calls():
    assert sent({"temperature": 0.3, "rate_temperature": 0.0}) == {"propose": 0.3, "rate": 0.0}


def test_without_one_the_model_has_its_own():
    assert sent({}) == {"propose": None, "rate": None}
    assert sent({"temperature": 1.2}, temperature=0.5) == {"propose": 1.2, "rate": 0.5}


@pytest.mark.parametrize("name", ["temperature", "rate_temperature"])
@pytest.mark.parametrize("value", [-0.1, 2.5, "hot", True, float("nan")])
def test_what_is_none_is_refused(name: str, value: Any):
    with pytest.raises(ValueError, match=rf"^{name}=.*: must be a number from 0 to 2, or None for the LM's own$"):
        sent({name: value})


def test_a_journal_of_another_temperature_is_another_searchs(tmp_path):
    sent({"temperature": 0.3, "journal": tmp_path / "run.jsonl"})
    with pytest.raises(JournalError, match=r"temperature: \[0\.3, None\] there, \[0\.4, None\] now"):
        sent({"temperature": 0.4, "journal": tmp_path / "run.jsonl"})
