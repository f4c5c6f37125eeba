"""The benchmarks measure what they say: small inputs of known results, and golden counts where data is."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from benchmarked import DATA, benchmark, recorded_data
from journals import replies as written
from thoughtree.search import Beam, BestFirst, Illegal
from thoughtree.tasks import Game24, Game24State, Move, stepping

checker, controls, core, data = map(benchmark, ("checker", "controls", "core", "data"))
endless, game24, gpt4like, lies = map(benchmark, ("endless", "game24", "gpt4like", "lies"))
recorded, replay, report, schedule = map(benchmark, ("recorded", "replay", "report", "schedule"))
stub, stub_policy = map(benchmark, ("stub", "stub_policy"))

EASY = data.Puzzle((1, 1, 1, 8), "dev")  # 7 states after one move, 32 after two


def state(*numbers: int | Fraction) -> Game24State:
    return Game24State(numbers, numbers)


# ---- the independent checker


@pytest.mark.parametrize(
    ("expression", "numbers", "right"),
    [
        ("(10 - 4) * (13 - 9)", (4, 9, 10, 13), True),
        ("8 / (3 - 8 / 3)", (3, 3, 8, 8), True),
        ("4 * 6", (4, 6), True),
        ("4 * 6", (4, 6, 1), False),  # one is left over
        ("4 * 6 * 1 * 1", (4, 6, 1), False),  # one is used twice
        ("4 + 6", (4, 6), False),
        ("4 * 6.0", (4, 6), False),
        ("24", (4, 6), False),
        ("2 ** 3 * 3", (2, 3, 3), False),
        ("(4 / 0) * 6", (0, 4, 6), False),
        ("print(24)", (24,), False),
        ("4 * ", (4,), False),
    ],
)
def test_checker(expression: str, numbers: tuple[int, ...], right: bool) -> None:
    assert checker.proves(expression, numbers) is right


# ---- the stub policy


def test_coins_are_52_bits_of_a_hash() -> None:
    # The first 13 hex digits of sha256sum over the joined text.
    assert stub_policy.u(0, "val", "4 5 6 10", "6 9 10") == int("3db130fb2eb55", 16) / 2**52
    assert stub_policy.u(2, "prop", "1 1 1 8", "1 1 1 8>1 2 8") == int("279b07b3cddeb", 16) / 2**52


def test_a_perfect_policy_lists_all_successors_in_order_and_knows_the_truth() -> None:
    policy = stub_policy.StubPolicy(stub_policy.CONFIGS["perfect"], "4 6")
    task = Game24()
    reached = [task.apply(state(4, 6), move).numbers[0] for move in policy.propose(state(4, 6))]
    assert reached == [-2, Fraction(2, 3), Fraction(3, 2), 2, 10, 24]
    assert policy.rate(state(4, 6)) == 20.0
    assert policy.rate(state(1, 1)) == 0.001


def test_noise_of_one_half_drops_the_coins_above_it() -> None:
    policy = stub_policy.StubPolicy(stub_policy.CONFIGS["recall 0.5, perfect value"], "4 6", seed=1)
    task = Game24()
    coins = {n: stub_policy.u(1, "prop", "4 6", f"4 6>{n}") for n in ("-2", "2/3", "3/2", "2", "10", "24")}
    kept = [task.render(task.apply(state(4, 6), move)) for move in policy.propose(state(4, 6))]
    assert kept == [n for n, coin in coins.items() if coin < 0.5]


@recorded_data
@pytest.mark.parametrize("algorithm", ["beam5", "dfs(100)", "best-first(16)"])
def test_golden_counts(algorithm: str) -> None:
    puzzles = [puzzle for puzzle in data.papers_puzzles(DATA) if puzzle.split == "dev"]
    (wanted,) = (
        counts
        for row, split, counts in stub.golden(DATA)
        if (row["config"], row["algorithm"], row["seed"], split) == ("gpt4-like", algorithm, 0, "dev")
    )
    got = stub.counts(puzzles, "gpt4-like", algorithm, 0)
    assert [got.solved, got.puzzles, got.proposals, got.ratings] == wanted
    assert got.false == 0


@recorded_data
def test_golden_counts_by_a_whole_program() -> None:
    puzzles = [puzzle for puzzle in data.papers_puzzles(DATA) if puzzle.split == "dev"]
    core, program = (count(puzzles, "gpt4-like", "best-first(100)", 0) for count in (stub.counts, stub.program_counts))
    assert program == core
    assert (core.solved, core.proposals, core.ratings) == (26, 579, 1000)


# ---- controls


def test_exhaustive_search_expands_every_state_that_has_a_move() -> None:
    got = controls.exhaustive([EASY])
    assert (got.solved, got.proposals) == (1, 1 + 7 + 32)


def test_a_perfect_proposer_takes_three_expansions() -> None:
    got = controls.perfect_proposer([EASY])
    assert (got.solved, got.proposals, got.false) == (1, 3, 0)


def test_random_order_keeps_to_its_expansions_and_is_the_seeds() -> None:
    few = controls.random_order([EASY], expansions=2, seeds=range(4))
    assert (few.puzzles, few.solved, few.proposals) == (4, 0, 8)  # three moves cannot be made in two
    long = [controls.random_order([EASY], seeds=[seed]) for seed in (0, 0, 1, 2)]
    assert [got.solved for got in long] == [1, 1, 1, 1]
    assert long[0] == long[1]
    assert len({got.proposals for got in long}) > 1


# ---- the front


def test_the_front_is_the_most_solved_at_no_more_calls() -> None:
    front = gpt4like.Front(((10, 5), (20, 9), (30, 7)))
    assert [front.at(calls) for calls in (9, 10, 19, 20, 35)] == [0, 5, 5, 9, 9]


# ---- lies


def test_without_lies_every_line_reads_as_the_move_that_it_states() -> None:
    strict = Game24(strict=True)
    liar = lies.Liar(stub_policy.StubPolicy(stub_policy.CONFIGS["perfect"], EASY.text), 0.0)
    for here in (state(1, 1, 1, 8), state(-3, Fraction(5, 3), 8), state(Fraction(-7, 2), Fraction(1, 8))):
        moves = liar.policy.propose(here)
        assert [strict.parse(line, here) for line in liar.propose(here)] == moves
    assert liar.lies == 0


def test_a_lie_is_refused_when_strict_and_put_right_when_repaired() -> None:
    policy = stub_policy.StubPolicy(stub_policy.CONFIGS["perfect"], EASY.text)
    liar, here = lies.Liar(policy, 1.0), state(1, 1, 1, 8)
    lines = liar.propose(here)
    assert liar.lines == liar.lies == len(lines) == 7
    assert all(isinstance(Game24(strict=True).parse(line, here), Illegal) for line in lines)
    assert [Game24().parse(line, here) for line in lines] == policy.propose(here)


def test_the_last_lie_claims_the_goal_and_only_a_believer_takes_it() -> None:
    liar = lies.Liar(stub_policy.StubPolicy(stub_policy.CONFIGS["perfect"], "2 3"), 1.0)
    line = liar.line(state(2, 3), Move(2, "+", 3))
    assert line == "2+3 = 24 (left: 24)"
    for task, solved in ((lies.Trusting(), True), (Game24(), False)):
        landed = stepping.step(task, state(2, 3), stepping.parse(task, state(2, 3), line))
        assert landed.solved is solved
    assert liar.line(state(4, 6), Move(4, "*", 6)) == "4*6 = 25 (left: 25)"


def test_a_believer_claims_what_is_false_and_is_found_out() -> None:
    policy = lies.Liar(stub_policy.StubPolicy(stub_policy.CONFIGS["perfect"], EASY.text), 1.0)
    believed = game24.search(EASY, Beam(branching=None), policy, task=lies.Trusting())
    repaired = game24.search(EASY, Beam(branching=None), policy)
    assert (believed.solved, believed.false) == (1, 1)
    assert (repaired.solved, repaired.false) == (1, 0)


# ---- recorded replies


def test_recorded_numbers_are_a_state_up_to_order_and_rounding() -> None:
    assert recorded.left("10 / 6 = 1.666 (left: 1.666 9)") == "1.666 9"
    assert recorded.left("Answer: 4 * 6 = 24") is None
    assert recorded.are(["9", "1.666"], (Fraction(5, 3), 9))
    assert not recorded.are(["9", "1.6"], (Fraction(17, 10), 9))
    assert not recorded.are(["9"], (9, 9))


def recording(beam: list[int]) -> dict[str, Any]:
    """A run of one line a step, but for the first, in which the second line is the better one."""
    lines = ["1 * 2 = 2 (left: 2 3 4)", "2 * 3 = 6 (left: 4 6)", "4 * 6 = 24 (left: 24)"]
    answer = "Answer: 4 * (3 * (1 * 2)) = 24"
    other = "1 + 2 = 3 (left: 3 3 4)"
    steps: list[dict[str, Any]] = []
    for i, line in enumerate([*lines, answer]):
        said = [[line, 3.0, None, "call"]]
        if i == 0:
            said.insert(0, [other, 0.003, None, "call"])
        before = "".join(f"{earlier}\n" for earlier in lines[:i])
        expansions = [{"y": before, "numbers": "", "kind": "propose", "proposals": said}]
        if i == 1:  # the worse state is expanded too, to nothing
            expansions.append({"y": f"{other}\n", "numbers": "", "kind": "propose", "proposals": []})
        steps.append({"step": i, "n": len(said), "beam": beam if i == 0 else [0], "expansions": expansions})
    output = "".join(f"{line}\n" for line in [*lines, answer])
    return {"x": "1 2 3 4", "split": "dev", "steps": steps, "outputs": [output], "correct": [1]}


def test_replay_compares_beams_in_order_and_asks_each_value_once() -> None:
    model = replay.Model()
    assert replay.replay(model, recording([1, 0])) == replay.Replayed(True, True, True)
    assert (model.proposed, len(model.values), model.mistaken) == (5, 5, 0)
    assert replay.replay(model, recording([0, 1])) == replay.Replayed(False, True, True)
    assert (model.proposed, len(model.values)) == (10, 5)


@recorded_data
def test_best_first_over_recorded_replies() -> None:
    checked = benchmark("checked")
    got = checked.checked(DATA, BestFirst(branching=None, keep=None, prune_below=0.0, expansions=16), Game24())
    assert got.outcomes.solved >= 52
    assert got.requests <= 1445
    assert got.outcomes.false == 0
    assert max(got.used.values()) <= 16


# ---- time


def test_the_ideal_is_the_schedule_of_the_levels() -> None:
    assert [schedule.ideal(schedule.even(), cap) for cap in (1000, 16, 8)] == pytest.approx([0.3, 0.4, 0.6])
    slow = [0.0] * schedule.CALLS
    slow[2], slow[5] = 2.0, 1.0  # of the first level's five ratings, the second and the last
    assert schedule.ideal(slow, 5) == 2.0
    assert schedule.ideal(slow, 1) == 3.0


def test_skewed_latencies_have_the_same_mean_and_a_long_tail() -> None:
    latencies = schedule.skewed()
    assert sum(latencies) / len(latencies) == pytest.approx(schedule.MEAN)
    assert max(latencies) > 4 * schedule.MEAN


def test_the_timed_searches_have_the_nodes_that_are_divided_by() -> None:
    assert [core.nodes(*size) for size in core.SIZES.values()] == [55, 480, 3620, 100_020]
    search = endless.play(endless.beam(5, 5, 3), endless.Answers(5))
    assert len(search.tree) - 1 == 55
    assert search.spent.calls == 11 + 55 == schedule.CALLS
    assert search.result().duplicates() == 0


@pytest.mark.parametrize("name", ["Beam", "DFS", "BestFirst", "MCTS", "ABMCTS", "core"])
def test_the_resumed_runs_have_the_replies_that_are_said(name: str, tmp_path: Path) -> None:
    journal, path = benchmark("journal"), tmp_path / "journal"
    assert list(journal.RESUMED_RUNS) == ["Beam", "DFS", "BestFirst", "MCTS", "ABMCTS", "core"]
    journal.RESUMED_RUNS[name](path, 96)  # which sees to it that so many were paid for
    content = path.read_bytes()
    assert len(written(content)) == 96
    journal.RESUMED_RUNS[name](path, 96)
    assert path.read_bytes() == content  # each reply was there


# ---- reports and the command line


def test_a_report_is_met_when_every_requirement_is() -> None:
    rows = [report.at_most("a", 2.0, 3.0), report.at_least("b", 2.0, 2.0), report.beside("c", 9.0)]
    assert [row.met for row in rows] == [True, True, None]
    assert report.Report("x", "y", rows).met
    missed = report.Report("x", "y", [*rows, report.exactly("d", 3, 4, "of 4")])
    assert not missed.met
    assert missed.json()["rows"][3] == {
        "figure": "d",
        "measured": 3,
        "unit": "of 4",
        "at": None,
        "reach": "4",
        "met": False,
    }


def test_lines_reads_compressed_files_and_leaves_headers_out(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write('{"_schema": 1}\n{"n": 2}\n')
    assert list(data.lines(tmp_path / "a.jsonl")) == [{"n": 2}]
    with pytest.raises(data.DataMissing, match=r"b\.jsonl: not there"):
        list(data.lines(tmp_path / "b.jsonl"))


def test_a_benchmark_without_its_data_says_what_to_give(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    main = benchmark("__main__").main
    monkeypatch.delenv("THOUGHTREE_SHARED", raising=False)
    assert main(["stub"]) == 2
    assert "give --data DIR, or set THOUGHTREE_SHARED" in capsys.readouterr().err
    assert main(["stub", "--data", str(tmp_path)]) == 2
    assert "has no folder `sets`" in capsys.readouterr().err


def test_json_is_one_object(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(benchmark("driver"), "REPEATS", 1)
    benchmark("__main__").main(["driver", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["benchmark"] == "driver"
    assert {row["figure"] for row in found["rows"]} >= {"threads, 8 in flight, 5x5x3", "plain loop, 5x5x20"}
    assert all(row["measured"] > 0 for row in found["rows"])
