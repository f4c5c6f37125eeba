"""Runs that are killed: `python kill_runs.py FOLDER` reads cases, a JSON line each, and tells what happened, likewise.

It imports once and stays single-threaded, so that it may fork: the model's process for each case, and each run. A run
is killed with SIGKILL by the model's process at a given call, or from here after a given time.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import dspy

from kill_engine import AsyncForwarding, Forwarding, digest, serve
from stacking import GOAL, START
from stacking import world as blocks
from thoughtree import ABMCTS, DFS, LATS, MCTS, RAP, Beam, BestFirst, Blocksworld, Game24, TreeOfThoughts
from thoughtree.optimize import Evaluate
from thoughtree.search.environment import Observed
from thoughtree.search.saving import dump
from thoughtree.tasks import Game24State

LONGEST = 100.0  # seconds that a run may take


def u(*words: Any) -> float:
    """A number from 0 to 1, the same in every process."""
    return int(sha256(repr(words).encode()).hexdigest()[:8], 16) / 16**8


def puzzler(kind: Any, inputs: dict[str, str]) -> Any:
    """Plays a Game of 24 by chance, and now and then says what cannot be read."""
    state = inputs["search_state"]
    if "next_thoughts" in kind:
        numbers = state.split()
        state24 = Game24State(*(tuple(map(_number, numbers)),) * 2)
        moves = sorted(map(str, Game24().moves(state24)), key=lambda move: u(state, move))
        return {"next_thoughts": "\n".join(f"{i}. {move}" for i, move in enumerate(moves[:4], 1))}
    if u("unread", state) < 0.1:
        return "who knows"
    return {"rating_reasoning": "r", "thought_rating": ["sure", "maybe", "impossible"][int(3 * u("rate", state))]}


def _number(text: str) -> Any:
    return Fraction(text)


def writer(kind: Any, inputs: dict[str, str]) -> Any:
    """Free text."""
    path = inputs.get("search_path", ""), inputs["question"]
    if "next_thoughts" in kind:
        return {"next_thoughts": "\n".join(f"{i}. step {u(path, i):.6f}" for i in range(1, 5))}
    if "thought_ratings" in kind:
        shown = inputs["search_candidates"]
        words = [["sure", "maybe"][int(2 * u("rate", path, shown, i))] for i in range(len(shown.splitlines()))]
        return {"thought_ratings": "\n".join(f"{i}. {word}" for i, word in enumerate(words, 1))}
    if "thought_rating" in kind:
        return {"rating_reasoning": "r", "thought_rating": ["sure", "maybe", "impossible"][int(3 * u("rate", path))]}
    return {"answer": f"after {u(path)}"}


class Corridor:
    """An environment of three doors a room, ten rooms deep: behind some doors one has failed."""

    signature = "house -> doors"

    def initial(self, inputs: dict[str, Any]) -> tuple[str, ...]:
        return ()

    def step(self, state: tuple[str, ...], action: str) -> Observed:
        after = (*state, action)
        failed = u("trap", after) < 0.5 or len(after) == 6
        value = u("worth", after) / 2 if failed else None
        return Observed(after, observation=f"room {u(after):.4f}", failed=failed, value=value, key=after)

    def answer(self, state: tuple[str, ...]) -> dict[str, Any]:
        return {"doors": " ".join(state)}


def walker(kind: Any, inputs: dict[str, str]) -> Any:
    seen = inputs.get("search_path", ""), inputs.get("search_lessons", "")
    if "next_action" in kind:
        return {"act_reasoning": "r", "next_action": ["left", "middle", "right"][int(3 * u("go", seen))]}
    if "attempt_score" in kind:
        return {"judge_reasoning": "r", "attempt_score": f"{u('judge', seen):.2f}"}
    return {"attempt_lesson": f"lesson {u('lesson', seen):.4f}"}


EVALUATION = "evaluation"  # of a program, over a dev set
NUMBERS = {"numbers": "4 9 10 13"}
PROGRAMS: dict[str, tuple[Callable[[], Any], dict[str, Any], Callable[[Any, dict[str, str]], Any]]] = {
    "dfs": (lambda: TreeOfThoughts(task=Game24(), controller=DFS(branching=4)), NUMBERS, puzzler),
    "beam": (
        lambda: TreeOfThoughts("question -> answer", controller=Beam(width=3, branching=4, max_depth=3)),
        {"question": "q"},
        writer,
    ),
    "best-first": (lambda: TreeOfThoughts(task=Game24(), controller=BestFirst(branching=4, keep=3)), NUMBERS, puzzler),
    "mcts": (
        lambda: TreeOfThoughts(
            "question -> answer", controller=MCTS(rollouts=12, branching=3, max_depth=4, simulate=True), rate="siblings"
        ),
        {"question": "q"},
        writer,
    ),
    "ab-mcts": (
        lambda: TreeOfThoughts("question -> answer", controller=ABMCTS(rollouts=12), propose="samples"),
        {"question": "q"},
        writer,
    ),
    "lats": (lambda: LATS(env=Corridor(), controller=MCTS(rollouts=12, branching=2)), {"house": "h"}, walker),
    "rap": (
        lambda: RAP(task=Blocksworld(), controller=MCTS(rollouts=9, max_depth=3)),
        {"initial": START, "goal": GOAL},
        lambda kind, inputs: blocks(kind, inputs, 0),
    ),
    "rap, three rollouts at once": (
        lambda: RAP(task=Blocksworld(), controller=MCTS(rollouts=9, max_depth=3, at_once=3)),
        {"initial": START, "goal": GOAL},
        lambda kind, inputs: blocks(kind, inputs, 0),
    ),
}


def shown(found: Any) -> dict[str, Any]:
    """All of a result but the time that it took."""

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            if isinstance(spent := value.get("spent"), list):  # a node's: calls, tokens, dollars, seconds
                value = {**value, "spent": spent[:3]}
            return {name: timeless(item) for name, item in value.items() if name not in ("seconds", "unfinished")}
        return [timeless(item) for item in value] if isinstance(value, list) else value

    told: dict[str, Any] = timeless(json.loads(json.dumps(dump(found.search), default=str)))
    return told | {
        "fields": {name: str(value) for name, value in found.items()},
        "rollouts": repr(found.search.tree.rollouts),
    }


def scored(result: Any) -> dict[str, Any]:
    """All of an evaluation's result but the time that it took, and which examples an earlier run had finished."""
    outcomes = [
        [o.index, o.score, o.prediction.answer, o.spent.calls, o.spent.tokens, o.error] for o in result.outcomes
    ]
    return {"score": result.score, "outcomes": outcomes, "not_run": result.not_run}


