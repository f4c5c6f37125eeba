"""A call's journal: resumed after a crash at any reply, paid once, its own, and without keys."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import dspy
import pytest

from coding import Runner, actor
from engines import Engine
from journals import replies
from puzzle24 import KINDS, PATH, PUZZLE, call, drivers, engine, script
from stacking import GOAL, START, world
from thoughtree import DFS, LATS, MCTS, RAP, Beam, BestFirst, Blocksworld, Game24, TreeOfThoughts
from thoughtree.modules.header import settled
from thoughtree.search import Journal, JournalError


class Crash(BaseException):
    pass


def solver(**knobs):
    return TreeOfThoughts(task=Game24(), **{"controller": Beam(width=2), **knobs})


def talker(kind, inputs, n):
    """Free text, with everything that a reply can be: samples, ratings, an answer."""
    if kind == "propose":
        return {"next_thoughts": f"1. from {inputs['search_path'].splitlines()[-1]} a\n2. from there b"}
    if kind == "rate":
        last = inputs["search_path"].splitlines()[-1]
        return {"rating_reasoning": "r", "thought_rating": "sure" if last.endswith("a") else "maybe"}
    return {"answer": "[1, 2]"}


def free(**knobs):
    return TreeOfThoughts("question -> answer: list[int]", **{"controller": Beam(width=2, branching=2), **knobs})


def shape(found):
    return (
        [(n.parent, str(n.action), n.status, n.value) for n in found.search.tree],
        found.search.status,
        found.search.path,
        dict(found),
    )


CASES = {
    "beam": (solver, script, {"numbers": PUZZLE}),
    "dfs": (lambda **k: solver(controller=DFS(), **k), script, {"numbers": PUZZLE}),
    "best-first": (lambda **k: solver(controller=BestFirst(), **k), script, {"numbers": PUZZLE}),
    "free text": (free, talker, {"question": "q"}),
    "samples": (lambda **k: free(samples=2, **k), talker, {"question": "q"}),
    "moves": (
        lambda **k: solver(propose="moves", controller=Beam(width=2, branching=4), **k),
        script,
        {"numbers": PUZZLE},
    ),
    "choose": (
        lambda **k: solver(propose="choose", controller=Beam(width=2, branching=4), **k),
        lambda kind, inputs, n: (
            {"chosen_steps": "4, 2, 1, 99"} if "chosen_steps" in kind else script("rate", inputs, n)
        ),
        {"numbers": PUZZLE},
    ),
    "reward": (
        lambda **k: free(reward_fn=lambda inputs, prediction: 1.0, threshold=0.5, **k),
        talker,
        {"question": "q"},
    ),
}


@drivers
@pytest.mark.parametrize("case", CASES)
def test_a_run_crashed_at_any_reply_is_resumed_and_pays_nothing_twice(driver, case, tmp_path):
    make, fn, inputs = CASES[case]
    program = make(concurrency=1)
    whole = engine(fn)
    unbroken = call(program, whole, driver, **inputs)
    for reply in range(1, whole.count() + 1):
        path = tmp_path / f"{reply}.jsonl"

        def crash(event, at=reply):
            if event.search.spent.calls == at:
                raise Crash

        first, second = engine(fn), engine(fn)
        with pytest.raises(Crash):
            call(program, first, driver, **inputs, config={"journal": path, "on_event": crash})
        resumed = call(program, second, driver, **inputs, config={"journal": path})
        assert shape(resumed) == shape(unbroken)
        assert first.count() == reply
        assert first.count() + second.count() == whole.count()
        assert resumed.search.spent.calls == whole.count()


@drivers
def test_many_in_flight_are_resumed_too(driver, tmp_path):
    """With eight in flight a crash loses at most what was in flight, and the answer is the same."""
    program = solver(concurrency=8)
    unbroken = call(program, engine(), driver, numbers=PUZZLE)
    total = unbroken.search.spent.calls
    for reply in range(1, total):
        path = tmp_path / f"{reply}.jsonl"

        def fn(kind, inputs, n, at=reply):
            if n == at:
                raise Crash
            return script(kind, inputs, n)

        second = engine()
        with pytest.raises(Crash):
            call(program, engine(fn), driver, numbers=PUZZLE, config={"journal": path})
        told = len(replies(path))
        resumed = call(program, second, driver, numbers=PUZZLE, config={"journal": path})
        assert resumed.search.path == unbroken.search.path
        assert second.count() == total - told


def test_a_finished_run_is_told_again_without_a_call(tmp_path):
    path = tmp_path / "run.jsonl"
    first = call(solver(), engine(), numbers=PUZZLE, config={"journal": path})
    nobody = engine(lambda kind, inputs, n: 1 / 0)
    again = call(solver(), nobody, "asyncio", numbers=PUZZLE, config={"journal": str(path)})
    assert shape(again) == shape(first)
    assert nobody.count() == 0


@drivers
def test_a_larger_budget_goes_on_where_a_smaller_one_ended(driver, tmp_path):
    path, model = tmp_path / "run.jsonl", engine()
    short = call(solver(concurrency=1), model, driver, numbers=PUZZLE, config={"journal": path, "budget": 5})
    assert (short.search.ended, model.count()) == ("calls", 5)
    whole = call(solver(concurrency=1), model, driver, numbers=PUZZLE, config={"journal": path, "budget": 50})
    assert whole.search.path == PATH
    assert model.count() == whole.search.spent.calls


@pytest.mark.parametrize(
    ("other", "config", "inputs", "names"),
    [
        (solver, {"seed": 1}, {"numbers": PUZZLE}, "seed"),
        (solver, {"retries": 0}, {"numbers": PUZZLE}, "retries"),
        (solver, {"blend": 0.25}, {"numbers": PUZZLE}, "rating"),
        (solver, {"controller": Beam(width=3)}, {"numbers": PUZZLE}, "controller"),
        (lambda: TreeOfThoughts("numbers -> answer: list[str]", task=Game24(), controller=Beam(width=2)), {},
         {"numbers": PUZZLE}, "signature"),
        (lambda: solver(propose="moves"), {}, {"numbers": PUZZLE}, "propose"),
        (lambda: solver(first="answer"), {}, {"numbers": PUZZLE}, "answer"),
        (solver, {"controller": DFS()}, {"numbers": PUZZLE}, "controller"),
        (solver, {}, {"numbers": "1 2 3 4"}, "inputs"),
        (solver, {"samples": 2}, {"numbers": PUZZLE}, "rating"),
        (lambda: TreeOfThoughts(task=Game24(target=25), controller=Beam(width=2)), {}, {"numbers": PUZZLE}, "task"),
        (lambda: solver(scale={"sure": 21, "maybe": 1, "impossible": 0.001}), {}, {"numbers": PUZZLE}, "rating"),
        (lambda: TreeOfThoughts("numbers, hint -> answer", task=Game24(), controller=Beam(width=2)), {},
         {"numbers": PUZZLE, "hint": "h"}, "roles"),
        (lambda: solver(value_fn=lambda inputs, path: 1.0), {}, {"numbers": PUZZLE}, "functions"),
        (lambda: solver(answer="lm"), {}, {"numbers": PUZZLE}, "answer"),
    ],
)  # fmt: skip
def test_another_searchs_journal_is_refused_with_what_differs(tmp_path, other, config, inputs, names):
    path = tmp_path / "run.jsonl"
    call(solver(), engine(), numbers=PUZZLE, config={"journal": path})
    before = path.read_bytes()
    model = engine()
    with pytest.raises(JournalError, match=rf"belongs to another search.*{names}: "):
        call(other(), model, **inputs, config={"journal": path, **config})
    assert model.count() == 0
    assert path.read_bytes() == before


def test_other_demos_are_another_search(tmp_path):
    program, path = solver(), tmp_path / "run.jsonl"
    call(program, engine(), numbers=PUZZLE, config={"journal": path})
    program.rate.predict.demos = [dspy.Example(numbers="1", search_state="1", thought_rating="sure")]
    with pytest.raises(JournalError, match="roles: "):
        call(program, engine(), numbers=PUZZLE, config={"journal": path})


def test_what_differs_is_said_and_nothing_else(tmp_path):
    path = tmp_path / "run.jsonl"
    call(solver(), engine(), numbers=PUZZLE, config={"journal": path})
    with pytest.raises(JournalError) as caught:
        call(solver(), engine(), numbers=PUZZLE, config={"journal": path, "seed": 1, "retries": 3, "budget": 7})
    assert "by its header (retries: 2 there, 3 now; seed: 0 there, 1 now); give this run" in str(caught.value)


class Marked:
    """An input without words of its own, but for its address."""

    def __init__(self, mark):
        self.mark = mark


@dataclass
class Tagged:
    tags: set[str]
    of: object


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import dspy
from thoughtree import DFS, LATS, RAP, Beam, Blocksworld, Game24, TreeOfThoughts
from thoughtree.modules.header import header, settled
from coding import Runner
from stacking import GOAL, START
from test_program_journal import Marked, Tagged
from engines import Engine, lm

odd = {"marked": Marked(1), "tagged": Tagged({"a", "b", "c", "d"}, Marked({"x", "y", "z"})), "of": len}
programs = [
    (TreeOfThoughts(task=Game24(), controller=Beam()), {"numbers": "4 9 10 13"}),
    (TreeOfThoughts("a: dict, b: set[str] -> c: list[int]", rate="vote", samples=2), {"a": odd, "b": set("abcdef")}),
    (TreeOfThoughts("a -> b", propose=lambda inputs, node, n: [], value_fn=lambda inputs, path: 1.0), {"a": "q"}),
    (LATS(env=Runner()), {"task": "t"}),
    (RAP(task=Blocksworld()), {"initial": START, "goal": GOAL}),
]
programs[1][0].rate.predict.demos = [dspy.Example(a={"x", "y", "z"}, thought_rating="sure")]
with dspy.context(lm=lm(Engine(print))):
    for program, inputs in programs:
        print(header(program._session((), inputs)))
"""


