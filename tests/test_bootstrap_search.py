"""BootstrapSearch: which calls of finished searches are shown to which role."""

from __future__ import annotations

from collections import Counter
from typing import Any

import dspy
import pytest

from coding import Runner, actor
from engines import Engine, lm
from optimized24 import Model, examples, score
from optimized24 import program as solver
from puzzle24 import PUZZLE, engine, script
from stacking import GOAL, START, world
from thoughtree import DFS, LATS, MCTS, RAP, Beam, Blocksworld, Game24, TreeOfThoughts, load
from thoughtree.optimize.bootstrap_search import BootstrapSearch
from thoughtree.optimize.demo_selection import selected
from thoughtree.optimize.role_demos import Demo

EXAMPLE = dspy.Example(numbers=PUZZLE).with_inputs("numbers")


def compiled(student: Any, model: Engine, trainset: Any = None, **given: Any) -> Any:
    teacher = given.pop("teacher", None)
    with dspy.context(lm=lm(model)):
        return BootstrapSearch(**{"num_threads": 1, **given}).compile(
            student, trainset=[EXAMPLE] if trainset is None else trainset, teacher=teacher
        )


def shown(predictor: Any, *names: str) -> list[Any]:
    found = [tuple(demo[name] for name in names) for demo in predictor.demos]
    return [one[0] for one in found] if len(names) == 1 else found


# ---- which calls are shown


def test_proposals_on_the_way_to_the_solution_without_the_dead_ends():
    made = compiled(solver(), engine())
    assert shown(made.propose.predict, "search_state", "next_thoughts") == [
        ("4 9 10 13", "1. 10 - 4 = 6 (left: 6 9 13)"),  # 10 13 13 and 9 10 52 make no 24
        ("6 9 13", "1. 13 - 9 = 4 (left: 4 6)"),  # nor does 13 15
        ("4 6", "1. 6 * 4 = 24 (left: 24)"),
    ]
    assert all(demo["augmented"] for demo in made.propose.predict.demos)


def test_an_illegal_step_is_left_out_and_the_number_asked_for_is_that_of_the_rest():
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if kind == "propose" and inputs["search_state"] == "4 6":
            return {"next_thoughts": "1. 4 - 4 = 0\n2. 6 * 4 = 24\n3. 6 * 4 = 24 (left: 24)"}
        return script(kind, inputs, n)

    made = compiled(solver(branching=3), engine(fn))
    last = made.propose.predict.demos[-1]
    assert (last["next_thoughts"], last["num_thoughts"]) == ("1. 6 * 4 = 24 (left: 24)", "1")


def test_a_step_that_code_had_to_mend_is_shown_as_it_should_have_been():
    """The task takes it with its result put right; shown as it was, it would teach wrong arithmetic."""

    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if kind == "propose" and inputs["search_state"] == "4 6":
            return {"next_thoughts": "1. 6 * 4 = 25 (left: 25)"}
        return script(kind, inputs, n)

    made = compiled(solver(), engine(fn))
    assert made.propose.predict.demos[-1]["next_thoughts"] == "1. 6 * 4 = 24 (left: 24)"


def test_ratings_of_both_classes_that_were_right():
    """Right are 6 9 13 (sure), 10 13 13 and 9 10 52 (impossible). 13 15 was called sure, 4 6 maybe."""
    made = compiled(solver(), engine())
    assert shown(made.rate.predict, "search_state", "thought_rating") == [
        ("6 9 13", "sure"),
        ("10 13 13", "impossible"),
    ]
    assert all(demo["rating_reasoning"] == "by script" for demo in made.rate.predict.demos)
    counts = made.detailed_results.demos["rate.predict"]
    assert (counts.shown, counts.found, counts.good, counts.bad) == (2, 3, 1, 1)


def test_of_one_class_alone_nothing_is_shown():
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        found = script(kind, inputs, n)
        return {**found, "thought_rating": "sure"} if kind == "rate" else found

    made = compiled(solver(), engine(fn))
    assert made.rate.predict.demos == []  # 6 9 13 and 4 6 are sure, rightly; a rater would learn to say so of all
    assert "rate.predict: 0 of 2 demos" in made.detailed_results.summary()
    assert len(made.propose.predict.demos) == 3


