"""Lines of which each vouches for all before it: one that is changed, lost, doubled or moved is found by its check.

A check is the CRC-32 of everything up to it. Against accidents: whoever forges a file can forge it too.
"""

from __future__ import annotations

from zlib import crc32

END = len(', "sum": "01234567"}')


class BrokenChain(ValueError):
    """A line that is not the one written behind the line before it."""


def sealed(line: bytes, before: int) -> tuple[bytes, int]:
    """`line`, a JSON object that is not empty, with its check as the last entry; and that check."""
    check = crc32(line, before)
    return line[:-1] + _end(check), check


def opened(line: bytes, before: int) -> tuple[bytes, int]:
    """What was sealed behind a line of the check `before`; and this line's check."""
    body = line[:-END] + b"}"
    check = crc32(body, before)
    if line[-END:] != _end(check):
        raise BrokenChain("it was changed, or lines before it are missing, doubled or moved")
    return body, check


def _end(check: int) -> bytes:
    return b', "sum": "%08x"}' % check
