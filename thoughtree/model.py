"""Which models answer: those named, those that the program has, or the stand-in."""

from __future__ import annotations

import logging
import os
from typing import Any

import dspy

from .exits import Exit
from .local import is_local, local_lm, local_price
from .mistake import Mistake
from .modules.calls.failures import describe
from .modules.program import Program
from .modules.roles import lms_of
from .offline import offline_lm, plays
from .program_options import ProgramOptions
from .task_programs import KINDS

SUCH_AS = "such as --model openai/gpt-4o-mini, --model ollama_chat/llama3.2 or --model local"


def model_of(options: ProgramOptions, program: Program) -> Any:
    """The LM to configure; None where the program has all that it needs. Its rater gets --rate-model."""
    for name in ("api_base", "temperature"):
        if getattr(options, name) is not None and not (options.model or options.rate_model):
            raise Mistake(f"--{name.replace('_', '-')}: there is no model that it could be for; give --model")
    if options.rate_model is not None:
        if "rate" not in lms_of(program):
            raise Mistake(f"--rate-model {options.rate_model}: this program's ratings need no model")
        program.rate_lm = _priced(program, named("--rate-model", options.rate_model, options))
    if options.model is not None:
        return _priced(program, named("--model", options.model, options))
    if dspy.settings.lm is not None or None not in lms_of(program).values():
        return dspy.settings.lm
    if not plays(program.task):
        lacks = KINDS[options.task or "text"].lacks or "answer for this program"
        raise Mistake(
            f"the rule-based stand-in plays game24 and blocksworld, and cannot {lacks}: give --model, {SUCH_AS}"
        )
    return offline_lm()


def _priced(program: Program, lm: Any) -> Any:
    """The same LM; the program knows that one which runs here costs nothing."""
    if is_local(lm.model):
        program.prices = local_price(lm) | program.prices
    return lm


def named(option: str, name: str, options: ProgramOptions) -> Any:
    """The LM of this name. Raises Mistake where DSPy refuses its settings."""
    _keep_litellm_to_itself()
    settings = {"api_base": options.api_base, "temperature": options.temperature}
    given = {key: value for key, value in settings.items() if value is not None}
    try:
        return _local(name, given) if is_local(name) else dspy.LM(name, **given)
    except (ValueError, ImportError) as error:
        raise Mistake(f"{option} {name!r}: {str(error).removeprefix(f'model={name!r}: ')}", Exit.MODEL) from error
    except dspy.DSPyError as error:
        raise Mistake(f"{option} {name!r}: {describe(error)}", Exit.MODEL) from error


def _local(name: str, given: dict[str, Any]) -> Any:
    if "api_base" in given:
        raise Mistake(
            f"--api-base {given['api_base']}: a local model is served by a server of its own; leave it out, or name "
            "the model that is served there"
        )
    try:
        return local_lm(name, **given)
    except RuntimeError as error:
        raise Mistake(str(error), Exit.MODEL) from error


def _keep_litellm_to_itself() -> None:
    """DSPy hands models that it does not know to litellm, which fetches prices on import, and talks."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
