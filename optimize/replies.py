"""The replies of one example's LM calls on disk, so that a half-done example of any program goes on from them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..modules.recording import RecordLM
from ..modules.recording.asked import asked_of
from ..modules.recording.kept import Kept


def recorded(lm: Any, path: Path) -> Any:
    """`lm`, with its replies kept in `path`; as it is where it keeps a recording of its own, or cannot be recorded."""
    if isinstance(lm, Kept):
        return lm
    try:
        return SampleLM(lm, path)
    except TypeError:  # a class that answers by a `__call__` of its own
        return lm


class SampleLM(RecordLM):
    """A RecordLM that keeps samples apart as the LM itself does.

    A recording has one reply for a request. An LM without a cache gives another each time that it is asked, so here the
    second equal request, and the third, have a rollout id of their own. Which is which does not matter: they are equal.
    """

    def __init__(self, lm: Any, path: Path) -> None:
        super().__init__(lm, path)
        self._apart = not lm.cache
        self._times: Counter[str] = Counter()
        self._turn = threading.Lock()

    def answer(self, call: Any) -> Any:
        with self._numbered(call):
            return super().answer(call)

    async def aanswer(self, call: Any) -> Any:
        with self._numbered(call):
            return await super().aanswer(call)

    @contextmanager
    def _numbered(self, call: Any) -> Iterator[None]:
        if not self._apart:
            yield
            return
        key = asked_of(self, call).key
        with self._turn:
            time = self._times[key]
            self._times[key] += 1
        if time:
            mine = f"{call.kwargs.get('rollout_id', call.legacy.get('rollout_id', ''))}:{time}"
            call.kwargs["rollout_id"] = call.legacy["rollout_id"] = mine
        try:
            yield
        except BaseException:
            with self._turn:
                self._times[key] -= 1  # it has no reply: whoever asks again is asking for this one
            raise
