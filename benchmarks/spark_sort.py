"""How fast is the streaming sort on Spark, compared with a sort written by hand?

Printed are rows per second, on the same rows, of

    latecomer   disordered(...).sort(wait) end to end: read, sort through the state, write nothing
    buffer      a sort that a Spark user would write: transformWithStateInPandas keyed by the same
                buckets, with a buffer in state that is sorted and cut at each watermark (it is
                slow, so it runs only two micro-batches of the same size)
    identity    the same stream through a mapInArrow that does nothing: the upper limit

Each query first runs on a part of the rows, to warm up. Its time is the sum of its micro-batches
after the first. The first micro-batch of a new session, in which Python workers start and import,
is measured separately, in new processes, as the median of three (`--starts`), and compared with

    nothing     a query that only reads
    stateful    a query whose transformWithState does nothing

    python -m benchmarks.spark_sort [--rows 10000000] [--json]
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

import latecomer as lc
from latecomer.generate.micro_batches import write_micro_batches

WAIT_SECONDS = 60
BUCKETS = 2
BUFFER_BATCHES = 2
"""Number of micro-batches for the buffer; the second one is timed."""


def make_rows(rows: int, seed: int = 1) -> pa.Table:
    """Return a thousand rows a second in order of arrival, 30 % delayed by up to the wait."""
    random = np.random.default_rng(seed)
    times = np.arange(rows, dtype=np.int64) * 1_000
    delayed = random.random(rows) < 0.3
    delays = np.where(delayed, random.integers(0, WAIT_SECONDS * 1_000_000, rows), 0)
    order = np.argsort(times + delays, kind="stable")
    table = pa.table(
        {
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "key": random.integers(0, 1_000, rows).astype(np.int32),
            "value": random.random(rows),
            "name": pa.array(np.char.add("item-", random.integers(0, 10_000, rows).astype(str))),
        }
    )
    return table.take(pa.array(order))


def read(spark: SparkSession, directory: Path) -> DataFrame:
    schema = "time timestamp, key int, value double, name string"
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 2).parquet(str(directory))


def run(df: DataFrame, checkpoint: Path) -> dict[str, Any]:
    """Run a query to its end; time the first micro-batch, and the others."""
    query = (
        df.writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    if error := query.exception():
        raise error
    progress = [p for p in query.recentProgress if p["durationMs"].get("addBatch")]
    first, *rest = progress
    seconds = sum(p["durationMs"]["triggerExecution"] for p in rest) / 1e3
    rows = sum(p["numInputRows"] for p in rest)
    states = [p["stateOperators"] for p in progress if p["stateOperators"]]
    return {
        "rows": rows,
        "seconds": round(seconds, 2),
        "rows_per_second": round(rows / seconds) if rows else None,
        "batches": len(progress),
        "first_batch_seconds": first["durationMs"]["triggerExecution"] / 1e3,
        "state_bytes": max((s[0]["memoryUsedBytes"] for s in states), default=0),
        "rocksdb_bytes": max(
            (s[0]["customMetrics"].get("rocksdbSstFileSize", 0) for s in states), default=0
        ),
    }


def latecomer_sort(df: DataFrame) -> DataFrame:
    return (
        lc.disordered(df, time="time", key="key")
        .sort(wait=f"{WAIT_SECONDS} seconds", buckets=BUCKETS)
        .to_df()
    )


class BufferAndSort(StatefulProcessor):
    """A sort as a user would write it: rows in a list, sorted and cut at each watermark."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._held = handle.getListState(
            "held", "time timestamp, key int, value double, name string"
        )

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        watermark = pd.Timestamp(timerValues.getCurrentWatermarkInMs(), unit="ms")
        names = ["time", "key", "value", "name"]
        held = pd.DataFrame(list(self._held.get()), columns=names)
        new = [frame[names] for frame in rows]
        buffered = pd.concat([held, *new] if len(held) else new, ignore_index=True)
        buffered["time"] = buffered["time"].dt.tz_localize(None)
        buffered = buffered.sort_values("time", kind="stable")
        due = buffered["time"] <= watermark
        rest = buffered[~due]
        self._held.put([tuple(row) for row in rest.itertuples(index=False)])
        yield buffered[due]

    def close(self) -> None:
        pass


