"""Keys planted wherever a setting can hold one, told by whoever sees them, and looked for in all that is written."""

from __future__ import annotations

import base64
import json
import logging
import os
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import dspy
import pytest
from dspy.clients import Cache
from dspy.clients.call_result import attributes
from typer.testing import CliRunner

from hostile import MARK, PROGRAMS, search, stub
from test_cli import Served, played
from thoughtree import SearchFailed, load
from thoughtree.cli import app
from thoughtree.modules.calls.redaction import HIDDEN, hide, redact, secrets_of, telling
from thoughtree.modules.recording import RecordLM, ReplayLM
from thoughtree.prompts import input_values, output_names, written

PLANTED = {
    "api_key": "sk-planted/key+0123456789",
    "header": "header-planted-0123456789",
    "bearer": "bearer-planted-0123456789",
    "password": "pass word-planted:0123456789",
    "nested": "nested-planted-0123456789",
    "cloud": "cloud-planted-0123456789",
    "query": "query-planted-0123456789",
    "environment": "environment-planted-0123456789",
}
SETTINGS: dict[str, Any] = {
    "api_key": PLANTED["api_key"],
    "headers": {"X-Service": PLANTED["header"]},
    "extra_headers": {"Authorization": f"Bearer {PLANTED['bearer']}"},
    "base_url": f"https://user:{quote(PLANTED['password'], safe='')}@localhost/v1?api_key={PLANTED['query']}",
    "extra_body": {"session": {"token": PLANTED["nested"]}},
    "aws_secret_access_key": PLANTED["cloud"],
}
BASIC = base64.b64encode(f"user:{PLANTED['password']}".encode()).decode()


def spellings(secret: str) -> list[str]:
    """A key as it is, in an address, and in JSON."""
    return [secret, quote(secret, safe=""), json.dumps(secret)[1:-1]]


EVERY = [text for secret in PLANTED.values() for text in spellings(secret)]
LEAK = " ".join([*PLANTED.values(), *(quote(secret, safe="") for secret in PLANTED.values())])
WAYS: dict[str, Callable[[], str]] = {
    "as they are": lambda: f"refused: {LEAK}",
    "headers": lambda: f"headers={SETTINGS['headers'] | SETTINGS['extra_headers']!r}",
    "request": lambda: f"POST failed: {json.dumps(SETTINGS)}",
    "address": lambda: f"GET {SETTINGS['base_url']}: 404; Authorization: Basic {BASIC}",
}


def told(text: str) -> list[str]:
    """The keys that are found in `text`, in any spelling."""
    return [secret for secret in [*EVERY, BASIC, PLANTED["password"].split(":")[-1]] if secret in text]


@pytest.fixture(autouse=True)
def _planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", PLANTED["environment"])


class Provider(dspy.BaseLM):
    """A model whose client knows all keys: it tells them in its replies, or in its errors."""

    def __init__(self, say: str = "", fail: str | None = None, **settings: Any) -> None:
        super().__init__("planted/model", **{**SETTINGS, **settings})
        self.say, self.fail = say, fail

    def forward(self, prompt: Any = None, messages: Any = None, **kwargs: Any) -> Any:
        assert self.kwargs["api_key"] == PLANTED["api_key"]  # the keys are there to be told
        if self.fail is not None:
            inner = OSError(f"socket of {SETTINGS['base_url']}")
            error = RuntimeError(self.fail)
            error.add_note(f"with {LEAK}")
            raise error from inner
        text = messages[-1]["content"]
        fields = stub(self.say)(output_names(text), input_values(text), 1)
        choice = {"message": {"content": written(fields, text)}, "finish_reason": "stop"}
        return attributes({"model": "planted/model", "choices": [choice], "usage": {"total_tokens": 3}})

    async def aforward(self, prompt: Any = None, messages: Any = None, **kwargs: Any) -> Any:
        return self.forward(prompt, messages, **kwargs)


pytestmark = pytest.mark.filterwarnings("ignore:Implementing custom LMs:DeprecationWarning")


