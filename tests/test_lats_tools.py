"""LATS over tools: a ReAct that searches a tree."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import dspy
import pytest

import thoughtree
from engines import Engine, lm
from patience import PATIENCE
from thoughtree import LATS, MCTS, Illegal, repeatable
from thoughtree.modules.memo import Memo
from thoughtree.modules.tool_call import ToolCall, with_thought
from thoughtree.modules.tools_environment import ToolsEnvironment
from thoughtree.search import SearchStatus
from thoughtree.search.environment import EnvironmentFault

each = pytest.mark.parametrize(
    ("concurrency", "driver"), [(c, d) for c in (1, 8) for d in ("threads", "asyncio")], ids=str
)
SIGNATURE = "question -> answer: int"


class Library:
    """Tools that count their runs."""

    def __init__(self) -> None:
        self.runs: list[str] = []

    @repeatable
    def look_up(self, name: str, page: int = 1) -> str:
        """Find a town's height."""
        self.runs.append(name)
        if name == "nowhere":
            raise KeyError(name)
        return f"{name}: {len(name)} m, page {page}"

    @repeatable
    async def add(self, a: int, b: int) -> int:
        self.runs.append(f"{a}+{b}")
        await asyncio.sleep(0)
        return a + b

    @property
    def tools(self) -> list[Any]:
        return [self.look_up, self.add]


