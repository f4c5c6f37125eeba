"""No command overwrites what it was given to read, or one of its outputs by another: it refuses, and pays nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thoughtree.cli import app

DATA = "numbers\n4 9 10 13\n1 2 4 7\n"
BOTH = "the same file, which would be overwritten; give"


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("p.csv", "q.json", "folder/test.csv", "folder/train.csv", "here.html"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text('[{"numbers": "4 9 10 13"}]' if name.endswith("json") else DATA)
    os.symlink("p.csv", "link.csv")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("eval p.csv --csv p.csv", f"DATA, --csv p.csv: {BOTH} --csv another"),
        ("eval p.csv --html ./folder/../p.csv", f"DATA, --html folder/../p.csv: {BOTH} --html another"),
        ("eval p.csv --csv link.csv", f"DATA, --csv link.csv: {BOTH} --csv another"),
        ("eval p.csv --csv new --html new", f"--html, --csv new: {BOTH} --csv another"),
        ("eval p.csv --csv here.html --html here.html", f"--html, --csv here.html: {BOTH} --csv another"),
        ("eval folder --split test --csv folder/test.csv", f"DATA, --csv folder/test.csv: {BOTH} --csv another"),
        ("eval p.csv --resume new --csv new", f"--resume, --csv new: {BOTH} --csv another"),
        ("compare p.csv --html p.csv", f"DATA, --html p.csv: {BOTH} --html another"),
        ("compare p.csv --other q.json --html q.json", f"--other, --html q.json: {BOTH} --html another"),
        ("calibrate q.json --save q.json", f"DATA, --save q.json: {BOTH} --save another"),
        ("calibrate p.csv --load q.json --save q.json", f"--load, --save q.json: {BOTH} --save another"),
        ("calibrate p.csv --cheaper local:q.json --save q.json", f"--cheaper, --save q.json: {BOTH} --save another"),
        ("tune q.json --save q.json", f"DATA, --save q.json: {BOTH} --save another"),
        ("tune p.csv --valset q.json --save q.json", f"--valset, --save q.json: {BOTH} --save another"),
        ("tune p.csv --storage s.json --save s.json", f"--storage, --save s.json: {BOTH} --save another"),
        ("tune p.csv --storage sqlite:///s.json --save s.json", f"--storage, --save s.json: {BOTH} --save another"),
        (
            "tune p.csv --log-dir folder --save folder/tuning.json",
            f"--log-dir, --save folder/tuning.json: {BOTH} --save another",
        ),
    ],
)
def test_a_file_that_would_be_overwritten_is_refused(arguments: str, said: str):
    before = {path: path.read_text() for path in Path().rglob("*.*") if path.is_file()}
    found = CliRunner().invoke(app, arguments.split())
    assert (found.exit_code, found.stdout, found.stderr) == (2, "", f"thoughtree: {said}\n")
    assert {path: path.read_text() for path in Path().rglob("*.*") if path.is_file()} == before


@pytest.mark.parametrize("outputs", ["--csv folder/train.csv --html new.html", "--csv /dev/null --html /dev/null"])
def test_other_files_are_written(outputs: str):
    """Another split's file is not read; a device takes all."""
    from thoughtree.data_options import EvalOptions
    from thoughtree.files_apart import files_apart

    words = outputs.split()
    files_apart(EvalOptions(data="folder", split="test", csv=Path(words[1]), html=Path(words[3])))
