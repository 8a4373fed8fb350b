"""What do three recalls cost on Spark, compared with one fixed wait?

`benchmarks.recall` measures the same on the local host, where a micro-batch takes less than a
millisecond. Here two queries of `start` read the same files in the same session, one after the
other: one with three recalls, which gives three results, and one with the best fixed wait for the
last of them, which gives one result. Both write rows and late rows to directories, and keep their
states in buckets.

    micro_batch     seconds of a micro-batch: the median of those after the third
    over_fixed      the time with three recalls over that with the fixed wait

The stream is the cloud log, sorted, and counted in windows of a second.

    python -m benchmarks.recall_spark [--rows 600000] [--batches 12] [--rounds 2] [--json]
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

import latecomer as lc
from benchmarks.recall import RECALLS, Stream, cloud, needed
from latecomer.generate.logs import cloud_log
from latecomer.generate.micro_batches import write_micro_batches
from latecomer.operators.windows.grid import Windows

SEED = 3
SECOND = 1_000_000
SCHEMA = "time timestamp"


def sorted_(df: DataFrame, **wait: Any) -> Any:
    return lc.disordered(df, time="time").sort(**wait)


def counted(df: DataFrame, **wait: Any) -> Any:
    windows = lc.disordered(df, time="time").tumbling("1 second")
    return windows.wait(**wait).aggregate(rows=lc.agg.count())


QUERIES = {"sort": (sorted_, None), "windows": (counted, Windows(SECOND, SECOND))}


def seconds(stream: Any, name: str, work: Path) -> float:
    """Run a query to the end of its stream, and return the median of its micro-batches."""
    outputs = {each: f"{work}/{name}/{each}" for each in ("ready", "late")}
    options = {"states": "buckets"} if isinstance(stream, lc.AggregatedStream) else {}
    query = stream.start(
        outputs, checkpoint=f"{work}/{name}/checkpoint", trigger={"availableNow": True}, **options
    )
    query.awaitTermination()
    told = [each for each in query.recentProgress if each["numInputRows"]][3:]
    return median(each["durationMs"]["triggerExecution"] for each in told) / 1_000


def measured(rows: int, batches: int, rounds: int) -> Iterator[dict[str, Any]]:
    table = cloud_log(rows, SEED).select(["time"])
    with tempfile.TemporaryDirectory(prefix="latecomer-bench-") as directory:
        work = Path(directory)
        instants = table["time"].cast(pa.timestamp("us", "UTC"))
        write_micro_batches(pa.table({"time": instants}), f"{work}/rows", batches)
        spark = lc.session("recall-spark")
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        for query, (made, windows) in QUERIES.items():
            waits = needed(in_batches(rows, batches), windows)
            longest = timedelta(microseconds=int(waits[int(RECALLS[-1] * len(waits))]))
            ways: dict[str, dict[str, Any]] = {
                "recalls": {"recall": [*RECALLS]},
                "fixed": {"wait": longest},
            }
            found: dict[str, list[float]] = {way: [] for way in ways}
            for number in range(rounds):
                for way, wait in ways.items():
                    stream = made(reader.parquet(f"{work}/rows"), **wait)
                    found[way].append(seconds(stream, f"{query}-{way}-{number}", work))
            best = {way: min(each) for way, each in found.items()}
            for way, spent in best.items():
                yield {
                    "benchmark": "recall_spark",
                    "query": query,
                    "way": way,
                    "rows_per_batch": rows // batches,
                    "micro_batch": round(spent, 3),
                    "over_fixed": round(spent / best["fixed"], 2),
                }
        spark.stop()


def in_batches(rows: int, batches: int) -> Stream:
    """Return the stream in the micro-batches that Spark reads."""
    times = cloud(rows, SEED).times
    return Stream(times, np.arange(1, batches) * rows // batches)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=600_000)
    parser.add_argument("--batches", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=2, help="of which the best counts")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    for line in measured(arguments.rows, arguments.batches, arguments.rounds):
        words = "  ".join(f"{key} {value}" for key, value in line.items())
        print(json.dumps(line) if arguments.json else words, flush=True)


if __name__ == "__main__":
    main()
