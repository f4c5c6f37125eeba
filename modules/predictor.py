"""The predictor of a role: dspy.Predict, but that no key is saved with it, and no file makes it send one away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dspy
import orjson

from .calls.redaction import public, secrets_of

# What reading a damaged file may raise.
DAMAGED = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)
SAVED = ("demos", "fields", "lm", "signature", "traces", "train")  # by DSPy, of a predictor
LONGEST = 100  # characters of a version
ADDRESSES = ("api_base", "base_url", "model_list")  # of an LM, which DSPy leaves out of what it loads, and says so


class Predict(dspy.Predict):
    """DSPy leaves out `api_key` alone, and writes headers, passwords in addresses and a cloud's keys to the file."""

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        return without_keys(super().dump_state(json_mode=json_mode), self.lm)

    def load_state(self, state: dict[str, Any], *, allow_unsafe_lm_state: bool = False) -> Predict:
        check_state("a predictor", self, state, trusted=allow_unsafe_lm_state)  # a pipeline around may load it
        try:
            super().load_state(state, allow_unsafe_lm_state=allow_unsafe_lm_state)
        except DAMAGED as error:
            raise ValueError(f"the state of a predictor is damaged ({type(error).__name__}: {error})") from error
        return self


def without_keys(state: dict[str, Any], lm: Any) -> dict[str, Any]:
    """A predictor's state whose LM has lost every setting that holds a key; set those again after loading."""
    if lm is None or not isinstance(state.get("lm"), dict):
        return state
    return {**state, "lm": public(state["lm"], secrets_of(lm))}


def check_versions(path: Path) -> None:
    """ValueError for a saved program whose versions are none: DSPy logs what stands there, and a terminal obeys it."""
    if path.suffix != ".json":
        return
    for name, told in orjson.loads(path.read_bytes())["metadata"]["dependency_versions"].items():
        if not isinstance(told, str) or not told.isprintable() or len(told) > LONGEST:
            raise ValueError(f"saved with {name} {str(told)[:LONGEST]!r}, which is no version")


def check_state(name: str, predictor: Any, state: Any, *, trusted: bool = False) -> None:
    """ValueError for a state that DSPy would take as it is, and stumble over at the first call.

    It sets whatever the state names. A `config` with an `api_base`, or an LM that falls back upon another server, would
    send the user's key to whoever wrote the file.
    """
    state = state if isinstance(state, Mapping) else {}
    strange = sorted(key for key in state if key not in SAVED and hasattr(predictor, key))
    if strange and type(predictor).load_state in (dspy.Predict.load_state, Predict.load_state):
        raise ValueError(f"the state of {name} is not to be trusted: DSPy saves no {', '.join(strange)} of a predictor")
    demos, signature = state.get("demos"), state.get("signature")
    if not isinstance(demos, list) or not all(isinstance(demo, Mapping | dspy.Example) for demo in demos):
        raise ValueError(f"the state of {name} is damaged: its demos are no list of examples")
    signature = signature if isinstance(signature, Mapping) else {}
    fields: Any = signature.get("fields")
    whole = isinstance(fields, list) and all(isinstance(field, Mapping) for field in fields)
    texts = [text for field in fields for text in field.values() if text is not None] if whole else []
    if not whole or not all(isinstance(text, str) for text in (signature.get("instructions"), *texts)):
        raise ValueError(f"the state of {name} is damaged: its signature is not made of texts")
    _check_lm(name, state.get("lm"), trusted)


def _check_lm(name: str, settings: Any, trusted: bool) -> None:
    if settings is None:
        return
    if not isinstance(settings, Mapping) or not isinstance(settings.get("model"), str):
        raise ValueError(f"the state of {name} is damaged: its lm is {settings!r}, and no model's settings")
    told = {key: value for key, value in settings.items() if key not in ADDRESSES}
    if not trusted and (found := next((text for text in _texts(told) if "://" in text), None)):
        raise ValueError(
            f"the state of {name} is not to be trusted: its lm names the address {found!r}; "
            "allow_unsafe_lm_state=True takes it from a file that you trust"
        )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
