"""What a call knows besides its tree, and a resumed call knows again: prompts, limits, refusals, prices."""

from __future__ import annotations

import asyncio
from typing import Any

import dspy
import pytest

from engines import Engine, lm, response
from puzzle24 import KINDS, PUZZLE, drivers, engine, script
from thoughtree import Beam, Game24, TreeOfThoughts
from thoughtree.search.chain import sealed


class Crash(BaseException):
    pass


def traced(program: Any, model: Engine, driver: str, **inputs: Any) -> list[Any]:
    """The trace of one call, in words."""
    with dspy.context(lm=lm(model), trace=[]):
        if driver == "threads":
            program(**inputs)
        else:
            asyncio.run(program.acall(**inputs))
        names = {id(predictor): name for name, predictor in program.named_predictors()}
        return [(names[id(p)], given, dict(made)) for p, given, made in dspy.settings.trace]


def talker(kind: Any, inputs: Any, n: int) -> dict[str, Any]:
    if kind == "propose":
        return {"next_thoughts": f"1. {n} a\n2. {n} b"}
    if kind == "rate":
        return {"rating_reasoning": "r", "thought_rating": "sure" if inputs["search_path"].endswith("a") else "maybe"}
    return {"answer": f"[{len(inputs['search_path'].splitlines())}]"}


CASES = {
    "game24": (
        lambda: TreeOfThoughts(task=Game24(), controller=Beam(width=2), concurrency=1),
        script,
        {"numbers": PUZZLE},
    ),
    "answer": (
        lambda: TreeOfThoughts(
            "question -> answer: list[int]", controller=Beam(width=1, branching=2, max_depth=2), concurrency=1
        ),
        lambda kind, inputs, n: talker(kind, inputs, 1),
        {"question": "q"},
    ),
}


@drivers
@pytest.mark.parametrize("case", CASES)
def test_a_resumed_run_has_the_whole_runs_trace(driver: str, case: str, tmp_path: Any) -> None:
    make, fn, inputs = CASES[case]
    program, whole = make(), Engine(fn, kinds=KINDS)
    wanted = traced(program, whole, driver, **inputs)
    assert len(wanted) > 3
    for at in range(1, whole.count() + 1):
        path = tmp_path / f"{at}"

        def crash(event: Any, at: int = at) -> None:
            if event.search.spent.calls == at:
                raise Crash

        with pytest.raises(Crash):
            traced(program, Engine(fn, kinds=KINDS), driver, **inputs, config={"journal": path, "on_event": crash})
        assert traced(program, Engine(fn, kinds=KINDS), driver, **inputs, config={"journal": path}) == wanted
        nobody = Engine(lambda kind, inputs, n: 1 / 0, kinds=KINDS)
        assert traced(program, nobody, driver, **inputs, config={"journal": path}) == wanted
        assert nobody.count() == 0


def test_callbacks_hear_of_no_call_that_is_told_again(tmp_path: Any) -> None:
    class Heard(dspy.utils.BaseCallback):
        def __init__(self) -> None:
            self.starts = 0

        def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
            self.starts += 1

        def on_adapter_format_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
            self.starts += 1

    program, path, heard = CASES["game24"][0](), tmp_path / "run.jsonl", Heard()
    traced(program, engine(), "threads", numbers=PUZZLE, config={"journal": path})
    with dspy.context(callbacks=[heard]), dspy.track_usage() as used:
        assert len(traced(program, engine(), "threads", numbers=PUZZLE, config={"journal": path})) > 3
    assert heard.starts == 0
    assert used.get_total_tokens() == {}


def stopped(program: Any, model: Any, driver: str, path: Any, at: int, **inputs: Any) -> None:
    """A run that crashes once it was told `at` replies."""

    def crash(event: Any) -> None:
        if event.search.told == at:
            raise Crash

    with pytest.raises(Crash):
        run(program, model, driver, **inputs, config={"journal": path, "on_event": crash})


def run(program: Any, model: Any, driver: str, **inputs: Any) -> Any:
    with dspy.context(lm=model):
        return program(**inputs) if driver == "threads" else asyncio.run(program.acall(**inputs))


@drivers
def test_a_reply_that_was_cut_is_asked_again_with_more_room(driver: str, tmp_path: Any) -> None:
    program = TreeOfThoughts(
        "question -> answer", controller=Beam(width=1, branching=2, max_depth=1), answer="path", concurrency=1
    )
    cut = Engine(lambda kind, inputs, n: response("", finish="length"), kinds=KINDS)
    stopped(program, lm(cut, max_tokens=100), driver, tmp_path / "run", 1, question="q")
    whole = Engine(talker, kinds=KINDS)
    found = run(program, lm(whole, max_tokens=100), driver, question="q", config={"journal": tmp_path / "run"})
    assert [call.request.config.max_tokens for call in whole.calls] == [200, 100, 100]
    assert found.search.spent.calls == 4


@drivers
def test_a_model_that_took_no_temperature_is_not_sent_one(driver: str, tmp_path: Any) -> None:
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if kind == "rate":
            raise dspy.LMInvalidRequestError("Unsupported value: 'temperature' does not support 1.0", model="m")
        return talker(kind, inputs, n)

    program = TreeOfThoughts(
        "question -> answer",
        controller=Beam(width=1, branching=2, max_depth=1),
        samples=2,
        answer="path",
        concurrency=1,
        retries=0,
    )
    stopped(program, lm(Engine(fn, kinds=KINDS)), driver, tmp_path / "run", 2, question="q")
    model = Engine(talker, kinds=KINDS)
    found = run(program, lm(model), driver, question="q", config={"journal": tmp_path / "run"})
    assert [call.request.config.temperature for call in model.calls] == [None] * 4
    assert found.search.spent.calls == 6


@drivers
def test_a_call_of_an_unknown_price_ends_a_resumed_run_too(driver: str, tmp_path: Any) -> None:
    """A ceiling in dollars cannot be held any more, whether that was found out before the crash or after it."""
    program = TreeOfThoughts(
        "question -> answer",
        controller=Beam(width=1, branching=2, max_depth=1),
        answer="path",
        concurrency=1,
        budget={"cost": 1.0},
        prices={"stub/model": (1.0, 1.0)},
    )
    path, model = tmp_path / "run", Engine(talker, kinds=KINDS)
    stopped(program, lm(model), driver, path, 1, question="q")
    content = path.read_text()
    assert '"cost": 2e-06' in content
    # As it is written where a provider's reply names no price that was given.
    lines, check = b"", 0
    for line in content.splitlines():
        body = line[: line.rindex(', "sum"')].replace('"cost": 2e-06', '"cost": null')
        whole, check = sealed(f"{body}}}".encode(), check)
        lines += whole + b"\n"
    path.write_bytes(lines)
    found = run(program, lm(model), driver, question="q", config={"journal": path})
    assert model.count() == 1
    assert "stub/model" in found.search.first_error


def test_what_another_adapter_cannot_read_again_stays_out_of_the_trace(tmp_path: Any) -> None:
    program, path = CASES["game24"][0](), tmp_path / "run"
    with dspy.context(adapter=dspy.JSONAdapter()):
        wanted = traced(program, engine(), "threads", numbers=PUZZLE, config={"journal": path})
        assert traced(program, engine(), "threads", numbers=PUZZLE, config={"journal": path}) == wanted
    nobody = engine(lambda kind, inputs, n: 1 / 0)
    with dspy.context(adapter=dspy.XMLAdapter()):
        assert traced(program, nobody, "threads", numbers=PUZZLE, config={"journal": path}) == []
    assert nobody.count() == 0
