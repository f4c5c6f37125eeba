"""GPT-4's recorded depth-first search on mini crosswords, driven again by thoughtree's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from thoughtree.search import (
    DFS,
    Budget,
    Illegal,
    Node,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Request,
    Search,
    Tree,
    Unread,
)
from thoughtree.search.protocol import FREE, ONE_CALL
from thoughtree.search.tree import DUPLICATE
from thoughtree.tasks import stepping
from thoughtree.tasks.crosswords import Crosswords, CrosswordsState
from thoughtree.tasks.crosswords_board import Score, score
from thoughtree.tasks.crosswords_fill import Fill

from .data import lines
from .report import Report, Row, beside, exactly

RECORDING = "crosswords_gpt4_dfs.jsonl"
VISITS = 100  # of a game at most, as recorded
WIDTH = 3  # candidates followed from a board: the surest that the rules allow
# As recorded: to the ninth word, each child rated when its turn comes, and left if a clue is impossible.
PAPERS = DFS(lazy=True, branching=WIDTH, max_depth=9, dedupe=False)
UNPRUNED = DFS(lazy=True, branching=WIDTH, max_depth=9, dedupe=False, threshold=0.0)
# With the transposition table that `dedupe` is. Nine words fill any board; the tenth is for what a limit might cut off.
TABLE = DFS(lazy=True, branching=WIDTH, max_depth=10)
DESCENT = DFS(lazy=True, branching=1, max_depth=9, dedupe=False)
POSSIBLE, IMPOSSIBLE = 1.0, 0.001
PAPER = {
    "with pruning": (78, 60, 20),
    "without pruning": (65.4, 41.5, 5),
    "without going back": (54.6, 20, 5),
}  # letters, words, games, in %


class Game:
    """One recorded game: what GPT-4 proposed for a board, surest first, and how many clues it found impossible.

    run: "prune" or "no_prune", whose counts come first where they differ. unknown: boards of which nothing is recorded.
    """

    def __init__(self, row: dict[str, Any], task: Crosswords, run: str = "prune") -> None:
        self.row, self.task = row, task
        self.visits: list[list[Any]] = row[run]
        other = row["no_prune" if run == "prune" else "prune"]
        self.impossible: dict[str, int] = {}
        for _, board, _, _, impossible, *_ in [*self.visits, *other]:
            self.impossible.setdefault(board, impossible)
        self.unknown = 0

    def answer(self, request: Request, tree: Tree[CrosswordsState, Fill]) -> Outcome:
        match request:
            case Propose(id, n):
                state = tree[id].state
                assert state is not None
                legal = [fill for text in self.said(_path(tree, id), state) if (fill := self._legal(state, text))]
                return Proposed(tuple(legal[:n]))
            case Rate((id,)):
                state = tree[id].state
                assert state is not None
                impossible = self.impossible.get(state.board)
                self.unknown += impossible is None
                return Unread(state.board) if impossible is None else Rated((IMPOSSIBLE if impossible else POSSIBLE,))
        raise AssertionError(f"this search makes no {request!r}")

    def said(self, path: str, state: CrosswordsState) -> list[str]:
        """What was proposed, surest first. What the rules forbid took no place of a board's three."""
        return [text for text, _ in self.row["proposals"].get(f"{state.board}|{state.status}", [])]

    def _legal(self, state: CrosswordsState, text: str) -> Fill | None:
        fill = stepping.parse(self.task, state, text)
        if isinstance(fill, Illegal) or isinstance(stepping.step(self.task, state, fill), Illegal):
            return None
        return fill


@dataclass(frozen=True, slots=True)
class Played:
    """One game as thoughtree's search played it. visits: (the words so far, the board) in the order of the ratings."""

    visits: list[tuple[str, str]]
    best: Score
    duplicates: int
    expanded: int = 0
    unknown: int = 0

    @property
    def again(self) -> int:
        """Visits of a board that had been visited before."""
        return len(self.visits) - len({board for _, board in self.visits})


def play(game: Game, controller: DFS, visits: int = VISITS) -> Played:
    """A visit is a rating, and the only call that counts: so the ceiling on calls is the recorded one on visits."""
    task = game.task
    root = task.initial({"clues": game.row["clues"]})
    search: Search[CrosswordsState, Fill] = Search(
        controller,
        root,
        step=partial(stepping.step, task),
        budget=Budget(calls=visits),
        calls={Propose: 0},
        root_key=task.key(root),
    )
    seen: list[int] = []
    expanded = 0
    while asks := search.ask():
        for ask in asks:
            rates = isinstance(ask.request, Rate)
            if isinstance(ask.request, Rate):
                seen += ask.request.nodes
            expanded += not rates
            search.tell(ask.id, game.answer(ask.request, search.tree), ONE_CALL if rates else FREE)
    tree, best = search.tree, search.best().state or root
    found = [(_path(tree, id), _board(tree[id])) for id in seen]
    duplicates = sum(node.status is DUPLICATE for node in tree)
    return Played(found, score(best.board, game.row["solution"]), duplicates, expanded, game.unknown)


def _path(tree: Tree[CrosswordsState, Fill], id: int) -> str:
    """The words that led to a node, as the record writes them."""
    return ";".join(str(node.action) for node in tree.path(tree[id])[1:])


def _board(node: Node[CrosswordsState, Fill]) -> str:
    assert node.state is not None
    return node.state.board


