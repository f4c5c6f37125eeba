"""The adapter: DSPy's prompts to the byte, DSPy's reading where that succeeds, and one paid call."""

import asyncio
from enum import Enum
from typing import Annotated, Any

import dspy
import pydantic
import pytest
from dspy import lm15
from dspy.utils.callback import BaseCallback
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engines import Engine, lm
from thoughtree.modules.calls.adapter import PLAIN, SearchAdapter, calls_of, search_adapter
from thoughtree.modules.calls.failures import failure
from thoughtree.modules.calls.gate import Meter, OverCalls, gate
from thoughtree.modules.calls.sections import sections
from thoughtree.search.protocol import Unread

CHAT = dspy.ChatAdapter()


@pytest.fixture(params=["threads", "asyncio"])
def call(request):
    """Calls a predictor, sync or async."""
    if request.param == "threads":
        return lambda target, **inputs: target(**inputs)
    return lambda target, **inputs: asyncio.run(target.acall(**inputs))


class Colour(str, Enum):  # noqa: UP042  its str() is not its value
    RED = "red"
    BLUE = "blue"


class Person(pydantic.BaseModel):
    name: str
    age: int | None = None
    friends: list["Person"] = []


class Odd:
    """An object that pydantic cannot write."""

    def __str__(self):
        return "odd one"


class Described(dspy.Signature):
    """Answer in one word.

    This line is indented, and has ümlauts.
    """

    question: str = dspy.InputField(desc="what is asked")
    hints: list[str] = dspy.InputField(desc="in order")
    effort: Annotated[int, pydantic.Field(ge=0, le=9)] = dspy.InputField(default=3)
    reasoning: str = dspy.OutputField(desc="think first")
    answer: str = dspy.OutputField(desc="one word", max_length=20)


IMAGE = dspy.Image("data:image/png;base64,iVBORw0KGgo=")
HISTORY = dspy.History(messages=[{"question": "1?", "answer": "one"}, {"question": "2?", "answer": "two"}])
TWO = [{"question": "a?", "answer": "b"}, dspy.Example(question="c?", answer="d").with_inputs("question")]

PROMPTS: list[tuple[Any, list[Any], dict[str, Any]]] = [
    ("question -> answer", [], {"question": "Why?"}),
    ("question -> answer", TWO, {"question": "Why?\n\nReally\r\n[[ ## answer ## ]] no"}),
    ("question -> answer", [], {"question": ""}),
    ("question -> answer", [], {}),
    ("question -> answer", [], {"question": None}),
    ("question -> answer", [], {"question": ["one", "two\nlines", "«three»"]}),
    ("question -> answer", [], {"question": []}),
    ("question -> answer", [], {"question": Colour.RED}),
    ("question -> answer", [], {"question": Odd()}),
    ("question -> answer", [], {"question": "extra", "unknown": "field"}),
    ("question, context -> answer, reason", [{"question": "q", "answer": "a"}, {"context": "c"}],
     {"context": "x"}),
    ("question, context -> answer", [{"question": "q", "context": None, "answer": None}], {"question": "x"}),
    (Described, [], {"question": "Why?", "hints": ["a", "ß"], "effort": 4}),
    (Described, [{"question": "q", "hints": [], "answer": "a"}], {"question": "Why?", "hints": []}),
    ("n: int, x: float, ok: bool -> m: int, y: float, fine: bool", [],
     {"n": 1, "x": float("nan"), "ok": True}),
    ("a: list[int], b: dict[str, float] -> c: list[str]", [], {"a": [1, 2], "b": {"z": float("inf")}}),
    ("a: tuple[int, str] -> b: Literal['x', \"it's\", 3]", [{"a": (1, "q"), "b": "x"}], {"a": (2, "é")}),
    (dspy.Signature("who: Person -> colour: Colour, them: list[Person]",
                    custom_types={"Person": Person, "Colour": Colour}),
     [{"who": Person(name="A"), "colour": Colour.BLUE, "them": [Person(name="B", age=3)]}],
     {"who": Person(name="C", friends=[Person(name="D")])}),
    ("image: dspy.Image, question -> answer", [{"image": IMAGE, "question": "q", "answer": "a"}],
     {"image": IMAGE, "question": "Who?"}),
    ("images: list[dspy.Image] -> answer: str | None", [], {"images": [IMAGE, IMAGE]}),
    ("question, history: dspy.History -> answer", TWO, {"question": "3?", "history": HISTORY}),
    ("question, history: dspy.History -> answer", [],
     {"question": "3?", "history": dspy.History(messages=[])}),
    ("question, tools: list[dspy.Tool] -> calls: dspy.ToolCalls", [],
     {"question": "q", "tools": [dspy.Tool(len)]}),
    ("question -> reasoning: dspy.Reasoning, answer", [], {"question": "q"}),
    ("question -> code: dspy.Code", [], {"question": dspy.Code(code="x = 1")}),
]  # fmt: skip


