"""A task of one's own: guests in a row, none beside an enemy. Code checks the row, a model chooses who comes next.

    python examples/own_task.py
    python examples/own_task.py "Ann, Bob, Cid" "Ann-Bob"

Without `--model` a stand-in names whoever comes to mind; `--model openai/gpt-4o-mini`, or any other name that DSPy
takes, asks that model.
"""

from __future__ import annotations

import argparse
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import dspy

from thoughtree import Beam, Illegal, Task, TreeOfThoughts
from thoughtree.testing import RuleLM, check_task

Row = tuple[str, ...]


def names(text: str, separator: str = ",") -> list[str]:
    return [name.strip() for name in text.split(separator) if name.strip()]


@dataclass(frozen=True)
class Seating(Task[Row, str]):
    """A state is the row so far, an action the next guest. guests, feuds: of one problem; `for_inputs` sets them."""

    guests: tuple[str, ...] = ()
    feuds: frozenset[frozenset[str]] = frozenset()

    signature = "guests, feuds -> seating"

    def config(self) -> dict[str, Any]:
        return {}  # a program holds the task of no problem yet

    def for_inputs(self, inputs: Mapping[str, Any]) -> Seating:
        feuds = frozenset(frozenset(names(feud, "-")) for feud in names(inputs["feuds"]))
        return Seating(tuple(names(inputs["guests"])), feuds)

    def instructions(self) -> str:
        return "Seat all guests in a row. Guests with a feud never sit side by side. A step is the name of one guest."

    def initial(self, inputs: Mapping[str, Any]) -> Row:
        return ()

    def parse(self, text: str, state: Row) -> str | Illegal:
        return next((guest for guest in self.guests if guest in text), Illegal("no guest"))

    def apply(self, state: Row, action: str) -> Row | Illegal:
        return Illegal("sits already") if action in state else (*state, action)

    def rules(self, state: Row) -> Iterable[str]:
        return ["enemies side by side" for pair in pairwise(state) if frozenset(pair) in self.feuds]

    def key(self, state: Row) -> Hashable:
        return frozenset(state), state[-1:]  # who can still come depends on nothing else

    def is_goal(self, state: Row) -> bool:
        return len(state) == len(self.guests) and not self.rules(state)

    def answer(self, state: Row) -> dict[str, Any]:
        return {"seating": ", ".join(state)}


def stand_in() -> RuleLM:
    """Names everybody, whether they can sit there or not, and cannot tell a good row from a bad one."""
    return RuleLM(
        propose=lambda inputs, n: [f"{guest}, please." for guest in names(inputs["guests"])],
        rate=lambda inputs: "maybe",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("guests", nargs="?", default="Ann, Bob, Cid, Dora, Eve")
    parser.add_argument("feuds", nargs="?", default="Ann-Bob, Bob-Cid, Cid-Dora")
    parser.add_argument("--model", help="as DSPy names it; without it a stand-in answers")
    asked = parser.parse_args()
    dspy.configure(lm=dspy.LM(asked.model) if asked.model else stand_in())

    party = {"guests": asked.guests, "feuds": asked.feuds}
    if not names(asked.guests):
        parser.error("there are no guests; give names, such as 'Ann, Bob'")
    check_task(Seating(), party, proposals=lambda row: names(asked.guests))  # do its hooks agree with each other?
    count = len(names(asked.guests))
    seat = TreeOfThoughts(task=Seating(), controller=Beam(width=5, branching=count, max_depth=count), budget=200)
    search = (found := seat(**party)).search
    if search.ended == "error":  # a wrong name or key, no connection
        parser.exit(2, f"{search.first_error}\n")
    print(f"{search.status}: {found.seating}")
    print(f"{search.spent.calls} calls; refused by code: {search.rules_broken()}")


if __name__ == "__main__":
    main()
