"""The gate: each LM call is reserved, made once, and accounted for, whatever the user has configured."""

import asyncio
import copy
import json
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import dspy
import pytest
from dspy import lm15
from dspy.clients.base_lm import GLOBAL_HISTORY
from dspy.utils.callback import BaseCallback
from dspy.utils.dummies import DummyLM
from pydantic import BaseModel

from engines import AsyncEngine, Engine, lm, response
from patience import PATIENCE, until
from thoughtree.modules.calls.adapter import search_adapter
from thoughtree.modules.calls.failures import failure
from thoughtree.modules.calls.gate import Meter, OverCalls, current, gate
from thoughtree.modules.calls.limit import Refusal, limit
from thoughtree.search.protocol import Failed, Refused, Unread, Usage

ASK = dspy.Predict("question -> answer")
KEY = "hunter2-hunter2-hunter2"


@pytest.fixture(params=["threads", "asyncio"])
def call(request):
    """Calls a predictor or an LM, sync or async."""
    if request.param == "threads":
        return lambda target, *args, **kwargs: target(*args, **kwargs)
    return lambda target, *args, **kwargs: asyncio.run(target.acall(*args, **kwargs))


def says(text="yes", **settings):
    return Engine(lambda kind, inputs, n: {"answer": text} if kind else text, **settings)


def raises(error):
    def fn(*_):
        raise error

    return Engine(fn)


# -- reservations


def test_no_call_beyond_the_reservation(call):
    engine, meter = says(), Meter(left=2)
    with dspy.context(lm=gate(lm(engine)), search_meter=meter):
        call(ASK, question="1")
        call(ASK, question="2")
        with pytest.raises(OverCalls, match="calls=k"):
            call(ASK, question="3")
    assert engine.count() == 2 == meter.calls
    assert meter.left == 0


def test_a_call_outside_a_search_needs_no_reservation_but_passes_the_limits(call):
    engine = says()
    model = gate(lm(engine))
    assert current() is None
    with limit(calls=1) as purse:
        assert call(model, "hello") == ["yes"]
        with pytest.raises(Refusal):
            call(model, "hello")
    assert engine.count() == 1 == purse.spent.calls


def test_a_rate_limited_provider_is_asked_once_for_each_reserved_call(call):
    engine, meter = raises(lm15.RateLimitError("slow down", retry_after=7.0)), Meter()
    with (
        dspy.context(lm=gate(lm(engine, num_retries=3)), search_meter=meter),
        pytest.raises(dspy.LMRateLimitError) as error,
    ):
        call(ASK, question="?")
    assert engine.count() == 1 == meter.calls
    outcome = failure(error.value, meter)
    assert outcome == Failed("LMRateLimitError: [stub/model] slow down", transient=True, retry_after=7.0)


def test_several_candidates_are_as_many_reservations(call):
    engine, meter = says(), Meter(left=3)
    with dspy.context(lm=gate(lm(engine)), search_meter=meter):
        assert len(call(ASK, question="?", config={"n": 3}).completions) == 3
        with pytest.raises(OverCalls):
            call(ASK, question="?", config={"n": 2})
    assert engine.count() == 3 == meter.calls
    assert meter.usage().tokens == 6


def test_the_lms_own_default_of_several_candidates_is_dropped(call):
    engine, meter = says(), Meter()
    with dspy.context(lm=gate(lm(engine, n=5)), search_meter=meter):
        call(ASK, question="?")
    assert engine.count() == 1 == meter.calls


def test_for_code_that_is_no_search_an_lm_keeps_its_retries_and_its_n(call):
    attempts = []

    def fn(kind, inputs, n):
        attempts.append(n)
        if n == 1:
            raise dspy.LMServerError("busy", model="stub/model", provider="stub")
        return {"answer": "yes"}

    meter = Meter(left=9)
    with dspy.context(lm=gate(lm(Engine(fn), n=3, num_retries=2), retries=True), search_meter=meter):
        found = call(ASK, question="?")
    assert len(found.completions) == 3
    assert len(attempts) == 4  # one of them again
    assert meter.calls == 3


