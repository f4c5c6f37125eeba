"""`mlflow.dspy.autolog()`: a search is one trace, with a span for each node's calls; OpenTelemetry has the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]  # mlflow makes its database first
pytest.importorskip("mlflow", reason="mlflow is not installed (mlflow-skinny)")

HERE = Path(__file__).parent
SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false",
    "MLFLOW_USE_DEFAULT_TRACER_PROVIDER": "false",  # spans go through OpenTelemetry's own provider
}
drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])
PLACE = {"threads": 0, "asyncio": 1}
LEVEL = [["10-4=6"], ["4+9=13"], ["13*4=52"]]  # the paths of the root's children


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What mlflow's store, and an exporter of OpenTelemetry's, hold of one search by each driver."""
    folder = tmp_path_factory.mktemp("mlflow")
    run = subprocess.run(
        [sys.executable, str(HERE / "traced.py"), str(folder)],
        env={**os.environ, **SETTINGS, "PYTHONPATH": str(HERE)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=350,
    )
    assert run.returncode == 0, run.stderr
    assert "TreeOfThoughts" not in run.stderr  # nothing is logged unasked
    told: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return told


def named(spans: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [span for span in spans if span["name"] == name]


def test_a_search_is_one_trace(traced: dict[str, Any]):
    assert len(traced["traces"]) == 2
    for spans in traced["traces"]:
        (root,) = [span for span in spans if span["parent"] is None]
        assert root["name"] == "TreeOfThoughts.forward"
        assert root["inputs"] == {"numbers": "4 9 10 13"}
        assert root["outputs"]["answer"] == "(10 - 4) * (13 - 9)"


@drivers
def test_each_nodes_calls_are_a_span_under_the_search(driver: str, traced: dict[str, Any]):
    """In threads and on a loop: between the search and each LM call stands which node it is about."""
    spans, calls = traced["traces"][PLACE[driver]], traced["calls"][driver]
    by_id = {span["id"]: span for span in spans}
    nested = Counter((span["name"], by_id[span["parent"]]["name"]) for span in spans if span["parent"])
    made = sum(calls.values())
    assert calls == {"propose": 5, "rate": 7}
    assert nested == {
        ("Propose.forward", "TreeOfThoughts.forward"): calls["propose"],
        ("Rate.forward", "TreeOfThoughts.forward"): calls["rate"],
        ("Predict.forward", "Propose.forward"): calls["propose"],
        ("Predict.forward", "Rate.forward"): calls["rate"],
        ("SearchAdapter.format", "Predict.forward"): made,
        ("GatedLM.__call__", "Predict.forward"): made,
        ("SearchAdapter.parse", "Predict.forward"): made - 1,  # one call fails
    }
    for span in spans:
        if span["parent"]:
            parent = by_id[span["parent"]]
            assert parent["from"] <= span["from"] <= span["to"] <= parent["to"]


@drivers
def test_a_span_says_which_node_it_is_about(driver: str, traced: dict[str, Any]):
    spans = traced["traces"][PLACE[driver]]
    assert named(spans, "Propose.forward")[0]["inputs"] == {"node": 0, "path": [], "sample": 0}
    rated = sorted(named(spans, "Rate.forward"), key=lambda span: span["inputs"]["nodes"])
    assert [span["inputs"] for span in rated[:3]] == [
        {"nodes": [id], "paths": [path], "sample": 0} for id, path in enumerate(LEVEL, 1)
    ]
    assert rated[0]["outputs"] == {"rating_reasoning": "by script", "thought_rating": "sure"}


@drivers
def test_a_call_that_fails_is_an_error_in_its_own_span(driver: str, traced: dict[str, Any]):
    failed = [span for span in traced["traces"][PLACE[driver]] if span["status"] == "ERROR"]
    assert {span["name"] for span in failed} == {"Rate.forward", "Predict.forward", "GatedLM.__call__"}
    assert [span["inputs"]["paths"] for span in named(failed, "Rate.forward")] == [[["4+9=13"]]]


def test_opentelemetry_has_the_same_spans(traced: dict[str, Any]):
    exported = traced["exported"]
    kept = {span["id"]: span["parent"] for spans in traced["traces"] for span in spans}
    assert {span["id"]: span["parent"] for span in exported} == kept
    assert len({span["trace"] for span in exported}) == 2
