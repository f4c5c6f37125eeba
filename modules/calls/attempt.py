"""Where the gate leaves DSPy's execution path: what that does for any call, and a search can do without."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from functools import partial
from typing import Any

from dspy.clients.call_result import combine
from dspy.clients.errors import error_boundary
from dspy.clients.execution import (
    PreparedCall,
    _aattempt,
    _account_failed_call,
    _Attempt,
    _cached,
    _delay,
    _engine,
    _hint_responses_api,
    _price_legacy,
    _price_result,
    _retryable,
    _store,
    prepare,
)

from ..background import in_thread


async def aprepare(lm: Any, prompt: Any, messages: Any, kwargs: dict[str, Any]) -> Any:
    """DSPy's `prepare`, in a thread only if it may read media from files: the thread costs as much again."""
    prepared = partial(prepare, lm, prompt, messages, kwargs, asynchronous=True)
    if "request" not in kwargs and (
        isinstance(prompt, str)
        if messages is None
        else all(type(message.get("content")) is str for message in messages)
    ):
        return prepared()
    return await in_thread(prepared)


async def aexecute(lm: Any, call: Any) -> Any:
    """DSPy's `aexecute`, which leaves nothing to the loop's own threads.

    That looks up its cache and each price in threads of the loop's pool, for which whoever closes the loop waits, and a
    disk or the network may hang. Here they are daemon threads; and where there is nothing to look up, there is none.
    """
    if call.cache and (kept := await in_thread(partial(_cached, lm, call, True))):
        return kept
    backend, request, provider = _engine(lm, call, True)
    results: list[Any] = []
    try:
        for _ in range(1 if request is None else call.n):  # without a request, it is the backend that makes them
            await _candidate(lm, call, backend, request, provider, results)
        result = results[0] if len(results) == 1 else combine(results, model_type=lm.model_type)
        if call.cache:
            await in_thread(partial(_store, lm, call, result, True))
    except BaseException as error:
        _hint_responses_api(lm, error)
        _account_failed_call(lm, results, error)
        raise
    return result


async def _candidate(lm: Any, call: Any, backend: Any, request: Any, provider: Any, results: list[Any]) -> None:
    """One reply more in `results`, with its price. An engine object has none that DSPy knows."""
    state = await _attempted(lm, call, backend, request, provider, results)
    if request is None:
        if provider is not None:
            await in_thread(partial(_price_legacy, lm, state.result, provider))
    elif isinstance(getattr(lm, "_engine_spec", None), str):
        await in_thread(partial(_price_result, lm, state.result, state.response, provider, request))


async def _attempted(lm: Any, call: Any, backend: Any, request: Any, provider: Any, results: list[Any]) -> Any:
    """The attempt that brought a reply; as many as the LM retries, which in a search is none."""
    priced = None if request is None else provider  # else DSPy would look the price up, in a thread of the loop's
    retries, attempt = (lm.num_retries if call.managed else 0), 0
    while True:
        state = _Attempt()
        try:
            with error_boundary(lm.model, provider=provider, unexpected=True) if call.managed else nullcontext():
                await _aattempt(lm, call, backend, request, priced, state, results)
            return state
        except Exception as error:
            if not _retryable(state, error, attempt, retries):
                raise
            await asyncio.sleep(_delay(error, attempt))
            attempt += 1


def keep_key(call: Any, timeout: Any) -> None:
    """Cache this call under the LM's own timeout: its reply is found whatever time a search is given."""
    own = {} if timeout is None else {"timeout": timeout}

    def key(lm: Any, asynchronous: bool) -> dict[str, Any]:
        made = PreparedCall.key(call, lm, asynchronous)
        return {**{name: value for name, value in made.items() if name != "timeout"}, **own}

    call.key = key
