"""Steps of an environment beside LM calls: their own cap, and a live environment that is left as it was."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from typing import Any

import dspy
import pytest

from engines import Engine, lm
from patience import PATIENCE, until
from thoughtree.modules import LATS
from thoughtree.search import MCTS, Ended, SearchStatus, Stop
from thoughtree.search.environment import EnvironmentFault, Observed
from thoughtree.tasks.live import Rewound

drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])


def actor(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    if "next_action" in kind:
        return {"act_reasoning": "r", "next_action": f"a{n}"}
    if "attempt_score" in kind:
        return {"judge_reasoning": "r", "attempt_score": "0.2"}
    return {"attempt_lesson": "do something else next time"}


def solve(program: LATS, engine: Engine, driver: str, **inputs: Any) -> Any:
    with dspy.context(lm=lm(engine)):
        return asyncio.run(program.acall(**inputs)) if driver == "asyncio" else program(**inputs)


class Gauge:
    """Counts how many of its steps run at once; each waits until so many do."""

    signature = "task -> path"

    def __init__(self, together: int) -> None:
        self.now = self.most = 0
        self._together, self._lock, self._gathered = together, threading.Lock(), threading.Event()

    def initial(self, inputs: dict[str, Any]) -> tuple[str, ...]:
        return ()

    def step(self, state: tuple[str, ...], action: str) -> Observed:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
            if self.now == self._together:
                self._gathered.set()
        assert self._gathered.wait(PATIENCE), "fewer than that come at once"
        time.sleep(0.01)  # room for one too many
        with self._lock:
            self.now -= 1
        return Observed((*state, action), value=0.5)


@drivers
@pytest.mark.parametrize(("concurrency", "steps", "most"), [(8, 3, 3), (2, 5, 5), (8, 1, 1), (1, 4, 1)])
def test_steps_have_their_own_cap(driver: str, concurrency: int, steps: int, most: int) -> None:
    env = Gauge(most)
    controller = MCTS(rollouts=1, branching=6)
    program = LATS(env=env, controller=controller, concurrency=concurrency, step_concurrency=steps, answer="path")
    found = solve(program, Engine(actor), driver, task="t")
    assert len(found.search.tree) == 7
    assert env.most == most


@drivers
def test_steps_that_block_hold_up_no_call(driver: str) -> None:
    """All steps wait for a judgement that only comes if a call still finds a slot."""
    judged = threading.Event()

    class Waits(Gauge):
        def step(self, state: tuple[str, ...], action: str) -> Observed:
            if state and not judged.wait(PATIENCE):
                raise EnvironmentFault("nobody judged")
            return Observed((*state, action), value=0.5, key=(*state, action))

    def judge(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if "attempt_score" in kind and inputs["search_path"].count("Action ") == 1:
            counted.append(n)
            if len(counted) == 4:
                judged.set()
        return actor(kind, inputs, n)

    counted: list[int] = []
    program = LATS(
        env=Waits(1),
        controller=MCTS(rollouts=3, branching=4, at_once=3),
        concurrency=2,
        step_concurrency=2,
        answer="path",
    )
    found = solve(program, Engine(judge), driver, task="t")
    assert found.search.failed == 0


class Dial:
    """A live environment: one number, which steps add to, slowly if asked."""

    signature = "start -> path"

    def __init__(self) -> None:
        self.now = 100
        self.begun, self.go = threading.Event(), threading.Event()
        self.steps = 0

    def reset(self, inputs: dict[str, Any]) -> str:
        self.now = int(inputs["start"])
        return f"at {self.now}"

    def step(self, action: str) -> Observed:
        self.steps += 1
        self.now += 1
        self.begun.set()
        assert self.go.wait(PATIENCE)
        return Observed(None, observation=f"at {self.now}", value=0.5)

    def snapshot(self) -> int:
        return self.now

    def restore(self, token: int) -> None:
        self.now = token


@pytest.fixture
def dial(monkeypatch: pytest.MonkeyPatch) -> Dial:
    """One whose steps end once its search is over, and waits for them."""
    env, rest = Dial(), Rewound.rest

    def waits(rewound: Rewound) -> None:
        threading.Thread(target=lambda: (until(lambda: rewound._over), env.go.set()), daemon=True).start()
        rest(rewound)

    monkeypatch.setattr(Rewound, "rest", waits)
    return env


@drivers
def test_a_step_in_flight_at_the_end_is_waited_for_and_none_begins_after_it(driver: str, dial: Dial) -> None:
    """The search ends while one step runs and others wait for their turn."""
    env = dial

    def end() -> None:
        env.begun.wait(PATIENCE)
        stop()

    threading.Thread(target=end, daemon=True).start()
    stop, program = Stop(), LATS(env=env, controller=MCTS(rollouts=3, branching=3), answer="path")
    found = solve(program, Engine(actor), driver, start="3", config={"stop": stop})
    assert found.search.ended is Ended.STOPPED
    assert (env.now, env.steps) == (100, 1)


def test_an_interrupt_leaves_the_environment_as_it_was(dial: Dial) -> None:
    """Ctrl-C while a step runs."""
    env = dial

    def interrupt() -> None:
        env.begun.wait(PATIENCE)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    program = LATS(env=env, controller=MCTS(rollouts=1, branching=2), answer="path")
    with pytest.raises(KeyboardInterrupt):
        solve(program, Engine(actor), "threads", start="3")
    assert (env.now, env.steps) == (100, 1)


def test_a_run_in_a_live_environment_is_resumed_from_its_journal(tmp_path: Any) -> None:
    env, engine, path = Dial(), Engine(actor), tmp_path / "run.jsonl"
    env.go.set()
    program = LATS(env=env, controller=MCTS(rollouts=2, branching=2), answer="path", concurrency=1)
    with dspy.context(lm=lm(engine)):
        program(start="3", config={"journal": path, "budget": 5})
        before, steps = len(engine.calls), env.steps
        found = program(start="3", config={"journal": path})
        whole = program(start="3")
    assert (before, steps, env.now) == (5, 2, 100)
    assert [node.state.token for node in found.search.tree] == [node.state.token for node in whole.search.tree]
    assert len(engine.calls) == 2 * found.search.spent.calls


def test_a_live_environment_says_of_itself_what_a_pure_one_does() -> None:
    class Speaks(Dial):
        action_format = "a number"

        def instructions(self) -> str:
            return "turn the dial"

        def parse(self, text: str, token: int) -> Any:
            return f"{text}@{token}"

        def answer(self, token: int) -> dict[str, Any]:
            return {"path": str(token)}

    env, engine = Speaks(), Engine(actor)
    env.go.set()
    found = solve(LATS(env=env, controller=MCTS(rollouts=1), concurrency=1), engine, "threads", start="3")
    assert (found.path, found.search.tree[1].action) == ("4", "a1@3")
    assert engine.calls[0].inputs["action_format"] == "a number"
    assert "turn the dial" in str(engine.calls[0].request)


def test_programs_and_copies_step_one_live_environment_one_at_a_time() -> None:
    env = Dial()
    env.go.set()
    one, other = Rewound(env), Rewound(env)
    roots = [rewound.initial({"start": str(n)}) for n, rewound in enumerate((one, other))]
    seen: list[Any] = []

    def step(rewound: Rewound, root: Any) -> None:
        for _ in range(50):
            seen.append((root.token, rewound.step(root, "x").state.token))

    threads = [threading.Thread(target=step, args=pair) for pair in zip((one, other), roots, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert env.now == 100
    assert {(before, after) for before, after in seen} == {(0, 1), (1, 2)}


def test_a_search_of_no_environment_has_no_steps_apart() -> None:
    found = solve(LATS("q -> a", reward_fn=lambda inputs, prediction: 1.0), Engine(actor), "threads", q="q")
    assert found.search.status is SearchStatus.SOLVED