def written_by(found: Any, events: list[Any], folder: Path) -> Iterator[tuple[str, str]]:
    """All that a run leaves behind, by where it was found."""
    result = found.search
    result.save(folder / "result.json")
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.name, path.read_bytes().decode()
    yield "summary", result.summary()
    yield "explain", result.explain()
    yield "warnings", str(result.warnings)
    yield "errors", str(result.errors)
    yield "tree", str([(n.action, n.state, n.reason, n.observation, n.verdict, n.answer) for n in result.tree])
    yield "lessons", str(result.tree.lessons)
    yield "result", repr(result)
    yield "prediction", f"{found!r} {found} {found.toDict()}"
    for event in events:
        yield "event", f"{event.ask!r} {event.reply!r}"


def run(name: str, model: Any, folder: Path, driver: str, text: str, **knobs: Any) -> Iterator[tuple[str, str]]:
    import asyncio

    case, events = PROGRAMS[name], list[Any]()
    program = case.make(text, **{"retries": 0, **knobs})
    config = {"journal": folder / "run.jsonl", "on_event": events.append}
    with dspy.context(lm=model):
        if driver == "asyncio":
            found = asyncio.run(program.acall(**case.inputs, config=config))
        else:
            found = program(**case.inputs, config=config)
        yield "program", repr(program)
        program.save(folder / "program.json")
    yield from written_by(found, events, folder)


def assert_silent(
    written: Iterator[tuple[str, str]],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    *,
    hidden: bool = True,
) -> None:
    for name in ("dspy", "thoughtree", "httpx"):  # some of them do not tell the root logger
        logging.getLogger(name).addHandler(caplog.handler)
        caplog.set_level(logging.DEBUG, name)
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        everything = list(written)
    for name in ("dspy", "thoughtree", "httpx"):
        logging.getLogger(name).removeHandler(caplog.handler)
    printed = capfd.readouterr()
    everything += [("log", caplog.text), ("stdout", printed.out), ("stderr", printed.err)]
    everything += [("warning", str(w.message)) for w in warned]
    assert [(place, told(text)) for place, text in everything if told(text)] == []
    assert any(HIDDEN in text for _, text in everything) == hidden


drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])
programs = pytest.mark.parametrize("name", PROGRAMS)


@drivers
@programs
def test_a_reply_that_echoes_keys(name: str, driver: str, tmp_path: Path, caplog: Any, capfd: Any) -> None:
    written = run(name, Provider(say=LEAK), tmp_path, driver, "plain")
    assert_silent(written, caplog, capfd)


@drivers
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["values", "environment", "world"])
def test_an_error_that_quotes_keys(name: str, way: str, driver: str, tmp_path: Path, caplog: Any, capfd: Any) -> None:
    written = run(name, Provider(fail=WAYS[way]()), tmp_path, driver, "plain")
    assert_silent(written, caplog, capfd)


@pytest.mark.parametrize("name", ["values", "environment", "tools", "reward"])
def test_code_of_the_users_own_that_tells_keys(name: str, tmp_path: Path, caplog: Any, capfd: Any) -> None:
    """Functions, environments and tools say all that they know."""
    if name in ("values", "environment"):  # their actions and states are the user's own; what is made of them is not
        case = PROGRAMS[name]
        program = case.make(LEAK, retries=0)
        with dspy.context(lm=Provider(say="plain")):
            found = program(**case.inputs, config={"journal": tmp_path / "run.jsonl"})
        lines = (tmp_path / "run.jsonl").read_text()
        assert told(lines) == []
        assert HIDDEN in lines
        assert told(str([node.observation for node in found.search.tree])) == []
        return
    assert_silent(run(name, Provider(say="plain"), tmp_path, "threads", LEAK), caplog, capfd)


