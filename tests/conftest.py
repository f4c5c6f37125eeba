"""Fixtures of all tests."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

# Before DSPy is loaded: nothing is read from the user's own cache, or written there; nor by processes that tests start.
_folder = tempfile.TemporaryDirectory(prefix="thoughtree-tests-")
os.environ["DSPY_CACHEDIR"] = _folder.name
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # nor is a list of prices fetched over the network

# A shell has what it starts in the background ignore Ctrl-C, and so would what the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import dspy  # noqa: E402
import pytest  # noqa: E402
from dspy.clients.cache import Cache  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

# No property fails because the machine is busy.
settings.register_profile(
    "any speed",
    settings.get_profile(settings.get_current_profile_name()),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any speed")

dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)  # nor from one test to another

# Files whose tests take most of the time, and say nothing of how the package was built and installed.
SLOW = {
    "test_cli_compare",
    "test_cli_eval",
    "test_cli_tune",
    "test_dspy_optimizers",
    "test_dspy_optimizers_worlds",
    "test_fault_ends",
    "test_fault_interrupts",
    "test_fault_matrix",
    "test_fault_native",
    "test_fault_turns",
    "test_fault_variants",
    "test_fuzz_files",
    "test_hostile_nodes",
    "test_hostile_output",
    "test_journal_damage",
    "test_journal_disk",
    "test_kill",
    "test_program_memory",
    "test_role_optimizer",
    "test_secrets",
    "test_tuner",
    "test_tuner_processes",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.stem in SLOW:
            item.add_marker(pytest.mark.slow)


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
