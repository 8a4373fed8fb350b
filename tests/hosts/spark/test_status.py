"""The status of queries of all kinds, through a restart and a micro-batch that runs again."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import latecomer as lc
from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.generate.micro_batches import write_micro_batches
from latecomer.hosts.spark import status as reading
from latecomer.hosts.spark.durable.owner import Owner
from latecomer.hosts.spark.durable.totals import Recorder, Totals, publish
from latecomer.hosts.spark.status import Started
from tests.support.streaming import source

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SECOND = 1_000_000
NOW = {"availableNow": True}


def batch(*seconds: int | None) -> pa.Table:
    times = [None if second is None else second * SECOND for second in seconds]
    keys = [None if second is None else second % 2 for second in seconds]
    return pa.table({"time": pa.array(times, pa.timestamp("us", "UTC")), "key": keys})


def test_a_sort_is_counted_exactly_through_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    rows = f"{tmp_path}/rows"
    df = source(spark, [batch(1, 2, 30, None), batch(3, 29, 31)], rows)
    stream = lc.disordered(df, time="time", key="key").sort(wait="5 seconds", buckets=2)
    checkpoint = f"{tmp_path}/checkpoint"

    def run() -> lc.Query:
        outputs = {name: f"{tmp_path}/{name}" for name in ("ready", "late")}
        query = stream.start(outputs, checkpoint=checkpoint, trigger=NOW, name="sorted")
        query.awaitTermination()
        return query

    first = run().status()
    assert first.rows == lc.status(checkpoint).rows
    assert (first.rows.read, first.rows.ready, first.rows.held) == (7, 2, 3)
    assert first.rows.late == {"late": 1, "no time": 1}

    write_micro_batches(batch(40, 4, 6), rows, 1, first=2)
    query = run()
    found = query.status()
    # 29 to 31 came out; 3, 4 and 6 were late; 40 is held.
    assert (found.rows.read, found.rows.ready, found.rows.held) == (10, 5, 1)
    assert found.rows.late == {"late": 3, "no time": 1}
    assert found.rows.read == found.rows.ready + (found.rows.held or 0) + found.late
    assert query.counts() == lc.counts(query) == {"ready": 5, "late": 4, "dropped": 0, "ahead": 0}
    assert query.held()["rows"] == found.rows.held
    assert (found.query, found.exact, found.since_batch) == ("sorted", True, 0)
    assert (found.newest, found.watermark) == (40_000, 35_000)
    assert found.behind_newest_ms == 5_000
    assert {each.key["key"]: each.late for each in found.keys} == {1: 1, 0: 2}
    assert found.delays is not None
    assert dict(found.delays)[30_000] == 3
    assert sum(rows for _, rows in found.delays) == 9


def test_windows_with_several_waits_count_answers_wherever_their_states_are(
    spark: SparkSession, tmp_path: Path
) -> None:
    df = source(spark, [batch(1, 2, 12), batch(3, 40, 61), batch(62)], f"{tmp_path}/rows")
    windows = lc.disordered(df, time="time", key="key").tumbling("10 seconds")
    counts = windows.wait(["0 seconds", "30 seconds"], late="drop").aggregate(n=agg.count())
    for states in ("buckets", "driver"):
        query = counts.start(
            {"ready": f"{tmp_path}/{states}/ready"},
            checkpoint=f"{tmp_path}/{states}/checkpoint",
            trigger=NOW,
            states=states,  # type: ignore[arg-type]
        )
        query.awaitTermination()
        found = query.status()
        waits = [(each.wait, each.answers, each.refined) for each in found.waits]
        assert waits == [("0 seconds", 3, 0), ("30 seconds", 2, 1)], states
        assert [each.recall for each in found.waits] == [0.75, 1.0]
        assert found.open_windows == query.held()["windows"] == 2
        assert (found.rows.read, found.rows.held) == (7, 0)
        assert found.newest == 62_000
    spark_only = reading.of_query(query.spark)
    assert spark_only.rows.ready == found.rows.ready


def test_what_spark_reports_of_the_last_micro_batch_is_part_of_it() -> None:
    kafka = SimpleNamespace(
        description="KafkaV2[Subscribe[sales]]",
        numInputRows=50,
        metrics={"avgOffsetsBehindLatest": "40.0", "maxOffsetsBehindLatest": "70"},
    )
    names = {"name": None, "id": "1", "runId": "2"}
    last = SimpleNamespace(
        **names,
        batchId=7,
        durationMs={"triggerExecution": 900},
        batchDuration=900,
        processedRowsPerSecond=55.5,
        sources=[kafka],
        stateOperators=[SimpleNamespace(customMetrics={"rocksdbSstFileSize": 3_209})],
        observedMetrics={"latecomer_1": SimpleNamespace(asDict=lambda: {"ready": 3, "in": 4})},
    )
    query: Any = SimpleNamespace(**names, isActive=True, lastProgress=last, recentProgress=[last])

    found = lc.status(query)
    assert (found.query, found.batch, found.since_batch, found.exact) == ("1", 7, 7, False)
    assert (found.batch_ms, found.rows_per_second, found.held_bytes) == (900, 55.5, 3_209)
    assert found.backlog == 70.0
    assert (found.rows.ready, found.rows.read) == (3, 4)
    # The number of rows held before is unknown.
    assert found.rows.held is None


def test_where_the_query_runs_its_totals_are_not_read_from_the_checkpoint() -> None:
    recorder = Recorder(Owner("checkpoint", "id", 1, "r1"), "sales", OneClock((5 * SECOND,)))
    recorder.last = Totals(40, 0, {"in": 900}, written=1.0)
    publish("a run in this process", recorder)
    query: Any = SimpleNamespace(
        name="sales", id="1", runId="a run in this process", isActive=True, lastProgress=None
    )

    # Neither the checkpoint nor Spark can be read.
    started = Started(None, "no checkpoint", None)  # type: ignore[arg-type]
    assert reading.of_query(query, started).rows.read == lc.status(query).rows.read == 900


def test_elsewhere_only_the_record_of_the_last_micro_batch_is_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    recorder = Recorder(Owner(str(tmp_path), "id", 1, "r1"), "sales", OneClock((5 * SECOND,)))
    for number in range(3):
        recorder.write(spark, number, ({"in": 10}, {}))
    (tmp_path / "latecomer/totals/slot-0").write_text("not a record")
    query: Any = SimpleNamespace(
        isActive=True, lastProgress=SimpleNamespace(runId="elsewhere", batchId=1)
    )

    # Micro-batch 2 is written, but Spark has not reported it yet.
    found = reading.counted(query, Started(None, str(tmp_path), spark))  # type: ignore[arg-type]
    assert (found.batch, found.totals) == (1, {"in": 20})
    query.isActive = False
    found = reading.counted(query, Started(None, str(tmp_path), spark))  # type: ignore[arg-type]
    assert (found.batch, found.totals) == (2, {"in": 30})


@pytest.mark.parametrize(("waited", "watermark"), [(None, None), (4 * SECOND, 3_000)])
def test_where_a_recall_sets_the_wait_the_watermark_follows(
    waited: int | None, watermark: int | None
) -> None:
    totals = {"newest": 7 * SECOND, "produced_0.9": 9, "missed_0.9": 1}
    totals |= {} if waited is None else {"waited_0.9": waited}

    ids = {"name": "a", "ids": ("", ""), "is_active": True, "plan": None}
    found = reading.of_totals(Totals(3, 0, totals), **ids)  # type: ignore[arg-type]

    assert found.watermark == watermark
    assert [(each.target, each.achieved) for each in found.recalls] == [(0.9, 0.9)]


def test_a_watermark_in_the_future_is_reported_as_ahead_of_the_wall_clock() -> None:
    month = 30 * 86_400 * SECOND
    totals = {
        "newest": time.time_ns() // 1_000 + month,
        "watermark": time.time_ns() // 1_000 + month,
    }
    ids = {"name": "a", "ids": ("", ""), "is_active": True, "plan": None}

    found = reading.of_totals(Totals(3, 0, totals), **ids)  # type: ignore[arg-type]

    assert found.behind_newest_ms == 0
    assert found.behind_wall_ms is not None
    assert found.behind_wall_ms < 0


def test_a_checkpoint_that_has_not_run_has_no_counts(tmp_path: Path) -> None:
    assert lc.status(tmp_path / "new").batch is None
