"""What an error means for the search, in words without keys."""

import asyncio
import json

import dspy
import pytest
from dspy import lm15

from engines import Engine, lm
from thoughtree.modules.calls.failures import describe, failure, redact
from thoughtree.modules.calls.gate import Meter, OverCalls, gate
from thoughtree.modules.calls.limit import Refusal
from thoughtree.modules.calls.redaction import secrets_of
from thoughtree.search.protocol import Failed, Refused, Unread

ASK = dspy.Predict("question -> answer")
KEY = "hunter2-hunter2-hunter2"


@pytest.fixture(params=["threads", "asyncio"])
def call(request):
    """Calls a predictor or an LM, sync or async."""
    if request.param == "threads":
        return lambda target, *args, **kwargs: target(*args, **kwargs)
    return lambda target, *args, **kwargs: asyncio.run(target.acall(*args, **kwargs))


def outcome(error, *, replies=0, secrets=()):
    meter = Meter(left=replies + 1)
    for _ in range(replies):
        meter.take()
        meter.record({"usage": {}, "cost": None, "seconds": 0.0, "outputs": ["the last reply"]})
    meter.secrets.update(secrets)
    return failure(error, meter)


def through(provider_error, call):
    """The outcome of a call that the provider answers with this error."""

    def fn(*_):
        raise provider_error

    meter = Meter()
    with dspy.context(lm=gate(lm(Engine(fn))), search_meter=meter):
        try:
            call(ASK, question="?")
        except Exception as error:
            return failure(error, meter)
    raise AssertionError("no error")


@pytest.mark.parametrize(
    ("error", "fatal", "transient"),
    [
        (lm15.AuthError("bad key"), True, False),
        (lm15.BillingError("no money"), True, False),
        (lm15.NotConfiguredError("no key"), True, False),
        (lm15.ConfigurationError("bad setting"), True, False),
        (lm15.UnsupportedModelError("no such model"), True, False),
        (ImportError("no litellm"), True, False),
        (lm15.RateLimitError("slow down"), False, True),
        (lm15.TimeoutError("slow"), False, True),
        (lm15.ServerError("down"), False, True),
        (lm15.TransportError("refused"), False, True),
        (lm15.ProviderError("odd", status=503), False, True),
        (lm15.ProviderError("odd", status=418), False, False),
        (lm15.ContextLengthError("too long"), False, False),
        (lm15.InvalidRequestError("bad request"), False, False),
        (lm15.UnsupportedFeatureError("no images", feature="image"), False, False),
        (ConnectionResetError("peer"), False, True),
        (KeyError("x"), False, False),
    ],
)
def test_a_providers_error_is_fatal_passing_or_neither(error, fatal, transient, call):
    found = through(error, call)
    assert isinstance(found, Failed)
    assert (found.fatal, found.transient) == (fatal, transient)


def test_a_message_names_the_model_and_the_cause_in_one_line(call):
    assert through(lm15.ServerError("down"), call).error == "LMServerError: [stub/model] down"
    found = through(KeyError("x"), call).error
    assert found.startswith("LMUnexpectedError: [stub/model] 'x', caused by KeyError: 'x' (test_failures.py:")


def test_a_message_holds_no_traceback_of_the_providers_client(call):
    """litellm puts one into the text of its errors."""
    found = through(lm15.ServerError("no split\nTraceback (most recent call last):\n  File main.py\nValueError"), call)
    assert found.error == "LMServerError: [stub/model] no split"


def test_a_retry_hint_is_passed_on_only_if_it_is_a_time(call):
    assert through(lm15.RateLimitError("slow down", retry_after=2), call).retry_after == 2.0
    for hint in (None, -1.0, float("nan"), float("inf"), True, "soon"):
        error = dspy.LMRateLimitError("slow down", retry_after=hint)
        assert outcome(error).retry_after is None


def test_an_error_in_the_users_code_shows_its_type_its_place_and_its_causes():
    def propose():
        try:
            return {}["moves"]
        except KeyError as error:
            raise AttributeError("no moves") from error

    with pytest.raises(AttributeError) as error:
        propose()
    found = outcome(error.value, replies=1)
    assert isinstance(found, Failed)
    assert not found.fatal
    assert not found.transient
    assert found.error.startswith("AttributeError: no moves (test_failures.py:")
    assert "in propose), caused by KeyError: 'moves' (test_failures.py:" in found.error


def test_an_error_that_the_user_raises_from_a_providers_keeps_its_meaning():
    wrapped = RuntimeError("my module failed")
    wrapped.__cause__ = dspy.LMAuthError("bad key", model="m")
    found = outcome(wrapped)
    assert found.fatal
    assert "caused by LMAuthError: [m] bad key" in found.error


