"""GPT-4's recorded beam search, driven again: the same beams from the same replies, by thoughtree's beam."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thoughtree.search import (
    Beam,
    NodeStatus,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Request,
    Search,
    Stepped,
    Tree,
    run,
)

from .checker import proves
from .controls import exhaustive, random_order
from .recorded import left, puzzle_of, recorded_puzzles
from .report import Report, Row, beside, exactly

# As recorded: four steps, the last of which writes the answer; nothing is dropped, and nothing is checked.
CONTROLLER = Beam(width=5, branching=None, max_depth=4, dedupe=False)
PUZZLES, SOLVED, PROPOSE, VALUE = 70, 48, 1120, 2292


def step(text: str, line: str) -> Stepped:
    """A state is the text so far."""
    return Stepped(f"{text}{line}\n")


@dataclass(slots=True)
class Model:
    """What was recorded, asked in the same way: a value prompt once over the whole run.

    values: what each value prompt gave. proposed: propose prompts. mistaken: values unlike the recorded ones.
    """

    values: dict[tuple[str, ...], float] = field(default_factory=dict)
    proposed: int = 0
    mistaken: int = 0


class Puzzle:
    """One puzzle's recorded replies: lines by the text that they follow, values by the one that they make."""

    def __init__(self, model: Model, row: dict[str, Any]) -> None:
        self.model, self.numbers = model, row["x"]
        self.expansions: dict[tuple[int, str], deque[list[str]]] = {}
        self.recorded: dict[tuple[int, str], float] = {}
        for at in row["steps"]:
            for expansion in at["expansions"]:
                place, said = (at["step"], expansion["y"]), expansion["proposals"]
                self.expansions.setdefault(place, deque()).append([proposal[0] for proposal in said])
                for line, value, *_ in said:
                    self.recorded.setdefault((at["step"], f"{expansion['y']}{line}\n"), value)
        self.judged: set[tuple[int, str]] = set()
        self.order: list[list[int]] = [[] for _ in row["steps"]]  # the nodes expanded at each depth, in order

    def answer(self, request: Request, tree: Tree[str, str]) -> Outcome:
        match request:
            case Propose(id):
                node = tree[id]
                self.model.proposed += 1
                self.order[node.depth].append(id)
                # A beam may hold a text twice; its replies are taken in their order.
                return Proposed(tuple(self.expansions[node.depth, node.state or ""].popleft()))
            case Rate((id,)):
                node = tree[id]
                return Rated((self.value(node.depth - 1, node.state or ""),))
        raise AssertionError(f"this beam makes no {request!r}")

    def value(self, step: int, text: str) -> float:
        """The value prompt shows the numbers left, or the answer. Met twice in a step: worth 0, unasked."""
        if (step, text) in self.judged:
            return 0.0
        self.judged.add((step, text))
        line = _last_line(text)
        numbers, answer = left(line), line.lower().replace("answer: ", "")
        prompt = (numbers,) if numbers is not None else (self.numbers, answer)
        recorded = self.recorded[step, text]
        value = self.model.values.setdefault(prompt, recorded)
        self.model.mistaken += value != recorded
        return value


@dataclass(frozen=True, slots=True)
class Replayed:
    """same: beams in order, final texts and verdicts are as recorded. solved: a final text is an answer."""

    same: bool
    solved: bool
    recorded: bool  # whether the record says that it was solved


def replay(model: Model, row: dict[str, Any]) -> Replayed:
    puzzle = Puzzle(model, row)
    search: Search[str, str] = Search(CONTROLLER, "", step=step)
    tree = run(search, puzzle.answer).tree
    last = [node for node in tree if node.depth == len(row["steps"])]
    kept = [node for node in last if node.status is NodeStatus.OPEN]
    kept.sort(key=lambda node: (-(node.value or 0.0), node.id))
    beams = [*puzzle.order[1:], [node.id for node in kept]]
    same = True
    for depth, (beam, at) in enumerate(zip(beams, row["steps"], strict=True), 1):
        candidates = [node.id for node in tree if node.depth == depth]
        same &= len(candidates) == at["n"] and [candidates.index(id) for id in beam] == at["beam"]
    texts = [node.state or "" for node in kept]
    numbers = puzzle_of(row).numbers
    correct = [proves(_answer_of(text), numbers) for text in texts]
    same &= texts == row["outputs"] and correct == list(map(bool, row["correct"]))
    return Replayed(same, any(correct), any(row["correct"]))


def _answer_of(text: str) -> str:
    """The expression on the last line of a final text."""
    return _last_line(text).lower().removeprefix("answer: ").partition("=")[0]


def _last_line(text: str) -> str:
    return text.rstrip("\n").rpartition("\n")[2]


def measure(data: Path) -> Report:
    about = "GPT-4's recorded beams, by the plain beam without deduplication"
    return Report("replay", about, list(rows(data)), ["Solved: a final text is a right answer."])


def rows(data: Path) -> Iterator[Row]:
    recorded, model = recorded_puzzles(data), Model()
    found = [replay(model, row) for row in recorded]
    n, same = len(recorded), sum(f.same for f in found)
    yield exactly("puzzles with the recorded beams, outputs and verdicts", same, n, f"of {n}")
    usual = n == PUZZLES  # what the requirements were counted on
    solved = SOLVED if usual else sum(f.recorded for f in found)
    yield exactly("solved", sum(f.solved for f in found), solved, f"of {n}")
    for figure, measured, wanted in (
        ("propose prompts", model.proposed, PROPOSE),
        ("distinct value prompts", len(model.values), VALUE),
    ):
        yield exactly(figure, measured, wanted) if usual else beside(figure, measured)
    yield exactly("values that differ from the recorded ones", model.mistaken, 0)
    puzzles = [puzzle_of(row) for row in recorded]
    chance, everything = random_order(puzzles, expansions=model.proposed // n), exhaustive(puzzles)
    at = f"{chance.expansions:.1f} expansions"
    yield beside("control, all legal moves in random order: solved", chance.share * n, f"of {n}", at)
    at = f"{everything.expansions:.1f} expansions"
    yield beside("control, all legal moves, exhaustive: solved", everything.solved, f"of {n}", at)
