import json
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from latecomer.hosts.spark.listener import Listener
from latecomer.hosts.spark.relay import Relay

PROGRESS = {
    "id": str(UUID(int=1)),
    "runId": str(UUID(int=2)),
    "name": "sales",
    "timestamp": "2026-01-01T00:00:00.000Z",
    "batchId": 7,
    "batchDuration": 900,
    "numInputRows": 3,
    "durationMs": {"triggerExecution": 900},
    "stateOperators": [],
    "sources": [
        {
            "description": "KafkaV2[Subscribe[sales]]",
            "startOffset": "1",
            "endOffset": "2",
            "latestOffset": "2",
            "numInputRows": 3,
            "inputRowsPerSecond": 1.0,
            "processedRowsPerSecond": 1.0,
            "metrics": {"maxOffsetsBehindLatest": "70"},
        }
    ],
    "sink": {"description": "ForeachBatchSink", "numOutputRows": -1},
    "observedMetrics": {"latecomer_1": {"in": 3, "ready": 2}},
}
"""A progress of a micro-batch, as JSON."""


def test_a_progress_is_read_from_java_as_one_text() -> None:
    text = json.dumps(PROGRESS)
    # The object has no other methods.
    event: Any = SimpleNamespace(progress=lambda: SimpleNamespace(json=lambda: text))
    listener = Listener()

    Relay(listener).onQueryProgress(event)

    (found,) = listener.statuses()
    assert (found.query, found.batch, found.rows.read, found.rows.ready) == ("sales", 7, 3, 2)
    assert (found.batch_ms, found.backlog) == (900, 70.0)
