"""How many events a second do the temporal operators process on one core?

Every line is one query, run by the operators in this process and, if polars can express it, by
polars with one thread on the same rows. Rows are already in order of time, have one of 1,000 keys
and a value, and come in batches of 250,000 with a watermark after each. Joins count the events of
both sides. `linear` is the time for all rows over that for half of them: 2 is linear.

    pass-through     rows are given lifetimes
    filter           half of the rows, by a function of a column
    tumbling count   counts in windows of about 100,000 events
    grouped count    the same by key
    sliding sum      each row counts for a while: the sum at each instant
    sliding sum, by key
    sliding max, by key    kept in queues, because a maximum cannot be subtracted
    until next       a signal: each row counts until the next row of its key
    session          each row counts until the session of its key ends
    closed sessions  the sum of each session, once it is closed
    join, points     points with the rows that count at their time, by key
    join, intervals  lifetimes that overlap, by key
    anti-join, clip  rows without a partner; rows cut by another stream

    python -m benchmarks.temporal [--rows 10000000] [--only join] [--json]
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl
import pyarrow as pa

from latecomer import agg
from latecomer.batch import Batch
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.aggregates.base import Aggregate
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.temporal.aggregate import SnapshotAggregate
from latecomer.operators.temporal.alter import Alter
from latecomer.operators.temporal.binary import Binary, On
from latecomer.operators.temporal.clip import ClipBy, UntilNext
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.temporal.join import Join
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.temporal.rowwise import Keep
from latecomer.operators.temporal.session import Closing, Session
from latecomer.operators.temporal.session_aggregate import SessionAggregate
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.time import FOREVER, TimeColumn

ROWS, BATCH, KEYS, ROUNDS = 10_000_000, 250_000, 1_000, 2
APART = 10
"""Microseconds between two events, on average."""
WINDOW = 100_000 * APART
SHORT, LONG = 100 * APART, 10 * KEYS * APART
"""Durations of rows: 100 other rows begin meanwhile, or ten of the same key."""
PAUSE = Closing(2 * KEYS * APART)
"""Timeout of sessions, which then have about seven rows."""
TIME = TimeColumn("time", "us")
BY_KEY = On(("key",), ("key",))

Run = Callable[[pa.Table], int]
"""A function from rows to the number of output rows."""


def rows_of(count: int, seed: int, value: str, keys: int = KEYS) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "time": np.sort(random.integers(0, count * APART, count)),
            "key": random.integers(0, keys, count).astype(np.int32),
            value: random.integers(0, 100, count),
        }
    )


def batches(rows: pa.Table) -> Iterator[tuple[Batch, int]]:
    for start in range(0, rows.num_rows, BATCH):
        batch = rows.slice(start, BATCH)
        yield batch, int(TIME.micros(batch)[-1])


def chained(*specs: Any) -> Run:
    """Return a run of chained operators, as in a stage."""

    def run(rows: pa.Table) -> int:
        schema, running, out = rows.schema, [], 0
        for spec in specs:
            running.append(spec.start(schema, MemoryChunks(), None))
            schema = spec.output_schema(schema)
        for batch, watermark in [*batches(rows), (rows.slice(0, 0), FOREVER)]:
            given, reached = [batch], watermark
            for spec, operator in zip(specs, running, strict=True):
                ready = [operator.push(part).ready for part in given if part.num_rows]
                given = [*ready, operator.advance(reached).ready]
                reached = spec.passes(reached)
            out += sum(part.num_rows for part in given)
        return out

    return run


def met(spec: Binary, left: int | None, right: int | None, other: pa.Table) -> Run:
    """Return a run of an operator on two streams, given the durations of rows; None is a point."""
    lifetimes = Lifetimes(TIME)

    def with_duration(rows: Batch, duration: int | None) -> Batch:
        edges = lifetimes.of_rows(rows)
        return edges if duration is None else Alter(duration).of_rows(edges)

    def run(rows: pa.Table) -> int:
        schemas = [lifetimes.output_schema(each.schema) for each in (rows, other)]
        operator, out = spec.meet(schemas[0], schemas[1], MemoryChunks()), 0
        both = zip(batches(rows), batches(other.slice(0, rows.num_rows)), strict=True)
        for (ours, one), (theirs, two) in both:
            out += operator.push(with_duration(ours, left), 0).ready.num_rows
            out += operator.push(with_duration(theirs, right), 1).ready.num_rows
            out += operator.advance(min(one, two)).ready.num_rows
        return out + operator.advance(FOREVER).ready.num_rows

    return run


def is_low(row: Any) -> bool:
    return bool(row.value < 50)


def summary(keys: tuple[str, ...], aggregate: Aggregate) -> Summary:
    return Summary(keys, (("result", aggregate),))


def windowed(keys: tuple[str, ...]) -> Aggregation:
    return Aggregation(TIME, Windows(WINDOW, WINDOW), (0,), (summary(keys, agg.count()),))


def sliding(keys: tuple[str, ...], duration: int, aggregate: Aggregate) -> Run:
    return chained(Lifetimes(TIME), Alter(duration), SnapshotAggregate(summary(keys, aggregate)))


def with_sessions(df: pl.LazyFrame) -> pl.LazyFrame:
    """Number the sessions of each key."""
    begins = pl.col("time").diff() >= PAUSE.timeout
    return df.with_columns(begins.fill_null(value=False).cum_sum().over("key").alias("session"))


def questions(other: pa.Table) -> dict[str, tuple[Run, Run | None]]:
    """Return for each query the run of the operators, and that of polars if there is one."""
    theirs = pl.from_arrow(other)
    assert isinstance(theirs, pl.DataFrame)

    def polars(query: Callable[[pl.LazyFrame], pl.LazyFrame]) -> Run:
        return lambda rows: query(pl.from_arrow(rows).lazy()).collect().height  # type: ignore[union-attr]

    window = (pl.col("time") // WINDOW).alias("window")
    return {
        "pass-through": (chained(Lifetimes(TIME)), None),
        "filter": (
            chained(Keep(Condition(is_low))),
            polars(lambda df: df.filter(pl.col("value") < 50)),
        ),
        "tumbling count": (
            chained(windowed(())),
            polars(lambda df: df.group_by(window).agg(pl.len())),
        ),
        "grouped count": (
            chained(windowed(("key",))),
            polars(lambda df: df.group_by(window, "key").agg(pl.len())),
        ),
        "sliding sum": (
            sliding((), SHORT, agg.sum("value")),
            polars(lambda df: df.rolling("time", period=f"{SHORT}i").agg(pl.col("value").sum())),
        ),
        "sliding sum, by key": (sliding(("key",), LONG, agg.sum("value")), None),
        "sliding max, by key": (sliding(("key",), LONG, agg.max("value")), None),
        "until next": (
            chained(Lifetimes(TIME), Alter(None), UntilNext(("key",))),
            polars(lambda df: df.with_columns(pl.col("time").shift(-1).over("key").alias("end"))),
        ),
        "session": (
            chained(Lifetimes(TIME), Session(("key",), PAUSE)),
            polars(
                lambda df: with_sessions(df).with_columns(
                    pl.col("time").max().over("key", "session") + PAUSE.timeout
                )
            ),
        ),
        "closed sessions": (
            chained(
                Lifetimes(TIME),
                SessionAggregate(summary(("key",), agg.sum("value")), PAUSE, pa.int64()),
            ),
            polars(
                lambda df: (
                    with_sessions(df)
                    .group_by("key", "session")
                    .agg(
                        pl.col("time").min().alias("start"),
                        pl.col("time").max() + PAUSE.timeout,
                        pl.col("value").sum(),
                    )
                )
            ),
        ),
        "join, points": (
            met(Join(BY_KEY), None, LONG // 10, other),
            polars(
                lambda df: df.join_asof(
                    theirs.lazy().head(df.select(pl.len()).collect().item()),
                    on="time",
                    by="key",
                    check_sortedness=False,
                )
            ),
        ),
        "join, intervals": (met(Join(BY_KEY), LONG // 20, LONG // 20, other), None),
        "anti-join": (met(Join(BY_KEY, "anti"), LONG // 20, LONG // 20, other), None),
        "clip": (met(ClipBy(BY_KEY), LONG, None, other), None),
    }


def seconds(run: Run, rows: pa.Table) -> tuple[float, int]:
    run(rows.slice(0, 2 * BATCH))
    best, out = float("inf"), 0
    for _ in range(ROUNDS):
        started = time.perf_counter()
        out = run(rows)
        best = min(best, time.perf_counter() - started)
    return best, out


def measured(count: int, only: str) -> Iterator[dict[str, Any]]:
    rows, other = rows_of(count, 1, "value"), rows_of(count, 2, "other")
    half = rows.slice(0, count // 2)
    for name, (ours, theirs) in questions(other).items():
        if only not in name:
            continue
        took, out = seconds(ours, rows)
        events = count * (2 if "join" in name or name == "clip" else 1)
        line = {
            "question": name,
            "events": events,
            "out": out,
            "events_per_second": round(events / took),
            "ns_per_event": round(took / events * 1e9, 1),
            "linear": round(took / seconds(ours, half)[0], 2),
        }
        if theirs is not None:
            line["ratio_to_polars"] = round(seconds(theirs, rows)[0] / took, 3)
        yield line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--only", default="", help="questions whose name has this")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    args = parser.parse_args()
    for line in measured(args.rows, args.only):
        if args.json:
            print(json.dumps(line), flush=True)
            continue
        ratio = f", {line['ratio_to_polars']}x polars" if "ratio_to_polars" in line else ""
        print(
            f"{line['question']:22}{line['events_per_second'] / 1e6:8.2f} million events/s"
            f"{line['ns_per_event']:9.1f} ns, x{line['linear']} for twice as many{ratio}",
            flush=True,
        )


if __name__ == "__main__":
    main()
