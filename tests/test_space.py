"""The search space: what it reads from a program, what a user may say of it, and the programs that it makes."""

from __future__ import annotations

from typing import Any

import dspy
import optuna
import pytest
from optuna.trial import FixedTrial

from engines import Engine, lm
from puzzle24 import PUZZLE, call
from thoughtree import DFS, LATS, MCTS, RAP, Beam, BestFirst, Blocksworld, Game24, TreeOfThoughts
from thoughtree.modules.rebuilding import rebuild
from thoughtree.optimize.dimensions import Dimension
from thoughtree.optimize.space import settled, space_of

WIDTH = "controller.width"


def game(**given: Any) -> TreeOfThoughts:
    return TreeOfThoughts(task=Game24(), **given)


class Pipeline(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.plan = game(controller=Beam(width=2))
        self.steps = [RAP(task=Blocksworld())]


# ---- what there is


def test_ranges_are_those_beside_the_defaults():
    space = space_of(game())
    assert space[WIDTH] == Dimension(
        name=WIDTH, default=5, low=1, high=20, whole=True, when=(("controller", ("Beam",)),)
    )
    assert space["samples"] == Dimension(name="samples", default=1, low=1, high=5, whole=True)
    assert space["rate"].choices == ("value", "siblings", "vote", "pairs")
    assert space["scale"].choices == ("verdict", "unit", "anchored")
    assert space["controller.min_score"].choices == (None, 0.001, 1.0, 20.0)  # which words reach it
    in_numbers = space_of(game(scale="anchored", samples=2))["controller.min_score"]
    assert (in_numbers.low, in_numbers.high, in_numbers.optional) == (0.0, 20.0, True)
    assert space["temperature"].optional


@pytest.mark.parametrize(
    ("program", "there", "not_there"),
    [
        (
            game(controller=BestFirst()),
            {"controller.depth_bonus", "controller.prune_below"},
            {WIDTH, "controller.open"},
        ),
        (game(controller=DFS()), {"controller.threshold", "controller.lazy"}, {WIDTH}),
        (game(controller=MCTS()), {"controller.exploration", "controller.rollouts"}, {"controller.at_once"}),
        (
            LATS("q -> a", reward_fn=lambda i, p: 0.0),
            {"blend", "agreement", "controller.exploration"},
            {"rate", "scale"},
        ),
        (RAP(task=Blocksworld()), {"blend", "samples", "aggregate", "temperature"}, {"rate", "propose"}),
        (RAP(task=Blocksworld(), propose="moves"), {"blend"}, {"temperature"}),
        (game(rate=lambda inputs, nodes: [1.0] * len(nodes)), {WIDTH}, {"rate", "scale", "samples"}),
        (game(cheap_rate=lambda inputs, nodes: [1.0] * len(nodes)), {"near"}, set()),
    ],
)
def test_each_program_has_what_means_something_to_it(program, there, not_there):
    names = {dimension.name for dimension in space_of(program)}
    assert there <= names
    assert not not_there & names


def test_the_programs_own_values_are_the_defaults():
    space = space_of(game(controller=Beam(width=30, branching=None), samples=3))
    assert (space[WIDTH].default, space[WIDTH].high) == (30, 30)  # a range takes in what there is
    assert space["controller.branching"].optional
    assert space.defaults() | {WIDTH: 30, "samples": 3, "controller.branching": None} == space.defaults()


def test_every_search_in_a_pipeline_is_in_it_by_its_path():
    space = space_of(Pipeline())
    names = {dimension.name for dimension in space}
    assert {"plan.controller.width", "steps[0].controller.rollouts", "steps[0].blend"} <= names
    assert space["plan.controller.width"].when == (("plan.controller", ("Beam",)),)


def test_a_program_without_a_search():
    with pytest.raises(ValueError, match=r"^Predict: there is no TreeOfThoughts, LATS or RAP in it"):
        space_of(dspy.Predict("question -> answer"))


# ---- what a user says


def test_a_range_choices_and_one_value():
    space = space_of(game(), {WIDTH: (1, 8), "rate": ["value", "siblings"], "samples": 2, "budget.calls": (10, 60)})
    assert (space[WIDTH].low, space[WIDTH].high) == (1, 8)
    assert space["rate"].choices == ("value", "siblings")
    assert space["samples"].fixed
    assert space.defaults()["samples"] == 2
    assert not space.has_default()
    assert space["budget.calls"].whole


def test_controllers_as_a_choice_bring_their_own_knobs():
    space = space_of(game(), {"controller": ["Beam", "MCTS"]})
    names = [dimension.name for dimension in space]
    assert {"controller.width", "controller.rollouts", "controller.exploration"} <= set(names)
    assert "controller.depth_bonus" not in names  # best-first's
    assert names.index("controller") < names.index(WIDTH)
    chosen = space.active({"controller": "MCTS", WIDTH: 3, "controller.rollouts": 7})
    assert chosen["controller.rollouts"] == 7
    assert WIDTH not in chosen


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"controller.widht": 3}, r"space\['controller.widht'\]: there is no such knob; near it are controller.width"),
        ({WIDTH: (8, 1)}, r"space\['controller.width'\]=\(8, 1\): low is above high"),
        ({WIDTH: (1, 2, 3)}, r"a range is \(low, high\), two numbers; choices are a list"),
        ({WIDTH: (1.5, 2)}, "takes whole numbers only"),
        ({WIDTH: []}, "there is nothing to choose from"),
        ({WIDTH: [2, 2]}, "a value is there twice"),
        ({WIDTH: [0, 2]}, r"space\['controller.width'\]: Beam\(width=0\): must be an integer of at least 1, or None"),
        ({"rate": "votes"}, r"space\['rate'\]: rate='votes': must be one of"),
        ({"rate": (1, 2)}, "it is one of value, siblings, vote, pairs; give a list of some"),
        ({"controller.rollouts": 3}, r"counts only with controller of 'MCTS', 'ABMCTS'; add 'controller' to the space"),
        ({"controller": "Bream"}, r"space\['controller'\]: controller='Bream': must be one of DFS, Beam"),
    ],
)
def test_what_is_no_space(given, message):
    with pytest.raises(ValueError, match=message):
        space_of(game(), given)


