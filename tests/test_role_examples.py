"""Finished searches as data sets for single roles: who is asked what, the right reply, and what any reply is worth."""

from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any

import dspy
import pytest

from coding import Runner, actor
from engines import Engine, lm
from puzzle24 import PUZZLE, call, engine, script
from stacking import GOAL, PLAN, START, world
from thoughtree import DFS, LATS, MCTS, RAP, Beam, Blocksworld, Budget, Game24, TreeOfThoughts
from thoughtree.optimize import Evaluate, role_examples, role_metric, solved
from thoughtree.optimize.role_sets import balance
from thoughtree.search import SearchResult


def solver(**knobs: Any) -> TreeOfThoughts:
    return TreeOfThoughts(task=Game24(), controller=DFS(), concurrency=1, **knobs)


def sets_from(program: Any, fn: Any = script, **given: Any) -> Any:
    return role_examples([call(program, engine(fn), numbers=PUZZLE)], program, **given)


EXAMPLE = dspy.Example(numbers=PUZZLE).with_inputs("numbers")
# As Game24 asks for a step, and not as a path shows it: `10-4=6`.
STEPS_FROM = {
    "4 9 10 13": "1. 10 - 4 = 6 (left: 6 9 13)",
    "6 9 13": "1. 13 - 9 = 4 (left: 4 6)",
    "4 6": "1. 6 * 4 = 24 (left: 24)",
}
VERDICTS = {"6 9 13": "sure", "4 6": "sure", "10 13 13": "impossible", "9 10 52": "impossible", "13 15": "impossible"}


# ---- the sets


def test_states_with_the_steps_that_a_solution_follows():
    found = sets_from(solver())["propose"]
    assert {example.search_state: example.next_thoughts for example in found} == STEPS_FROM
    assert all(example.numbers == PUZZLE for example in found)
    assert found[1].search_path == "1. 10-4=6"
    assert set(found[0].inputs().keys()) == {"numbers", "search_path", "search_state", "num_thoughts"}
    assert set(found[0].labels().keys()) == {"next_thoughts"}


def test_states_with_the_verdict_that_the_search_bore_out():
    found = sets_from(solver(), balanced=False)["rate"]
    assert {example.search_state: example.thought_rating for example in found} == VERDICTS
    assert {example.search_state: example.why for example in found}["4 6"] == "a solution follows"
    assert {example.search_state: example.truth for example in found}["13 15"] is False


def test_both_classes_in_equal_number():
    found = sets_from(solver())["rate"]
    assert [example.truth for example in found].count(True) == [example.truth for example in found].count(False) == 2
    assert balance([example for example in found if example.truth]) == [e for e in found if e.truth]  # one class alone


def test_a_search_that_was_cut_short_labels_no_more_than_code_knows():
    class Blind(Game24):
        def solvable(self, state: Any) -> None:
            return None

    program = TreeOfThoughts(task=Blind(), controller=DFS(), concurrency=1, budget=5)
    result = call(program, engine(), numbers=PUZZLE)  # the root, its three children rated, one of them expanded
    assert result.search.spent.calls == 5
    assert role_examples([result], program) == {}  # nothing was finished, and nothing is known


def test_the_same_from_an_evaluation_a_pair_a_file_and_a_journal(tmp_path: Any):
    program = solver()
    with dspy.context(lm=lm(engine())):
        evaluated = Evaluate(devset=[EXAMPLE], metric=solved, num_threads=1, display_progress=False)(program)
        prediction = program(numbers=PUZZLE, config={"journal": tmp_path / "runs" / "one.jsonl"})
    wanted = role_examples(prediction, program)
    assert set(wanted) == {"propose", "rate"}
    before = (tmp_path / "runs" / "one.jsonl").read_bytes()
    prediction.search.save(tmp_path / "result.json")
    loaded = SearchResult.load(tmp_path / "result.json", prediction.search.task)
    for results in (evaluated, [(EXAMPLE, prediction)], [(EXAMPLE, loaded)], tmp_path / "runs", [prediction.search]):
        found = role_examples(results, program, examples=[EXAMPLE])
        assert {r: sorted(map(str, e)) for r, e in found.items()} == {r: sorted(map(str, e)) for r, e in wanted.items()}
    assert (tmp_path / "runs" / "one.jsonl").read_bytes() == before


