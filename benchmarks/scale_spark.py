"""The parts of `benchmarks.scale` that run on Spark: held rows, and cores.

**held.** A sort with a long wait, in micro-batches of equal size. Until the wait is over, more and
more rows are held and none is due; from then on as many rows are due as come in. The waits last for
1, 10 and 50 micro-batches: with a million rows in each, up to 50 million are held. A line is the
median of three micro-batches.

**cores.** A sort, a count by window and key, and the same count by Spark alone, in new processes
with one core or two, and as many buckets. A line is the median of the micro-batches after the
second.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import latecomer as lc
from benchmarks.spark_sort import make_rows, read
from latecomer.generate.micro_batches import write_micro_batches

STEPS = (1, 10, 50)
"""Lengths of the waits, in micro-batches."""
AFTER = 4
"""Number of micro-batches in which rows are due."""
SEEN = (1, 5, 10, 20, 50)
"""Micro-batches without due rows that are measured, each with the two before it."""
SCHEMA = "time timestamp, key int"
DELAY = 20_000_000
FILES = 12
"""Number of files, for one core and for two. Two files are a micro-batch."""
CORES = (1, 2)
QUERIES = ("sort", "count", "Spark's count")

Line = dict[str, Any]


def micro_batch(number: int, rows: int) -> pa.Table:
    """Return a thousand rows a second, 30 % of them delayed by up to 20 s within their file."""
    random = np.random.default_rng(number)
    times = (number * rows + np.arange(rows, dtype=np.int64)) * 1_000
    late = np.where(random.random(rows) < 0.3, random.integers(0, DELAY, rows), 0)
    order = np.argsort(times + late, kind="stable")
    keys = random.integers(0, 1_000, rows).astype(np.int32)
    return pa.table({"time": pa.array(times[order], pa.timestamp("us", "UTC")), "key": keys})


def held(rows: int) -> Iterator[Line]:
    work = Path(tempfile.mkdtemp(prefix="latecomer-scale-"))
    spark = lc.session()
    try:
        for number in range(max(STEPS) + 1 + AFTER):
            write_micro_batches(micro_batch(number, rows), work / "all", 1, first=number)
        for steps in STEPS:
            yield from _filled(spark, work, steps, rows)
    finally:
        spark.stop()
        shutil.rmtree(work)


def _filled(spark: SparkSession, work: Path, steps: int, rows: int) -> Iterator[Line]:
    """Run a sort that holds `steps` micro-batches, until some of them have been released."""
    some = work / f"of-{steps}"
    some.mkdir()
    for path in sorted((work / "all").iterdir())[: steps + 1 + AFTER]:
        os.link(path, some / path.name)
    df = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(some))
    wait = f"{steps * rows} milliseconds"
    sorted_ = lc.disordered(df, time="time", key="key").sort(wait=wait).to_df()
    seconds = _seconds(sorted_, work / f"checkpoint-{steps}")
    for seen in SEEN:
        # The first two micro-batches of a query are slower, whatever they hold.
        near = seconds[max(seen - 2, 2) : seen + 1]
        if seen <= steps and len(near) == 3:
            yield _told(steps, seen * rows, 0, median(near))
    yield _told(steps, steps * rows, rows, median(seconds[steps + 2 :]))


def _told(steps: int, rows: int, due: int, seconds: float) -> Line:
    words = {"question": "held", "wait_in_micro_batches": steps, "held": rows, "due": due}
    return words | {"seconds": round(seconds, 3)}


def _seconds(df: DataFrame, checkpoint: Path) -> list[float]:
    """Run a query to its end; return the seconds of each micro-batch that had rows."""
    writer = df.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    if error := query.exception():
        raise error
    shutil.rmtree(checkpoint)
    found = [p for p in query.recentProgress if p["numInputRows"]]
    return [p["durationMs"]["triggerExecution"] / 1e3 for p in found]


def cores(rows: int) -> Iterator[Line]:
    work = Path(tempfile.mkdtemp(prefix="latecomer-scale-"))
    try:
        # Each core has a task, which is much longer than its start.
        write_micro_batches(make_rows(FILES * rows), work / "rows", FILES)
        for query in QUERIES:
            first = None
            for number in CORES:
                speed = round(2 * rows / _alone(query, number, work / "rows"))
                first = first or speed
                words = {"question": "cores", "query": query, "cores": number}
                yield words | {"rows_per_second": speed, "speed_up": round(speed / first, 2)}
    finally:
        shutil.rmtree(work)


def _alone(query: str, number: int, files: Path) -> float:
    command = [sys.executable, "-m", "benchmarks.scale_spark", query, str(number), str(files)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout.strip().splitlines()[-1])


def seconds(query: str, number: int, files: Path) -> float:
    """Run a query in this process with some cores; return the seconds of a micro-batch."""
    # Otherwise Spark's threads and the Python worker would share two cores even with `cores=1`.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:number])
    spark = lc.session(master=f"local[{number}]")
    spark.conf.set("spark.sql.shuffle.partitions", number)
    asked = _asked(query, read(spark, files), number)
    return median(_seconds(asked, files.parent / "checkpoint")[2:])


def _asked(query: str, df: DataFrame, buckets: int) -> DataFrame:
    if query == "Spark's count":
        rows = df.withWatermark("time", "1 minute")
        return rows.groupBy(F.window("time", "10 seconds"), "key").count()
    stream = lc.disordered(df, time="time", key="key")
    if query == "sort":
        return stream.sort(wait="1 minute", buckets=buckets).to_df()
    windows = stream.tumbling("10 seconds").wait("1 minute", late="drop", buckets=buckets)
    return windows.group_by("key").aggregate(n=lc.agg.count()).to_df()


if __name__ == "__main__":
    print(seconds(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
