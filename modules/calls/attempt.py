"""Where the gate leaves DSPy's execution path: what that does for any call, and a search can do without."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from dspy.clients.errors import error_boundary
from dspy.clients.execution import (
    PreparedCall,
    _aattempt,
    _account_failed_call,
    _Attempt,
    _cached,
    _engine,
    _hint_responses_api,
    _price_result,
    _store,
    aexecute,
    prepare,
)

from ..background import in_thread


async def aprepare(lm: Any, prompt: Any, messages: Any, kwargs: dict[str, Any]) -> Any:
    """DSPy's `prepare`, in a thread only if it may read media from files: the thread costs as much again."""
    if "request" not in kwargs and (
        isinstance(prompt, str)
        if messages is None
        else all(type(message.get("content")) is str for message in messages)
    ):
        return prepare(lm, prompt, messages, kwargs, asynchronous=True)
    return await asyncio.to_thread(prepare, lm, prompt, messages, kwargs, asynchronous=True)


async def aattempt(lm: Any, call: Any) -> Any:
    """DSPy's `aexecute` for one attempt.

    That looks up its cache and the price in threads of the loop's pool, for which whoever closes the loop waits, and a
    disk or the network may hang. Here they are daemon threads. An engine object has no price that DSPy knows, so
    without a cache its call is made here and now, with the same error boundary and accounting.
    """
    if call.n > 1 or not call.managed:
        return await aexecute(lm, call)
    if call.cache and (kept := await in_thread(partial(_cached, lm, call, True))):
        return kept
    backend, request, provider = _engine(lm, call, True)
    state, results = _Attempt(), list[Any]()
    try:
        with error_boundary(lm.model, provider=provider, unexpected=True):
            await _aattempt(lm, call, backend, request, provider, state, results)
        if request is not None and isinstance(lm._engine_spec, str):
            await in_thread(partial(_price_result, lm, state.result, state.response, provider, request))
        if call.cache:
            await in_thread(partial(_store, lm, call, results[0], True))
    except BaseException as error:
        _hint_responses_api(lm, error)
        _account_failed_call(lm, results, error)
        raise
    return results[0]


def keep_key(call: Any, timeout: Any) -> None:
    """Cache this call under the LM's own timeout: its reply is found whatever time a search is given."""
    own = {} if timeout is None else {"timeout": timeout}

    def key(lm: Any, asynchronous: bool) -> dict[str, Any]:
        made = PreparedCall.key(call, lm, asynchronous)
        return {**{name: value for name, value in made.items() if name != "timeout"}, **own}

    call.key = key
