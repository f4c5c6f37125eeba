"""Whatever hangs, a search whose time is up ends with the best so far. How soon is measured in benchmarks/deadline."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarked import benchmark
from faultworlds import watched
from thoughtree import SearchStatus

deadline, hanging = map(benchmark, ("deadline", "hanging"))
SECONDS = 1.5
# What hangs in the others is the first step, before anything is found.
FOUND = {"LM call", "retry-after of 60 s", "closing call", "proposing function", "rating function", "rating generator"}


@pytest.mark.parametrize("driver", deadline.DRIVERS)
def test_a_search_whose_time_is_up_ends_with_the_best_so_far(driver: str) -> None:
    """All at once, as each takes the whole of its time; `run` raises where a search ended for another reason."""
    names = list(hanging.HANGING)
    with ThreadPoolExecutor(len(names)) as pool:
        found = pool.map(lambda name: watched(lambda: deadline.run(hanging.HANGING[name], driver, SECONDS)[1]), names)
        results = dict(zip(names, found, strict=True))
    assert {name for name in names if results[name].path} == FOUND
    assert {name for name in names if results[name].status is SearchStatus.UNVERIFIED} == FOUND
    assert {name for name in names if results[name].status is SearchStatus.FAILED} == set(names) - FOUND


def test_the_benchmark_says_where_nothing_hung() -> None:
    calm = hanging.Hanging(lambda hang: hanging.thoughts(answer="path"))
    with pytest.raises(RuntimeError, match="nothing hung"):
        deadline.run(calm, "threads", 30.0)
