"""Reports of recall: as rows, as an output, and in the progress of a query."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import latecomer as lc
from latecomer.clock.policy import ClockByRecall
from latecomer.hosts.local import LocalHost
from latecomer.hosts.recall_report import (
    BUCKET,
    SCHEMA,
    Measured,
    counted,
    of_bucket,
    report,
    reports,
    target_of,
)
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn
from tests.support.streaming import source

SECOND = 1_000_000
TIME = TimeColumn("time")
PLAN = Plan(Source(TIME), ClockByRecall(recalls=(0.5, 0.9)), "divert", (Stage((), (Sort(TIME),)),))


def rows(*seconds: int) -> pa.Table:
    times = pa.array([second * SECOND for second in seconds], pa.int64())
    return pa.table({"time": times.cast(pa.timestamp("us", "UTC"))})


BATCHES = [rows(1, 2), rows(3, 2), rows(9, 8), rows(10, 7, 1), rows(30, 11, 2)]


def test_a_report_is_rows_and_counts() -> None:
    table, *counts = report(5, [Measured(0.9, 7, 3, 1, 0.8, 6), Measured(None, None, 0, 0)])

    assert table.batch is not None
    assert table.batch.schema == SCHEMA
    first, second = table.batch.to_pylist()
    assert first == {
        "time": datetime(1970, 1, 1, microsecond=5, tzinfo=UTC),
        "bucket": 0,
        "target": 0.9,
        "wait": 1,
        "produced": 3,
        "missed": 1,
        "recall": 0.75,
        "extrapolated": 0.8,
        "held": 6,
        "periods": None,
        "short": None,
    }
    assert (second["target"], second["wait"], second["recall"]) == (None, None, None)
    assert [(each.name, each.rows) for each in counts] == [
        ("produced_0.9", 3),
        ("missed_0.9", 1),
        ("waited_0.9", 7),
        ("held_0.9", 6),
        ("produced_fixed", 0),
        ("missed_fixed", 0),
    ]


def test_several_measurements_of_a_micro_batch_are_one_report() -> None:
    table, *counts = reports([(5, Measured(0.9, 7, 3, 1)), (8, Measured(0.9, 4, 2, 1, None, 6))])

    assert table.rows == 2
    assert [each["wait"] for each in table.batch.to_pylist()] == [1, 1]
    assert [each["produced"] for each in table.batch.to_pylist()] == [3, 2]
    found = {each.name: each.rows for each in counts}
    assert found == {"produced_0.9": 5, "missed_0.9": 2, "waited_0.9": 7, "held_0.9": 6}
    assert [*reports([])] == []


def test_a_report_names_its_bucket() -> None:
    table, *_ = report(5, [Measured(0.9, 7, 3, 1)])

    assert of_bucket(table.batch, 4).column(BUCKET).to_pylist() == [4]


@pytest.mark.parametrize("target", [0.999, 1.0, None])
def test_a_count_names_its_target(target: float | None) -> None:
    assert target_of(counted("missed", target), "missed") == target


def told(reports: pa.Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in reports.to_pylist()]


def test_both_hosts_report_the_same(spark: SparkSession, tmp_path: Path) -> None:
    host = LocalHost(PLAN, BATCHES[0].schema)
    steps = [host.step(batch) for batch in BATCHES]
    kept: list[Row] = []

    def keep(df: DataFrame, number: int) -> None:
        kept.extend(df.orderBy("target").collect())

    ordered = lc.disordered(source(spark, BATCHES, f"{tmp_path}/rows"), time="time").sort(
        recall=[0.5, 0.9]
    )
    query = ordered.start(
        {"ready": f"{tmp_path}/ready", "late": lambda *_: None, "recall": keep},
        checkpoint=f"{tmp_path}/checkpoint",
        trigger={"availableNow": True},
    )
    query.awaitTermination()

    expected = [row for step in steps for row in told(step.recall)]
    assert [(row.time.astimezone(UTC), *row[1:]) for row in kept] == expected
    achieved = lc.recall(query)
    assert list(achieved) == [0.5, 0.9]
    for target, found in achieved.items():
        mine = [row for row in expected if row[2] == target]
        assert (found.produced, found.missed) == (
            sum(row[4] for row in mine),
            sum(row[5] for row in mine),
        )
        assert found.recall == found.produced / (found.produced + found.missed)
        assert -(-found.wait // timedelta(milliseconds=1)) == mine[-1][3]
        assert found.held == mine[-1][8]
    assert lc.counts(query)["late"] == achieved[0.9].missed > 0


def test_in_batch_all_rows_are_in_time(spark: SparkSession) -> None:
    df = spark.createDataFrame(rows(3, 1, 2).to_pandas())

    (row,) = lc.disordered(df, time="time").sort(recall=0.99).recall_df().collect()

    assert (row.target, row.wait, row.produced, row.missed, row.recall) == (0.99, None, 3, 0, 1.0)
    assert row.extrapolated is None


def test_without_a_recall_there_is_nothing_to_report(spark: SparkSession) -> None:
    df = spark.createDataFrame(rows(3).to_pandas())

    with pytest.raises(lc.OptionError, match="no stated recall to report on"):
        lc.disordered(df, time="time").sort(wait="1 second").recall_df()
