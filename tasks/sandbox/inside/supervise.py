"""The launcher's watch over a run: its output, its limits, its end."""

from __future__ import annotations

import os
import select
import time

from . import family, folder
from .channel import Ears

TICK = 0.05  # seconds between two looks at what is used
LONGEST_START = 20.0  # seconds that setting up may take
MOST_SAID = 4 << 20  # bytes on the channel
CHUNK = 1 << 16
ABANDONED = "abandoned"  # nobody listens
VERDICTS = (b"begin", b"passed", b"failed", b"unexamined")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .order import Order


class Supervisor:
    """Watches `children`: first the program's process or, if it is kept apart, the first one of its namespace.

    fewest: processes of a run whose program starts none. streams: the reading ends of its output, its errors, its
    channel and, if there is an examiner, that one's channel. host: a pipe whose other end the host holds. end: ends
    what is left of the run.
    """

    def __init__(
        self,
        order: Order,
        children: Sequence[int],
        fewest: int,
        streams: Sequence[int],
        host: int,
        word: str,
        end: Callable[[], None],
    ) -> None:
        self.reason = ""
        self.status = 0
        self.wall = self.cpu = 0.0
        self.output = [bytearray() for _ in streams]
        self._order = order
        self._child, self._others = children[0], children[1:]
        self._fewest = fewest
        self._streams = dict(zip(streams, self.output, strict=True))
        self._host = host
        self._ears = {stream: Ears(word) for stream in streams[2:]}
        self._end = end
        self._started: float | None = None

    @property
    def heard(self) -> list[bytes]:
        """What was said on the channels. Where there is an examiner, verdicts are its own, and nothing else is."""
        program, *examiner = self._ears.values()
        if not examiner:
            return program.heard
        own = [line for line in program.heard if line.split(b"\t")[0] not in VERDICTS]
        return own + [line for line in examiner[0].heard if line.split(b"\t")[0] in VERDICTS]

    def watch(self) -> None:
        """Returns when the run is over and nothing of it is left. `reason`: which limit ended it, "" if none did."""
        begun = looked = time.monotonic()
        poll = select.poll()
        for fd in self._streams:
            os.set_blocking(fd, False)
            poll.register(fd, select.POLLIN)
        poll.register(self._host, 0)
        handle = _handle(self._child)
        if handle is not None:
            poll.register(handle, select.POLLIN)
        while not self.reason and not self._ended():
            for fd, _ in poll.poll(1000 * (TICK if handle is not None else TICK / 5)):
                if fd == self._host:
                    self.reason = ABANDONED
                elif fd in self._streams and not self._read(fd):
                    poll.unregister(fd)
            now = time.monotonic()
            if self._started is None:
                self._started = next(iter(self._ears.values())).ready()
            if self._started is None:
                if now > begun + LONGEST_START:
                    self.reason = "start"
            elif now > self._started + self._order["wall"]:
                self.reason = "wall time"
            elif now > looked + TICK:
                looked = now
                self._look()
        self.wall = time.monotonic() - (self._started or begun)
        self._finish()

    def _ended(self) -> bool:
        """Is the child over? It is waited for later: until then its number is nobody else's."""
        return os.waitid(os.P_PID, self._child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _look(self) -> None:
        members = [pid for child in (self._child, *self._others) for pid in family.of(child)]
        self.cpu = family.cpu_seconds(members)
        if self.cpu > self._order["cpu"]:
            self.reason = "cpu time"
        elif len(members) > self._fewest and family.memory(members) > self._order["memory"]:
            self.reason = "memory"
        elif folder.overfull(self._order["folder"], self._order["files"]):
            self.reason = "file size"

    def _read(self, fd: int) -> bool:
        """Takes what has come, up to the limit. False at the stream's end."""
        try:
            chunk = os.read(fd, CHUNK)
        except BlockingIOError:
            return True
        if fd in self._ears:
            self._ears[fd].hear(chunk)
        into = self._streams[fd]
        into += chunk
        out, errors, *said = self.output
        if len(out) + len(errors) > self._order["output"] or max(map(len, said)) > MOST_SAID:
            self.reason = self.reason or "output"
        return bool(chunk)

    def _finish(self) -> None:
        """Ends what is left, then reads what it had written."""
        if self.reason:
            os.kill(self._child, family.KILL)
        _, self.status, used = os.wait4(self._child, 0)
        self.cpu = max(self.cpu, used.ru_utime + used.ru_stime)  # the latter without those that nobody waited for
        self._end()
        for fd in self._streams:
            while self._waiting(fd) and self._read(fd):
                pass
        out, errors, *_ = self.output
        del errors[max(0, self._order["output"] - len(out)) :]
        del out[self._order["output"] :]

    @staticmethod
    def _waiting(fd: int) -> bool:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        return any(event & select.POLLIN for _, event in poll.poll(0))


def _handle(pid: int) -> int | None:
    """A file that can be read when `pid` is over; None before Linux 5.3."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
