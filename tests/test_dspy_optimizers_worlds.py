"""DSPy's optimizers on searches in environments and in predicted worlds: LATS and RAP."""

from __future__ import annotations

from typing import Any

import dspy
import pytest

from coding import Runner, actor
from engines import Engine, lm
from stacking import GOAL, PLAN, START, world
from thoughtree import LATS, MCTS, RAP, Beam, Blocksworld, Game24, TreeOfThoughts, solved
from thoughtree.optimize import BootstrapSearch, gepa_metric

KNOWN = ("next_thoughts", "next_state", "step_verdict", "next_action", "attempt_score", "attempt_lesson")
HINT = "Mind what holds."


def writing(fn: Any) -> Any:
    """Plays by `fn`, and writes any prompt that an optimizer asks for."""

    def play(kind: Any, inputs: Any, n: int) -> Any:
        if any(name in kind for name in KNOWN):
            return fn(kind, inputs, n)
        return dict.fromkeys(kind, HINT) if kind else f"```\n{HINT}\n```"

    return play


def rap() -> RAP:
    return RAP(task=Blocksworld(), controller=MCTS(rollouts=10, branching=3, max_depth=6), concurrency=1)


def lats() -> LATS:
    return LATS(env=Runner(), controller=MCTS(rollouts=2, branching=2), concurrency=1)


BLOCKS = [dspy.Example(initial=START, goal=GOAL).with_inputs("initial", "goal")]
TASKS = [dspy.Example(task=task).with_inputs("task") for task in ("a", "b")]
OPTIMIZERS: dict[str, Any] = {
    "BootstrapFewShot": lambda model: dspy.BootstrapFewShot(metric=solved, max_labeled_demos=0),
    "random search": lambda model: dspy.BootstrapFewShotWithRandomSearch(
        metric=solved, max_bootstrapped_demos=2, max_labeled_demos=0, num_candidate_programs=1, num_threads=1
    ),
    "MIPROv2": lambda model: dspy.MIPROv2(
        metric=solved, auto=None, num_candidates=2, max_bootstrapped_demos=1, max_labeled_demos=0, num_threads=1
    ),
    "COPRO": lambda model: dspy.COPRO(metric=solved, breadth=2, depth=1),
    "GEPA": lambda model: dspy.GEPA(
        metric=gepa_metric(solved), max_metric_calls=4, reflection_lm=lm(model), num_threads=1, skip_perfect_score=False
    ),
    "SIMBA": lambda model: dspy.SIMBA(
        metric=solved, bsize=1, num_candidates=2, max_steps=1, max_demos=2, num_threads=1
    ),
    "BootstrapSearch": lambda model: BootstrapSearch(num_threads=1),
}
ARGUMENTS: dict[str, Any] = {
    "COPRO": {"eval_kwargs": {"num_threads": 1, "display_progress": False}},
    "MIPROv2": {"num_trials": 2, "minibatch": False},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize(("make", "fn", "trainset"), [(rap, world, BLOCKS), (lats, actor, TASKS)], ids=["RAP", "LATS"])
def test_it_compiles_and_solves(name: str, make: Any, fn: Any, trainset: Any):
    model, student = Engine(writing(fn)), make()
    given = dict(ARGUMENTS.get(name, {}))
    if name == "MIPROv2":
        given["valset"], trainset = trainset, trainset * 2
    with dspy.context(lm=lm(model)):
        made = OPTIMIZERS[name](model).compile(student, trainset=trainset, **given)
        assert type(made) is type(student)
        assert made.controller == student.controller
        assert made(**trainset[0].inputs()).search.solved
    assert [name for name, _ in made.named_predictors()] == [name for name, _ in student.named_predictors()]
    for demo in made.propose.predict.demos:
        if "next_thoughts" in demo:  # Blocksworld: each state that is shown is one of the plan's own
            assert len(demo["search_path"].splitlines()) <= len(PLAN)
        else:
            assert demo["next_action"] == "good" or demo["search_lessons"] == "(none)"


def test_of_sampled_proposals_the_trace_has_the_one_that_the_path_took():
    steps = {"4 6": ["4 + 6 = 10", "4 * 6 = 24"]}

    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if "next_thoughts" in kind:
            return {"next_thoughts": f"1. {steps[inputs['search_state']][n % 2]}"}
        return {"rating_reasoning": "", "thought_rating": "maybe"}

    program = TreeOfThoughts(
        task=Game24(), controller=Beam(width=2, branching=2, max_depth=1), propose="samples", concurrency=1
    )
    with dspy.context(lm=lm(Engine(fn)), trace=[]):
        prediction = program(numbers="4 6")
        entries = list(dspy.settings.trace)
    assert prediction.search.path == ["4*6=24"]
    assert [made.next_thoughts for p, _, made in entries if p is program.propose.predict] == ["1. 4 * 6 = 24"]