def on_disk(path: Path) -> list[str]:
    """The digests of the prompts that the whole lines of a journal, or of all in a folder, hold the replies to."""
    if path.is_dir():
        return [prompt for journal in sorted(path.glob("journals/**/*.jsonl")) for prompt in on_disk(journal)]
    content = path.read_bytes() if path.exists() else b""
    lines = content[: content.rfind(b"\n") + 1].splitlines()[1:]
    return [digest(call["messages"][-1]["content"]) for line in lines for call in json.loads(line).get("calls", ())]


def searched(program: str, driver: str, journal: Path) -> dict[str, Any]:
    """One call of a program."""
    make, inputs, _ = PROGRAMS[program]
    solve, config = make(), {"journal": journal}
    if driver == "asyncio":
        return shown(asyncio.run(solve.acall(**inputs, config=config)))
    return shown(solve(**inputs, config=config))


def evaluated(driver: str, folder: Path) -> dict[str, Any]:
    """Seven examples, four at a time, each a search with two calls in flight."""
    program = TreeOfThoughts("question -> answer", controller=Beam(width=2, branching=2, max_depth=2), concurrency=2)
    evaluate = Evaluate(
        devset=[dspy.Example(question=f"q{i}").with_inputs("question") for i in range(7)],
        metric=lambda example, prediction, trace=None: u("worth", prediction.answer),
        num_threads=4,
        resume=folder,
    )
    return scored(asyncio.run(evaluate.acall(program)) if driver == "asyncio" else evaluate(program))