def test_a_loaded_result_has_the_tasks_own_actions_again(tmp_path: Any):
    """In PDDL an action is shown otherwise than it is written in code."""

    def fn(kind: Any, inputs: Any, n: int) -> Any:
        return {"next_state": "(handempty)"} if "next_state" in kind else {"step_reasoning": "", "step_verdict": "yes"}

    program = RAP(
        task=Blocksworld(style="pddl"),
        controller=MCTS(rollouts=6, branching=3, max_depth=6),
        propose="moves",
        transition="check",
        concurrency=1,
    )
    asked = dspy.Example(initial=START, goal=GOAL).with_inputs("initial", "goal")
    with dspy.context(lm=lm(Engine(fn))):
        prediction = program(**asked.inputs())
    prediction.search.save(tmp_path / "result.json")
    loaded = SearchResult.load(tmp_path / "result.json", prediction.search.task)
    wanted, found = role_examples(prediction, program), role_examples([(asked, loaded)], program)
    assert wanted["world"]
    assert found == wanted
    assert found["world"][0].search_action == "(unstack red blue)"
    assert all(example.judge(dspy.Prediction(**example.labels())).right for example in found["world"])


def test_dspys_own_evaluation_and_any_iterable():
    program = solver()
    with dspy.context(lm=lm(engine())):
        evaluated = dspy.Evaluate(devset=[EXAMPLE], metric=solved, num_threads=1)(program)
        prediction = program(numbers=PUZZLE)
    wanted = role_examples(prediction, program)
    assert role_examples(evaluated, program) == wanted
    assert role_examples((one for one in [prediction]), program) == wanted
    with pytest.raises(TypeError, match="int is no prediction of a search"):
        role_examples(3, program)


def test_a_journal_that_broke_off_is_read_as_far_as_it_goes_and_nothing_is_called(tmp_path: Any):
    program, path = solver(), tmp_path / "run.jsonl"
    with dspy.context(lm=lm(engine())):
        program(numbers=PUZZLE, config={"journal": path})
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:5]) + b'{"torn')
    model = engine()
    with dspy.context(lm=lm(model)):
        found = role_examples(path, program, examples=[EXAMPLE])
    assert model.calls == []
    assert {example.search_state: example.next_thoughts for example in found["propose"]} == {
        "4 9 10 13": "1. 10 - 4 = 6 (left: 6 9 13)"  # code knows that 6 9 13 can be solved; nobody went there
    }
    assert path.read_bytes().endswith(b'{"torn')


def test_what_cannot_be_used_is_refused(tmp_path: Any):
    program = solver()
    prediction = call(program, engine(), numbers=PUZZLE)
    with pytest.raises(TypeError, match="is no prediction of a search"):
        role_examples([dspy.Prediction(answer="24")], program)
    with pytest.raises(ValueError, match="says nothing of its inputs"):
        role_examples([prediction.search], program)
    with pytest.raises(ValueError, match="give examples="):
        role_examples(tmp_path, program)
    with pytest.raises(ValueError, match="no journal here"):
        role_examples(tmp_path, program, examples=[EXAMPLE])
    with pytest.raises(ValueError, match="'answer' is none of 'propose', 'rate', 'world'"):
        role_examples([prediction], program, roles=["answer"])
    with pytest.raises(TypeError, match="must be one of ours"):
        role_examples([prediction], dspy.Predict("a -> b"))
    path = tmp_path / "run.jsonl"
    call(_With(program, {"journal": path}), engine(), numbers=PUZZLE)
    with pytest.raises(ValueError, match="of none of the 1 examples"):
        role_examples(path, program, examples=[dspy.Example(numbers="1 2 3 4").with_inputs("numbers")])


class _With:
    def __init__(self, program: Any, config: Any) -> None:
        self.program, self.config = program, config

    def __call__(self, **inputs: Any) -> Any:
        return self.program(**inputs, config=self.config)


def test_the_metric_says_where_code_cannot():
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if kind == "propose":
            return {"next_thoughts": "1. a\n2. b"}
        if kind == "rate":
            last = inputs["search_path"].splitlines()[-1]
            return {"rating_reasoning": "", "thought_rating": "sure" if last.endswith("b") else "maybe"}
        return {"answer": "42"}

    program = TreeOfThoughts("question -> answer", controller=Beam(width=1, max_depth=2))
    prediction = call(program, engine(fn), question="q")
    asked = dspy.Example(question="q", answer="42").with_inputs("question")
    assert role_examples([prediction], program) == {}

    def right(example: Any, prediction: Any, trace: Any = None) -> bool:
        return prediction.answer == example.answer

    found = role_examples([prediction], program, examples=[asked], metric=right)
    assert [example.next_thoughts for example in found["propose"]] == ["1. b", "1. b"]
    assert [(e.search_path, e.thought_rating) for e in found["rate"]] == [("1. b", "sure"), ("1. b\n2. b", "sure")]
    other = dspy.Example(question="q", answer="43").with_inputs("question")
    assert role_examples([(other, prediction)], program, metric=right) == {}


