"""`ReplayLM`: an LM that replies from a recording alone."""

from __future__ import annotations

import os
from typing import Any

import dspy
from dspy.clients.base_lm import LM_CLASS_STATE_KEY
from dspy.clients.call_result import CallResult

from ..calls.meter import not_known
from .asked import asked_of
from .definition import ABLE, chosen, settings_of
from .errors import RecordingError
from .kept import Kept
from .ledger import Ledger
from .nearest import unknown
from .store import Recording


class ReplayLM(Kept, dspy.LM):
    """The model of a recording: the same replies to the same requests, in any order, and no network.

        with dspy.context(lm=ReplayLM("replies.jsonl")):
            program(question="...")

    Replies, usage and cost are those of the recorded calls, and count as such: a budget ends where it ended. A request
    that is not there raises UnknownRequest, which shows the nearest one, and a search that makes it raises that too,
    whatever its `on_failure` says. The file is read, and never written.

    path: a file, or a Recording. model, settings: as the LM was recorded; only needed where the recording has several,
    or for settings that are no plain data. Raises RecordingError.
    """

    def __init__(self, path: str | os.PathLike[str] | Recording, *, model: str | None = None, **settings: Any) -> None:
        if path is None:
            raise RecordingError("ReplayLM(None): give the path of a recording")
        recording = Recording.at(path, create=False)
        lm = chosen(recording, model, settings)
        super().__init__(
            lm["model"],
            model_type=lm["model_type"],
            engine=_NoEngine(lm),
            async_engine=_NoAsyncEngine(lm),
            cache=False,
            num_retries=0,
            use_developer_role=lm["use_developer_role"],
        )
        self.kwargs = {**lm["settings"], **settings}
        self.recording, self.ledger = recording, Ledger()

    @property
    def knows_costs(self) -> bool:
        """Whether what its calls did cost is recorded, so that a ceiling in dollars can be held."""
        newest = self.recording.replies(100)
        own = [result for _, asked, result in newest if asked["request"].get("model") == self.model]
        return bool(own) and all(result.get("cost") is not None for result in own)

    def answer(self, call: Any) -> CallResult:
        asked = asked_of(self, call)
        result = self.recording.find(asked.key, look=True)
        if result is None:
            raise not_known(unknown(self.recording, self, asked))
        return self.served(asked, result, cache_hit=False)

    async def aanswer(self, call: Any) -> CallResult:
        return self.answer(call)

    def dump_state(self) -> dict[str, Any]:
        """Its recording's path, so that a saved program does not call the model by chance."""
        if self.recording.path is None:
            raise RecordingError("a ReplayLM of a recording in memory cannot be saved; give it a path")
        return {
            LM_CLASS_STATE_KEY: f"{__name__}.{ReplayLM.__name__}",
            "path": str(self.recording.path),
            "model": self.model,
            **settings_of(self),
        }

    @classmethod
    def load_state(cls, state: dict[str, Any], *, allow_custom_lm_class: bool = False) -> ReplayLM:
        return cls(**{name: value for name, value in state.items() if name != LM_CLASS_STATE_KEY})


class _NoEngine:
    """What the recorded LM can do, without any way to do it: whoever goes past `__call__` meets it."""

    def __init__(self, lm: dict[str, Any]) -> None:
        self.supported_params = tuple(lm["supported_params"])
        for name in ABLE:
            setattr(self, name, lm[name])

    def complete(self, request: Any) -> Any:
        raise RecordingError("a ReplayLM answers `lm(...)` and `lm.acall(...)`; `forward` would need a model")


class _NoAsyncEngine(_NoEngine):
    async def complete(self, request: Any) -> Any:
        return super().complete(request)
