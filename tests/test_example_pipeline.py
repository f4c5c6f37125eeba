"""The example of examples/: compiled in one process, called from another pipeline in a second one, offline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "compiled_pipeline.py"


def example(folder: Path, *arguments: str) -> str:
    kept = {name: value for name, value in os.environ.items() if "API_KEY" not in name}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), *arguments], cwd=folder, env=kept, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.timeout(200)
def test_a_compiled_search_is_called_from_another_pipeline_in_another_process(tmp_path: Path):
    said = example(tmp_path, "compile", "solver.json", "--puzzles", "36")
    assert said.startswith("the tuned program costs less than the default")
    saved = json.loads((tmp_path / "solver.json").read_text())
    knobs = json.dumps(saved)
    assert '"width": 5' not in knobs  # the stand-in finds as much with a narrower beam
    demos = {name: len(part["demos"]) for name, part in saved.items() if isinstance(part, dict) and "demos" in part}
    assert [name for name, count in demos.items() if name.startswith("propose") and count > 0]

    lines = example(tmp_path, "use", "solver.json", "4 9 10 13", "1 1 1 1").splitlines()
    assert lines == ["4 9 10 13: 4 * (9 - (13 - 10))", "1 1 1 1: no solution was found"]
