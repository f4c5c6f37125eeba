"""The replies of one example's LM calls on disk, so that a half-done example of any program goes on from them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any

import dspy
from dspy.clients.execution import execute

from ..modules.calls.attempt import aexecute
from ..modules.recording import Recording, RecordLM
from ..modules.recording.asked import asked_of
from ..modules.recording.kept import Kept

SETTING = "search_replies"  # of dspy.context: the Replies of the example that is run


class Replies:
    """Of one example, by all LMs that it calls. path: their file, which is made by the first of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._recording: Recording | None = None
        self._times: Counter[str] = Counter()
        self._turn = threading.Lock()

    @property
    def recording(self) -> Recording:
        with self._turn:
            if self._recording is None:
                self._recording = Recording.at(self._path)
            return self._recording

    @contextmanager
    def numbered(self, lm: Any, call: Any) -> Iterator[None]:
        """The second equal request, and the third, have a rollout id of their own within."""
        key = asked_of(lm, call).key
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


def recorded(lm: Any) -> Any:
    """`lm`, which keeps its replies with the example that is run; as it is where it keeps a recording of its own, or
    cannot be recorded.
    """
    if isinstance(lm, Kept):
        return lm
    try:
        return SampleLM(lm)
    except TypeError:  # a class that answers by a `__call__` of its own
        return lm


class SampleLM(RecordLM):
    """A RecordLM whose recording is that of the example around the call, and which keeps samples apart as `lm` does.

    A recording has one reply for a request. An LM without a cache gives another each time that it is asked, so here
    equal requests are numbered. Which is which does not matter: they are equal. Where no example is known, as in a
    thread that has not its context, nothing is kept.
    """

    def __init__(self, lm: Any) -> None:
        super().__init__(lm)
        self._apart = not lm.cache

    def answer(self, call: Any) -> Any:
        replies = dspy.settings.get(SETTING)
        if replies is None:
            call.cache = not self._apart
            return execute(self, call)
        if not self._apart:
            return RecordLM.answer(self._with(replies), call)
        with replies.numbered(self, call):
            return RecordLM.answer(self._with(replies), call)

    async def aanswer(self, call: Any) -> Any:
        replies = dspy.settings.get(SETTING)
        if replies is None:
            call.cache = not self._apart
            return await aexecute(self, call)
        if not self._apart:
            return await RecordLM.aanswer(self._with(replies), call)
        with replies.numbered(self, call):
            return await RecordLM.aanswer(self._with(replies), call)

    def _with(self, replies: Replies) -> Any:
        made: Any = copy(self)
        made.recording = replies.recording
        return made
