"""The one tolerant reader of model replies.

Whatever a reply looks like, a reader gives what it says or says that it cannot be read (None, []): it never
guesses, never raises because of the text, and takes time in proportion to its length. One reader a question:

    items               the proposals in a list
    number, scores      a rating on a scale, of one candidate, of several
    verdict, verdicts   a label (sure, likely), of one candidate, of several
    vote, comparison    the best of several, the better of two
    choices             those of several that are chosen, in order
    actions             an agent's next action
    match_move          a legal move that the reply names
    answer_text         what a thought that ends the search says
    code                the first program
    clues               crossword words
    facts               the state that a world model predicts
    numbers_left        the same where a state is a few numbers
    final_number        a final answer that is a number
    clean               the text itself, without reasoning

Every reader drops `<think>` blocks and field markers first. `None` for a text reads as an empty one.
"""

from __future__ import annotations

from .actions import actions, answer_text, clues, code, match_move, normal
from .candidates import scores, verdicts
from .choices import choices
from .facts import Predicted, facts
from .facts_numbers import Left, final_number, numbers_left
from .facts_words import Vocabulary
from .lists import items
from .numbers import Reading, number
from .text import clean
from .verdicts import verdict
from .votes import comparison, vote

__all__ = [
    "Left",
    "Predicted",
    "Reading",
    "Vocabulary",
    "actions",
    "answer_text",
    "choices",
    "clean",
    "clues",
    "code",
    "comparison",
    "facts",
    "final_number",
    "items",
    "match_move",
    "normal",
    "number",
    "numbers_left",
    "scores",
    "verdict",
    "verdicts",
    "vote",
]
