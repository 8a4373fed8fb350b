from __future__ import annotations

import pytest

from latecomer.hosts.metrics import Collector
from latecomer.hosts.status import RecallStatus, Rows, Status, WaitStatus
from latecomer.live.endpoint import Metric, metrics, statuses

TEXT = r"""
# HELP latecomer_rows_total Rows by output.
# TYPE latecomer_rows_total counter
latecomer_rows_total{query="orders",output="in",reason=""} 1000.0
latecomer_rows_total{query="orders",output="ready",reason=""} 900.0
latecomer_rows_total{query="orders",output="late",reason="late"} 30.0
latecomer_rows_total{query="orders",output="late",reason="no time"} 2.0 1700000000000
latecomer_rows_total{output="in",query="a \"b\" \\ c"} 5
latecomer_held_rows{query="orders"} 68
latecomer_watermark_behind_seconds{query="orders"} 50.5
latecomer_wait_seconds{query="orders",target="0.99"} 2.5
latecomer_recall_ratio{query="orders",target="0.99"} 0.985
latecomer_recall_ratio{query="orders",wait="1 second"} 0.9
latecomer_wait_seconds{query="orders",wait="1 second"} 1.0
latecomer_answers_total{query="orders",wait="1 second"} 40
latecomer_refined_total{query="orders",wait="1 second"} 2
latecomer_recall_ratio{query="orders",target=""} 0.5
latecomer_active{query="orders"} 1
latecomer_delay_seconds_bucket{query="orders",le="0.0"} 600
latecomer_delay_seconds_bucket{query="orders",le="+Inf"} 1000
latecomer_delay_seconds_bucket{query="orders",le="1.0"} 990
latecomer_batch_seconds{query="orders"} 0.7
python_gc_objects_collected_total{generation="0"} 291.0
not a metric at all
broken{ 1
"""


def test_metrics_are_read_from_text() -> None:
    found = list(metrics('a 1\nb{x="1",y="\\n"} NaN 17\n# c 2\nd one\n'))

    assert found[0] == Metric("a", {}, 1.0)
    assert (found[1].name, found[1].labels) == ("b", {"x": "1", "y": "\n"})
    assert len(found) == 2


def test_the_metrics_of_a_query_are_its_status() -> None:
    orders, other = statuses(metrics(TEXT))

    assert orders == {
        "query": "orders",
        "rows": {"in": 1_000, "ready": 900, "held": 68, "late": {"late": 30, "no time": 2}},
        "behind_newest_ms": 50_500,
        "batch_ms": 700,
        "waits": [
            {"wait": "1 second", "wait_ms": 1_000, "answers": 40, "refined": 2, "recall": 0.9}
        ],
        "recalls": [
            {"target": 0.99, "achieved": 0.985, "wait_ms": 2_500},
            {"target": None, "achieved": 0.5},
        ],
        "delays": [[0.0, 600], [1_000.0, 390], [None, 10]],
    }
    assert other["query"] == 'a "b" \\ c'


def test_exported_metrics_are_read_back_unchanged() -> None:
    client = pytest.importorskip("prometheus_client", reason="the extra metrics is not installed")
    status = Status(
        query='orders "by" hour',
        id="0b1c",
        run="77aa",
        is_active=True,
        exact=True,
        batch=7,
        watermark=1_700_000_000_000,
        newest=1_700_000_050_000,
        behind_newest_ms=50_000,
        rows=Rows(1_000, 900, 68, {"late": 30, "no time": 2}, 0),
        held_bytes=4_096,
        open_windows=42,
        waits=[WaitStatus("1 second", 1_000, 40, 2, 0.9)],
        recalls=[RecallStatus(0.99, 0.985, 2_500)],
        backlog=3.0,
        batch_ms=700,
        rows_per_second=9_000.0,
        delays=[(0, 600), (1_000, 390), (None, 10)],
    )
    registry = client.CollectorRegistry()
    registry.register(Collector(lambda: [status]))

    (found,) = statuses(metrics(client.generate_latest(registry).decode()))

    # Values are current, and ids and keys are left out, because they would be too many labels.
    found.pop("behind_wall_ms")
    expected = status.to_dict()
    assert found == {name: expected[name] for name in found}
    assert {*expected} - {*found} == {
        *("id", "run", "is_active", "exact", "since_batch", "behind_wall_ms", "keys", "sources")
    }


def test_metrics_of_others_are_no_query() -> None:
    assert statuses(metrics("python_gc 1\nlatecomer_info 1\n")) == []
