"""The lines of a recording, each a JSON object with a check of its own.

A header first: {"format", "written"}. Then, in any order, {"lm": its settings}, once for each LM that was recorded,
and {"key", "asked", "result"}, one for each reply. Recordings can be joined end to end. Of two replies to one
request the later counts.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from dspy.clients.call_result import CACHE_FORMAT
from pydantic_core import from_json

from ...search.chain import BrokenChain, opened, sealed

FORMAT = "thoughtree.recording/1"
BEGINNING = b'{"format": "thoughtree.recording/'  # of every recording, of any version
_HEADER = f'{{"format": "{FORMAT}"'.encode()
_REPLY = b'{"key": "'
_LM = b'{"lm": {'
_LM_PARTS = {
    "model": str,
    "model_type": str,
    "use_developer_role": bool,
    "settings": dict,
    "supports_function_calling": bool,
    "supports_reasoning": bool,
    "supports_response_schema": bool,
    "supported_params": list,
}
_KEY = slice(len(_REPLY), len(_REPLY) + 64)


class WrongLine(ValueError):
    """A line that is none of a recording's."""


def header() -> bytes:
    versions = {name: version(name) for name in ("thoughtree", "dspy")}
    return _sealed({"format": FORMAT, "written": versions})


def lm_line(definition: dict[str, Any]) -> bytes:
    return _sealed({"lm": definition})


def reply_line(key: str, asked: dict[str, Any], result: dict[str, Any]) -> bytes:
    """ValueError or TypeError for what is not JSON."""
    return _sealed({"key": key, "asked": asked, "result": result})


def checked(line: bytes, first: bool) -> bytes:
    """The line's JSON, if it is as it was written; of a reply, which are most, not read any further.

    WrongLine for any other. first: of the file, so it must be a header.
    """
    try:
        body, _ = opened(line, 0)
    except BrokenChain as error:
        if first or line.startswith(BEGINNING):
            raise WrongLine(_foreign(line)) from error
        raise WrongLine("it was changed or damaged after it was written") from error
    if body.startswith(_HEADER) if first else body.startswith((_REPLY, _LM, _HEADER)):
        return body
    raise WrongLine(_foreign(line) if first or line.startswith(BEGINNING) else "it is no line of a recording")


def key_of(body: bytes) -> str | None:
    """The key of a reply's line, None for another."""
    return body[_KEY].decode() if body.startswith(_REPLY) else None


def is_lm(body: bytes) -> bool:
    return body.startswith(_LM)


def read(body: bytes) -> dict[str, Any]:
    """The object of a line that was checked. WrongLine: it is none."""
    try:
        try:
            found = from_json(body)
        except ValueError:
            found = json.loads(body)  # a lone surrogate in a reply, which the fast reader refuses
    except (ValueError, RecursionError) as error:
        raise WrongLine(f"it is no JSON ({error})") from error
    if not isinstance(found, dict):
        raise WrongLine("it is no JSON object")
    return found


def lm_of(body: bytes) -> dict[str, Any]:
    """What an LM's line says, complete as `definition_of` makes it. WrongLine: it is not."""
    lm = read(body)["lm"]
    if not all(isinstance(lm.get(name), kind) for name, kind in _LM_PARTS.items()):
        raise WrongLine("it describes no LM")
    return {name: lm[name] for name in _LM_PARTS}


def reply_of(body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a reply's line says was asked, and the result. WrongLine: it does not."""
    found = read(body)
    asked, result = found.get("asked"), found.get("result")
    if not isinstance(asked, dict) or not _is_request(asked.get("request")) or not isinstance(result, dict):
        raise WrongLine("it is no request and reply")
    if result.get("_dspy_format") != CACHE_FORMAT:
        raise WrongLine(
            f"its reply is of the format {result.get('_dspy_format')!r}, and this DSPy reads {CACHE_FORMAT!r}"
        )
    return asked, result


def _is_request(request: Any) -> bool:
    if not isinstance(request, dict) or not isinstance(request.get("config", {}), dict):
        return False
    messages = request.get("messages", [])
    return isinstance(messages, list) and all(isinstance(message, dict) for message in messages)


def _sealed(value: dict[str, Any]) -> bytes:
    line, _ = sealed(json.dumps(value, allow_nan=False).encode(), 0)
    return line


def _foreign(line: bytes) -> str:
    try:
        found = json.loads(line)
        is_format = found.get("format") if isinstance(found, dict) else None
    except (ValueError, RecursionError):
        is_format = None
    if is_format == FORMAT:
        return "the header was changed or damaged after it was written"
    if isinstance(is_format, str):
        return f"it holds {is_format[:60]!r}, and this version reads {FORMAT!r}"
    return f"it is no recording, which begins with a header of the format {FORMAT!r}"
