"""LATS: acting in environments that can be undone, with lessons from failures."""

from __future__ import annotations

import asyncio
from typing import Any

import dspy
import pytest

from coding import Runner, actor
from engines import Engine, lm
from thoughtree.modules import LATS
from thoughtree.modules.trajectory import lessons_shown
from thoughtree.search import DFS, MCTS, Beam, BestFirst, Budget, Ended, Illegal, JournalError, SearchStatus
from thoughtree.search.environment import EnvironmentFault, Observed
from thoughtree.tasks.live import Rewound

each = pytest.mark.parametrize(
    ("concurrency", "driver"), [(c, d) for c in (1, 8) for d in ("threads", "asyncio")], ids=str
)


def asked(engine: Engine, field: str) -> list[dict[str, str]]:
    return [call.inputs for call in engine.calls if field in call.kind]


def solve(program: LATS, engine: Engine, driver: str = "threads", **inputs: Any) -> Any:
    with dspy.context(lm=lm(engine)):
        return asyncio.run(program.acall(**inputs)) if driver == "asyncio" else program(**inputs)


@each
def test_both_failures_of_the_first_rollout_teach_the_second(concurrency: int, driver: str) -> None:
    env, engine = Runner(), Engine(actor)
    found = solve(LATS(env=env, concurrency=concurrency), engine, driver, task="t")
    assert found.program == "good"
    assert found.search.status is SearchStatus.SOLVED
    assert len(asked(engine, "attempt_lesson")) == 2
    expand = asked(engine, "next_action")
    assert [prompt["search_lessons"] for prompt in expand[:2]] == ["(none)"] * 2
    assert len(expand) == 4
    for prompt in expand[2:]:
        assert "bad1" in prompt["search_lessons"]
        assert "bad2" in prompt["search_lessons"]
    assert sorted(env.runs) == ["bad1", "bad2", "good"]
    first, second = found.search.tree.rollouts
    assert (first.proposals, first.steps, first.ratings, first.reflections) == (2, 2, 2, 2)
    assert first.calls == 6  # of the model: all but the two runs of the environment
    assert second.reflections == 0  # never on success


def test_names_of_the_predictors() -> None:
    assert [name for name, _ in LATS(env=Runner()).named_predictors()] == [
        "propose.predict",
        "rate.predict",
        "reflect.predict",
    ]


def test_the_value_blends_the_models_score_with_what_the_environment_knows() -> None:
    class Half(Runner):
        def step(self, state: Any, action: str) -> Observed:
            return Observed((*state, action), failed=True, value=0.5)

    found = solve(LATS(env=Half(), blend=0.25, controller=MCTS(rollouts=1)), Engine(actor), task="t")
    assert found.search.tree[1].value == pytest.approx(0.75 * 0.2 + 0.25 * 0.5)


