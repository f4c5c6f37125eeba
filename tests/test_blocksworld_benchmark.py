"""The benchmarks of Blocksworld and crosswords measure what they say: by hand, and on the recorded data where it is."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarked import DATA, benchmark, recorded_data
from thoughtree.tasks import BlockMove, Blocksworld, BlocksworldState, Crosswords

blocksworld, checker, crosswords = map(benchmark, ("blocksworld", "blocksworld_checker", "crosswords"))
noisy_planning, noisy_world, rap = map(benchmark, ("noisy_planning", "noisy_world", "rap_blocksworld"))

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


# -- planning in a predicted world

KNOBS = noisy_planning.Knobs(judged=0.7, exploration=0.1)


def model(world: float, judge: float, kind: Any = None) -> Any:
    distances = blocksworld.Distances().of(SWAP.start)
    return (kind or noisy_world.Model)(SWAP, noisy_world.Noise(world, judge), distances)


def test_a_faultless_model_plans_as_short_as_can_be() -> None:
    planned = noisy_planning.plan(SWAP, 30, model(0, 0), KNOBS)
    assert (planned.right, planned.expansions) == (True, 6)  # straight to the goal, as each step is judged right
    assert noisy_planning.carry_out(SWAP, 30, model(0, 0), KNOBS) == planned


class WrongOnce(noisy_world.Model):  # type: ignore[misc,name-defined]
    """Believes that c is on a as soon as b is on c."""

    def step(self, state: BlocksworldState, move: BlockMove) -> Any:
        stepped = super().step(state, move)
        if move.verb == "put down" and not self.observed.get((state.facts, str(move))):
            met = BlocksworldState(frozenset({"on(b,c)", "on(c,a)", "ontable(a)"}), state.goal, stepped.state.plan)
            return type(stepped)(met, met.facts, solved=True)
        return stepped


def test_a_wrong_prediction_spoils_a_plan_and_is_put_right_on_the_way() -> None:
    wrong = model(0, 0, WrongOnce)
    assert not noisy_planning.plan(SWAP, 30, wrong, KNOBS).right
    done = noisy_planning.carry_out(SWAP, 30, wrong, KNOBS)
    assert done.right
    assert done.expansions <= 30


@pytest.mark.parametrize("rollouts", [1, 5, 20])
def test_all_plans_together_keep_to_the_rollouts(rollouts: int) -> None:
    assert noisy_planning.carry_out(SWAP, rollouts, model(1, 1), KNOBS).expansions <= rollouts


def test_half_a_plan_is_acted_on_and_gone_on_from() -> None:
    """Two expansions a plan, and six steps to the goal, each judged right: two steps a plan."""
    few = noisy_planning.Knobs(judged=0.7, exploration=0.1, each=2)
    assert noisy_planning.carry_out(SWAP, 6, model(0, 0), few) == noisy_planning.Planned(True, 6)
    assert not noisy_planning.plan(SWAP, 2, model(0, 0), few).right


def test_without_the_table_states_are_searched_again() -> None:
    table = noisy_planning.Knobs(judged=0.0, exploration=1.0)
    plain = noisy_planning.Knobs(judged=0.0, exploration=1.0, table=False)
    start = SWAP.start
    met = [noisy_planning.search(start, 22, model(0, 0), knobs) for knobs in (table, plain)]
    seen = [[node.state.facts for node in result.tree if node.children] for result in met]
    assert len(set(seen[0])) == len(seen[0])
    assert len(set(seen[1])) < len(seen[1])


def test_knobs_are_picked_on_one_half_and_measured_on_the_other() -> None:
    case = rap.Case(SWAP, blocksworld.Distances().of(SWAP.start))
    deaf = noisy_planning.Knobs(judged=0.0, exploration=0.1)
    assert rap.picked([case], noisy_world.NONE, [KNOBS, KNOBS, deaf]) is KNOBS  # the first among equals
    equal = rap.matched([case], 6.0, deaf)
    assert equal.expansions >= 6.0
    easy = problem("on(a,b), ontable(b)", "on(b,a)", 4)
    rows = list(rap.rows([easy, SWAP]))
    assert all(row.met is None for row in rows)  # what is to be reached was counted on other problems
    solved = {row.figure: row.measured for row in rows}
    assert solved["picked for the control: solved there"] == 1.0
    assert solved["100 rollouts: control, as many rollouts"] == 1.0


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
