"""DSPy's own optimizers compile programs, and learn from the curated trace alone."""

from __future__ import annotations

from typing import Any

import dspy
import numpy as np

from engines import lm
from optimized24 import BOLD, ON_PATH, Model, examples, program, score
from thoughtree import SearchTuner, solved
from thoughtree.optimize.gepa import gepa_metric

DEVSET = examples(1, 2)


def compiled(optimizer: Any, model: Model, student: Any = None, **given: Any) -> Any:
    with dspy.context(lm=lm(model)):
        return optimizer().compile(student or program(), **{"trainset": examples(2, 2), **given})


def demos(made: Any) -> list[Any]:
    return [dict(demo) for predictor in made.predictors() for demo in predictor.demos]


def check(made: Any, model: Model) -> None:
    """It solves what it could not, still is one of our programs, and shows nothing of a dead branch."""
    assert score(program(), model, DEVSET) == [True, False, False]
    assert score(made, model, DEVSET) == [True, True, True]
    assert made.controller == program().controller
    assert {d["search_state"] for d in demos(made) if "next_thoughts" in d} <= ON_PATH
    for demo in demos(made):
        if "thought_rating" in demo:
            assert (demo["search_state"] in ON_PATH) is (demo["thought_rating"] != "impossible")


def test_bootstrap_few_shot_with_random_search():
    model = Model()
    made = compiled(
        lambda: dspy.BootstrapFewShotWithRandomSearch(
            metric=solved, max_bootstrapped_demos=2, max_labeled_demos=0, num_candidate_programs=1, num_threads=2
        ),
        model,
    )
    check(made, model)
    assert demos(made)


def test_miprov2():
    model = Model()
    made = compiled(
        lambda: dspy.MIPROv2(
            metric=solved, auto=None, num_candidates=2, max_bootstrapped_demos=1, max_labeled_demos=0, num_threads=2
        ),
        model,
        num_trials=4,
        minibatch=False,
        valset=examples(1, 2),
    )
    check(made, model)


def test_copro():
    model = Model()
    made = compiled(
        lambda: dspy.COPRO(metric=solved, breadth=2, depth=1),
        model,
        eval_kwargs={"num_threads": 2, "display_progress": False},
    )
    check(made, model)
    assert made.propose.predict.signature.instructions == BOLD


def test_simba():
    model = Model()
    made = compiled(
        lambda: dspy.SIMBA(metric=solved, bsize=4, num_candidates=2, max_steps=2, max_demos=2, num_threads=2),
        model,
    )
    check(made, model)


def test_gepa():
    model = Model()
    made = compiled(
        lambda: dspy.GEPA(
            metric=gepa_metric(solved),
            max_metric_calls=24,
            reflection_lm=lm(model),
            component_selector="all",
            num_threads=2,
        ),
        model,
        valset=examples(1, 2),
    )
    check(made, model)
    assert made.propose.predict.signature.instructions == BOLD
    reflected = "\n".join(str(call.request.messages) for call in model.calls if call.kind not in ("propose", "rate"))
    assert "`4 - 3 = 1`: a dead end (code says that it cannot be solved)." in reflected
    assert "`5 + 5 = 10`: illegal (" in reflected
    assert "`13 15` was wrongly called promising: code says that it cannot be solved." in reflected


def test_knn_few_shot():
    """Demonstrations are made at each call, from the searches of the examples next to it."""
    model = Model()

    def by_numbers(texts: list[str]) -> Any:
        return np.array([[float(word) for word in text.split() if word.isdigit()] for text in texts])

    optimizer = dspy.KNNFewShot(
        k=2,
        trainset=examples(2, 0),
        vectorizer=dspy.Embedder(by_numbers),
        metric=solved,
        max_bootstrapped_demos=2,
        max_labeled_demos=0,
    )
    check(optimizer.compile(program()), model)


def test_better_together_tunes_knobs_beside_gepa():
    """One step a state solves neither kind: the tuner asks for two, and then GEPA's instructions show their worth."""
    model = Model()
    only = {"propose": "lm", "rate": "value", "scale": "verdict", "samples": 1, "temperature": None}
    only |= {"controller.branching": (1, 3), "controller.max_depth": 3, "controller.threshold": None}
    only |= {"controller.expansions": None, "controller.lazy": False, "scale.maybe": 1.0}
    student = program(branching=1)
    student.set_lm(lm(model))
    assert score(student, model, DEVSET) == [False, False, False]

    def optimizer() -> Any:
        gepa = dspy.GEPA(metric=gepa_metric(solved), max_metric_calls=60, reflection_lm=lm(model), num_threads=2)
        return dspy.BetterTogether(metric=solved, tuner=SearchTuner(solved, trials=6, num_threads=2), gepa=gepa)

    made = compiled(
        optimizer,
        model,
        student,
        trainset=examples(8, 4),
        valset=DEVSET,
        strategy="tuner -> gepa",
        seed=0,
        num_threads=2,
        optimizer_compile_args={"tuner": {"space": only, "valset": examples(20, 0)[8:]}},  # none of the trainset
    )
    assert not made.flag_compilation_error_occurred
    assert [(c["strategy"], c["score"]) for c in made.candidate_programs] == [
        ("tuner -> gepa", 100.0),
        ("tuner", 33.33),
        ("", 0.0),
    ]
    assert made.controller.branching in (2, 3)
    assert made.propose.predict.signature.instructions == BOLD
    assert score(made, model, DEVSET) == [True, True, True]