def test_errors_of_hooks_and_functions(tmp_path: Path, caplog: Any, capfd: Any) -> None:
    from thoughtree import Beam, FreeText, TreeOfThoughts

    class Task(FreeText):
        def apply(self, state: Any, action: Any) -> Any:
            raise LookupError(LEAK)

    class Shy(FreeText):
        asked = True

        def render(self, state: Any) -> str:
            if self.asked:
                raise LookupError(LEAK)
            return ""

    def propose(inputs: Any, node: Any, n: int) -> Any:
        raise LookupError(LEAK)

    for i, knobs in enumerate([{"task": Task()}, {"task": Shy(), "rate": "vote"}, {"propose": propose}]):
        program = TreeOfThoughts("question -> answer", controller=Beam(max_depth=1), answer="path", retries=0, **knobs)
        Shy.asked = True
        with dspy.context(lm=Provider(say="plain")):
            events: list[Any] = []
            (tmp_path / str(i)).mkdir()
            config = {"journal": tmp_path / str(i) / "run.jsonl", "on_event": events.append}
            found = program(question="why?", config=config)
            assert found.search.errors
            Shy.asked = False  # files are written by it too
            assert_silent(written_by(found, events, tmp_path / str(i)), caplog, capfd)


def test_what_is_raised_holds_no_key_in_any_part(tmp_path: Path) -> None:
    model = Provider(fail=WAYS["as they are"]())
    with dspy.context(lm=model), pytest.raises(SearchFailed) as caught:
        PROGRAMS["proposals"].make("plain", on_failure="raise", retries=0)(question="why?")
    parts: list[str] = []
    error: BaseException | None = caught.value
    while error is not None:
        parts += [str(error), repr(error), *getattr(error, "__notes__", ()), *map(str, error.args)]
        error = error.__cause__ or error.__context__
    parts += traceback.format_exception(caught.value)
    assert [told(part) for part in parts if told(part)] == []
    assert HIDDEN in str(caught.value.result.errors)


def test_a_recording_holds_no_key_and_gives_the_same_search_again(tmp_path: Path) -> None:
    case, path = PROGRAMS["proposals"], tmp_path / "recording.jsonl"
    with dspy.context(lm=RecordLM(Provider(say=LEAK), path)):
        found = case.make("plain")(**case.inputs)
    assert told(path.read_text()) == []
    assert HIDDEN in path.read_text()
    with dspy.context(lm=ReplayLM(path)):
        again = case.make("plain")(**case.inputs)
    assert (again.toDict(), again.search.path) == (found.toDict(), found.search.path)


