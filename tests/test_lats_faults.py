"""Faults that users of agents met, each ruled out for actors, environments, judges and reflections."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import Any

import dspy
import pytest

from engines import Engine, lm, response
from patience import in_time
from thoughtree import ABMCTS, DFS, LATS, MCTS, Beam, BestFirst, Illegal, repeatable
from thoughtree.modules.memo import Memo
from thoughtree.modules.tool_call import read_call
from thoughtree.search import Ended, SearchStatus
from thoughtree.search.environment import EnvironmentFault, Observed
from thoughtree.tasks.turns import first_action

drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])


class World:
    """A pure environment: only "good" solves it. Everything else fails, and may be tried again."""

    signature = "task -> program"

    def __init__(self) -> None:
        self.runs: list[str] = []

    def initial(self, inputs: dict[str, Any]) -> tuple[str, ...]:
        return ()

    def step(self, state: tuple[str, ...], action: str) -> Observed:
        self.runs.append(action)
        passed = action == "good"
        return Observed((*state, action), solved=passed, failed=not passed, feedback="no", key=(*state, action))

    def answer(self, state: tuple[str, ...]) -> dict[str, Any]:
        return {"program": state[-1]} if state else {}


def plays(action: Any = "bad", score: str = "0.2", lesson: Any = "mind the gap next time") -> Any:
    def answer(kind: Any, inputs: dict[str, str], n: int) -> Any:
        if "next_action" in kind:
            return {"act_reasoning": "r", "next_action": action(n) if callable(action) else action}
        if "attempt_score" in kind:
            return {"judge_reasoning": "r", "attempt_score": score}
        return lesson(n) if callable(lesson) else {"attempt_lesson": lesson}

    return answer


def solve(program: LATS, engine: Engine, driver: str = "threads", **inputs: Any) -> Any:
    with dspy.context(lm=lm(engine)):
        return asyncio.run(program.acall(**inputs)) if driver == "asyncio" else program(**inputs)


# ---- 3: observations that the model made up


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("good", "good"),
        ("Action: good", "good"),
        ("**Action 2:** good", "good"),
        ("good\nObservation 2: it passed\nAction 3: stop", "good"),
        ("Thought 2: so be it\nAction 2: good\nObservation 2: fine\nThought 3: done\nAction 3: stop", "good"),
        ("Action 1: good\nAction 2: bad", "good"),
        ("Observation: it passed", ""),
        ("note the Observation: of others", "note the Observation: of others"),
    ],
)
def test_the_first_action_counts_and_what_follows_was_made_up(reply: str, action: str) -> None:
    assert first_action(reply) == action
    env = World()
    solve(LATS(env=env, controller=MCTS(rollouts=1, branching=1)), Engine(plays(reply)), task="t")
    assert env.runs == ([action] if action else [])


@pytest.mark.parametrize(
    "reply",
    [
        "look_up(name='Rome')\nObservation 1: 20 m\nAction 2: submit(answer=20)",
        "Thought 1: hm\nAction 1: look_up(name='Rome')\nObservation 1: 20 m",
        "look_up(name='Rome') Observation: 20 m Action: submit(answer=20)",
        '{"tool": "look_up", "args": {"name": "Rome"}}\nObservation: 20 m',
        "Action: look_up(name='Rome')\nAction: look_up(name='Paris')",
        "```python\nlook_up(name='Rome')\n```\nObservation: 20 m",
    ],
)
def test_a_call_is_read_out_of_a_reply_that_goes_on(reply: str) -> None:
    assert str(read_call(reply, lambda tool: ["name"])) == "look_up(name='Rome')"


def test_an_argument_may_speak_of_observations() -> None:
    for text in ("note(text='Observation: x')", "note(text='''a\nObservation: x''')"):
        call = read_call(text, lambda tool: ["text"])
        assert not isinstance(call, Illegal)
        assert call.args["text"].endswith("Observation: x")


# ---- 5, 13, 14: no action, or code in any fence


@pytest.mark.parametrize("reply", ["", "  \n"])
def test_an_empty_action_is_no_child(reply: str) -> None:
    env, engine = World(), Engine(plays(reply))
    found = solve(LATS(env=env, controller=MCTS(rollouts=2)), engine, task="t")
    assert (env.runs, found.search.status, found.search.path) == ([], SearchStatus.FAILED, [])
    assert found.search.unread == {"propose": len(engine.calls)}


# ---- 1, 42-45: nothing is left to do


def test_actions_that_are_all_refused_end_the_search_within_its_rollouts() -> None:
    class Strict(World):
        def step(self, state: tuple[str, ...], action: str) -> Observed:
            raise Illegal("no such tool")

    engine = Engine(plays("I would look that up"))
    found = solve(LATS(env=Strict(), controller=MCTS(rollouts=5)), engine, task="t")
    assert found.search.ended in (Ended.SEARCHED_OUT, Ended.ROLLOUTS)
    assert len(engine.calls) <= 10
    assert found.search.rules_broken().keys() == {"no such tool"}


# ---- 30, 31, 67: what did not work is no score


@drivers
def test_a_judge_that_fails_gives_no_score(driver: str) -> None:
    def flaky(kind: Any, inputs: dict[str, str], n: int) -> Any:
        if "attempt_score" in kind and "bad1" in inputs["search_path"]:
            raise ValueError("judge is down")
        return plays(lambda n: f"bad{n}")(kind, inputs, n)

    program = LATS(env=World(), controller=MCTS(rollouts=1), concurrency=1)
    found = solve(program, Engine(flaky), driver, task="t")
    values = {str(node.action): node.value for node in found.search.tree if node.id}
    assert sorted(str(value) for value in values.values()) == ["0.2", "None"]
    assert found.search.failed > 0


@drivers
def test_an_environment_whose_quota_runs_out_half_way_scores_nothing(driver: str) -> None:
    class Quota(World):
        def step(self, state: tuple[str, ...], action: str) -> Observed:
            if len(self.runs) == 2:
                raise EnvironmentFault("quota exceeded")
            return super().step(state, action)

    found = solve(LATS(env=Quota(), controller=MCTS(rollouts=3)), Engine(plays(lambda n: f"bad{n}")), driver, task="t")
    assert found.search.errors["environment: quota exceeded"] >= 1
    assert {node.value for node in found.search.tree if node.state is None} == {None}


# ---- 33: scores off the scale


def test_a_score_above_the_scale_is_clamped_and_counted() -> None:
    found = solve(
        LATS(env=World(), controller=MCTS(rollouts=1)), Engine(plays(lambda n: f"bad{n}", "7 of 1")), task="t"
    )
    values = [node.value for node in found.search.tree if node.id]
    assert all(value is not None and 0 <= value <= 1 for value in values)


# ---- 62-66: whose state, and what may be seen


def test_branches_that_are_stepped_in_turn_do_not_meet() -> None:
    """Each path's states are its own, whatever was stepped between."""
    env = World()
    program = LATS(env=env, controller=MCTS(rollouts=6, branching=2, exploration=2.0, max_depth=4))
    found = solve(program, Engine(plays(lambda n: f"bad{n}")), task="t")
    for node in found.search.tree:
        if node.state is not None:
            assert node.state == tuple(str(n.action) for n in found.search.tree.path(node)[1:])


