"""Evaluations for people and for files: CSV and JSON that hold anything, tables, summaries, a progress bar."""

from __future__ import annotations

import csv
import io
import json
import os

import dspy
import pytest
from pydantic import BaseModel
from rich.console import Console

from thoughtree import Evaluate
from thoughtree.optimize import EvaluationStopped
from thoughtree.optimize.files import check


class Point(BaseModel):
    x: int
    y: float


class Opaque:
    def __str__(self):
        return "opaque"


class Mute:
    def __str__(self):
        raise RuntimeError("no text")


LOOP: list = []
LOOP.append(LOOP)
HOSTILE = "\x1b[31mred\x1b[0m <b>[bold]x[/bold]</b>\x00\nline \ud800 \u202e"


def devset(*labels):
    return [dspy.Example(number=i, label=label).with_inputs("number") for i, label in enumerate(labels)]


def says(values):
    return lambda number: dspy.Prediction(answer=values[number], number=number)


def always(example, prediction, trace=None):
    return 1


def table(result, rows=None, width=200):
    out = io.StringIO()
    Console(file=out, width=width).print(result.table(rows))
    return out.getvalue()


def test_json_has_a_row_an_example_with_the_spending(tmp_path):
    path = tmp_path / "out.json"
    Evaluate(devset=devset("a", "b"), metric=always, save_as_json=path)(says(["x", "y"]))
    rows = json.loads(path.read_text())
    seconds = [row.pop("seconds") for row in rows]
    assert all(0 <= s < 5 for s in seconds)
    assert rows == [
        {
            **{"example_number": i, "label": label, "answer": answer, "pred_number": i, "always": 1.0},
            **{"feedback": None, "error": None, "calls": 0, "tokens": 0, "cost": 0.0},
        }
        for i, (label, answer) in enumerate([("a", "x"), ("b", "y")])
    ]


VALUES = [Point(x=1, y=0.5), {"b": {1, 2}}, Opaque(), Mute(), LOOP, float("nan"), b"\xff", HOSTILE, None, (1, "ü")]
WRITTEN = [
    *({"x": 1, "y": 0.5}, {"b": [1, 2]}, "opaque", "<Mute>", "<list>", None),
    *("<bytes>", HOSTILE, None, [1, "ü"]),
]


def test_json_holds_whatever_a_program_says(tmp_path):
    path = tmp_path / "out.json"
    Evaluate(devset=devset(*VALUES), metric=always, save_as_json=path)(says(VALUES))
    rows = json.loads(path.read_text())
    assert [row["answer"] for row in rows] == WRITTEN
    assert [row["label"] for row in rows] == WRITTEN


def test_csv_holds_whatever_a_program_says(tmp_path):
    path = tmp_path / "out.csv"
    Evaluate(devset=devset(*VALUES), metric=always, save_as_csv=path)(says(VALUES))
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["answer"] for row in rows] == [
        *('{"x": 1, "y": 0.5}', '{"b": [1, 2]}', "opaque", "<Mute>", "<list>", ""),
        *("<bytes>", HOSTILE.replace("\ud800", "\\ud800"), "", '[1, "ü"]'),
    ]
    assert {row["always"] for row in rows} == {"1.0"}


def test_rows_of_unlike_predictions_share_one_header(tmp_path):
    path = tmp_path / "out.csv"

    def program(number):
        if number == 2:
            raise ValueError("no")
        return dspy.Prediction(**{f"field_{number}": number})

    Evaluate(devset=devset("a", "b", "c"), metric=always, save_as_csv=path)(program)
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["field_0"], row["field_1"], row["always"]) for row in rows] == [
        ("0", "", "1.0"),
        ("", "1", "1.0"),
        ("", "", ""),
    ]
    assert rows[2]["error"].startswith("ValueError: no")


def test_the_label_of_a_failed_example_is_in_the_column_of_the_others(tmp_path):
    path = tmp_path / "out.csv"

    def program(number):
        if number == 1:
            raise ValueError("no")
        return dspy.Prediction(label="x")

    Evaluate(devset=devset("a", "b"), metric=always, save_as_csv=path)(program)
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert "label" not in rows[0]
    assert [(row["example_label"], row["pred_label"]) for row in rows] == [("a", "x"), ("b", "")]


def test_a_field_of_the_programs_keeps_its_name_before_ours(tmp_path):
    path = tmp_path / "out.json"
    Evaluate(devset=devset("a"), metric=always, save_as_json=path)(
        lambda number: dspy.Prediction(always="mine", cost="high", _cost="low")
    )
    (row,) = json.loads(path.read_text())
    assert (row["always"], row["_always"], row["cost"], row["_cost"], row["__cost"]) == (
        "mine",
        1.0,
        "high",
        "low",
        0.0,
    )