def test_a_search_that_failed_shows_what_died_and_no_proposals():
    """The hard puzzle, without help: its proposer knows a dead end alone. Code knows that it is one."""
    model = Model()
    made = compiled(solver(), model, examples(0, 1))
    assert made.detailed_results.accepted == 0
    assert made.propose.predict.demos == []
    assert made.detailed_results.demos["rate.predict"].found == 1  # 1 1 2, rightly impossible
    assert made.rate.predict.demos == []


def test_the_metric_has_the_last_word():
    def refuses(example: Any, prediction: Any, trace: Any = None) -> float:
        return 0.4

    assert compiled(solver(), engine(), metric=refuses, metric_threshold=0.5).propose.predict.demos == []
    assert len(compiled(solver(), engine(), metric=refuses).propose.predict.demos) == 3


def test_a_world_model_is_shown_what_the_rules_confirm():
    """A model that is wrong about every second action: only its right predictions are shown."""

    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if "next_state" in kind and inputs["search_action"].startswith("pick up"):
            return {"next_state": "handempty"}
        return world(kind, inputs, n)

    program = RAP(
        task=Blocksworld(),
        controller=MCTS(rollouts=10, branching=3, max_depth=6),
        concurrency=1,
        transition="check",
    )
    trainset = [dspy.Example(initial=START, goal=GOAL).with_inputs("initial", "goal")]
    made = compiled(program, Engine(fn), trainset, max_demos=20, per_search=20)
    demos = made.world.predict.demos
    assert demos
    assert not [demo for demo in demos if demo["search_action"].startswith("pick up")]
    task = Blocksworld().for_inputs({"initial": START, "goal": GOAL})
    for demo in demos:
        assert world(("next_state",), demo, 0)["next_state"] == demo["next_state"], task


def test_lessons_that_a_success_was_built_on():
    made = compiled(
        LATS(env=Runner(), controller=MCTS(rollouts=2, branching=2), concurrency=1),
        Engine(actor),
        [dspy.Example(task="t").with_inputs("task")],
    )
    assert shown(made.propose.predict, "next_action") == ["good"]
    lessons = shown(made.reflect.predict, "attempt_lesson")  # both were shown as the good one was written
    assert sorted(lessons) == ["do not repeat Action 1: bad1", "do not repeat Action 1: bad2"]

    def stubborn(kind: Any, inputs: Any, n: int) -> Any:
        return {"act_reasoning": "", "next_action": f"bad{n}"} if "next_action" in kind else actor(kind, inputs, n)

    made = compiled(
        LATS(env=Runner(), controller=MCTS(rollouts=2, branching=2), concurrency=1),
        Engine(stubborn),
        [dspy.Example(task="t").with_inputs("task")],
    )
    assert made.reflect.predict.demos == []


def test_the_closing_call_where_the_answer_is_right():
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if kind == "propose":
            return {"next_thoughts": f"1. {inputs['question']}"}
        return {"rating_reasoning": "", "thought_rating": "sure"} if kind == "rate" else {"answer": inputs["question"]}

    program = TreeOfThoughts("question -> answer", controller=Beam(width=1, max_depth=1), concurrency=1)
    trainset = [dspy.Example(question=q, answer=a).with_inputs("question") for q, a in (("1", "1"), ("2", "5"))]
    made = compiled(program, engine(fn), trainset, metric=lambda e, p, trace=None: e.answer == p.answer)
    assert shown(made.answer.predict, "question", "answer") == [("1", "1")]
    assert shown(made.propose.predict, "question", "next_thoughts") == [("1", "1. 1")]


# ---- how many, and of which searches


def test_demos_come_from_several_searches_in_turn():
    made = compiled(solver(), Model(), examples(3, 0), max_demos=4, num_threads=3)
    assert shown(made.propose.predict, "numbers", "search_state") == [
        ("4 9 10 13", "4 9 10 13"),
        ("4 9 13 10", "4 9 10 13"),
        ("4 10 9 13", "4 9 10 13"),
        ("4 9 10 13", "6 9 13"),
    ]
    truths = Counter(demo["thought_rating"] for demo in made.rate.predict.demos)
    assert truths == {"sure": 2, "impossible": 2}


def test_no_question_is_shown_twice():
    once, twice = (compiled(solver(), engine(), [EXAMPLE] * number) for number in (1, 2))
    assert [len(p.demos) for p in twice.predictors()] == [len(p.demos) for p in once.predictors()] == [3, 2]