class Game:
    """A live game in one position, which every step moves on; it is over at 3."""

    signature = "task -> program"

    def __init__(self) -> None:
        self.at = 0

    def step(self, action: str) -> Observed:
        self.at += 1
        return Observed(None, f"at {self.at}", terminal=self.at == 3, failed=self.at == 3, value=self.at / 4)

    def snapshot(self) -> int:
        return self.at

    def restore(self, token: int) -> None:
        self.at = token


@drivers
@pytest.mark.parametrize("make", [World, Game])
def test_a_second_run_on_the_same_environment_is_the_first_again(make: Any, driver: str) -> None:
    env = make()
    program = LATS(env=env, controller=MCTS(rollouts=5), concurrency=1, answer="path")
    first, again = (solve(program, Engine(plays(lambda n: f"bad{n}")), driver, task="t").search.tree for _ in range(2))
    assert [(n.action, n.observation, n.value, n.visits, n.status) for n in first] == [
        (n.action, n.observation, n.value, n.visits, n.status) for n in again
    ]
    if isinstance(env, Game):
        assert env.at == 0
        assert all(n.observation["observation"] == f"at {n.depth}" for n in first if n.id)
        assert any(n.depth == 3 for n in first)


class Secret(dict):  # type: ignore[type-arg]
    """A record of what is right, which raises if anybody looks into it."""

    def __getitem__(self, key: Any) -> Any:
        raise AssertionError("somebody looked")

    get = items = keys = values = __iter__ = __contains__ = __len__ = __eq__ = __repr__ = __getitem__  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Told(Observed):
    """What gym-like environments give beside the observation."""

    info: Any = None


