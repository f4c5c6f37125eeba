"""Mini crosswords: what is read and written, which steps are legal, scores, and a search by hand."""

from __future__ import annotations

import copy
import json
import pickle
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thoughtree.modules import reading
from thoughtree.search import (
    DFS,
    Illegal,
    NodeStatus,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Request,
    Search,
    SearchStatus,
    Tree,
    run,
)
from thoughtree.tasks import Crosswords, CrosswordsState, Fill, stepping
from thoughtree.tasks.crosswords_board import EMPTY, SLOTS, Score, read_board, rows, score, word, words, written
from thoughtree.tasks.crosswords_examples import CROSSWORDS_EXAMPLES, SOLUTIONS
from thoughtree.tasks.crosswords_fill import confidence, ranked

PUZZLE = CROSSWORDS_EXAMPLES[0]
GAME = Crosswords().for_inputs(PUZZLE)
ACROSS = ["brine", "rival", "avoid", "nerve", "dryer"]
DOWN = ["brand", "river", "ivory", "naive", "elder"]


def play(*texts: str, task: Crosswords = GAME) -> CrosswordsState:
    state = task.initial(PUZZLE)
    for text in texts:
        landing = stepping.step(task, state, stepping.parse(task, state, text))
        assert not isinstance(landing, Illegal), (text, landing)
        state = landing.state
    return state


def step(state: CrosswordsState, text: str, task: Crosswords = GAME) -> Any:
    return stepping.step(task, state, stepping.parse(task, state, text))


# -- boards


def test_a_board_is_its_rows_and_its_columns() -> None:
    assert words(SOLUTIONS[0]) == [w.upper() for w in ACROSS + DOWN]
    assert [word(SOLUTIONS[0], slot) for slot in ("h1", "h5", "v1", "v5")] == ["BRINE", "DRYER", "BRAND", "ELDER"]
    assert rows(SOLUTIONS[0]).splitlines()[2] == "A V O I D"
    assert written(EMPTY, "v2", "RIVER") == "_R____I____V____E____R___"


@pytest.mark.parametrize(("example", "solution"), list(zip(CROSSWORDS_EXAMPLES, SOLUTIONS, strict=True)))
def test_the_examples_are_crosswords(example: dict[str, Any], solution: str) -> None:
    assert list(example["clues"]) == list(SLOTS)
    assert len(set(words(solution))) == 10
    state = Crosswords().initial(example)
    for slot, answer in zip(SLOTS[:5], words(solution)[:5], strict=True):
        state = step(state, f"{slot}. {answer}").state
    assert state.board == solution


@pytest.mark.parametrize(
    ("text", "board"),
    [
        (SOLUTIONS[0], SOLUTIONS[0]),
        ("b r i n e\nr i v a l\na v o i d\nn e r v e\nd r y e r", SOLUTIONS[0]),
        ("| B | R | I | N | E |\n| _ | _ | _ | _ | _ |\n" + "_ " * 15, "BRINE" + "_" * 20),
        ("BRINE", None),
        ("The board is empty", None),
    ],
)
def test_read_board(text: str, board: str | None) -> None:
    assert read_board(text) == board


def test_scores_are_shares_of_letters_words_and_the_whole() -> None:
    assert score(SOLUTIONS[0], SOLUTIONS[0]) == Score(1.0, 1.0, True)
    assert score("BRINE" + "_" * 20, SOLUTIONS[0]) == Score(5 / 25, 1 / 10, False)
    one_wrong = "BRINERIVALAVOIDNERVEDRYES"  # the last letter of h5 and v5
    assert score(rows(one_wrong), SOLUTIONS[0]) == Score(24 / 25, 8 / 10, False)
    assert score("I give up", SOLUTIONS[0]) == Score(0.0, 0.0, False)
    with pytest.raises(ValueError, match="solution='BRINE': must hold 25 letters"):
        score(EMPTY, "BRINE")


# -- steps in text


