"""How long a search takes whose time is up while something hangs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dspy

from thoughtree import aexecute, execute
from thoughtree.search import Budget

from .hanging import HANGING, Hanging
from .hanging_executions import AWAITED, EXECUTIONS, HangingExecution
from .hanging_executions import model as planner
from .hanging_hooks import HOOKS, HangingHook
from .hanging_listeners import LISTENERS, HangingListener, all_logged
from .hanging_lookups import LOOKUPS, HangingLookup, hung_catalog
from .hanging_lookups import model as unknown
from .report import Report, Row, at_most

DEADLINE = 2.0  # seconds
MOST = 2.5
DRIVERS = ("threads", "asyncio")


def run(case: Hanging, driver: str, seconds: float) -> tuple[float, Any]:
    """The seconds that one call took, and its result. RuntimeError if nothing hung in it."""
    taken, found = timed(case, driver, seconds)
    if found.ended is not case.ended or taken < seconds:
        raise RuntimeError(f"nothing hung: {found.summary()}")
    return taken, found


def timed(case: Hanging, driver: str, seconds: float) -> tuple[float, Any]:
    with case.opened() as (program, model, release), dspy.context(lm=model):
        config = {"budget": Budget(seconds=seconds)}

        async def awaited() -> tuple[float, Any]:
            started = time.monotonic()
            found = await program.acall(**case.inputs, config=config)
            taken = time.monotonic() - started
            release()  # a loop is not left before its tasks are
            return taken, found.search

        if driver == "asyncio":
            return asyncio.run(awaited())
        started = time.monotonic()
        found = program(**case.inputs, config=config)
        return time.monotonic() - started, found.search


def hook(case: HangingHook, driver: str, seconds: float, folder: Path) -> tuple[float, Any]:
    """The same where a hook of the task hangs. RuntimeError if it was not reached."""
    config: dict[str, Any] = {}
    if case.journal or case.resumed:
        config["journal"] = folder / f"{driver}-{case.kind.__name__}-{case.hook}.jsonl"
    if case.resumed:
        with HangingHook(case.kind, "none", case.program).opened() as (program, lm, _), dspy.context(lm=lm):
            program(**case.inputs, config=config)
    traced: dict[str, Any] = {"trace": []} if case.traced else {}
    with case.opened() as (program, lm, _), dspy.context(lm=lm, **traced):
        config["budget"] = Budget(seconds=seconds)
        taken, found = called(program, driver, **case.inputs, config=config)
        if found.search.hung != (case.hook,) or taken < seconds:
            raise RuntimeError(f"nothing hung: {found.search.summary()}")
        return taken, found.search


def called(program: Any, driver: str, **inputs: Any) -> tuple[float, Any]:
    """Seconds that a call takes, the end of its loop included, and its prediction."""
    started = time.monotonic()
    found = asyncio.run(program.acall(**inputs)) if driver == "asyncio" else program(**inputs)
    return time.monotonic() - started, found


def listener(case: HangingListener, name: str, driver: str, seconds: float) -> tuple[float, Any]:
    """The same where somebody who listens hangs."""
    with case.opened(name) as (program, lm, _, config, context), dspy.context(lm=lm, **context):
        config["budget"] = Budget(seconds=seconds)
        taken, found = called(program, driver, **case.inputs, config=config)
        if found.search.hung != (case.who,) or taken < seconds:
            raise RuntimeError(f"nothing hung: {found.search.summary()}")
        return taken, found.search


def lookup(case: HangingLookup, driver: str, seconds: float) -> tuple[float, Any]:
    """The same where DSPy's catalog of models is asked, and hangs."""
    with dspy.context(lm=unknown()):
        program, config = case.program(), {"budget": {**case.budget, "seconds": seconds}}
        taken, found = called(program, driver, **case.inputs, config=config)
        if not found.search.hung or taken < seconds:
            raise RuntimeError(f"nothing hung: {found.search.summary()}")
        return taken, found.search


