"""The command line, in this process: what it answers, refuses and says, and with which exit code."""

import json
import sys
import threading
from contextlib import contextmanager
from dataclasses import fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Literal

import dspy
import pytest
from dspy.clients import Cache
from typer.testing import CliRunner

from journals import replies
from patience import PATIENCE, in_time
from thoughtree import Beam, FreeText, Game24, TreeOfThoughts, __version__
from thoughtree.cli import app
from thoughtree.exits import MEANINGS, Exit
from thoughtree.mistake import Mistake
from thoughtree.offline import NOTICE, StandIn
from thoughtree.options import Options
from thoughtree.output import say
from thoughtree.problem import CONTROLLERS
from thoughtree.typed_input import typed

SOLUTION = "4 * (9 - (13 - 10))"  # what the stand-in finds for 4 9 10 13


@pytest.fixture(autouse=True)
def _apart(monkeypatch, tmp_path):
    """In a folder of its own, without keys, and with a cache that remembers nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.setitem(vars(dspy), "cache", Cache(False, False, None))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def solve(*arguments):
    found = run("solve", *arguments)
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found


def in_json(*arguments):
    found = solve(*arguments, "--json")
    assert found.stdout.count("\n") == 1
    return json.loads(found.stdout), found.exit_code


def complaint(*arguments):
    """The one line on stderr of a run that gives no result."""
    found = solve(*arguments)
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1
    assert found.stderr.startswith("thoughtree: ")
    return found.stderr.removeprefix("thoughtree: ").rstrip("\n"), found.exit_code


# ---- what it gives


def test_it_solves_a_puzzle_and_says_who_played():
    found = solve("4 9 10 13")
    assert found.exit_code == 0
    assert found.stdout.splitlines()[:6] == [
        f"answer: {SOLUTION}",
        "status: solved: code has verified the answer",
        "path:",
        "  1. 13-10=3",
        "  2. 9-3=6",
        "  3. 4*6=24",
    ]
    assert found.stderr == f"thoughtree: {NOTICE}\n"


def test_words_need_no_quotes():
    assert solve("4", "9", "10", "13", "-q").stdout == f"{SOLUTION}\n"


def test_quiet_gives_the_answer_alone():
    found = solve("4 9 10 13", "--quiet")
    assert (found.stdout, found.stderr) == (f"{SOLUTION}\n", "")


def test_json_is_one_object_with_what_was_spent():
    told, code = in_json("4 9 10 13")
    assert code == 0
    assert (told["status"], told["ended"]) == ("solved", "goal")
    assert told["answer"] == {"answer": SOLUTION}
    assert told["path"] == ["13-10=3", "9-3=6", "4*6=24"]
    assert told["value"] is None  # code verified it, so nobody rated it
    assert (told["spent"]["calls"], told["nodes"]) == (33, 32)
    assert {role: usage["calls"] for role, usage in told["spent_by"].items()} == {"propose": 11, "rate": 22}
    assert (told["model"], told["rate_model"], told["errors"]) == ("offline/rules", None, {})
    assert any("hardly differ" in warning for warning in told["warnings"])


def test_json_holds_tree_and_explanation_on_request():
    told, _ = in_json("4 9 10 13", "--tree", "--explain", "--controller", "dfs")
    assert len(told["tree"]) == told["nodes"]
    assert told["tree"][0]["text"] == "4 9 10 13"
    assert told["explain"][0].startswith("Solved: a goal was reached")


def test_the_tree_shows_values_statuses_and_reasons():
    found = solve("4 9 10 13", "--tree", "--width", "1", "--branching", "2")
    assert found.stdout.splitlines()[:6] == [
        "#0 start  [4 9 10 13]  expanded",
        "├── #1 10-9=1  [1 4 13]  1 maybe  pruned at 20",
        "└── #2 13-10=3  [3 4 9]  20 sure  expanded",
        "    ├── #3 9-3=6  [4 6]  20 sure  expanded",
        "    │   └── #5 4*6=24  [24]  solved",
        "    └── #4 4-3=1  [1 9]  0.001 impossible  pruned at 20",
    ]


def test_no_solution_is_unverified_and_shows_the_best_way():
    found = solve("1 1 1 1")
    assert found.exit_code == Exit.UNVERIFIED == 3
    refused = "status: unverified (searched out): the best candidate, which code has refused\n"
    assert f"answer: 1 * 1 * 1 * 1\n{refused}" in found.stdout
    assert "thoughtree: warning: " in found.stderr


def test_depth_first_without_a_solution_has_failed():
    assert solve("1 1 1 1", "--controller", "dfs").exit_code == Exit.FAILED == 4


def test_longer_puzzles_get_as_many_steps_as_they_take():
    assert in_json("1 2 3 4 5")[0]["status"] == "solved"
    told, _ = in_json("1 2 3 4 5", "--max-depth", "3")
    assert (told["status"], len(told["path"])) == ("unverified", 3)


def test_target_and_strict_are_the_tasks():
    told, code = in_json("1 2 3 4", "--target", "10", "--strict")
    assert code == 0
    assert Game24(target=10).for_inputs({"numbers": "1 2 3 4"}).check(told["answer"]) is True


def test_budgets_are_held():
    told, code = in_json("4 9 10 13", "--budget-calls", "4")
    assert (told["ended"], told["spent"]["calls"], code) == ("calls", 4, Exit.UNVERIFIED)
    told, _ = in_json("4 9 10 13", "--budget-nodes", "3")
    assert (told["ended"], told["nodes"]) == ("nodes", 3)
    told, _ = in_json("4 9 10 13", "--budget-tokens", "1", "--concurrency", "1")
    assert (told["ended"], told["spent"]["calls"]) == ("tokens", 1)
    told, code = in_json("4 9 10 13", "--budget-seconds", "0.000001")
    assert (told["ended"], told["spent"]["calls"], code) == ("seconds", 0, Exit.FAILED)
    told, code = in_json("4 9 10 13", "--budget-cost", "0.01")  # the stand-in is free
    assert (told["status"], told["spent"]["cost"], code) == ("solved", 0.0, Exit.SOLVED)


def test_a_ceiling_is_added_to_the_controllers_own():
    """Depth-first search has 100 calls by default, and keeps them beside another ceiling."""
    everything = ("--controller", "dfs", "--branching", "all", "--threshold", "0")
    told, _ = in_json("1 1 1 5 7 9", "--target", "1000", *everything, "--budget-seconds", "600")
    assert (told["ended"], told["spent"]["calls"]) == ("calls", 100)


def test_a_journal_is_continued():
    first, _ = in_json("4 9 10 13", "--journal", "run.jsonl", "--budget-calls", "6")
    again, _ = in_json("4 9 10 13", "--journal", "run.jsonl")
    assert (first["ended"], again["status"]) == ("calls", "solved")
    assert len(replies(Path("run.jsonl"))) == again["spent"]["calls"]


# ---- knobs


def test_every_knob_of_every_controller_is_an_option():
    knobs = {f.name for kind in CONTROLLERS.values() for f in fields(kind)}
    assert knobs <= {f.name for f in fields(Options)}


def test_bfs_is_beam():
    assert CONTROLLERS["bfs"] is Beam
    assert in_json("4 9 10 13", "--controller", "bfs")[0]["spent"]["calls"] == 33


def test_knobs_reach_the_controller():
    narrow, _ = in_json("4 9 10 13", "--width", "1", "--branching", "2", "--max-depth", "2")
    assert (narrow["nodes"], narrow["spent_by"]["propose"]["calls"]) == (5, 2)
    whole, _ = in_json("4 9 10 13", "--branching", "all", "--max-depth", "1", "--no-dedupe")
    assert whole["nodes"] == 1 + len(Game24().moves(Game24().initial({"numbers": "4 9 10 13"})))
    best, _ = in_json("4 9 10 13", "--controller", "best-first", "--expansions", "1", "--keep", "all")
    assert (best["ended"], best["nodes"]) == ("expansions", 4)


def test_a_knob_that_the_controller_does_not_have_is_refused():
    message, code = complaint("4 9 10 13", "--controller", "dfs", "--width", "3")
    assert code == Exit.USAGE == 2
    assert message == (
        "--width: DFS has no such knob; it has --dedupe, --ties, --branching, --max-depth, --threshold, "
        "--expansions, --lazy"
    )


# ---- what it refuses


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["4 9 x"],
            "numbers='4 9 x': 'x' is not a whole number; give whole numbers, such as '4 9 10 13'",
        ),
        ([""], "numbers='': no numbers; give some, such as '4 9 10 13'"),
        (["--seed", "1"], "input 'numbers' is missing: give the problem, in quotes"),
        (["4 6", "--input", "numbers=1"], "--input 'numbers' is given twice, the first time as the problem"),
        (["4 6", "--input", "n=1"], "--input 'n': there is no such input; the names are numbers"),
        (["4 6", "--input", "n"], "--input 'n': write it as name=value; the names are numbers"),
        (["?", "--task", "text", "--target", "3"], "--target: only --task game24 has this"),
        (
            ["4 6", "--api-base", "http://h"],
            "--api-base: there is no model that it could be for; give --model",
        ),
        (["4 6", "--load", "none.json"], "none.json: No such file or directory"),
        (["4 6", "--load", "."], ".: Is a directory"),
        (
            ["4 6", "--program", "nowhere"],
            "--program 'nowhere': write it as module:name, such as solver:program",
        ),
    ],
)
def test_a_mistake_is_one_line_that_names_it_and_its_mend(arguments, message):
    assert complaint(*arguments) == (message, Exit.USAGE)


def test_an_option_that_there_is_not():
    found = solve("4 6", "--widht", "3")
    assert found.exit_code == Exit.USAGE
    assert "--width" in found.stderr


@pytest.mark.parametrize("value", ["0", "-1", "few", "1.5"])
def test_counts_are_whole_or_all(value):
    assert solve("4 6", "--width", value).exit_code == Exit.USAGE


def test_text_needs_a_model():
    message, code = complaint("Why is the sky blue?", "--task", "text")
    assert code == Exit.USAGE
    assert message.startswith("the rule-based stand-in plays game24 and blocksworld, and cannot reason about text: ")


def test_a_folder_has_a_journal_a_call():
    for puzzle in ("4 9 10 13", "4 6", "4 9 10 13"):
        assert solve(puzzle, "--journal", "runs/", "--fsync").exit_code == 0
    assert len(list(Path("runs").iterdir())) == 2
    found = solve("4 6", "--fsync")
    assert (found.exit_code, found.stderr.splitlines()[-1]) == (
        2,
        "thoughtree: --fsync: there is no journal to force to the disk; give --journal as well",
    )


def test_a_journal_that_cannot_be_written_or_read():
    Path("file").write_text("no journal\n")
    found = solve("4 6", "--journal", "file/below.jsonl")
    assert (found.exit_code, "Traceback" in found.stderr) == (Exit.USAGE, False)
    assert found.stderr.splitlines()[-1].startswith("thoughtree: journal file/below.jsonl: cannot be opened")
    found = solve("4 6", "--journal", "file")
    assert found.stderr.splitlines()[-1].startswith("thoughtree: journal file, line 1: not JSON")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"settings": 3}', "\x00\xff"])
def test_a_file_that_is_no_program(content):
    Path("plan.json").write_text(content, encoding="latin-1")
    message, code = complaint("4 6", "--load", "plan.json")
    assert (message.split(":")[0], code) == ("plan.json", Exit.USAGE)


# ---- programs


def write(name, text):
    Path(name).write_text(dedent(text))


def test_a_saved_program_with_a_task_of_ones_own_says_how_to_load_it():
    class Mine(FreeText):
        pass

    TreeOfThoughts("question -> answer", task=Mine()).save("own.json")
    message, code = complaint("ho", "--load", "own.json")
    assert code == Exit.USAGE
    assert message.startswith("own.json: its task is ")
    assert message.endswith("; give --program MODULE:ATTRIBUTE too, a program with that task of yours")


def test_a_saved_program_keeps_its_knobs_and_takes_others():
    TreeOfThoughts(task=Game24(target=10), controller=Beam(width=1, branching=3), seed=5).save("plan.json")
    told, _ = in_json("1 2 3 4", "--load", "plan.json")
    assert (told["status"], told["spent_by"]["propose"]["calls"]) == ("solved", 3)
    told, _ = in_json("1 2 3 4", "--load", "plan.json", "--width", "2")
    assert told["spent_by"]["propose"]["calls"] == 5  # branching is still 3
    assert complaint("1 2 3 4", "--load", "plan.json", "--scale", "unit") == (
        "--scale: the program of --load has its own",
        Exit.USAGE,
    )


OWN = """
    import thoughtree

    def propose(inputs, node, n):
        return [f"{inputs['word']} {i}" for i in range(inputs.get("times", 2))]

    def program(**more):
        return thoughtree.TreeOfThoughts(
            "word, times: int -> answer, length: int", propose=propose,
            value_fn=lambda inputs, path: len(path), answer="path", **more)

    ready = program(controller=thoughtree.Beam(max_depth=1))
    number = 3

    def broken():
        raise RuntimeError("no luck")
