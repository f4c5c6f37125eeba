"""Searches under `mlflow.dspy.autolog()`, in a process of their own: autologging cannot be taken back whole.

    python traced.py FOLDER

writes to stdout, as JSON, the spans of each trace as a local store has them, and those that OpenTelemetry was given.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import dspy
import mlflow
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from puzzle24 import PUZZLE, call, engine, script
from thoughtree import Beam, Game24, TreeOfThoughts


def plain(spans: list[Any]) -> list[dict[str, Any]]:
    return [
        {
            "id": span.span_id,
            "parent": span.parent_id,
            "name": span.name,
            "status": span.status.status_code.value,
            "inputs": span.inputs,
            "outputs": span.outputs,
            "from": span.start_time_ns,
            "to": span.end_time_ns,
        }
        for span in spans
    ]


def failing(kind: Any, inputs: Any, n: int) -> Any:
    if kind == "rate" and inputs["search_state"] == "10 13 13":
        raise ValueError("no such luck")
    return script(kind, inputs, n)


def main(folder: Path) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'mlflow.db'}")  # which forgets any provider of before
    mlflow.dspy.autolog()
    exported = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exported))
    otel.set_tracer_provider(provider)
    program = TreeOfThoughts(task=Game24(), controller=Beam(width=2), retries=0)
    calls = {}
    for driver in ("threads", "asyncio"):
        found = call(program, engine(failing, delay=0.001), driver, numbers=PUZZLE)
        calls[driver] = {role: usage.calls for role, usage in found.search.spent_by.items()}
    mlflow.flush_trace_async_logging()
    traces = mlflow.search_traces(return_type="list", order_by=["timestamp_ms ASC"])
    told = {
        "calls": calls,
        "traces": [plain(trace.data.spans) for trace in traces],
        "exported": [
            {
                "id": f"{span.context.span_id:016x}",
                "name": span.name,
                "parent": f"{span.parent.span_id:016x}" if span.parent else None,
                "trace": f"{span.context.trace_id:032x}",
            }
            for span in exported.get_finished_spans()
        ],
    }
    print(json.dumps(told))


if __name__ == "__main__":
    dspy.configure(lm=None)
    main(Path(sys.argv[1]))
