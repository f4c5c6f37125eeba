"""A real client of DSPy's over real sockets, of this machine alone: behind faults, and with a server that is silent."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.clients import model_metadata

from benchmarked import benchmark
from faultworlds import watched
from patience import in_time, until
from thoughtree import Beam, RecordLM, SearchStatus, TreeOfThoughts
from thoughtree.modules.calls.gate import Meter, gate
from thoughtree.search import Budget, Ended
from thoughtree.testing import Fault, FaultyLM

(lookups,) = map(benchmark, ("hanging_lookups",))
drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])
TEXT = "[[ ## next_thoughts ## ]]\n1. go left\n2. go right\n\n[[ ## completed ## ]]"


@pytest.fixture
def provider() -> Iterator[Any]:
    """A server that proposes two thoughts to whoever asks; `asked` lists the keys and the bodies."""
    asked: list[tuple[str, dict[str, Any]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.headers["Authorization"], body))
            message = {"role": "assistant", "content": TEXT}
            usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            reply = json.dumps({"id": "1", "model": body["model"], "choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked = asked  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def silence() -> Iterator[int]:
    """The port of a server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def client(port: int, **settings: Any) -> Any:
    base = f"http://127.0.0.1:{port}/v1"
    return dspy.LM("openai/gpt-4o-mini", api_base=base, api_key="sk-local", cache=False, **settings)


def program() -> TreeOfThoughts:
    return TreeOfThoughts(
        "question -> answer",
        controller=Beam(branching=2, max_depth=1),
        rate=lambda inputs, nodes: [1.0] * len(nodes),
        answer="path",
    )


def run(model: Any, driver: str, **config: Any) -> Any:
    def call() -> Any:
        with dspy.context(lm=model):
            if driver == "asyncio":
                return asyncio.run(program().acall(question="q", config=config), debug=True)
            return program()(question="q", config=config)

    return watched(call).search


@drivers
def test_faults_before_a_real_client(provider: Any, driver: str) -> None:
    model = FaultyLM(client(provider.server_port, temperature=0.3), [Fault.server(times=2, retry_after=0.001)])
    found = run(model, driver)
    assert found.path == ["go left"]
    assert (found.spent.calls, found.spent.tokens, found.failed, model.calls) == (3, 10, 2, 3)
    [(key, body)] = provider.asked
    assert (key, body["model"], body["temperature"]) == ("Bearer sk-local", "gpt-4o-mini", 0.3)
    assert "sk-local" not in repr(vars(model))  # it stays with the client


@drivers
def test_spoilt_replies_of_a_real_client(provider: Any, driver: str) -> None:
    model = FaultyLM(client(provider.server_port), [Fault.empty()])
    found = run(model, driver)
    assert (found.path, found.unread, found.spent.calls) == (["go left"], {"propose": 1}, 2)
    assert len(provider.asked) == 2


@drivers
def test_a_deadline_holds_over_a_silent_server_and_the_client_ends_too(silence: int, driver: str) -> None:
    before = set(threading.enumerate())

    def attempt(seconds: float) -> Any:
        found = run(client(silence), driver, budget=Budget(seconds=seconds))
        return found if found.unfinished else None  # else there was no time to ask

    found = in_time(attempt, first=0.5)
    assert (found.status, found.ended, found.unfinished) == (SearchStatus.FAILED, Ended.SECONDS, 1)
    until(lambda: not set(threading.enumerate()) - before)  # the deadline was passed on to the client


@pytest.mark.parametrize("recorded", [False, True])
@drivers
def test_a_deadline_holds_over_a_catalog_that_a_call_waits_for_and_the_loop_closes_too(
    provider: Any, driver: str, recorded: bool, tmp_path: Path
) -> None:
    """DSPy looks up a reply's price in it, a recording what the model can do. A loop that waited would never end."""
    model = client(provider.server_port)
    with lookups.hung_catalog() as catalog:

        def attempt(seconds: float) -> Any:
            asked = RecordLM(model, tmp_path / f"{seconds}.jsonl") if recorded else model
            found = run(asked, driver, budget=Budget(seconds=seconds))
            return found if catalog.reached.is_set() else None

        found = in_time(attempt, first=0.5)
    assert (found.status, found.ended, found.unfinished) == (SearchStatus.FAILED, Ended.SECONDS, 1)


class Hang:
    """Called, it hangs until the test is over."""

    def __init__(self) -> None:
        self.reached, self.released = threading.Event(), threading.Event()

    def __call__(self, *_: Any) -> None:
        self.reached.set()
        self.released.wait()


@pytest.fixture
def hang() -> Iterator[Hang]:
    hang = Hang()
    yield hang
    hang.released.set()


def leaves(call: Callable[[], Awaitable[Any]], reached: threading.Event) -> None:
    """Cancel `call` where it hangs, and close its loop, which waits for whatever its own pool does."""

    async def cancelled() -> None:
        running = asyncio.ensure_future(call())
        while not reached.is_set():
            assert not running.done(), running
            await asyncio.sleep(0.002)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    watched(lambda: asyncio.run(cancelled()))


def test_the_price_of_one_of_several_candidates_is_nothing_that_a_loop_waits_for(provider: Any) -> None:
    model = gate(client(provider.server_port))
    with lookups.hung_catalog() as catalog:
        leaves(lambda: model.acall("hi", n=2), catalog.reached)
    assert len(provider.asked) == 1


@pytest.mark.parametrize("method", ["get", "put"])
def test_a_cache_on_a_disk_that_hangs_is_nothing_that_a_loop_waits_for(
    provider: Any, method: str, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dspy.cache, method, hang)
    model = gate(client(provider.server_port).copy(cache=True))
    leaves(lambda: model.acall("hi", n=2), hang.reached)
    assert len(provider.asked) == {"get": 0, "put": 2}[method]


def test_media_that_are_read_from_a_disk_that_hangs_are_nothing_that_a_loop_waits_for(
    provider: Any, hang: Hang
) -> None:
    class Parts(list[Any]):
        def __iter__(self) -> Any:
            hang()
            return super().__iter__()

    model = gate(client(provider.server_port))
    messages = [{"role": "user", "content": Parts([{"type": "text", "text": "hi"}])}]
    leaves(lambda: model.acall(messages=messages), hang.reached)
    assert not provider.asked


@drivers
def test_several_candidates_by_one_call_are_asked_for_one_by_one_and_each_is_priced(
    provider: Any, driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    price = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}
    monkeypatch.setattr(model_metadata, "_data", {"gpt-4o-mini": {"litellm_provider": "openai", **price}})
    model, meter = gate(client(provider.server_port)), Meter(left=2)
    with dspy.context(search_meter=meter):
        said = asyncio.run(model.acall("hi", n=2)) if driver == "asyncio" else model("hi", n=2)
    assert (said, len(provider.asked)) == ([TEXT, TEXT], 2)
    assert all("n" not in body for _, body in provider.asked)
    [record] = meter.records
    assert (meter.calls, meter.tokens) == (2, 20)
    assert record["cost"] == pytest.approx(2 * (7 * 1e-6 + 3 * 2e-6))
