from __future__ import annotations

import json
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row

from latecomer.clock.policy import ClockByRecall, OneClock
from latecomer.hosts.recall_report import MISSED, PRODUCED, WAITED, Achieved, counted
from latecomer.hosts.spark import progress
from latecomer.hosts.spark.durable.totals import of_parts
from latecomer.hosts.spark.observed import Observed
from latecomer.hosts.spark.parcels import OUTPUT
from latecomer.hosts.spark.progress import counts, observed, recall
from latecomer.hosts.tally import TALLY
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000


def totals(*batches: dict[str, Any]) -> dict[str, int]:
    """Add up the metrics of micro-batches."""
    runs, found = Observed(), {}
    for number, row in enumerate(batches):
        told = {"latecomer_1": Row(**row), "other": None}
        last: Any = SimpleNamespace(runId="r", batchId=number, observedMetrics=told)
        found = runs.hear(last).totals
    return found


def metrics(plan: Plan) -> list[Any]:
    """Return the metrics that Spark observes."""
    asked: list[Any] = []
    watched: Any = SimpleNamespace(observe=lambda _metric, *columns: asked.extend(columns))
    observed(watched, plan)
    return asked


def test_what_was_observed_is_read_as_spark_connect_tells_it_too() -> None:
    fields = [{"name": "ready"}, {"name": "late"}]

    assert progress.named({"values": [9, 1], "schema": {"fields": fields}}) == {
        "ready": 9,
        "late": 1,
    }
    assert progress.named({"ready": 9, "late": 1}) == {"ready": 9, "late": 1}
    assert progress.named({"counts": '{"ready": 9}'}) == {"ready": 9}
    connect = {"values": ['{"ready": 9}'], "schema": {"fields": [{"name": "counts"}]}}
    assert progress.named(connect) == {"ready": 9}
    parts = '[{"ready": 0}, {"ready": 4, "newest": 7}, {"ready": 5, "newest": 3}]'
    assert progress.named({"counts": parts}) == {"ready": 9, "newest": 7}


def test_what_micro_batches_put_out_is_added_up() -> None:
    found = counts(totals({"ready": 3, "late": 1}, {"ready": 4, "dropped": 2}))

    assert found == {"ready": 7, "late": 1, "dropped": 2, "ahead": 0}
    assert counts(totals()) == {"ready": 0, "late": 0, "dropped": 0, "ahead": 0}


def test_the_recall_of_each_wait_is_what_it_had_seen_of_what_the_last_one_had() -> None:
    batches = [{"in_time_0": 5, "in_time_1000000": 3}, {"in_time_0": 1, "in_time_1000000": 1}]
    found = recall(totals(*batches))

    assert found == {
        timedelta(0): Achieved(6, 4, timedelta(0)),
        timedelta(seconds=1): Achieved(10, 0, timedelta(seconds=1)),
    }


def test_rows_that_were_folded_back_were_missed_by_every_wait() -> None:
    told = {"in_time_0": 5, "in_time_1000000": 3, "folded": 2}
    found = recall(totals(told))

    assert {wait.seconds: (each.produced, each.missed) for wait, each in found.items()} == {
        0: (5, 5),
        1: (8, 2),
    }


def test_where_nothing_has_closed_there_is_no_recall() -> None:
    assert recall(totals({"in_time_0": 0})) == recall(totals()) == {}


def test_the_recall_of_a_target_is_what_was_produced_and_its_wait_the_last_one_told() -> None:
    names = [counted(what, 0.9) for what in (PRODUCED, MISSED, WAITED)]
    batches = [dict(zip(names, row, strict=True)) for row in ((8, 2, SECOND), (9, 1, None))]

    assert recall(totals(*batches)) == {0.9: Achieved(17, 3, timedelta(seconds=1))}


def test_what_spark_reports_adds_up_to_what_the_driver_counts(spark: SparkSession) -> None:
    time = TimeColumn("time")
    plan = Plan(Source(time), ClockByRecall(recalls=(0.9,)), "divert", (Stage((), (Sort(time),)),))
    tallies = [
        {"in": 4, "rows_held": -3, "newest": 9, "delay_0": 4},
        {"in": 2, "rows_held": 1, "newest": 7, "watermark": 5},
    ]
    rows = [
        ("ready", 3, b""),
        ("late", 1, b""),
        ("late_1", 2, b""),
        ("dropped", 5, b""),
        (counted(PRODUCED, 0.9), 7, b""),
        (counted(WAITED, 0.9), 40, b""),
        (counted(WAITED, 0.9), 50, b""),
        # Keys are not for Spark, whose JSON has shorter names only.
        *((TALLY, 0, f'{json.dumps(each)}\n{{"{"a" * 60_000}": 1}}'.encode()) for each in tallies),
        (TALLY, 0, b'{"in": 1}'),
    ]
    packed = spark.createDataFrame(rows, OUTPUT)

    seen = progress.named(packed.agg(*metrics(plan)).collect()[0].asDict())

    expected, _ = of_parts(rows)
    assert {name: seen[name] for name in expected} == expected
    assert {name: count for name, count in seen.items() if count} == expected
    # A query without counts is not one of Latecomer: there is always something to tell.
    assert (seen["ahead"], seen[counted(MISSED, 0.9)]) == (0, 0)


def test_spark_is_asked_for_one_metric(spark: SparkSession) -> None:
    time = TimeColumn("time")
    plan = Plan(Source(time), OneClock((0, SECOND)), "divert", (Stage((), (Sort(time),)),))

    seen = spark.createDataFrame([], OUTPUT).agg(*metrics(plan)).collect()[0].asDict()

    assert [*seen] == ["counts"]
    assert set(progress.named(seen).values()) == {0}


def test_spark_reads_no_counts_and_calls_no_functions_of_elements(spark: SparkSession) -> None:
    time = TimeColumn("time", "us")
    plan = Plan(Source(time), OneClock((0, SECOND)), "divert", (Stage((), (Sort(time),)),))

    found = spark.createDataFrame([], OUTPUT).agg(*metrics(plan))

    analysed = found._jdf.queryExecution().analyzed().toString()
    assert not [name for name in ("lambda", "from_json", "to_json") if name in analysed]
