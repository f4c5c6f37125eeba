"""P(yes) by the probabilities of one reply's tokens, where the model gives them, and by samples elsewhere."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from math import log
from typing import Any

import dspy
import dspy.lm15 as lm15
import pytest

from engines import Engine, lm, response
from stacking import GOAL, START, world
from thoughtree import MCTS, RAP, Blocksworld
from thoughtree.modules.likelihood import chance, gives_probabilities
from thoughtree.modules.recording import RecordLM, ReplayLM
from thoughtree.prompts import prompt_text, written
from thoughtree.search.protocol import Rated, Unread

each = pytest.mark.parametrize(("concurrency", "driver"), [(c, d) for c in (1, 8) for d in ("threads", "asyncio")])
ONE = MCTS(rollouts=1, branching=3)


def tokens(*said: Any) -> list[dict[str, Any]]:
    """Tokens as DSPy gives them: a text, or a text with the probabilities of its alternatives, its own among them."""
    found: list[dict[str, Any]] = []
    for one in said:
        text, listed = one if isinstance(one, tuple) else (one, {})
        top = [{"token": token, "logprob": log(p)} for token, p in listed.items()]
        own = next((row["logprob"] for row in top if row["token"] == text), 0.0)
        found.append({"token": text, "logprob": own, "top_logprobs": top})
    return found


MARK = ("[[ ## step_reasoning ## ]]\nno harm, yes\n\n[[ ##", " step_verdict", " ## ]]\n")


@pytest.mark.parametrize(
    ("said", "word", "likely"),
    [
        ([*MARK, ("yes", {"yes": 0.6, "no": 0.2, "good": 0.2}), "\n\n[[ ## completed ## ]]"], "yes", 0.75),
        ([*MARK, ("No", {"No": 0.5, "no": 0.1, " NO": 0.1, "Yes": 0.2, "yes": 0.1})], "no", 0.3),
        ([*MARK, "**", ("Yes", {"Yes": 0.9, "No": 0.1}), "**"], "yes", 0.9),
        ([*MARK, ('"yes', {'"yes': 0.4, '"no': 0.4, '"maybe': 0.2}), '"'], "yes", 0.5),
        ([*MARK, ("y", {"y": 0.8, "n": 0.2}), "es"], "yes", 0.8),
        ([*MARK, ("yes", {"yes": 0.8, "good": 0.1, "ok": 0.1})], "yes", 1.0),
        (['{"step_reasoning": "no", "step_verdict": "', ("no", {"no": 0.9, "yes": 0.1}), '"}'], "no", 0.1),
        (["<step_verdict>", ("yes", {"yes": 0.7, "no": 0.3}), "</step_verdict>"], "yes", 0.7),
        (["Well: ", ("yes", {"yes": 0.5, "no": 0.5}), ", or ", ("Yes", {"Yes": 0.6, "No": 0.4}), "."], "yes", 0.6),
        # The tokens say another word than the reader, or none.
        ([*MARK, ("yes", {"yes": 0.6, "no": 0.2})], "no", None),
        ([*MARK, "fine"], "yes", None),
        (["Affirmative"], "yes", None),
        ([], "yes", None),
    ],
)
def test_the_share_of_yes_at_the_verdicts_first_token(said: list[Any], word: str, likely: float | None) -> None:
    assert chance(tokens(*said), "step_verdict", word) == (None if likely is None else pytest.approx(likely))


@pytest.mark.parametrize(("word", "likely"), [("yes", 0.9), ("no", 0.1)])
def test_without_alternatives_the_rest_speaks_for_the_other_word(word: str, likely: float) -> None:
    said = [{"token": word, "logprob": log(0.9), "top_logprobs": []}]
    assert chance(said, "step_verdict", word) == pytest.approx(likely)


@pytest.mark.parametrize(
    ("logarithm", "likely"), [(float("nan"), 0.5), (float("inf"), 0.5), (None, 0.5), ("0", 0.5), (-float("inf"), 1.0)]
)
def test_what_is_no_probability_tells_nothing(logarithm: Any, likely: float) -> None:
    odd = {"token": "yes", "logprob": logarithm, "top_logprobs": []}
    assert chance([odd], "step_verdict", "yes") is None
    listed = [{"token": "yes", "logprob": log(0.5)}, {"token": "no", "logprob": logarithm}]
    assert chance([{**odd, "logprob": log(0.5), "top_logprobs": listed}], "step_verdict", "yes") == likely


def test_which_models_are_asked() -> None:
    bare, told, not_able = Engine(world), Engine(world), Engine(world)
    told.supported_params = {"logprobs"}  # type: ignore[attr-defined]
    not_able.supported_params = {"temperature"}  # type: ignore[attr-defined]
    assert [gives_probabilities(lm(engine)) for engine in (bare, told, not_able)] == [True, True, False]
    assert gives_probabilities(lm(not_able, logprobs=True))
    assert not gives_probabilities(lm(told, logprobs=False))
    assert not gives_probabilities(lm(told, model="openai/o3"))  # a reasoning model refuses them


# ---- in a search. P(yes) by the last action; no block has a goal to reach yet, so its share is 0.

LIKELY = {"unstack the red block from on top of the blue block": 0.9, "pick up the green block": 0.2}
CHILDREN = len(LIKELY)


def action_of(inputs: dict[str, str]) -> str:
    return inputs["search_path"].splitlines()[-1].split(". ", 1)[1]


def likely(call: Any, n: int, said: str | None = None) -> Any:
    """A verdict whose first token is as likely as `LIKELY` says; the rest of its mass is on the other word."""
    p = LIKELY[action_of(call.inputs)]
    word = said or ("yes" if p > 0.5 else "no")
    text = written({"step_reasoning": "by table", "step_verdict": word}, prompt_text(call.request))
    start = text.rindex(word, 0, text.rindex("completed") if "completed" in text else None)
    top = tuple(lm15.TopLogprob(w, log(q)) for w, q in (("yes", p), ("no", 1 - p)))
    chosen = lm15.TokenLogprob(word, log(p if word == "yes" else 1 - p), top=top)
    before, after = lm15.TokenLogprob(text[:start], 0.0), lm15.TokenLogprob(text[start + len(word) :], 0.0)
    return replace(response(text), logprobs=(before, chosen, after))


class Telling(Engine):
    """Tells the probabilities of its verdicts' tokens where it is asked for them."""

    supported_params = frozenset({"logprobs"})
    said: Callable[[int], str | None] = staticmethod(lambda n: None)

    def _reply(self, call: Any, n: int) -> Any:
        if "step_verdict" in call.kind and call.request.config.logprobs is not None:
            return likely(call, n, self.said(n))
        return super()._reply(call, n)


