"""Values between a program and its examiner, and what neither of them wrote."""

from __future__ import annotations

import math
import os
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoughtree.tasks.sandbox.inside import plain
from thoughtree.tasks.sandbox.inside.line import Line
from thoughtree.tasks.sandbox.inside.wire import Reader, Unreadable, Writer, replace

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.binary()
    | st.text()
)
hashable = st.recursive(scalars, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=4), max_leaves=8)
values = st.recursive(
    scalars
    | st.lists(st.integers(), min_size=8, max_size=12)
    | st.lists(st.floats(allow_nan=False), min_size=8, max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(hashable, inner, max_size=4)
        | st.sets(hashable, max_size=4)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)


def described(value: Any) -> Any:
    found = plain.described(value)
    assert found is not None
    return found


def written(value: Any) -> bytes:
    return bytes(Writer(described).put(value).data)


def back(data: bytes) -> Any:
    return Reader(data, plain.made).get()


@settings(max_examples=60, deadline=None)
@given(values)
def test_plain_values_come_back_as_they_were(value: Any) -> None:
    found = back(written(value))
    assert (type(found), repr(found) == repr(value) or found == value) == (type(value), True)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_fail(data: bytes) -> None:
    try:
        back(data)
    except (Unreadable, ValueError, TypeError, LookupError, AttributeError, OverflowError, plain.Strange, struct.error):
        return


@settings(max_examples=60, deadline=None)
@given(values, st.data())
def test_nor_do_bytes_that_were_changed_or_cut(value: Any, data: st.DataObject) -> None:
    whole = bytearray(written(value))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] = data.draw(st.integers(0, 255))
    test_no_bytes_do_more_than_fail.hypothesis.inner_test(bytes(whole[: data.draw(st.integers(0, len(whole)))]))


def test_a_number_that_is_none_stays_one() -> None:
    assert math.isnan(back(written(math.nan)))
    assert [math.isnan(one) for one in back(written([math.nan, 1.0] * 5))] == [True, False] * 5


def test_what_is_shared_stays_shared_and_circles_close() -> None:
    one = [1]
    pair = back(written((one, {"k": one})))
    assert pair[0] is pair[1]["k"]
    loop: list[Any] = []
    loop.append(loop)
    assert (found := back(written(loop)))[0] is found


def test_containers_handed_over_come_back_as_themselves_and_changed() -> None:
    given_, inner = {"k": [1, 2]}, [3]
    out = Writer(described).put((given_, inner))
    there = Reader(bytes(out.data), plain.made)
    their, theirs = there.get()
    theirs.append(4)
    their["k"].clear()
    answer = Writer(described, there.mutable).put(theirs)
    for container in there.mutable:
        answer.inside(container)
    here = Reader(bytes(answer.data), plain.made, out.mutable)
    assert here.get() is inner
    for container, new in [(one, here.inside()) for one in out.mutable]:
        replace(container, new)
    assert (given_, inner, here.over) == ({"k": []}, [3, 4], True)


@pytest.mark.parametrize(
    "parts",
    [
        ("module", "os"),
        ("module", "sys"),
        ("library", "os", "_exit"),
        ("library", "builtins", "__import__"),
        ("library", "unittest.mock", "ANY"),
        ("library", "operator", "__dict__"),
        ("made", "subprocess", "Popen", (["true"],)),
        ("made", "collections", "namedtuple", ("A", "b")),
        ("type", "__loader__"),
        ("object", 1, 2),
        ("what",),
    ],
)
def test_only_what_computes_is_made_of_a_description(parts: tuple[Any, ...]) -> None:
    data = bytes(Writer(lambda value: parts).put(object()).data)
    with pytest.raises(plain.Strange):
        back(data)


def test_a_line_carries_whole_messages_and_sees_the_end() -> None:
    reading, writing = os.pipe()
    line = Line(reading, writing)
    for message in (b"", b"x", b"y" * 5000):
        line.send(message)
        assert line.receive() == message
    os.write(writing, b"\0\0\0\x05abc")
    os.close(writing)
    assert line.receive() is None
    os.close(reading)


def test_a_message_of_a_size_that_nobody_sends_is_the_end() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"\xff\xff\xff\xff")
    assert Line(reading, writing).receive() is None
    os.close(writing)
    os.close(reading)