def test_the_search_for_demos_ends_when_all_have_enough():
    model = Model()
    made = compiled(solver(), model, examples(10, 0), max_demos=2)
    assert made.detailed_results.runs == 1
    assert [len(predictor.demos) for predictor in made.predictors()] == [2, 2]


def demo(text: str, truth: bool | None = None) -> Demo:
    return Demo(dspy.Predict("question -> answer"), {"question": text, "answer": ""}, truth)


def test_a_cap_of_tokens_and_a_demo_that_is_too_long_hides_no_other():
    # "question" and "answer" are 14 characters: with 26 more, 40 / 4 + 1 = 11 tokens
    short, long = [demo(letter * 26) for letter in "abc"], demo("x" * 400)
    assert short[0].tokens == 11
    assert long.tokens == 104
    found = selected([[short[0], long, *short[1:]]], most=8, per_search=8, tokens=25)
    assert [d.fields["question"][0] for d in found.demos] == ["a", "b"]
    assert (found.counts().tokens, found.found) == (22, 4)


def test_pairs_of_classes_and_at_most_so_many_of_a_search():
    first = [demo(f"g{i}", True) for i in range(5)] + [demo(f"b{i}", False) for i in range(2)]
    second = [demo("b9", False)]
    found = selected([first, second], most=7, per_search=3, tokens=1000)
    assert [d.fields["question"] for d in found.demos] == ["g0", "b0", "g1", "b9", "g2", "b1"]


def test_what_is_shown_does_not_hang_on_which_call_was_faster():
    """Ratings come back in another order; the tree, and what is shown of it, are the same."""
    alone = compiled(solver(), engine())
    for slow in (1, 2, 3):
        student = TreeOfThoughts(task=Game24(), controller=DFS(branching=None), concurrency=8)
        made = compiled(student, engine(delay=lambda n, slow=slow: 0.02 if n % 4 == slow else 0.0))
        assert [predictor.demos for predictor in made.predictors()] == [p.demos for p in alone.predictors()]


# ---- around it