@pytest.mark.parametrize(
    ("given", "asked", "reply"),
    [
        ({"scale": "unit"}, "thought_rating", {"4 6": {"thought_rating": "1"}, "13 15": {"thought_rating": "0"}}),
        (
            {"scale": "anchored"},
            "rating_score",
            {
                "4 6": {"rating_reachable": "yes", "rating_score": "10"},
                "13 15": {"rating_reachable": "no", "rating_score": "0"},
            },
        ),
    ],
)
def test_scales_of_numbers(given: Any, asked: str, reply: Any):
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if kind == "propose":
            return script(kind, inputs, n)
        return {"rating_reasoning": "", "rating_reachable": "maybe", "rating_evidence": "", asked: "1"}

    program = TreeOfThoughts(task=Game24(), controller=DFS(threshold=None), concurrency=1, **given)
    found = sets_from(program, fn, balanced=False)["rate"]
    for example in found:
        if example.search_state in reply:
            assert example.labels().toDict() == reply[example.search_state]


@pytest.mark.parametrize(
    ("mode", "field", "wanted"),
    [
        # The root's children: 6 9 13 can be solved; 10 13 13 and 9 10 52 cannot.
        ("siblings", "thought_ratings", "1. sure\n2. impossible\n3. impossible"),
        ("vote", "best_thought", "1"),
        ("pairs", "better_thought", "2"),
    ],
)
def test_nodes_that_are_rated_together(mode: Any, field: str, wanted: str):
    program = TreeOfThoughts(task=Game24(), controller=DFS(threshold=None), concurrency=1, rate=mode)
    replies = {"siblings": "1. sure\n2. maybe\n3. maybe", "vote": "1", "compare": "1"}
    fields = {"siblings": "thought_ratings", "vote": "best_thought", "compare": "better_thought"}

    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if kind == "propose":
            return script(kind, inputs, n)
        return {"rating_reasoning": "", fields[kind]: replies[kind]}

    found = sets_from(program, fn)["rate"]
    assert found[0][field] == wanted
    assert found[0].judge(dspy.Prediction(**{field: wanted})).right
    if mode == "pairs":
        assert not found[0].judge(dspy.Prediction(better_thought="1")).right
        assert {example.better_thought for example in found} == {"1", "2"}  # the right one comes first as often


def test_a_world_model_by_the_rules_of_the_world():
    program = RAP(task=Blocksworld(), controller=MCTS(rollouts=10, branching=3, max_depth=6), concurrency=1)
    with dspy.context(lm=lm(Engine(world))):
        prediction = program(initial=START, goal=GOAL)
    found = role_examples([prediction], program)
    steps = {example.search_action: example for example in found["world"]}
    first = steps[PLAN[0]]
    assert first.search_state == prediction.search.task.render(prediction.search.tree.root.state)
    state = prediction.search.tree.path(prediction.search.best)[1].state
    assert first.next_state == prediction.search.task.render(state)
    assert first.judge(dspy.Prediction(next_state=first.next_state)).score == 1.0
    judged = first.judge(dspy.Prediction(next_state=steps[PLAN[1]].next_state))  # where the red block lies
    assert (judged.score, judged.right) == (0.0, False)
    assert judged.feedback == (
        "The prediction is wrong. Missing: holding(red). Wrong: clear(red), handempty, ontable(red)."
    )
    assert first.judge(dspy.Prediction(next_state="ILLEGAL: it is heavy")).feedback.endswith(
        "The action is possible, and was called impossible: illegal: it is heavy."
    )
    # All states of this world can be solved, says code: that tells no verdict. Those on the path are good.
    for kind in ("world", "propose", "rate"):
        assert all(example.judge(dspy.Prediction(**example.labels())).right for example in found[kind])
    assert {example.step_verdict for example in found["rate"]} == {"yes"}
    assert {example.why for example in found["rate"]} == {"a solution follows"}
    assert {"1. " + PLAN[0]} <= {example.search_path for example in found["rate"]}