def test_a_prediction_that_is_none_of_dspys_is_one_field(tmp_path):
    path = tmp_path / "out.json"
    result = Evaluate(devset=devset("a"), metric=lambda e, p: p == 7, save_as_json=path)(lambda number: 7)
    assert (result.score, json.loads(path.read_text())[0]["prediction"]) == (100.0, 7)


def test_what_was_scored_is_saved_when_it_is_stopped(tmp_path):
    path = tmp_path / "out.json"

    def program(number):
        if number:
            raise ValueError("no")
        return dspy.Prediction(answer=1)

    with pytest.raises(EvaluationStopped):
        Evaluate(devset=devset("a", "b", "c"), metric=always, num_threads=1, max_errors=1, save_as_json=path)(program)
    assert [row["always"] for row in json.loads(path.read_text())] == [1.0, None]


def test_an_old_file_gives_way_to_a_whole_new_one_and_nothing_is_left(tmp_path):
    path = tmp_path / "out.json"
    path.write_text("old")
    result = Evaluate(devset=devset("a"), metric=always)(says(["x"]))
    result.save(path)
    result.save(tmp_path / "out.csv")
    assert json.loads(path.read_text())[0]["answer"] == "x"
    assert (tmp_path / "out.csv").read_text().startswith("example_number,label,answer,")
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "out.json"]


def test_a_table_shows_the_first_rows_and_obeys_nothing():
    result = Evaluate(devset=devset(*VALUES), metric=always)(says(VALUES))
    shown = table(result)
    assert "\x1b[31m" not in shown
    assert r"\x1b[31mred\x1b[0m <b>[bold]x[/bold]</b>\x00 line \ud800 \u202e" in shown
    assert "opaque" in shown
    assert table(result, 3).count("│ 1 ") < shown.count("│ 1 ")
    assert "3 of 10 rows" in table(result, 3)


def test_display_table_prints_it(capsys):
    evaluate = Evaluate(devset=devset("a", "b"), metric=always)
    evaluate(says(["x", "y"]))
    assert capsys.readouterr().out == ""
    evaluate(says(["x", "y"]), display_table=1)
    assert "1 of 2 rows" in capsys.readouterr().out


def test_a_failure_is_in_the_table_by_its_error():
    def program(number):
        if number:
            raise ValueError("no luck")
        return dspy.Prediction(answer=1)

    shown = table(Evaluate(devset=devset("a", "b"), metric=always)(program))
    assert "program failed: ValueError: no luck" in shown


def test_a_summary_has_the_score_its_interval_the_spending_and_the_kinds_of_errors():
    def program(number):
        if number >= 6:
            raise ValueError(f"bad {number % 4}")
        return dspy.Prediction(answer=number)

    result = Evaluate(devset=devset(*"abcdefghijkl"), metric=lambda e, p: p.answer < 3, max_errors=99)(program)
    score, spent, failed, *kinds = result.summary().splitlines()
    assert score == "<lambda>: 50.0 % [18.8, 81.2] on 6 examples"  # Wilson, 3 of 6
    assert spent.startswith("0 calls, 0 tokens, $0.0000, ")
    assert failed == "6 of 12 failed, left out of the score:"
    assert [kind.split(" (")[0] for kind in kinds] == [
        "  2 x program: ValueError: bad 2",
        "  2 x program: ValueError: bad 3",
        "  1 x program: ValueError: bad 0",
        "  and 1 other error",
    ]


def test_a_progress_bar_is_on_stderr_and_only_where_it_is_wanted(capsys):
    evaluate = Evaluate(devset=devset("a", "b"), metric=always)
    evaluate(says(["x", "y"]))
    assert capsys.readouterr().err == ""
    evaluate(says(["x", "y"]), display_progress=True)
    shown = capsys.readouterr()
    assert "2/2" in shown.err
    assert "100.0 %, 0 calls" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("no/x.csv", "there is no folder '{folder}/no'; make it first, or give another path"),
        ("folder", "this is a folder; name a file"),
        ("file/x.csv", "no file can be written into '{folder}/file'; give another path"),
    ],
)
def test_where_nothing_can_be_written_is_said_before_anything_is_paid(tmp_path, path, why):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="save_as_csv") as caught:
        check(tmp_path / path, "save_as_csv")
    assert str(caught.value) == f"save_as_csv={str(tmp_path / path)!r}: {why.format(folder=tmp_path)}"
    check(tmp_path / "folder" / "x.csv", "save_as_csv")
