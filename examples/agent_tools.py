"""An agent that can go back: it acts through tools, and where a way leads nowhere it returns to an earlier step.

    python examples/agent_tools.py

In a small web of notes, the link that looks right leads nowhere. Without `--model` a stand-in plays the agent;
`--model openai/gpt-4o-mini`, or any other name that DSPy takes, asks that model.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from itertools import count

import dspy

from thoughtree import LATS, MCTS, repeatable
from thoughtree.testing import RuleLM

QUESTION = "In which year was the bridge over the Arn rebuilt?"
NOTES = {
    "start": "See: bridges, rivers.",
    "bridges": "Old ones are told of elsewhere. See: stone, wood.",
    "stone": "Bridges of stone last for ever.",
    "wood": "Bridges of wood burn.",
    "rivers": "See: arn, brue.",
    "arn": "Its bridge burnt down in 1871 and was rebuilt in 1874.",
    "brue": "It has no bridge.",
}
PROMISE = {"start": 0.5, "bridges": 0.7, "rivers": 0.4, "arn": 0.9}  # to the stand-in; all else is a dead end


@repeatable  # a search calls it in branches that it leaves again, so it must change nothing
def read_note(title: str) -> str:
    """The note of this title. Begin with "start"."""
    return NOTES.get(title.strip().lower(), "no such note")


def stand_in() -> RuleLM:
    """Follows the links of the note that it has read last, each in turn, and says how promising that note is."""
    turns: dict[str, Iterator[int]] = {}

    def last(inputs: dict[str, str]) -> str:
        return (re.findall(r'title="?\'?(\w+)', inputs["search_path"]) or [""])[-1]

    def act(inputs: dict[str, str]) -> str:
        title = last(inputs)
        links = re.findall(r"\w+", NOTES[title].partition("See: ")[2]) if title else ["start"]
        turn = next(turns.setdefault(title, count()))
        if "rebuilt in" in NOTES.get(title, ""):
            return f'submit(year="{NOTES[title][-5:-1]}")'
        return f'read_note(title="{links[turn % len(links)] if links else "start"}")'

    return RuleLM(act=act, judge=lambda inputs: PROMISE.get(last(inputs), 0.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--model", help="as DSPy names it; without it a stand-in answers")
    asked = parser.parse_args()
    dspy.configure(lm=dspy.LM(asked.model) if asked.model else stand_in())

    ask = LATS("question -> year", tools=[read_note], controller=MCTS(rollouts=10, branching=2, max_depth=5), budget=80)
    search = (found := ask(question=asked.question)).search
    if search.ended == "error":  # a wrong name or key, no connection
        parser.exit(2, f"{search.first_error}\n")
    print(f"{search.status}: {found.year}")  # an agent's claim is never more than that
    print(" -> ".join(search.path))
    print("left again:", ", ".join(sorted(search.shown(node) for node in search.tree if node.status == "open")))


if __name__ == "__main__":
    main()