def test_a_reservation_holds_in_the_threads_of_dspy_parallel():
    engine, meter = says(), Meter(left=3)
    with dspy.context(lm=gate(lm(engine)), search_meter=meter):
        dspy.Parallel(num_threads=4, max_errors=100, disable_progress_bar=True)(
            [(ASK, {"question": str(i)}) for i in range(8)]
        )
    assert engine.count() == 3 == meter.calls
    assert len(meter.records) == 3


def test_a_meter_counts_right_under_many_threads():
    meter = Meter(left=500)

    def client():
        made = 0
        for _ in range(100):
            try:
                meter.take()
            except OverCalls:
                continue
            made += 1
            meter.record({"usage": {"total_tokens": 2}, "cost": 0.5, "seconds": 0.25, "outputs": ["x"]})
        return made

    with ThreadPoolExecutor(8) as pool:
        made = sum(f.result() for f in [pool.submit(client) for _ in range(8)])
    assert made == 500
    assert meter.usage() == Usage(500, 1000, 250.0, 125.0)


def test_a_search_inside_a_search_spends_the_outer_reservation_and_is_refused_beyond_it(call):
    engine, outer = says(), Meter(left=2)
    with dspy.context(lm=gate(lm(engine)), search_meter=outer):
        for _ in range(2):
            inner = Meter()
            with dspy.context(search_meter=inner):
                call(ASK, question="?")
        inner = Meter()
        with dspy.context(search_meter=inner), pytest.raises(Refusal) as refusal:
            call(ASK, question="?")
    assert engine.count() == 2 == outer.calls
    assert (outer.usage().tokens, len(outer.records)) == (4, 2)
    assert (inner.calls, inner.left) == (0, 1)
    assert failure(refusal.value, inner) == Refused("calls")


def test_no_call_starts_past_the_deadline_of_its_request_or_of_an_outer_one(call):
    engine = says()
    with dspy.context(lm=gate(lm(engine)), search_meter=Meter(deadline=0.0)):
        inner = Meter()
        with dspy.context(search_meter=inner), pytest.raises(Refusal) as refusal:
            call(ASK, question="?")
    assert failure(refusal.value, inner) == Refused("seconds")
    assert engine.count() == 0
    assert inner.left == 1


def test_a_gate_around_a_gate_is_one_gate(call):
    engine, meter = says(), Meter()
    once = gate(lm(engine))
    assert type(gate(once)) is type(once)
    with dspy.context(lm=gate(once.copy(rollout_id=3, temperature=1.0)), search_meter=meter):
        call(ASK, question="?")
    assert engine.count() == 1 == meter.calls
    assert len(meter.records) == 1


def test_a_gate_around_a_gate_keeps_the_prices_and_the_lms_own_timeout():
    outer = gate(dspy.LM("openai/gpt-4o-mini", timeout=9), timeout=5.0, prices={"a": (1.0, 1.0)})
    inner = gate(outer, timeout=3.0, prices={"b": (2.0, 2.0)})
    assert inner.gate_prices == {"a": (1.0, 1.0), "b": (2.0, 2.0)}
    assert inner.kwargs["timeout"] == 3.0
    assert inner.gate_timeout == outer.gate_timeout == (9,)
    assert gate(outer, timeout=7.0).gate_timeout == (9,)


def test_a_call_whose_search_has_ended_is_not_made(call):
    engine, over = says(), threading.Event()
    with dspy.context(lm=gate(lm(engine)), search_meter=Meter(left=5, ended=over.is_set)):
        call(ASK, question="?")
        over.set()
        inner = Meter()  # of a search inside
        with dspy.context(search_meter=inner), limit() as purse, pytest.raises(Refusal) as refusal:
            call(ASK, question="?")
        outer = current()
    assert failure(refusal.value, inner) == Refused("stopped")
    assert engine.count() == 1 == outer.calls
    assert (inner.calls, inner.left, purse.spent.calls) == (0, 1, 0)


@pytest.mark.parametrize("model", [None, "openai/gpt-4o-mini"])
def test_what_is_no_lm_is_named(model):
    with pytest.raises(TypeError, match=rf"lm={model!r}.*dspy.LM"):
        gate(model)


# -- what a call leaves behind