def ratings(engine: Engine) -> list[Any]:
    return [call for call in engine.calls if "step_verdict" in call.kind]


def plan(engine: Engine, driver: str = "threads", config: Any = None, settings: Any = None, **options: Any) -> Any:
    program = RAP(task=Blocksworld(), **{"controller": ONE, "blend": 0.0, **options})
    inputs = {"initial": START, "goal": GOAL, "config": config or {}}
    with dspy.context(lm=lm(engine, **(settings or {}))):
        return asyncio.run(program.acall(**inputs)) if driver == "asyncio" else program(**inputs)


def values(found: Any) -> dict[str, float]:
    return {found.search.shown(node): node.value for node in found.search.tree if node.depth == 1}


@each
def test_one_call_tells_what_five_samples_would(concurrency: int, driver: str) -> None:
    engine = Telling(world)
    found = plan(engine, driver, samples=5, concurrency=concurrency)
    assert values(found) == pytest.approx(LIKELY)
    assert len(ratings(engine)) == CHILDREN
    assert {call.request.config.logprobs for call in ratings(engine)} == {5}
    assert {call.request.config.logprobs for call in engine.calls if "step_verdict" not in call.kind} == {None}
    assert {call.request.config.temperature for call in ratings(engine)} == {None}  # it is no sample of several
    assert {node.verdict for node in found.search.tree if node.depth} == {"P(yes) = 0.9", "P(yes) = 0.2"}