def test_an_unread_score_is_asked_once_more_and_then_counts_nothing() -> None:
    def unreadable(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if "attempt_score" in kind:
            return {"judge_reasoning": "hm", "attempt_score": "it depends"}
        return actor(kind, inputs, n)

    engine = Engine(unreadable)
    found = solve(LATS(env=Runner(), controller=MCTS(rollouts=1)), engine, task="t")
    assert len(asked(engine, "attempt_score")) == 4
    assert [node.value for node in found.search.tree][1:] == [0.0, 0.0]
    assert found.search.unread == {"rate": 4}


def test_a_bare_answer_is_no_lesson() -> None:
    def bare(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        return {"attempt_lesson": "925"} if "attempt_lesson" in kind else actor(kind, inputs, n)

    found = solve(LATS(env=Runner(), controller=MCTS(rollouts=1)), Engine(bare), task="t")
    assert found.search.tree.lessons == []


def test_an_environment_that_does_not_work_is_an_error_and_no_low_score() -> None:
    class Down(Runner):
        def step(self, state: Any, action: str) -> Observed:
            raise EnvironmentFault("no interpreter")

    found = solve(LATS(env=Down()), Engine(actor), task="t")
    assert (found.search.status, found.search.ended) == (SearchStatus.FAILED, Ended.ERROR)
    assert found.search.first_error == "environment: no interpreter"
    assert all(node.value is None for node in found.search.tree)


def test_a_fault_that_may_pass_is_tried_again() -> None:
    class Shaky(Runner):
        def step(self, state: Any, action: str) -> Observed:
            if not self.runs:
                self.runs.append("fault")
                raise EnvironmentFault("busy", transient=True)
            return super().step(state, action)

    found = solve(LATS(env=Shaky(), controller=MCTS(rollouts=1)), Engine(actor), task="t")
    assert found.search.failed == 1
    assert [node.status.value for node in found.search.tree][1:] == ["open", "open"]


def test_an_action_that_the_environment_refuses_is_illegal() -> None:
    class Strict(Runner):
        def step(self, state: Any, action: str) -> Observed:
            raise Illegal("no such tool")

    found = solve(LATS(env=Strict()), Engine(actor), task="t")
    assert found.search.rules_broken() == {"no such tool": 2}


class Counter:
    """A live environment: one number, which steps add to."""

    def __init__(self) -> None:
        self.now = 100
        self.seen: list[tuple[int, int]] = []

    def reset(self, inputs: dict[str, Any]) -> str:
        self.now = int(inputs["start"])
        return f"at {self.now}"

    def step(self, action: str) -> Observed:
        self.seen.append((self.now, int(action)))
        if action == "0":
            raise EnvironmentFault("stuck")
        self.now += int(action)
        return Observed(None, observation=f"at {self.now}", solved=self.now == 9, failed=False, value=self.now / 9)

    def snapshot(self) -> int:
        return self.now

    def restore(self, token: int) -> None:
        self.now = token


@each
def test_siblings_start_from_one_state_and_a_live_environment_is_left_as_it_was(concurrency: int, driver: str) -> None:
    def adder(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        return {"act_reasoning": "r", "next_action": str(n % 3)} if "next_action" in kind else actor(kind, inputs, n)

    env = Counter()
    program = LATS("start -> path", env=env, controller=MCTS(rollouts=6, branching=3), answer="path")
    found = solve(program, Engine(adder), driver, start="3")
    assert env.now == 100
    assert {before for before, _ in env.seen[:3]} == {3}  # each sibling from the root's state
    states = {node.id: node.state.token for node in found.search.tree if node.state is not None}
    for node in found.search.tree:
        if node.id in states and node.parent is not None:
            assert states[node.id] == states[node.parent] + int(node.action)


def test_an_environment_that_cannot_be_undone_is_refused_with_the_reason() -> None:
    class Forward:
        def step(self, action: str) -> Observed:
            raise AssertionError

    with pytest.raises(TypeError, match=r"snapshot\(\), restore\(token\).*could not be undone"):
        LATS("task -> program", env=Forward())
    with pytest.raises(TypeError, match="call it first"):
        LATS("task -> program", env=Counter)


def test_a_live_environment_is_restored_when_a_step_raises() -> None:
    env = Counter()
    rewound = Rewound(env)
    root = rewound.initial({"start": "5"})
    with pytest.raises(EnvironmentFault):
        rewound.step(root, "0")
    assert env.now == 100


def test_a_reward_function_is_environment_enough() -> None:
    def check(inputs: Any, prediction: Any) -> Any:
        good = inputs["question"] in prediction.sql
        return dspy.Prediction(score=1.0 if good else 0.3, feedback=None if good else "asks for nothing")

    def writer(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if "next_action" in kind:
            told = "asks for nothing" in inputs["search_path"] or inputs["search_lessons"] != "(none)"
            return {"act_reasoning": "r", "next_action": "select why" if told else f"select {n}"}
        return actor(kind, inputs, n)

    engine = Engine(writer)
    found = solve(LATS("db, question -> sql", reward_fn=check), engine, db="d", question="why")
    assert (found.sql, found.search.status) == ("select why", SearchStatus.SOLVED)
    assert asked(engine, "attempt_lesson")[0]["attempt_feedback"] == "asks for nothing"


@pytest.mark.parametrize(
    ("score", "threshold", "value"),
    [(30.0, 60.0, 0.25 * 0.2 + 0.75 * 0.5), (-30.0, 60.0, 0.25 * 0.2), (-5.0, 0.0, 0.2), (-5.0, -1.0, 0.2)],
)
def test_a_rewards_value_is_its_share_of_the_threshold(score: float, threshold: float, value: float) -> None:
    """Without shares, as under a threshold of 0, the model's own score stands alone."""
    program = LATS("task -> program", reward_fn=lambda inputs, prediction: score, threshold=threshold, blend=0.75)
    found = solve(program, Engine(actor), task="t", config={"controller": MCTS(rollouts=1)}).search
    assert [node.value for node in found.tree if node.id] == [pytest.approx(value)] * 2
    assert [node.reward for node in found.tree if node.id] == [score, score]


def test_exactly_one_of_environment_and_reward() -> None:
    with pytest.raises(ValueError, match="exactly one"):
        LATS("task -> program")
    with pytest.raises(ValueError, match="exactly one"):
        LATS("task -> program", env=Runner(), reward_fn=lambda inputs, prediction: 1.0)


@pytest.mark.parametrize(
    "controller", [Beam(width=2, branching=2), DFS(branching=2), BestFirst(branching=2), MCTS(rollouts=5)], ids=str
)
def test_every_controller_runs_in_an_environment(controller: Any) -> None:
    class Third(Runner):
        """Solved at the third step of any path."""

        def step(self, state: tuple[str, ...], action: str) -> Observed:
            done = len(state) == 2
            return Observed((*state, action), solved=done, value=len(state) / 3, key=(*state, action))

    found = solve(LATS(env=Third(), controller=controller), Engine(actor), task="t")
    assert found.search.status is SearchStatus.SOLVED
    assert len(found.search.path) == 3


def test_the_budget_holds_and_environment_runs_cost_no_calls() -> None:
    engine = Engine(actor)
    found = solve(LATS(env=Runner(), budget=Budget(calls=5)), engine, task="t")
    assert len(engine.calls) == found.search.spent.calls == 5
    assert found.search.ended is Ended.CALLS


def test_lessons_can_be_brought_along() -> None:
    engine = Engine(actor)
    found = solve(LATS(env=Runner(), lessons=["check the empty list first"]), engine, task="t")
    assert found.search.status is SearchStatus.SOLVED
    assert asked(engine, "next_action")[0]["search_lessons"] == "- check the empty list first"


def test_the_newest_lessons_that_fit_are_shown_and_none_twice() -> None:
    lessons = ["a" * 30, "one more thing", "One  more thing", "b" * 20]
    assert lessons_shown(lessons, most=8, characters=60) == "- One  more thing\n- " + "b" * 20
    assert lessons_shown(lessons, most=1) == "- " + "b" * 20
    assert lessons_shown([]) == "(none)"


def test_it_is_saved_and_loaded_with_its_environment_given_again(tmp_path: Any) -> None:
    import thoughtree

    path = tmp_path / "lats.json"
    LATS(env=Runner(), controller=MCTS(rollouts=3, exploration=0.5), blend=0.2).save(path)
    with pytest.raises(ValueError, match="give env=, tools= or reward_fn="):
        thoughtree.load(path)
    loaded = thoughtree.load(path, env=Runner())
    assert (loaded.controller, loaded.plan.blend) == (MCTS(rollouts=3, exploration=0.5), 0.2)


def test_a_run_is_resumed_from_its_journal(tmp_path: Any) -> None:
    engine, path = Engine(actor), tmp_path / "run.jsonl"
    first = LATS(env=Runner())
    with dspy.context(lm=lm(engine)):
        first(task="t", config={"journal": path, "budget": 5})
        before = len(engine.calls)
        found = first(task="t", config={"journal": path})
    assert (before, len(engine.calls)) == (5, 8)
    assert found.program == "good"


def test_a_key_that_a_step_gave_is_the_same_in_a_resumed_run(tmp_path: Any) -> None:
    """Two attempts at one state: the second is a duplicate of the first, also where a journal tells of both."""

    class Alike(Runner):
        def step(self, state: Any, action: str) -> Observed:
            return Observed((*state, action), failed=True, key=("one", frozenset({len(action)})))

    config = {"journal": tmp_path / "run.jsonl", "controller": Beam(width=2, branching=2, max_depth=2)}
    found = solve(LATS(env=Alike(), concurrency=1), Engine(actor), task="t", config=config)
    silent = Engine(actor)
    again = solve(LATS(env=Alike(), concurrency=1), silent, task="t", config=config)
    assert [node.status.value for node in found.search.tree][1:3] == ["expanded", "duplicate"]
    assert [node.status for node in again.search.tree] == [node.status for node in found.search.tree]
    assert silent.calls == []


def test_a_key_that_no_journal_can_hold_is_refused_with_the_mend(tmp_path: Any) -> None:
    class Odd(Runner):
        def step(self, state: Any, action: str) -> Observed:
            return Observed((*state, action), key=Budget())

    with pytest.raises(JournalError, match=r"a key of type Budget .* give the environment key\(state\)"):
        solve(LATS(env=Odd()), Engine(actor), task="t", config={"journal": tmp_path / "run.jsonl"})


def test_an_estimate_counts_reflections() -> None:
    found = LATS(env=Runner(), controller=MCTS(rollouts=3, branching=2)).estimate(price=(1.0, 1.0))
    assert found.calls == {"propose": 6, "rate": 6, "reflect": 6}


@each
def test_a_reward_may_declare_calls_of_its_own(concurrency: int, driver: str) -> None:
    def graded(inputs: Any, prediction: Any) -> float:
        return float(dspy.Predict("text -> grade")(text=prediction.answer).grade)

    def answers(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        return {"grade": "0.3"} if "grade" in kind else actor(kind, inputs, n)

    def run(**knobs: Any) -> tuple[Any, Engine]:
        engine = Engine(answers)
        controller = MCTS(rollouts=1, branching=2)
        program = LATS("question -> answer", reward_fn=graded, controller=controller, concurrency=concurrency, **knobs)
        return solve(program, engine, driver, question="q").search, engine

    found, _ = run()
    assert found.status is SearchStatus.FAILED  # calls that nobody reserved are an error, and no low score
    graded.calls = 1  # type: ignore[attr-defined]
    found, engine = run()
    assert [node.reward for node in found.tree][1:] == [0.3, 0.3]
    assert found.spent.calls == len(engine.calls) == 2 + 2 + 2 + 2  # two proposals, grades, judgements, reflections
    for budget in range(1, 8):
        found, engine = run(budget=budget)
        assert len(engine.calls) == found.spent.calls == budget


@pytest.mark.parametrize(
    ("knobs", "error", "told"),
    [
        ({"reward_fn": 3}, TypeError, r"reward_fn=3: must be an ordinary function"),
        ({"reward_fn": asyncio.sleep}, TypeError, "must be an ordinary function"),
        ({"reward_fn": len, "threshold": float("nan")}, ValueError, "threshold=nan: must be a finite number"),
        ({"reward_fn": len, "threshold": "high"}, ValueError, "threshold='high': must be a finite number"),
    ],
)
def test_a_reward_that_is_none_is_refused(knobs: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        LATS("question -> answer", **knobs)


@pytest.mark.parametrize("score", [None, "much", float("nan"), float("inf")])
def test_a_reward_that_gives_no_number_is_an_error_and_no_low_score(score: Any) -> None:
    program = LATS("question -> answer", reward_fn=lambda inputs, prediction: score, controller=MCTS(rollouts=1))
    found = solve(program, Engine(actor), question="q").search
    assert (found.status, found.ended) == (SearchStatus.FAILED, Ended.ERROR)
    assert "must be a finite number" in str(found.first_error)
    assert all(node.value is None for node in found.tree)


def test_answers_of_several_fields_are_given_as_json_and_typed() -> None:
    def attempt(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if "next_action" in kind:
            assert inputs["action_format"] == "a JSON object with the keys count, names"
            text = '{"count": "2", "names": ["a", "b"]}' if n > 1 else '{"count": "many", "names": []}'
            return {"act_reasoning": "r", "next_action": f"```json\n{text}\n```"}
        return actor(kind, inputs, n)

    program = LATS(
        "question -> count: int, names: list[str]",
        reward_fn=lambda inputs, prediction: float(prediction.count == len(prediction.names)),
        concurrency=1,
    )
    found = solve(program, Engine(attempt), question="q")
    assert (found.count, found.names, found.search.status) == (2, ["a", "b"], SearchStatus.SOLVED)
    assert [rule for rule in found.search.rules_broken() if rule.startswith("not an answer of the right type")]