@pytest.mark.parametrize(
    ("text", "fill"),
    [
        ("h1. brine", Fill("h1", "brine")),
        ("h1. BRINE (certain)", Fill("h1", "brine")),
        ("H1: Brine (High)", Fill("h1", "brine")),
        ("**v5.** *elder* - confidence: low", Fill("v5", "elder")),
        ("- h1 - brine, medium", Fill("h1", "brine")),
        ("1 across: brine", Fill("h1", "brine")),
        ("5 Down. B R A N D", Fill("v5", "brand")),
        ("h1. brines", Illegal("word not of 5 letters")),
        ("h1. bri (certain)", Illegal("word not of 5 letters")),
        ("h6. brine", Illegal("no such clue")),
        ("v0. brine", Illegal("no such clue")),
        ("h1. _____ (low)", Illegal("no clue and word")),
        ("brine", Illegal("no clue and word")),
        ("h1.", Illegal("no clue and word")),
        ("think about h1 first", Illegal("no clue and word")),
        ("h1. brine or briny", Illegal("word not of 5 letters")),
    ],
)
def test_steps_are_read(text: str, fill: Fill | Illegal) -> None:
    assert GAME.parse(text, GAME.initial(PUZZLE)) == fill


def test_a_reply_s_proposals_are_steps_with_their_confidence() -> None:
    proposals = reading.clues("h1. brine (certain)\nH2. Rival (high)\nv2. river (medium)\nh3. avoids (low)\nv3. ivory")
    assert [str(GAME.parse(text, play())) for text in proposals] == ["h1. brine", "h2. rival", "v2. river", "v3. ivory"]
    assert list(map(confidence, proposals)) == [1.0, 0.5, 0.2, 0.0]


def test_samples_are_ranked_by_summed_confidence_and_ties_stay() -> None:
    samples = [
        ["h1. brine (medium)", "h2. rival (high)", "nonsense"],
        ["v1. brand (high)", "h1. BRINE (medium)", "h1. briny (low)"],
        ["h1. brine (medium)", "h3. avoids (certain)"],
    ]
    found = [(str(fill), round(total, 9)) for fill, total in ranked(samples)]
    assert found == [("h1. brine", 0.6), ("h2. rival", 0.5), ("v1. brand", 0.5), ("h1. briny", 0.1)]


@given(st.text(alphabet="hv123456. :()abcdecertain-*_\n", max_size=40))
def test_no_text_crashes_the_reader_and_what_it_reads_fits(text: str) -> None:
    fill = GAME.parse(text, play())
    if isinstance(fill, Fill):
        assert fill.slot in SLOTS
        assert len(fill.word) == 5
        assert GAME.parse(str(fill), play()) == fill


def test_a_text_that_runs_on_is_read_quickly() -> None:
    for text in ("h1. " + "a " * 20_000, "h1" * 20_000, "*" * 40_000, "h1. brine (" * 5_000, "h1. " + "-" * 20_000):
        assert isinstance(GAME.parse(text, play()), Illegal)
        assert confidence(text) == 0.0


# -- which steps are legal


def test_words_that_agree_where_they_cross_fill_the_board() -> None:
    state = play("h1. brine", "v2. river")
    assert state == CrosswordsState("BRINE_I____V____E____R___", "1000001000")
    assert play("v2. river", "h1. brine").board == state.board


@pytest.mark.parametrize(
    ("before", "text", "rule"),
    [
        (("h1. brine",), "h1. brink", "changes a letter of another word"),
        (("h1. brine",), "v1. crane", "changes a letter of another word"),
        (("h1. brine", "v2. river"), "h2. rural", "changes a letter of another word"),
        (("h1. brine",), "h1. brine", "word already there"),
        (tuple(f"v{k}. {w}" for k, w in enumerate(DOWN, 1)), "h1. brine", "word already there"),
    ],
)
def test_what_is_on_the_board_stays(before: tuple[str, ...], text: str, rule: str) -> None:
    assert step(play(*before), text) == Illegal(rule)


def test_a_changed_word_counts_as_changed_though_nobody_had_filled_it_in() -> None:
    state = GAME.apply(play("h1. brine"), Fill("h1", "drink"))
    assert isinstance(state, CrosswordsState)
    assert state.status == "1000020002"  # the first letters of v1 and v5 are others now
    assert list(GAME.rules(state)) == ["changes a letter of another word"]
    crossed = GAME.apply(play("h1. brine"), Fill("v1", "crane"))
    assert isinstance(crossed, CrosswordsState)
    assert crossed.status == "2000010000"