# ---- Optuna's side of it


def test_a_study_suggests_every_value_and_knows_them_again():
    space = space_of(game(), {"controller": ["Beam", "DFS", "BestFirst", "MCTS", "ABMCTS"]})
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    seen = set()
    for _ in range(60):
        trial = study.ask()
        values = space.suggest(trial)
        assert space.params(values) == trial.params
        assert all(space[name].contains(value) for name, value in values.items())
        assert list(values) == list(space.active(values))
        seen.add(values["controller"])
        settled(game(), values)
        study.tell(trial, 0.0)
    assert len(seen) == 5


def test_the_defaults_can_be_asked_for_first():
    space = space_of(game())
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.enqueue_trial(space.params(space.defaults()))
    assert space.suggest(study.ask()) == space.defaults()


def test_none_is_a_value():
    space = space_of(game(), {"controller.min_score": [None, 1.0]})
    assert space.suggest(FixedTrial(space.params(space.defaults())))["controller.min_score"] is None
    assert space["temperature"].params(None) == {"temperature?": False}
    assert space["temperature"].params(0.7) == {"temperature?": True, "temperature": 0.7}


# ---- the programs it makes


def test_values_make_a_program_and_leave_the_first_as_it_was():
    program = game(controller=Beam(width=2))
    made = settled(program, {WIDTH: 7, "samples": 3, "temperature": 0.2, "scale.maybe": 4.0, "budget.calls": 30})
    assert (made.controller.width, made.plan.samples, made.plan.temperature, made.budget.calls) == (7, 3, 0.2, 30)
    assert made.plan.scale.values == {"sure": 20.0, "maybe": 4.0, "impossible": 0.001}
    assert made.rate.scale == made.plan.scale
    assert (program.controller.width, program.plan.samples, program.budget.calls) == (2, 1, None)


def test_the_defaults_make_the_same_program():
    for program in (game(), LATS("q -> a", reward_fn=lambda i, p: 0.0), RAP(task=Blocksworld())):
        assert settled(program, space_of(program).defaults()).plan == program.plan


def test_values_reach_the_programs_in_a_pipeline():
    made = settled(Pipeline(), {"plan.controller.width": 6, "plan.rate": "vote", "steps[0].blend": 0.25})
    assert (made.plan.controller.width, made.plan.plan.rate, made.steps[0].plan.blend) == (6, "vote", 0.25)


def test_another_controller_keeps_branching_and_depth():
    made = settled(game(controller=Beam(branching=4, max_depth=2)), {"controller": "MCTS", "controller.rollouts": 3})
    assert made.controller == MCTS(rollouts=3, branching=4, max_depth=2)