def buffer_sort(df: DataFrame) -> DataFrame:
    return (
        df.withColumn("bucket", F.pmod(F.xxhash64("key"), F.lit(BUCKETS)).cast("int"))
        .withWatermark("time", f"{WAIT_SECONDS} seconds")
        .groupBy("bucket")
        .transformWithStateInPandas(
            BufferAndSort(),
            "time timestamp, key int, value double, name string",
            outputMode="append",
            timeMode="EventTime",
        )
    )


def identity(df: DataFrame) -> DataFrame:
    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    return df.mapInArrow(same, df.schema)


class PassOn(StatefulProcessor):
    """A stateful step that does nothing, to measure how long Spark itself takes to start one."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        pass

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        yield from rows

    def close(self) -> None:
        pass


def stateful(df: DataFrame) -> DataFrame:
    groups = df.withWatermark("time", "0 seconds").groupBy("key")
    return groups.transformWithState(PassOn(), df.schema, "append", "EventTime")


QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "latecomer": latecomer_sort,
    "buffer": buffer_sort,
    "identity": identity,
    "nothing": lambda df: df,
    "stateful": stateful,
}


def first_batch(name: str, directory: Path) -> float:
    """Time the first micro-batch of a query in a new process."""
    command = [sys.executable, "-m", "benchmarks.spark_sort", "--first", name, str(directory)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--files", type=int, default=20, help="files; two make a micro-batch")
    parser.add_argument("--only", choices=QUERIES, help="run only this one")
    parser.add_argument("--starts", type=int, default=3, help="fresh processes of each query")
    parser.add_argument("--first", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="latecomer-bench-"))
    try:
        if arguments.first:
            name, directory = arguments.first
            df = QUERIES[name](read(lc.session(), Path(directory)))
            print(run(df, work / "checkpoint")["first_batch_seconds"])
            return
        compare(arguments, work)
    finally:
        shutil.rmtree(work)


def compare(arguments: argparse.Namespace, work: Path) -> None:
    def say(**result: Any) -> None:
        line = (
            json.dumps(result)
            if arguments.json
            else "  ".join(f"{k} {v}" for k, v in result.items())
        )
        print(line, flush=True)

    table = make_rows(arguments.rows)
    all_rows = write_micro_batches(table, work / "rows", arguments.files)
    files = 2 * BUFFER_BATCHES
    few_rows = table.num_rows * files // arguments.files
    few = write_micro_batches(table.slice(0, few_rows), work / "few", files)
    files = min(10, arguments.files)
    warm = write_micro_batches(table.slice(0, table.num_rows // 10), work / "warm", files)
    tiny = write_micro_batches(table.slice(0, 2_000), work / "tiny", 2)
    del table
    spark = lc.session()
    results = {}
    for name in ("identity", "latecomer", "buffer"):
        if arguments.only in (None, name):
            source = few if name == "buffer" else all_rows
            warm_up = tiny if name == "buffer" else warm
            run(QUERIES[name](read(spark, warm_up)), work / f"{name}-warm")
            results[name] = run(QUERIES[name](read(spark, source)), work / name)
            say(benchmark="spark_sort", query=name, **results[name])
    spark.stop()
    if arguments.only is None:
        speed = {name: result["rows_per_second"] for name, result in results.items()}
        starts = {
            name: median(first_batch(name, tiny) for _ in range(arguments.starts))
            for name in ("nothing", "identity", "stateful", "latecomer")
        }
        say(
            benchmark="spark_sort",
            over_buffer=round(speed["latecomer"] / speed["buffer"], 2),
            over_identity=round(speed["latecomer"] / speed["identity"], 3),
            first_batch_seconds=starts,
            first_batch_over_nothing=round(starts["latecomer"] - starts["nothing"], 2),
            first_batch_over_stateful=round(starts["latecomer"] - starts["stateful"], 2),
        )


if __name__ == "__main__":
    main()
