"""Fixtures of all tests."""

from __future__ import annotations

from pathlib import Path

import dspy
import pytest
from dspy.clients.cache import Cache


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DSPy's own cache, empty, and gone after the test."""
    fresh = Cache(
        enable_disk_cache=False,
        enable_memory_cache=True,
        disk_cache_dir=str(tmp_path),
        disk_size_limit_bytes=10**6,
        memory_max_entries=10_000,
    )
    monkeypatch.setattr(dspy, "cache", fresh)