def test_a_header_is_the_same_in_every_process():
    """Sets have another order there, and objects another address."""
    folder = str(Path(__file__).parent)
    told = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, folder],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1]
    assert len(told[0].splitlines()) == 5


def test_other_contents_are_another_input():
    assert settled(Marked(1)) != settled(Marked(2))
    assert settled(Tagged({"a"}, 1)) != settled(Tagged({"b"}, 1))


@drivers
def test_fsync_is_a_setting_of_a_call(driver, tmp_path, monkeypatch):
    """Each line is forced to the disk before it is told, and the name of a new file; without it, nothing is."""
    forced, events = [], []

    def fsync(file):
        name = os.readlink(f"/proc/self/fd/{file}")
        forced.append((name, threading.current_thread() is threading.main_thread()))
        if name == str(path):
            whole[0] = 1 + len(replies(path))

    def told(event):
        events.append(event)
        assert 1 + event.search.told <= whole[0]

    monkeypatch.setattr(os, "fsync", fsync)
    path, whole = tmp_path / "run.jsonl", [0]
    call(solver(), engine(), driver, numbers=PUZZLE, config={"journal": tmp_path / "other.jsonl"})
    assert forced == []
    call(solver(), engine(), driver, numbers=PUZZLE, config={"journal": path, "fsync": True, "on_event": told})
    assert len(events) == whole[0] - 1
    assert forced[:2] == [(str(path), True), (str(tmp_path), True)]
    assert set(forced[2:]) == {(str(path), False)}  # by other threads: an event loop does not wait for a disk
    left = [thread for thread in threading.enumerate() if thread.name.startswith("thoughtree-disk")]
    for thread in left:
        thread.join(30)
    assert not any(thread.is_alive() for thread in left)