def script(*actions: str) -> Any:
    """Both children of a node at depth d take the d-th action; judges like all alike."""

    def answer(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if "next_action" in kind:
            depth = inputs["search_path"].count("Action ")
            return {"act_reasoning": f"step {depth}", "next_action": actions[min(depth, len(actions) - 1)]}
        if "attempt_score" in kind:
            return {"judge_reasoning": "r", "attempt_score": "0.5"}
        if "attempt_lesson" in kind:
            return {"attempt_lesson": f"avoid it: {inputs['attempt_feedback']}"}
        return {"answer": "11"}

    return answer


def solve(program: LATS, engine: Engine, driver: str = "threads") -> Any:
    with dspy.context(lm=lm(engine)):
        return asyncio.run(program.acall(question="q")) if driver == "asyncio" else program(question="q")


@each
def test_tools_are_searched_and_the_prediction_carries_reacts_trajectory(concurrency: int, driver: str) -> None:
    library = Library()
    engine = Engine(script("look_up(name='Rome')", '{"tool": "add", "args": {"a": 4, "b": 3}}', "submit(answer=7)"))
    found = solve(LATS(SIGNATURE, tools=library.tools, concurrency=concurrency), engine, driver)
    assert found.answer == 7
    assert found.search.status is SearchStatus.UNVERIFIED
    assert found.search.path == ["look_up(name='Rome')", "add(a=4, b=3)", "submit(answer=7)"]
    assert found.trajectory == {
        "thought_0": "step 0",
        "tool_name_0": "look_up",
        "tool_args_0": {"name": "Rome"},
        "observation_0": "Rome: 4 m, page 1",
        "thought_1": "step 1",
        "tool_name_1": "add",
        "tool_args_1": {"a": 4, "b": 3},
        "observation_1": "7",
        "thought_2": "step 2",
        "tool_name_2": "submit",
        "tool_args_2": {"answer": 7},
        "observation_2": "submitted",
    }
    assert sorted(library.runs) == ["4+3", "Rome"]  # once in a search, however many branches asked
    assert not [call for call in engine.calls if call.kind == ("answer",)]


@each
def test_calls_that_two_branches_make_in_another_order_run_once(concurrency: int, driver: str) -> None:
    """One branch looks up Rome and then adds, the other adds and then looks up Rome: two paths, and two runs in all."""
    calls = ["look_up(name='Rome')", "add(a=1, b=2)"]

    def answer(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if "next_action" not in kind:
            return script()(kind, inputs, n)
        made = [call for call in calls if call in inputs["search_path"]]
        with lock:
            first.extend([calls[len(first) % 2]] if not made else [])
            return {"act_reasoning": "r", "next_action": calls[1 - calls.index(made[0])] if made else first[-1]}

    lock, first, library = threading.Lock(), list[str](), Library()
    controller = MCTS(rollouts=3, branching=2, max_depth=2)
    program = LATS(SIGNATURE, tools=library.tools, controller=controller, concurrency=concurrency, answer="path")
    found = solve(program, Engine(answer), driver).search
    paths = {tuple(str(n.action) for n in found.tree.path(node)[1:]) for node in found.tree if node.depth == 2}
    assert paths == {tuple(calls), tuple(reversed(calls))}
    assert sorted(library.runs) == ["1+2", "Rome"]


def test_a_memo_is_of_one_search_only() -> None:
    library, engine = Library(), Engine(script("look_up('Rome')", "submit(4)"))
    program = LATS(SIGNATURE, tools=library.tools)
    assert [solve(program, engine).answer for _ in range(2)] == [4, 4]
    assert library.runs == ["Rome", "Rome"]


def test_a_tool_that_raises_is_an_observation_and_teaches() -> None:
    engine = Engine(script("look_up('nowhere')"))
    found = solve(LATS(SIGNATURE, tools=Library().tools, controller=MCTS(rollouts=1)), engine)
    node = found.search.tree[1]
    assert (node.missed, node.observation["observation"]) == (True, "Error: KeyError: 'nowhere'")
    assert found.search.tree.lessons == ["avoid it: Error: KeyError: 'nowhere'"]
    assert found.search.failed == 0


def test_tools_that_raise_are_counted_and_told_of_first() -> None:
    """A service that is down is no judgment on the attempt: whoever reads the result sees why it came to nothing."""

    @repeatable
    def ask(name: str) -> str:
        raise ConnectionError("quota exceeded")

    engine = Engine(script("ask('Rome')", "ask('Oslo')"))
    found = solve(LATS(SIGNATURE, tools=[ask], controller=MCTS(rollouts=2), concurrency=1), engine).search
    steps = [node for node in found.tree if node.observation]
    told = f"{len(steps)} of {len(steps)} (100 %); first: Error: ConnectionError: quota exceeded"
    assert f"steps that raised an error: {told}" in found.warnings
    assert f"Steps that raised an error: {told}." in found.explain()
    assert "Change first: what its steps raise (Error: ConnectionError: quota exceeded)." in found.explain()
    assert {node.value for node in steps} == {0.5}  # the judge's, and no 0


def test_one_raise_among_many_steps_is_no_warning() -> None:
    library = Library()
    actions = ["look_up('nowhere')", *(f"look_up('{name}')" for name in ("Rome", "Oslo", "Bonn", "Bern", "Riga"))]
    engine = Engine(script(*actions, "submit(1)"))
    controller = MCTS(rollouts=7, branching=1)
    found = solve(LATS(SIGNATURE, tools=library.tools, controller=controller), engine).search
    assert library.runs[0] == "nowhere"
    assert not [text for text in found.warnings if "raised" in text]
    assert "Steps that raised an error: 1 of 7 (14 %)" in found.explain()


def test_a_fault_of_a_tool_is_an_error_and_no_observation() -> None:
    @repeatable
    def down() -> str:
        raise EnvironmentFault("no line")

    found = solve(LATS(SIGNATURE, tools=[down]), Engine(script("down()")))
    assert found.search.status is SearchStatus.FAILED
    assert found.search.first_error == "environment: no line"


def test_without_a_submission_the_closing_call_reads_what_was_seen() -> None:
    engine = Engine(script("look_up('Rome')"))
    found = solve(LATS(SIGNATURE, tools=Library().tools, controller=MCTS(rollouts=1)), engine)
    assert found.answer == 11
    (closing,) = [call for call in engine.calls if call.kind == ("answer",)]
    assert "Observation 1: Rome: 4 m, page 1" in closing.inputs["search_path"]


def environment(*tools: Any, most: int = 4000) -> ToolsEnvironment:
    return ToolsEnvironment(LATS(SIGNATURE, tools=tools).signature, tools, most)


def parsed(text: str) -> Any:
    return environment(*Library().tools).parse(text, ())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("look_up(name='a', page=2)", "look_up(name='a', page=2)"),
        ('look_up("a", 2)', "look_up(name='a', page=2)"),
        ("Action 3: look_up(name='a')", "look_up(name='a')"),
        ("```python\nadd(b=-1, a=2)\n```", "add(a=2, b=-1)"),
        ('{"tool": "add", "args": {"a": 1, "b": 2}}', "add(a=1, b=2)"),
        ('{"name": "add", "arguments": {"a": 1, "b": 2}}', "add(a=1, b=2)"),
        ("submit(3)", "submit(answer=3)"),
    ],
)
def test_calls_are_read_in_both_forms(text: str, shown: str) -> None:
    assert str(parsed(text)) == shown
    assert parsed(shown) == parsed(text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("fly(to='Rome')", "no such tool: fly"),
        ('{"tool": "fly"}', "no such tool: fly"),
        ("look_up()", "look_up: the argument name is missing"),
        ("add(a=1, b=2, c=3)", "add: Arg c is not in the tool's args."),
        ("add(a='x', b=2)", "add: Arg a is invalid: 'x' is not of type 'integer'"),
        ("add(1, 2, 3)", "add takes 2 arguments, not 3"),
        ("add(1, a=2)", "add: each argument is given once, by its name"),
        ("submit()", "submit: the argument answer is missing"),
        ("submit(answer=1, why='x')", "submit: there is no argument why"),
        ("look_up(name=open('x'))", "not one call with literal arguments, as in name(arg='value')"),
        ("look_up(name=1e999)", "not one call with literal arguments, as in name(arg='value')"),
        ("I would look it up", "not one call with literal arguments, as in name(arg='value')"),
        ("(" * 5000, "not one call with literal arguments, as in name(arg='value')"),
        ("42", "not a call, as in name(arg='value')"),
        ('{"tool": "add", "args": [1, 2]}', 'not a call: a JSON action is {"tool": "name", "args": {...}}'),
    ],
)
def test_what_is_no_call_is_illegal_and_says_why(text: str, rule: str) -> None:
    assert parsed(text) == Illegal(rule)


