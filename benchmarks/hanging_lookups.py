"""DSPy's catalog of models, whose server never comes to an end; for each thing that is asked of it a program."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest.mock import patch

import dspy
from dspy.clients import model_metadata

from thoughtree import RAP, Blocksworld, Game24, TreeOfThoughts

from .hanging_executions import INPUTS as BLOCKS
from .hanging_hooks import INPUTS, SIGNATURE


def model(name: str = "openai/gpt-4o-mini") -> Any:
    """Never called: its price, or what it can do, is not known yet."""
    return dspy.LM(name, api_key="none", cache=False)


class Catalog(ThreadingHTTPServer):
    """Sends one byte after the other, so that no client gives up, until it is released."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Drip)
        self.reached, self.released = threading.Event(), threading.Event()


class _Drip(BaseHTTPRequestHandler):
    server: Catalog

    def do_GET(self) -> None:
        self.server.reached.set()
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while not self.server.released.wait(0.1):
            self.wfile.write(b" ")

    def log_message(self, *args: Any) -> None: ...


@contextmanager
def hung_catalog() -> Iterator[Catalog]:
    """As in a process in which DSPy has not fetched its catalog yet."""
    catalog = Catalog()
    threading.Thread(target=catalog.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{catalog.server_address[1]}"
    settings = {"LITELLM_MODEL_COST_MAP_URL": address, "LITELLM_LOCAL_MODEL_COST_MAP": "", "no_proxy": "127.0.0.1"}
    with patch.dict(os.environ, settings), patch.object(model_metadata, "_data", None):
        try:
            yield catalog
        finally:
            catalog.released.set()
            model_metadata.source_info()  # whoever fetches it still has come to an end then
            catalog.shutdown()
            catalog.server_close()


@dataclass(frozen=True, slots=True)
class HangingLookup:
    """budget: of the program's call, beside the seconds."""

    program: Callable[[], Any]
    budget: Mapping[str, Any] = field(default_factory=dict[str, Any])
    inputs: Mapping[str, Any] = field(default_factory=lambda: INPUTS)


LOOKUPS = {
    "price, under a ceiling in dollars": HangingLookup(lambda: TreeOfThoughts(SIGNATURE), {"cost": 1.0}),
    "probabilities of a rater's tokens": HangingLookup(lambda: RAP(task=Blocksworld()), inputs=BLOCKS),
    "schemas, of who chooses": HangingLookup(
        lambda: TreeOfThoughts(task=Game24(), propose="choose"), inputs={"numbers": "4 9 10 13"}
    ),
}
