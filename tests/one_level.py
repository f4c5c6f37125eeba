"""Free-text searches of one level, whose only call is for proposals."""

from __future__ import annotations

from puzzle24 import engine
from thoughtree import Beam, TreeOfThoughts


def flat(**knobs):
    """One level of a free-text search that nobody rates and nobody closes."""
    controller = knobs.pop("controller", Beam(branching=3, max_depth=1))
    return TreeOfThoughts(
        "question -> answer", value_fn=lambda inputs, path: 1.0, answer="path", controller=controller, **knobs
    )


def children(found):
    return [str(n.action) for n in found.search.tree if n.depth == 1]


def says(text):
    return engine(lambda kind, inputs, n: text if isinstance(text, dict) else {"next_thoughts": text})