def signature(given):
    return given if not isinstance(given, str) else dspy.Signature(given)


@pytest.mark.parametrize("which", range(len(PROMPTS)))
def test_prompts_are_dspys_own_to_the_byte(which):
    spec, demos, inputs = PROMPTS[which]
    sig = signature(spec)
    expected = CHAT.format(sig, demos, dict(inputs))
    for _ in range(2):  # made, and remembered
        assert PLAIN.format(sig, demos, dict(inputs)) == expected
    fine_tuning = CHAT.format_finetune_data(sig, demos, dict(inputs), {"answer": "a"})
    assert PLAIN.format_finetune_data(sig, demos, dict(inputs), {"answer": "a"}) == fine_tuning


def test_a_system_message_is_written_once():
    sig = dspy.Signature("question -> answer", "Written once.")
    assert PLAIN.format_system_message(sig) is PLAIN.format_system_message(sig)
    assert CHAT.format_system_message(sig) is not CHAT.format_system_message(sig)  # DSPy writes it for every call


def test_a_prompt_follows_instructions_and_descriptions_that_change_in_place():
    sig = dspy.Signature("question -> answer", "First.")
    assert "First." in PLAIN.format_system_message(sig)
    sig.instructions = "Second."
    assert "Second." in PLAIN.format_system_message(sig)
    sig.output_fields["answer"].json_schema_extra["desc"] = "in Latin"
    assert "in Latin" in PLAIN.format_system_message(sig)
    assert PLAIN.format_system_message(sig) == CHAT.format_system_message(sig)


def test_a_subclass_that_changes_a_part_of_the_prompt_is_heard():
    class Polite(SearchAdapter):
        def format_task_description(self, signature):
            return "Please."

    sig = dspy.Signature("question -> answer")
    PLAIN.format_system_message(sig)
    assert Polite().format_system_message(sig).endswith("\nPlease.")


def test_what_reaches_the_lm_is_the_same_too(call):
    def requests(adapter):
        engine = Engine(lambda *_: {"answer": "a", "score": "3"})
        with dspy.context(lm=lm(engine), adapter=adapter):
            ask = dspy.Predict("image: dspy.Image, question -> answer, score: int", temperature=0.5, tools=[1])
            assert call(ask, image=IMAGE, question="q").score == 3
        return [c.request for c in engine.calls]

    assert requests(PLAIN) == requests(dspy.ChatAdapter())


def native(part, adapter, spec, call, **inputs):
    """What an adapter sends to an engine with every native feature, and makes of its reply."""
    engine = Engine(
        lambda *_: lm15.Response(
            id=None, model="m", finish_reason="stop",
            message=lm15.Message.assistant([part, lm15.TextPart("[[ ## answer ## ]]\na")]),
            usage=lm15.Usage(input_tokens=1, output_tokens=1, total_tokens=2),
        )
    )  # fmt: skip
    engine.supports_function_calling = engine.supports_reasoning = True
    engine.supported_params = ("reasoning_effort",)
    with dspy.context(lm=lm(engine), adapter=adapter):
        prediction = call(dspy.Predict(spec), **inputs)
    return [c.request for c in engine.calls], prediction.toDict()


