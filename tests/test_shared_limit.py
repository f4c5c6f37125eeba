"""A limit that processes share: none of them makes a call that is one too many for all."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dspy
import pytest

from engines import lm
from patience import PATIENCE
from puzzle24 import PUZZLE, engine
from thoughtree import Beam, Game24, TreeOfThoughts
from thoughtree.modules.calls.limit import Refusal
from thoughtree.search.protocol import Usage
from thoughtree.shared_limit import SharedLimit


def test_what_one_has_spent_the_other_has_not(tmp_path: Path):
    one, other = (SharedLimit(tmp_path / "spent", calls=3, cost=1.0) for _ in range(2))
    one.enter(2, None)
    one.leave(unused=1)
    one.add(10, 0.25, 2.0)
    assert other.spent == Usage(1, 10, 0.25, 2.0)
    assert other.left == {"calls": 2, "cost": 0.75}
    other.enter(2, None)
    with pytest.raises(Refusal, match=r"limit\(calls=3\) is used up"):
        one.enter(1, None)
    other.add(0, None, 0.0, "stub/model")
    with pytest.raises(Refusal, match="the price of a model that was called is unknown"):
        one.check()
    assert SharedLimit(tmp_path / "spent", calls=9).spent.calls == 3  # of whoever comes later, too


def test_a_stop_is_one_for_all(tmp_path: Path):
    one, other = (SharedLimit(tmp_path / "spent") for _ in range(2))
    one.stop()
    with pytest.raises(Refusal, match="stopped from outside"):
        other.check()


def test_searches_of_several_share_it(tmp_path: Path):
    model = engine()

    def work(number: int) -> int:
        program = TreeOfThoughts(task=Game24(), controller=Beam(width=2))
        with dspy.context(lm=lm(model)), SharedLimit(tmp_path / "spent", calls=20):
            return int(program(numbers=PUZZLE).search.spent.calls)

    with ThreadPoolExecutor(3) as pool:
        spent = list(pool.map(work, range(3)))  # twelve calls each, if they were let
    assert sum(spent) == model.count() == 20


PROCESS = """
import sys
from pathlib import Path
from thoughtree.modules.calls.limit import Refusal
from thoughtree.shared_limit import SharedLimit

purse, calls = SharedLimit(Path(sys.argv[1]), calls=300), 0
try:
    while True:
        purse.enter(1, None)
        purse.leave()
        calls += 1
except Refusal:
    print(calls)
"""


@pytest.mark.slow
def test_processes_make_as_many_calls_as_it_says(tmp_path: Path):
    command = [sys.executable, "-c", PROCESS, str(tmp_path / "spent")]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert sum(int(child.communicate(timeout=PATIENCE)[0]) for child in children) == 300
