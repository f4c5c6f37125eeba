"""What a program is called with: field names and types, defaults, settings of a call, clear refusals."""

from __future__ import annotations

import asyncio

import dspy
import pydantic
import pytest

from engines import Engine
from puzzle24 import KINDS, PUZZLE, call, drivers, engine
from thoughtree import DFS, Beam, Budget, Game24, SearchStatus, TreeOfThoughts

# Pydantic says of some names that we refuse that they shadow something.
pytestmark = pytest.mark.filterwarnings("ignore:Field name .* shadows")
ONE = Beam(width=1, branching=1, max_depth=1)


def fn(kind, inputs, n):
    if kind == "propose":
        return {"next_thoughts": "1. a"}
    return {"rating_reasoning": "r", "thought_rating": "sure"} if kind == "rate" else dict.fromkeys(kind, "42")


def program(signature="question -> answer", **knobs):
    return TreeOfThoughts(signature, **{"controller": ONE, **knobs})


@drivers
def test_names_that_a_search_has_too_are_free(driver):
    names = [
        "budget",
        "state",
        "path",
        "controller",
        "seed",
        "journal",
        "plan",
        "task",
        "settings",
        "n",
        "node",
        "inputs_",
        "search",
        "value",
        "history_",
        "rate",
        "propose",
        "answer_lm",
        "prompt",
        "messages",
    ]
    given = {name: f"the {name}" for name in names}
    model = engine(fn)
    found = call(program(", ".join(names) + " -> answer"), model, driver, **given)
    assert found.answer == "42"
    for made in model.calls:
        assert {name: made.inputs[name] for name in names} == given


@pytest.mark.parametrize("name", ["config", "demos", "lm", "self", "completions"])
def test_inputs_that_dspy_takes_itself_are_refused(name):
    with pytest.raises(ValueError, match=f"the input field '{name}' is a keyword of every DSPy call; rename it"):
        program(f"{name} -> answer")


@pytest.mark.parametrize(
    "name", ["items", "keys", "copy", "get", "inputs", "labels", "completions", "search", "toDict", "self", "base"]
)
def test_outputs_that_hide_the_predictions_own_are_refused(name):
    with pytest.raises(ValueError, match=f"the output field '{name}' hides the prediction's own"):
        program(f"question -> {name}")


@pytest.mark.parametrize("name", ["search_path", "num_thoughts", "next_thoughts", "thought_rating", "search_state"])
def test_inputs_named_like_a_role_field_are_refused(name):
    if name == "search_state":  # a role's field only where the task renders its states
        with pytest.raises(ValueError, match="'search_state' is also a field of the search's own; rename it"):
            TreeOfThoughts(f"numbers, {name} -> answer", task=Game24())
    else:
        with pytest.raises(ValueError, match=f"'{name}' is also a field of the search's own; rename it"):
            program(f"{name} -> answer")


def test_an_output_named_like_a_role_field_is_refused():
    with pytest.raises(ValueError, match="the output field 'search_path' is also a field"):
        program("question -> search_path")


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (None, ValueError, "signature=None: give one"),
        (3, TypeError, "signature=3: must be a string"),
        (dict, TypeError, "must be a string"),
        ("question -> ", ValueError, "at least one input and one output"),
        ("question", ValueError, "exactly one '->'"),
        ("a b -> c", ValueError, "DSPy cannot build it"),
        ("signature -> answer", ValueError, "DSPy cannot build it"),
    ],
)
def test_what_is_no_signature_is_refused(wrong, error, says):
    with pytest.raises(error, match=says):
        TreeOfThoughts(wrong)


@drivers
def test_missing_and_unknown_inputs_are_named(driver):
    one = program("question, context -> answer")
    with pytest.raises(ValueError, match="input 'context' is missing: this program takes question, context"):
        call(one, engine(fn), driver, question="q")
    with pytest.raises(ValueError, match=r"input 'quesiton': no such name; did you mean 'question'\?"):
        call(one, engine(fn), driver, quesiton="q", context="c")


