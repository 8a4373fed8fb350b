"""What do counts, totals, metrics and a status cost, as a share of a micro-batch?

workers    a bucket counts its input, late rows, delays and held rows: the processor time of this,
           over that of the other work of the bucket on the same rows (open parcels, run the
           stage, write its state)
driver     for each micro-batch of a query of start(): writing the record of totals, calling the
           listener, reading one status, and one scrape of the metrics; medians over that of a
           micro-batch, each and together
plain      the same for a query of your own writeStream, which has no record
observed   processor time of Java in queries for which Spark reports all counts, over that in
           queries for which it reports only the counts of outputs; they take turns

python -m benchmarks.on_call [--only driver] [--batches 30] [--rounds 3] [--json]
"""

import argparse
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any
from urllib.request import urlopen

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.streaming import StreamingQuery

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
from latecomer.hosts.spark.relay import Relay
from latecomer.hosts.stage import RunningStage
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn

Lines = Iterator[dict[str, Any]]
SECOND = 1_000_000
LATE = 0.1
"""The share of rows that are delayed."""
WARM = 3
"""Number of micro-batches that are left out, because they also load modules."""


def workers(rows: int, rounds: int = 30) -> dict[str, Any]:
    """Sort rows in one bucket, a tenth of them late by up to ten seconds."""
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


def sorting(spark: SparkSession, directory: Path) -> lc.OrderedStream:
    """Return a sort of all rows, with a file in each micro-batch."""
    rows = spark.readStream.schema(spark.read.parquet(f"{directory}/rows").schema)
    df = rows.option("maxFilesPerTrigger", 1).parquet(f"{directory}/rows")
    return lc.disordered(df, time="time", key="key").sort(wait="2 seconds")


def started(spark: SparkSession, directory: Path, name: str) -> lc.Query:
    """Start the sort with `start`."""
    outputs = {each: f"{directory}/{name}/{each}" for each in ("ready", "late")}
    checkpoint = f"{directory}/{name}/checkpoint"
    return sorting(spark, directory).start(outputs, checkpoint=checkpoint, trigger=NOW)


def plain(spark: SparkSession, directory: Path, name: str) -> StreamingQuery:
    """Start the sort with `writeStream`, without late rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lc.LateRowsWarning)
        writer = sorting(spark, directory).to_df().writeStream.format("parquet").trigger(**NOW)
    writer = writer.option("checkpointLocation", f"{directory}/{name}/checkpoint")
    return writer.start(f"{directory}/{name}/ready")


def timed(function: Callable[..., Any], into: list[float]) -> Callable[..., Any]:
    """Return a function that records its milliseconds."""

    def wrapped(*arguments: object) -> object:
        began = time.perf_counter()
        try:
            return function(*arguments)
        finally:
            into.append(1_000 * (time.perf_counter() - began))

    return wrapped


def driver(spark: SparkSession, directory: Path, question: str) -> dict[str, Any]:
    """Measure the driver's work for each micro-batch, and for a status and a scrape."""
    took: dict[str, list[float]] = {name: [] for name in ("record", "listener", "status", "scrape")}
    write, told = Recorder.write, Relay.onQueryProgress
    Recorder.write = timed(write, took["record"])
    Relay.onQueryProgress = timed(told, took["listener"])
    try:
        with lc.listen(spark, port=0) as listening:
            start = started if question == "driver" else plain
            running = start(spark, directory, question)
            status = timed(lc.status, took["status"])
            address = listening.address
            scrape = timed(lambda: urlopen(address).read(), took["scrape"])  # noqa: S310 - our own
            while running.isActive:
                status(running)
                scrape()
                time.sleep(0.5)
    finally:
        Recorder.write, Relay.onQueryProgress = write, told
    batch = median(each.batchDuration for each in running.recentProgress[WARM:])
    spent = {name: median(each[WARM:]) for name, each in took.items() if each}
    shares = {f"{name}_share": round(ms / batch, 4) for name, ms in spent.items()}
    return {
        "question": question,
        "batches": len(running.recentProgress),
        "batch_ms": batch,
        **{f"{name}_ms": round(ms, 2) for name, ms in spent.items()},
        **shares,
        "together_share": round(sum(spent.values()) / batch, 4),
    }


def few(packed: DataFrame, _plan: Plan) -> DataFrame:
    """Report only the counts of outputs."""
    names = ("ready", "late", "dropped", "ahead")
    return packed.observe(
        "latecomer_few",
        *(functions.count_if(functions.col("output") == name).alias(name) for name in names),
    )


def observed(spark: SparkSession, directory: Path, rounds: int) -> dict[str, Any]:
    """Compare micro-batches with all counts and with few."""
    ratios, batches = [], []
    for number in range(rounds + 1):
        spent = {}
        for name, function in (("all", progress.observed), ("few", few)):
            full, query.progress.observed = query.progress.observed, function
            began = processor_seconds(spark)
            try:
                running = plain(spark, directory, f"{name}{number}")
                running.awaitTermination()
            finally:
                query.progress.observed = full
            spent[name] = processor_seconds(spark) - began
            batches.append(len(running.recentProgress))
        if number:
            # The first round also warms up Java.
            ratios.append(spent["all"] / spent["few"])
    return {
        "question": "observed",
        "batches": min(batches),
        "rounds": rounds,
        "ratio": round(median(ratios), 3),
        "ratios": [round(each, 3) for each in ratios],
    }


def processor_seconds(spark: SparkSession) -> float:
    """Return the processor time of Java, where Spark computes its reports."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no other way
    pid = jvm.java.lang.ProcessHandle.current().pid()
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", choices=["workers", "driver", "plain", "observed"])
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    for line in measured(asked.only, asked.batches, asked.rounds):
        print(json.dumps(line) if asked.json else line, flush=True)


def measured(only: str | None, batches: int, rounds: int) -> Lines:
    """Measure all parts, or one."""
    if only in (None, "workers"):
        yield from (workers(rows) for rows in (1_000, 10_000, 100_000))
    if only == "workers":
        return
    spark = lc.session(master="local[2]")
    with tempfile.TemporaryDirectory() as directory:
        write_micro_batches(make_rows(batches), f"{directory}/rows", batches)
        for question in ("driver", "plain"):
            if only in (None, question):
                yield driver(spark, Path(directory), question)
        if only in (None, "observed"):
            yield observed(spark, Path(directory), rounds)


if __name__ == "__main__":
    main()