def test_what_a_world_model_forbids_by_mistake_is_no_illegal_step():
    """It forbids to pick up the green block, which the rules allow; code then says where that leads."""

    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if "next_state" in kind and inputs["search_action"] == "pick up the green block":
            return {"next_state": "ILLEGAL: too heavy"}
        return world(kind, inputs, n)

    program = RAP(task=Blocksworld(), controller=Beam(width=9, branching=None, max_depth=4), concurrency=1)
    with dspy.context(lm=lm(Engine(fn))):
        prediction = program(initial=START, goal=GOAL)
    example = role_examples([prediction], program)["propose"][0]
    assert example.next_thoughts == f"1. {PLAN[0]}"
    assert "illegal: too heavy" in prediction.search.rules_broken()
    judged = example.judge(dspy.Prediction(next_thoughts=f"1. {PLAN[0]}\n2. pick up the green block"))
    assert judged.feedback.splitlines()[1] == "`pick up the green block`: nobody knows where this leads."
    assert judged.right


def test_what_is_no_action_is_no_question_to_a_world():
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        found = world(kind, inputs, n)
        return (
            {"next_thoughts": f"{found['next_thoughts']}\n9. jump over the moon"} if "next_thoughts" in found else found
        )

    program = RAP(task=Blocksworld(), controller=Beam(width=2, branching=None, max_depth=2), concurrency=1)
    with dspy.context(lm=lm(Engine(fn))):
        prediction = program(initial=START, goal=GOAL)
    assert "jump over the moon" in {node.action for node in prediction.search.tree}
    found = role_examples([prediction], program)
    assert found["world"]
    assert "jump over the moon" not in {example.search_action for example in found["world"]}


def test_attempts_in_an_environment():
    """A failed attempt is one that the judge should score low; what was acted next is the right action."""
    program = LATS(env=Runner(), controller=MCTS(rollouts=2, branching=2), concurrency=1)
    with dspy.context(lm=lm(Engine(actor))):
        prediction = program(task="t")
    assert prediction.search.solved
    found = role_examples([prediction], program)
    assert [example.next_action for example in found["propose"]] == ["good"]
    assert {example.attempt_score for example in found["rate"]} == {"0"}
    judged = found["rate"][0].judge(dspy.Prediction(attempt_score="0.9"))
    assert (judged.score, judged.right) == (pytest.approx(0.1), False)


def test_a_journal_of_acting_is_read_without_acting_again(tmp_path: Any):
    """It also knows which lessons the actor was shown, where a prediction alone does not."""
    env = Runner()
    program = LATS(env=env, controller=MCTS(rollouts=2, branching=2), concurrency=1)
    with dspy.context(lm=lm(Engine(actor))):
        prediction = program(task="t", config={"journal": tmp_path / "run.jsonl"})
    ran, silent = list(env.runs), Engine(actor)
    with dspy.context(lm=lm(silent)):
        found = role_examples(tmp_path, program, examples=[dspy.Example(task="t").with_inputs("task")])
    assert (env.runs, silent.calls) == (ran, [])
    lessons = "- do not repeat Action 1: bad1\n- do not repeat Action 1: bad2"
    assert [(e.next_action, e.search_lessons) for e in found["propose"]] == [("good", lessons)]
    (alone,) = role_examples(prediction, program)["propose"]
    assert (alone.next_action, alone.search_lessons) == ("good", "(none)")


# ---- what a reply is worth


def proposals() -> Any:
    return {example.search_state: example for example in sets_from(solver())["propose"]}["4 9 10 13"]


@pytest.mark.parametrize(
    ("reply", "score", "right"),
    [
        ("1. 10 - 4 = 6", 1.0, True),
        ("1. 10 - 4 = 6\n2. 4 + 9 = 13", (1 + 1 / 2) / 2, True),  # one of two is a dead end
        ("1. 4 + 9 = 13", 0.0, False),
        ("1. 10 - 4 = 6\n2. 7 + 7 = 14", (1 + 1 / 2) / 2, False),  # there is no 7
        ("1. 10 - 4 = 6\n2. 10 - 4 = 6 (left: 6 9 13)", (1 + 1 / 2) / 2, True),  # said twice
        ("1. 13 - 10 = 3", 0.0, False),  # nobody proposed it; code knows that 3 4 9 makes no 24
        ("1. 9 - 4 = 5", 0.0, False),
        ("I do not know", 0.0, False),
    ],
)
def test_the_worth_of_proposals(reply: str, score: float, right: bool):
    example = proposals()
    if reply.startswith("1. 13 - 10") or reply.startswith("1. 9 - 4"):
        task, state = example.evidence.task, example.evidence.state
        new = task.apply(state, task.parse(reply[3:], state))
        score, right = float(task.solvable(new)), bool(task.solvable(new))
    prediction = dspy.Prediction(next_thoughts=reply)
    judged = example.judge(prediction)
    assert (judged.score, judged.right) == (pytest.approx(score), right)
    assert role_metric(example, prediction) == pytest.approx(score)
    assert role_metric(example, prediction, trace=[]) is right


