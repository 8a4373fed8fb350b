"""A query of each kind that keeps state, with rows for it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import latecomer as lc
from latecomer import agg
from latecomer.batch import retyped
from latecomer.hosts.spark.columns import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from latecomer.plan import Plan

SECOND = 1_000_000
SCHEMA = pa.schema(
    {
        "time": pa.timestamp("us", "UTC"),
        "until": pa.timestamp("us", "UTC"),
        "key": pa.string(),
        "value": pa.int64(),
        "text": pa.string(),
    }
)


SIZE, BATCHES = 12, 8
"""Number of rows in a micro-batch, and number of micro-batches."""


def rows() -> pa.Table:
    """Return disordered rows, some of them late. Each call returns the same rows."""
    rng = random.Random(7)
    found = []
    for at in range(SIZE * BATCHES):
        second = max(0, at // 2 + rng.randrange(8) - rng.choice([0, 0, 0, 3, 15]))
        found.append(
            {
                "time": second * SECOND,
                "until": (second + rng.randrange(1, 20)) * SECOND,
                "key": rng.choice("ab"),
                "value": rng.randrange(5),
                "text": rng.choice(["x", "y", None]),
            }
        )
    return pa.Table.from_pylist(found, SCHEMA)


def started(spark: SparkSession, name: str) -> tuple[Plan, list[tuple[pa.Table, ...]]]:
    """Return the plan of a query, and the rows of each of its streams in each micro-batch."""
    stream = QUERIES[name](spark.createDataFrame(rows()).coalesce(1))
    # With the columns that Spark computes before the first stage.
    tables = [retyped(df.toArrow(), arrow_schema(df)) for df in stream.dfs]
    starts = range(0, SIZE * BATCHES, SIZE)
    return stream.plan, [tuple(each.slice(start, SIZE) for each in tables) for start in starts]


@lambda function: lc.versioned(function, version="1")
def total(state: int, row: Any) -> tuple[int, int]:  # noqa: ANN401 - a row, as a function is shown it
    """A running sum."""
    return state + row.value, state + row.value


def events(df: DataFrame, **options: Any) -> lc.DisorderedStream:  # noqa: ANN401
    return lc.disordered(df, time="time", key="key", **options)


def spans(df: DataFrame) -> lc.OrderedStream:
    return events(df, end="until").sort(wait="4 s")


def windows(stream: lc.WindowedStream) -> lc.AggregatedStream:
    return stream.group_by("key").aggregate(
        n=agg.count(),
        total=agg.sum("value"),
        mean=agg.mean("value"),
        kinds=agg.count_distinct("text"),
        middle=agg.quantile("value", 0.5),
        first=agg.first("text"),
        all=agg.collect("value"),
    )


ABSENCE = lc.event("low", "value < 2").then_none("value >= 3", duration="2 s")
PATTERN = lc.event("low", "value < 2").then(lc.event("high", "value >= 2").plus())

QUERIES: dict[str, Callable[[DataFrame], Any]] = {
    "sort": lambda df: events(df).sort(wait="4 s"),
    "sort-waits": lambda df: events(df).sort(wait=["1 s", "4 s", "9 s"]),
    "sort-recall": lambda df: events(df).sort(recall=0.9),
    "sort-recalls": lambda df: events(df).sort(recall=[0.8, 0.95]),
    "sort-recall-within": lambda df: events(df).sort(recall=0.9, within="20 s"),
    "sort-sources": lambda df: events(df, sources="key", promise="value = 4").sort(wait="4 s"),
    "sort-clock-per-key": lambda df: events(df, clock="key").sort(wait="4 s"),
    "sort-adjust-idle": lambda df: events(df, idle="20 s").sort(wait="4 s", late="adjust"),
    "distinct": lambda df: events(df).sort(wait="4 s").distinct("value", within="10 s"),
    "windows": lambda df: windows(events(df).tumbling("10 s").wait("4 s")),
    "windows-waits": lambda df: windows(events(df).hopping("10 s", "5 s").wait(["0 s", "4 s"])),
    "windows-fold": lambda df: windows(
        events(df).tumbling("10 s").wait("2 s", late="fold", horizon="1 minute")
    ),
    "windows-recall": lambda df: windows(events(df).tumbling("10 s").wait(recall=0.9)),
    "windows-clock-per-key": lambda df: windows(
        events(df, clock="key").tumbling("10 s").wait("4 s")
    ),
    "lifetime": lambda df: (
        events(df).lifetime("7 s").wait("4 s").group_by("key").aggregate(n=agg.count())
    ),
    "temporal-aggregate": lambda df: spans(df).temporal().group_by("key").aggregate(n=agg.count()),
    "sessions": lambda df: (
        events(df)
        .sort(wait="4 s")
        .temporal()
        .group_by("key")
        .sessions("3 s")
        .aggregate(n=agg.count())
    ),
    "join": lambda df: spans(df).join(
        lc.disordered(
            df.toDF("time", "until", "key", "other", "word"), time="time", end="until"
        ).sort(wait="4 s"),
        on="key",
    ),
    "until-next": lambda df: events(df).sort(wait="4 s").until_next("key"),
    "clip": lambda df: spans(df).clip("5 s"),
    "pattern": lambda df: events(df).sort(wait="4 s").detect(PATTERN, within="20 s"),
    "pattern-waits": lambda df: events(df).sort(wait=["1 s", "4 s"]).detect(PATTERN, within="20 s"),
    "pattern-absence": lambda df: events(df).sort(wait="4 s").detect(ABSENCE, within="20 s"),
    "changelog": lambda df: (
        events(df)
        .optimistic(wait="4 s")
        .stateful(total, initial=0, outputs="total long")
        .changelog()
    ),
    "barrier": lambda df: (
        events(df)
        .optimistic(wait="4 s")
        .grouping(3)
        .flat_map(lc.versioned(len_of_items, version="1"), outputs="n long")
        .barrier()
    ),
    "window-join": lambda df: lc.window_join(
        {"a": events(df), "b": events(df)}, within="2 s", on="key", recall=0.9
    ),
}


def len_of_items(row: Any) -> int:  # noqa: ANN401
    """How many rows there are up to this one."""
    return len(row.items)