def test_native_features_are_used_as_the_users_adapter_would(call):
    think = lm15.ThinkingPart("because")
    spec = "question -> reasoning: dspy.Reasoning, answer"
    requests, prediction = native(think, PLAIN, spec, call, question="q")
    assert (requests, prediction) == native(think, dspy.ChatAdapter(), spec, call, question="q")
    assert prediction["reasoning"] == "because"
    assert "reasoning ##" not in requests[0].messages[-1].text  # asked for natively

    use = lm15.ToolCallPart(id="1", name="look", input={"word": "x"})
    own = dspy.ChatAdapter(use_native_function_calling=True)
    spec, tools = "question, tools: list[dspy.Tool] -> calls: dspy.ToolCalls, answer", [dspy.Tool(look)]
    requests, prediction = native(use, search_adapter(own), spec, call, question="q", tools=tools)
    assert (requests, prediction) == native(use, own, spec, call, question="q", tools=tools)
    assert [t.name for t in requests[0].tools] == ["look"]
    assert prediction["calls"]["tool_calls"][0]["args"] == {"word": "x"}


def look(word: str) -> str:
    """Look a word up."""
    return word


# -- reading


NAMES = st.sampled_from(["reasoning", "verdict", "completed", "other", "question"])
LINES = st.one_of(
    st.text(alphabet="ab \t\r#[]*🙂é\u2028\x0b", max_size=8),
    st.builds("[[ ## {} ## ]]{}".format, NAMES, st.sampled_from(["", " ", " x", "\t y  ", "z"])),
    st.builds("text [[ ## {} ## ]] more".format, NAMES),
)
REPLIES = st.lists(LINES, max_size=8).map("\n".join)
RATE = dspy.Signature("question -> reasoning, verdict")


@settings(max_examples=400, deadline=None)
@given(REPLIES)
@example("[[ ## reasoning ## ]]\t so  \nit is\n[[ ## verdict ## ]]  \n sure")
@example("a\r\n[[ ## reasoning ## ]]\u2028b\n[[ ## reasoning ## ]] c\n[[ ## verdict ## ]]\n[[ ## other ## ]] d")
def test_what_chat_adapter_reads_is_read_alike(reply):
    try:
        expected = CHAT.parse(RATE, reply)
    except dspy.AdapterParseError:
        return
    assert PLAIN.parse(RATE, reply) == expected


def test_names_keep_their_case_however_their_markers_are_spelled():
    named = dspy.Signature("question -> Reasoning, Verdict")
    reply = "[[ ## reasoning ## ]] abc [[ ## VERDICT ## ]] Sure"
    assert PLAIN.parse(named, reply) == {"Reasoning": "abc", "Verdict": "Sure"}


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="[]# \nabverdictreasoningcompleted*_:", max_size=200) | REPLIES)
def test_no_reply_crashes_the_reading(reply):
    try:
        fields = PLAIN.parse(RATE, reply)
    except dspy.AdapterParseError:
        return
    assert list(fields) == ["reasoning", "verdict"]
    assert all(isinstance(value, str) for value in fields.values())


def test_a_list_in_a_text_field_may_hold_what_is_no_text():
    """DSPy's own adapter fails there, for an input and for a demo; a list of texts is as DSPy writes it."""
    spec = dspy.ensure_signature("numbers -> answer")
    demos = [{"numbers": [1, 2.5, None], "answer": "x"}]
    for numbers, shown in (
        ([4, 9], "[4, 9]"),
        ([["a"], {"b": 1}], '[["a"], {"b": 1}]'),
        (["4", "9"], "[1] «4»\n[2] «9»"),
    ):
        messages = PLAIN.format(spec, demos, {"numbers": numbers})
        assert messages[1]["content"].startswith("[[ ## numbers ## ]]\n[1, 2.5, null]")
        assert messages[3]["content"].startswith(f"[[ ## numbers ## ]]\n{shown}\n\n")


TYPED = dspy.Signature(
    "question -> steps: list[str], score: float, sure: bool, size: Literal['s', 'm'], note: str | None"
)


