"""Keeping keys out of what is written: messages, journals, results travel into issue trackers.

Two rules. An error loses whatever looks like a key (`redact`). What a model or an environment says loses only the keys
that are known (`hide`), and of those only what no ordinary text holds: a search must not trip over its own caution.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache, lru_cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from ...search.protocol import Failed, Illegal, Outcome
from .texts import changed

T = TypeVar("T")
HIDDEN = "[redacted]"
SHORTEST = 8  # characters; a shorter value is no key, and would black out ordinary words
LONG = 16  # characters; a shorter value without a digit may be a word, such as a local server's "not-needed"

_ENVIRONMENT = re.compile(r"(?:^|_)(?:API)?(?:KEY|TOKEN|SECRET|PASSWORD)$", re.I)  # names of its variables
_NAMES = re.compile(r"key|token|secret|passw|credential|cookie|auth(?!or)", re.I)  # of settings
_HEADERS = ("headers", "extra_headers")
_SCHEME = re.compile(r"(?:bearer|basic|token)\s+", re.I)
_SHAPES = [
    re.compile(r"\b(?P<keep>)(?:sk|pk|rk|gsk|xai|hf|ghp|gho|key)[-_][A-Za-z0-9_\-]{8,}"),
    re.compile(r"\b(?P<keep>)AIza[A-Za-z0-9_\-]{20,}"),
    re.compile(
        r"(?P<keep>\b(?:proxy-)?authorization['\"]?\s*[:=]\s*['\"]?)(?:(?:bearer|basic)\s+)?[^\s'\",;}]+",
        re.I,
    ),
    re.compile(r"(?P<keep>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=\-]{8,}", re.I),
    re.compile(
        r"(?P<keep>(?:api[-_]?key|access[-_]?token|auth[-_]?token|password|secret)['\"]?(?:\s*:\s*|\s?=)['\"]?)"
        r"[^\s'\",;&}]{4,}",
        re.I,
    ),
    re.compile(r"(?P<keep>://)[^\s/:@]+:[^\s/@]+(?=@)"),  # user:password in an address
]


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """An error's `text` without what looks like a key, without `secrets`, and without the environment's keys."""
    for spelling in _spellings({*secrets, *environment()}):
        text = text.replace(spelling, HIDDEN)
    for shape in _SHAPES:
        text = shape.sub(rf"\g<keep>{HIDDEN}", text)
    return text


def telling(secrets: Iterable[str] = ()) -> tuple[str, ...]:
    """What `hide` looks for: those of `secrets` and of the environment's keys that are no ordinary text."""
    return _spellings({secret for secret in {*secrets, *environment()} if _is_no_word(secret)})


def hide(value: T, spellings: tuple[str, ...]) -> T:
    """`value` without these keys; the same object where there is nothing to hide."""

    def hidden(text: str) -> str:
        for spelling in spellings:
            text = text.replace(spelling, HIDDEN)
        return text

    return changed(value, hidden) if spellings else value


def hide_in(outcome: Outcome, spellings: tuple[str, ...]) -> Outcome:
    """A request's outcome; the state, which is the task's, is left alone. Errors lose all that looks like a key."""
    if isinstance(outcome, Failed):
        return replace(outcome, error=redact(outcome.error, spellings))
    if not spellings:
        return outcome
    if isinstance(outcome, Illegal):
        rule = hide(outcome.rule, spellings)
        return outcome if rule is outcome.rule else Illegal(rule, outcome.foreseen)
    kind: Any = type(outcome)
    parts = {name: getattr(outcome, name) for name in _told_by(kind)}
    hidden = {name: new for name, old in parts.items() if (new := hide(old, spellings)) is not old}
    return replace(outcome, **hidden) if hidden else outcome


@cache
def _told_by(kind: type[Any]) -> tuple[str, ...]:
    """The fields of this kind of outcome that a model or an environment has filled."""
    return tuple(f.name for f in fields(kind) if f.name not in ("state", "key"))


def environment() -> set[str]:
    """The values of variables such as OPENAI_API_KEY."""
    found = {os.environ.get(name) for name in os.environ if _names_a_key(name)}
    return {value for value in found if value is not None}  # another thread may have taken one out


@lru_cache(maxsize=4096)
def _names_a_key(variable: str) -> bool:
    return _ENVIRONMENT.search(variable) is not None


def secrets_of(lm: Any) -> set[str]:
    """The keys in an LM's settings: by their names, in headers, in addresses; and in an engine's attributes."""
    found: set[str] = set()
    for settings in (getattr(lm, "kwargs", {}), getattr(lm, "launch_kwargs", {}), getattr(lm, "train_kwargs", {})):
        found.update(_keys(settings, ""))
    engine = getattr(lm, "_engine_spec", None)
    if not isinstance(engine, str) and hasattr(engine, "__dict__"):
        held = dict(vars(engine))  # at once: its calls in other threads may add to it
        found.update(_keys({name: value for name, value in held.items() if isinstance(value, str)}, ""))
    return found


def public(settings: Mapping[str, Any], secrets: Iterable[str]) -> dict[str, Any]:
    """Those of an LM's settings that hold none of `secrets`."""
    spellings = _spellings(secrets, shortest=1)
    return {name: value for name, value in settings.items() if hide(value, spellings) is value}


def _keys(settings: Any, inside: str) -> Iterator[str]:
    """inside: the name of the setting that `settings` is the value of."""
    if hasattr(settings, "get_secret_value"):  # pydantic's SecretStr
        settings = settings.get_secret_value()
    if isinstance(settings, Mapping):
        for name, value in list(settings.items()):
            yield from _keys(value, inside if inside in _HEADERS else str(name))
    elif isinstance(settings, list | tuple):
        for value in settings:
            yield from _keys(value, inside)
    elif isinstance(settings, str) and settings:
        if inside in _HEADERS or _NAMES.search(inside):
            yield _SCHEME.sub("", settings, count=1)
        yield from (found[0] for shape in _SHAPES[:2] for found in shape.finditer(settings))
        if "://" in settings:
            yield from _keys_of_address(settings)


def _keys_of_address(address: str) -> Iterator[str]:
    try:
        parts = urlsplit(address)
        user, password = parts.username, parts.password
    except ValueError:  # of no address
        return
    if password:
        yield password
        yield unquote(password)
        yield base64.b64encode(f"{unquote(user or '')}:{unquote(password)}".encode(errors="replace")).decode()
    yield from (value for name, value in parse_qsl(parts.query) if _NAMES.search(name))


def _spellings(secrets: Iterable[str], shortest: int = SHORTEST) -> tuple[str, ...]:
    """Each secret as it is, in an address, and in JSON; the longest first, as one may hold another."""
    found: set[str] = set()
    for secret in secrets:
        if len(secret) >= shortest:
            found |= {secret, quote(secret, safe="", errors="replace"), json.dumps(secret)[1:-1]}
    return tuple(sorted(found, key=lambda spelling: (-len(spelling), spelling)))


def _is_no_word(secret: str) -> bool:
    if len(secret) < SHORTEST:
        return False
    mixed = any(map(str.isdigit, secret)) and any(map(str.isalpha, secret))
    if any(map(str.isspace, secret)):
        return mixed and len(secret) >= LONG
    return mixed or (len(secret) >= LONG and "/" not in secret)  # with one, it may be a media type
