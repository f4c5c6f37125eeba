"""No key, header or password gets into a recording, a pickle, a saved state or an error."""

from __future__ import annotations

import asyncio
import json
import pickle
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import cloudpickle
import dspy
import pytest
from dspy.clients.execution import prepare

from engines import Engine, lm
from thoughtree import Recording, RecordLM, ReplayLM
from thoughtree.modules.calls.gate import gate
from thoughtree.modules.recording import UnknownRequest
from thoughtree.modules.recording.asked import asked_of
from thoughtree.modules.recording.definition import settings_of

KEY = "sk-planted-0a1b2c3d4e5f"
HEADER = "planted-header-1a2b3c4d"
PASSWORD = "planted-password-9z8y7x"
OTHER = "planted-aws-5t6r7e8w9q"
ENVIRONMENT = "planted-environment-3e4d5c"
PLANTED = (KEY, HEADER, PASSWORD, OTHER, ENVIRONMENT)


@pytest.fixture(autouse=True)
def _planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", ENVIRONMENT)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def found_in(text: str | bytes) -> list[str]:
    said = text if isinstance(text, bytes) else text.encode()
    return [secret for secret in PLANTED if secret.encode() in said]


def loaded() -> Any:
    """An LM with a secret wherever settings can hold one. It is not called."""
    return dspy.LM(
        "openai/gpt-4o-mini",
        api_key=KEY,
        api_base=f"http://me:{PASSWORD}@127.0.0.1:9/v1",
        extra_headers={"X-Key": HEADER},
        aws_secret_access_key=OTHER,
        extra_body={"api_key": OTHER, "nested": [{"auth_token": OTHER}], "top_k": 3},
        temperature=0.5,
    )


@contextmanager
def provider(content: str) -> Iterator[tuple[str, list[str]]]:
    """A server on this machine that speaks as OpenAI's does; its address, and the keys that it was given."""
    keys: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            keys.append(self.headers["authorization"])
            message = {"role": "assistant", "content": content.format(n=len(keys))}
            reply = {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
            }
            text = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", keys
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# ---- a provider's model


def test_a_providers_model_is_recorded_with_its_price_and_without_its_key(tmp_path: Path):
    path = tmp_path / "replies.jsonl"
    with provider(f"reply {{n}}; your key is {KEY}") as (address, keys):
        model = dspy.LM("openai/gpt-4o-mini", api_key=KEY, api_base=address, cache=False)
        record = RecordLM(model, path)
        assert record("hi") == [f"reply 1; your key is {KEY}"]
        assert record(f"my key is {KEY}, the other {ENVIRONMENT}") == [f"reply 2; your key is {KEY}"]
        cost = model("hi") and model.history[-1]["cost"]
        assert record.paid.cost == pytest.approx(2 * cost)
        assert record.paid.tokens == 2200
        assert record.copy(api_key="sk-another-key-00112233")("hi") == ["reply 1; your key is [redacted]"]
    assert keys == [f"Bearer {KEY}"] * 3
    assert found_in(path.read_bytes()) == []
    replay = ReplayLM(path)
    assert replay("hi") == ["reply 1; your key is [redacted]"]
    assert (replay.history[-1]["cost"], replay.hits.cost) == (pytest.approx(cost), pytest.approx(cost))
    assert replay.history[-1]["usage"]["prompt_tokens"] == 1000
    assert replay.knows_costs
    assert replay.supports_function_calling == model.supports_function_calling
    assert replay.supported_params == model.supported_params


def test_the_gates_timeout_reaches_the_model_and_changes_no_request(tmp_path: Path):
    with provider("reply {n}") as (address, keys):
        record = RecordLM(dspy.LM("openai/gpt-4o-mini", api_key=KEY, api_base=address), tmp_path / "replies.jsonl")
        assert gate(record, timeout=7.0).kwargs["timeout"] == 7.0
        assert gate(record, timeout=7.0)("hi") == ["reply 1"]
        assert asyncio.run(gate(record, timeout=3.0).acall("hi")) == ["reply 1"]
        assert asyncio.run(record.acall("ho")) == ["reply 2"]
    assert len(keys) == 2


# ---- nowhere