def test_a_value_error_of_the_users_own_is_no_unread_reply():
    with pytest.raises(ValueError, match="invalid literal") as error:
        int("x")
    assert isinstance(outcome(error.value, replies=1), Failed)


def test_a_value_error_from_an_adapters_parsing_is_an_unread_reply(call):
    class Strict(dspy.JSONAdapter):
        def parse(self, signature, completion):
            from dspy.adapters.utils import parse_value

            return {"answer": parse_value("not a number", int)}

    engine, meter = Engine(lambda *_: {"answer": "yes"}), Meter()
    with (
        dspy.context(lm=gate(lm(engine)), adapter=Strict(), search_meter=meter),
        pytest.raises(ValueError, match="int") as error,
    ):
        call(ASK, question="?")
    assert failure(error.value, meter) == Unread(meter.text)


def test_an_unparsed_reply_is_unread_with_its_text():
    error = dspy.AdapterParseError("ChatAdapter", ASK.signature, "hm", "no field")
    assert outcome(error, replies=1) == Unread("the last reply")
    assert outcome(error) == Unread("hm")


def test_a_role_that_makes_more_calls_than_it_declares_is_told_so():
    found = outcome(OverCalls(1), replies=1)
    assert isinstance(found, Failed)
    assert "more LM calls than the 1 reserved" in found.error
    assert "calls=k" in found.error


def test_a_refusal_is_neither_a_failure_nor_unread_even_if_the_user_wraps_it():
    assert outcome(Refusal("cost", "used up"), replies=1) == Refused("cost")
    wrapped = RuntimeError("stopped")
    wrapped.__cause__ = Refusal("calls", "used up")
    assert outcome(wrapped) == Refused("calls")


# -- secrets


@pytest.mark.parametrize(
    "text",
    [
        f"sk-proj-{KEY} was refused",
        f"api_key={KEY}",
        f"'api_key': '{KEY}'",
        f'{{"x-api-key": "{KEY}"}}',
        f"https://host/v1?api-key={KEY}&x=1",
        f"Authorization: Bearer {KEY}",
        f"{{'Authorization': 'Basic {KEY}'}}",
        f"authorization={KEY}",
        f"with bearer {KEY} sent",
        f"https://user:{KEY}@host/v1",
        f"password: {KEY}",
        f"access_token={KEY}",
    ],
)
def test_what_looks_like_a_key_is_redacted(text):
    assert KEY not in redact(text)
    assert "[redacted]" in redact(text)


@pytest.mark.parametrize("text", ["a risk-free task", "the key to it", "set OPENAI_API_KEY=...", "4 tokens: 10 - 4"])
def test_ordinary_words_stay(text):
    assert redact(text) == text


def test_keys_of_the_environment_and_of_the_lm_are_redacted_wherever_they_appear(monkeypatch):
    monkeypatch.setenv("SOME_SERVICE_TOKEN", KEY)
    monkeypatch.setenv("SHORT_KEY", "text")  # no key is that short
    assert redact(f"text with {KEY}.") == "text with [redacted]."
    monkeypatch.delenv("SOME_SERVICE_TOKEN")
    assert describe(ValueError(KEY), {KEY}) == "ValueError: [redacted]"


def test_the_keys_of_an_lm_are_those_in_its_headers_too():
    model = dspy.LM("openai/gpt-4o-mini", api_key="a-key", extra_headers={"x-one": "b-key"}, headers={"x-two": "c-key"})
    assert secrets_of(model) == {"a-key", "b-key", "c-key"}
    assert secrets_of(dspy.LM("openai/gpt-4o-mini")) == set()


def test_an_error_that_quotes_the_lms_own_key_does_not_tell_it(call, monkeypatch):
    def quote(lm, call):
        raise lm15.AuthError(f"{KEY} is not valid")

    monkeypatch.setattr("thoughtree.modules.calls.served.execute", quote)  # DSPy's: only a client of its own has a key
    monkeypatch.setattr("thoughtree.modules.calls.served.aexecute", quote)
    model = dspy.LM("openai/gpt-4o-mini", api_key=KEY, cache=False)
    meter = Meter()
    with dspy.context(lm=gate(model), search_meter=meter), pytest.raises(lm15.AuthError) as error:
        call(ASK, question="?")
    found = failure(error.value, meter)
    assert "[redacted] is not valid" in found.error
    assert KEY not in json.dumps(meter.records)


@pytest.mark.parametrize("noise", [" " * 10**6, "\n" * 10**6, "secret " * 10**5, "://a:" * 10**5])
def test_an_error_page_of_a_megabyte_is_described_in_one_pass(noise):
    assert describe(ValueError(f"the gateway{noise} is down")).startswith("ValueError: the gateway")
