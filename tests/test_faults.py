"""Planned faults: which calls they meet, what those calls come to, and that no order of arrival matters."""

from __future__ import annotations

import asyncio
import copy
import math
import pickle
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import anyio
import dspy
import pytest
from dspy.utils import DummyLM

from engines import Engine, lm
from thoughtree.testing import Fault, FaultKind, FaultyLM, RuleLM

ERRORS = [
    (Fault.rate_limit(retry_after=2), dspy.LMRateLimitError, 429, 2.0),
    (Fault.timeout(), dspy.LMTimeoutError, None, 0.0),
    (Fault.server(), dspy.LMServerError, 503, 0.0),
    (Fault.transport(retry_after=None), dspy.LMTransportError, None, None),
    (Fault.auth(), dspy.LMAuthError, 401, None),
    (Fault.billing(), dspy.LMBillingError, 402, None),
    (Fault.context_overflow(), dspy.ContextWindowExceededError, 400, None),
    (Fault.hang(0.01), dspy.LMTransportError, None, None),
]


def echo(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    return {"answer": f"an answer to {inputs['question']}"}


def faulty(*faults: Fault, seed: int = 0, **settings: Any) -> FaultyLM:
    """A model that answers, with these faults and no retries of DSPy's."""
    return FaultyLM(lm(Engine(echo), num_retries=0, **settings), faults, seed=seed)


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Any:
    """Ask a model one question; the answer, or the error's class."""
    predict = dspy.Predict("question -> answer")

    def asked(model: Any, question: str = "q") -> Any:
        with dspy.context(lm=model, adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)):
            try:
                if request.param == "sync":
                    return predict(question=question).answer
                return asyncio.run(predict.acall(question=question)).answer
            except dspy.DSPyError as error:
                return error

    return asked


# ---- what a call comes to


@pytest.mark.parametrize(("fault", "kind", "status", "hint"), ERRORS, ids=lambda x: str(getattr(x, "kind", "")))
def test_errors_are_dspys_own(ask: Any, fault: Fault, kind: Any, status: int | None, hint: float | None) -> None:
    error = ask(faulty(fault))
    assert type(error) is kind
    assert (error.status, error.retry_after, error.model) == (status, hint, "stub/model")
    assert fault.text in str(error)


def test_an_error_of_the_users_own_is_raised_by_the_engine(ask: Any) -> None:
    error = ask(faulty(Fault.raises(lambda: KeyError("choices"))))
    assert type(error) is dspy.LMUnexpectedError
    assert repr(error.__cause__) == "KeyError('choices')"


def test_what_may_pass_meets_a_prompt_once_and_what_does_not_always(ask: Any) -> None:
    for fault in (Fault.rate_limit(), Fault.timeout(), Fault.server(), Fault.transport()):
        model = faulty(fault)
        assert isinstance(ask(model), dspy.LMError)
        assert [ask(model), ask(model)] == ["an answer to q"] * 2
        assert (model.calls, model.met) == (3, {fault.kind: 1})
    for fault in (Fault.auth(), Fault.billing(), Fault.context_overflow(), Fault.hang(0)):
        model = faulty(fault)
        assert all(isinstance(ask(model), dspy.LMError) for _ in range(3))
        assert model.met == {fault.kind: 3}


def test_dspys_own_retries_get_through_what_passes(ask: Any) -> None:
    engine = Engine(echo)
    model = FaultyLM(lm(engine, num_retries=2), [Fault.server(times=2)])
    assert ask(model) == "an answer to q"
    assert (model.calls, engine.count()) == (3, 1)


@pytest.mark.parametrize(
    ("fault", "text", "finish"),
    [
        (Fault.truncated(0.5), "[[ ## answer ## ]]\nan answer", "length"),
        (Fault.truncated(0), "", "length"),
        (Fault.empty(), "", "stop"),
        (Fault.malformed("{"), "{", "stop"),
        (Fault.doubled(), "\n\n".join(["[[ ## answer ## ]]\nan answer to q\n\n[[ ## completed ## ]]"] * 2), "stop"),
    ],
    ids=lambda x: str(getattr(x, "kind", "")),
)
def test_spoilt_replies_are_paid_for_and_arrive_as_planned(fault: Fault, text: str, finish: str) -> None:
    """The whole reply has 56 characters: 19 of a marker's line, 14 of answer, two ends of lines, and 21 of a marker."""
    engine = Engine(echo)
    model = FaultyLM(lm(engine), [fault])
    with dspy.context(lm=model, adapter=Raw(use_json_adapter_fallback=False)), suppress(dspy.AdapterParseError):
        dspy.Predict("question -> answer")(question="q")
    assert engine.count() == 1
    response = model.history[-1]["response"]
    assert response.message.text == text
    assert response.finish_reason == finish
    assert response.usage.total_tokens == 2