@pytest.mark.parametrize("adapter", [dspy.JSONAdapter(), dspy.XMLAdapter()], ids=lambda adapter: type(adapter).__name__)
def test_whatever_the_adapter(adapter: Any) -> None:
    with dspy.context(adapter=adapter):
        assert values(plan(Telling(world), samples=5)) == pytest.approx(LIKELY)


def test_it_is_joined_with_the_share_of_the_goal() -> None:
    found = RAP(task=Blocksworld(), controller=ONE, blend=0.25)
    with dspy.context(lm=lm(Telling(world))):
        tree = found(initial=START, goal="on(blue,green), ontable(green)").search.tree
    assert tree[1].state.facts >= {"ontable(green)", "holding(red)"}  # half of the goal
    assert tree[1].value == pytest.approx(0.75 * 0.9 + 0.25 * 0.5)


def verdicts(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    """Yes to two of three samples, whatever they are of."""
    if "step_verdict" in kind:
        return {"step_reasoning": "r", "step_verdict": "no" if inputs["n"] == "0" else "yes"}
    return world(kind, inputs, n)


class Sampled(Engine):
    """Of each step's verdicts the first is no, the others yes. It tells no probabilities, and says so."""

    supported_params: frozenset[str] = frozenset()

    def _reply(self, call: Any, n: int) -> Any:
        if "step_verdict" in call.kind:
            action = action_of(call.inputs)
            with self._lock:
                self.seen = getattr(self, "seen", {})
                self.seen[action] = self.seen.get(action, 0) + 1
                call.inputs["n"] = str(self.seen[action] - 1)
        return super()._reply(call, n)


@each
def test_samples_elsewhere(concurrency: int, driver: str) -> None:
    engine = Sampled(verdicts)
    found = plan(engine, driver, samples=3, concurrency=concurrency)
    assert values(found) == pytest.approx(dict.fromkeys(LIKELY, 2 / 3))
    assert len(ratings(engine)) == 3 * CHILDREN
    assert {call.request.config.logprobs for call in ratings(engine)} == {None}
    assert {call.request.config.temperature for call in ratings(engine)} == {1.0}
    assert not found.search.rating.adaptive


class Silent(Sampled):
    """It says nothing of what it can do."""

    def __getattribute__(self, name: str) -> Any:
        if name == "supported_params":
            raise AttributeError(name)
        return super().__getattribute__(name)


@each
@pytest.mark.parametrize(("kind", "settings"), [(Sampled, {"logprobs": True}), (Silent, {})])
def test_a_model_that_is_asked_and_does_not_tell_is_sampled(
    kind: Any, settings: Any, concurrency: int, driver: str
) -> None:
    """The first reply is no waste: it is one of the samples."""
    engine = kind(verdicts)
    found = plan(engine, driver, samples=3, concurrency=concurrency, settings=settings)
    assert values(found) == pytest.approx(dict.fromkeys(LIKELY, 2 / 3))
    assert len(ratings(engine)) == 3 * CHILDREN


class Refusing(Sampled):
    supported_params = frozenset({"logprobs"})

    def _reply(self, call: Any, n: int) -> Any:
        if call.request.config.logprobs is not None:
            raise dspy.LMInvalidRequestError("logprobs is not supported with this model", model="stub/model")
        return super()._reply(call, n)


@pytest.mark.parametrize("retries", [0, 2])
def test_a_model_that_refuses_is_asked_again_without(retries: int) -> None:
    engine = Refusing(verdicts)
    found = plan(engine, samples=3, concurrency=1, retries=retries)
    assert values(found) == pytest.approx(dict.fromkeys(LIKELY, 2 / 3))
    assert [call.request.config.logprobs for call in ratings(engine)] == [5, *[None] * 3 * CHILDREN]
    assert found.search.errors == {"stub/model takes no logprobs": 1}


@each
@pytest.mark.parametrize("kind", [Telling, Sampled])
@pytest.mark.parametrize("budget", range(1, 13))
def test_a_budget_holds_either_way(budget: int, kind: Any, concurrency: int, driver: str) -> None:
    engine = kind(verdicts if kind is Sampled else world)
    found = plan(engine, driver, {"budget": budget}, {"logprobs": True}, samples=3, concurrency=concurrency)
    assert len(engine.calls) == found.search.spent.calls <= budget


@each
@pytest.mark.parametrize("kind", [Telling, Sampled])
@pytest.mark.parametrize("first", [4, 5, 6, 8])
def test_a_journal_gives_the_same_values_without_another_call(
    first: int, kind: Any, concurrency: int, driver: str, tmp_path: Any
) -> None:
    def run(engine: Engine, config: Any = None) -> Any:
        return plan(engine, driver, config, {"logprobs": True}, samples=3, concurrency=concurrency)

    fn = verdicts if kind is Sampled else world
    unbroken, engine, path = kind(fn), kind(fn), tmp_path / "run.jsonl"
    whole = run(unbroken)
    run(engine, {"journal": path, "budget": first})
    for _ in range(2):
        found = run(engine, {"journal": path})
        assert values(found) == pytest.approx(values(whole))
        assert [node.verdict for node in found.search.tree] == [node.verdict for node in whole.search.tree]
    assert len(engine.calls) == len(unbroken.calls)


def test_an_unread_verdict_is_unread_and_no_low_score() -> None:
    """It stands for neither yes nor no, and what code knows of the goal still counts."""

    class Mumbling(Telling):
        said = staticmethod(lambda n: "perhaps")

    program = RAP(task=Blocksworld(), controller=ONE, blend=0.25)
    with dspy.context(lm=lm(Mumbling(world))):
        found = program(initial=START, goal="on(blue,green), ontable(green)").search
    assert found.unread == {"rate": CHILDREN}
    # Where green still lies on the table half of the goal holds, and none of it where it is picked up.
    assert [node.value for node in found.tree if node.id] == pytest.approx([0.75 * 0.5 + 0.25 * 0.5, 0.75 * 0.5])


def test_a_verdict_that_is_cut_off_is_unread() -> None:
    def fn(kind: Any, inputs: dict[str, str], n: int) -> Any:
        cut = response("[[ ## step_reasoning ## ]]\nr\n[[ ## step_verdict ## ]]\nyes", finish="length")
        return cut if "step_verdict" in kind else world(kind, inputs, n)

    found = plan(Engine(fn)).search
    assert found.unread == {"rate": CHILDREN}
    assert {node.value for node in found.tree if node.id} == {0.5}


def test_probabilities_are_no_output_to_learn_from() -> None:
    with dspy.context(trace=(trace := [])):
        plan(Telling(world), controller=MCTS(rollouts=1, branching=3))
    rated = [made for predictor, _, made in trace if "step_verdict" in predictor.signature.output_fields]
    assert [sorted(made.keys()) for made in rated] == [["step_reasoning", "step_verdict"]]


@pytest.mark.parametrize("kind", [Telling, Silent])
def test_a_recording_gives_the_same_values(kind: Any, tmp_path: Any) -> None:
    """Whoever replays it asks as the recorded model was asked."""
    program = RAP(task=Blocksworld(), controller=ONE, blend=0.0, samples=2, concurrency=1)
    found = []
    for model in (RecordLM(lm(kind(world if kind is Telling else verdicts)), tmp_path / "replies.jsonl"), None):
        with dspy.context(lm=model or ReplayLM(tmp_path / "replies.jsonl")):
            found.append(program(initial=START, goal=GOAL))
    assert values(found[0]) == values(found[1])
    assert found[0].search.spent.calls == found[1].search.spent.calls


def test_a_journal_holds_what_settled_a_value() -> None:
    from thoughtree.search.codec import Codec
    from thoughtree.search.protocol import Ask, Rate, Reply

    for outcome in (
        Rated((0.7,), ("yes",), settled=True),
        Rated((0.7,)),
        Unread("x", 0.25),
        Unread("x", why="y"),
        Unread("x"),
    ):
        line = Codec().write(Ask(0, Rate((1,))), Reply(outcome))
        assert Codec().read(line).reply.outcome == outcome  # type: ignore[union-attr]
    with pytest.raises(ValueError, match=re.escape("Unread(value=nan)")):
        Unread("x", float("nan"))