class Case:
    """One program under one driver."""

    def __init__(self, folder: Path, program: str, driver: str, seed: int) -> None:
        self.program, self.driver, self.folder, self.rng = program, driver, folder, random.Random(seed)
        reply = writer if program == EVALUATION else PROGRAMS[program][2]
        self.runs = 0
        address = folder / "model"
        address.unlink(missing_ok=True)
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(address))
        server.listen(128)
        self.address = str(address)
        self.control, theirs = socket.socketpair()
        self.model = os.fork()
        if not self.model:
            self.control.close()
            try:
                serve(server, theirs, reply, seed)
            finally:
                os._exit(0)
        server.close()
        theirs.close()

    def close(self) -> None:
        self.control.close()
        os.waitpid(self.model, 0)

    def order(self, **order: Any) -> dict[str, list[str]]:
        """To the model's process; back come the prompts that it was asked, by run."""
        self.control.sendall(json.dumps(order).encode() + b"\n")
        with self.control.makefile("rb") as told:
            asked: dict[str, list[str]] = json.loads(told.readline())
        return asked

    def start(self, journal: Path, result: Path) -> int:
        self.runs += 1
        if pid := os.fork():
            return pid
        code = 1
        try:
            self.control.close()
            engines = [kind(self.address, self.runs) for kind in (Forwarding, AsyncForwarding)]
            model = dspy.LM("stub/model", engine=engines[0], async_engine=engines[1], cache=False)
            with dspy.context(lm=model):
                if self.program == EVALUATION:
                    found = evaluated(self.driver, journal)
                else:
                    found = searched(self.program, self.driver, journal)
            result.write_text(json.dumps(found))
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)  # no exit handlers, no buffers of the parent's

    def run(self, name: str, kill_at: int = 0, answered: bool = False, after: float | None = None) -> dict[str, Any]:
        """One run. kill_at: the call at which it is killed. after: seconds until it is killed, whatever it does."""
        journal, result = self.folder / name, self.folder / "result.json"
        result.unlink(missing_ok=True)
        before = on_disk(journal)
        if kill_at:
            self.order(kill=[self.runs + 1, kill_at, answered])
        began = time.monotonic()
        pid = self.start(journal, result)
        try:
            if after is not None:
                time.sleep(after)
                os.kill(pid, signal.SIGKILL)
            status = _ended(pid, began)
        except BaseException:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            raise
        code = os.waitstatus_to_exitcode(status)
        return {
            "killed": code == -signal.SIGKILL,
            "code": code,
            "before": before,
            "after": on_disk(journal),
            "asked": self.order().get(str(self.runs), []),
            "result": json.loads(result.read_text())
            if result.exists() and not os.waitstatus_to_exitcode(status)
            else None,
            "seconds": time.monotonic() - began,
        }


def _ended(pid: int, began: float) -> int:
    """The status of a run that has ended, by itself or not. TimeoutError where it does neither."""
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        if time.monotonic() - began > LONGEST:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise TimeoutError(f"a run of {LONGEST} s")
        time.sleep(0.001)


def killed(case: Case, kills: int) -> dict[str, Any]:
    """Runs of one program: an unbroken one, and others that are killed and resumed, until they are done."""
    whole, rng = case.run("unbroken"), case.rng
    histories: list[list[dict[str, Any]]] = []
    while kills > 0:
        name, history = f"{len(histories)}", []
        histories.append(history)
        while True:
            left = len(whole["asked"]) - len(on_disk(case.folder / name))
            if kills <= 0 or left <= 0:
                found = case.run(name)
            elif rng.random() < 0.3:
                found = case.run(name, after=rng.uniform(0.0, 0.7 * whole["seconds"]))
            else:
                found = case.run(name, rng.randint(1, max(1, min(left, len(whole["asked"]) // 4))), rng.random() < 0.6)
            history.append(found)
            kills -= found["killed"]
            if not found["killed"]:
                break
        history.append(case.run(name))  # once more: all is on disk
    return {"unbroken": whole, "histories": histories, "threads": threading.active_count()}


def main() -> None:
    folder = Path(sys.argv[1])
    for line in sys.stdin:
        order = json.loads(line)
        work = folder / str(order["seed"])
        work.mkdir()
        case = Case(work, order["program"], order["driver"], order["seed"])
        try:
            told = killed(case, order["kills"])
        except Exception as error:
            told = {"error": f"{type(error).__name__}: {error}"}
        finally:
            case.close()
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