"""


def test_a_program_of_ones_own_needs_no_model_if_it_calls_none():
    write("own_solver.py", OWN)
    told, code = in_json("ho", "--program", "own_solver:ready", "--input", "times=3")
    assert (told["status"], code) == ("unverified", Exit.UNVERIFIED)
    assert (told["nodes"], told["model"], told["path"]) == (4, None, ["ho 0"])
    assert told["answer"] == {"answer": None, "length": None}  # "ho 0" is no length
    made, _ = in_json("ho", "--program", "own_solver:program", "--input", "times=2", "--max-depth", "1")
    assert made["nodes"] == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_wrong:redy", "--program own_wrong:redy: there is no redy; did you mean ready?"),
        (
            "own_wrong:number",
            "--program own_wrong:number: this is a int; name a TreeOfThoughts, LATS or RAP, or a function",
        ),
        ("own_wrong:broken", "--program own_wrong:broken: broken() failed: RuntimeError: no luck"),
        ("nowhere_at_all:x", "--program nowhere_at_all:x: there is no module nowhere_at_all in "),
        ("own_torn:x", "--program own_torn:x: importing it failed: SyntaxError: "),
    ],
)
def test_a_program_that_cannot_be_had(name, message):
    write("own_wrong.py", OWN)
    write("own_torn.py", "def (:")
    told, code = complaint("4 6", "--program", name)
    assert (told[: len(message)], code) == (message, Exit.USAGE)


def test_an_input_of_the_wrong_type_is_named():
    write("own_typed.py", OWN)
    told, code = complaint("ho", "--program", "own_typed:ready", "--input", "times=often")
    assert told.startswith("input times='often': Input should be a valid integer")
    assert code == Exit.USAGE


def test_saved_state_goes_into_a_program_of_ones_own():
    write("own_state.py", OWN)
    like = {"propose": print, "value_fn": print, "answer": "path"}  # functions are not saved
    signature = "word, times: int -> answer, length: int"
    TreeOfThoughts(signature, controller=Beam(max_depth=2, width=1), **like).save("narrow.json")
    told, _ = in_json("ho", "--program", "own_state:ready", "--load", "narrow.json", "--input", "times=3")
    assert (len(told["path"]), told["nodes"]) == (2, 7)  # 1 + 3 + 3
    TreeOfThoughts("question -> answer", **like).save("other.json")
    message, code = complaint("ho", "--program", "own_state:ready", "--load", "other.json", "--input", "times=1")
    assert code == Exit.USAGE
    assert "saved from another program" in message


HOSTILE = r"""
    import thoughtree

    def propose(inputs, node, n):
        return ["[red]not red[/red]", "\x1b[31mred\x1b[0m \x07bell", "a\u202eb", "two\nlines"]

    def rate(inputs, nodes):
        return [1.0 - i / 10 for i in range(len(nodes))]

    program = thoughtree.TreeOfThoughts("question -> answer", propose=propose, rate=rate, answer="path",
        controller=thoughtree.Beam(max_depth=1))
