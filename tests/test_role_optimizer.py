"""RoleOptimizer: one role at a time, at one call an example, and the whole checked at the end."""

from __future__ import annotations

from typing import Any

import dspy
import pytest

from engines import Engine, lm
from optimized24 import BOLD, Model, examples, score
from optimized24 import program as solver
from puzzle24 import PUZZLE, engine, script
from thoughtree import DFS, Game24, TreeOfThoughts, optimize, solved
from thoughtree.optimize import RoleOptimizer, gepa_metric, role_examples, role_metric
from thoughtree.prompts import prompt_text

EXAMPLE = dspy.Example(numbers=PUZZLE).with_inputs("numbers")


def compiled(optimizer: Any, model: Engine, student: Any = None, *, trainset: Any = None, **given: Any) -> Any:
    calls = {name: given.pop(name) for name in ("teacher", "valset", "results") if name in given}
    with dspy.context(lm=lm(model)):
        made = RoleOptimizer(optimizer(), **{"num_threads": 1, **given})
        return made.compile(student or solver(), trainset=examples(2, 4) if trainset is None else trainset, **calls)


def gepa(model: Engine) -> Any:
    return dspy.GEPA(metric=gepa_metric(solved), max_metric_calls=40, reflection_lm=lm(model), num_threads=1)


def test_gepa_tunes_the_proposer_alone_and_the_whole_is_better():
    """The teacher solves both kinds, so that the steps of the hard one are known; GEPA finds what makes them said."""
    model, teacher = Model(), solver()
    teacher.propose.predict.signature = teacher.propose.predict.signature.with_instructions(BOLD)
    made = compiled(lambda: gepa(model), model, teacher=teacher, valset=examples(1, 2), roles=["propose"])
    report = made.detailed_results
    assert made.propose.predict.signature.instructions == BOLD
    assert made.rate.predict.signature.instructions == solver().rate.predict.signature.instructions
    assert (report.before.score, report.after.score, report.kept) == (33.33, 100.0, True)
    assert (report.runs, report.accepted, report.roles["propose"].examples) == (6, 6, 18)
    assert score(made, model, examples(1, 2)) == [True, True, True]
    assert [c["score"] for c in made.candidate_programs] == [100.0, 33.33]
    assert "propose: tuned on 18 examples" in report.summary()
    assert "33.33 before, 100.0 after" in report.summary()
    assert solver().controller == made.controller


def test_an_example_costs_one_call():
    """COPRO tries 2 instructions on each of the examples: so many calls, and no search among them."""
    model = Model()
    with dspy.context(lm=lm(model)):
        results = [(EXAMPLE, solver()(numbers=PUZZLE))]
    before = model.count("rate")
    made = compiled(
        lambda: dspy.COPRO(metric=solved, breadth=2, depth=1),
        model,
        trainset=[EXAMPLE],
        results=results,
        valset=examples(1, 0),
        roles=["rate"],
        min_examples=2,
        compile_args={"eval_kwargs": {"num_threads": 1, "display_progress": False}},
    )
    tuned_on = made.detailed_results.roles["rate"].examples
    assert tuned_on == 4  # two of each class
    searched = 2 * 5  # before and after, a search of five ratings each
    assert model.count("rate") - before == 2 * tuned_on + searched


