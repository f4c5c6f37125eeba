"""What the roles ask: their own signatures, stable fields first, the user's words, DSPy's own prompts."""

from __future__ import annotations

import itertools

import dspy
import pytest

from engines import Engine
from puzzle24 import KINDS, PUZZLE, call, engine
from thoughtree import Beam, Game24, TreeOfThoughts
from thoughtree.prompts import output_names, prompt_text

USER = dspy.Signature("question, context: list[str] -> answer: int", "Answer in metres, never in feet.")
MODES = ["value", "siblings", "vote", "pairs"]


def programs():
    for mode in MODES:
        yield TreeOfThoughts(USER, rate=mode)
        yield TreeOfThoughts(task=Game24(), rate=mode, answer="lm", first="answer")
    yield TreeOfThoughts(task=Game24(), propose="choose", answer="lm")
    yield TreeOfThoughts(USER, scale="anchored")
    yield TreeOfThoughts(USER, scale="unit", propose="samples")


@pytest.mark.parametrize(
    "program", list(programs()), ids=lambda p: f"{p.plan.rate}-{p.plan.answer}-{p.plan.scale.told[:9]}"
)
def test_no_two_predictors_have_equal_signatures(program):
    signatures = [p.signature for p in program.predictors()]
    assert len(signatures) == 3
    for one, other in itertools.combinations(signatures, 2):
        assert not one.equals(other)
        assert one.instructions != other.instructions
        assert set(one.output_fields) != set(other.output_fields)


@pytest.mark.parametrize("program", [TreeOfThoughts(USER, rate=mode) for mode in MODES], ids=MODES)
def test_the_users_fields_come_first_and_words_are_there(program):
    for predictor in program.predictors():
        fields = list(predictor.signature.input_fields)
        assert fields[:2] == ["question", "context"]
        assert "Answer in metres, never in feet." in predictor.signature.instructions
    propose = list(program.propose.predict.signature.input_fields)
    assert propose == ["question", "context", "num_thoughts", "search_path"]  # what changes comes last


def test_prompts_of_one_search_share_the_longest_prefix():
    """Providers cache by prefix: all that is the same for a whole search precedes all that changes."""

    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": f"1. a{n}\n2. b{n}"}
        return {"rating_reasoning": "r", "thought_rating": "maybe"} if kind == "rate" else {"answer": "1"}

    model = Engine(fn, kinds=KINDS)
    call(TreeOfThoughts(USER, controller=Beam(width=2, branching=2)), model, question="q", context=["c"] * 50)
    for kind in ("propose", "rate"):
        requests = [c.request for c in model.calls if c.kind == kind]
        texts = [r.messages[-1].parts[0].text for r in requests]
        assert len({r.system if isinstance(r.system, str) else str(r.system) for r in requests}) == 1
        shared = texts[0][: texts[0].index("[[ ## search_path ## ]]")]
        assert all(text.startswith(shared) for text in texts)
        assert "[[ ## context ## ]]" in shared


def test_the_tasks_words_are_in_every_role():
    program = TreeOfThoughts(task=Game24(target=25), answer="lm")
    for predictor in program.predictors():
        assert "Make 25 from the given numbers" in predictor.signature.instructions


@pytest.mark.parametrize("mode", MODES)
def test_prompts_are_dspys_own_to_the_byte(mode):
    """What reaches the model is what a plain ChatAdapter makes of the role's signature, demos and inputs."""
    fields = {
        "thought_rating": "sure",
        "thought_ratings": "1. sure\n2. sure\n3. sure",
        "best_thought": "1",
        "better_thought": "1",
    }

    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": "1. 10 - 4 = 6\n2. 4 + 9 = 13"}
        return {"rating_reasoning": "r", **fields} if kind in KINDS else {"answer": "1"}

    program = TreeOfThoughts(task=Game24(), rate=mode, answer="lm", controller=Beam(max_depth=1))
    for predictor in program.predictors():
        outputs = dict.fromkeys(predictor.signature.output_fields, "said before")
        predictor.demos = [dspy.Example(numbers="1 2", search_path="1. 1+2=3", **outputs)]
    model = engine(fn)
    call(program, model, numbers=PUZZLE)
    by_outputs = {tuple(p.signature.output_fields): p for p in program.predictors()}
    assert len(model.calls) >= 3
    for made in model.calls:
        predictor = next(p for names, p in by_outputs.items() if set(names) & set(asked(made)))
        plain = dspy.ChatAdapter().format(predictor.signature, predictor.demos, made.inputs)
        sent = [made.request.system, *(m.parts[0].text for m in made.request.messages)]
        assert [text_of(t) for t in sent] == [m["content"] for m in plain]


def asked(made):
    return output_names(prompt_text(made.request))


def text_of(thing):
    if isinstance(thing, str):
        return thing
    return "".join(part.text for part in getattr(thing, "parts", thing))


def test_changed_instructions_are_sent():
    program = TreeOfThoughts("question -> answer", answer="path", controller=Beam(max_depth=1))
    predictor = program.propose.predict
    predictor.signature = predictor.signature.with_instructions("Think of rivers.")
    model = engine(
        lambda kind, inputs, n: (
            {"next_thoughts": "1. a"} if kind == "propose" else {"rating_reasoning": "", "thought_rating": "sure"}
        )
    )
    call(program, model, question="q")
    assert "Think of rivers." in str(model.calls[0].request.system)
