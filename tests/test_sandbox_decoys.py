"""Values to ask about beside the one in question."""

from __future__ import annotations

from typing import Any

import pytest

from thoughtree.tasks.sandbox.inside.decoys import COUNT, among_decoys


@pytest.mark.parametrize(
    "value",
    [0, 7, -(10**30), 2.5, 1 + 2j, "", "a", "word", b"", b"xy", [], [1], [1, "a", [2]], (), (1, 2), {}, {"k": 1}, set(),
     {1, 2}, frozenset([3]), None],
    ids=repr,
)  # fmt: skip
def test_decoys_are_of_the_values_kind_and_none_is_it(value: Any) -> None:
    places = set()
    for _ in range(60):
        others, place = among_decoys(value)
        assert others[place] is value
        assert len(others) == COUNT + 1
        assert all(other != value or type(other) is not type(value) for k, other in enumerate(others) if k != place)
        if value is not None:
            assert {type(other) for other in others} == {type(value)}
        places.add(place)
    assert len(places) > 5  # wherever it likes


def test_of_two_values_there_is_one_other() -> None:
    others, place = among_decoys(True)
    assert others[place] is True
    assert set(others) == {True, False}
