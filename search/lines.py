"""A journal's line as JSON. The records of its calls, most of its bytes, are read when somebody asks for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast, overload

CALLS = b', "calls": ['


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


_decode = json.JSONDecoder(parse_constant=_refuse).decode


def json_object(text: bytes) -> dict[str, Any]:
    """ValueError for anything else."""
    try:
        value = _decode(text.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON ({error})") from error
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return cast("dict[str, Any]", value)


def journal_line(line: bytes) -> tuple[dict[str, Any], Records | None]:
    """A line, and the records of its calls where these are left unread. ValueError for what is no JSON object.

    They are the last entry. Within a text of JSON the marker's quotes would be escaped, so it stands where an entry
    begins: of the line, or of something in it that is called so too. Cut there, it is no JSON, and is read whole.
    """
    at = line.find(CALLS)
    if at >= 0:
        try:
            return json_object(line[:at] + b"}"), Records(line[at + len(CALLS) - 1 : -1])
        except ValueError:
            pass
    return json_object(line), None


class Records(Sequence[dict[str, Any]]):
    """The records of a reply's calls, from their JSON."""

    __slots__ = ("_found", "_text")

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._found: list[dict[str, Any]] | None = None

    def _all(self) -> list[dict[str, Any]]:
        if self._found is None:
            self._found, self._text = cast("list[dict[str, Any]]", _decode(self._text.decode())), b""
        return self._found

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        return self._all() == (other._all() if isinstance(other, Records) else other)

    def __repr__(self) -> str:
        return repr(self._all())