def test_a_submission_has_the_outputs_type() -> None:
    refused = parsed("submit(answer='many')")
    assert isinstance(refused, Illegal)
    assert "submit: " in refused.rule


def test_equal_calls_are_one_action_whatever_was_thought() -> None:
    one, other = parsed(with_thought("hm", "add(1, 2)")), parsed(with_thought("well\nnow", "add(b=2, a=1)"))
    assert (one, hash(one)) == (other, hash(other))
    assert (one.thought, other.thought) == ("hm", "well now")


def test_a_tool_that_is_not_marked_is_refused_with_the_mend() -> None:
    def pay(amount: int) -> str:
        raise AssertionError

    with pytest.raises(TypeError, match=r"@thoughtree.repeatable above `def pay`"):
        LATS(SIGNATURE, tools=[pay])
    with pytest.raises(TypeError, match="pay is not marked"):
        LATS(SIGNATURE, tools=[dspy.Tool(pay)])
    pay.repeatable = True  # type: ignore[attr-defined]
    LATS(SIGNATURE, tools=[pay])


def test_tools_of_every_kind_can_be_marked() -> None:
    def plain(a: int) -> int:
        return a

    tool = repeatable(dspy.Tool(plain, name="renamed"))

    class Late:
        async def now(self, a: int) -> int:
            return a + 1

    env = environment(tool, repeatable("x".join), repeatable(Late().now))
    assert list(env.tools) == ["renamed", "join", "now"]
    assert env.step((), ToolCall.of("now", {"a": 1})).observation == "2"
    assert not hasattr(plain, "repeatable")


def test_names_are_taken_once() -> None:
    @repeatable
    def submit() -> None: ...

    with pytest.raises(ValueError, match="ends an attempt"):
        LATS(SIGNATURE, tools=[submit])
    with pytest.raises(ValueError, match="another tool"):
        LATS(SIGNATURE, tools=[Library().look_up, Library().look_up])
    with pytest.raises(ValueError, match="exactly one"):
        LATS(SIGNATURE, tools=[Library().look_up], env=object())


def test_a_long_observation_is_cut() -> None:
    @repeatable
    def page() -> str:
        return "x" * 50

    env = environment(page, most=20)
    assert env.step((), ToolCall.of("page", {})).observation == "x" * 20 + " ... (30 more characters)"


def test_an_async_tool_runs_beside_a_running_loop() -> None:
    env = environment(*Library().tools)

    async def inside() -> str:
        return env.step((), ToolCall.of("add", {"a": 1, "b": 2})).observation

    assert asyncio.run(inside()) == "3"


def test_equal_keys_are_computed_once_also_at_the_same_time() -> None:
    memo, started, go, runs = Memo(), threading.Event(), threading.Event(), []

    def slow() -> int:
        runs.append(1)
        started.set()
        go.wait(PATIENCE)
        return 7

    got: list[int] = []
    threads = [threading.Thread(target=lambda: got.append(memo.get("k", slow))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert started.wait(PATIENCE)
    go.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert (got, len(runs)) == ([7] * 4, 1)


def test_what_raised_is_tried_again() -> None:
    memo, runs = Memo(), []

    def shaky() -> int:
        runs.append(1)
        if len(runs) == 1:
            raise EnvironmentFault("busy")
        return 7

    with pytest.raises(EnvironmentFault):
        memo.get("k", shaky)
    assert (memo.get("k", shaky), memo.get("k", shaky), len(runs)) == (7, 7, 2)


def test_it_is_saved_loaded_and_resumed(tmp_path: Any) -> None:
    library, engine, journal = Library(), Engine(script("look_up('Rome')", "submit(4)")), tmp_path / "run.jsonl"
    program = LATS(SIGNATURE, tools=library.tools)
    program.save(tmp_path / "program.json")
    with pytest.raises(ValueError, match="tools="):
        thoughtree.load(tmp_path / "program.json")
    loaded = thoughtree.load(tmp_path / "program.json", tools=library.tools)
    with dspy.context(lm=lm(engine)):
        loaded(question="q", config={"journal": journal, "budget": 3})
        found = loaded(question="q", config={"journal": journal})
    assert (found.answer, found.trajectory["thought_0"], library.runs) == (4, "step 0", ["Rome"])


def test_a_tool_may_declare_calls_of_its_own_and_else_may_make_none() -> None:
    def asking() -> str:
        return str(dspy.Predict("topic -> fact")(topic="Rome").fact)

    def answers(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        return {"fact": "it is old"} if "fact" in kind else script("asking()", "submit(1)")(kind, inputs, n)

    undeclared = solve(LATS(SIGNATURE, tools=[repeatable(asking)], concurrency=1), Engine(answers))
    assert undeclared.search.status is SearchStatus.FAILED  # a call that nobody reserved is an error, no observation
    asking.calls = 1  # type: ignore[attr-defined]
    found = solve(LATS(SIGNATURE, tools=[repeatable(asking)], concurrency=1), Engine(answers))
    assert (found.answer, found.trajectory["observation_0"]) == (1, "it is old")