def test_another_way_of_rating_is_asked_in_its_own_prompt_and_solves():
    def reply(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if "next_thoughts" in kind:
            steps = {"4 9 10 13": "10 - 4 = 6", "6 9 13": "13 - 9 = 4", "4 6": "6 * 4 = 24"}
            return {"next_thoughts": "1. " + steps[inputs["search_state"]]}
        assert "thought_ratings" in kind
        return {"rating_reasoning": "r", "thought_ratings": "1. 0.9"}

    made = settled(game(controller=Beam(width=1)), {"rate": "siblings", "scale": "unit"})
    found = call(made, lm(Engine(reply)), "threads", numbers=PUZZLE)
    assert found.search.solved
    assert [name for name, _ in made.named_predictors()] == ["propose.predict", "rate.predict"]


def test_what_was_learnt_stays_where_the_prompt_does():
    program = game()
    program.propose.predict.demos = [dspy.Example(numbers="1 2 3 4")]
    program.rate.predict.demos = [dspy.Example(numbers="1 2 3 4")]
    made = settled(program, {"rate": "vote", WIDTH: 3})
    assert (len(made.propose.predict.demos), len(made.rate.predict.demos)) == (1, 0)
    assert len(settled(program, {"scale.maybe": 2.0}).rate.predict.demos) == 1


@pytest.mark.parametrize(
    "changes", [{"propose": "samples"}, {"propose": "choose"}, {"rate": "vote"}, {"rate": "pairs", "propose": "choose"}]
)
def test_a_role_that_is_asked_otherwise_keeps_its_lm(changes):
    one, other = lm(Engine(lambda *_: {})), lm(Engine(lambda *_: {}))
    program = game()
    program.propose.set_lm(one)
    program.rate.set_lm(other)
    made = settled(program, changes)
    assert (made.plan.propose, made.plan.rate) == (changes.get("propose", "lm"), changes.get("rate", "value"))
    assert (made.propose.predict.lm, made.rate.predict.lm) == (one, other)


@pytest.mark.parametrize("alike", [True, False])
def test_a_role_that_was_not_there_has_the_lm_of_all_where_they_are_one(alike):
    one = lm(Engine(lambda *_: {}))
    program = TreeOfThoughts("question -> answer", propose="samples", rate="vote", answer="path")
    program.set_lm(one)
    if not alike:
        program.rate.set_lm(lm(Engine(lambda *_: {})))
    rebuild(program, program.plan.replace(answer="lm"))
    assert program.answer.predict.lm is (one if alike else None)


def test_a_program_is_saved_and_loaded_as_it_was_settled(tmp_path):
    import thoughtree

    settled(game(), {"rate": "pairs", WIDTH: 3, "temperature": 0.5}).save(tmp_path / "tuned.json")
    loaded = thoughtree.load(tmp_path / "tuned.json")
    assert (loaded.plan.rate, loaded.controller.width, loaded.plan.temperature) == ("pairs", 3, 0.5)


@pytest.mark.parametrize(
    "values",
    [
        {"plan.rate": "vote", "plan.controller.width": 3},
        {"plan.propose": "moves", "steps[0].controller.exploration": 0.5},
        {"plan.propose": "choose", "plan.temperature": 0.5},
    ],
)
def test_a_pipeline_is_loaded_as_it_was_settled_into_one_that_is_newly_built(tmp_path, values):
    import thoughtree

    made = settled(Pipeline(), values)
    assert made.dump_state() != Pipeline().dump_state()
    made.plan.rate.predict.demos = [dspy.Example(numbers="1 2 3 4")]
    made.save(tmp_path / "tuned.json")
    loaded = thoughtree.load(tmp_path / "tuned.json", into=Pipeline())
    assert loaded.dump_state() == made.dump_state()
    assert [n for n, _ in loaded.named_predictors()] == [n for n, _ in made.named_predictors()]
    assert (loaded.plan.plan, loaded.steps[0].plan) == (made.plan.plan, made.steps[0].plan)


def test_what_is_loaded_into_a_module_is_its_own(tmp_path):
    import thoughtree

    game().save(tmp_path / "game.json")
    with pytest.raises(ValueError, match=r"game\.json: cannot be loaded into this module \(KeyError"):
        thoughtree.load(tmp_path / "game.json", into=Pipeline())
    with pytest.raises(TypeError, match="into=: a module of your own has its tasks"):
        thoughtree.load(tmp_path / "game.json", into=game(), seed=3)


@pytest.mark.parametrize(
    ("program", "changes", "message"),
    [
        (game(), {"propose": "samples", "controller": Beam(branching=None)}, "propose='samples' needs a number"),
        (game(), {"rate": "own"}, r"plan.rate='own': this program's is 'value'"),
        (RAP(task=Blocksworld()), {"rate": "vote"}, r"plan.rate='vote': a RAP is built with rate='value'"),
    ],
)
def test_plans_that_a_program_cannot_follow(program, changes, message):
    with pytest.raises(ValueError, match=message):
        rebuild(program, program.plan.replace(**changes))