def test_a_pipeline_with_a_search_inside():
    class Pipeline(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.read = dspy.Predict("note -> numbers")
            self.solve = solver()

        def forward(self, note: str) -> Any:
            return self.solve(numbers=self.read(note=note).numbers)

    def fn(kind: Any, inputs: Any, n: int) -> Any:
        return {"numbers": PUZZLE} if kind == ("numbers",) else script(kind, inputs, n)

    trainset = [dspy.Example(note="four numbers").with_inputs("note")]
    made = compiled(Pipeline(), engine(fn), trainset)
    assert shown(made.read, "note", "numbers") == [("four numbers", PUZZLE)]
    assert shown(made.solve.propose.predict, "search_state") == ["4 9 10 13", "6 9 13", "4 6"]


def test_of_several_attempts_those_that_were_not_taken_show_no_path():
    """BestOfN runs copies of the program; the first attempt is refused, and its path is no way to the answer."""

    attempts: list[int] = []

    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if kind == "propose":
            attempts.append(n)
            return {"next_thoughts": "1. right" if len(attempts) > 1 else "1. wrong"}
        return {"rating_reasoning": "", "thought_rating": "sure"} if kind == "rate" else {"answer": str(len(attempts))}

    program = TreeOfThoughts("question -> answer", controller=Beam(width=1, max_depth=1), concurrency=1)
    model = engine(fn)
    program.set_lm(lm(model))
    student = dspy.BestOfN(module=program, N=2, reward_fn=lambda inputs, made: float(made.answer == "2"), threshold=1.0)
    trainset = [dspy.Example(question="q", answer="2").with_inputs("question")]
    made = compiled(student, model, trainset, metric=lambda e, p, trace=None: e.answer == p.answer)
    assert made.detailed_results.accepted == 1
    assert len(attempts) == 2
    demos = {name: [dict(demo) for demo in p.demos] for name, p in made.named_predictors()}
    assert [demo["next_thoughts"] for demo in demos["module.propose.predict"]] == ["1. right"]
    assert [demo["answer"] for demo in demos["module.answer.predict"]] == ["2"]


def test_a_teacher_is_run_and_the_student_learns():
    model = Model()
    teacher = solver()
    teacher.propose.predict.signature = teacher.propose.predict.signature.with_instructions("Be BOLD: multiply.")
    trainset = examples(1, 2)
    assert score(solver(), model, trainset) == [True, False, False]
    made = compiled(solver(), model, trainset, teacher=teacher)
    assert made.detailed_results.accepted == 3
    assert made.propose.predict.signature.instructions == solver().propose.predict.signature.instructions
    assert score(made, model, trainset) == [True, True, True]
    with pytest.raises(ValueError, match="give a program of the same roles"):
        compiled(solver(), model, teacher=TreeOfThoughts("a -> b"))


def test_an_example_that_failed_is_run_again_with_other_samples():
    tried: Counter[str] = Counter()

    def fn(kind: Any, inputs: Any, n: int) -> Any:
        tried[inputs["numbers"]] += kind == "propose" and inputs["search_state"] == PUZZLE
        if kind == "propose" and tried[inputs["numbers"]] == 1:
            return {"next_thoughts": "1. 13 * 4 = 52"}
        return script(kind, inputs, n)

    made = compiled(solver(), engine(fn), max_rounds=3)
    assert (made.detailed_results.runs, made.detailed_results.accepted) == (2, 1)
    assert len(made.propose.predict.demos) == 3


def test_errors_are_told_and_too_many_are_raised():
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        raise dspy.LMAuthError("no such key")

    with pytest.raises(Exception, match="no such key"):
        compiled(solver(), engine(fn), examples(3, 0), max_errors=1)
    with pytest.raises(ValueError, match="nothing was learnt: all of 3 runs failed, the first by LMAuthError: no such"):
        compiled(solver(), engine(fn), examples(3, 0), max_errors=3)


def test_a_compiled_program_is_saved_and_loaded_with_its_demos(tmp_path: Any):
    made = compiled(solver(), engine())
    made.save(tmp_path / "program.json")
    loaded = load(tmp_path / "program.json")
    assert [shown(p, "search_state") for p in loaded.predictors()] == [
        shown(p, "search_state") for p in made.predictors()
    ]
    model = Model()
    assert score(loaded, model, examples(1, 1)) == [True, True]  # the demos help with the hard one


def test_knobs_and_what_is_not_found_stay_as_they_are():
    student = TreeOfThoughts(task=Game24(), controller=DFS(max_depth=2), concurrency=1)  # too short for a solution
    student.propose.predict.demos = [dspy.Example(search_state="1", next_thoughts="2")]
    made = compiled(student, engine())
    assert made.controller == student.controller
    assert shown(made.propose.predict, "search_state") == ["1"]
    assert made is not student


@pytest.mark.parametrize("given", [{"max_demos": 0}, {"max_rounds": 1.5}, {"max_tokens": -1}, {"max_errors": True}])
def test_settings_that_cannot_be(given: Any):
    with pytest.raises(ValueError, match=f"{next(iter(given))}="):
        BootstrapSearch(**given)
    with pytest.raises(ValueError, match="nothing to search"):
        BootstrapSearch().compile(solver(), trainset=[])


class Retold(dspy.Module):
    """A pipeline whose prediction is its own, so that `solved` cannot know the search behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.solve = solver()

    def forward(self, numbers: str) -> dspy.Prediction:
        return dspy.Prediction(answer=self.solve(numbers=numbers).answer)


def test_where_every_run_failed_nothing_is_given_back_as_if_it_were_taught():
    message = (
        "nothing was learnt: all of 1 runs failed, the first by TypeError: solved: this prediction carries no search"
    )
    with pytest.raises(ValueError, match=message):
        compiled(Retold(), engine())


def test_runs_that_failed_are_warned_of(caplog: pytest.LogCaptureFixture):
    numbers = [PUZZLE, "no numbers"]
    trainset = [dspy.Example(numbers=one).with_inputs("numbers") for one in numbers]
    made = compiled(solver(), engine(), trainset)
    (warning,) = [record for record in caplog.records if record.name == "thoughtree.optimize.bootstrap_search"]
    assert (warning.levelname, warning.getMessage()) == ("WARNING", made.detailed_results.summary())
    assert len(made.detailed_results.errors) == 1
    assert "1 of 2 runs were accepted, 1 failed" in made.detailed_results.summary()