def test_as_in_the_paper_s_code_a_word_may_be_repeated() -> None:
    paper = Crosswords(repeats=True)
    state = play("h1. brine", "h1. brine", "v1. brand", task=paper)
    full = play(*(f"h{k}. {w}" for k, w in enumerate(ACROSS, 1)), task=paper)
    assert state.status == "1000010000"
    assert not paper.is_terminal(full)
    assert step(full, "v1. brand", paper).state.status == "1111110000"
    assert Crosswords(repeats=True).key(state) == GAME.key(play("h1. brine", "v1. brand"))


def test_a_full_board_is_finished_and_nobody_knows_whether_it_is_right() -> None:
    almost = play(*(f"h{k}. {w}" for k, w in enumerate(ACROSS[:4], 1)))
    landing = step(almost, "h5. dryer")
    assert not GAME.is_terminal(almost)
    assert (landing.terminal, landing.unjudged, landing.solved) == (True, True, False)
    assert GAME.answer(landing.state) == {"board": rows(SOLUTIONS[0])}


# -- what prompts show


def test_the_board_is_shown_with_its_clues() -> None:
    shown = GAME.render(play("h1. brine", "v2. river"))
    board, left, done = shown.split("\n\n")
    assert board == "Board:\nB R I N E\n_ I _ _ _\n_ V _ _ _\n_ E _ _ _\n_ R _ _ _"
    assert left.splitlines()[:2] == ["Not complete:", "h2. One who wants the same prize: _ I _ _ _"]
    assert [line[:2] for line in left.splitlines()[1:]] == ["h2", "h3", "h4", "h5", "v1", "v3", "v4", "v5"]
    assert done.splitlines()[2] == "v2. It has banks, but no money: R I V E R"
    assert GAME.render(GAME.initial(PUZZLE)).count("\n\n") == 1  # nothing is complete


def test_patterns_are_of_the_clues_that_have_letters() -> None:
    state = play("h1. brine", "v2. river")
    assert [line[:2] for line in GAME.patterns(state, 2)] == ["h1", "v2"]
    assert len(GAME.patterns(state)) == len(GAME.patterns(state, 1)) == 10
    assert GAME.patterns(play(), 1) == []


# -- input


@pytest.mark.parametrize(
    "clues",
    [
        PUZZLE["clues"],
        list(PUZZLE["clues"].values()),
        {slot.upper(): clue for slot, clue in reversed(PUZZLE["clues"].items())},
        "\n".join(f"{slot}. {clue}" for slot, clue in PUZZLE["clues"].items()),
        "Across\n" + "\n".join(f"- {slot.upper()}: {clue}" for slot, clue in PUZZLE["clues"].items()),
        "\n".join(PUZZLE["clues"].values()) + "\n",
    ],
)
def test_clues_are_read(clues: Any) -> None:
    assert Crosswords().for_inputs({"clues": clues}).clues == tuple(PUZZLE["clues"].values())


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, r"inputs=\{\} has no field `clues`; give ten"),
        ({"clues": ["one"]}, r"clues: there are 1; give ten"),
        ({"clues": ""}, r"clues: there are 0; give ten"),
        ({"clues": 5}, r"clues: 5 is no list; give ten"),
        ({"clues": {"h1": "x"}}, r"clues: there is none for h2, h3, h4, h5, v1"),
        ({"clues": "h1. only this"}, r"clues: there is none for h2"),
        ({"clues": ["a"] * 9 + [" "]}, r"clues: v5 is ' '"),
        ({"clues": ["a"] * 9 + [None]}, r"clues: v5 is None"),
    ],
)
def test_input_that_is_no_crossword_is_an_error_that_says_so(inputs: dict[str, Any], message: str) -> None:
    for ask in (Crosswords().initial, Crosswords().for_inputs):
        with pytest.raises(ValueError, match=message):
            ask(inputs)


def test_tasks_and_states_are_values_and_states_come_back_from_json() -> None:
    assert copy.deepcopy(GAME) == pickle.loads(pickle.dumps(GAME)) == GAME
    assert Crosswords(**Crosswords(repeats=True).config()) == Crosswords(repeats=True)
    state = play("h1. brine", "v2. river")
    assert GAME.load(json.loads(json.dumps(GAME.dump(state)))) == state
    assert Crosswords().signature == "clues -> board"


# -- depth first, with the paper's pruning


