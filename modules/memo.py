"""What was computed once in a search: equal keys share one computation, also while it runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Future
from typing import Any


class Memo:
    """Results by key, for threads and tasks alike. What raised is not kept; who waited for it tries it again itself."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Future[Any]] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> Any:
        """A copy in another process is of another search."""
        return Memo, ()

    def get(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """`compute()`, or what it gave another caller."""
        while True:
            future, mine = self._claim(key)
            if mine:
                with _Settled(self, key, future) as settled:
                    settled.value = compute()
                return settled.value
            if (kept := future.result()) is not None:
                return kept[0]

    async def aget(self, key: Hashable, compute: Callable[[], Awaitable[Any]]) -> Any:
        """The same for a task."""
        while True:
            future, mine = self._claim(key)
            if mine:
                with _Settled(self, key, future) as settled:
                    settled.value = await compute()
                return settled.value
            # Shielded: one waiter's end must not cancel what the others wait for.
            if (kept := await asyncio.shield(asyncio.wrap_future(future))) is not None:
                return kept[0]

    def _claim(self, key: Hashable) -> tuple[Future[Any], bool]:
        with self._lock:
            mine = key not in self._found
            return self._found.setdefault(key, Future()), mine

    def forget(self, key: Hashable) -> None:
        with self._lock:
            self._found.pop(key, None)


class _Settled:
    """Tells those who wait: the value in a tuple, or None where there came none."""

    value: Any = None

    def __init__(self, memo: Memo, key: Hashable, future: Future[Any]) -> None:
        self._memo, self._key, self._future = memo, key, future

    def __enter__(self) -> _Settled:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:
            self._memo.forget(self._key)
        self._future.set_result(None if kind is not None else (self.value,))
