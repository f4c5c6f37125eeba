"""DSPy fetches its catalog of models once a process. Where that hangs, it holds up no deadline, no stop and no loop.

The server sends one byte after the other, until it is released: a search that waits for it never ends, and the watchdog
says so. How soon a search ends is measured in benchmarks/deadline.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dspy
import pytest

from benchmarked import benchmark
from faultworlds import watched
from patience import in_time
from thoughtree import SearchStatus
from thoughtree.search import Ended, Stop

(lookups,) = map(benchmark, ("hanging_lookups",))
DRIVERS = ("threads", "asyncio")
SECONDS = 0.5
CATALOG = ("DSPy's catalog of models",)
PRICE = lookups.LOOKUPS["price, under a ceiling in dollars"]


def call(case: Any, driver: str, **config: Any) -> Any:
    with dspy.context(lm=lookups.model()):
        if driver == "asyncio":
            return asyncio.run(case.program().acall(**case.inputs, config=config)).search
        return case.program()(**case.inputs, config=config).search


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_search_whose_look_up_hangs_ends_in_time_and_pays_nothing(driver: str) -> None:
    def found(name: str) -> Any:
        case = lookups.LOOKUPS[name]

        def attempt(seconds: float) -> Any:
            search = call(case, driver, budget={**case.budget, "seconds": seconds})
            return search if search.hung else None  # else the time was up before it began

        return watched(lambda: in_time(attempt, SECONDS))

    names = list(lookups.LOOKUPS)
    with lookups.hung_catalog(), ThreadPoolExecutor(len(names)) as pool:
        results = dict(zip(names, pool.map(found, names), strict=True))
    for name, search in results.items():
        assert (search.hung, search.ended, search.status) == (CATALOG, Ended.SECONDS, SearchStatus.FAILED), name
        assert (search.spent.calls, search.path) == (0, []), name
        assert any(CATALOG[0] in warning for warning in search.warnings), name


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_stop_ends_a_search_whose_look_up_hangs(driver: str) -> None:
    stop = Stop()
    with lookups.hung_catalog() as catalog:
        threading.Thread(target=lambda: (catalog.reached.wait(), stop()), daemon=True).start()
        search = watched(lambda: call(PRICE, driver, stop=stop, budget=PRICE.budget))
    assert (search.hung, search.ended, search.spent.calls) == (CATALOG, Ended.STOPPED, 0)


@pytest.mark.parametrize("seconds", [{}, {"seconds": 600}], ids=["no deadline", "a deadline"])
def test_the_event_loop_runs_on_while_the_catalog_is_fetched(seconds: dict[str, int]) -> None:
    """It is somebody on the loop who lets it come; then what it does not list is refused, as ever."""

    async def beside(catalog: Any) -> None:
        async def releases() -> None:
            while not catalog.reached.is_set():
                await asyncio.sleep(0.01)
            catalog.released.set()

        with dspy.context(lm=lookups.model("openai/of-no-price")):
            asked = PRICE.program().acall(**PRICE.inputs, config={"budget": {**PRICE.budget, **seconds}})
            await asyncio.gather(asked, releases())

    with (
        lookups.hung_catalog() as catalog,
        pytest.raises(ValueError, match=r"the price of openai/of-no-price \(role propose\) is unknown"),
    ):
        watched(lambda: asyncio.run(beside(catalog)))
