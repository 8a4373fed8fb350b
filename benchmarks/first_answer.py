"""How long does it take until the first result can be read, and how long does a micro-batch take?

Queries read micro-batches of 1,000 rows from files, and write Parquet. Each runs in a new process:

    passed       rows unchanged: no state, no Latecomer
    spark        Spark's own windowed count: withWatermark, groupBy(window, key), in RocksDB
    to_df        Latecomer's windowed count, written by the user's own writeStream
    aggregate    the same, started by start(), with ready and late rows
    buckets      the same, with states in buckets
    upsert       the same, into a table that has the answer of each window and key
    sort         rows in order, started by start(), with ready and late rows
    window_join  two streams joined within a second
    optimistic   a changelog of running counts
    replay       the count after three waits, read from latecomer.replay

`first_answer` is the time from the start of the query until a reader finds its first row.
`micro_batch` is the median of the micro-batches after the third. Both are also given as multiples
of those of `spark` in the same round. Queries take turns; the medians of all rounds are printed.

    python -m benchmarks.first_answer [--only sort] [--rounds 3] [--batches 20] [--json]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import latecomer as lc
from latecomer.generate.micro_batches import write_micro_batches

BASE = "spark"
ROWS = 1_000
"""Rows of a micro-batch, which spans this many tenths of a second. Windows take ten seconds."""
NOW = {"availableNow": True}

Start = Callable[[SparkSession, Path], Any]
"""Starts a query on the rows of a directory, which writes to its folder `out`."""


def make_rows(batches: int, seed: int = 1) -> pa.Table:
    """Return ten rows a second in order of arrival, a third of them delayed by up to 4 seconds."""
    random = np.random.default_rng(seed)
    times = np.arange(batches * ROWS, dtype=np.int64) * 100_000
    delays = np.where(
        random.random(len(times)) < 1 / 3, random.integers(0, 4_000_000, len(times)), 0
    )
    arrivals = times + delays
    order = np.argsort(arrivals, kind="stable")
    table = pa.table(
        {
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "arrival": pa.array(arrivals, pa.timestamp("us", "UTC")),
            "key": random.integers(0, 100, len(times)).astype(np.int32),
            "value": random.random(len(times)),
        }
    )
    return table.take(pa.array(order))


def rows_of(spark: SparkSession, work: Path) -> DataFrame:
    fields = "time timestamp, arrival timestamp, key int, value double"
    return spark.readStream.schema(fields).option("maxFilesPerTrigger", 1).parquet(f"{work}/rows")


def written(df: DataFrame, work: Path) -> Any:
    writer = df.writeStream.format("parquet").option("checkpointLocation", f"{work}/checkpoint")
    return writer.trigger(availableNow=True).start(f"{work}/out")


def started(stream: Any, work: Path, **options: Any) -> Any:
    outputs = {"ready": f"{work}/out", "late": f"{work}/late"}
    return stream.start(outputs, checkpoint=f"{work}/checkpoint", trigger=NOW, **options)


def passed(spark: SparkSession, work: Path) -> Any:
    return written(rows_of(spark, work), work)


def sparks_own(spark: SparkSession, work: Path) -> Any:
    delayed = rows_of(spark, work).withWatermark("time", "5 seconds")
    return written(delayed.groupBy(F.window("time", "10 seconds"), "key").count(), work)


def counted(df: DataFrame, *waits: str) -> Any:
    windows = lc.disordered(df, time="time").tumbling("10 seconds").wait([*waits])
    return windows.group_by("key").aggregate(count=lc.agg.count())


def to_df(spark: SparkSession, work: Path) -> Any:
    return written(counted(rows_of(spark, work), "5 seconds").to_df(), work)


def aggregate(spark: SparkSession, work: Path) -> Any:
    return started(counted(rows_of(spark, work), "5 seconds"), work)


def buckets(spark: SparkSession, work: Path) -> Any:
    return started(counted(rows_of(spark, work), "5 seconds"), work, states="buckets")


def upsert(spark: SparkSession, work: Path) -> Any:
    table = lc.upsert(f"{work}/out", key=["window", "key"])
    counts = counted(rows_of(spark, work), "5 seconds")
    outputs = {"ready": table, "late": f"{work}/late"}
    return counts.start(outputs, checkpoint=f"{work}/checkpoint", trigger=NOW)


def sort(spark: SparkSession, work: Path) -> Any:
    events = lc.disordered(rows_of(spark, work), time="time", key="key")
    return started(events.sort(wait="5 seconds"), work)


def window_join(spark: SparkSession, work: Path) -> Any:
    streams = {name: lc.disordered(rows_of(spark, work), time="time") for name in ("a", "b")}
    joined = lc.window_join(streams, within="1 second", on="key", wait="5 seconds")
    return written(joined.to_df(), work)


def numbered(before: int, _row: Any) -> tuple[int, tuple[int]]:
    return before + 1, (before + 1,)


def optimistic(spark: SparkSession, work: Path) -> Any:
    events = lc.disordered(rows_of(spark, work), time="time", key="key")
    steps = events.optimistic(wait="5 seconds")
    counts = steps.stateful(numbered, initial=0, outputs="nth long")
    return written(counts.changelog_df(), work)


def replay(spark: SparkSession, work: Path) -> Any:
    source = spark.readStream.format("latecomer.replay").option("rowsPerBatch", ROWS)
    waits = ("1 second", "5 seconds", "20 seconds")
    return started(counted(source.load(f"{work}/rows"), *waits), work)


QUERIES: dict[str, Start] = {
    "passed": passed,
    BASE: sparks_own,
    "to_df": to_df,
    "aggregate": aggregate,
    "buckets": buckets,
    "upsert": upsert,
    "sort": sort,
    "window_join": window_join,
    "optimistic": optimistic,
    "replay": replay,
}

GOALS = {
    "first_over_spark": dict.fromkeys(("aggregate", "sort", "window_join", "optimistic"), 1.6),
    "micro_batch_over_spark": {"to_df": 1.3, "aggregate": 1.6, "sort": 1.6},
}
"""The goals: upper limits."""


def readable(work: Path) -> bool:
    """Return True if a reader finds a row in a file that is recorded as complete."""
    for record in (work / "out/_spark_metadata").glob("[0-9]*"):
        lines = record.read_text().splitlines()[1:]
        files = [json.loads(line)["path"].removeprefix("file://") for line in lines]
        if any(pq.read_metadata(file).num_rows for file in files):
            return True
    for record in (work / "out/_latecomer").glob("[0-9]*-*"):
        number, attempt = record.name.split("-", 1)
        files = (work / f"out/batch={number}/attempt={attempt}").glob("*.parquet")
        if any(pq.read_metadata(file).num_rows for file in files):
            return True
    for complete in (work / "out/rows").glob("*/_SUCCESS"):
        files = complete.parent.rglob("*.parquet")
        if any(pq.read_metadata(file).num_rows for file in files):
            return True
    return False


def run(name: str, work: Path) -> dict[str, float]:
    """Run a query in this process, which is new."""
    spark = lc.session("first-answer", config={"spark.sql.streaming.numRecentProgressUpdates": 500})
    began = time.perf_counter()
    query = QUERIES[name](spark, work)
    while not readable(work):
        if not query.isActive:
            raise SystemExit(f"{name} ended without an answer: {query.exception()}")
        time.sleep(0.02)
    first = time.perf_counter() - began
    query.awaitTermination()
    progress = [each for each in query.recentProgress if each["numInputRows"]][3:]
    steady = median(each["durationMs"]["triggerExecution"] for each in progress) / 1_000
    spark.stop()
    return {"first_answer": round(first, 2), "micro_batch": round(steady, 3)}


def measured(name: str, batches: int) -> dict[str, float]:
    """Run a query in a new process."""
    with tempfile.TemporaryDirectory(prefix="latecomer-bench-") as work:
        write_micro_batches(make_rows(batches), f"{work}/rows", batches)
        command = [sys.executable, "-m", "benchmarks.first_answer", "--one", name, work]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{name} failed:\n{done.stderr}")
        return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def rounds(names: list[str], count: int, batches: int) -> Iterator[dict[str, Any]]:
    """Measure all queries in turn, in some rounds."""
    order = list(dict.fromkeys([BASE, *names]))
    found: dict[str, list[dict[str, float]]] = {name: [] for name in order}
    for _ in range(count):
        for name in order:
            found[name].append(measured(name, batches))
    for name in order:
        line: dict[str, Any] = {"query": name}
        for what, ratio in (
            ("first_answer", "first_over_spark"),
            ("micro_batch", "micro_batch_over_spark"),
        ):
            ours = [each[what] for each in found[name]]
            ratios = [
                each[what] / base[what] for each, base in zip(found[name], found[BASE], strict=True)
            ]
            line |= {what: median(ours), ratio: round(median(ratios), 2)}
            if name in GOALS.get(ratio, {}):
                line |= {f"{ratio}_goal": GOALS[ratio][name]}
        yield line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=QUERIES, default=list(QUERIES))
    parser.add_argument("--rounds", type=int, default=3, help="fresh processes of each query")
    parser.add_argument("--batches", type=int, default=20, help=f"micro-batches of {ROWS:,} rows")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    if arguments.one:
        name, work = arguments.one
        print(json.dumps(run(name, Path(work))))
        return
    for line in rounds(arguments.only, arguments.rounds, arguments.batches):
        result = {"benchmark": "first_answer", "batches": arguments.batches} | line
        words = "  ".join(f"{name} {value}" for name, value in result.items())
        print(json.dumps(result) if arguments.json else words, flush=True)


if __name__ == "__main__":
    main()