class Labelled:
    """A pure environment that knows what is right, in itself, in its states and in what it gives. Nothing solves it."""

    signature = "task -> program"

    def __init__(self, label: str, info: Any) -> None:
        self.label, self.info = label, info

    def initial(self, inputs: dict[str, Any]) -> Any:
        return (), self.info

    def step(self, state: Any, action: str) -> Observed:
        made = (*state[0], action)
        return Told(
            (made, self.info), f"did {action}", reward=0.25, failed=action != "go", feedback="no", info=self.info
        )

    def answer(self, state: Any) -> dict[str, Any]:
        return {"program": state[0][-1]} if state[0] else {}


CONTROLLERS: list[Any] = [
    MCTS(rollouts=6),
    MCTS(rollouts=6, selection="puct", returns="max", final="visits"),
    MCTS(rollouts=6, returns="discounted", final="mean", widening=0.5),
    MCTS(rollouts=6, lazy=True, simulate=True, max_depth=3),
    ABMCTS(rollouts=6),
    DFS(max_depth=2),
    Beam(width=2, branching=2, max_depth=2),
    BestFirst(expansions=4, branching=2),
]


@drivers
@pytest.mark.parametrize("controller", CONTROLLERS, ids=str)
def test_the_search_reads_no_label_that_the_environment_holds(controller: Any, driver: str) -> None:
    """Whatever the label says, the same prompts and the same tree; and a label that raises is not touched at all."""

    def run(label: str, info: Any) -> Any:
        engine = Engine(plays(lambda n: f"a{n}" if n % 3 else "go"))
        program = LATS(env=Labelled(label, info), controller=controller, concurrency=1)
        found = solve(program, engine, driver, task="t").search
        nodes = [(str(n.action), n.value, n.visits, n.total, n.reward, n.status) for n in found.tree]
        return nodes, found.path, [call.inputs for call in engine.calls]

    right = run("go", {"reward": 1.0, "label": "go", "is_correct": True})
    assert run("a1", {"reward": -1.0, "label": "a1", "is_correct": False}) == right
    assert run("", Secret(reward=1.0)) == right
    assert {value for _, value, *_ in right[0][1:]} <= {0.2, None}  # the judge's; the reward alone is no value
    assert len(right[0]) > 2


# ---- 69: progress, and an end to patience


def test_every_reply_is_told_and_patience_ends_a_run_that_gets_no_better() -> None:
    seen: list[Any] = []
    program = LATS(env=World(), controller=MCTS(rollouts=50, patience=3))
    engine = Engine(plays(lambda n: f"bad{n}"))
    found = solve(program, engine, task="t", config={"on_event": seen.append})
    assert found.search.ended is not Ended.ROLLOUTS
    assert len(found.search.tree.rollouts) < 50
    assert len(seen) >= len(engine.calls)


