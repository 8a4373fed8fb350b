"""Does memory grow while a query runs at full rate for an hour, with outages and restarts?

    python -m tests.chaos.soak --minutes 60
    python -m tests.chaos.soak --minutes 60 --spark-only

A writer adds files of disordered rows as fast as the query reads them. From time to time it pauses
(an outage), and then catches up. Every ten minutes the query and its session are stopped and
started again, in the same JVM. At the end every row must have come out once.

Memory is reported for each start, to separate what a restart frees from what stays:

    heap, running     the least that was in use after a collection. A running micro-batch holds up
                      to 80 MiB more, so single values and their median vary a lot
    heap, stopped     after the query has stopped: with all that Spark remembers of its jobs
    heap, left        after the session has stopped as well: memory that grows here is never freed
    JVM               its private memory without the heap, whose size the JVM varies by itself
    workers           private memory of all Python processes that Spark has started
    driver            private memory of this process, which also writes the files

`--spark-only` runs a query without Latecomer, which copies rows through Spark's own states in
Python. Memory that grows there as well is Spark's.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

import latecomer as lc
from latecomer.generate.micro_batches import write_micro_batches
from tests.chaos.processes import descendants, processor_seconds, resident
from tests.support.short_lived import TOO_SLOW

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000
ROWS = 50_000
"""Rows of a file. A file is one micro-batch and covers ten seconds of the stream."""
KEYS = 1_000
DELAY = 30
"""The longest delay in seconds; the query waits as long."""
OUTAGE, EVERY = 20.0, 150.0
"""Length of an outage, and time between two of them, in seconds."""
AHEAD = 20
"""The greatest number of files that are not yet read."""


class Writer(threading.Thread):
    """Adds files until `is_over`."""

    def __init__(self, directory: Path) -> None:
        super().__init__(daemon=True)
        self.directory, self.files, self.read, self.is_over = directory, 0, 0, False
        self._random = np.random.default_rng(7)

    def run(self) -> None:
        last = time.monotonic()
        while not self.is_over:
            if time.monotonic() - last > EVERY:
                time.sleep(OUTAGE)
                last = time.monotonic()
            if self.files - self.read >= AHEAD:
                time.sleep(0.05)
                continue
            write_micro_batches(self._rows(), self.directory, 1, first=self.files)
            self.files += 1

    def _rows(self) -> pa.Table:
        first = self.files * ROWS
        arrived = (first + np.arange(ROWS)) * 10 * SECOND // ROWS
        # Half of the rows have no delay; the others are delayed by less than `DELAY`.
        delays = self._random.integers(0, DELAY * SECOND, ROWS) * (self._random.random(ROWS) < 0.5)
        times = np.maximum(arrived - delays, 0) + 1_700_000_000 * SECOND
        return pa.table(
            {
                "id": first + np.arange(ROWS),
                "time": pa.array(times, pa.timestamp("us", "UTC")),
                "key": self._random.integers(0, KEYS, ROWS).astype(np.int32),
            }
        )


@dataclass(frozen=True, slots=True)
class Sample:
    """Private memory of all processes at one time, in MiB."""

    heap: int
    jvm: int
    """Without the heap."""
    workers: int
    driver: int

    @classmethod
    def taken(cls, jvm: Any) -> Sample:  # noqa: ANN401
        """Collect garbage in the JVM, then measure."""
        heap = _heap(jvm)
        committed = int(_heap_usage(jvm).getCommitted()) >> 20
        sizes: Counter[str] = Counter()
        for pid, line in descendants().items():
            # The command of the JVM contains "pyspark", too.
            is_java = line.partition(" ")[0].endswith("java")
            sizes["jvm" if is_java else "workers"] += resident(pid)
        return cls(heap, sizes["jvm"] - committed, sizes["workers"], resident(os.getpid()))


@dataclass(slots=True)
class Start:
    """Measurements between a start of the query and the next."""

    samples: list[Sample] = field(default_factory=list)
    batches: int = 0
    processor: float = 0.0
    """Processor time of all processes, in seconds."""
    stopped: int = 0
    """The heap without a query, in MiB."""
    left: int = 0
    """The heap without a session, in MiB."""

    def told(self) -> dict[str, Any]:
        """Return the figures."""
        least = min(each.heap for each in self.samples)
        typical = {
            name: statistics.median(asdict(each)[name] for each in self.samples)
            for name in ("jvm", "workers", "driver")
        }
        heap = {"running": least, "stopped": self.stopped, "left": self.left}
        work = round(self.processor / max(self.batches, 1), 2)
        return {
            "micro-batches": self.batches,
            "processor seconds a micro-batch": work,
            "heap MiB": heap,
            "MiB": typical,
        }


class Soak:
    """A running query, and its measurements."""

    def __init__(self, directory: Path, *, is_spark_only: bool = False) -> None:
        self.directory = directory
        self.is_spark_only = is_spark_only
        self.writer = Writer(directory / "rows")
        self.batches: list[tuple[float, int]] = []
        """Duration and number of rows of each micro-batch."""
        self.starts: list[Start] = []
        self.began = time.monotonic()
        self._seen: set[tuple[str, int]] = set()

    def run(self, seconds: float, restart: float) -> dict[str, Any]:
        """Run for a while, then to the end of the written files; return the figures.

        Args:
            seconds: How long to run.
            restart: Seconds between a start and the next.
        """
        self.writer.start()
        while (left := seconds - (time.monotonic() - self.began)) > 0:
            self._session(min(restart, left))
            print(json.dumps(self.starts[-1].told()), flush=True)
        self.writer.is_over = True
        self.writer.join()
        spark = self._spark()
        self._finish(spark)
        figures = self._figures(spark)
        spark.stop()
        return figures

    def _spark(self) -> SparkSession:
        return lc.session("latecomer-soak", master="local[2]")

    def _session(self, seconds: float) -> None:
        spark = self._spark()
        jvm = spark._jvm
        query = self._start(spark, None, "keep")
        measured, before = len(self.batches), processor_seconds()
        self.starts.append(start := Start())
        until = time.monotonic() + seconds
        while time.monotonic() < until and (error := query.exception()) is None:
            self._count(query)
            start.samples.append(Sample.taken(jvm))
            start.processor = max(start.processor, processor_seconds() - before)
            time.sleep(5)
        query.stop()
        self._count(query)
        start.batches = len(self.batches) - measured
        del query
        start.stopped = _heap(jvm)
        spark.stop()
        del spark
        _end_monitors(jvm)
        start.left = _heap(jvm)
        # If the machine is too busy to start a worker in time, the query is started once more.
        if error is not None and TOO_SLOW not in str(error):
            raise AssertionError(error)

    def _finish(self, spark: SparkSession) -> None:
        try:
            self._start(spark, {"availableNow": True}, "flush").awaitTermination()
        except StreamingQueryException as error:
            if TOO_SLOW not in str(error):
                raise
            self._finish(spark)

    def _start(self, spark: SparkSession, trigger: dict[str, bool] | None, end: str) -> Any:  # noqa: ANN401
        rows = spark.readStream.schema("id long, time timestamp, key int")
        df = rows.option("maxFilesPerTrigger", 1).parquet(str(self.directory / "rows"))
        if self.is_spark_only:
            return self._copied(df, trigger)
        sorted_ = lc.disordered(df, time="time", key="key").sort(wait=f"{DELAY} seconds")
        return sorted_.start(
            {"ready": str(self.directory / "ready"), "late": str(self.directory / "late")},
            checkpoint=str(self.directory / "checkpoint"),
            trigger=trigger,
            end=end,
        )

    def _copied(self, df: DataFrame, trigger: dict[str, bool] | None) -> Any:  # noqa: ANN401
        """Start a query that copies rows through Spark's own states in Python."""
        ready = self.directory / "ready"

        def write(rows: DataFrame, number: int) -> None:
            rows.write.mode("overwrite").parquet(f"{ready}/batch={number}")

        df = df.groupBy("key").transformWithStateInPandas(_Same(), df.schema, "Append", "None")
        writer = df.writeStream.foreachBatch(write).trigger(
            **(trigger or {"processingTime": "0 seconds"})
        )
        return writer.option("checkpointLocation", str(self.directory / "checkpoint")).start()

    def _count(self, query: Any) -> None:  # noqa: ANN401
        """Record finished micro-batches, which also lets the writer continue."""
        for progress in query.recentProgress:
            name = (str(progress.runId), progress.batchId)
            if name not in self._seen and progress.numInputRows:
                self._seen.add(name)
                took = progress.durationMs["triggerExecution"] / 1_000
                self.batches.append((took, progress.numInputRows))
                self.writer.read += 1

    def _figures(self, spark: SparkSession) -> dict[str, Any]:
        names = [name for name in ("ready", "late") if not (self.is_spark_only and name == "late")]
        read = spark.read.parquet if self.is_spark_only else partial(lc.read, spark)
        outputs = [read(str(self.directory / name)).select("id") for name in names]
        out = reduce(DataFrame.unionByName, outputs)
        rows, distinct = out.count(), out.distinct().count()
        third = len(self.batches) // 3
        thirds = [self.batches[:third], self.batches[third:-third], self.batches[-third:]]
        told = [each.told() for each in self.starts]
        return {
            "seconds": round(time.monotonic() - self.began),
            "rows written": self.writer.files * ROWS,
            "rows out": rows,
            "distinct": distinct,
            "late": sum(each.count() for each in outputs[1:]),
            "micro-batches measured": len(self.batches),
            "rows a second": round(
                sum(each[1] for each in self.batches) / sum(each[0] for each in self.batches)
            ),
            "seconds a micro-batch, by thirds": [
                round(statistics.median(each[0] for each in part), 2) for part in thirds if part
            ],
            "processor seconds a micro-batch, by starts": [
                each["processor seconds a micro-batch"] for each in told
            ],
            **{
                f"heap MiB, {name}, by starts": [each["heap MiB"][name] for each in told]
                for name in ("running", "stopped", "left")
            },
            **{
                f"{name} MiB, by starts": [each["MiB"][name] for each in told]
                for name in ("jvm", "workers", "driver")
            },
            "is whole": rows == distinct == self.writer.files * ROWS,
        }