def deepest(visits: Sequence[Sequence[Any]], solution: str) -> Score:
    """The paper's choice: the first of the deepest boards that were visited, pruned or not."""
    board = max(visits, key=lambda visit: visit[0].count(";"))[1]
    return score(board, solution)


@dataclass(slots=True)
class Shares:
    """Sums of scores."""

    games: int = 0
    letters: float = 0.0
    words: float = 0.0
    solved: int = 0

    def add(self, found: Score) -> None:
        self.games += 1
        self.letters += found.letters
        self.words += found.words
        self.solved += found.game

    def rows(self, of: str, paper: tuple[float, float, float] | None = None) -> Iterator[Row]:
        measured = (self.letters, self.words, self.solved)
        for k, (what, total) in enumerate(zip(("letters", "words", "games"), measured, strict=True)):
            at = f"paper: {paper[k]:g} % (20 games)" if paper else ""
            yield beside(f"{of}: {what}", 100 * total / self.games, "%", at)


def recorded_games(data: Path) -> list[dict[str, Any]]:
    return list(lines(data / RECORDING))


def measure(data: Path) -> Report:
    notes = [
        "A visit is a board that was rated; its list has the words so far and the board, in order.",
        "The paper's answer is the first of the deepest boards visited; ours is the best of the deepest not given up.",
        "Without pruning, proposals are not recorded, only the words that were followed: they drive no other search.",
        "The control never goes back: one word a board, until a clue is impossible or nothing is recorded.",
    ]
    about = "GPT-4's recorded depth-first search, by thoughtree's"
    return Report("crosswords", about, list(rows(data)), notes)


def rows(data: Path) -> Iterator[Row]:
    games = recorded_games(data)
    n = len(games)
    replayed = [play(Game(row, Crosswords(repeats=True)), PAPERS) for row in games]
    same = sum(p.visits == [tuple(v[:2]) for v in row["prune"]] for p, row in zip(replayed, games, strict=True))
    yield exactly("games with the recorded visits, board by board", same, n, f"of {n}")
    yield beside("visits", sum(len(p.visits) for p in replayed))
    yield beside("proposals asked for", sum(p.expanded for p in replayed))
    yield exactly("visits of boards whose rating is not recorded", sum(p.unknown for p in replayed), 0)
    yield exactly("visits that we score unlike the record", sum(map(_unlike, games)), 0)
    unpruned = [play(Unpruned(row, Crosswords(repeats=True)), UNPRUNED) for row in games]
    same = sum(p.visits == [tuple(v[:2]) for v in row["no_prune"]] for p, row in zip(unpruned, games, strict=True))
    yield exactly(
        "without pruning, from the words that it followed: games with the recorded visits", same, n, f"of {n}"
    )
    yield from scores(games, replayed)
    yield from table(games, replayed)


def _unlike(row: dict[str, Any]) -> int:
    """Visits whose letters and words, counted by us, are not the recorded shares."""
    found = 0
    for _, board, _, _, _, letters, words in [*row["prune"], *row["no_prune"]]:
        ours = score(board, row["solution"])
        found += abs(ours.letters - letters) > 1e-9 or abs(ours.words - words) > 1e-9
    return found


class Unpruned(Game):
    """A game of the run without pruning. Its proposals are not recorded; those that it followed are in its visits."""

    def __init__(self, row: dict[str, Any], task: Crosswords) -> None:
        super().__init__(row, task, "no_prune")
        self.followed: dict[str, list[str]] = {}
        for path, *_ in self.visits:
            before, _, last = path.rpartition(";")
            self.followed.setdefault(before, []).append(last)

    def said(self, path: str, state: CrosswordsState) -> list[str]:
        return self.followed.get(path, [])


def scores(games: Sequence[dict[str, Any]], replayed: Sequence[Played]) -> Iterator[Row]:
    papers, ours, without, descent = Shares(), Shares(), Shares(), Shares()
    for row, played in zip(games, replayed, strict=True):
        papers.add(deepest(played.visits, row["solution"]))
        ours.add(played.best)
        without.add(deepest(row["no_prune"], row["solution"]))
        descent.add(deepest(play(Game(row, Crosswords()), DESCENT).visits, row["solution"]))
    yield from papers.rows("with pruning, the paper's choice", PAPER["with pruning"])
    yield from ours.rows("with pruning, our choice")
    yield from without.rows("without pruning, the record's, the paper's choice", PAPER["without pruning"])
    yield from descent.rows("control, the first descent only", PAPER["without going back"])


def table(games: Sequence[dict[str, Any]], replayed: Sequence[Played]) -> Iterator[Row]:
    """The same search with a transposition table: no board is visited twice."""
    found = [play(Game(row, Crosswords()), TABLE) for row in games]
    yield exactly("with a transposition table: boards visited again", sum(p.again for p in found), 0)
    yield beside("with a transposition table: visits", sum(len(p.visits) for p in found))
    yield beside("with a transposition table: children that are boards met before", sum(p.duplicates for p in found))
    yield beside("with a transposition table: visits of boards not in the record", sum(p.unknown for p in found))
    yield beside("without one: boards visited again", sum(p.again for p in replayed))
    shares = Shares()
    for played in found:
        shares.add(played.best)
    yield from shares.rows("with a transposition table, our choice")