def execution(case: HangingExecution, driver: str, seconds: float) -> tuple[float, Any]:
    """The same where a plan is carried out."""
    with case.opened() as (program, environment, _, context), dspy.context(lm=planner(), **context):
        options: dict[str, Any] = {"inputs": case.inputs, "budget": Budget(seconds=seconds)}
        started = time.monotonic()
        if driver == "asyncio":
            done = asyncio.run(aexecute(program, environment, **options))
        else:
            done = execute(program, environment, **options)
        taken = time.monotonic() - started
        hung = done.plans[0].search.hung if case.of == "listener" else done.hung
        if hung != (case.hook,) or taken < seconds:
            raise RuntimeError(f"nothing hung: {done.status}, {done.why}")
        return taken, done


def measure(data: Path | None = None) -> Report:
    return Report(
        "deadline",
        f"wall time of a search with {DEADLINE:g} seconds, in which something hangs",
        [*rows(), *hook_rows(), *listener_rows(), *lookup_rows(), *execution_rows()],
        [
            "All run at once, then hooks, then listeners, then look-ups in DSPy's catalog of models, then executions. "
            "Unfinished: calls that were left behind, in daemon threads or cancelled tasks."
        ],
    )


def rows() -> Iterator[Row]:
    cases = [(name, driver) for name in HANGING for driver in DRIVERS]
    with ThreadPoolExecutor(len(cases)) as pool:
        results = pool.map(lambda case: run(HANGING[case[0]], case[1], DEADLINE), cases)
        for (name, driver), (seconds, found) in zip(cases, results, strict=True):
            yield at_most(f"{name}, {driver}", seconds, MOST, "s", at=f"{found.unfinished} unfinished")


def hook_rows() -> Iterator[Row]:
    cases = [(name, driver) for name in HOOKS for driver in DRIVERS]
    with TemporaryDirectory() as folder, ThreadPoolExecutor(len(cases)) as pool:
        results = pool.map(lambda case: hook(HOOKS[case[0]], case[1], DEADLINE, Path(folder)), cases)
        for (name, driver), (seconds, found) in zip(cases, results, strict=True):
            yield at_most(f"hook {name}, {driver}", seconds, MOST, "s", at=f"{found.unfinished} unfinished")


def listener_rows() -> Iterator[Row]:
    cases = [(name, driver) for name in LISTENERS for driver in DRIVERS]
    with all_logged(), ThreadPoolExecutor(len(cases)) as pool:
        searches = [(LISTENERS[name], f"Listened{i}x", driver, DEADLINE) for i, (name, driver) in enumerate(cases)]
        results = pool.map(lambda search: listener(*search), searches)
        for (name, driver), (seconds, found) in zip(cases, results, strict=True):
            yield at_most(f"listener {name}, {driver}", seconds, MOST, "s", at=f"{found.unfinished} unfinished")


def lookup_rows() -> Iterator[Row]:
    cases = [(name, driver) for name in LOOKUPS for driver in DRIVERS]
    with hung_catalog(), ThreadPoolExecutor(len(cases)) as pool:
        results = pool.map(lambda case: lookup(LOOKUPS[case[0]], case[1], DEADLINE), cases)
        for (name, driver), (seconds, found) in zip(cases, results, strict=True):
            yield at_most(f"catalog, {name}, {driver}", seconds, MOST, "s", at=f"{found.unfinished} unfinished")


def execution_rows() -> Iterator[Row]:
    cases = [(name, case, driver) for name, case in EXECUTIONS.items() for driver in DRIVERS]
    cases += [(name, case, "asyncio") for name, case in AWAITED.items()]
    with ThreadPoolExecutor(len(cases)) as pool:
        results = pool.map(lambda case: execution(case[1], case[2], DEADLINE), cases)
        for (name, _, driver), (seconds, done) in zip(cases, results, strict=True):
            yield at_most(f"execution, {name}, {driver}", seconds, MOST, "s", at=f"{len(done.steps)} steps done")