def test_fsync_that_is_none_is_refused(tmp_path):
    path = tmp_path / "run.jsonl"
    with pytest.raises(ValueError, match="fsync=True: there is no journal"):
        call(solver(), engine(), numbers=PUZZLE, config={"fsync": True})
    with pytest.raises(TypeError, match="fsync=1: must be True or False"):
        call(solver(), engine(), numbers=PUZZLE, config={"journal": path, "fsync": 1})


def test_a_folder_has_a_file_a_call(tmp_path):
    folder, model = tmp_path / "runs", engine()
    folder.mkdir()
    program = solver()
    for numbers, config in ((PUZZLE, {}), ("4 9 10 12", {}), (PUZZLE, {"seed": 1}), (PUZZLE, {"controller": DFS()})):
        call(program, model, numbers=numbers, config={"journal": folder, **config})
    assert len(list(folder.glob("*.jsonl"))) == 4
    asked = model.count()
    assert call(program, model, numbers=PUZZLE, config={"journal": folder}).search.path == PATH
    assert model.count() == asked  # it found its own file


def test_the_attempts_of_best_of_n_have_a_file_each(tmp_path):
    model = engine(talker)
    best = dspy.BestOfN(module=free(), N=3, reward_fn=lambda inputs, prediction: 0.0, threshold=1.0)
    call(best, model, question="q", config={"journal": f"{tmp_path}/runs/"})
    assert len(list((tmp_path / "runs").glob("*.jsonl"))) == 3


