"""Values as bytes, between a program and its examiner. Reading them runs no code of whoever wrote them.

Plain values go as they are, and what several places share stays shared. Anything else is described by whoever sends it
(a text for its kind, and parts that are values in turn) and made again by whoever receives it.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_CONSTANTS = {b"N": None, b"T": True, b"F": False, b"E": Ellipsis, b"I": NotImplemented}
_MARKS = {type(None): b"N", type(Ellipsis): b"E", type(NotImplemented): b"I"}
_ALIKE = {int: (b"q", "q"), float: (b"d", "d")}  # lists of one kind, in one piece
LEAST_ALIKE = 8  # items of such a list


class Unreadable(Exception):
    """What came is no value."""


class Writer:
    """Writes values one after another. describe: gives the kind and the parts of what is not plain.

    mutable: the containers written so far that may change, in order; a reader lists those that it made in the same.
    """

    def __init__(self, describe: Callable[[Any], Sequence[Any]], mutable: Sequence[Any] = ()) -> None:
        self.data = bytearray()
        self.mutable = list(mutable)
        self._describe = describe
        self._known = {id(one): number for number, one in enumerate(self.mutable)}

    def put(self, value: Any) -> Writer:
        kind = type(value)
        if kind is str:
            self._text(b"s", value.encode("utf-8", "surrogatepass"))
        elif kind is int:
            self._text(b"i", value.to_bytes((value.bit_length() + 8) // 8, "big", signed=True))
        elif kind is bool:
            self.data += b"T" if value else b"F"
        elif kind in _MARKS:
            self.data += _MARKS[kind]
        elif kind is tuple or kind is frozenset:
            self._items(b"(" if kind is tuple else b"<", tuple(value))
        elif kind is float:
            self._text(b"f", value.hex().encode())
        elif kind is bytes:
            self._text(b"b", value)
        elif kind in (list, set, dict, bytearray):
            self._container(value)
        elif kind is complex:
            self._text(b"c", f"{value.real.hex()} {value.imag.hex()}".encode())
        else:
            self._items(b"x", self._describe(value))
        return self

    def _container(self, value: Any) -> None:
        known = self._known.get(id(value))
        if known is not None:
            self._sized(b"r", known)
            return
        self._known[id(value)] = len(self.mutable)
        self.mutable.append(value)
        self.inside(value)

    def inside(self, value: Any) -> None:
        """A container that may change, as if it had not been written yet."""
        kind = type(value)
        if kind is dict:
            self._items(b"{", [part for pair in value.items() for part in pair])
        elif kind is bytearray:
            self._text(b"a", bytes(value))
        elif kind is set:
            self._items(b"}", tuple(value))
        elif len(value) < LEAST_ALIKE or not self._alike(value):
            self._items(b"[", value)

    def _alike(self, values: list[Any]) -> bool:
        """Writes a list of numbers of one kind in one piece; False if it is none."""
        kinds = set(map(type, values))
        kind = kinds.pop()
        if kinds or kind not in _ALIKE:
            return False
        mark, letter = _ALIKE[kind]
        try:
            self._text(mark, struct.pack(f">{len(values)}{letter}", *values))
        except struct.error:  # too large for eight bytes
            return False
        return True

    def _items(self, mark: bytes, values: Sequence[Any]) -> None:
        self.data += mark + len(values).to_bytes(4, "big")
        put = self.put
        for value in values:
            put(value)

    def _text(self, mark: bytes, text: bytes) -> None:
        self.data += mark + len(text).to_bytes(4, "big") + text

    def _sized(self, mark: bytes, size: int) -> None:
        self.data += mark + size.to_bytes(4, "big")


class Reader:
    """Reads what a Writer wrote. make: makes a value of a description. mutable: what the writer knew already."""

    def __init__(
        self, data: bytes, make: Callable[[str, tuple[Any, ...]], Any], mutable: Sequence[Any] = (), at: int = 0
    ) -> None:
        self.mutable = list(mutable)
        self._data, self._make, self._at = data, make, at

    @property
    def over(self) -> bool:
        return self._at >= len(self._data)

    def get(self) -> Any:
        """The next value. Unreadable if there is none."""
        mark = self._mark()
        if mark in _CONSTANTS:
            return _CONSTANTS[mark]
        size = self._size()
        if mark in b"sibfc":
            return _scalar(mark, self._text(size))
        if mark == b"(":
            return tuple(self._items(size))
        if mark in b"[]}{aqd":
            return self._container(mark, size, known=True)
        if mark == b"r" and size < len(self.mutable):
            return self.mutable[size]
        if mark == b"<":
            return frozenset(self._items(size))
        if mark == b"x" and size:
            kind, *parts = self._items(size)
            return self._make(kind, tuple(parts))
        raise Unreadable(f"{mark!r} of {size} at {self._at}")

    def inside(self) -> Any:
        """The next container, which is the new content of a known one and none of its own."""
        return self._container(self._mark(), self._size(), known=False)

    def _container(self, mark: bytes, size: int, known: bool) -> Any:
        made: Any
        if mark == b"a":
            made = bytearray(self._text(size))
        elif mark in (b"q", b"d"):
            made = list(struct.unpack(f">{size // 8}{mark.decode()}", self._text(size)))
        elif mark in (b"[", b"}", b"{"):
            made = {b"[": list, b"}": set, b"{": dict}[mark]()
        else:
            raise Unreadable(f"{mark!r} is no container")
        if known:
            self.mutable.append(made)  # before its items, which may hold it
        if mark in b"[}{":
            items = self._items(size)
            replace(made, zip(items[::2], items[1::2], strict=True) if mark == b"{" else items)
        return made

    def _mark(self) -> bytes:
        mark = self._data[self._at : self._at + 1]
        if not mark:
            raise Unreadable("cut off")
        self._at += 1
        return bytes(mark)

    def _size(self) -> int:
        size = int.from_bytes(self._data[self._at : self._at + 4], "big")
        self._at += 4
        if size > len(self._data):  # an item takes a byte, at least
            raise Unreadable(f"{size} items at {self._at}")
        return size

    def _text(self, size: int) -> bytes:
        text = self._data[self._at : self._at + size]
        self._at += size
        if len(text) != size:
            raise Unreadable("cut off")
        return text

    def _items(self, size: int) -> list[Any]:
        get = self.get
        return [get() for _ in range(size)]


def _scalar(mark: bytes, text: bytes) -> Any:
    if mark == b"i":
        return int.from_bytes(text, "big", signed=True)
    if mark == b"s":
        return text.decode("utf-8", "surrogatepass")
    if mark == b"b":
        return text
    numbers = [float.fromhex(part) for part in text.decode("ascii").split()]
    return numbers[0] if mark == b"f" else complex(*numbers)


def replace(container: Any, new: Any) -> None:
    """Gives a container that may change the content of another of its kind."""
    if type(container) in (list, bytearray):
        container[:] = new
    else:
        container.clear()
        container.update(new)
