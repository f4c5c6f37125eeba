"""Two small crosswords of our own, as inputs of `Crosswords`, each with its solution beside it."""

from __future__ import annotations

from typing import Final

CROSSWORDS_EXAMPLES: Final[tuple[dict[str, dict[str, str]], ...]] = (
    {
        "clues": {
            "h1": "Salt water, such as pickles lie in",
            "h2": "One who wants the same prize",
            "h3": "Keep away from",
            "h4": "What it takes to jump from the high board",
            "h5": "It ends a wash day quickly",
            "v1": "A maker's name, burnt into cattle once",
            "v2": "It has banks, but no money",
            "v3": "What tusks and old piano keys are made of",
            "v4": "Too trusting for this world",
            "v5": "The one who was born first",
        }
    },
    {
        "clues": {
            "h1": "Ill will; despite, shortened",
            "h2": "A primate with a ringed tail",
            "h3": "Without any sense",
            "h4": "What is up the sleeve of a conjurer",
            "h5": "Choose by vote",
            "v1": "What a snail leaves behind",
            "v2": "Kind of code that lists crimes",
            "v3": "What a mirror shows",
            "v4": "A plain garment of old Rome",
            "v5": "Upright; to build",
        }
    },
)
SOLUTIONS: Final = ("BRINERIVALAVOIDNERVEDRYER", "SPITELEMURINANEMAGICELECT")
