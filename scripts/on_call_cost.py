"""What do counting, totals and a status cost, as a share of a micro-batch?

workers    a bucket counts what came, what is late, delays and what it holds: processor time of
           that over the processor time of the rest that a bucket does with the same rows (open
           parcels, run the stage, write its state)
driver     the record of the totals that is written after each micro-batch of a query of
           start(), and a status that is asked for once in each, over the micro-batch: medians
observed   micro-batches whose counts Spark reports in full, over those that report the counts
           of outputs alone; queries take turns

python -m scripts.on_call_cost [--only workers] [--batches 30] [--json]
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions

import latecomer as lc
from benchmarks.first_answer import NOW, make_rows
from latecomer.batch import encode
from latecomer.clock.policy import OneClock
from latecomer.generate.micro_batches import write_micro_batches
from latecomer.hosts.local import MemoryChunks
from latecomer.hosts.spark import progress, query
from latecomer.hosts.spark.bucket_labels import label
from latecomer.hosts.spark.counting import Counting
from latecomer.hosts.spark.delivery import Delivery, parts_of
from latecomer.hosts.spark.durable.totals import Recorder
from latecomer.hosts.stage import RunningStage
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn

Lines = Iterator[dict[str, Any]]
SECOND = 1_000_000
LATE = 0.1
"""The share of rows that are delayed."""


def workers(rows: int, rounds: int = 30) -> dict[str, Any]:
    """Sort rows of which a tenth is late by up to ten seconds, in one bucket."""
    time_column = TimeColumn("time", "us")
    stage = Stage(("key",), (Sort(time_column),))
    plan = Plan(Source(time_column), OneClock((5 * SECOND,)), "divert", (stage,))
    random = np.random.default_rng(1)
    bucket, spent, counted = label(0), 0.0, 0.0
    chunks, saved, newest = MemoryChunks(), None, 0
    for number in range(rounds):
        times = number * SECOND + np.sort(random.integers(0, SECOND, rows))
        times = np.where(random.random(rows) < LATE, times - random.integers(0, 10 * SECOND), times)
        times = np.sort(np.maximum(times, 0))
        table = pa.table({"time": times, "key": random.integers(0, 100, rows)})
        head = {"branch": 0, "part": 1, "kind": "rows", "rows": rows, "newest": int(times[-1])}
        parcel = {**head, "blob": encode(table)}
        began = time.process_time()
        delivery = Delivery.of([parcel], stage)
        clock = plan.clock.read(newest)
        running = RunningStage(plan, 0, delivery.schema, lambda _: chunks, saved)
        found = list(running.step(clock, delivery.inputs))
        list(parts_of(iter(found), plan, bucket, 1))
        saved = running.save()
        between = time.process_time()
        counting = Counting(plan, 0, bucket, 1)
        counting.arrived([parcel], delivery, newest)
        counting.ran(clock)
        list(counting.watched(iter(found)))
        counting.held((0, 0), running.counted)
        list(counting.part())
        if number:
            # The first round also loads modules.
            spent, counted = spent + between - began, counted + time.process_time() - between
        newest = int(times[-1])
    return {
        "question": "workers",
        "rows": rows,
        "bucket_ms": round(1_000 * spent / (rounds - 1), 3),
        "counting_ms": round(1_000 * counted / (rounds - 1), 3),
        "over_bucket": round(counted / spent, 3),
    }


def started(spark: SparkSession, directory: Path, name: str) -> lc.Query:
    """Start a sort that reads all rows, a file in each micro-batch."""
    rows = spark.readStream.schema(spark.read.parquet(f"{directory}/rows").schema)
    df = rows.option("maxFilesPerTrigger", 1).parquet(f"{directory}/rows")
    stream = lc.disordered(df, time="time", key="key").sort(wait="2 seconds")
    outputs = {each: f"{directory}/{name}/{each}" for each in ("ready", "late")}
    return stream.start(outputs, checkpoint=f"{directory}/{name}/checkpoint", trigger=NOW)


def timed(function: Callable[..., Any], into: list[float]) -> Callable[..., Any]:
    """Wrap a function so that its milliseconds are kept."""

    def wrapped(*arguments: object) -> object:
        began = time.perf_counter()
        try:
            return function(*arguments)
        finally:
            into.append(1_000 * (time.perf_counter() - began))

    return wrapped


def driver(spark: SparkSession, directory: Path) -> dict[str, Any]:
    """Time what is written after each micro-batch, and a status."""
    written: list[float] = []
    asked: list[float] = []
    write, Recorder.write = Recorder.write, timed(Recorder.write, written)
    try:
        running = started(spark, directory, "driver")
        status = timed(running.status, asked)
        while running.isActive:
            status()
            time.sleep(1)
    finally:
        Recorder.write = write
    batch = median(each.batchDuration for each in running.recentProgress[3:])
    return {
        "question": "driver",
        "batch_ms": batch,
        "record_ms": round(median(written[3:]), 2),
        "record_share": round(median(written[3:]) / batch, 4),
        "status_ms": round(median(asked), 2),
        "status_share": round(median(asked) / batch, 4),
    }


def few(packed: DataFrame, _plan: Plan) -> DataFrame:
    """Report the counts of outputs alone."""
    names = ("ready", "late", "dropped", "ahead")
    return packed.observe(
        "latecomer_few",
        *(functions.count_if(functions.col("output") == name).alias(name) for name in names),
    )


def observed(spark: SparkSession, directory: Path, rounds: int) -> dict[str, Any]:
    """Compare micro-batches with all counts to those with few."""
    took: dict[str, list[int]] = {"all": [], "few": []}
    for number in range(rounds):
        for name, function in (("all", progress.observed), ("few", few)):
            full, query.progress.observed = query.progress.observed, function
            try:
                running = started(spark, directory, f"{name}{number}")
                running.awaitTermination()
            finally:
                query.progress.observed = full
            took[name] += [each.batchDuration for each in running.recentProgress[3:]]
    every, fewer = median(took["all"]), median(took["few"])
    return {
        "question": "observed",
        "all_ms": every,
        "few_ms": fewer,
        "ratio": round(every / fewer, 3),
    }


def main() -> None:
    """Print what is measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", choices=["workers", "driver", "observed"])
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    for line in measured(asked.only, asked.batches, asked.rounds):
        line = {"measured": "on call", **line}  # noqa: PLW2901
        print(json.dumps(line) if asked.json else line, flush=True)


def measured(only: str | None, batches: int, rounds: int) -> Lines:
    """Answer all questions, or one."""
    if only in (None, "workers"):
        yield from (workers(rows) for rows in (1_000, 10_000, 100_000))
    if only == "workers":
        return
    spark = lc.session(master="local[2]")
    with tempfile.TemporaryDirectory() as directory:
        write_micro_batches(make_rows(batches), f"{directory}/rows", batches)
        if only in (None, "driver"):
            yield driver(spark, Path(directory))
        if only in (None, "observed"):
            yield observed(spark, Path(directory), rounds)


if __name__ == "__main__":
    main()
