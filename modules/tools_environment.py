"""An environment of tools: a tree-searching ReAct. Actions are calls, observations what they gave."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dspy

from ..search.environment import EnvironmentFault, Observed
from ..search.protocol import Illegal
from ..tasks import tagged
from ..tasks.codec import texts
from .answer import typed
from .background import in_loop, in_thread
from .calls.gate import OverCalls, current
from .calls.limit import Refusal
from .calls.redaction import hide
from .memo import Memo
from .own import calls_of, is_coroutine
from .repeatable_tools import accepted
from .tool import SearchTool
from .tool_call import ToolCall, read_call

SUBMIT = "submit"
MOST = 4_000  # characters of one observation
FAULTS = (EnvironmentFault, Refusal, OverCalls, dspy.LMError)  # of the call, and no news of the world

Made = tuple[str, str, str, str]  # thought, tool, arguments as JSON, observation
State = tuple[Made, ...]


class ToolsEnvironment:
    """Pure: the state is the calls so far with what they gave, as plain data.

    tools: functions and dspy.Tools, sync or async, all marked as repeatable. `submit(...)` takes the signature's
    output fields, and ends a path with a claim that nobody has checked. Equal calls in one search run once: the memo
    is on what `for_inputs` returns. most: characters of an observation that are kept.
    """

    thinks = True  # the actor's reasoning is kept with each action
    leaves_open = True  # a path without `submit` has no answer yet

    def __init__(self, user: type[dspy.Signature], tools: Iterable[Any], most: int = MOST) -> None:
        if not isinstance(most, int) or isinstance(most, bool) or most < 1:
            raise ValueError(f"most={most!r}: must be a number of characters, at least 1")
        self.user, self.most = user, most
        self.tools = accepted(tools, SUBMIT)
        self.calls = max(calls_of(tool.func) for tool in self.tools.values())
        self._memo = Memo()

    def for_inputs(self, inputs: Mapping[str, Any]) -> ToolsEnvironment:
        own = type(self).__new__(type(self))
        own.__dict__ = {**self.__dict__, "_memo": Memo()}
        return own

    # ---- what it says of itself

    def config(self) -> dict[str, Any]:
        return {"tools": {name: tool.args for name, tool in self.tools.items()}, "most": self.most}

    @property
    def action_format(self) -> str:
        return f"one call with literal arguments, such as {next(iter(self.tools))}(...), or {SUBMIT}(...) at the end"

    def instructions(self) -> str:
        lines = ["An action is one call of these tools:"]
        for name, tool in self.tools.items():
            told = " ".join((tool.desc or "").split())
            lines.append(f"- {name}({_parameters(tool.args or {})})" + (f": {told}" if told else ""))
        outputs = ", ".join(self.user.output_fields)
        return "\n".join([*lines, f"- {SUBMIT}({outputs}): gives the answer, and ends the attempt"])

    # ---- actions

    def parse(self, text: str, state: State) -> ToolCall | Illegal:
        """The call that `text` means, if there is such a tool and its arguments fit."""
        call = read_call(text, self._names)
        return call if isinstance(call, Illegal) else self._fault(call) or call

    def _names(self, tool: str) -> Sequence[str] | None:
        if tool == SUBMIT:
            return list(self.user.output_fields)
        return list(self.tools[tool].args or {}) if tool in self.tools else None

    def _fault(self, call: ToolCall) -> Illegal | None:
        """What keeps this call from being made."""
        if call.tool == SUBMIT:
            needed, known = list(self.user.output_fields), set(self.user.output_fields)
        elif call.tool in self.tools:
            needed, known = _needed(self.tools[call.tool]), None
        else:
            return Illegal(f"no such tool: {call.tool}")
        args = call.args
        if missing := [name for name in needed if name not in args]:
            return Illegal(f"{call.tool}: the argument {missing[0]} is missing")
        if known is not None and (strange := [name for name in args if name not in known]):
            return Illegal(f"{call.tool}: there is no argument {strange[0]}")
        try:
            if call.tool == SUBMIT:
                self._outputs(args)
            else:
                self.tools[call.tool]._validate_and_parse_args(**args)
        except ValueError as error:
            return Illegal(f"{call.tool}: {' '.join(str(error).split())}")
        return None

    def _outputs(self, args: Mapping[str, Any]) -> dict[str, Any]:
        return {name: typed(self.user, name, args[name]) for name in self.user.output_fields}

    # ---- steps

    def initial(self, inputs: dict[str, Any]) -> State:
        return ()

    def step(self, state: State, action: ToolCall) -> Observed:
        if action.tool == SUBMIT:
            return self._submitted(state, action)
        return self._observed(state, action, *self._memo.get(action, lambda: self._ran(action)))

    async def astep(self, state: State, action: ToolCall) -> Observed:
        """On the caller's own loop, where an async tool's connections live; other tools in a thread."""
        if action.tool == SUBMIT:
            return self._submitted(state, action)
        return self._observed(state, action, *await self._memo.aget(action, lambda: self._aran(action)))

    def _submitted(self, state: State, action: ToolCall) -> Observed:
        return Observed(_after(state, action, "submitted"), observation="submitted", claimed=True, key=None)

    def _observed(self, state: State, action: ToolCall, text: str, failed: bool) -> Observed:
        new = _after(state, action, text)
        error = text if failed else None
        key = tuple(made[1:] for made in new)
        return Observed(new, observation=text, failed=failed, feedback=error, error=error, key=key)

    def _ran(self, action: ToolCall) -> tuple[str, bool]:
        """What the tool gave, as text, and whether it raised."""
        tool = self.tools[action.tool]
        try:
            if _awaited(tool):
                return self._text(in_loop(lambda: tool.acall(**action.args))), False
            return self._text(tool(**action.args)), False
        except FAULTS:
            raise
        except Exception as error:
            return self._error(error), True

    async def _aran(self, action: ToolCall) -> tuple[str, bool]:
        tool = self.tools[action.tool]
        if not _awaited(tool):
            return await in_thread(lambda: self._ran(action))
        try:
            return self._text(await tool.acall(**action.args)), False
        except FAULTS:
            raise
        except Exception as error:
            return self._error(error), True

    def _error(self, error: Exception) -> str:
        return self._text(f"Error: {type(error).__name__}: {error}")

    def _text(self, given: Any) -> str:
        text = given if isinstance(given, str) else _written(given)
        if (meter := current()) is not None:
            text = hide(text, meter.spellings)
        left = len(text) - self.most
        return text if left <= 0 else f"{text[: self.most]} ... ({left:,} more characters)"

    # ---- what came of it

    def answer(self, state: State) -> dict[str, Any]:
        """What was submitted, typed; nothing on a path that was not ended so."""
        return self._outputs(json.loads(state[-1][2])) if state and state[-1][1] == SUBMIT else {}

    def load(self, value: Any) -> State:
        """A state from a file. ValueError for what is none."""
        state = tagged.load(value)
        if not isinstance(state, tuple) or not all(isinstance(made, tuple) and len(made) == 4 for made in state):
            raise ValueError(f"{value!r} is no list of calls")
        for _, _, args, _ in map(texts, state):
            if not isinstance(json.loads(args), dict):
                raise ValueError(f"{args!r} are no arguments of a call")
        return state

    def render(self, state: State) -> str:
        return "\n".join(f"{ToolCall(tool, args)}\n{seen}" for _, tool, args, seen in state)

    def trajectory(self, state: State) -> dict[str, Any]:
        """In the form of dspy.ReAct: thought_i, tool_name_i, tool_args_i, observation_i, from 0."""
        found: dict[str, Any] = {}
        for i, (thought, tool, args, seen) in enumerate(state):
            found[f"thought_{i}"], found[f"tool_name_{i}"] = thought, tool
            found[f"tool_args_{i}"], found[f"observation_{i}"] = json.loads(args), seen
        return found


def _after(state: State, action: ToolCall, seen: str) -> State:
    return (*state, (action.thought, action.tool, action.arguments, seen))


def _needed(tool: dspy.Tool) -> list[str]:
    """Arguments that have no default."""
    variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = inspect.signature(tool.func).parameters.values()
    needed = [p.name for p in parameters if p.default is inspect.Parameter.empty and p.kind not in variadic]
    return [name for name in needed if name in (tool.args or {})]


def _parameters(schemas: Mapping[str, Any]) -> str:
    """`query: string, k: integer = 3`."""
    told = []
    for name, schema in schemas.items():
        kind = schema.get("type") or ("one of " + json.dumps(schema["enum"]) if "enum" in schema else "any")
        default = f" = {json.dumps(schema['default'], default=str)}" if "default" in schema else ""
        told.append(f"{name}: {kind}{default}")
    return ", ".join(told)


def _awaited(tool: dspy.Tool) -> bool:
    return isinstance(tool, SearchTool) or is_coroutine(inspect.unwrap(tool.func))


def _written(given: Any) -> str:
    try:
        return json.dumps(given, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(given)