def test_a_record_tells_the_call_and_nothing_secret(call):
    engine, meter = Engine(lambda *_: response("[[ ## answer ## ]]\nyes", finish="length")), Meter()
    with dspy.context(lm=gate(lm(engine)), search_meter=meter):
        call(ASK, question="Why?")
    (record,) = meter.records
    assert record["model"] == record["response_model"] == "stub/model"
    assert [m["role"] for m in record["messages"]] == ["system", "user"]
    assert "Why?" in record["messages"][1]["content"]
    assert record["outputs"] == ["[[ ## answer ## ]]\nyes"]
    assert record["usage"]["total_tokens"] == 2
    assert (record["cost"], record["finish_reason"], record["cache_hit"]) == (None, "length", False)
    assert record["seconds"] > 0
    assert sorted(record) == [
        "cache_hit", "cost", "finish_reason", "messages", "model", "outputs", "response_model",
        "seconds", "usage",
    ]  # fmt: skip
    assert json.loads(json.dumps(record)) == record
    assert meter.text == "[[ ## answer ## ]]\nyes"
    assert meter.unpriced == 1


def test_media_in_a_record_are_replaced_by_their_digest(call):
    engine, meter = says(), Meter()
    image = dspy.Image("data:image/png;base64," + "A" * 4000)
    with dspy.context(lm=gate(lm(engine)), search_meter=meter):
        call(dspy.Predict("image: dspy.Image -> answer"), image=image)
    text = json.dumps(meter.records)
    assert "AAAA" not in text
    assert "data:image/png;base64,sha256:" in text


def test_given_prices_are_used_where_dspy_knows_none(call):
    engine, meter = Engine(lambda *_: {"answer": "yes"}, tokens=(2000, 500)), Meter()
    with dspy.context(lm=gate(lm(engine), prices={"stub/model": (1.0, 4.0)}), search_meter=meter):
        call(ASK, question="?")
    assert meter.cost == pytest.approx(0.004)  # 2000 * 1 + 500 * 4 dollars a million
    assert meter.unpriced == 0


@pytest.mark.parametrize("disabled", [True, False])
@pytest.mark.parametrize("history", [True, False])
def test_usage_and_text_are_never_lost_and_history_is_written_only_on_request(call, disabled, history):
    engine, meter = says(), Meter()
    model = lm(engine)
    before = len(GLOBAL_HISTORY)
    with dspy.context(lm=gate(model, history=history), search_meter=meter, disable_history=disabled):
        call(ASK, question="?")
    written = int(history and not disabled)
    assert len(model.history) == written == len(GLOBAL_HISTORY) - before
    assert meter.usage().tokens == 2
    assert "yes" in meter.text


def test_usage_tracking_still_counts(call):
    engine = says()
    with dspy.context(lm=gate(lm(engine)), track_usage=True, search_meter=Meter(left=2)):
        prediction = call(ASK, question="?")
    assert prediction.get_lm_usage()["stub/model"]["total_tokens"] == 2
    with dspy.context(lm=gate(lm(engine)), search_meter=Meter()), dspy.track_usage() as tracker:
        call(ASK, question="?")
    assert tracker.get_total_tokens()["stub/model"]["total_tokens"] == 2


def test_the_users_lm_is_left_as_it_was(call):
    engine = says()
    model = lm(engine, n=4, temperature=0.5)
    before = copy.copy(model.__dict__)
    with dspy.context(lm=gate(model, timeout=5), search_meter=Meter()):
        call(ASK, question="?")
    assert model.__dict__ == before
    assert model.num_retries == 3
    assert type(model) is dspy.LM


