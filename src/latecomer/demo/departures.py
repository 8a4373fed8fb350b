"""The demo's query: departures per hour and airport, early and then better.

It is the complete query, as a user would write it. A count is wanted soon, but half of the flights
are reported more than an hour late, and one in a hundred more than five hours:

    12:00 ─ 13:00   after 1 hour    7 departures      an early answer
                    after 3 hours  15                 refined
                    after 5 hours  18                 final: flights that come now are late
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from latecomer.api import agg
from latecomer.api.disordered import disordered
from latecomer.api.query import Query
from latecomer.time import parse_duration

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


SIZE = "1 hour"
WAITS = ("1 hour", "3 hours", "5 hours")
ASKED = (
    f'.tumbling("{SIZE}").wait({json.dumps(WAITS)})',
    '.group_by("origin").aggregate(departures=agg.count())',
)
"""Text of the query in `start`, to be shown."""

SIZE_MICROS = parse_duration(SIZE, "size")
WAIT_MICROS = tuple(parse_duration(wait, "wait") for wait in WAITS)


def start(spark: SparkSession, here: Path, every: str) -> Query:
    """Start the query on `here`/landed.parquet; it writes the outputs "ready" and "late"."""
    stream = (
        spark.readStream.format("latecomer.replay")
        .options(arrival="landed", arrivalPerBatch=every)
        .load(str(here / "landed.parquet"))
    )
    return (
        disordered(stream, time="departed", arrival="landed")
        .tumbling(SIZE)
        .wait(WAITS)
        .group_by("origin")
        .aggregate(departures=agg.count())
        .start(
            {"ready": here / "ready", "late": here / "late"},
            checkpoint=str(here / "checkpoint"),
            trigger={"availableNow": True},
            name="departures",
        )
    )