def test_no_secret_is_in_what_a_recording_holds():
    model = loaded()
    asked = asked_of(model, prepare(model, f"keys: {KEY} {PASSWORD} {ENVIRONMENT}", None, {}))
    told = json.dumps([asked.shown(model), settings_of(model)])
    assert found_in(told) == []
    assert '"top_k": 3' in told
    assert '"temperature": 0.5' in told


def test_another_key_asks_the_same():
    keys = set()
    for secret in ("planted-one-01234567", "planted-two-01234567"):
        model = loaded().copy(api_key=secret, aws_secret_access_key=secret, extra_body={"api_key": secret, "top_k": 3})
        keys.add(asked_of(model, prepare(model, "hi", None, {})).key)
    assert len(keys) == 1


def test_no_secret_is_saved_or_pickled(tmp_path: Path):
    record = RecordLM(loaded(), tmp_path / "replies.jsonl")
    program = dspy.Predict("question -> answer")
    program.set_lm(record)
    assert found_in(json.dumps(record.dump_state())) == []
    assert found_in(json.dumps(program.dump_state())) == []
    assert found_in(pickle.dumps(record)) == found_in(cloudpickle.dumps(program)) == []
    program.save(tmp_path / "program.json")
    assert found_in((tmp_path / "program.json").read_bytes()) == []


def test_a_saved_program_has_the_lm_that_was_recorded(tmp_path: Path):
    record = RecordLM(dspy.LM("openai/gpt-4o-mini", api_key=KEY, temperature=0.5), tmp_path / "replies.jsonl")
    program = dspy.Predict("question -> answer")
    program.set_lm(record)
    program.save(tmp_path / "program.json")
    again = dspy.Predict("question -> answer")
    again.load(tmp_path / "program.json")
    assert type(again.lm) is dspy.LM
    assert (again.lm.model, again.lm.kwargs["temperature"]) == ("openai/gpt-4o-mini", 0.5)


def test_a_pickled_lm_records_into_the_same_file(tmp_path: Path):
    path = tmp_path / "replies.jsonl"
    with provider("reply {n}") as (address, keys):
        record = RecordLM(dspy.LM("openai/gpt-4o-mini", api_key=KEY, api_base=address), path)
        record("hi")
        again = pickle.loads(pickle.dumps(record))
        assert again("hi") == ["reply 1"]
        assert (again.hits.calls, record.hits.calls) == (1, 0)  # a process counts for itself
        assert again.recording is record.recording
        assert again.copy(api_key="sk-another-key-00112233")("ho") == ["reply 2"]
    assert keys == [f"Bearer {KEY}", "Bearer sk-another-key-00112233"]


def test_a_saved_replay_does_not_become_a_model(tmp_path: Path):
    path = tmp_path / "replies.jsonl"
    RecordLM(lm(Engine(lambda kind, inputs, n: {"answer": "said"}), temperature=0.5), path).copy()("hi")
    program = dspy.Predict("question -> answer")
    program.set_lm(ReplayLM(path))
    program.save(tmp_path / "program.json")
    again = dspy.Predict("question -> answer")
    with pytest.raises(ValueError, match="Refusing to import custom serialized LM class"):
        again.load(tmp_path / "program.json")
    again.load(tmp_path / "program.json", allow_unsafe_lm_state=True)
    assert isinstance(again.lm, ReplayLM)
    assert again.lm.kwargs == {"temperature": 0.5}
    assert pickle.loads(pickle.dumps(again.lm))("hi") == again.lm("hi")


def test_no_secret_is_in_the_error_for_an_unknown_request():
    record = RecordLM(lm(Engine(lambda kind, inputs, n: "said")), Recording())
    record(f"the token is {ENVIRONMENT}, the key {KEY}; bearer {KEY}")
    with pytest.raises(UnknownRequest) as error:
        ReplayLM(record.recording)(f"the token was {ENVIRONMENT}, the key {KEY}; bearer {KEY}")
    assert found_in(str(error.value)) == []
    assert "[redacted]" in str(error.value)


def test_two_requests_that_differ_in_a_key_alone_say_so(monkeypatch: pytest.MonkeyPatch):
    record = RecordLM(lm(Engine(lambda kind, inputs, n: "said")), Recording())
    record(f"the token is {ENVIRONMENT}")
    monkeypatch.setenv("PLANTED_TOKEN", PASSWORD)
    with pytest.raises(UnknownRequest, match="only what recordings leave out"):
        ReplayLM(record.recording)(f"the token is {PASSWORD}")
