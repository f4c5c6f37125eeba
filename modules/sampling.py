"""Which LM a role calls, and with which rollout id and temperature, so that samples and attempts differ."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import dspy
from dspy.clients.lm import _is_openai_reasoning_model

# Above every rollout id that DSPy or a person counts up to: no mixture of ours is one of theirs.
OURS = 1 << 40
SPREAD = 1_000_003


def rollout_of(lm: Any) -> int | None:
    """The rollout id that BestOfN, Refine, a Bootstrap round or the user put on this LM."""
    found = getattr(lm, "kwargs", {}).get("rollout_id")
    return found if isinstance(found, int) else None


def rollout_id(lm: Any, sample: int, attempt: int) -> int | None:
    """One id for each (the LM's own id, sample, attempt); None: leave the LM's own as it is.

    It comes from sample and attempt only, never from a node, so that equal prompts of a search share DSPy's
    cache.
    """
    if not sample and not attempt:
        return None
    return OURS + ((rollout_of(lm) or 0) * SPREAD + sample) * 64 + attempt


def chosen(bound: Any, own: Any, configured: Any, *, cheap: bool = False) -> Any:
    """The LM of a role: what `set_lm` bound, else the program's own for the role, else the configured one.

    BestOfN and Refine bind a copy of the configured LM to every predictor, only to number their attempts:
    then the role keeps its own LM, with that number. So does a cheap rater, whose prompt and predictor are
    the dear one's.
    """
    if own is None:
        return configured if bound is None else bound
    if bound is None:
        return own if rollout_of(own) is not None else _numbered(own, configured)
    copied = rollout_of(bound) is not None and getattr(configured, "model", None) == bound.model
    return _numbered(own, bound) if copied or cheap else bound


def _numbered(own: Any, around: Any) -> Any:
    """`own`, as the attempt that `around` is numbered as."""
    number = rollout_of(around)
    return own if number is None else own.copy(rollout_id=number, temperature=_kept(own))


def _kept(lm: Any) -> float | None:
    """The temperature of a numbered attempt: the LM's own, or 1.0 where it has none and takes one."""
    own = lm.kwargs.get("temperature")
    return 1.0 if own is None and takes_temperature(lm) else own


def is_reasoning_model(lm: Any) -> bool:
    """Whether this is one of OpenAI's, which take no settings of sampling and tell no probabilities."""
    return _is_openai_reasoning_model(getattr(lm, "model", "") or "")


def takes_temperature(lm: Any) -> bool:
    """Whether a temperature may be sent to this model."""
    return not is_reasoning_model(lm)


def another(lm: Any, sample: int, attempt: int) -> Any:
    """`lm` for this sample and attempt, where a module of the user's own makes the call and takes no settings."""
    number = rollout_id(lm, sample, attempt)
    if number is None:
        return lm
    made = lm.copy(rollout_id=number, temperature=_kept(lm))
    made.history = lm.history  # the user's, where it is kept
    return made


def more_room(settings: Mapping[str, Any]) -> dict[str, int]:
    """Twice the room for a reply that was cut; where only the provider limits it, there is no more."""
    limits = {name: settings.get(name) for name in ("max_tokens", "max_completion_tokens")}
    return {name: 2 * limit for name, limit in limits.items() if isinstance(limit, int)}


def sampling(
    lm: Any,
    settings: Mapping[str, Any],
    sample: int,
    attempt: int,
    independent: bool,
    refused: set[str],
    temperature: float | None = None,
) -> dict[str, Any]:
    """What the LM call is configured with.

    settings: what it is called with already, by the LM and by its predictor. refused: models that have refused a
    temperature in this search. temperature: the plan's for this role, where it has one.
    """
    config: dict[str, Any] = {}
    number = rollout_id(lm, sample, attempt)
    if number is not None:
        config["rollout_id"] = number
    takes = lm.model not in refused and takes_temperature(lm)
    own = settings.get("temperature") if temperature is None else temperature
    if temperature is not None and takes:
        config["temperature"] = temperature
    if independent:
        if own is None and takes:
            config["temperature"] = 1.0
        elif own == 0:
            warnings.warn(
                f"{lm.model} has temperature=0, so its samples will be equal; "
                "set a temperature above 0, or ask for one sample",
                UserWarning,
                stacklevel=2,
            )
    return config


def refuses_temperature(error: BaseException, config: dict[str, Any]) -> bool:
    """Whether a call failed for the temperature that was sent with it."""
    wrong = isinstance(error, dspy.LMInvalidRequestError | dspy.LMUnsupportedFeatureError)
    return wrong and "temperature" in config and "temperature" in str(error).lower()
