"""The one tolerant reader of model replies.

Whatever a reply looks like, a reader gives what it says or says that it cannot be read (None, []): it never
guesses, never raises because of the text, and takes time in proportion to its length. One reader a question:

    items               the proposals in a list
    number, scores      a rating on a scale, of one candidate, of several
    verdict, verdicts   a label (sure, likely), of one candidate, of several
    vote, comparison    the best of several, the better of two
    actions             an agent's next action
    match_move          a legal move that the reply names
    answer_text         what a thought that ends the search says
    code                the first program
    clues               crossword words
    clean               the text itself, without reasoning

Every reader drops `<think>` blocks and field markers first. `None` for a text reads as an empty one.
"""

from __future__ import annotations

from .actions import actions, answer_text, clues, code, match_move, normal
from .candidates import scores, verdicts
from .lists import items
from .numbers import Reading, number
from .text import clean
from .verdicts import verdict
from .votes import comparison, vote

__all__ = [
    "Reading",
    "actions",
    "answer_text",
    "clean",
    "clues",
    "code",
    "comparison",
    "items",
    "match_move",
    "normal",
    "number",
    "scores",
    "verdict",
    "verdicts",
    "vote",
]
