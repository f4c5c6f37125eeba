"""propose="choose": the model picks among the task's legal moves, by their numbers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import dspy
import pytest

from engines import Engine, lm, response
from puzzle24 import PUZZLE, call, drivers
from thoughtree import (
    LATS,
    MCTS,
    RAP,
    Beam,
    Blocksworld,
    Game24,
    Illegal,
    RecordLM,
    ReplayLM,
    SearchStatus,
    TreeOfThoughts,
    load,
)
from thoughtree.modules.listing import MOST
from thoughtree.optimize import BootstrapSearch, role_examples
from thoughtree.optimize.space import settled, space_of
from thoughtree.search.tree import ILLEGAL
from thoughtree.tasks import BlocksworldEnvironment, Task
from thoughtree.testing import RuleLM

BLOCKS = {"initial": "on(red,blue), ontable(blue)", "goal": "on(blue,red)"}
PLAN = [
    "unstack the red block from on top of the blue block",
    "put down the red block",
    "pick up the blue block",
    "stack the blue block on top of the red block",
]
KINDS = {"choose": "chosen_steps"}
CONTROLLER = Beam(width=2, branching=2, max_depth=3)


def game(**knobs: Any) -> TreeOfThoughts:
    given = {"controller": CONTROLLER, "value_fn": lambda inputs, path: 1.0, **knobs}
    return TreeOfThoughts(task=Game24(), propose="choose", **given)


def says(text: Any) -> Engine:
    """A chooser who always says the same, or what a function of the listed steps says."""

    def fn(kind: Any, inputs: Any, n: int) -> Any:
        said = text(inputs["allowed_steps"].split("\n")) if callable(text) else text
        return said if isinstance(said, str) and said.startswith("{") else {"chosen_steps": said}

    return Engine(fn, kinds=KINDS)


def numbers_of(*wanted: str) -> Any:
    """The numbers of the steps that are wanted, where they are listed."""

    def choose(lines: list[str]) -> str:
        texts = [line.partition(". ")[2] for line in lines]
        return ", ".join(str(texts.index(text) + 1) for text in wanted if text in texts) or "1"

    return choose


def first_level(found: Any) -> list[str]:
    return [str(node.action) for node in found.search.tree if node.depth == 1]


# ---- what is asked, and read


@drivers
def test_the_chosen_moves_are_the_children_and_lead_to_the_goal(driver: str):
    model = says(numbers_of("10-4=6", "13-9=4", "4*6=24"))
    found = call(game(), model, driver, numbers=PUZZLE)
    assert found.search.status is SearchStatus.SOLVED
    assert found.search.spent.calls == model.count("choose") == found.search.spent_by["propose"].calls
    assert first_level(found) == ["10-4=6", "13-9=4"]
    assert not any(node.status is ILLEGAL for node in found.search.tree)
    asked = model.calls[0].inputs
    assert asked["num_choices"] == "2"
    assert asked["search_path"] == "(none yet)"
    assert asked["search_state"] == PUZZLE
    assert asked["allowed_steps"].split("\n")[:3] == ["1. 4+9=13", "2. 9-4=5", "3. 4-9=-5"]
    assert len(asked["allowed_steps"].split("\n")) == len(list(Game24().moves(Game24().initial({"numbers": PUZZLE}))))


@pytest.mark.parametrize("said", ["3, 1, 2, 4", "3. 4-9=-5\n1. 4+9=13\n2. 9-4=5", '{"chosen_steps": [3, 1, 2]}'])
def test_never_more_than_asked_for_and_in_the_replys_order(said: str):
    assert first_level(call(game(), says(said), numbers=PUZZLE)) == ["4-9=-5", "4+9=13"]


def test_a_move_that_is_chosen_twice_is_one_child():
    assert first_level(call(game(), says("3, 3, 1"), numbers=PUZZLE)) == ["4-9=-5", "4+9=13"]


@pytest.mark.parametrize("said", ["999", "0", "I cannot tell", "", "4*9=37"])
def test_a_reply_that_chooses_nothing_of_the_list_is_unread_and_asked_once_more(said: str):
    model = says(said)
    found = call(game(), model, numbers=PUZZLE).search
    assert model.count("choose") == 2
    assert found.unread == {"propose": 2}
    assert [node.depth for node in found.tree] == [0]
    assert found.status is SearchStatus.FAILED


def test_a_number_beside_others_that_is_not_in_the_list_is_an_illegal_step():
    found = call(game(controller=Beam(width=3, branching=3, max_depth=1)), says("3, 999, 1"), numbers=PUZZLE).search
    assert [(node.status is ILLEGAL, node.reason) for node in found.tree if node.depth == 1] == [
        (False, None),
        (True, "not among the listed steps"),
        (False, None),
    ]
    assert found.rules_broken() == {"not among the listed steps": 1}


def test_none_of_them_is_a_dead_end_and_not_unread():
    model = says("none")
    found = call(game(), model, numbers=PUZZLE).search
    assert (model.count("choose"), dict(found.unread)) == (1, {})


def test_of_a_reply_that_was_cut_the_last_number_may_be_half_of_one():
    model = Engine(lambda kind, inputs, n: response("[[ ## chosen_steps ## ]]\n3, 1", finish="length"), kinds=KINDS)
    found = call(game(controller=Beam(width=2, branching=2, max_depth=1)), model, numbers=PUZZLE)
    assert first_level(found) == ["4-9=-5"]


def test_all_that_are_worth_trying():
    model = says("3, 1, 2")
    found = call(game(controller=Beam(width=None, branching=None, max_depth=1)), model, numbers=PUZZLE)
    assert first_level(found) == ["4-9=-5", "4+9=13", "9-4=5"]
    assert not model.calls[0].inputs["num_choices"].isdigit()


# ---- where there is nothing to choose, or too much


@dataclass(frozen=True)
class Line(Task[int, int]):
    """Steps of 1 to `most` along a line, whose moves are numbers that no parser reads."""

    most: int = 3
    signature = "start -> answer"

    def initial(self, inputs: Any) -> int:
        return int(inputs["start"])

    def moves(self, state: int) -> list[int]:
        return list(range(1, self.most + 1)) if state < 6 else []

    def apply(self, state: int, action: int) -> int | Illegal:
        assert isinstance(action, int)
        return state + action

    def key(self, state: int) -> int:
        return state

    def is_goal(self, state: int) -> bool:
        return state == 6

    def show(self, action: int) -> str:
        return f"go {action}"

    def render(self, state: int) -> str:
        return str(state)

    def answer(self, state: int) -> dict[str, str]:
        return {"answer": str(state)}


def line(most: int, branching: int | None, **knobs: Any) -> TreeOfThoughts:
    controller = Beam(width=1, branching=branching, max_depth=6)
    return TreeOfThoughts(
        task=Line(most), propose="choose", value_fn=lambda inputs, path: 1.0, controller=controller, **knobs
    )


def test_as_many_moves_as_are_wanted_are_taken_without_a_call():
    model = says("1")
    found = call(line(2, 2), model, start="4").search
    assert (found.status, model.calls, found.spent.calls) == (SearchStatus.SOLVED, [], 0)
    assert found.path == ["go 2"]


def test_a_single_move_is_no_choice():
    model = says("1")
    found = call(line(1, None), model, start="4").search
    assert (found.path, model.calls) == (["go 1", "go 1"], [])


def test_the_moves_themselves_are_taken_though_nothing_reads_their_text():
    found = call(line(3, 1), says("3"), start="0").search
    assert found.path == ["go 3", "go 3"]
    assert [node.action for node in found.tree] == [None, 3, 3]


def test_more_moves_than_a_prompt_can_list_are_cut_with_a_warning():
    model = says("1")
    with pytest.warns(UserWarning, match=f"Line lists more than {MOST} moves, and a model is shown the first {MOST}"):
        call(line(10**6, 1), model, start="0")
    assert len(model.calls[0].inputs["allowed_steps"].split("\n")) == MOST
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(line(MOST, 1), says("6"), start="0")


def test_a_node_that_is_asked_about_again_lists_what_it_has_no_child_by():
    """At the depth limit all is spent with each rollout, and the root is asked for one more child."""
    model = says("1")
    program = TreeOfThoughts(
        task=Game24(),
        propose="choose",
        controller=MCTS(rollouts=4, branching=1, max_depth=1, reroot=True),
        value_fn=lambda inputs, path: 1.0,
        concurrency=1,
    )
    found = call(program, model, numbers=PUZZLE)
    asked = [made.inputs["allowed_steps"].split("\n") for made in model.calls]
    assert [len(asked[0]) - len(steps) for steps in asked] == [0, 1, 2, 3]
    assert first_level(found) == [line.partition(". ")[2] for line in asked[0][:4]]


# ---- what a server can hold


class Held(Engine):
    """A provider that says it holds replies to a schema."""

    supports_response_schema = True
    supported_params = frozenset({"response_format"})


def shapes(model: Engine) -> list[Any]:
    return [made.request.config.response_format for made in model.calls]


def test_a_server_that_holds_replies_to_a_schema_is_given_one():
    model = Held(lambda kind, inputs, n: '{"chosen_steps": [3, 1]}', kinds=KINDS)
    found = call(game(controller=Beam(width=2, branching=2, max_depth=1)), model, numbers=PUZZLE)
    assert first_level(found) == ["4-9=-5", "4+9=13"]
    (shape,) = shapes(model)
    count = len(model.calls[0].inputs["allowed_steps"].split("\n"))
    numbers = shape["schema"]["properties"]["chosen_steps"]
    assert numbers["items"] == {"type": "integer", "enum": list(range(1, count + 1))}
    assert (numbers["minItems"], numbers["maxItems"]) == (2, 2)


def test_others_are_asked_in_words_alone():
    model = says("3, 1")
    call(game(), model, numbers=PUZZLE)
    assert set(shapes(model)) == {None}


def test_under_an_adapter_with_a_shape_of_its_own_none_is_added():
    model = Held(lambda kind, inputs, n: {"chosen_steps": "3, 1"}, kinds=KINDS)
    with dspy.context(adapter=dspy.XMLAdapter()):
        found = call(game(controller=Beam(width=2, branching=2, max_depth=1)), model, numbers=PUZZLE)
    assert first_level(found) == ["4-9=-5", "4+9=13"]
    assert shapes(model) == [None]


def test_a_model_that_refuses_it_is_asked_without():
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if model.calls[-1].request.config.response_format is not None:
            raise dspy.LMInvalidRequestError("'response_format' of type 'json_schema' is not supported", status=400)
        return {"chosen_steps": "3, 1"}

    model = Held(fn, kinds=KINDS)
    found = call(game(controller=CONTROLLER, concurrency=1), model, numbers=PUZZLE).search
    assert [shape is not None for shape in shapes(model)] == [True] + [False] * (len(model.calls) - 1)
    assert found.failed == 1
    assert [str(node.action) for node in found.tree if node.depth == 1] == ["4-9=-5", "4+9=13"]
    assert found.spent.calls == len(model.calls)


# ---- the other programs


def choose_blocks(inputs: dict[str, str], n: int | None, steps: list[str]) -> list[str]:
    return [step for step in PLAN if step in steps][:n] or steps[:n]


@drivers
def test_rap_plans_by_choosing(driver: str):
    model = RuleLM(choose=choose_blocks, approve=lambda inputs: "yes")
    program = RAP(
        task=Blocksworld(), propose="choose", transition="replace", controller=MCTS(branching=1, simulate=True)
    )
    found = call(program, model, driver, **BLOCKS)
    assert (found.search.status, found.plan.split("\n")) == (SearchStatus.SOLVED, PLAN)


@drivers
def test_lats_acts_by_choosing_and_reads_lessons(driver: str):
    seen: list[dict[str, str]] = []

    def choose(inputs: dict[str, str], n: int | None, steps: list[str]) -> list[str]:
        seen.append(inputs)
        return choose_blocks(inputs, n, steps)

    model = RuleLM(choose=choose, judge=lambda inputs: 0.5, reflect=lambda inputs: "Take it down first.")
    program = LATS(
        env=BlocksworldEnvironment(), propose="choose", controller=MCTS(branching=1, rollouts=8), lessons=["Be brief."]
    )
    found = call(program, model, driver, **BLOCKS)
    assert found.search.status is SearchStatus.SOLVED
    assert found.search.path == PLAN
    assert seen[0]["search_lessons"] == "- Be brief."
    assert "Observation 1" in next(inputs for inputs in seen if "Action 1" in inputs["search_path"])["search_path"]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            lambda: TreeOfThoughts("question -> answer", propose="choose"),
            "propose='choose': FreeText does not list its",
        ),
        (
            lambda: LATS("question -> answer", reward_fn=lambda i, p: 1.0, propose="choose"),
            "Attempts does not list its",
        ),
        (lambda: LATS(env=BlocksworldEnvironment(), propose="moves"), "propose='moves': must be 'samples' or 'choose'"),
        (lambda: RAP(task=Blocksworld(), propose="samples"), "must be 'lm', 'choose' or 'moves'"),
    ],
)
def test_where_there_is_nothing_to_choose_from_it_is_refused(make: Any, told: str):
    with pytest.raises(ValueError, match=told):
        make()


# ---- saved, resumed, tuned, learnt from


@pytest.mark.parametrize(
    "make",
    [
        game,
        lambda **k: RAP(task=Blocksworld(), propose="choose", **k),
        lambda **k: LATS(env=BlocksworldEnvironment(), propose="choose", **k),
    ],
)
def test_it_is_saved_and_loaded_with_its_program(make: Any, tmp_path: Any):
    program = make()
    given = {"value_fn": program.value_fn} if make is game else {}
    if isinstance(program, LATS):
        given = {"env": BlocksworldEnvironment()}
    program.propose.predict.signature = program.propose.predict.signature.with_instructions("Choose well.")
    program.save(tmp_path / "program.json")
    again = load(tmp_path / "program.json", **given)
    assert again.plan.propose == "choose"
    assert again.propose.predict.signature.instructions == "Choose well."
    assert dict(again.named_predictors()).keys() == dict(program.named_predictors()).keys()


@drivers
def test_a_journal_goes_on_where_it_broke_off(driver: str, tmp_path: Any):
    choose = numbers_of("10-4=6", "13-9=4", "4*6=24", "9-4=5")
    whole_model = says(choose)
    whole = call(game(concurrency=1), whole_model, driver, numbers=PUZZLE)
    path = tmp_path / "run.jsonl"
    first = says(choose)
    call(game(concurrency=1), first, driver, numbers=PUZZLE, config={"journal": path, "budget": 2})
    second = says(choose)
    found = call(game(concurrency=1), second, driver, numbers=PUZZLE, config={"journal": path})
    assert found.search.path == whole.search.path
    assert (len(first.calls), len(second.calls)) == (2, len(whole_model.calls) - 2)
    third = says(choose)
    assert call(game(concurrency=1), third, driver, numbers=PUZZLE, config={"journal": path}).search.path == (
        whole.search.path
    )
    assert third.calls == []


def test_its_most_calls_are_one_an_expansion():
    estimate = game(controller=Beam(width=2, branching=2, max_depth=3)).estimate()
    assert estimate.calls == {"propose": 1 + 2 + 2}


def test_a_tuner_varies_it_where_the_task_lists_its_moves():
    choices = space_of(TreeOfThoughts(task=Game24()))["propose"].choices
    assert choices == ("lm", "samples", "choose", "moves")
    assert space_of(TreeOfThoughts("question -> answer"))["propose"].choices == ("lm", "samples")
    program: Any = settled(TreeOfThoughts(task=Game24()), {"propose": "choose"})
    found = call(
        program, RuleLM(choose=lambda inputs, n, steps: steps[:n], rate=lambda inputs: "maybe"), numbers=PUZZLE
    )
    assert found.search.spent_by["propose"].calls > 0
    assert program.plan.propose == "choose"


def test_it_is_shown_its_right_choices_without_the_dead_ends():
    model = says(numbers_of("4*13=52", "10-4=6", "13-9=4", "4*6=24"))  # 9 10 52 make no 24
    with dspy.context(lm=lm(model)):
        made = BootstrapSearch(num_threads=1).compile(
            game(concurrency=1), trainset=[dspy.Example(numbers=PUZZLE).with_inputs("numbers")]
        )
    demo = made.propose.predict.demos[0]
    listed = demo["allowed_steps"].split("\n")
    assert demo["search_state"] == PUZZLE
    assert [listed[int(number) - 1].partition(". ")[2] for number in demo["chosen_steps"].split(", ")] == ["10-4=6"]
    assert demo["num_choices"] == "1"


def test_its_examples_judge_replies_by_the_numbers():
    program = game(concurrency=1)
    found = call(program, says(numbers_of("4*13=52", "10-4=6", "13-9=4", "4*6=24")), numbers=PUZZLE)
    example = role_examples(found, program)["propose"][0]
    listed = [line.partition(". ")[2] for line in example.allowed_steps.split("\n")]
    right = [listed[int(number) - 1] for number in example.chosen_steps.split(", ")]
    assert "10-4=6" in right
    assert "4*13=52" not in right
    assert example.judge(dspy.Prediction(chosen_steps=example.chosen_steps)).right
    wrong = example.judge(dspy.Prediction(chosen_steps=str(listed.index("4*13=52") + 1)))
    assert (wrong.score, wrong.right) == (0.0, False)
    assert example.judge(dspy.Prediction(chosen_steps="999")).score == 0.0


def test_as_a_module_of_its_own_it_takes_a_list_and_gives_the_chosen_texts():
    role = game().propose
    with dspy.context(lm=lm(says("2"))):
        given = role(numbers=PUZZLE, search_path="", search_state=PUZZLE, num_choices="1", allowed_steps=["a", "b"])
    assert given.thoughts == ["b"]


def test_a_recording_is_replayed_with_what_its_model_could_do(tmp_path: Any):
    model = Held(lambda kind, inputs, n: '{"chosen_steps": [3, 1]}', kinds=KINDS)
    recorded = call(game(), RecordLM(lm(model), tmp_path / "replies.jsonl"), numbers=PUZZLE)
    assert all(shapes(model))
    again = call(game(), ReplayLM(tmp_path / "replies.jsonl"), numbers=PUZZLE)
    assert (again.search.path, again.search.spent.calls) == (recorded.search.path, len(model.calls))
