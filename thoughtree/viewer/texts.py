"""Many texts that are mostly alike, such as prompts, written once each and as what differs."""

from __future__ import annotations

from collections.abc import Callable

Written = str | list[int | str]
LEAST = 40  # characters that two texts share at their ends, or it is not worth saying so


class Texts:
    """A table of texts. `written[i]` is text i, or [j, head, tail, middle]: the first `head` and the last `tail`
    UTF-16 units of text j, which is whole, around `middle`. The size grows with what is new; each is read at once.
    """

    def __init__(self) -> None:
        self.written: list[Written] = []
        self._known: dict[str, int] = {}
        self._bases: dict[object, tuple[int, str]] = {}

    def add(self, text: str, kind: object = None) -> int:
        """The number of `text`. kind: what it is; texts of one kind are likely to be alike."""
        number = self._known.get(text)
        if number is not None:
            return number
        number = self._known[text] = len(self.written)
        base = self._bases.get(kind)
        if base is not None:
            first, head = base[1], _shared(base[1], text)
            tail = min(_shared(first[::-1], text[::-1]), len(first) - head, len(text) - head)
            if head + tail >= max(LEAST, len(text) // 3):
                start, end = first[:head], first[len(first) - tail :]
                self.written.append([base[0], _units(start), _units(end), text[head : len(text) - tail]])
                return number
        self._bases[kind] = number, text
        self.written.append(text)
        return number


def continued(text: str, before: str) -> Written:
    """`text`, or [head, rest]: it begins with the first `head` UTF-16 units of `before`."""
    head = _shared(before, text)
    return text if head < LEAST else [_units(text[:head]), text[head:]]


def _shared(a: str, b: str) -> int:
    """The length of the longest common beginning. By halves: comparing slices is what Python does fast."""
    return _largest(lambda n: a[:n] == b[:n], min(len(a), len(b)))


def _largest(holds: Callable[[int], bool], most: int) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _units(text: str) -> int:
    """UTF-16 units, which is how browsers count."""
    return len(text) if text.isascii() else len(text) + sum(c > "\uffff" for c in text)