def test_a_cached_reply_is_a_call_that_costs_nothing(call, tmp_path):
    engine = Engine(lambda *_: {"answer": "yes"}, tokens=(1000, 0))
    model = lm(engine, cache=True)
    with cached(tmp_path):
        meters = [Meter(), Meter()]
        for meter in meters:
            with dspy.context(lm=gate(model, prices={"stub/model": (1.0, 1.0)}), search_meter=meter):
                call(ASK, question="?")
        meter = Meter()
        with dspy.context(lm=gate(model), search_meter=meter), limit(cost=1.0) as purse:
            call(ASK, question="?")
        assert (meter.unpriced, meter.records[0]["cost"]) == (0, 0.0)  # though nobody knows what it cost once
        assert purse.left["cost"] == 1.0
    assert engine.count() == 1
    assert [m.usage().calls for m in meters] == [1, 1]
    assert [m.usage().tokens for m in meters] == [1000, 0]
    assert [m.cost for m in meters] == [pytest.approx(0.001), 0.0]
    assert [m.records[0]["cache_hit"] for m in meters] == [False, True]
    assert [m.unpriced for m in meters] == [0, 0]
    assert meters[0].text == meters[1].text


class cached:
    """DSPy's cache, in memory and for this test only."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        self.own = dspy.cache
        dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True, disk_cache_dir=str(self.folder))

    def __exit__(self, *error):
        dspy.cache = self.own


def test_callbacks_fire_once_for_a_call_and_never_for_a_refused_one(call):
    class Log(BaseCallback):
        def on_lm_start(self, call_id, instance, inputs):
            seen.append(("start", sorted(inputs), isinstance(instance, dspy.LM)))

        def on_lm_end(self, call_id, outputs, exception=None):
            seen.append(("end", outputs, exception))

    seen = []
    engine = says()
    with dspy.context(lm=gate(lm(engine)), callbacks=[Log()], search_meter=Meter()):
        call(ASK, question="?")
        with pytest.raises(OverCalls):
            call(ASK, question="?")
    assert seen == [
        ("start", ["kwargs", "messages", "prompt"], True),
        ("end", ["[[ ## answer ## ]]\nyes\n\n[[ ## completed ## ]]"], None),
    ]


def test_no_deprecation_warning_that_the_user_cannot_act_on(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        with dspy.context(lm=gate(lm(says())), search_meter=Meter(left=2)):
            call(ASK, question="?")
            with dspy.context(adapter=search_adapter(None)):
                call(ASK, question="?")


def test_messages_that_the_user_passes_to_an_lm_are_warned_of_as_dspy_does(call):
    messages = [{"role": "user", "content": "hello"}]
    with dspy.context(search_meter=Meter()), pytest.warns(DeprecationWarning, match="messages="):
        assert call(gate(lm(says())), messages=messages) == ["yes"]


def test_the_usage_of_a_reply_that_broke_off_is_tracked(call):
    broken = lm15.StreamAssemblyError("broke off", partial=response("half a rep"))
    with (
        dspy.context(lm=gate(lm(raises(broken))), search_meter=Meter()),
        dspy.track_usage() as tracker,
        pytest.raises(dspy.LMStreamAssemblyError),
    ):
        call(ASK, question="?")
    assert tracker.get_total_tokens()["stub/model"]["total_tokens"] == 2


def test_a_failed_call_leaves_its_time_and_no_record(call):
    engine = raises(lm15.ServerError("down"))
    meter = Meter()
    with (
        limit() as purse,
        dspy.context(lm=gate(lm(engine)), search_meter=meter),
        pytest.raises(dspy.LMServerError),
    ):
        call(ASK, question="?")
    assert meter.records == []
    assert meter.calls == purse.spent.calls == 1
    assert meter.seconds > 0
    assert purse.spent.seconds == pytest.approx(meter.seconds)


def test_a_typed_request_passes_the_gate_too(call):
    engine, meter = says(), Meter()
    request = lm15.Request(model="stub/model", messages=(lm15.Message.user("hello"),))
    with dspy.context(search_meter=meter):
        assert call(gate(lm(engine)), request).text == "yes"
    assert meter.records[0]["messages"] == [{"role": "user", "content": "hello"}]
    assert meter.records[0]["outputs"] == ["yes"]


def test_what_a_reply_must_not_hold_is_gone_from_every_form_of_it(call, monkeypatch):
    """A key that the provider echoes, and half a character that no later prompt could hold."""
    monkeypatch.setenv("SOME_API_KEY", "echoed-0123456789")
    engine = Engine(lambda kind, inputs, n: "it is echoed-0123456789 \ud800")
    request, meter, heard = lm15.Request(model="stub/model", messages=(lm15.Message.user("hello"),)), Meter(left=3), []
    model = lm(engine)
    with dspy.context(search_meter=meter):
        heard += [call(gate(model), request).text, *call(gate(model), "hello")]
        heard += call(gate(Loud("stub/model", engine=engine, async_engine=AsyncEngine(engine), cache=False)), "hello")
    assert heard == [r"it is [redacted] \ud800", r"it is [redacted] \ud800", r"IT IS ECHOED-0123456789 \ud800"]
    assert [record["outputs"] for record in meter.records] == [[r"it is [redacted] \ud800"]] * 3


# -- timeouts and caches


@pytest.mark.parametrize(
    ("own", "given", "sent"),
    [(None, 5.0, 5.0), (9, 5.0, 5.0), (2, 5.0, 2), (None, None, None), (3, None, 3)],
)
def test_the_shorter_timeout_is_sent(own, given, sent):
    model = dspy.LM("openai/gpt-4o-mini", **({} if own is None else {"timeout": own}))
    gated = gate(model, timeout=given)
    assert gated.kwargs.get("timeout") == sent
    assert model.kwargs.get("timeout") == own
    assert gated._engine_store is model._engine_store


def test_an_engine_object_is_given_no_timeout(call):
    engine = says()
    gated = gate(lm(engine), timeout=5.0)
    assert "timeout" not in gated.kwargs
    with dspy.context(search_meter=Meter()):
        assert call(gated, "hello") == ["yes"]


@pytest.mark.parametrize("own", [None, 9])
def test_an_imposed_timeout_does_not_change_the_cache_key(own, monkeypatch):
    model = dspy.LM("openai/gpt-4o-mini", cache=True, **({} if own is None else {"timeout": own}))
    keys = []
    monkeypatch.setattr(type(dspy.cache), "get", lambda self, key, ignored: keys.append(key))
    monkeypatch.setattr("dspy.clients.execution._engine", lambda *_: (_ for _ in ()).throw(LookupError))
    for each in (model, gate(model, timeout=5.0), gate(model, timeout=4.0)):
        with pytest.raises(LookupError):
            each("hello")
    assert keys[0] == keys[1] == keys[2]
    assert keys[0].get("timeout") == own


# -- other kinds of LM


class Loud(dspy.LM):
    """An LM with a `__call__` of its own."""

    def __call__(self, *args, **kwargs):
        return [text.upper() for text in super().__call__(*args, **kwargs)]

    async def acall(self, *args, **kwargs):
        return [text.upper() for text in await super().acall(*args, **kwargs)]


@pytest.mark.parametrize("disabled", [True, False])
@pytest.mark.parametrize("history", [True, False])
def test_an_lm_with_a_call_of_its_own_keeps_it_and_is_accounted_for(call, disabled, history):
    engine = says()
    model = Loud("stub/model", engine=engine, async_engine=AsyncEngine(engine), cache=False)
    meter = Meter()
    with dspy.context(search_meter=meter, disable_history=disabled):
        assert call(gate(model, history=history), "hello") == ["YES"]
        with pytest.raises(OverCalls):
            call(gate(model), "hello")
    assert meter.usage().tokens == 2
    assert meter.text == "yes"
    assert len(model.history) == int(history and not disabled)
    assert engine.count() == 1


class Silent(dspy.BaseLM):
    """One that tells DSPy nothing."""

    def __call__(self, prompt=None, messages=None, **kwargs):
        return ["hm"]

    async def acall(self, prompt=None, messages=None, **kwargs):
        return ["hm"]


def test_an_lm_that_tells_dspy_nothing_has_at_least_its_text(call):
    meter = Meter()
    with dspy.context(search_meter=meter):
        assert call(gate(Silent("mute/model")), "hello") == ["hm"]
    assert (meter.text, meter.calls, meter.unpriced) == ("hm", 1, 1)


class Old(dspy.BaseLM):
    """A subclass in the old way, which DSPy calls through `forward`."""

    def counts(self):
        return {"total_tokens": 7}

    def forward(self, prompt=None, messages=None, **kwargs):
        from dspy.clients.call_result import attributes

        choice = {"message": {"content": "[[ ## answer ## ]]\nold"}, "finish_reason": "stop"}
        return attributes({"model": "old/model", "choices": [choice], "usage": self.counts()})

    async def aforward(self, prompt=None, messages=None, **kwargs):
        return self.forward(prompt, messages, **kwargs)


@pytest.mark.filterwarnings("ignore:Implementing custom LMs:DeprecationWarning")
def test_an_lm_in_the_old_way_is_accounted_for(call):
    meter = Meter()
    with dspy.context(lm=gate(Old("old/model"), timeout=3), search_meter=meter, disable_history=True):
        assert call(ASK, question="?").answer == "old"
    assert meter.usage().tokens == 7
    assert meter.records[0]["finish_reason"] == "stop"


class Details(BaseModel):
    cached_tokens: int = 3


@pytest.mark.filterwarnings("ignore:Implementing custom LMs:DeprecationWarning")
@pytest.mark.parametrize(
    ("usage", "tokens", "kept"),
    [
        ({"total_tokens": float("nan")}, 0, {}),
        ({"total_tokens": -7, "prompt_tokens": 4, "completion_tokens": -1}, 4, None),  # a token ceiling only shrinks
        ({"total_tokens": "7", "prompt_tokens": None}, 7, None),
        (None, 0, {}),
        (
            {"total_tokens": 7, "details": Details(), "by": {"audio": float("inf"), "text": 7}, "raw": object()},
            7,
            {"total_tokens": 7, "details": {"cached_tokens": 3}, "by": {"text": 7}},
        ),
    ],
)
def test_whatever_a_provider_counts_the_reply_is_good_and_its_record_is_json(call, usage, tokens, kept):
    class Counting(Old):
        def counts(self):
            return usage

    meter = Meter()
    prices = {"old/model": (1.0, 1.0)}
    with dspy.context(lm=gate(Counting("old/model"), prices=prices), search_meter=meter, disable_history=True):
        assert call(ASK, question="?").answer == "old"
    assert (meter.tokens, meter.unpriced) == (tokens, 0)
    assert meter.cost >= 0
    assert json.loads(json.dumps(meter.records, allow_nan=False))[0]["usage"] == (usage if kept is None else kept)


def test_a_reply_without_any_output_is_unread(call):
    class Silent(dspy.BaseLM):
        def __call__(self, *args, **kwargs):
            return []

        async def acall(self, *args, **kwargs):
            return []

    meter = Meter()
    with (
        dspy.context(lm=gate(Silent("silent")), search_meter=meter, adapter=search_adapter(None)),
        pytest.raises(dspy.AdapterParseError, match="The LM gave no output at all") as caught,
    ):
        call(ASK, question="?")
    assert failure(caught.value, meter) == Unread("")


def test_dspys_dummy_lm_passes_the_gate(call):
    meter = Meter()
    with dspy.context(lm=gate(DummyLM([{"answer": "dummy"}])), search_meter=meter):
        assert call(ASK, question="?").answer == "dummy"
    assert meter.calls == 1


# -- cancellation


def test_a_cancelled_call_is_raised_again_and_holds_nothing():
    engine = says(delay=600.0)
    meter = Meter(left=2)

    async def story():
        with dspy.context(lm=gate(lm(engine)), search_meter=meter):
            task = asyncio.create_task(ASK.acall(question="?"))
            while not engine.now:
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with limit(in_flight=1) as purse:
        asyncio.run(story())
        assert purse.slots.held == 0
    assert meter.calls == 1 == purse.spent.calls  # it had started, so it counts
    assert engine.now == 0


def test_a_call_that_hangs_in_a_thread_holds_its_own_turn_only():
    hung = threading.Event()
    engine = Engine(lambda kind, inputs, n: hung.wait(PATIENCE) and "late" if n == 1 else "yes")
    model = gate(lm(engine))
    with limit(in_flight=2) as purse:
        thread = threading.Thread(target=copy_context().run, args=(model, "?"))
        thread.start()
        until(lambda: engine.now)
        assert model("?") == ["yes"]
        assert purse.slots.held == 1
        hung.set()
        thread.join(PATIENCE)
        assert purse.slots.held == 0