@pytest.mark.parametrize(
    "values",
    [
        ("['a', 'b']", "0.5", "True", "'s'", "hi"),
        ('["a"]', "3", "false", "m", "null"),
        ("[]", "-1e3", "0", "Literal[m]", ""),
    ],
)
@pytest.mark.parametrize("space", ["\n", " ", "\n\n"])
def test_typed_outputs_are_read_alike(values, space):
    names = ("steps", "score", "sure", "size", "note")
    reply = "\n".join(f"[[ ## {name} ## ]]{space}{value}" for name, value in zip(names, values, strict=True))
    assert PLAIN.parse(TYPED, reply) == CHAT.parse(TYPED, reply)


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        # a marker on the line before
        ("[[ ## reasoning ## ]] abc [[ ## verdict ## ]] sure", "sure"),
        ("[[ ## reasoning ## ]]\nabc\n[[ ## verdict ## ]]\n0.7[[ ## completed ## ]]", "0.7"),
        ("[[ ## reasoning ## ]]\nabc\n[[ ## verdict ## ]] 0.7 [[ ## completed ## ]]\nGoodbye", "0.7"),
        ("[[ ## reasoning ## ]] abc [[ ## verdict ## ]] sure [[ ## completed ## ]]", "sure"),
        # other spellings
        ("**[[ ## reasoning ## ]]**\nabc\n**[[ ## verdict ## ]]**\nsure", "sure"),
        ("[[ ## Reasoning ## ]]\nabc\n[[ ## Verdict ## ]]:\nsure", "sure"),
        ("[[## reasoning ##]]\nabc\n[[ verdict ]]\nsure", "sure"),
        ("  [[ ## reasoning ## ]]\n  abc\n  [[ ## verdict ## ]]\n  sure", "sure"),
        # the reasoning's marker left out
        ("abc\n[[ ## verdict ## ]]\nsure", "sure"),
        ("abc [[ ## verdict ## ]] sure", "sure"),
    ],
)
def test_a_marker_within_a_line_does_not_swallow_the_next_field(reply, verdict):
    assert PLAIN.parse(RATE, reply) == {"reasoning": "abc", "verdict": verdict}


def test_a_marker_that_is_only_talked_about_opens_no_section():
    reply = "[[ ## reasoning ## ]]\nI shall end with [[ ## verdict ## ]] maybe.\n[[ ## verdict ## ]]\nsure"
    assert PLAIN.parse(RATE, reply) == {
        "reasoning": "I shall end with [[ ## verdict ## ]] maybe.",
        "verdict": "sure",
    }


@pytest.mark.parametrize(
    "reply", ["sure", "4 + 8 = 12\nsure\n", "sure [[ ## completed ## ]]", "sure\n[[ ## completed ## ]]"]
)
def test_a_plain_text_is_the_last_field(reply):
    text = reply.replace("[[ ## completed ## ]]", "").strip()
    assert PLAIN.parse(RATE, reply) == {"reasoning": "", "verdict": text}
    assert PLAIN.parse(dspy.Signature("question -> verdict"), reply) == {"verdict": text}
    named = dspy.Signature("question -> rating_reasoning, verdict")
    assert PLAIN.parse(named, reply) == {"rating_reasoning": "", "verdict": text}


def test_fields_with_defaults_may_be_left_out_of_a_plain_text():
    class Assess(dspy.Signature):
        question: str = dspy.InputField()
        reachable: str = dspy.OutputField(default="")
        note: str | None = dspy.OutputField()
        score: str = dspy.OutputField()

    assert PLAIN.parse(Assess, "score: 7") == {"reachable": "", "note": None, "score": "score: 7"}
    assert PLAIN.parse(Assess, "[[ ## score ## ]]\n7") == {"reachable": "", "note": None, "score": "7"}


