"""The nearest recorded request, and in what an unknown one differs from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy import lm15

from engines import Engine, lm
from thoughtree import Recording, RecordLM, ReplayLM
from thoughtree.modules.calls.failures import LONGEST, describe
from thoughtree.modules.recording import UnknownRequest
from thoughtree.modules.recording.nearest import differences, nearest


def model(**settings: Any) -> Any:
    return RecordLM(lm(Engine(lambda kind, inputs, n: f"reply {n}"), "a/one", **settings), Recording())


def request(*texts: str, system: str | None = "You play.", **config: Any) -> Any:
    messages = tuple(lm15.Message.user(text) for text in texts)
    return lm15.Request(model="a/one", messages=messages, system=system, config=lm15.Config(**config))


def told(record: Any, *args: Any, name: str | None = None, **kwargs: Any) -> str:
    """What the error says of the differences."""
    replay = ReplayLM(record.recording, **({} if name is None else {"model": name}))
    with pytest.raises(UnknownRequest) as error:
        replay(*args, **kwargs)
    text = str(error.value)
    assert "they differ in " in text
    return text.split("they differ in ", 1)[1].split(". To add it", 1)[0]


def test_the_first_place_that_differs_is_shown():
    record = model()
    record(request("the numbers are 4 9 10 13, and no others"))
    assert told(record, request("the numbers are 4 9 10 12, and no others")) == (
        "message 2 (user) from character 24: 'the numbers are 4 9 10 13, and no others' there, "
        "'the numbers are 4 9 10 12, and no others' now"
    )


@pytest.mark.parametrize(
    ("asked", "settings", "difference"),
    [
        (request("hi"), {"rollout_id": 2}, "rollout_id: 1 there, 2 now"),
        (request("hi"), {}, "rollout_id: 1 there, None now"),
        (request("hi", temperature=0.5), {"rollout_id": 1}, "temperature: None there, 0.5 now"),
        (request("hi", "ho"), {"rollout_id": 1}, "the number of messages: 2 there, 3 now"),
        (request("hi", system="You go."), {"rollout_id": 1}, "message 1 (system) from character 4: 'You play.' there"),
        (request("hi", system=None), {"rollout_id": 1}, "the number of messages: 2 there, 1 now"),
        (
            request("hi", max_tokens=3),
            {"rollout_id": 3},
            "rollout_id: 1 there, 3 now; max_tokens: None there, 3 now",
        ),
    ],
)
def test_each_part_that_differs_is_named(asked: Any, settings: dict[str, Any], difference: str):
    record = model()
    record(request("hi"), rollout_id=1)
    assert told(record, asked, **settings).startswith(difference)


def test_another_model_and_other_tools_are_named():
    record = model()
    record(request("hi"))
    tool = lm15.FunctionTool(name="weigh", description="d", parameters={"type": "object", "properties": {}})
    asked = lm15.Request(model="a/one", messages=(lm15.Message.user("hi"),), system="You play.", tools=(tool,))
    assert told(record, asked).startswith("tools from character 0: 'null' there, '[{")
    other = RecordLM(lm(Engine(lambda kind, inputs, n: "x"), "a/two"), record.recording)
    other("something else")
    assert told(record, "hi there", name="a/two") == (
        "message 1 (user) from character 0: 'something else' there, 'hi there' now"
    )
    *_, shown = differences({"request": {"model": "a"}}, {"request": {"model": "b"}})
    assert shown == "model: 'a' there, 'b' now"


def test_among_many_the_one_with_most_in_common_is_found():
    record = model()
    for i in range(200):
        record(request(f"Puzzle {i:03}: " + "what follows from this? " * 20 + f"State {i % 17}."))
    # Puzzle 123 has the state 4. Nothing else shares as much of both ends with this.
    asked = request("Puzzle 123: " + "what follows from this? " * 20 + "State 4 again.")
    assert told(record, asked).startswith("message 2 (user) from character 499: '...llows from this? State 4.' there")


def test_words_in_the_middle_decide_between_those_alike_at_the_ends():
    record = model()
    record(request("begin, one two three four five, end"))
    record(request("begin, six seven eight nine ten, end"))
    asked = request("begin, zero two three four five, end")
    assert "'begin, one two three four five, end' there" in told(record, asked)


def test_a_prompt_of_a_program_is_shown_where_it_differs(tmp_path: Path):
    path = tmp_path / "replies.jsonl"
    engine = Engine(lambda kind, inputs, n: {"answer": "x"})
    program = dspy.Predict("question -> answer")
    with dspy.context(lm=RecordLM(lm(engine), path)):
        for town in ("Rome", "Paris", "Oslo"):
            program(question=f"How many people live in {town}, and since when?")
    with dspy.context(lm=ReplayLM(path)), pytest.raises(UnknownRequest) as error:
        program(question="How many people live in Oslo, and until when?")
    assert f"recorded in '{path}' for" in str(error.value)
    assert "The nearest of 3 is line 5;" in str(error.value)
    assert "live in Oslo, and since when?" in str(error.value)
    assert "live in Oslo, and until when?" in str(error.value)
    assert f"RecordLM(lm, '{path}')" in str(error.value)


def test_the_whole_error_is_shown_by_a_search():
    record = model()
    settings = {f"setting_{i}": "x" * 300 for i in range(9)}
    record(request("y" * 100_000))
    asked = request("z" * 100_000, extensions=settings, stop=("a" * 200,), temperature=0.1, top_p=0.2, seed=3)
    with pytest.raises(UnknownRequest) as error:
        ReplayLM(record.recording)(asked, rollout_id=1)
    assert "rollout_id: None there, 1 now; message 2 (user) from character 0: 'yyy" in str(error.value)
    assert "; and 3 more" in str(error.value)
    assert "To add it, run this with RecordLM" in describe(error.value)
    assert len(describe(error.value)) < LONGEST


def test_control_characters_of_a_prompt_are_shown_as_escapes():
    record = model()
    record(request("one \x1b[31m red"))
    assert "\\x1b[31m red" in told(record, request("two \x1b[31m red"))


def test_nothing_is_near_where_nothing_is_recorded(tmp_path: Path):
    assert nearest(Recording(), {"request": {}}) is None


def test_of_media_the_digests_are_compared():
    record = model()
    with dspy.context(lm=record):
        look = dspy.Predict("picture: dspy.Image -> answer")
        with pytest.raises(dspy.AdapterParseError):
            look(picture=dspy.Image("data:image/png;base64," + "A" * 4000))
    with dspy.context(lm=ReplayLM(record.recording)), pytest.raises(UnknownRequest) as error:
        look(picture=dspy.Image("data:image/png;base64," + "B" * 4000))
    assert "sha256:" in str(error.value)
