"""An LM class that answers prepared calls itself, before any engine is asked: where the gate finds it.

DSPy's engines never see a rollout id, an `n` or a price, and its cache is one for the process. What must know
them, such as a recording, stands where DSPy's cache stands: between the prepared call and its execution.
"""

from __future__ import annotations

from typing import Any

from dspy.clients._deprecation import warn_legacy_lm, warn_openai_messages
from dspy.clients.execution import execute, finalize, prepare
from dspy.utils.callback import with_callbacks

from .attempt import aexecute, aprepare


class ServedLM:
    """Stands before a class of LMs. `answer` and `aanswer` take DSPy's PreparedCall and give its CallResult.

    A result with `cache_hit` cost nothing, whatever cost it names: the gate counts the call and its tokens.
    """

    num_retries: int

    def answer(self, call: Any) -> Any:
        """The CallResult of a call that DSPy has prepared. What it raises is the call's failure."""
        raise NotImplementedError

    async def aanswer(self, call: Any) -> Any:
        """The same, awaited."""
        raise NotImplementedError

    # The two below are BaseLM's, except for who answers.

    @with_callbacks
    def __call__(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        call = self._checked(prepare(self, prompt, messages, kwargs), messages)
        return finalize(self, call, self.answer(call))

    @with_callbacks
    async def acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        call = self._checked(await aprepare(self, prompt, messages, kwargs), messages)
        return finalize(self, call, await self.aanswer(call))

    def _checked(self, call: Any, messages: Any) -> Any:
        if not call.managed:
            warn_legacy_lm()
        warn_openai_messages(self, messages)
        return call


def answered(lm: Any, call: Any) -> Any:
    """The result of a prepared call: the LM's own answer, or that of the engine which DSPy chooses."""
    return lm.answer(call) if isinstance(lm, ServedLM) else execute(lm, call)


async def aanswered(lm: Any, call: Any) -> Any:
    """The same, awaited."""
    return await (lm.aanswer(call) if isinstance(lm, ServedLM) else aexecute(lm, call))
