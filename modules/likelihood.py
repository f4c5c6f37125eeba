"""How likely a model finds "yes" the right answer: read from the probabilities of one reply's tokens.

OpenAI's chat and Responses APIs and the servers that speak them give such probabilities; Anthropic's and xAI's do not,
nor do OpenAI's reasoning models. DSPy brings them as `logprobs` of the prediction, whatever the API.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import exp, inf
from typing import Any

import dspy

from .sampling import is_reasoning_model

ALTERNATIVES = 5  # of each token: as many as every server gives
_WORD = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_NO_LETTERS = re.compile(r"[^a-z]+")


def gives_probabilities(lm: Any) -> bool:
    """Whether to ask `lm` for them: as it was told itself (`dspy.LM(..., logprobs=True)`), else as DSPy knows of it.

    An engine of one's own may say so with `supported_params = {"logprobs"}`; one that says nothing is asked, and its
    replies show it. For a model that DSPy reaches by itself its catalog is looked up, which it fetches once a process.
    """
    told = getattr(lm, "kwargs", {}).get("logprobs")
    if told is not None:
        return bool(told)
    engine = getattr(lm, "engine", "")
    if not isinstance(engine, str) and not hasattr(engine, "supported_params"):
        return not is_reasoning_model(lm)
    try:
        return not is_reasoning_model(lm) and "logprobs" in lm.supported_params
    except dspy.LMError:  # of a model that nobody knows; whether it can be called, its first call tells
        return False


def wanted(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a call is configured with to bring them. settings: those it has already; more alternatives are kept."""
    return {"logprobs": True, "top_logprobs": settings.get("top_logprobs") or ALTERNATIVES}


def refuses_probabilities(error: BaseException, config: Mapping[str, Any]) -> bool:
    """Whether a call failed for asking for them."""
    return isinstance(error, dspy.LMError) and "logprobs" in config and "logprobs" in str(error).lower()


def taken(prediction: dspy.Prediction) -> list[Any]:
    """The tokens that came with a prediction, taken out of it: they are no output to learn from."""
    if "logprobs" not in prediction:
        return []
    found = prediction["logprobs"]
    del prediction["logprobs"]
    return list(_value(found, "content") or ())


def chance(tokens: Sequence[Any], field: str, word: str) -> float | None:
    """P(yes) against P(no) where `field` answers `word`, from 0 to 1; None where the tokens do not tell.

    The share of "yes", in all its spellings, of what is on either word at the verdict's first token.
    """
    texts = [str(_value(token, "token") or "") for token in tokens]
    at = _verdict(texts, field, word)
    if at is None:
        return None
    mass = {"yes": 0.0, "no": 0.0}
    listed = dict(_listed(tokens[at]))
    for text, probability in listed.items():
        if (said := _word(text)) is not None:
            mass[said] += probability
    if len(listed) == 1 and mass[word]:  # without alternatives, all that was not said speaks for the other word
        mass["no" if word == "yes" else "yes"] += max(0.0, 1.0 - mass[word])
    both = mass["yes"] + mass["no"]
    return mass["yes"] / both if both > 0 else None


def _verdict(texts: Sequence[str], field: str, word: str) -> int | None:
    """The token that begins the verdict: after the field's name, where the reply has it; else the last such word."""
    whole = "".join(texts)
    ends = list(accumulate(map(len, texts)))
    marks = [match.end() for match in re.finditer(re.escape(field), whole)]
    for start in reversed(marks):  # a closing tag has the name too, and nothing after it
        if (found := _WORD.search(whole, start)) is not None:
            return _index(ends, found.start()) if found[0].lower() == word else None
    said = [match.start() for match in _WORD.finditer(whole) if match[0].lower() == word]
    return _index(ends, said[-1]) if said and not marks else None


def _index(ends: Sequence[int], position: int) -> int:
    return next(i for i, end in enumerate(ends) if position < end)


def _listed(token: Any) -> Iterator[tuple[str, float]]:
    """The token and its alternatives, each text once, with their probabilities."""
    for one in (*(_value(token, "top_logprobs") or ()), token):
        logarithm = _value(one, "logprob")
        if isinstance(logarithm, int | float) and not isinstance(logarithm, bool) and logarithm < inf:
            yield str(_value(one, "token")), exp(min(0.0, logarithm))


def _word(text: str) -> str | None:
    """Which of the two words a token is, or begins: `Yes`, ` **yes`, `"No"`, `y`; None for any other."""
    letters = _NO_LETTERS.sub("", text.lower())
    return next((word for word in ("yes", "no") if letters and word.startswith(letters)), None)


def _value(thing: Any, name: str) -> Any:
    """An entry of DSPy's own dicts, or an attribute of a provider's objects."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