@pytest.mark.parametrize(
    ("spec", "reply"),
    [
        ("question -> reasoning, verdict", ""),
        ("question -> reasoning, verdict", "  \n\t"),
        ("question -> reasoning, verdict", "[[ ## completed ## ]]"),
        (
            "question -> reasoning, verdict",
            "[[ ## reasoning ## ]]\ncut off in the midd",
        ),
        ("question -> summary, title", "a plain text"),  # which of the two?
        ("question -> summary, title", "[[ ## title ## ]]\nonly one"),
        ("question -> score: float", "0.7"),
        ("question -> reasoning, score: float", "0.7"),
        ("question -> score: float", "[[ ## score ## ]]\n7/10"),
        ("question -> steps: list[int]", "[[ ## steps ## ]]\n- a\n- b"),
    ],
)
def test_what_has_no_value_or_no_such_type_is_unparsed_and_keeps_the_reply(spec, reply):
    with pytest.raises(dspy.AdapterParseError) as error:
        PLAIN.parse(dspy.Signature(spec), reply)
    assert error.value.lm_response == reply
    assert error.value.adapter_name == "SearchAdapter"


def test_an_empty_reply_is_unparsed(call):
    engine, meter = Engine(lambda *_: ""), Meter()
    with (
        dspy.context(lm=gate(lm(engine)), adapter=PLAIN, search_meter=meter),
        pytest.raises(dspy.AdapterParseError) as error,
    ):
        call(dspy.Predict("question -> answer"), question="q")
    assert failure(error.value, meter) == Unread("")
    assert engine.count() == 1


def test_log_probabilities_reach_the_prediction(call):
    def fn(kind, inputs, n):
        return lm15.Response(
            id=None, model="m", message=lm15.Message.assistant([lm15.TextPart("yes")]), finish_reason="stop",
            logprobs=(lm15.TokenLogprob(token="yes", logprob=-0.1, bytes=None, top=()),),
            usage=lm15.Usage(input_tokens=1, output_tokens=1, total_tokens=2),
        )  # fmt: skip

    with dspy.context(lm=lm(Engine(fn), logprobs=True), adapter=PLAIN):
        prediction = call(dspy.Predict("question -> answer"), question="q")
    assert prediction.answer == "yes"
    assert prediction.logprobs["content"][0]["token"] == "yes"


# -- the user's own adapter


def test_a_plain_or_unset_adapter_becomes_the_shared_one():
    assert search_adapter(None) is PLAIN
    assert search_adapter(dspy.ChatAdapter()) is PLAIN
    assert search_adapter(dspy.ChatAdapter(use_json_adapter_fallback=False)) is PLAIN
    assert search_adapter(PLAIN) is PLAIN
    assert PLAIN.use_json_adapter_fallback is False


def test_a_configured_chat_adapter_keeps_its_settings():
    callback = BaseCallback()
    own = dspy.ChatAdapter(callbacks=[callback], use_native_function_calling=True, parallel_tool_calls=True)
    kept = search_adapter(own)
    assert type(kept) is SearchAdapter
    assert kept is not PLAIN
    assert kept is search_adapter(own)
    assert vars(kept) == {**vars(own), "use_json_adapter_fallback": False}
    own.callbacks = []
    assert search_adapter(own).callbacks == []


def test_adapter_callbacks_fire_once(call):
    class Log(BaseCallback):
        def on_adapter_format_start(self, call_id, instance, inputs):
            seen.append(("format", sorted(inputs)))

        def on_adapter_parse_end(self, call_id, outputs, exception=None):
            seen.append(("parse", outputs))

    seen = []
    adapter = search_adapter(dspy.ChatAdapter(callbacks=[Log()]))
    with dspy.context(lm=lm(Engine(lambda *_: {"answer": "a"})), adapter=adapter):
        call(dspy.Predict("question -> answer"), question="q")
    assert seen == [("format", ["demos", "inputs", "signature"]), ("parse", {"answer": "a"})]


@pytest.mark.parametrize("kind", [dspy.JSONAdapter, dspy.XMLAdapter])
def test_any_other_adapter_is_kept_and_the_users_object_is_left_alone(kind):
    own = kind()
    before = dict(vars(own))
    kept = search_adapter(own)
    assert type(kept) is kind
    assert vars(own) == before
    assert kept is own or not kept.use_json_adapter_fallback