class Raw(dspy.ChatAdapter):
    """Takes any reply."""

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        return {"answer": completion}


def test_duplicated_completions_are_those_of_the_first_call() -> None:
    engine = Engine(lambda kind, inputs, n: {"answer": f"{inputs['question']} {n}"})
    model = FaultyLM(lm(engine), [Fault.duplicated()])
    predict = dspy.Predict("question -> answer")
    with dspy.context(lm=model):
        said = [predict(question=q, config={"rollout_id": i, "temperature": 1.0}).answer for i, q in enumerate("aabba")]
    assert said == ["a 1", "a 1", "b 3", "b 3", "a 1"]
    assert engine.count() == 5


def test_a_hang_ends_when_it_is_released() -> None:
    model = faulty(Fault.hang())
    predict, started = dspy.Predict("question -> answer"), threading.Event()

    def call() -> Any:
        started.set()
        with dspy.context(lm=model):
            return predict(question="q").answer

    with ThreadPoolExecutor(1) as pool:
        hung = pool.submit(call)
        assert started.wait(30)
        model.release()
        assert type(hung.exception(30)) is dspy.LMTransportError

    async def later() -> Any:
        other = faulty(Fault.hang())
        with dspy.context(lm=other):
            hung = asyncio.create_task(predict.acall(question="q"))
        while not other.calls:
            await asyncio.sleep(0.001)
        other.release()
        return await asyncio.wait_for(asyncio.gather(hung, return_exceptions=True), 30)

    assert [type(error) for error in asyncio.run(later())] == [dspy.LMTransportError]


def test_a_hang_can_be_cancelled() -> None:
    async def main() -> bool:
        with dspy.context(lm=faulty(Fault.hang())), anyio.move_on_after(0.05) as scope:
            await dspy.Predict("question -> answer").acall(question="q")
        return scope.cancelled_caught

    assert anyio.run(main)