class Solver:
    """Proposes these words, in this order, on every board. A board with a letter of a wrong word is impossible."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.seen = texts, list[str]()

    def answer(self, request: Request, tree: Tree[CrosswordsState, Fill]) -> Outcome:
        match request:
            case Propose():
                return Proposed(self.texts)
            case Rate(ids):
                boards = [state.board for id in ids if (state := tree[id].state) is not None]
                self.seen += boards
                right = [all(a in (b, "_") for a, b in zip(board, SOLUTIONS[0], strict=True)) for board in boards]
                return Rated(tuple(20.0 if ok else 0.001 for ok in right))
        raise AssertionError(request)

    def search(self, controller: DFS) -> Any:
        root = GAME.initial(PUZZLE)
        step = partial(stepping.step, GAME)
        parse = partial(stepping.parse, GAME)
        return run(Search(controller, root, parse=parse, step=step, root_key=GAME.key(root)), self.answer)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_board_with_an_impossible_clue_is_left_and_the_puzzle_filled(lazy: bool) -> None:
    wrong = ["h1. tasty", "v1. zebra"]
    solver = Solver(*wrong, *(f"h{k}. {w}" for k, w in enumerate(ACROSS, 1)))
    result = solver.search(DFS(branching=None, max_depth=10, lazy=lazy))
    assert result.status is SearchStatus.UNVERIFIED  # it is full, and nothing in code says that it is right
    assert result.best.state.board == SOLUTIONS[0]
    assert score(GAME.answer(result.best.state)["board"], SOLUTIONS[0]).game
    pruned = {str(node.action) for node in result.tree if node.status is NodeStatus.PRUNED}
    assert pruned == set(wrong)
    assert len(solver.seen) == len(set(solver.seen))  # no board is rated twice


def test_a_board_that_is_not_filled_is_a_failed_search_and_a_full_one_stands_before_deeper_ones() -> None:
    rows_alone = Solver(*(f"h{k}. {w}" for k, w in enumerate(ACROSS[:4], 1)))
    result = rows_alone.search(DFS(branching=None, max_depth=10))
    assert (result.status, result.best.depth) == (SearchStatus.FAILED, 4)

    class Wanders(Solver):
        """Fills the board in five steps; beside that, six words of which two cross each other at most."""

        def answer(self, request: Request, tree: Tree[CrosswordsState, Fill]) -> Outcome:
            if not isinstance(request, Propose):
                return super().answer(request, tree)
            depth, first = tree[request.node].depth, tree.path(tree[request.node])[1:2]
            if not depth:
                return Proposed(("h1. brine", "v1. brand"))
            across = str(first[0].action) == "h1. brine"
            texts = self.texts[:5] if across else ("v1. brand", "h1. brine", "h2. rival", "h3. avoid", "v2. river")
            more = () if across else ("v3. ivory",)
            return Proposed((*texts, *more)[depth : depth + 1])

    result = Wanders(*(f"h{k}. {w}" for k, w in enumerate(ACROSS, 1))).search(DFS(branching=None, max_depth=10))
    assert max(node.depth for node in result.tree) == 6
    assert (result.status, result.best.depth) == (SearchStatus.UNVERIFIED, 5)
    assert result.best.state.board == SOLUTIONS[0]


class TwoWays(Solver):
    """h1 to h4, v1 to v4, and the one letter that is left for h5: nine words. Or h5, then the other rows: five."""

    def answer(self, request: Request, tree: Tree[CrosswordsState, Fill]) -> Outcome:
        if not isinstance(request, Propose):
            return super().answer(request, tree)
        node = tree[request.node]
        long, short = [*self.texts[:4], *self.texts[5:9], self.texts[4]], [self.texts[4], *self.texts[:4]]
        if not node.id:
            return Proposed((long[0], short[0]))
        assert node.state is not None
        return Proposed(((short if node.state.status[4] == "1" else long)[node.depth],))


def test_a_full_board_met_on_a_shorter_way_is_not_rated_again() -> None:
    solver = TwoWays(*(f"{slot}. {w}" for slot, w in zip(SLOTS, ACROSS + DOWN, strict=True)))
    result = solver.search(DFS(branching=None, max_depth=10, lazy=True))
    full = [node for node in result.tree if node.state and node.state.board == SOLUTIONS[0]]
    assert full[0].depth == 9
    assert min(node.depth for node in full) == 5
    assert {node.status for node in full[1:]} == {NodeStatus.DUPLICATE}
    assert len(solver.seen) == len(set(solver.seen))
