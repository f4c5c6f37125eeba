"""One call of a tool: from what a model wrote to a name with arguments, and back to text."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..search.protocol import Illegal
from ..tasks.turns import first_action
from . import reader as reading

LONGEST = 100_000  # characters of one call
THOUGHT = re.compile(r"Thought: ([^\n]*)\n(.*)", re.DOTALL)
LABEL = re.compile(r"(?<!\s)\s*+action\s*+\d*+\s*+:\s*+", re.IGNORECASE)
JSON_NAMES = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Equal calls are one action, whatever was thought before. arguments: a JSON object, keys in order."""

    tool: str
    arguments: str
    thought: str = field(default="", compare=False)

    @classmethod
    def of(cls, tool: str, arguments: dict[str, Any], thought: str = "") -> ToolCall:
        """Raises TypeError or ValueError for arguments that JSON cannot hold."""
        return cls(tool, json.dumps(arguments, sort_keys=True, allow_nan=False), thought)

    @property
    def args(self) -> dict[str, Any]:
        """The arguments by name; a new dict each time."""
        found: dict[str, Any] = json.loads(self.arguments)
        return found

    def __str__(self) -> str:
        return f"{self.tool}({', '.join(f'{name}={value!r}' for name, value in self.args.items())})"


def with_thought(thought: str, action: str) -> str:
    """An action with the reasoning that led to it, as one proposal; `read_call` takes them apart again."""
    return f"Thought: {' '.join(thought.split())}\n{action}"


def read_call(text: str, names_of: Callable[[str], Sequence[str] | None]) -> ToolCall | Illegal:
    """The call in `name(arg=value, ...)`, its values literals of Python or JSON, or in {"tool": ..., "args": {...}}.

    names_of: a tool's argument names in order, or None for a tool that there is not.
    """
    thought, said = "", text
    if split := THOUGHT.fullmatch(text):
        thought, said = split[1], split[2]
    if len(said) > 2 * LONGEST:
        return Illegal(f"a call of more than {LONGEST:,} characters")
    whole = LABEL.sub("", reading.code(said).strip().strip("`"), count=1).strip()
    call = _read(whole, thought, names_of)
    if isinstance(call, ToolCall):
        return call
    # It may go on by itself: with what the call gave, as it imagines, and further calls.
    first = reading.code(first_action(said, anywhere=True)).strip().strip("`").strip()
    shorter = _read(first, thought, names_of) if first != whole else call
    return shorter if isinstance(shorter, ToolCall) else call


def _read(said: str, thought: str, names_of: Callable[[str], Sequence[str] | None]) -> ToolCall | Illegal:
    if len(said) > LONGEST:
        return Illegal(f"a call of more than {LONGEST:,} characters")
    try:
        return _from_json(said, thought) if said.startswith("{") else _from_python(said, thought, names_of)
    except Illegal as illegal:
        return illegal
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return Illegal("not one call with literal arguments, as in name(arg='value')")


def _from_json(said: str, thought: str) -> ToolCall:
    given = json.loads(said)
    tool = given.get("tool", given.get("name"))
    args = given.get("args", given.get("arguments", {}))
    if not isinstance(tool, str) or not isinstance(args, dict):
        raise Illegal('not a call: a JSON action is {"tool": "name", "args": {...}}')
    return ToolCall.of(tool, args, thought)


def _from_python(said: str, thought: str, names_of: Callable[[str], Sequence[str] | None]) -> ToolCall:
    call = ast.parse(said, mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise Illegal("not a call, as in name(arg='value')")
    tool = call.func.id
    names = names_of(tool)
    if names is None:
        raise Illegal(f"no such tool: {tool}")
    if len(call.args) > len(names):
        raise Illegal(f"{tool} takes {len(names)} arguments, not {len(call.args)}")
    args = {name: _literal(value) for name, value in zip(names, call.args, strict=False)}
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in args:
            raise Illegal(f"{tool}: each argument is given once, by its name")
        args[keyword.arg] = _literal(keyword.value)
    return ToolCall.of(tool, args, thought)


class _JsonNames(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(JSON_NAMES[node.id]) if node.id in JSON_NAMES else node


def _literal(node: ast.expr) -> Any:
    """ValueError for anything but a literal; JSON's true, false and null are ones."""
    return ast.literal_eval(_JsonNames().visit(node))