def test_skewed_latencies_have_their_mean_and_a_long_tail() -> None:
    fault = Fault.latency(0.2, skew=1.0)
    delays = [fault.delay(0, 0, bytes([i % 256, i // 256]), 1) for i in range(20_000)]
    assert sum(delays) / len(delays) == pytest.approx(0.2, rel=0.05)
    assert sorted(delays)[10_000] == pytest.approx(0.2 * math.exp(-0.5), rel=0.05)  # the median of a log-normal
    assert {Fault.latency(0.2).delay(0, 0, bytes([i]), 1) for i in range(9)} == {0.2}


# ---- which calls it meets


def test_a_share_of_the_prompts_meets_it_by_the_seed_and_the_prompt_alone(ask: Any) -> None:
    questions = [f"question {i}" for i in range(60)]

    def spoilt(seed: int, order: list[str]) -> set[str]:
        model = faulty(Fault.context_overflow(share=0.3), seed=seed)
        return {question for question in order if isinstance(ask(model, question), dspy.LMError)}

    one = spoilt(0, questions)
    assert spoilt(0, questions[::-1]) == one
    assert spoilt(1, questions) != one
    assert 8 <= len(one) <= 28  # 18 are expected; a binomial of 60 and 0.3 leaves this range once in 2,000


def test_threads_meet_what_one_call_after_the_other_meets() -> None:
    questions = [f"question {i}" for i in range(40)] * 3
    plan = [Fault.rate_limit(share=0.4, times=2), Fault.latency(0.002, skew=1.0), Fault.server(share=0.5)]

    def outcomes(workers: int) -> tuple[Counter[Any], dict[FaultKind, int]]:
        model = faulty(*plan)
        predict = dspy.Predict("question -> answer")

        def call(question: str) -> tuple[str, str]:
            with dspy.context(lm=model):
                try:
                    return question, str(predict(question=question).answer)
                except dspy.LMError as error:
                    return question, type(error).__name__

        with ThreadPoolExecutor(workers) as pool:
            return Counter(pool.map(call, questions)), model.met

    alone, met = outcomes(1)
    assert outcomes(8) == (alone, met)
    assert set(met) == {FaultKind.RATE_LIMIT, FaultKind.LATENCY, FaultKind.SERVER}


def test_the_first_fault_that_meets_a_call_decides_it(ask: Any) -> None:
    model = faulty(Fault.latency(0.001), Fault.server(), Fault.rate_limit(), Fault.latency(0.001))
    assert [type(ask(model)).__name__ for _ in range(3)] == ["LMServerError", "LMRateLimitError", "str"]
    assert model.met == {FaultKind.LATENCY: 6, FaultKind.SERVER: 1, FaultKind.RATE_LIMIT: 1}


def test_faults_choose_by_the_prompts_text_and_by_arrival(ask: Any) -> None:
    model = faulty(Fault.auth(where="Rome"), Fault.billing(where=lambda prompt: "Oslo" in prompt, after=2))
    asked = [ask(model, town) for town in ("Oslo", "Rome", "Oslo", "Bern")]
    assert [type(one).__name__ for one in asked] == ["str", "LMAuthError", "LMBillingError", "str"]


def test_a_changed_temperature_or_rollout_is_the_same_prompt(ask: Any) -> None:
    model = faulty(Fault.rate_limit())
    assert isinstance(ask(model), dspy.LMError)
    assert ask(model.copy(temperature=0.3, rollout_id=7)) == "an answer to q"


# ---- the LM that it is


def test_it_is_a_dspy_lm_with_the_settings_of_the_one_behind() -> None:
    behind = dspy.LM("openai/gpt-4o-mini", api_key="secret-key", temperature=0.3, max_tokens=77, num_retries=5)
    model = FaultyLM(behind, [Fault.auth()])
    assert isinstance(model, dspy.LM)
    assert (model.model, model.kwargs, model.num_retries) == (
        "openai/gpt-4o-mini",
        {"temperature": 0.3, "max_tokens": 77},
        5,
    )
    assert behind.kwargs["api_key"] == "secret-key"
    with pytest.raises(dspy.LMAuthError, match="Incorrect API key"):  # before anything is sent
        model("hello")


def test_settings_reach_the_model_behind(ask: Any) -> None:
    engine = Engine(echo)
    ask(FaultyLM(lm(engine, temperature=0.3, max_tokens=77)))
    config = engine.calls[0].request.config
    assert (config.temperature, config.max_tokens) == (0.3, 77)


def test_a_call_is_one_entry_of_history_and_its_usage_is_counted_once(ask: Any) -> None:
    seen: list[str] = []

    class Callback(dspy.utils.BaseCallback):
        def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
            seen.append(type(instance).__name__)

    model = faulty()
    with dspy.context(callbacks=[Callback()]), dspy.track_usage() as usage:
        ask(model)
    assert len(model.history) == 1
    assert usage.get_total_tokens()["stub/model"]["total_tokens"] == 2
    assert seen == ["FaultyLM"]


@pytest.mark.parametrize(
    "behind",
    [lambda: DummyLM([{"answer": "fine"}] * 2), lambda: RuleLM(answer=lambda inputs: "fine")],
    ids=["DummyLM", "RuleLM"],
)
def test_any_lm_can_be_behind(ask: Any, behind: Any) -> None:
    model = FaultyLM(behind(), [Fault.malformed()]).copy(num_retries=0)
    assert type(ask(model)) is dspy.AdapterParseError
    assert ask(model) == "fine"


def test_it_streams_what_it_says() -> None:
    async def main() -> list[str]:
        stream = dspy.streamify(
            dspy.Predict("question -> answer"),
            stream_listeners=[dspy.streaming.StreamListener(signature_field_name="answer")],
        )
        return [str(getattr(item, "answer", "")) async for item in stream(question="q")]

    with dspy.context(lm=faulty()):
        assert asyncio.run(main())[-1] == "an answer to q"


def test_copies_share_the_plan() -> None:
    model = faulty(Fault.rate_limit(times=1))
    copies = [model.copy(), copy.deepcopy(model)]
    assert [one.met for one in copies] == [{}, {}]
    with dspy.context(lm=copies[0]), pytest.raises(dspy.LMRateLimitError):
        dspy.Predict("question -> answer")(question="q")
    assert [one.met for one in (model, *copies)] == [{FaultKind.RATE_LIMIT: 1}] * 3


def test_faults_are_data() -> None:
    fault = Fault.rate_limit(share=0.5, retry_after=1.0)
    assert fault == Fault.rate_limit(share=0.5, retry_after=1.0)
    assert pickle.loads(pickle.dumps(fault)) == fault


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Fault.rate_limit(share=1.5), r"Fault\(rate limit, share=1.5\): must be a number from 0 to 1"),
        (lambda: Fault.server(times=0), r"Fault\(server, times=0\): must be a whole number of at least 1, or None"),
        (lambda: Fault.auth(after=-1), r"Fault\(auth, after=-1\): must be a whole number of at least 0"),
        (lambda: Fault.latency(float("nan")), r"Fault\(latency, seconds=nan\): must be a number from 0"),
        (lambda: Fault.latency(float("inf")), r"Fault\(latency, seconds=inf\): must be a number from 0"),
        (lambda: Fault.truncated(2), r"Fault\(truncated, keep=2\): must be a number from 0 to 1"),
        (lambda: FaultyLM("openai/gpt-4o"), r"FaultyLM\(lm='openai/gpt-4o'\): must be a dspy.LM"),
        (lambda: FaultyLM(lm(Engine(echo)), ["hang"]), r"'hang' is no Fault; make one as in Fault.rate_limit\(\)"),
    ],
)
def test_what_cannot_be_planned_is_refused(make: Any, says: str) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        make()