# ---- 73, 74: budgets


@drivers
def test_a_budget_of_calls_is_never_passed(driver: str) -> None:
    for calls in (1, 2, 7):
        engine = Engine(plays(lambda n: f"bad{n}"))
        program = LATS(env=World(), controller=MCTS(rollouts=9, branching=5), budget=calls)
        found = solve(program, engine, driver, task="t")
        assert (len(engine.calls), found.search.ended) == (calls, Ended.CALLS)


# ---- 75, 78: reflections


@pytest.mark.parametrize(
    "lesson",
    [
        "925",
        "The answer.",
        "The answer is 925.",
        "**Final answer:** 42 apples",
        "So the correct result = Paris",
        "```python\ndef add(a, b):\n    return a + b\n```",
        "def add(first, second):\n    return first + second",
        "look_up(name='the town of Rome')",
        "a program that was tried already",
        "~~~\nfour words of code here\n~~~",
    ],
)
def test_a_bare_answer_is_no_lesson(lesson: str) -> None:
    engine = Engine(plays(lambda n: "a program that was tried already", lesson=lesson))
    found = solve(LATS(env=World(), controller=MCTS(rollouts=1, branching=1)), engine, task="t")
    assert found.search.tree.lessons == []
    assert found.search.unread["reflect"] >= 1


@pytest.mark.parametrize(
    "lesson",
    [
        "Check the empty list first.",
        "The answer must be an integer.",
        "The answer is 24, as the last step adds and must multiply.",
        "Use a loop:\n```python\nfor x in xs: pass\n```\nand return what it found",
        "mind 0",
    ],
)
def test_what_says_something_about_an_answer_is_one(lesson: str) -> None:
    found = solve(LATS(env=World(), controller=MCTS(rollouts=1, branching=1)), Engine(plays(lesson=lesson)), task="t")
    assert len(found.search.tree.lessons) == (lesson != "mind 0")


def test_no_success_is_reflected_upon() -> None:
    engine = Engine(plays("good"))
    found = solve(LATS(env=World()), engine, task="t")
    assert found.search.status is SearchStatus.SOLVED
    assert not [call for call in engine.calls if "attempt_lesson" in call.kind]


@drivers
def test_failed_children_are_reflected_upon_at_the_same_time(driver: str) -> None:
    engine = Engine(plays(lambda n: f"bad{n}"), delay=0.05)
    solve(LATS(env=World(), controller=MCTS(rollouts=1, branching=4)), engine, driver, task="t")
    reflections = [call for call in engine.calls if "attempt_lesson" in call.kind]
    assert (len(reflections), engine.peak) == (4, 4)


# ---- 77: a prompt that is too long


def test_a_context_overflow_is_named_and_the_best_so_far_is_kept() -> None:
    def short(kind: Any, inputs: dict[str, str], n: int) -> Any:
        if len(inputs["search_path"]) > 60:
            raise dspy.ContextWindowExceededError("too long")
        return plays(lambda n: f"bad attempt number {n}")(kind, inputs, n)

    controller = MCTS(rollouts=4, branching=1, max_depth=9)
    found = solve(LATS(env=World(), controller=controller), Engine(short), task="t")
    assert found.search.path
    assert any("ContextWindow" in error or "too long" in error for error in found.search.errors)


def test_a_reply_that_the_token_limit_cut_is_no_action() -> None:
    def cut(kind: Any, inputs: dict[str, str], n: int) -> Any:
        if "next_action" in kind:
            return response("[[ ## act_reasoning ## ]]\nr\n[[ ## next_action ## ]]\nsubmit the", finish="length")
        return plays()(kind, inputs, n)

    env = World()
    found = solve(LATS(env=env, controller=MCTS(rollouts=1, branching=1)), Engine(cut), task="t")
    assert (env.runs, found.search.status) == ([], SearchStatus.FAILED)


