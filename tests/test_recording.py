"""RecordLM and ReplayLM: any program, recorded once, runs again without a model, and pays for nothing twice."""

from __future__ import annotations

import asyncio
import copy
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy import lm15
from dspy.utils.dummies import DummyLM

from engines import Engine, lm, response
from faultworlds import CONTROLLERS, WORLDS, play, shape
from patience import PATIENCE, in_time
from thoughtree import Beam, Budget, Recording, RecordLM, ReplayLM, TreeOfThoughts, limit
from thoughtree.faulty import FaultyLM
from thoughtree.modules.recording import RecordingError, UnknownRequest

ASK = "question -> answer"


def echo(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    """Answers with the question, and with how many calls there were: no two replies are alike."""
    return dict.fromkeys(kind, "r") | {"answer": f"{inputs.get('question')} {n}"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replies.jsonl"


def asked(model: Any, question: str = "q", **config: Any) -> str:
    with dspy.context(lm=model):
        return str(dspy.Predict(ASK)(question=question, config=config).answer)


async def aasked(model: Any, question: str = "q", **config: Any) -> str:
    with dspy.context(lm=model):
        return str((await dspy.Predict(ASK).acall(question=question, config=config)).answer)


# ---- any program


def weigh(thing: str) -> str:
    """The weight of a thing."""
    return f"{len(thing)} kg"


def react(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    if "next_tool_name" in kind:
        done = "observation_0" in inputs
        name, args = ("finish", "{}") if done else ("weigh", '{"thing": "stone"}')
        return {"next_thought": f"t{n}", "next_tool_name": name, "next_tool_args": args}
    return {"reasoning": "r", "answer": "5 kg"}


@pytest.mark.parametrize("wrote", ["sync", "async"])
@pytest.mark.parametrize(
    ("program", "fn", "calls"),
    [(dspy.ChainOfThought(ASK), echo, 1), (dspy.ReAct(ASK, tools=[weigh]), react, 3)],
    ids=["chain of thought", "react"],
)
def test_a_plain_program_replays_on_the_other_side(program: Any, fn: Any, calls: int, wrote: str, path: Path):
    engine = Engine(fn)
    drivers = {"sync": "threads", "async": "asyncio"}
    first = play(program, RecordLM(lm(engine), path), drivers[wrote], question="q")
    replay = ReplayLM(path)
    again = play(program, replay, drivers["async" if wrote == "sync" else "sync"], question="q")
    assert again.toDict() == first.toDict()
    assert engine.count() == calls
    assert (replay.hits.calls, replay.paid.calls) == (calls, 0)


@pytest.mark.parametrize("controller", CONTROLLERS)
@pytest.mark.parametrize("world", WORLDS)
def test_a_search_replays_to_the_same_tree_under_the_other_driver(world: str, controller: str, path: Path):
    program = WORLDS[world].build(CONTROLLERS[controller])
    engine = WORLDS[world].engine()
    bare = play(program, WORLDS[world].engine(), "threads", **WORLDS[world].inputs)
    record = RecordLM(lm(engine), path)
    first = play(program, record, "threads", **WORLDS[world].inputs)
    assert shape(first.search) == shape(bare.search)
    assert record.paid.calls == engine.count() == len(record.recording)
    replay = ReplayLM(path)
    again = play(program, replay, "asyncio", **WORLDS[world].inputs)
    assert shape(again.search) == shape(first.search)
    assert again.search.spent.calls == first.search.spent.calls == replay.hits.calls
    assert again.search.spent.tokens == first.search.spent.tokens
    assert engine.count() == record.paid.calls


def test_replies_come_in_any_order_to_eight_threads(path: Path):
    questions = [f"question {i}" for i in range(60)]
    engine = Engine(echo)
    record = RecordLM(lm(engine), path)
    said = {question: asked(record, question) for question in questions}
    replay = ReplayLM(path)
    shuffled = random.Random(7).sample(questions * 3, k=180)
    with ThreadPoolExecutor(8) as pool:
        again = list(pool.map(lambda question: asked(replay, question), shuffled))
    assert again == [said[question] for question in shuffled]
    assert (replay.hits.calls, engine.count()) == (180, 60)


def test_evaluate_and_parallel_replay(path: Path):
    devset = [dspy.Example(question=f"q{i}", answer=f"q{i}").with_inputs("question") for i in range(12)]
    program = dspy.Predict(ASK)

    def right(example: Any, prediction: Any, trace: Any = None) -> bool:
        return prediction.answer.split()[0] == example.answer

    engine = Engine(echo)
    record = RecordLM(lm(engine), path)
    for make in (lambda: record, lambda: ReplayLM(path)):
        with dspy.context(lm=make()):
            result = dspy.Evaluate(devset=devset, metric=right, num_threads=4)(program)
            both = dspy.Parallel(num_threads=4, disable_progress_bar=True)([(program, e.inputs()) for e in devset])
        assert result.score == 100.0
        assert [p.answer.split()[0] for p in both] == [e.question for e in devset]
    assert engine.count() == 12


# ---- one request, one reply


def test_one_request_has_one_reply(path: Path):
    record = RecordLM(lm(Engine(echo)), path)
    assert [asked(record), asked(record), asyncio.run(aasked(record))] == ["q 1"] * 3
    assert (record.paid.calls, record.hits.calls) == (1, 2)
    assert (record.paid.tokens, record.hits.tokens) == (2, 4)


@pytest.mark.parametrize("threaded", [True, False])
def test_equal_requests_at_one_time_are_one_call(threaded: bool, path: Path):
    engine = Engine(echo, delay=0.1)
    record = RecordLM(lm(engine), path)
    if threaded:
        with ThreadPoolExecutor(8) as pool:
            said = list(pool.map(lambda _: asked(record), range(8)))
    else:

        async def together() -> list[str]:
            return list(await asyncio.gather(*(aasked(record) for _ in range(8))))

        said = asyncio.run(together())
    assert said == ["q 1"] * 8
    assert (engine.count(), record.paid.calls, record.hits.calls) == (1, 1, 7)


def test_whoever_waited_for_a_call_that_failed_tries_it(path: Path):
    def fails_once(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if n == 1:
            raise lm15.AuthError("no")
        return echo(kind, inputs, n)

    engine = Engine(fails_once, delay=0.1)
    record = RecordLM(lm(engine), path)
    said: list[str] = []

    def ask() -> None:
        try:
            said.append(asked(record))
        except dspy.LMAuthError:
            said.append("failed")

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(said) == ["failed", "q 2", "q 2", "q 2"]
    assert (engine.count(), record.paid.calls, len(record.recording)) == (2, 1, 1)


def test_a_task_that_was_cancelled_leaves_its_call_to_those_who_wait(path: Path):
    engine = Engine(echo, delay=lambda n: 600.0 if n == 1 else 0.0)
    record = RecordLM(lm(engine), path)

    async def run() -> str:
        first = asyncio.create_task(aasked(record))
        while not engine.count():
            await asyncio.sleep(0)
        second = asyncio.create_task(aasked(record))
        await asyncio.sleep(0.05)  # it waits for the first by then
        first.cancel()
        return await second

    assert asyncio.run(run()) == "q 2"
    assert engine.count() == 2


def test_a_blocking_call_does_not_wait_for_a_task_of_its_own_loop(path: Path):
    engine = Engine(echo, delay=0.1)
    record = RecordLM(lm(engine), path)

    async def run() -> list[str]:
        task = asyncio.create_task(aasked(record))
        while not engine.count():
            await asyncio.sleep(0)
        return [asked(record), await task]  # the second blocks the loop that the first needs

    said = asyncio.run(run())
    assert said == ["q 2", "q 2"]  # the reply that was recorded first stands
    assert record.paid.calls == 2


def test_a_call_that_hangs_in_a_search_that_has_ended_holds_nobody_up(path: Path):
    hung = threading.Event()

    def hangs_first(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if n == 1:
            hung.wait(PATIENCE)
        return {"next_thoughts": "1. a", "rating_reasoning": "r", "thought_rating": "maybe", "answer": "x"}

    engine = Engine(hangs_first)
    record = RecordLM(lm(engine), path)
    program = TreeOfThoughts(ASK, controller=Beam(width=1, branching=1, max_depth=1), answer="path")

    def attempt(seconds: float) -> Any:
        found = play(program, record, "threads", question="q", config={"budget": Budget(seconds=seconds)})
        return found if engine.count() else None

    try:
        late = in_time(attempt)
        assert late.search.ended == "seconds"
        assert play(program, record, "threads", question="q").search.status == "unverified"
    finally:
        hung.set()


def test_errors_are_not_recorded(path: Path):
    def fails(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        raise lm15.RateLimitError("later")

    record = RecordLM(lm(Engine(fails), num_retries=0), path)
    with pytest.raises(dspy.LMRateLimitError):
        asked(record)
    assert (len(record.recording), record.paid.calls) == (0, 0)


def test_the_lms_own_retries_are_made_and_only_the_reply_counts(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dspy.clients.execution._delay", lambda error, attempt: 0)

    def fails_once(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if n % 2:
            raise lm15.RateLimitError("later")
        return echo(kind, inputs, n)

    record = RecordLM(lm(Engine(fails_once), num_retries=1), path)
    assert asked(record) == "q 2"
    assert asyncio.run(aasked(record, "p")) == "p 4"
    assert record.paid.calls == 2


def test_refresh_pays_once_more_and_the_new_reply_counts(path: Path):
    engine = Engine(echo)
    asked(RecordLM(lm(engine), path))
    record = RecordLM(lm(engine), path, refresh=True)
    assert [asked(record), asked(record)] == ["q 2", "q 2"]
    assert (record.paid.calls, record.hits.calls) == (1, 1)
    assert asked(ReplayLM(path)) == "q 2"
    assert asked(ReplayLM(Recording(path, create=False))) == "q 2"


# ---- what makes a request another one


def test_each_rollout_of_best_of_n_is_recorded_by_itself(path: Path):
    engine = Engine(echo)

    def best(model: Any) -> Any:
        of = dspy.BestOfN(
            dspy.Predict(ASK), N=3, reward_fn=lambda args, pred: float(pred.answer.split()[1]), threshold=9.0
        )
        with dspy.context(lm=model):
            return of(question="q").answer

    assert best(RecordLM(lm(engine), path)) == "q 3"
    assert best(ReplayLM(path)) == "q 3"
    assert engine.count() == 3


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"rollout_id": 1}, {"rollout_id": 2}),
        ({"temperature": 0.5}, {"temperature": 0.7}),
        ({"max_tokens": 10}, {}),
        ({"stop": ["x"]}, {"stop": ["y"]}),
    ],
)
def test_other_settings_are_another_request(first: dict[str, Any], second: dict[str, Any], path: Path):
    record = RecordLM(lm(Engine(echo)), path)
    assert [asked(record, **first), asked(record, **second)] == ["q 1", "q 2"]
    assert asked(record, **first) == "q 1"


def test_the_number_of_an_lm_is_that_of_its_calls(path: Path):
    record = RecordLM(lm(Engine(echo)), path)
    assert asked(record.copy(rollout_id=3, temperature=1.0)) == asked(record, rollout_id=3, temperature=1.0)
    request = lm15.Request(model="stub/model", messages=(lm15.Message.user("hi"),))
    numbered = record.copy(rollout_id=4)
    assert numbered(request) == record(request, rollout_id=4)
    assert record.paid.calls == 2


def test_text_dicts_and_requests_are_one_request(path: Path):
    record = RecordLM(lm(Engine(lambda kind, inputs, n: f"reply {n}")), path)
    request = lm15.Request(model="stub/model", messages=(lm15.Message.user("hi"),))
    with pytest.warns(DeprecationWarning, match="OpenAI-style"):
        assert record(messages=[{"role": "user", "content": "hi"}]) == ["reply 1"]
    assert record("hi") == ["reply 1"]
    assert record(request).text == "reply 1"
    assert record.paid.calls == 1


def test_how_a_model_is_reached_is_no_part_of_a_request(path: Path):
    record = RecordLM(dspy.LM("openai/none", api_key="sk-one-0123456789", api_base="http://127.0.0.1:9"), path)
    call = {"messages": [{"role": "user", "content": "hi"}]}
    from dspy.clients.execution import prepare

    from thoughtree.modules.recording.asked import asked_of

    keys = {
        asked_of(model, prepare(model, None, call["messages"], settings)).key
        for model in (record, record.copy(api_key="sk-two-0123456789"), record.copy(api_base="http://127.0.0.1:8"))
        for settings in ({}, {"timeout": 3}, {"extra_headers": {"x": "y"}}, {"aws_session_token": "0123456789"})
    }
    assert len(keys) == 1


def test_images_are_told_apart_by_their_content(path: Path):
    def image(byte: str) -> Any:
        return dspy.Image(f"data:image/png;base64,{byte * 4000}")

    engine = Engine(lambda kind, inputs, n: {"answer": f"image {n}"})
    record = RecordLM(lm(engine), path)
    look = dspy.Predict("picture: dspy.Image -> answer")
    with dspy.context(lm=record):
        said = [look(picture=image(byte)).answer for byte in "ABA"]
    assert said == ["image 1", "image 2", "image 1"]
    assert path.stat().st_size < 8000  # their digests are kept, not they


def test_candidates_are_kept_together(path: Path):
    record = RecordLM(lm(Engine(lambda kind, inputs, n: f"reply {n}")), path)
    assert record("hi", n=3) == ["reply 1", "reply 2", "reply 3"]
    assert record("hi", n=3) == ReplayLM(path)("hi", n=3) == ["reply 1", "reply 2", "reply 3"]
    assert record("hi") == ["reply 4"]
    assert (record.paid.calls, record.hits.calls) == (4, 3)


# ---- the reply


def test_a_whole_response_comes_back(path: Path):
    whole = lm15.Response(
        id="r1",
        model="stub/model-2026",
        message=lm15.Message.assistant(
            [
                lm15.ThinkingPart("because \U0001f333 é"),
                lm15.TextPart("text"),
                lm15.ToolCallPart(id="c1", name="weigh", input={"thing": "stone", "n": 1.5}),
            ]
        ),
        finish_reason="tool_call",
        usage=lm15.Usage(input_tokens=7, output_tokens=5, reasoning_tokens=2, cache_read_tokens=3),
        logprobs=(lm15.TokenLogprob("text", -0.25, top=(lm15.TopLogprob("other", -1.5),)),),
        provider_data={"system_fingerprint": "f"},
    )
    record = RecordLM(lm(Engine(lambda kind, inputs, n: whole)), path)
    request = lm15.Request(model="stub/model", messages=(lm15.Message.user("hi"),))
    assert record(request) == whole
    assert record(request) == whole
    assert ReplayLM(path)(request) == whole
    assert record("ho", logprobs=True) == ReplayLM(path)("ho", logprobs=True)


def test_a_reply_is_nobodys_to_change(path: Path):
    record = RecordLM(lm(Engine(lambda kind, inputs, n: "said")), path)
    record("hi").append("more")
    for model in (record, ReplayLM(path)):
        model("hi").append("more")
        assert model("hi") == ["said"]


def test_half_a_character_in_a_reply_is_kept(path: Path):
    record = RecordLM(lm(Engine(lambda kind, inputs, n: "half \ud83c of a tree")), path)
    assert record("hi") == record("hi") == ReplayLM(path)("hi") == ["half \ud83c of a tree"]


def test_a_reply_that_is_no_json_is_an_error_of_the_recording(path: Path):
    def fn(kind: Any, inputs: dict[str, str], n: int) -> Any:
        made = response("said")
        object.__setattr__(made, "provider_data", {"odd": {1, 2}})
        return made

    with pytest.raises(RecordingError, match="this reply cannot be written as JSON"):
        RecordLM(lm(Engine(fn)), path)("hi")


# ---- what it counts

PRICES = {"stub/model": (1e6, 1e6)}  # a dollar a token
PROGRAM = TreeOfThoughts(ASK, controller=Beam(width=1, branching=2, max_depth=2), answer="path", prices=PRICES)


def thoughts(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    if "next_thoughts" in kind:
        return {"next_thoughts": f"1. {inputs['search_path'][-9:]} a\n2. {inputs['search_path'][-9:]} b"}
    return {"rating_reasoning": "r", "thought_rating": "maybe"}


def test_a_hit_takes_a_call_and_its_tokens_and_no_dollars(path: Path):
    record = RecordLM(lm(Engine(thoughts, tokens=(3, 1))), path)
    first = play(PROGRAM, record, "threads", question="q").search
    again = play(PROGRAM, record, "threads", question="q").search
    calls = 1 + 2 + 1 + 2  # a root and one of its children expanded; two ratings each
    assert (first.spent.calls, first.spent.tokens, first.spent.cost) == (calls, 4 * calls, 4.0 * calls)
    assert (again.spent.calls, again.spent.tokens, again.spent.cost) == (calls, 4 * calls, 0.0)
    assert (record.paid.calls, record.paid.cost) == (calls, 4.0 * calls)
    assert (record.hits.calls, record.hits.cost) == (calls, 4.0 * calls)  # what it has saved
    assert (record.recording.paid.calls, record.recording.hits.calls) == (calls, calls)
    assert record.ledger.unpriced == 0


def test_a_replay_costs_what_the_run_did_so_that_ceilings_end_it_alike(path: Path):
    budget = {"budget": Budget(cost=11.0)}  # a call costs 4 dollars: the third reaches it
    record = RecordLM(lm(Engine(thoughts, tokens=(3, 1))), path)
    first = play(PROGRAM, record, "threads", question="q", config=budget).search
    again = play(PROGRAM, ReplayLM(path), "threads", question="q", config=budget).search
    assert shape(again) == shape(first)
    assert (again.ended, again.spent.cost) == ("cost", first.spent.cost)


@pytest.mark.parametrize("name", ["calls", "tokens"])
def test_hits_count_under_a_ceiling(name: str, path: Path):
    record = RecordLM(lm(Engine(thoughts, tokens=(3, 1))), path)
    play(PROGRAM, record, "threads", question="q")
    ceiling = {"calls": 3, "tokens": 12}[name]  # 12 tokens: three calls
    for model in (record, ReplayLM(path)):
        config = {"budget": Budget(**{name: ceiling})}
        result = play(PROGRAM, model, "threads", question="q", config=config).search
        assert (result.ended, result.spent.calls) == (name, 3)
        with limit(**{name: ceiling}) as purse, dspy.context(lm=model):
            assert PROGRAM(question="q").search.ended == name
        assert getattr(purse.spent, name) == getattr(result.spent, name)
        assert purse.spent.cost == (0.0 if model is record else 4.0 * purse.spent.calls)


def test_dspys_own_count_of_usage_has_what_was_paid(path: Path):
    record = RecordLM(lm(Engine(echo)), path)
    with dspy.context(lm=record, track_usage=True):
        program = dspy.ChainOfThought(ASK)
        paid, free = program(question="q"), program(question="q")
    assert paid.get_lm_usage()["stub/model"]["total_tokens"] == 2
    assert not free.get_lm_usage()
    assert [entry["outputs"] for entry in record.history[-2:]] == [record.history[-1]["outputs"]] * 2


# ---- an unknown request


def test_an_unknown_request_ends_a_search_at_once(path: Path):
    asked(RecordLM(lm(Engine(echo)), path))
    replay = ReplayLM(path)
    heard: list[int] = []
    config = {"on_event": lambda event: heard.append(event.search.spent.calls)}
    for driver in ("threads", "asyncio"):
        with pytest.raises(UnknownRequest, match="The nearest of 1 is line 3"):
            play(PROGRAM, replay, driver, question="q", config=config)
        assert heard.pop() == 1  # not tried again, not made a failed child
        assert not heard


def test_an_unknown_request_is_raised_in_any_other_program(path: Path):
    asked(RecordLM(lm(Engine(echo)), path))
    with pytest.raises(UnknownRequest):
        asked(ReplayLM(path), "p")
    with pytest.raises(UnknownRequest):
        asyncio.run(aasked(ReplayLM(path), "p"))


def test_what_is_recorded_meanwhile_is_found(path: Path):
    record = RecordLM(lm(Engine(echo)), path)
    asked(record)
    replay = ReplayLM(Recording(path, create=False))
    with pytest.raises(UnknownRequest):
        asked(replay, "p")
    asked(record, "p")
    assert asked(replay, "p") == "p 2"


# ---- the LM as an object


def test_it_is_an_lm_of_its_own_kind(path: Path):
    plain = lm(Engine(echo), temperature=0.4, callbacks=[])
    record, answers = RecordLM(plain, path), [{"answer": "a"}, {"answer": "b"}]
    assert isinstance(record, dspy.LM)
    assert isinstance(record, RecordLM)
    assert (record.model, record.kwargs) == (plain.model, plain.kwargs)
    dummy = RecordLM(DummyLM(answers), path)
    assert isinstance(dummy, DummyLM)
    assert [asked(dummy), asked(dummy, "p"), asked(dummy)] == ["a", "b", "a"]
    assert asked(ReplayLM(path, model="dummy"), "p") == "b"


class Plugin(dspy.BaseLM):
    """An LM of the kind that DSPy had before there were engines."""

    calls = 0

    def forward(self, prompt: Any = None, messages: Any = None, **kwargs: Any) -> Any:
        Plugin.calls += 1
        said = {"message": {"content": f"said {Plugin.calls}", "reasoning_content": "because"}}
        return {"model": "plugin", "choices": [said], "usage": {"prompt_tokens": 3, "total_tokens": 5}}

    async def aforward(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_lm_without_an_engine_is_recorded_too(path: Path):
    record = RecordLM(Plugin("a/plugin"), path)
    first = [{"text": "said 1", "reasoning_content": "because"}]
    assert record("hi") == first
    assert asyncio.run(record.acall("hi")) == first
    replay = ReplayLM(path)
    assert replay("hi") == first
    request = lm15.Request(model="a/plugin", messages=(lm15.Message.user("hi"),))
    assert (record(request).text, replay(request).text) == ("said 1", "said 1")
    assert (Plugin.calls, record.paid.tokens, replay.hits.tokens) == (1, 5, 10)


def test_copies_share_a_recording_and_an_account(path: Path):
    engine = Engine(echo)
    record = RecordLM(lm(engine), path)
    program = dspy.Predict(ASK)
    program.set_lm(record)
    others = [record.copy(), copy.copy(record), copy.deepcopy(record), copy.deepcopy(program).lm]
    for other in others:
        assert other.recording is record.recording
        assert asked(other) == "q 1"
    assert (record.paid.calls, record.hits.calls, engine.count()) == (1, 3, 1)
    replay = ReplayLM(path)
    assert copy.deepcopy(replay).recording is replay.copy(temperature=0.1).recording is record.recording


def test_a_recording_in_memory_shares_between_lms():
    engine, shared = Engine(echo), Recording()
    one, two = RecordLM(lm(engine), shared), RecordLM(lm(engine), shared)
    assert [asked(one), asked(two)] == ["q 1", "q 1"]
    assert (one.paid.calls, two.hits.calls, shared.paid.calls, shared.hits.calls) == (1, 1, 1, 1)
    assert asked(RecordLM(lm(engine))) == "q 2"
    assert asked(ReplayLM(shared)) == "q 1"


def test_dspys_cache_has_no_part_in_it(path: Path, cached: None):
    engine = Engine(echo)
    plain = lm(engine, cache=True)
    assert [asked(plain), asked(plain)] == ["q 1", "q 1"]
    record = RecordLM(plain, path)
    assert asked(record) == asked(record, cache=True) == "q 2"
    assert record.paid.tokens == 2


def test_a_replay_can_do_what_the_recorded_model_could(path: Path):
    engine = Engine(echo)
    engine.supports_function_calling = engine.supports_response_schema = True
    engine.supported_params = {"temperature", "response_format", "logprobs"}
    asked(RecordLM(lm(engine), path))
    replay = ReplayLM(path)
    assert (replay.supports_function_calling, replay.supports_reasoning, replay.supports_response_schema) == (1, 0, 1)
    assert replay.supported_params == {"temperature", "response_format", "logprobs"}


def test_a_replay_has_the_settings_that_were_recorded(path: Path):
    asked(RecordLM(lm(Engine(echo), temperature=0.3, top_p=0.9, stop=["x"]), path).copy(rollout_id=5))
    replay = ReplayLM(path)
    assert replay.kwargs == {"temperature": 0.3, "top_p": 0.9, "stop": ["x"]}
    assert asked(replay.copy(rollout_id=5)) == "q 1"


def test_of_several_lms_one_is_named(path: Path):
    for model, settings in (("a/one", {}), ("a/two", {"temperature": 0.0}), ("a/two", {"temperature": 1.0})):
        asked(RecordLM(lm(Engine(echo), model, **settings), path), model)
    with pytest.raises(RecordingError, match=r"a/one; a/two \(temperature=0.0\); a/two \(temperature=1.0\)"):
        ReplayLM(path)
    with pytest.raises(RecordingError, match="tells them apart"):
        ReplayLM(path, model="a/two")
    with pytest.raises(RecordingError, match=r"'a/three'.*has replies of a/one"):
        ReplayLM(path, model="a/three")
    assert asked(ReplayLM(path, model="a/one"), "a/one") == "a/one 1"
    assert ReplayLM(path, model="a/two", temperature=1.0).kwargs == {"temperature": 1.0}


def test_what_cannot_be_recorded_is_refused(path: Path):
    class Own(dspy.LM):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return ["own"]

    with pytest.raises(TypeError, match="a Own answers by a `__call__` of its own"):
        RecordLM(Own("a/b"), path)
    with pytest.raises(TypeError, match=r"RecordLM\(lm='openai/x'\): a dspy.LM is needed"):
        RecordLM("openai/x", path)
    with pytest.raises(TypeError, match="by a `__call__` of its own"):
        RecordLM(RecordLM(lm(Engine(echo)), path), path)
    with pytest.raises(TypeError, match="put the faults behind it"):
        FaultyLM(RecordLM(lm(Engine(echo)), path))


def test_no_model_is_reached_past_the_recording(path: Path):
    asked(RecordLM(lm(Engine(echo)), path))
    with pytest.raises(dspy.LMError, match="would need a model"):
        ReplayLM(path).forward("hi")