class _Same(StatefulProcessor):
    """Returns rows unchanged."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        handle.getValueState("nothing", "value int")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: ANN401, N802, N803
        yield from rows

    def close(self) -> None:
        pass


def _end_monitors(jvm: Any) -> None:  # noqa: ANN401
    """End the threads that look for idle Python workers of sessions that have stopped.

    Spark never ends them. With state in Python, the thread of the query starts the first worker,
    and the thread that looks for idle workers inherits the session. Each such thread keeps a
    stopped session and its record of jobs in memory, some megabytes.
    """
    for thread in jvm.java.lang.Thread.getAllStackTraces().keySet():
        if thread.getName().startswith("Idle Worker Monitor"):
            thread.interrupt()
            thread.join(10_000)


def _heap(jvm: Any) -> int:  # noqa: ANN401
    """Return the used heap of the JVM after a collection, in MiB."""
    # The JVM frees an object held by Python only after Python has collected the reference.
    gc.collect()
    jvm.System.gc()
    return int(_heap_usage(jvm).getUsed()) >> 20


def _heap_usage(jvm: Any) -> Any:  # noqa: ANN401
    beans = jvm.java.lang.management.ManagementFactory
    return beans.getMemoryMXBean().getHeapMemoryUsage()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--restart", type=float, default=10, help="minutes between two starts")
    parser.add_argument("--spark-only", action="store_true", help="copy rows without Latecomer")
    given = parser.parse_args()
    where = Path(tempfile.mkdtemp(prefix="latecomer-soak-", dir=os.environ.get("SOAK_DIR")))
    soak = Soak(where, is_spark_only=given.spark_only)
    found = soak.run(60 * given.minutes, 60 * given.restart)
    print(json.dumps(found, indent=2))
    assert found["is whole"], f"rows were lost, or came twice; what is left is in {where}"
    shutil.rmtree(where, ignore_errors=True)