"""


def test_hostile_text_is_shown_as_text():
    write("own_hostile.py", HOSTILE)
    found = solve("?", "--program", "own_hostile:program", "--tree")
    assert found.stdout.splitlines()[:5] == [
        "#0 start  expanded",
        "├── #1 [red]not red[/red]  1  open",
        r"├── #2 \x1b[31mred\x1b[0m \x07bell  0.9  open",
        r"├── #3 a\u202eb  0.8  open",
        "└── #4 two lines  0.7  open",
    ]
    assert "\x1b" not in found.stdout
    told, _ = in_json("?", "--program", "own_hostile:program", "--tree")
    assert told["tree"][2]["action"] == "\x1b[31mred\x1b[0m \x07bell"  # exact: JSON escapes it


# ---- models


class Served:
    """A server on this machine that speaks as OpenAI's does. reply: (status, body) for a request's body."""

    def __init__(self, reply):
        self.reply, self.asked = reply, []

    @property
    def base(self):
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    @contextmanager
    def running(self):
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.asked.append(body)
                status, reply = outer.reply(body)
                text = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        try:
            yield self
        finally:
            self.server.shutdown()
            self.server.server_close()


def played(body):
    """What the stand-in answers, as OpenAI sends it; each call takes 300 tokens and makes 40."""

    def text(message):
        content = message["content"]
        return content if isinstance(content, str) else "".join(part["text"] for part in content)

    system, *_, asked = body["messages"]
    part = SimpleNamespace(type="text", text=text(asked))
    request = SimpleNamespace(system=text(system), model="m", messages=[SimpleNamespace(parts=[part])])
    said = StandIn().complete(request).message.parts[0].text
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
    usage = {"prompt_tokens": 300, "completion_tokens": 40, "total_tokens": 340}
    return 200, {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [choice],
        "usage": usage,
    }


def refused(status, message):
    return lambda body: (status, {"error": {"message": message, "type": "invalid_request_error"}})


def test_a_model_over_http_and_what_it_cost(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-only-for-this-test-1234")
    with Served(played).running() as server:
        told, code = in_json(
            "4 9 10 13", "--model", "openai/gpt-4o-mini", "--api-base", server.base, "--temperature", "0.25"
        )
    assert (code, told["answer"], told["model"]) == (0, {"answer": SOLUTION}, "openai/gpt-4o-mini")
    assert (told["spent"]["calls"], told["spent"]["tokens"]) == (33, 33 * 340)
    assert told["spent"]["cost"] == pytest.approx(33 * (300 * 0.15 + 40 * 0.60) / 1e6)
    assert {body["temperature"] for body in server.asked} == {0.25}


def test_ratings_may_come_from_another_model(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-only-for-this-test-1234")
    with Served(played).running() as server:
        told, _ = in_json("4 9 10 13", "--rate-model", "openai/gpt-4o-mini", "--api-base", server.base)
    assert (told["model"], told["rate_model"]) == ("offline/rules", "openai/gpt-4o-mini")
    assert len(server.asked) == told["spent_by"]["rate"]["calls"] == 22


def test_a_missing_key_is_one_line():
    message, code = complaint("4 9 10 13", "--model", "openai/gpt-4o-mini")
    assert code == Exit.MODEL == 5
    assert "no API key found" in message
    assert "OPENAI_API_KEY" in message


def test_a_refused_connection_is_one_line(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-only-for-this-test-1234")
    with Served(played).running() as server:
        base = server.base
    message, code = complaint("4 6", "--model", "openai/gpt-4o-mini", "--api-base", base)
    assert code == Exit.MODEL
    assert message.startswith("calls failed: LMTransportError: [openai/gpt-4o-mini] failed to connect to 127.0.0.1:")
    assert "sk-only" not in message


@pytest.mark.parametrize(
    ("status", "said", "shown"),
    [
        (404, "The model `gpt-nope` does not exist", "The model `gpt-nope` does not exist"),
        (401, "Incorrect API key provided: sk-only-for-this-test-1234.", "Incorrect API key provided: "),
    ],
)
def test_what_the_provider_refuses_is_one_line_without_the_key(monkeypatch, status, said, shown):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-only-for-this-test-1234")
    with Served(refused(status, said)).running() as server:
        message, code = complaint("4 6", "--model", "openai/gpt-nope", "--api-base", server.base)
    assert code == Exit.MODEL
    assert shown in message
    assert "sk-only-for-this-test-1234" not in message


def test_failing_calls_in_json_are_a_failed_search():
    found = solve("4 6", "--model", "openai/gpt-4o-mini", "--json")
    told = json.loads(found.stdout)
    assert (found.exit_code, told["status"], told["ended"]) == (Exit.MODEL, "failed", "error")
    assert list(told["errors"].values()) == [1]


def test_a_call_that_hangs_is_counted_in_json(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-local")

    def attempt(seconds):
        asked, over = threading.Event(), threading.Event()

        def silent(body):
            asked.set()
            over.wait(PATIENCE)
            return played(body)

        with Served(silent).running() as server:
            try:
                model = ["--model", "openai/gpt-4o-mini", "--api-base", server.base]
                found = solve("4 6", *model, "--budget-seconds", str(seconds), "--json")
            finally:
                over.set()
        return found if asked.is_set() else None

    found = in_time(attempt, first=0.5)
    told = json.loads(found.stdout)
    assert (told["ended"], told["spent"]["calls"], told["unfinished"]) == ("seconds", 0, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", ""], "--model '': model must be a non-empty string"),
        (["--model", "openai/"], "--model 'openai/': model 'openai/' has a provider prefix but no model id"),
        (["--model", "openai/o3", "--temperature", "0.5"], "--model 'openai/o3': LMConfigurationError: "),
    ],
)
def test_a_model_that_dspy_refuses(arguments, message):
    told, code = complaint("4 6", *arguments)
    assert (told[: len(message)], code) == (message, Exit.MODEL)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import sys; sys.exit(0)", "importing it failed: SystemExit: 0"),
        ("def made():\n    raise SystemExit('no')", "made() failed: SystemExit: no"),
    ],
)
def test_a_program_that_exits_is_no_success(source, message):
    Path("leaves.py").write_text(source)
    sys.modules.pop("leaves", None)
    told, code = complaint("?", "--program", "leaves:made")
    assert (told.startswith(f"--program leaves:made: {message}"), code) == (True, Exit.USAGE)


def test_code_of_a_programs_own_that_exits_is_no_success():
    source = """
        from thoughtree import TreeOfThoughts

        def propose(inputs, node, n):
            raise SystemExit(0)

        def rate(inputs, nodes):
            return [1.0] * len(nodes)

        program = TreeOfThoughts("question -> answer", propose=propose, rate=rate, answer="path")
    """
    Path("exits.py").write_text(dedent(source))
    sys.modules.pop("exits", None)
    told, code = complaint("?", "--program", "exits:program")
    assert (told, code) == ("code of the program's own has ended it: SystemExit(0)", Exit.USAGE)


def test_a_request_that_a_recording_does_not_hold_is_said_in_a_line():
    source = """
        from thoughtree import Game24, RecordLM, ReplayLM, TreeOfThoughts
        from dspy.utils.dummies import DummyLM

        RecordLM(DummyLM([{"answer": "x"}]), "replies.jsonl")("another")
        program = TreeOfThoughts(task=Game24(), propose_lm=ReplayLM("replies.jsonl"), rate=lambda inputs, node: 1.0)
    """
    Path("replays.py").write_text(dedent(source))
    sys.modules.pop("replays", None)
    told, code = complaint("4 9 10 13", "--program", "replays:program")
    assert "no reply is recorded in 'replies.jsonl' for this request" in told
    assert code == Exit.MODEL


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a file without end")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("4 9 10 13", "--load", "/dev/zero"),
            "/dev/zero: too large for a saved program (more than 256,000,000",
        ),
        (("--input", "numbers=@/dev/zero"), "--input numbers=@/dev/zero: too large for an input (more than 10,000,000"),
    ],
)
def test_a_file_without_end_is_refused(arguments, message):
    told, code = complaint(*arguments)
    assert (told.startswith(message), code) == (True, Exit.USAGE)


def test_of_a_huge_wrong_value_a_part_is_shown():
    told, code = complaint("1 " * 5_000 + "x")
    assert (code, len(told) < 500) == (Exit.USAGE, True)
    assert told.startswith("numbers='1 1 1")
    assert told.endswith("more characters): 'x' is not a whole number; give whole numbers, such as '4 9 10 13'")


def test_a_message_of_any_length_shows_both_of_its_ends(capsys):
    say("what is wrong: " + "x" * 10_000 + " and its mend")
    told = capsys.readouterr().err
    assert told.startswith("thoughtree: what is wrong: xxx")
    assert told.endswith("xxx and its mend\n")
    assert " ... (8,028 more characters) ... " in told


# ---- help


def test_help_lists_the_exit_codes_and_the_options():
    found = solve("--help")
    assert found.exit_code == 0
    for code, meaning in MEANINGS.items():
        assert f"{code:>3}  {meaning}" in found.stdout
    for field in fields(Options):
        if field.name != "words":
            assert "--" + field.name.replace("_", "-") in found.stdout


def test_version():
    found = run("--version")
    assert (found.stdout, found.exit_code) == (f"thoughtree {__version__}\n", 0)


@pytest.mark.parametrize("arguments", [[], ["solve"]])
def test_nothing_asked_gives_help(arguments):
    assert "Usage:" in run(*arguments).output


# ---- inputs by type


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (str, "[1, 2]", "[1, 2]"),
        (str, " 24 ", " 24 "),
        (list[int], "[1, 2]", [1, 2]),
        (list[str], '["a"]', ["a"]),
        (dict[str, float], '{"a": 1}', {"a": 1.0}),
        (float, "0.5", 0.5),
        (bool, "true", True),
        (int | None, "null", None),
        (str | None, "24", "24"),
        (Literal["low", "high"], "low", "low"),
    ],
)
def test_inputs_are_read_by_their_fields_type(annotation, text, value):
    read = typed("field", annotation, text)
    assert (read, type(read)) == (value, type(value))


def test_an_image_is_read_by_its_address():
    assert typed("field", dspy.Image, "http://127.0.0.1/cat.png").url == "http://127.0.0.1/cat.png"


@pytest.mark.parametrize(
    ("annotation", "text"),
    [(int, "1.5"), (list[int], "1, 2"), (Literal["low", "high"], "Low"), (int, "[" * 99999)],
)
def test_inputs_of_another_type_are_refused_by_name(annotation, text):
    with pytest.raises(Mistake, match=r"^input field='.{1,60}\.*': "):
        typed("field", annotation, text)
