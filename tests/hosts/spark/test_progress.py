from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row

from latecomer.api import agg
from latecomer.clock.policy import ClockByRecall, OneClock
from latecomer.hosts.recall_report import MISSED, PRODUCED, WAITED, Achieved, counted
from latecomer.hosts.spark import progress
from latecomer.hosts.spark.observed import Observed
from latecomer.hosts.spark.parcels import OUTPUT
from latecomer.hosts.spark.progress import counts, observed, recall
from latecomer.hosts.tally import DELAYS
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
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


def test_spark_counts_the_rows_of_all_outputs(spark: SparkSession) -> None:
    time = TimeColumn("time")
    plan = Plan(Source(time), ClockByRecall(recalls=(0.9,)), "divert", (Stage((), (Sort(time),)),))
    rows = [
        ("ready", 3, b""),
        ("late", 1, b""),
        ("late_1", 2, b""),
        ("dropped", 5, b""),
        (counted(PRODUCED, 0.9), 7, b""),
        (counted(WAITED, 0.9), 40, b""),
        (counted(WAITED, 0.9), 50, b""),
    ]
    packed = spark.createDataFrame(rows, OUTPUT)

    seen = packed.agg(*metrics(plan)).collect()[0]
    assert (seen["ready"], seen["late"], seen["dropped"]) == (3, 3, 5)
    assert seen[counted(PRODUCED, 0.9)] == 7
    assert seen[counted(MISSED, 0.9)] == 0
    assert seen[counted(WAITED, 0.9)] == 50


def test_spark_is_asked_for_delays_only_where_buckets_count_them(spark: SparkSession) -> None:
    time = TimeColumn("time")
    summary = Summary(("key",), (("n", agg.count()),))
    count = Aggregation(time, Windows(10, 10), (SECOND,), (summary,))
    windows = Plan(Source(time), OneClock((SECOND,)), "divert", (Stage(("key",), (count,)),))
    nothing = spark.createDataFrame([], OUTPUT)

    def delays(plan: Plan) -> set[str]:
        return {*nothing.agg(*metrics(plan)).columns} & {*DELAYS}

    assert delays(windows) == {*DELAYS}
    assert delays(windows.with_ready_only) == delays(replace(windows, late="drop")) == set()