OPTIMIZERS: dict[str, Any] = {
    "BootstrapFewShot": lambda model: dspy.BootstrapFewShot(metric=solved, max_labeled_demos=0),
    "random search": lambda model: dspy.BootstrapFewShotWithRandomSearch(
        metric=solved, max_labeled_demos=0, num_candidate_programs=1, num_threads=1
    ),
    "LabeledFewShot": lambda model: dspy.LabeledFewShot(k=4),
    "COPRO": lambda model: dspy.COPRO(metric=solved, breadth=2, depth=1),
    "MIPROv2": lambda model: dspy.MIPROv2(
        metric=solved, auto=None, num_candidates=2, max_bootstrapped_demos=1, max_labeled_demos=1, num_threads=1
    ),
    "GEPA": gepa,
    "SIMBA": lambda model: dspy.SIMBA(
        metric=solved, bsize=4, num_candidates=2, max_steps=1, max_demos=2, num_threads=1
    ),
    "BetterTogether": lambda model: dspy.BetterTogether(
        metric=solved,
        p=dspy.COPRO(metric=solved, breadth=2, depth=1),
        d=dspy.BootstrapFewShot(metric=solved, max_labeled_demos=0),
    ),
}
ARGUMENTS: dict[str, Any] = {
    "COPRO": {"eval_kwargs": {"num_threads": 1, "display_progress": False}},
    "MIPROv2": {"num_trials": 2, "minibatch": False},
    "BetterTogether": {"strategy": "p -> d", "num_threads": 1, "seed": 0},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_any_optimizer_tunes_the_roles(name: str):
    model = Model()
    made = compiled(lambda: OPTIMIZERS[name](model), model, compile_args=ARGUMENTS.get(name, {}))
    report = made.detailed_results
    assert set(report.roles) == {"propose", "rate"}
    assert all(role.changed for role in report.roles.values())
    assert report.kept
    for predictor in made.predictors():
        assert all(set(demo.keys()) <= set(predictor.signature.fields) | {"augmented"} for demo in predictor.demos)
    shown = [(demo["search_state"], demo["thought_rating"]) for demo in made.rate.predict.demos]
    assert {verdict for state, verdict in shown if state in ("6 9 13", "4 6", "2 3 4")} <= {"sure"}
    assert not any(role.broke for role in report.roles.values())
    assert {verdict for state, verdict in shown if state not in ("6 9 13", "4 6", "2 3 4")} <= {"impossible"}


def test_an_optimizer_that_broke_off_is_told_of():
    """BetterTogether goes on with what it has where a step of it fails."""

    class Broken(dspy.teleprompt.Teleprompter):
        def compile(self, student: Any, *, trainset: Any) -> Any:
            raise RuntimeError("no more")

    model = Model()
    made = compiled(
        lambda: dspy.BetterTogether(metric=solved, b=Broken()), model, roles=["rate"], compile_args={"strategy": "b"}
    )
    assert made.detailed_results.roles["rate"].broke
    assert "a step of the optimizer failed, see the log" in made.detailed_results.summary()
    with pytest.raises(RuntimeError, match="no more"):
        compiled(Broken, model, roles=["rate"])


def test_a_role_that_makes_the_whole_worse_is_left_out():
    """The optimizer finds demonstrations that spoil the proposer: it then says nothing but dead ends."""

    class Spoiled(Model):
        def _play(self, kind: Any, inputs: Any, helped: bool) -> Any:
            if kind == "propose" and helped:
                return {"next_thoughts": "1. 4 + 9 = 13"}
            return super()._play(kind, inputs, False)

    model, student = Spoiled(), solver()
    made = compiled(lambda: dspy.LabeledFewShot(k=2), model, student, valset=examples(2, 0), roles=["propose"])
    report = made.detailed_results
    assert (report.before.score, report.after.score, report.kept) == (100.0, 0.0, False)
    assert made.propose.predict.demos == []
    assert "left out, since the whole does worse with them" in report.summary()
    assert [c["score"] for c in made.candidate_programs] == [100.0, 0.0]


def test_roles_with_which_the_whole_fails_are_left_out():
    """With demonstrations the proposer breaks down on one of two examples. On the other it does as well as before."""

    class Breaking(Model):
        def _play(self, kind: Any, inputs: Any, helped: bool) -> Any:
            if kind == "propose" and helped and inputs["numbers"] == examples(2, 0)[1].numbers:
                raise RuntimeError("the prompt is too long")
            return super()._play(kind, inputs, False)

    made = compiled(lambda: dspy.LabeledFewShot(k=2), Breaking(), valset=examples(2, 0), roles=["propose"])
    report = made.detailed_results
    assert (report.difference.n, report.difference.difference, len(report.after.errors)) == (1, 0.0, 1)
    assert not report.kept
    assert made.propose.predict.demos == []
    assert "left out, since the whole fails more often with them" in report.summary()


def test_a_role_of_too_few_examples_or_of_one_class_stays_as_it_is():
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if kind == "propose":  # the right steps alone: nothing dies
            return {
                "next_thoughts": {"4 9 10 13": "10 - 4 = 6", "6 9 13": "13 - 9 = 4"}.get(
                    inputs["search_state"], "6 * 4 = 24"
                )
            }
        return script(kind, inputs, n)

    made = compiled(lambda: dspy.LabeledFewShot(k=2), engine(fn), trainset=examples(4, 0), min_examples=6)
    roles = made.detailed_results.roles
    assert roles["propose"].changed  # three of each of three searches
    assert roles["rate"].why_not == "all examples are of one class"
    few = compiled(lambda: dspy.LabeledFewShot(k=2), engine(fn), trainset=examples(4, 0), min_examples=50)
    assert not few.detailed_results.kept
    assert few.detailed_results.roles["propose"].why_not == "fewer than 50 examples"
    assert few.propose.predict.demos == []


def test_what_was_tuned_on_and_what_is_checked_on_are_different_examples():
    searched: list[str] = []

    def fn(kind: Any, inputs: Any, n: int) -> Any:
        searched.append(inputs["numbers"])
        return script(kind, inputs, n)

    made = compiled(lambda: dspy.LabeledFewShot(k=2), engine(fn), trainset=examples(10, 0))
    report = made.detailed_results
    fresh = {example.numbers for example, *_ in report.before.results}
    assert (report.runs, len(fresh)) == (7, 3)
    assert set(searched[: report.calls]) & fresh == set()


def test_a_pipeline_with_a_search_inside():
    class Pipeline(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.solve = solver()

        def forward(self, numbers: str) -> Any:
            return self.solve(numbers=numbers)

    made = compiled(lambda: dspy.LabeledFewShot(k=2), Model(), Pipeline(), trainset=examples(6, 0))
    assert set(made.detailed_results.roles) == {"solve.propose", "solve.rate"}
    assert len(made.solve.propose.predict.demos) == 2
    with pytest.raises(ValueError, match="no search program of ours in it"):
        compiled(lambda: dspy.LabeledFewShot(k=2), Model(), dspy.Predict("a -> b"))


def test_the_roles_own_lm_is_asked_and_not_saved_with_it():
    model, judge = Model(), Model()
    student = TreeOfThoughts(task=Game24(), controller=DFS(), concurrency=1, rate_lm=lm(judge, "judge/model"))
    made = compiled(lambda: dspy.BootstrapFewShot(metric=solved, max_labeled_demos=0), model, student)
    assert model.count("rate") == 0
    assert {call.kind for call in judge.calls} == {"rate"}
    assert len(made.rate.predict.demos) > 0
    assert made.rate.predict.lm is None


def test_a_reply_that_cannot_be_parsed_is_not_asked_for_again_in_secret():
    class Mute(Model):
        def _play(self, kind: Any, inputs: Any, helped: bool) -> Any:
            return "no fields at all" if kind == "rate" else super()._play(kind, inputs, helped)

    with dspy.context(lm=lm(Model())):
        results = [(EXAMPLE, solver()(numbers=PUZZLE))]
    model = Mute()
    made = compiled(
        lambda: dspy.BootstrapFewShot(metric=solved, max_labeled_demos=0),
        model,
        trainset=[EXAMPLE],
        results=results,
        valset=examples(1, 0),
        roles=["rate"],
    )
    assert made.rate.predict.demos == []
    assert model.count("rate") > 0
    assert not [call for call in model.calls if "a JSON object" in prompt_text(call.request)]


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"roles": ["answer"]}, ValueError, "'answer' is none of"),
        ({"holdout": 1.0}, ValueError, "holdout=1.0"),
        ({"min_examples": 0}, ValueError, "min_examples=0"),
        ({"compile_args": {"trials": 3}}, ValueError, "BootstrapFewShot.compile has no trials"),
        ({"trainset": examples(1, 0)}, ValueError, "give at least 2, or a valset"),
        ({"results": []}, ValueError, "give a valset of others"),
    ],
)
def test_what_cannot_be_is_refused(given: Any, error: Any, words: str):
    with pytest.raises(error, match=words):
        compiled(lambda: dspy.BootstrapFewShot(metric=solved), Model(), **given)
    with pytest.raises(TypeError, match="must be an optimizer"):
        RoleOptimizer(dspy.GEPA)


def test_public_names_are_what_they_say_whatever_was_imported_first():
    import thoughtree.optimize.role_metrics
    import thoughtree.optimize.role_sets  # noqa: F401

    assert callable(optimize.role_examples)
    assert optimize.role_examples is role_examples
    assert optimize.role_metric is role_metric
    assert all(getattr(optimize, name) is not None for name in optimize.__all__)