OWN = [None, dspy.ChatAdapter(), dspy.JSONAdapter(), dspy.XMLAdapter()]


@pytest.mark.parametrize("own", OWN, ids=lambda own: type(own).__name__)
def test_each_adapter_answers_and_pays_once(own, call):
    engine, meter = Engine(lambda *_: {"reasoning": "so", "verdict": "sure"}), Meter()
    with dspy.context(lm=gate(lm(engine)), adapter=search_adapter(own), search_meter=meter):
        assert call(dspy.Predict(RATE), question="q").verdict == "sure"
    assert engine.count() == 1 == meter.calls


@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize("own", OWN, ids=lambda own: type(own).__name__)
def test_an_unreadable_reply_is_paid_once_and_unread(own, prepared, call):
    """Also where the fallback is on: the gate stops its call."""
    engine, meter = Engine(lambda *_: "[[ ## garbage ## ]] <garbage>"), Meter()
    adapter = search_adapter(own) if prepared else own
    with (
        dspy.context(lm=gate(lm(engine)), adapter=adapter, search_meter=meter),
        pytest.raises((dspy.AdapterParseError, OverCalls)) as error,
    ):
        call(dspy.Predict("question -> score: int"), question="q")
    assert failure(error.value, meter) == Unread("[[ ## garbage ## ]] <garbage>")
    assert engine.count() == 1 == meter.calls


def test_a_two_step_adapters_second_call_passes_the_gate_and_must_be_reserved(call):
    extractor = Engine(lambda *_: {"verdict": "sure"})
    own = dspy.TwoStepAdapter(lm(extractor))
    kept = search_adapter(own)
    assert type(kept) is dspy.TwoStepAdapter
    assert (calls_of(kept), calls_of(PLAIN)) == (2, 1)
    meter = Meter(left=2)
    with dspy.context(lm=gate(lm(Engine(lambda *_: "I am sure."))), adapter=kept, search_meter=meter):
        assert call(dspy.Predict("question -> verdict"), question="q").verdict == "sure"
        assert (meter.calls, len(meter.records)) == (2, 2)
        with pytest.raises(OverCalls):
            call(dspy.Predict("question -> verdict"), question="q")
    assert own.extraction_model.num_retries == 3


class Searching(dspy.Module):
    """Runs its predictor as a search does: behind the gate, under the search's adapter."""

    def __init__(self):
        super().__init__()
        self.ask = dspy.Predict("question -> answer")

    def forward(self, question):
        model = gate(self.ask.lm or dspy.settings.lm)
        with dspy.context(adapter=search_adapter(dspy.settings.adapter), search_meter=Meter()):
            return self.ask(question=question, lm=model)


def never(args, prediction):
    """A reward function that is never content."""
    return 0.0


@pytest.mark.parametrize("own", OWN, ids=lambda own: type(own).__name__)
def test_the_hint_of_dspy_refine_arrives(own):
    def fn(kind, inputs, n):
        if "advice" in kind:
            return {"discussion": "d", "advice": '{"ask": "be brief"}'}
        return {"answer": f"a{n}"}

    engine = Engine(fn)
    with dspy.context(lm=lm(engine), adapter=own):
        dspy.Refine(Searching(), N=2, reward_fn=never, threshold=1.0)(question="q")
    asked = [c.inputs for c in engine.calls if "answer" in c.kind]
    assert asked == [{"question": "q"}, {"question": "q", "hint_": "be brief"}]


@pytest.mark.parametrize(
    "noise", ["*" * 10**6, "_`" * 500_000, "[[" + " " * 10**6, "[[" + "#" * 10**6, "*[[" * 300_000]
)
def test_a_reply_that_repeats_a_sign_for_ever_is_read_in_one_pass(noise):
    """By a pattern that tries every place of a run, this takes hours."""
    read = sections(f"{noise}\nThe rest. **[[ ## thought_rating ## ]]** sure", ["rating_reasoning", "thought_rating"])
    assert read["thought_rating"] == "sure"
