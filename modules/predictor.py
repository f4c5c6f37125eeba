"""The predictor of a role: dspy.Predict, but that no key is saved with it."""

from __future__ import annotations

from typing import Any

import dspy

from .calls.redaction import public, secrets_of


class Predict(dspy.Predict):
    """DSPy leaves out `api_key` alone, and writes headers, passwords in addresses and a cloud's keys to the file."""

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        return without_keys(super().dump_state(json_mode=json_mode), self.lm)


def without_keys(state: dict[str, Any], lm: Any) -> dict[str, Any]:
    """A predictor's state whose LM has lost every setting that holds a key; set those again after loading."""
    if lm is None or not isinstance(state.get("lm"), dict):
        return state
    return {**state, "lm": public(state["lm"], secrets_of(lm))}
