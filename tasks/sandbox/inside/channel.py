"""What a run says of itself, apart from its output: lines that begin with a word that its program is not told."""

from __future__ import annotations

from os import write  # a program may put another into `os`

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_TEXT = 4000  # characters of one text


class Channel:
    """The writing end. A line is the word, a kind, and texts, with tabs between."""

    def __init__(self, fd: int, word: str) -> None:
        self.fd = fd
        self._word = word

    def say(self, *texts: str) -> None:
        """One line: its kind, and what it tells."""
        self.say_all([texts])

    def say_all(self, lines: Iterable[Sequence[str]]) -> None:
        """Several lines at once, so that whoever listens wakes up once."""
        text = "".join("\t".join([self._word, *map(_escaped, texts)]) + "\n" for texts in lines)
        write(self.fd, text.encode("utf-8", "backslashreplace"))


def _escaped(text: str) -> str:
    """`text`, cut, without a line break or a tab of its own."""
    return text[:MOST_TEXT].replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


class Ears:
    """The reading end: the lines that begin with the word, without it. Whatever else came is dropped."""

    def __init__(self, word: str) -> None:
        self._word = word.encode() + b"\t"
        self._rest = b""
        self.heard: list[bytes] = []

    def hear(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        self.heard += [line[len(self._word) :] for line in lines if line.startswith(self._word)]

    def ready(self) -> float | None:
        """When the program started, on the monotonic clock; None if it has not."""
        for line in self.heard:
            kind, _, text = line.partition(b"\t")
            if kind == b"ready":
                return float(text)
        return None