# ---- 97: no call that nobody needs


def test_an_answer_that_the_leaf_holds_costs_no_call() -> None:
    engine = Engine(plays("good"))
    solve(LATS(env=World(), controller=MCTS(rollouts=1, branching=1)), engine, task="t")
    assert [call.kind for call in engine.calls] == [("act_reasoning", "next_action")]


# ---- self-consistency, as an option


@pytest.mark.parametrize(
    ("agreement", "values"), [(0.0, {0.2}), (0.5, {0.5 * 0.2 + 0.5 * 0.75, 0.5 * 0.2 + 0.5 * 0.25})]
)
def test_the_value_may_weigh_how_many_samples_say_the_same(agreement: float, values: set[float]) -> None:
    program = LATS(env=World(), controller=MCTS(rollouts=1, branching=4), agreement=agreement, concurrency=1)
    found = solve(program, Engine(plays(lambda n: "rare" if n == 4 else "often")), task="t")
    rated = {node.value for node in found.search.tree if node.id and node.value is not None}
    assert sorted(rated) == pytest.approx(sorted(values))


# ---- identical calls, on one loop


def test_equal_calls_in_flight_on_one_loop_share_one_run_and_outlive_a_cancelled_one() -> None:
    async def main() -> tuple[list[int], int]:
        memo, runs = Memo(), []

        async def slow() -> int:
            runs.append(1)
            if len(runs) == 1:
                await asyncio.Event().wait()
            await asyncio.sleep(0.01)
            return 7

        first = asyncio.create_task(memo.aget("k", slow))
        await asyncio.sleep(0)
        others = [asyncio.create_task(memo.aget("k", slow)) for _ in range(3)]
        await asyncio.sleep(0.01)
        first.cancel()
        return list(await asyncio.gather(*others)), len(runs)

    got, runs = asyncio.run(main())
    assert got == [7, 7, 7]
    assert runs == 2  # the one that was cancelled, and the one that the others shared


@drivers
def test_a_slow_tool_that_many_branches_call_runs_once(driver: str) -> None:
    runs: list[str] = []

    @repeatable
    async def look_up(name: str) -> str:
        runs.append(name)
        await asyncio.sleep(0.05)
        return name

    program = LATS("question -> answer", tools=[look_up], controller=MCTS(rollouts=1, branching=6))
    calls = iter(["look_up('Rome')", "look_up(name='Rome')", '{"tool": "look_up", "args": {"name": "Rome"}}'] * 9)
    solve(program, Engine(plays(lambda n: next(calls))), driver, question="q")
    assert runs == ["Rome"]


# ---- 74: one deadline, whatever hangs


@drivers
@pytest.mark.parametrize("hangs", ["the environment", "the model"])
def test_what_hangs_does_not_hold_up_the_deadline(driver: str, hangs: str) -> None:
    def attempt(seconds: float) -> Any:
        released, hung = threading.Event(), threading.Event()

        class Slow(World):
            def step(self, state: tuple[str, ...], action: str) -> Observed:
                if hangs == "the environment":
                    hung.set()
                    assert released.wait(600)
                return super().step(state, action)

        def answer(kind: Any, inputs: dict[str, str], n: int) -> Any:
            if hangs == "the model" and driver == "threads" and n > 2:
                hung.set()
                assert released.wait(600)
            return plays(lambda n: f"bad{n}")(kind, inputs, n)

        def delay(n: int) -> float:
            if hangs == "the model" and driver == "asyncio" and n > 2:
                hung.set()
                return 600.0
            return 0.0

        program = LATS(env=Slow(), controller=MCTS(rollouts=3), budget={"seconds": seconds})
        found = solve(program, Engine(answer, delay), driver, task="t")
        released.set()
        return found if hung.is_set() else None

    found = in_time(attempt)
    assert found.search.ended is Ended.SECONDS
    assert found.search.unfinished >= 1
