"""The benchmarks of Blocksworld and crosswords measure what they say: by hand, and on the recorded data where it is."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from thoughtree.tasks import BlockMove, Blocksworld, BlocksworldState, Crosswords

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("THOUGHTREE_SHARED") or ROOT.parent / "shared") / "data"
recorded_data = pytest.mark.skipif(
    not (DATA / "sets").is_dir(), reason=f"the recorded data is not there ({DATA}); set THOUGHTREE_SHARED"
)


def _benchmarks(name: str) -> Any:
    """A module of the benchmarks, which are not installed; the root folder stays out of sys.path."""
    if "benchmarks" not in sys.modules:
        folder = ROOT / "benchmarks"
        spec = importlib.util.spec_from_file_location(
            "benchmarks", folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules["benchmarks"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["benchmarks"])
    return importlib.import_module(f"benchmarks.{name}")


blocksworld, checker, crosswords = map(_benchmarks, ("blocksworld", "blocksworld_checker", "crosswords"))

# -- the independent checker

TOWER = ("on(a,b)", "ontable(b)", "ontable(c)", "clear(a)", "clear(c)", "handempty")
PLAN = ("(unstack a b)", "(put-down a)", "(pick-up b)", "(stack b c)")


@pytest.mark.parametrize(
    ("plan", "right"),
    [
        (PLAN, True),
        (PLAN[:3], False),  # the goal is not met
        (PLAN[1:], False),  # a is not held
        ((*PLAN[:2], "(pick-up b)", "(stack b b)"), False),
        ((*PLAN, "(unstack b c)"), False),  # met, and lost again
        ((*PLAN[:3], "(stack b)"), False),
        ((*PLAN[:3], "(drop b)"), False),
        ((), False),
    ],
)
def test_checker(plan: tuple[str, ...], right: bool) -> None:
    assert checker.reaches(TOWER, ["on(b,c)"], plan) is right


# -- estimates and searches


def problem(initial: str, goal: str, optimal: int) -> Any:
    start = Blocksworld().initial({"initial": initial, "goal": goal})
    return blocksworld.Problem(start, (), optimal, 0)


SWAP = problem("on(a,b), ontable(b), ontable(c)", "on(b,c), on(c,a)", 6)


def test_estimates() -> None:
    start = SWAP.start
    held = Blocksworld().apply(start, BlockMove("pick up", "c"))
    assert isinstance(held, BlocksworldState)
    assert [blocksworld.on_facts_left(state) for state in (start, held)] == [4, 3]
    assert [blocksworld.goals_left(state) for state in (start, held)] == [2, 2]
    distances = blocksworld.Distances()
    of = distances.of(start)
    assert len(of) == 22  # three blocks: 13 ways to stand, and 3 x 3 with one of them in the hand
    assert (of[start.facts], of[held.facts]) == (6, 7)
    assert distances.of(held) == of
    assert len(distances.graphs) == 1


def test_searches_of_one_problem() -> None:
    distances = blocksworld.Distances().of(SWAP.start)
    perfect = blocksworld.search(SWAP, lambda state: float(distances[state.facts]), cost=0.0)
    astar = blocksworld.search(SWAP, blocksworld.on_facts_left)
    breadth = blocksworld.search(SWAP, lambda state: 0.0)
    assert (perfect.expansions, perfect.length, perfect.right) == (6, 6, True)
    assert (astar.length, astar.right) == (breadth.length, breadth.right) == (6, True)
    assert perfect.expansions <= astar.expansions <= breadth.expansions <= 22


def test_a_wrong_recorded_plan_is_counted() -> None:
    right = blocksworld.Problem(SWAP.start, ("(unstack a b)", "(put-down a)"), 6, 0)
    wrong = blocksworld.Problem(SWAP.start, ("(pick-up b)",), 6, 0)
    assert blocksworld.illegal_steps(right) == 1  # it stops before the goal
    assert blocksworld.illegal_steps(wrong) == 1


@recorded_data
def test_recorded_problems() -> None:
    given = blocksworld.problems(DATA)[::12]
    astar = blocksworld.search_all(given, lambda p: blocksworld.on_facts_left)
    assert sum(map(blocksworld.illegal_steps, given)) == 0
    assert astar.optimal == astar.right == len(given)


# -- crosswords: a game written by hand, of which the surest word is wrong

CLUES = [f"clue {k}" for k in range(10)]
SOLUTION = "BRINERIVALAVOIDNERVEDRYER"


def board(*cells: str) -> str:
    return "".join(cells).ljust(25, "_")


EMPTY, BRINK, BRINE, RIVAL = board(), board("BRINK"), board("BRINE"), board("_____RIVAL")
BOTH = board("BRINE", "RIVAL")
GAME = {
    "clues": CLUES,
    "solution": SOLUTION,
    "proposals": {
        f"{EMPTY}|0000000000": [["h1. brink", 2.0], ["h1. brine", 1.5], ["h2. rival", 0.5], ["h3. avoid", 0.1]],
        f"{BRINE}|1000000000": [["h1. brink", 3.0], ["v1. crane", 2.0], ["h2. rival", 1.0]],
        f"{RIVAL}|0100000000": [["h1. brine", 1.0]],
    },
    "prune": [
        ["h1. brink", BRINK, 0, 0, 1, 4 / 25, 0.0],
        ["h1. brine", BRINE, 1, 0, 0, 5 / 25, 0.1],
        ["h1. brine;h2. rival", BOTH, 2, 0, 0, 10 / 25, 0.2],
        ["h2. rival", RIVAL, 1, 0, 0, 5 / 25, 0.1],
        ["h2. rival;h1. brine", BOTH, 2, 0, 0, 10 / 25, 0.2],
    ],
    "no_prune": [],
}


def test_a_game_is_played_as_it_was_recorded() -> None:
    played = crosswords.play(crosswords.Game(GAME, Crosswords(repeats=True)), crosswords.PAPERS)
    assert played.visits == [tuple(visit[:2]) for visit in GAME["prune"]]
    assert (played.again, played.unknown, played.expanded) == (1, 0, 5)  # all but brink, and the root
    assert played.best.words == 0.2
    assert crosswords.deepest(played.visits, SOLUTION).letters == 10 / 25
    assert crosswords._unlike(GAME) == 0


def test_the_limit_is_on_visits() -> None:
    game = crosswords.Game(GAME, Crosswords(repeats=True))
    assert len(crosswords.play(game, crosswords.PAPERS, visits=3).visits) == 3


def test_with_a_transposition_table_no_board_is_visited_again() -> None:
    played = crosswords.play(crosswords.Game(GAME, Crosswords()), crosswords.TABLE)
    assert [path for path, _ in played.visits] == ["h1. brink", "h1. brine", "h1. brine;h2. rival", "h2. rival"]
    assert (played.again, played.duplicates) == (0, 1)


@recorded_data
def test_recorded_games() -> None:
    rows = crosswords.recorded_games(DATA)[:4]
    for row in rows:
        played = crosswords.play(crosswords.Game(row, Crosswords(repeats=True)), crosswords.PAPERS)
        assert played.visits == [tuple(visit[:2]) for visit in row["prune"]]
        table = crosswords.play(crosswords.Game(row, Crosswords()), crosswords.TABLE)
        assert table.again == 0
        assert crosswords._unlike(row) == 0
