from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from latecomer import agg
from latecomer.clock.policy import ClockByRecall, ClockPerKey, OneClock
from latecomer.clock.watermark import Clock
from latecomer.errors import OptionError
from latecomer.hosts.spark.columns import arrow_schema
from latecomer.hosts.spark.driver.partials import (
    DELAY,
    NEWEST,
    TOO_FAR,
    computable,
    may_be_late,
    partials,
)
from latecomer.hosts.spark.parcels import NOW
from latecomer.hosts.tally import DELAYS
from latecomer.operators.aggregates.summary import PANE, ROWS, Summary
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.time import NEVER, TimeColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SECOND = 1_000_000
TIME = TimeColumn("time")
COUNT = Aggregation(
    TIME, Windows(10 * SECOND, 10 * SECOND), (0,), (Summary(("key",), (("n", agg.count()),)),)
)


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.sql(
        "SELECT timestamp_seconds(time) AS time, key, time AS number "
        "FROM VALUES (3L, 'a'), (12L, 'a'), (9L, 'a'), (-1L, 'b'), (NULL, 'a') AS t(time, key)"
    )


def plan(operator: object = COUNT) -> Plan:
    return Plan(Source(TIME), OneClock((0,)), "divert", (Stage((), (operator,)),))  # type: ignore[arg-type]


def test_aggregates_that_spark_can_add_up_are_found(df: DataFrame) -> None:
    assert computable(df, plan()) is COUNT
    assert computable(df, replace(plan(), late="drop")) is COUNT


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (plan(Sort(TIME)), "it is not a plain aggregation over windows"),
        (plan(replace(COUNT, merges=True)), "it is not a plain aggregation over windows"),
        (replace(plan(), source=Source(TimeColumn("number", "s"))), "is not a timestamp"),
        (
            replace(plan(), source=Source(TIME, arrival=TimeColumn("number", "s"), ahead=5)),
            'rows are compared with "number", which is not a timestamp',
        ),
        (replace(plan(), source=Source(TIME, end=TIME)), "rows have an end"),
        (replace(plan(), clock=OneClock((0,), 5)), "silence counts"),
        (
            replace(plan(), clock=ClockPerKey((0,), None, ("key",))),
            "with a clock for each key is not",
        ),
        (replace(plan(), clock=ClockByRecall(recalls=(0.9,))), "is not one watermark for all rows"),
        (replace(plan(), late="adjust"), "moves late rows"),
        (
            plan(replace(COUNT, summaries=(Summary((), (("d", agg.count_distinct("key")),)),))),
            'Spark cannot add up the state of "d"',
        ),
    ],
)
def test_what_spark_cannot_add_up_is_refused(df: DataFrame, asked: Plan, why: str) -> None:
    with pytest.raises(OptionError) as caught:
        computable(df, asked)

    assert why in str(caught.value)
    assert 'Hint: leave it out; states="buckets" supports all queries.' in str(caught.value)


def test_rows_become_one_state_for_each_pane_and_key(df: DataFrame) -> None:
    found = partials(df, arrow_schema(df), plan(), COUNT, NEVER, NEVER).collect()

    states = {(row[PANE], row.key): (row["_lc_state_0_0"], row[ROWS], row[NEWEST]) for row in found}
    assert states == {
        (0, "a"): (2, 2, 9 * SECOND),
        (10 * SECOND, "a"): (1, 1, 12 * SECOND),
        (-10 * SECOND, "b"): (1, 1, -1 * SECOND),
        # A row without a time has no pane.
        (None, "a"): (1, 1, None),
    }


def test_a_state_has_rows_of_one_delay(df: DataFrame) -> None:
    found = partials(df, arrow_schema(df), plan(), COUNT, 12 * SECOND, NEVER).collect()

    delays = {(row[PANE], row[NEWEST]): DELAYS[row[DELAY]] for row in found}
    assert delays == {
        (0, 9 * SECOND): "delay_5000",
        (0, 3 * SECOND): "delay_10000",
        (10 * SECOND, 12 * SECOND): "delay_0",
        (-10 * SECOND, -1 * SECOND): "delay_30000",
        (None, None): "delay_0",
    }


def test_only_rows_behind_the_watermark_or_without_a_time_may_be_late(df: DataFrame) -> None:
    found = may_be_late(df, plan(), Clock(12 * SECOND, 9 * SECOND), NEVER).collect()

    assert sorted((row.number is None, row.number or 0) for row in found) == [
        (False, -1),
        (False, 3),
        (True, 0),
    ]


def test_the_wall_clock_says_which_rows_are_too_far_ahead(df: DataFrame) -> None:
    bounded = replace(plan(), source=Source(TIME, ahead=5 * SECOND))
    clock, now = Clock(NEVER, NEVER), 5 * SECOND

    made = partials(df, arrow_schema(df), bounded, COUNT, NEVER, now).collect()
    found = may_be_late(df, bounded, clock, now).collect()

    assert sum(row[TOO_FAR] for row in made) == 1
    assert {(row.number, row[NOW]) for row in found} == {(12, now), (None, now)}