def test_feedback_on_proposals_names_each_and_what_is_missing():
    feedback = proposals().judge(dspy.Prediction(next_thoughts="1. 7 + 7 = 14\n2. 4 + 9 = 13")).feedback
    assert feedback.splitlines()[0].startswith("`7 + 7 = 14`: illegal (")
    assert feedback.splitlines()[1] == "`4 + 9 = 13`: a dead end (code says that it cannot be solved)."
    assert feedback.splitlines()[2] == "Missing: `10 - 4 = 6 (left: 6 9 13)`, after which a solution follows."


@pytest.mark.parametrize(
    ("state", "verdict", "score", "right"),
    [
        ("4 6", "sure", 1.0, True),
        ("4 6", "maybe", 0.5, False),
        ("4 6", "impossible", 0.0, False),
        ("13 15", "impossible", 1.0, True),
        ("13 15", "sure", 0.0, False),
        ("13 15", "who knows", 0.0, False),
    ],
)
def test_the_worth_of_verdicts(state: str, verdict: str, score: float, right: bool):
    example = {e.search_state: e for e in sets_from(solver(), balanced=False)["rate"]}[state]
    judged = example.judge(dspy.Prediction(rating_reasoning="", thought_rating=verdict))
    assert (judged.score, judged.right) == (score, right)


def test_one_call_an_example_by_the_role_as_a_module():
    program = solver()
    sets = sets_from(program, balanced=False)
    for role, field, count in ((program.propose, "thoughts", 3), (program.rate, "values", 5)):
        name = "propose" if field == "thoughts" else "rate"
        model = engine()
        with dspy.context(lm=lm(model)):
            result = Evaluate(devset=sets[name], metric=role_metric, num_threads=1, display_progress=False)(role)
        assert len(model.calls) == count == len(result.results)
    # Rated sure: 6 9 13 (right) and 13 15 (wrong); maybe: 4 6; impossible: the other two, rightly.
    assert result.score == pytest.approx(100 * (1 + 0 + 0.5 + 1 + 1) / 5)


def test_any_optimizer_tunes_one_role():
    program = solver()
    sets = sets_from(program, balanced=False)
    with dspy.context(lm=lm(engine())):
        tuned = dspy.BootstrapFewShot(metric=role_metric, max_labeled_demos=0).compile(
            program.rate, trainset=sets["rate"]
        )
    shown = {demo["search_state"]: demo["thought_rating"] for demo in tuned.predict.demos}
    assert shown == {"6 9 13": "sure", "10 13 13": "impossible", "9 10 52": "impossible"}  # the wrong ones are not


# ---- an example is as any other


def test_examples_are_copied_pickled_and_shown_as_demonstrations():
    example = sets_from(solver())["rate"][0]
    for copied in (deepcopy(example), example.copy()):
        assert copied == example
        assert copied.inputs().toDict() == example.inputs().toDict()
        assert copied.judge(dspy.Prediction(thought_rating=example.thought_rating)).right
    pickled = pickle.loads(pickle.dumps(example))
    assert pickled == example
    with pytest.raises(ValueError, match="knows nothing to judge a reply by"):
        pickled.judge(dspy.Prediction(thought_rating="sure"))
    program = solver()
    program.rate.predict.demos = [example]
    model = engine()
    call(program, model, numbers=PUZZLE)
    assert any(example.thought_rating in str(c.request.messages[:-1]) for c in model.calls if c.kind == "rate")


def test_a_budget_that_leaves_the_search_undone_gives_fewer_examples():
    program = solver(budget=Budget(calls=6))
    found = sets_from(program, balanced=False)
    assert "4 6" not in {example.search_state for example in found["propose"]}
