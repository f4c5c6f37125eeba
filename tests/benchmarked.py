"""The benchmarks, which are not installed, and the recorded data that some of them read."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("THOUGHTREE_SHARED") or ROOT.parent / "shared") / "data"
recorded_data = pytest.mark.skipif(
    not (DATA / "sets").is_dir(), reason=f"the recorded data is not there ({DATA}); set THOUGHTREE_SHARED"
)


def benchmark(name: str) -> Any:
    """A module of the benchmarks; the root folder stays out of sys.path."""
    if "benchmarks" not in sys.modules:
        folder = ROOT / "benchmarks"
        spec = importlib.util.spec_from_file_location(
            "benchmarks", folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules["benchmarks"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["benchmarks"])
    return importlib.import_module(f"benchmarks.{name}")
