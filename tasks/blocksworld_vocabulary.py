"""The words of Blocksworld, for the reader of predicted states."""

from __future__ import annotations

from collections.abc import Collection

from .blocksworld_facts import NOWHERE, blocks_of, moved, places, violated
from .blocksworld_text import said
from .blocksworld_words import Said


class BlocksworldVocabulary:
    """What a reply about blocks says, and what makes a whole state of it. Holds nothing."""

    def said(self, text: str, given: Collection[str]) -> Said:
        """The facts that a text states and denies, about the blocks of the state `given`."""
        return said(text, blocks_of(given))

    def names(self, given: Collection[str]) -> frozenset[str]:
        return blocks_of(given)

    def changed(self, given: Collection[str], stated: Collection[str], denied: Collection[str]) -> frozenset[str]:
        """The state after a change of which not all is told: what was where it is no more, is nowhere else."""
        return moved(given, stated) if places(stated) or "handempty" in stated else frozenset(given) - frozenset(denied)

    def clash(self, facts: Collection[str], given: Collection[str]) -> str | None:
        """A rule of the world that these facts break by what they say, and not by what they leave out."""
        return next((rule for rule in violated(facts, blocks_of(given)) if rule != NOWHERE), None)

    def lost(self, facts: Collection[str], given: Collection[str]) -> str | None:
        """What a whole state would have to say and this one does not."""
        lost = sorted(blocks_of(given) - places(facts).keys())
        return f"it does not say where {lost[0]} is" if lost else None