def test_a_journal_in_use_is_refused(tmp_path):
    path = tmp_path / "run.jsonl"

    def meanwhile(event):
        with pytest.raises(JournalError, match="another run is writing to it"):
            call(solver(), engine(), numbers=PUZZLE, config={"journal": path})

    found = call(solver(), engine(), numbers=PUZZLE, config={"journal": path, "on_event": meanwhile})
    assert found.search.path == PATH


PLANTED = {"key": "sk-planted0123456789abcdef", "env": "hush-env-0123456789"}


@drivers
def test_no_key_gets_into_the_file(driver, tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", PLANTED["env"])
    path = tmp_path / "run.jsonl"

    def fn(kind, inputs, n):
        if n == 1:
            raise ValueError(f"POST failed: Authorization: Bearer {PLANTED['key']}; its env is {PLANTED['env']}")
        return script(kind, inputs, n)

    nobody_listens = dspy.LM(
        "openai/rater",
        api_key=PLANTED["key"],
        api_base="http://127.0.0.1:9/v1",
        cache=False,
    )
    lost = call(solver(), engine(fn), driver, numbers=PUZZLE, config={"journal": path})
    found = call(
        solver(rate_lm=nobody_listens, retries=0), engine(), driver, numbers=PUZZLE, config={"journal": tmp_path / "2"}
    )
    assert found.search.spent_by["rate"].calls >= 3
    assert "POST failed" in lost.search.first_error
    told = [path.read_text(), (tmp_path / "2").read_text(), lost.search.first_error, lost.search.explain()]
    told += [found.search.first_error, found.search.explain(), *(str(n.reason) for n in found.search.tree)]
    assert "POST failed" in told[0]
    assert "onnect" in found.search.first_error  # refused
    assert not [secret for secret in PLANTED.values() if any(secret in text for text in told)]


def test_no_key_gets_into_the_header(tmp_path, monkeypatch):
    """A task's settings are told in it, and one of them may be a key."""
    monkeypatch.setenv("SOME_API_KEY", PLANTED["env"])

    class Keyed(Game24):
        def config(self):
            return super().config() | {"api_key": "looks like none", "note": PLANTED["env"], "by": PLANTED["key"]}

    path = tmp_path / "run.jsonl"
    for _ in range(2):
        call(TreeOfThoughts(task=Keyed(), controller=Beam(width=2)), engine(), numbers=PUZZLE, config={"journal": path})
    (told,) = (json.loads(line)["task"] for line in path.read_text().splitlines()[:1])
    assert told.count("[redacted]") == 3
    assert not [secret for secret in (*PLANTED.values(), "looks") if secret in path.read_text()]


def test_a_journal_holds_what_was_asked_and_said(tmp_path):
    path = tmp_path / "run.jsonl"
    call(solver(), engine(tokens=(7, 3)), numbers=PUZZLE, config={"journal": path})
    head, first = json.loads(path.read_text().splitlines()[0]), replies(path)[0]
    assert head["program"] == "TreeOfThoughts"
    assert head["controller"]["width"] == 2
    (record,) = first["calls"]
    assert record["model"] == "stub/model"
    assert record["outputs"][0].startswith("[[ ## next_thoughts ## ]]\n1. 10 - 4 = 6")
    assert (record["usage"]["prompt_tokens"], record["usage"]["completion_tokens"]) == (7, 3)
    assert [m["role"] for m in record["messages"]] == ["system", "user"]


def test_a_typed_answer_comes_back_as_its_type(tmp_path):
    path = tmp_path / "run.jsonl"
    first = call(free(), engine(talker), question="q", config={"journal": path})
    again = call(free(), Engine(lambda kind, inputs, n: 1 / 0, kinds=KINDS), question="q", config={"journal": path})
    assert first.answer == again.answer == [1, 2]


def test_objects_as_proposals_are_refused_where_they_cannot_be_written(tmp_path):
    program = solver(propose=lambda inputs, node, n: [object()])
    with pytest.raises(JournalError, match="propose text or numbers"):
        call(program, engine(), numbers=PUZZLE, config={"journal": tmp_path / "run.jsonl"})


@drivers
def test_a_run_that_a_wrong_key_ended_goes_on_with_the_right_one(driver, tmp_path):
    path, paid = tmp_path / "run.jsonl", 5

    def fn(kind, inputs, n):
        if n > paid:
            raise dspy.LMAuthError("invalid key", model="m")
        return script(kind, inputs, n)

    lost = call(solver(concurrency=1), engine(fn), driver, numbers=PUZZLE, config={"journal": path})
    assert lost.search.ended == "error"
    model, whole = engine(), call(solver(concurrency=1), engine(), driver, numbers=PUZZLE)
    found = call(solver(concurrency=1), model, driver, numbers=PUZZLE, config={"journal": path})
    assert shape(found) == shape(whole)
    assert model.count() == whole.search.spent.calls - paid


def test_a_program_that_must_be_awaited_lets_go_of_its_journal(tmp_path):
    async def propose(inputs, node, n):
        return PATH[:1]

    program, errors = solver(propose=propose), []
    for _ in range(2):
        with pytest.raises(TypeError, match="coroutine function") as caught:
            call(program, engine(), numbers=PUZZLE, config={"journal": tmp_path / "run.jsonl"})
        errors.append(caught.value)  # whose traceback keeps the call's locals alive


def test_the_order_of_a_set_is_no_other_input(tmp_path):
    one, two = {0, 8}, {8, 0}
    assert list(one) != list(two)
    program = TreeOfThoughts(
        "numbers: set[int], data: bytes -> answer",
        propose=lambda inputs, node, n: ["a"],
        value_fn=lambda inputs, path: 1.0,
        answer="path",
    )
    for numbers in (one, two):
        call(program, None, numbers=numbers, data=b"\xff", config={"journal": tmp_path / "run.jsonl"})
    with pytest.raises(JournalError, match="inputs"):
        call(program, None, numbers={0, 9}, data=b"\xff", config={"journal": tmp_path / "run.jsonl"})


def test_an_open_journal_is_refused(tmp_path):
    """Whose it is stands in its header, which a call writes itself: another call's replies would be read as its own."""
    with pytest.raises(TypeError, match=r"journal=<.*Journal.*>: must be the path of a file or a folder"):
        call(solver(), engine(), numbers=PUZZLE, config={"journal": Journal(tmp_path / "run.jsonl", {})})


def test_an_empty_path_is_refused(tmp_path, monkeypatch):
    """It is a variable that was not set, and no wish for a file in the current folder."""
    monkeypatch.chdir(tmp_path)
    model = engine()
    with pytest.raises(ValueError, match="journal='': must be the path of a file or a folder"):
        call(solver(), model, numbers=PUZZLE, config={"journal": ""})
    assert (list(tmp_path.iterdir()), model.count()) == ([], 0)


def test_a_journal_is_of_one_call_and_never_on_the_module(tmp_path):
    program, path = solver(), tmp_path / "run.jsonl"
    state, before = str(program.dump_state()), set(vars(program))
    call(program, engine(), numbers=PUZZLE, config={"journal": path})
    content = path.read_bytes()
    model = engine()
    call(program, model, numbers="4 9 10 12")
    call(program, model, numbers=PUZZLE)
    assert (path.read_bytes(), str(program.dump_state()), set(vars(program))) == (content, state, before)
    assert model.count() > 10
    assert [file.name for file in tmp_path.iterdir()] == ["run.jsonl"]


PROGRAMS = {
    "lats": (lambda **k: LATS(env=Runner(), **k), {"task": "t"}, actor),
    "rap": (lambda **k: RAP(task=Blocksworld(), **k), {"initial": START, "goal": GOAL}, world),
}


@pytest.mark.parametrize(
    ("name", "knobs", "inputs", "differs"),
    [
        ("lats", {"reflect": False}, {}, "roles"),
        ("lats", {"blend": 0.25}, {}, "rating"),
        ("lats", {"controller": MCTS(rollouts=3)}, {}, "controller"),
        ("lats", {"seed": 4}, {}, "seed"),
        ("lats", {}, {"task": "another"}, "inputs"),
        ("rap", {"transition": "check"}, {}, "transition"),
        ("rap", {"task": Blocksworld(style="words")}, {}, "task"),
        ("rap", {"samples": 3}, {}, "rating"),
        ("rap", {"propose": "moves"}, {}, "propose"),
        ("rap", {}, {"goal": "on(green,red)"}, "inputs"),
    ],
)
def test_another_journal_of_any_program_is_refused(tmp_path, name, knobs, inputs, differs):
    make, given, fn = PROGRAMS[name]
    path, model, nobody = tmp_path / "run.jsonl", Engine(fn), Engine(fn)
    call(make(), model, **given, config={"journal": path, "budget": 9})
    other = RAP(**knobs) if "task" in knobs else make(**knobs)
    with pytest.raises(JournalError, match=rf"belongs to another search.*{differs}: "):
        call(other, nobody, **{**given, **inputs}, config={"journal": path, "budget": 9})
    assert nobody.count() == 0