def test_defaults_fill_what_is_left_out():
    class Asked(dspy.Signature):
        """Answer."""

        question: str = dspy.InputField()
        tone: str = dspy.InputField(default="dry")
        answer: str = dspy.OutputField()

    model = engine(fn)
    call(program(Asked), model, question="q")
    assert {c.inputs["tone"] for c in model.calls} == {"dry"}
    call(program(Asked), model, question="q", tone="wet")
    assert model.calls[-1].inputs["tone"] == "wet"


class Place(pydantic.BaseModel):
    name: str
    height: int


@drivers
def test_types_of_inputs_are_kept(driver):
    signature = dspy.Signature("place: Place, limits: list[int] -> answer: int", custom_types={"Place": Place})
    made = program(signature)
    for predictor in made.predictors():
        assert predictor.signature.input_fields["place"].annotation is Place
        assert predictor.signature.input_fields["limits"].annotation == list[int]
    model = engine(fn)
    call(made, model, driver, place=Place(name="K2", height=8611), limits=[1, 2])
    for c in model.calls:
        assert c.inputs["place"] == '{"name": "K2", "height": 8611}'
        assert c.inputs["limits"] == "[1, 2]"


@drivers
def test_images_reach_every_role(driver):
    pixel = (
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhg"
        "GAWjR9awAAAABJRU5ErkJggg=="
    )
    model = engine(fn)
    found = call(
        program("picture: dspy.Image, question -> answer"),
        model,
        driver,
        picture=dspy.Image(pixel),
        question="q",
    )
    assert found.answer == "42"
    assert len(model.calls) == 3
    for c in model.calls:
        assert [part.type for part in c.request.messages[-1].parts].count("image") == 1


def test_a_conversation_reaches_the_roles():
    model = engine(fn)
    history = dspy.History(messages=[{"question": "before?", "answer": "then"}])
    call(program("history: dspy.History, question -> answer"), model, history=history, question="q")
    closing = model.calls[-1].request
    assert "before?" in str(closing.messages)


# Per call


@drivers
def test_settings_of_one_call(driver):
    made = program(controller=Beam(width=2))
    found = call(
        made,
        engine(fn),
        driver,
        question="q",
        config={"controller": DFS(branching=1, max_depth=2), "budget": 9, "seed": 4, "concurrency": 1},
    )
    assert found.search.controller["kind"] == "DFS"
    assert made.controller == Beam(width=2)
    assert made.budget == Budget()


@pytest.mark.parametrize("budget", [4, {"calls": 4}, Budget(calls=4)])
def test_a_budget_is_a_number_of_calls_a_mapping_or_a_budget(budget):
    for one in (program(budget=budget, controller=DFS()), program(controller=DFS())):
        model = engine(fn)
        call(one, model, question="q", config={"budget": budget})
        assert model.count() == 4


@pytest.mark.parametrize(
    ("config", "error", "says"),
    [
        ({"buget": 3}, ValueError, r"config=\{'buget': ...\}: no such name; did you mean 'budget'\?"),
        ({"controler": 3}, ValueError, "did you mean 'controller'"),
        ({"propose": "moves"}, ValueError, "config={'propose': ...}: no such name"),
        ({"budget": 0}, ValueError, r"Budget\(calls=0\): must be above 0"),
        ({"budget": "many"}, TypeError, "Budget"),
        ({"controller": Beam}, TypeError, "a class is called first"),
        ({"controller": "beam"}, TypeError, "must be a controller such as"),
        ({"concurrency": 0}, ValueError, "concurrency=0: must be an integer of at least 1"),
        ({"samples": 0}, ValueError, "samples=0"),
        ({"join": "max"}, ValueError, "join='max': must be one of 'sum', 'mean'"),
        ({"on_failure": "cry"}, ValueError, "on_failure='cry'"),
        ({"retries": -1}, ValueError, "retries=-1"),
        ({"threshold": 0.5}, ValueError, "threshold=0.5: is the least reward .*; give reward_fn= too"),
        ({"seed": None}, ValueError, "seed=None: must be an integer"),
        ({"on_event": 3}, TypeError, "on_event=3: must be a function"),
        ({"stop": True}, TypeError, "stop=True: must be a thoughtree"),
        ({"journal": 3}, TypeError, "journal=3: must be the path"),
        ("budget", TypeError, "config='budget': must be a dict"),
    ],
)
def test_wrong_settings_are_named_before_anything_is_paid(config, error, says):
    model = engine(fn)
    with pytest.raises(error, match=says):
        call(program(), model, question="q", config=config)
    assert model.count() == 0


