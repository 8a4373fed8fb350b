from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from latecomer.live.event_log import EventLog

if TYPE_CHECKING:
    from pathlib import Path

EVENT = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"


def line(batch: int, counts: dict[str, Any], query: str = "orders") -> bytes:
    fields = [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in counts]
    row = {"values": [*counts.values()], "schema": {"type": "struct", "fields": fields}}
    progress = {
        "id": f"id of {query}",
        "runId": "77aa",
        "name": query,
        "batchId": batch,
        "timestamp": f"2023-11-14T22:13:{30 + batch}.500Z",
        "durationMs": {"triggerExecution": 700 + batch},
        "eventTime": {"max": f"2023-11-14T22:13:{20 + batch}.000Z"},
        "sources": [{"numInputRows": 100, "processedRowsPerSecond": 50.5}],
        "observedMetrics": {"latecomer_1": row, "of the user": {"values": [], "schema": {}}},
    }
    return json.dumps({"Event": EVENT, "progress": progress}).encode() + b"\n"


FIRST = {"in": 100, "ready": 90, "late": 8, "ahead": 3, "dropped": 1, "in_time_1000000": 40}
SECOND = {
    "in": 100,
    "ready": 95,
    "late": 2,
    "ahead": 0,
    "dropped": 0,
    "in_time_1000000": 40,
    "in_time_60000000": 20,
    "produced_0.99": 99,
    "missed_0.99": 1,
    "waited_0.99": 2_500_000,
    "held_0.99": None,
    "newest": 1_700_000_001_000_000,
    "watermark": 1_700_000_000_000_000,
    "delay_0": 60,
    "delay_1000": 40,
}
LINES = [
    b'{"Event":"SparkListenerLogStart","Spark Version":"4.3.0"}\n',
    line(0, FIRST),
    line(1, SECOND),
]


def check(status: dict[str, Any]) -> None:
    """Check the totals of both micro-batches."""
    assert {name: status[name] for name in EXPECTED} == EXPECTED
    assert (status["rows"]["in"], status["rows"]["ready"], status["rows"]["dropped"]) == (
        200,
        185,
        1,
    )
    assert sum(status["rows"]["late"].values()) == 10
    assert [each["recall"] for each in status["waits"]] == [0.8, 1.0]
    assert dict(status["delays"])[1_000] == 40


EXPECTED = {
    "query": "orders",
    "id": "id of orders",
    "run": "77aa",
    "batch": 1,
    "at_ms": 1_700_000_011_500,
    "newest": 1_700_000_001_000,
    "behind_newest_ms": 1_000,
    "recalls": [{"target": 0.99, "achieved": 0.99, "wait_ms": 2_500}],
    "batch_ms": 701,
    "rows_per_second": 50.5,
}


def test_the_counts_of_micro_batches_are_added_up(tmp_path: Path) -> None:
    log = tmp_path / "app-1.inprogress"
    log.write_bytes(b"".join(LINES))

    found = EventLog(log)
    # A status for each micro-batch, and then the last one while there is nothing new.
    first, last = found.statuses()
    assert (first["batch"], first["rows"]["in"], first["at_ms"]) == (0, 100, 1_700_000_010_500)
    check(last)
    assert found.statuses() == [last]


def test_a_log_of_several_files_is_read_in_their_order(tmp_path: Path) -> None:
    directory = tmp_path / "eventlog_v2_app-1"
    directory.mkdir()
    for number, content in ((10, LINES[2]), (9, LINES[1])):
        with pa.output_stream(
            str(directory / f"events_{number}_app-1.zstd"), compression="zstd"
        ) as file:
            file.write(content)

    check(EventLog(tmp_path).statuses()[-1])
    check(EventLog(directory).statuses()[-1])


@pytest.mark.parametrize("cut", [1, 50, 200])
def test_a_file_that_is_being_written_is_read_as_far_as_it_is_there(
    tmp_path: Path, cut: int
) -> None:
    log = tmp_path / "app-1.inprogress"
    log.write_bytes(b"".join(LINES)[:-cut])
    found = EventLog(log)
    # A last line without its newline is complete.
    assert found.statuses()[-1]["batch"] == (1 if cut == 1 else 0)

    log.write_bytes(b"".join(LINES))
    check(found.statuses()[-1])


def test_a_compressed_file_may_end_in_the_middle(tmp_path: Path) -> None:
    whole = tmp_path / "whole.zstd"
    with pa.output_stream(str(whole), compression="zstd") as file:
        file.write(b"".join(LINES))
    (tmp_path / "cut.zstd").write_bytes(whole.read_bytes()[:-9])

    for status in EventLog(tmp_path / "cut.zstd").statuses()[-1:]:
        check(status)


def test_queries_are_kept_apart(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(line(0, {"ready": 1, "late": 0}) + line(0, {"ready": 2, "late": 0}, "other"))

    assert [each["query"] for each in EventLog(log).statuses()] == ["orders", "other"]
