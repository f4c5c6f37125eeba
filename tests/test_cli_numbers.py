"""Numbers on the command line, and what begins with a dash: what is wrong names the option, the value and the mend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pytest
from typer.testing import CliRunner

from thoughtree.cli import app
from thoughtree.cli_export import ExportOptions
from thoughtree.data_options import CalibrateOptions, CompareOptions, EvalOptions, TuneOptions
from thoughtree.flags import by_flags, flag
from thoughtree.options import Options

KINDS: dict[str, type[Any]] = {
    "solve": Options,
    "eval": EvalOptions,
    "compare": CompareOptions,
    "calibrate": CalibrateOptions,
    "tune": TuneOptions,
    "export": ExportOptions,
}
GIVEN = {name: ["x"] for name in KINDS} | {"export": ["x", "--to", "preferences"]}
WRONG = {int: ["1.5", "nan", "9" * 25, "", "many"], float: ["1e400", "-inf", "nan", "", "many"]}
COUNTS = ("width", "branching", "keep", "expansions", "patience")


def numbers() -> Iterator[tuple[str, str, type]]:
    """Every number that a command takes. What all of them share is looked at once."""
    seen = set[str]()
    for command, kind in KINDS.items():
        for name, hint in get_type_hints(kind).items():
            of = next((kind for kind in (int, float) if kind in (hint, *get_args(hint))), None)
            if of is not None and name not in seen:
                seen.add(name)
                yield command, flag(name), of


NUMBERS = list(numbers())


def told(*arguments: str) -> tuple[int, str]:
    """Exit code, and the one line that is said."""
    done = CliRunner().invoke(app, list(arguments))
    (line,) = done.stderr.splitlines()
    assert done.stdout == ""
    assert line.startswith("thoughtree: ")
    return done.exit_code, line


def test_the_numbers_are_there():
    names = [name for _, name, _ in NUMBERS]
    assert len(names) == sum(
        any(kind in get_args(hint) for kind in (int, float))
        for hint in {name: hint for kind in KINDS.values() for name, hint in get_type_hints(kind).items()}.values()
    )
    assert {"--budget-seconds", "--total-cost", "--study-seconds", "--temperature", "--workers", "--most"} <= {*names}


@pytest.mark.parametrize(("command", "name", "kind"), NUMBERS, ids=[name for _, name, _ in NUMBERS])
def test_a_number_that_is_none_is_named_with_the_option_and_the_mend(command: str, name: str, kind: type):
    for value in WRONG[kind]:
        code, said = told(command, *GIVEN[command], f"{name}={value}")
        assert code == 2, value
        assert f"Invalid value for '{name}': '{value}': give a " in said


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_that_is_none_is_too(name: str):
    for value in ("0", "-1", "1.5", "inf", ""):
        code, said = told("solve", "4 9 10 13", f"{flag(name)}={value}")
        assert code == 2, value
        assert f"Invalid value for '{flag(name)}': '{value}': give a whole number of at least 1, or 'all'; see" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "solve --budget-seconds=1e400",
            "'--budget-seconds': '1e400': give a finite number above 0, or leave it out; see",
        ),
        ("solve --budget-cost=0", "'--budget-cost': '0': give a finite number above 0, or leave it out; see"),
        ("eval --total-seconds=-5", "'--total-seconds': '-5': give a finite number above 0, or leave it out; see"),
        ("tune --study-cost=nan", "'--study-cost': 'nan': give a finite number above 0, or leave it out; see"),
        ("tune --tolerance=-1", "'--tolerance': '-1': give a finite number of at least 0; see"),
        ("solve --temperature=-1", "'--temperature': '-1': give a finite number of at least 0; see"),
        ("solve --threshold=inf", "'--threshold': 'inf': give a finite number; see"),
        ("solve --budget-calls=0", "'--budget-calls': '0': give a whole number of at least 1; see"),
        ("solve --rollouts=-1", "'--rollouts': '-1': give a whole number of at least 0; see"),
        ("solve --seed=x", "'--seed': 'x': give a whole number; see"),
        ("eval --workers=257", "'--workers': '257': give a whole number of at most 256; see"),
        (f"eval --limit={'9' * 50}", f"'--limit': '{'9' * 40}...': give a whole number of at most 9,223,372,036"),
        ("solve --samples=9999", "thoughtree: --samples 9999: must be at most 1000"),
        ("solve --controller=mcts --discount=2", "thoughtree: --discount 2.0: must be above 0 and at most 1"),
        ("solve --controller=mcts --widening=3", "--widening 3.0: must be above 0 and at most 1, or leave it out"),
        ("solve --target=", "thoughtree: --target '' is no exact number"),
    ],
)
def test_the_mend_is_the_right_one(words: str, said: str):
    command, *options = words.split()
    code, found = told(command, "4 9 10 13", *options)
    assert code == 2
    assert said in found


@pytest.mark.parametrize("options", ["--budget-seconds 1e300", "--seed -5", "--budget-cost 1e-300", "--min-score -1"])
def test_odd_numbers_that_are_right_are_taken(options: str):
    done = CliRunner().invoke(app, ["solve", "4 9 10 13", "--quiet", *options.split()])
    assert (done.exit_code, done.stdout) == (0, "4 * (9 - (13 - 10))\n")


@pytest.mark.parametrize("words", [["-4 9 10 13"], ["-4", "9", "10", "13"], ["-4 9 10 13", "--quiet"]])
def test_a_problem_that_begins_with_a_dash_is_told_where_to_stand(words: list[str]):
    code, said = told("solve", *words)
    assert code == 2
    assert said == (
        "thoughtree: No such option: -4; what begins with a dash and is none goes behind all options and --, as in: "
        'root solve -- "-4..."; see root solve --help'
    )
    done = CliRunner().invoke(app, ["solve", "--quiet", "--", "-4 9 10 13"])
    assert (done.exit_code, done.stdout) == (0, "(13 - 9) * (-4 + 10)\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["solve", "--nope"], "No such option: --nope (Possible options: --no-dedupe, --open, --stop); see root solve"),
        (["export", "-o"], "Option '-o' requires an argument; see root export --help"),
        (["solve", "--budget-calls"], "Option '--budget-calls' requires an argument; see root solve --help"),
        (["eval", "--quiet"], "Missing argument 'DATA'; see root eval --help"),
        (["solve", "4", "--rate", "x"], "Invalid value for '--rate': 'x' is not one of 'value', 'siblings', 'vote',"),
        (["sole", "4 9 10 13"], "No such command 'sole'. Did you mean 'solve'?; see root --help"),
        (["-4", "9"], "No such option: -4; see root --help"),
    ],
)
def test_what_is_wrong_with_an_option_or_a_command_is_one_line(words: list[str], said: str):
    code, found = told(*words)
    assert code == 2
    assert found.startswith(f"thoughtree: {said}")


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Beam(width=0): must be at least 1, or None", "--width 0: must be at least 1, or leave it out"),
        ("samples=0: must be at least 1", "--samples 0: must be at least 1"),
        ("split='a b': x has no splits; leave split= out", "--split 'a b': x has no splits; leave --split out"),
        ("inputs=: x has no column 'a'", "--inputs: x has no column 'a'"),
        ("log_dir='x': is no folder", "--log-dir 'x': is no folder"),
        # what is no option, or is no argument of ours
        ("numbers='x': is no number", "numbers='x': is no number"),
        ("[m] completion(model='m',..) failed: None", "[m] completion(model='m',..) failed: None"),
        ("x.csv: 'split=' is no column, or None", "x.csv: 'split=' is no column, or None"),
        ("plan.samples=3: no", "plan.samples=3: no"),
    ],
)
def test_an_argument_is_named_as_the_option_that_it_is(message: str, said: str):
    assert by_flags(message, ["width", "samples", "split", "inputs", "log_dir", "model"]) == said