@pytest.mark.parametrize(
    ("knobs", "error", "says"),
    [
        ({"controller": Beam}, TypeError, "a class is called first"),
        ({"budget": -1}, ValueError, "calls=-1"),
        ({"concurrency": True}, ValueError, "concurrency=True"),
        ({"answer": "poem"}, ValueError, "answer='poem': must be one of 'auto', 'lm', 'path'"),
        ({"first": "thought"}, ValueError, "first='thought'"),
        ({"seed": None}, ValueError, "seed=None: must be an integer"),
        ({"history": 1}, ValueError, "history=1: must be True or False"),
        ({"near": "1", "cheap_rate": len}, ValueError, "near='1': must be a finite number of at least 0, or None"),
        ({"near": 10**400, "cheap_rate": len}, ValueError, "near=1000"),
        ({"threshold": float("nan"), "reward_fn": len}, ValueError, "threshold=nan: must be a finite number, or None"),
        ({"threshold": "0.5", "reward_fn": len}, ValueError, "threshold='0.5'"),
        ({"threshold": 0.5, "reward_fn": 3}, TypeError, "reward_fn=3: must be a function"),
        ({"value_fn": True}, TypeError, "value_fn=True: must be a function"),
    ],
)
def test_wrong_knobs_are_named(knobs, error, says):
    with pytest.raises(error, match=says):
        program(**knobs)


def test_what_the_roles_hang_on_cannot_be_changed_later():
    made = program()
    with pytest.raises(ValueError, match=r"plan[.]rate='vote': this is built into the roles; make a new program"):
        made.plan = made.plan.replace(rate="vote")
    made.budget = 7
    assert made.budget == Budget(calls=7)
    made.controller = DFS()
    assert made.controller == DFS()


@pytest.mark.parametrize("numbers", ["4 9 x", "", [4, 9.5], "1 " * 21])
def test_a_puzzle_that_is_none_is_refused_before_anything_is_paid(numbers):
    model = engine()
    with pytest.raises(ValueError, match="numbers"):
        call(TreeOfThoughts(task=Game24()), model, numbers=numbers)
    assert model.count() == 0


def test_a_task_brings_its_signature():
    model = Engine(fn, kinds=KINDS)
    found = call(TreeOfThoughts(task=Game24(), controller=ONE), model, numbers=PUZZLE)
    assert found.answer is None  # "a" is no move
    assert found.search.status is SearchStatus.FAILED
    assert list(TreeOfThoughts(task=Game24()).signature.input_fields) == ["numbers"]
    other = TreeOfThoughts("numbers -> answer, why", task=Game24())
    assert list(other.signature.output_fields) == ["answer", "why"]


@pytest.mark.parametrize("wrong", [Game24, "game24", 24])
def test_what_is_no_task_is_refused(wrong):
    with pytest.raises(TypeError, match="must be a Task, as in task=Game24"):
        TreeOfThoughts("numbers -> answer", task=wrong)


@drivers
def test_inputs_are_given_by_name(driver):
    made = program()

    def by_position():
        return made("what?") if driver == "threads" else asyncio.run(made.acall("what?"))

    with pytest.raises(TypeError, match=r"inputs are given by name, as in program\(question=\.\.\.\)"):
        by_position()


def test_an_observer_that_nobody_would_await_is_refused():
    async def on_event(event):
        raise AssertionError("never awaited")

    with pytest.raises(TypeError, match=r"on_event=.*must be an ordinary function"):
        call(program(), engine(fn), question="q", config={"on_event": on_event})
