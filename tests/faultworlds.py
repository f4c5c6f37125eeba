"""Every program in a small world whose replies hang on the prompt alone, for runs that must equal each other."""

from __future__ import annotations

import asyncio
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dspy

from engines import Engine, lm
from puzzle24 import PUZZLE, script
from stacking import GOAL, START
from stacking import world as blocks
from thoughtree import DFS, LATS, MCTS, RAP, Beam, BestFirst, Blocksworld, Game24, TreeOfThoughts, repeatable
from thoughtree.search import ABMCTS
from thoughtree.search.environment import Observed

WATCH = 60.0  # seconds after which a run counts as hung; none here takes one


def pick(n: int, *key: str) -> int:
    """A number below `n` that hangs on the key alone."""
    return zlib.crc32("|".join(key).encode()) % n


# ---- the models


def puzzles(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    if "next_thoughts" in kind:
        return script("propose", inputs, n)
    return script("rate", inputs, n)


def choices(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    """Two of the listed moves, and nothing is hopeless."""
    path = inputs.get("search_path", "")
    if "chosen_steps" in kind:
        many = inputs["allowed_steps"].count("\n") + 1
        first = pick(many, path)
        return {"chosen_steps": f"{first + 1}, {(first + 1 + pick(many - 1, path)) % many + 1}"}
    return {"rating_reasoning": "r", "thought_rating": ["sure", "maybe"][pick(2, path)]}


def words(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    """Two thoughts a node, a verdict each, and a closing answer."""
    path = inputs.get("search_path", "")
    if "next_thoughts" in kind:
        return {"next_thoughts": f"1. left of {pick(97, path)}\n2. right of {pick(89, path)}"}
    if "thought_rating" in kind:
        return {"rating_reasoning": "r", "thought_rating": ["sure", "maybe", "impossible"][pick(3, path)]}
    return {"answer": f"closing {pick(97, path)}"}


def acts(*actions: str) -> Callable[..., dict[str, Any]]:
    """An actor whose action hangs on the path and the lessons; a judge; and lessons."""

    def answer(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        path, lessons = inputs.get("search_path", ""), inputs.get("search_lessons", "")
        if "next_action" in kind:
            return {"act_reasoning": "r", "next_action": actions[pick(len(actions), path, lessons)]}
        if "attempt_score" in kind:
            return {"judge_reasoning": "r", "attempt_score": f"0.{pick(9, path) + 1}"}
        if "attempt_lesson" in kind:
            return {"attempt_lesson": f"avoid what came of {pick(97, path)} in this way"}
        return {"answer": f"closing {pick(97, path)}"}

    return answer


def library(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    """Two look-ups, one of which may raise, and then an answer."""
    said = acts("look_up('Rome')", "look_up('nowhere')", "look_up('Oslo')")(kind, inputs, n)
    if "next_action" in kind and inputs["search_path"].count("Action ") == 2:
        return said | {"next_action": f"submit(answer='{pick(97, inputs['search_path'])} m')"}
    return said


# ---- the worlds


class Letters:
    """A pure environment: "d" ends an attempt badly, three letters end it, and only "aba" is right."""

    signature = "question -> answer"

    def initial(self, inputs: dict[str, Any]) -> str:
        return ""

    def step(self, state: str, action: str) -> Observed:
        state += action
        failed = action == "d" or (len(state) == 3 and state != "aba")
        return Observed(state, "stepped", solved=state == "aba", failed=failed, feedback="wrong way", key=state)

    def answer(self, state: str) -> dict[str, Any]:
        return {"answer": state} if len(state) == 3 else {}


@repeatable
def look_up(name: str) -> str:
    """Find a town's height."""
    if name == "nowhere":
        raise KeyError(name)
    return f"{name}: {len(name)} m"


def length(inputs: dict[str, Any], prediction: Any) -> float:
    return min(1.0, pick(8, str(prediction.answer)) / 8)


@dataclass(frozen=True, eq=False)
class World:
    """build(controller, **knobs): the program. fn: the model's script. inputs: of its call."""

    build: Callable[..., Any]
    fn: Callable[..., Any]
    inputs: dict[str, Any]

    def engine(self, **settings: Any) -> Engine:
        return Engine(self.fn, **settings)


QUESTION = {"question": "q"}


WORLDS = {
    "thoughts": World(lambda c, **k: TreeOfThoughts(task=Game24(), controller=c, **k), puzzles, {"numbers": PUZZLE}),
    "text": World(lambda c, **k: TreeOfThoughts("question -> answer", controller=c, **k), words, QUESTION),
    "choices": World(
        lambda c, **k: TreeOfThoughts(task=Game24(), propose="choose", controller=c, **k), choices, {"numbers": PUZZLE}
    ),
    "environment": World(lambda c, **k: LATS(env=Letters(), controller=c, **k), acts(*"abcd"), QUESTION),
    "tools": World(lambda c, **k: LATS("question -> answer", tools=[look_up], controller=c, **k), library, QUESTION),
    "reward": World(
        lambda c, **k: LATS("question -> answer", reward_fn=length, controller=c, **k),
        acts(*(f"attempt {letter}" for letter in "abcdefg")),
        QUESTION,
    ),
    "blocks": World(
        lambda c, **k: RAP(task=Blocksworld(), controller=c, **k), blocks, {"initial": START, "goal": GOAL}
    ),
}
CONTROLLERS = {
    "dfs": DFS(branching=2, max_depth=3),
    "beam": Beam(width=2, branching=2, max_depth=3),
    "best-first": BestFirst(keep=2, branching=2, max_depth=3, expansions=4),
    "mcts": MCTS(rollouts=3, branching=2, max_depth=3),
    "abmcts": ABMCTS(rollouts=5, max_depth=3),
}


# ---- running


def watched(call: Callable[[], Any], seconds: float = WATCH) -> Any:
    """What `call` gives or raises, in a thread that nobody waits for any longer than `seconds`."""
    given: list[Any] = []

    def run() -> None:
        try:
            given.append((call(), None))
        except BaseException as error:
            given.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not given:
        raise AssertionError(f"hung: no result after {seconds} seconds")
    value, error = given[0]
    if error is not None:
        raise error
    return value


def play(program: Any, model: Any, driver: str, **inputs: Any) -> Any:
    """One call of the program, under the watchdog. model: an Engine, or an LM."""

    def run() -> Any:
        with dspy.context(lm=lm(model) if isinstance(model, Engine) else model):
            return asyncio.run(program.acall(**inputs)) if driver == "asyncio" else program(**inputs)

    return watched(run)


def shape(result: Any) -> Any:
    """All that equal runs have in common."""
    nodes = [
        (n.id, n.parent, n.action, n.state, n.status, str(n.reason), n.value, n.verdict, n.visits, n.total)
        for n in result.tree
    ]
    return nodes, result.status, result.ended, result.best.id, result.answer, list(result.tree.lessons)
