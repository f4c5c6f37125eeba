"""Those who listen to a search, and never come back: for each a program, told to hang from one event on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, get_ident
from typing import Any

from dspy.utils.callback import BaseCallback

from thoughtree import Beam, TreeOfThoughts

from .hanging_hooks import INPUTS, SIGNATURE, model

LOG = "thoughtree.search"


class Heard:
    """What was heard. A listener hangs in event number `after`, from 0, or in the one of this kind, until released."""

    def __init__(self, after: int, kind: str | None = None) -> None:
        self.after, self.kind = after, kind
        self.events: list[Any] = []
        self.threads: set[int] = set()
        self.reached, self.released, self.returned = Event(), Event(), Event()

    def hear(self, event: Any) -> None:
        self.events.append(event)
        self.threads.add(get_ident())
        if len(self.events) > self.after if self.kind is None else getattr(event, "kind", None) == self.kind:
            self.reached.set()
            self.released.wait()
            self.returned.set()


class Ears(BaseCallback):
    def __init__(self, heard: Heard) -> None:
        self.heard = heard

    def on_search_event(self, call_id: str, event: Any) -> None:
        self.heard.hear(event)


class Handler(logging.Handler):
    """Hears of one search only, as others may go on."""

    def __init__(self, heard: Heard, wants: Callable[[str], bool]) -> None:
        super().__init__(logging.DEBUG)
        self.heard, self.wants = heard, wants

    def handle(self, record: logging.LogRecord) -> bool:
        """Without the handler's lock, which would hold up the other searches of this process."""
        if self.wants(record.getMessage()):
            self.heard.hear(record.getMessage())
        return True


def _thoughts(name: str) -> Any:
    kind = type(name, (TreeOfThoughts,), {})
    return kind(SIGNATURE, controller=Beam(width=2, branching=2, max_depth=3))


@dataclass(frozen=True, slots=True)
class HangingListener:
    """who: as `search.hung` names it. after: the events that are heard before. kind: of the event in which it hangs.

    late: nobody waits for it until the search is over.
    """

    who: str
    after: int = 0
    kind: str | None = None
    late: bool = False
    inputs: dict[str, str] = field(default_factory=lambda: dict(INPUTS))

    @contextmanager
    def opened(self, name: str) -> Iterator[tuple[Any, Any, Heard, dict[str, Any], dict[str, Any]]]:
        """The program, its model, what was heard, and what goes into the call's config and into DSPy's context.

        name: of the program's class, which no other search has that runs at the time.
        """
        heard, config, context = Heard(self.after, self.kind), dict[str, Any](), dict[str, Any]()
        handler = None
        if self.who == "on_event":
            config["on_event"] = heard.hear
        elif self.who == "Ears.on_search_event":
            context["callbacks"] = [Ears(heard)]
        else:
            handler = Handler(heard, lambda said: said.startswith(f"{name} #"))
            logging.getLogger(LOG).addHandler(handler)
        try:
            yield _thoughts(name), model(), heard, config, context
        finally:
            heard.released.set()
            if handler is not None:
                logging.getLogger(LOG).removeHandler(handler)


@contextmanager
def all_logged() -> Iterator[None]:
    """All that searches log is said to handlers, and to those of this logger alone."""
    log = logging.getLogger(LOG)
    before = log.level, log.propagate
    log.propagate = False
    log.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        log.propagate = before[1]
        log.setLevel(before[0])


HANDLER = "a handler of Python's logging"
LISTENERS = {
    "on_event": HangingListener("on_event", after=3),
    "on_event, of the first reply": HangingListener("on_event", after=0),
    "callback, as the search begins": HangingListener("Ears.on_search_event", after=0),
    "callback": HangingListener("Ears.on_search_event", after=5),
    "callback, as the search ends": HangingListener("Ears.on_search_event", kind="ended", late=True),
    "logging, as the search begins": HangingListener(HANDLER, after=0),
    "logging": HangingListener(HANDLER, after=3, late=True),
}