@pytest.mark.parametrize("options", [["--tree", "--explain"], ["--json", "--tree"], ["--quiet"]], ids=" ".join)
def test_the_command_line_prints_no_key_that_a_server_echoes(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "echoed-planted-0123456789"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setitem(vars(dspy), "cache", Cache(False, False, None))

    def echo(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, reply = played(body)
        message = reply["choices"][0]["message"]
        message["content"] = message["content"].replace("\n\n[[ ## completed", f" {key}\n\n[[ ## completed")
        return status, reply

    with Served(echo).running() as server:
        words = ["solve", "4 9 10 13", "--model", "openai/gpt-4o-mini", "--api-base", server.base, "--journal", "j"]
        found = CliRunner().invoke(app, [*words, *options])
    lines = (tmp_path / "j").read_text()
    assert isinstance(found.exception, SystemExit | None)
    assert HIDDEN in lines
    assert [key in text for text in (found.stdout, found.stderr, lines)] == [False] * 3


def test_the_command_line_prints_no_password_of_an_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    address = "http://user:planted-0123456789@127.0.0.1:9/v1"
    words = ["solve", "4 6", "--model", "openai/gpt-4o-mini", "--api-base", address, "--journal", "j"]
    for options in ([], ["--json"]):
        found = CliRunner().invoke(app, [*words, *options])
        for text in (found.stdout, found.stderr, (tmp_path / "j").read_text()):
            assert "planted" not in text
        assert "connect" in found.stdout + found.stderr


# ---- saved programs


class Parent(dspy.Module):
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, **inputs: Any) -> Any:
        return self.inner(**inputs)


@programs
def test_no_key_is_saved_with_a_program_whose_roles_have_lms(name: str, tmp_path: Path) -> None:
    model = dspy.LM("openai/gpt-4o-mini", temperature=0.7, **SETTINGS)
    program = PROGRAMS[name].make("plain")
    for predictor in program.predictors():
        predictor.lm = model
    program.save(tmp_path / "own.json")
    Parent(program).save(tmp_path / "parent.json")
    for path in tmp_path.iterdir():
        assert told(path.read_text()) == []
    if name in ("proposals", "world"):
        kept = next(iter(load(tmp_path / "own.json").predictors())).lm
        assert (kept.model, kept.kwargs["temperature"]) == ("openai/gpt-4o-mini", 0.7)
        assert "api_key" not in kept.kwargs


def test_no_key_is_saved_with_a_module_of_the_users_own(tmp_path: Path) -> None:
    from thoughtree import TreeOfThoughts

    mine = dspy.Predict("question, search_path -> thoughts: list[str]")
    mine.lm = dspy.LM("openai/gpt-4o-mini", **SETTINGS)
    TreeOfThoughts("question -> answer", propose=mine).save(tmp_path / "program.json")
    assert told((tmp_path / "program.json").read_text()) == []
    assert "gpt-4o-mini" in (tmp_path / "program.json").read_text()


def test_nobody_shows_an_lms_settings() -> None:
    from thoughtree.modules.calls.gate import gate

    model = dspy.LM("openai/gpt-4o-mini", **SETTINGS)
    program = PROGRAMS["proposals"].make("plain", propose_lm=model, rate_lm=model)
    assert told(f"{gate(model)!r} {program!r} {program.plan!r} {program.settings!r}") == []


# ---- what is a key, and what is a word


def test_keys_are_found_wherever_settings_hold_them() -> None:
    class Client:
        def __init__(self) -> None:
            self.secret_token, self.label = "engine-planted-0123456789", "a label"

        def complete(self, request: Any) -> Any:
            raise AssertionError

    found = secrets_of(dspy.LM("openai/gpt-4o-mini", **SETTINGS))
    assert {secret for name, secret in PLANTED.items() if name != "environment"} <= found
    assert BASIC in found
    assert secrets_of(dspy.LM("own/model", engine=Client())) == {"engine-planted-0123456789"}
    assert secrets_of(dspy.LM("openai/gpt-4o-mini", max_tokens=100, stop=["key: value"], user="author")) == set()


@pytest.mark.parametrize(
    "word", ["not-needed", "EMPTY", "ollama", "development", "application/json", "2023-06-01", "hush hush, no word"]
)
def test_a_word_that_stands_where_a_key_does_stays_in_what_is_said(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_SECRET", word)
    text = f"a thought about {word}"
    assert hide({"text": [text]}, telling({word})) == {"text": [text]}


@pytest.mark.parametrize("key", [*PLANTED.values(), "a-long-key-without-digits", "0123abcd"])
def test_a_key_goes_in_every_spelling(key: str) -> None:
    for spelling in spellings(key):
        assert hide([{"a": (f"x {spelling} y",)}], telling({key})) == [{"a": (f"x {HIDDEN} y",)}]
    assert redact(f"x {key} y", {key}) == f"x {HIDDEN} y"


def test_what_holds_no_key_is_the_same_object() -> None:
    value = {"messages": [{"role": "user", "content": "why?"}], "outputs": ["because"], "cost": None}
    assert hide(value, telling(PLANTED.values())) is value


def test_a_search_that_hears_its_keys_is_the_same_search() -> None:
    clean, _ = search("values", "plain")
    os.environ["OPENAI_API_KEY"] = "plain-0123456789"
    found, _ = search("values", "plain-0123456789")
    assert [(n.status, n.value) for n in found.search.tree] == [(n.status, n.value) for n in clean.search.tree]
    assert str(found.search.tree[2].action) == f"{MARK} {HIDDEN}"
