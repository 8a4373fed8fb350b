from __future__ import annotations

import json
from dataclasses import replace

from latecomer.hosts.status import (
    KeyStatus,
    RecallStatus,
    Rows,
    SourceStatus,
    Status,
    WaitStatus,
    when,
)

FULL = Status(
    query="sales",
    id="7",
    run="8",
    is_active=True,
    exact=True,
    batch=12,
    since_batch=3,
    watermark=60_000,
    newest=70_000,
    behind_newest_ms=10_000,
    behind_wall_ms=3_600_000,
    rows=Rows(1_000, 900, 40, {"late": 50, "no time": 10}, 0),
    held_bytes=5_000,
    open_windows=7,
    waits=[WaitStatus("10 seconds", 10_000, 30, 4, 0.9)],
    recalls=[RecallStatus(0.99, 0.995, 12_000), RecallStatus(None, None, None)],
    backlog=3.0,
    batch_ms=900,
    rows_per_second=1_234.5,
    keys=[KeyStatus({"key": "a"}, 40)],
    sources=[SourceStatus("files", 100, {"numFilesOutstanding": 3.0})],
    delays=[(0, 990), (None, 10)],
)


def test_a_status_is_printed_in_words() -> None:
    assert str(FULL).splitlines() == [
        "query       sales runs, micro-batch 12, counted since 3",
        "watermark   1970-01-01 00:01:00, 10 seconds behind the newest row, 1 hour behind now",
        "rows        1,000 in, 900 ready",
        "late        60 (6.00%): 50 late, 10 no time",
        "held        40 rows, 7 open windows, 5,000 bytes",
        "wait        10 seconds: 90.00% in time, 30 answers, 4 refined",
        "recall      99.00% asked, 99.50% achieved, waiting 12 seconds",
        "recall      no target, nothing yet achieved",
        "backlog     files: 3 numFilesOutstanding",
        "speed       900 milliseconds for the last micro-batch, 1,234 rows/s",
        "worst keys  key=a 40",
    ]


def test_a_watermark_in_the_future_is_ahead_of_now_and_one_wait_has_no_recall() -> None:
    waits = [WaitStatus("10 seconds", 10_000, 30)]
    jumped = replace(FULL, behind_wall_ms=-86_400_000, waits=waits)

    assert "10 seconds behind the newest row, 1 day ahead of now" in str(jumped)
    assert "wait        10 seconds: 30 answers\n" in str(jumped)


def test_before_the_first_micro_batch_little_is_known() -> None:
    status = Status("sales", "7", "8", is_active=False, exact=True)

    assert str(status).splitlines() == [
        "query       sales has stopped, no micro-batch yet",
        "rows        0 ready",
        "late        0",
    ]


def test_a_dictionary_can_be_written_as_json_and_has_stable_keys() -> None:
    found = json.loads(json.dumps(FULL.to_dict()))

    assert found["rows"] == {
        "in": 1_000,
        "ready": 900,
        "held": 40,
        "late": {"late": 50, "no time": 10},
        "dropped": 0,
    }
    assert found["waits"] == [
        {
            "wait": "10 seconds",
            "wait_ms": 10_000,
            "answers": 30,
            "refined": 4,
            "recall": 0.9,
        }
    ]
    assert found["delays"] == [[0, 990], [None, 10]]
    assert list(found) == [
        *("query", "id", "run", "is_active", "exact", "batch", "since_batch"),
        *("watermark", "newest", "behind_newest_ms", "behind_wall_ms", "rows"),
        *("held_bytes", "open_windows", "waits", "recalls", "backlog", "batch_ms"),
        *("rows_per_second", "keys", "sources", "delays"),
    ]


def test_a_time_that_no_calendar_has_is_a_number() -> None:
    assert when(10**18) == str(10**18)
