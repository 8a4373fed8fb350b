"""Run a query at full rate for an hour, with disorder, outages and restarts; see what grows.

    python -m tests.chaos.soak --minutes 60

A writer adds files of disordered rows as fast as the query reads them; now and then it stops for a
while (an outage), and then catches up. Every ten minutes the query and its session are stopped and
started again. Memory is that of the JVM's heap after a collection, and of all Python workers.
At the end every row must have come out once.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.errors import StreamingQueryException

import latecomer as lc
from latecomer.generate.micro_batches import write_micro_batches
from tests.chaos.processes import descendants, resident
from tests.support.short_lived import TOO_SLOW

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000
ROWS = 50_000
"""Of one file, which is one micro-batch: ten seconds of the stream."""
KEYS = 1_000
DELAY = 30
"""Seconds that a row is late at the most; the query waits as long."""
OUTAGE, EVERY = 20.0, 150.0
"""Seconds for which nothing comes, and from one such to the next."""
AHEAD = 20
"""How many files may wait to be read."""


class Writer(threading.Thread):
    """Adds files, as long as it is told to."""

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
        # Half of the rows come in time; the others are up to so many seconds late.
        delays = self._random.integers(0, DELAY * SECOND, ROWS) * (self._random.random(ROWS) < 0.5)
        times = np.maximum(arrived - delays, 0) + 1_700_000_000 * SECOND
        return pa.table(
            {
                "id": first + np.arange(ROWS),
                "time": pa.array(times, pa.timestamp("us", "UTC")),
                "key": self._random.integers(0, KEYS, ROWS).astype(np.int32),
            }
        )


class Soak:
    """A query under way, and what was measured of it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.writer = Writer(directory / "rows")
        self.batches: list[tuple[float, float, int]] = []
        """When each micro-batch ended, how long it took, how many rows it read."""
        self.memory: list[tuple[float, int, int]] = []
        """When it was measured: the JVM's heap and the workers, in MiB."""
        self.work: list[float] = []
        """Processor seconds of all processes for each micro-batch, from one start to the next."""
        self.began = time.monotonic()
        self._seen: set[tuple[str, int]] = set()

    def run(self, seconds: float, restart: float) -> dict[str, Any]:
        """Run for so long, then to the end of what was written; return the figures.

        Args:
            seconds: How long.
            restart: From one start to the next, in seconds.
        """
        self.writer.start()
        restarts = -1
        while (left := seconds - (time.monotonic() - self.began)) > 0:
            restarts += 1
            self._session(min(restart, left))
        self.writer.is_over = True
        self.writer.join()
        spark = self._spark()
        self._finish(spark)
        figures = self._figures(spark) | {"restarts": restarts + 1}
        spark.stop()
        return figures

    def _spark(self) -> SparkSession:
        return lc.session("latecomer-soak", master="local[2]")

    def _session(self, seconds: float) -> None:
        spark = self._spark()
        query = self._start(spark, None, "keep")
        measured, before, used = len(self.batches), _processor_seconds(), 0.0
        until = time.monotonic() + seconds
        while time.monotonic() < until and (error := query.exception()) is None:
            self._measure(spark, query)
            used = max(used, _processor_seconds() - before)
            time.sleep(5)
        if len(self.batches) > measured:
            self.work.append(used / (len(self.batches) - measured))
        query.stop()
        self._count(query)
        spark.stop()
        # Where the machine is too busy for Spark to start a worker in time, it is one restart more.
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
        sorted_ = lc.disordered(df, time="time", key="key").sort(wait=f"{DELAY} seconds")
        return sorted_.start(
            {"ready": str(self.directory / "ready"), "late": str(self.directory / "late")},
            checkpoint=str(self.directory / "checkpoint"),
            trigger=trigger,
            end=end,
        )

    def _count(self, query: Any) -> None:  # noqa: ANN401
        """Count micro-batches that have ended: the writer goes on by them."""
        now = time.monotonic() - self.began
        for progress in query.recentProgress:
            name = (str(progress.runId), progress.batchId)
            if name not in self._seen and progress.numInputRows:
                self._seen.add(name)
                took = progress.durationMs["triggerExecution"] / 1_000
                self.batches.append((now, took, progress.numInputRows))
                self.writer.read += 1

    def _measure(self, spark: SparkSession, query: Any) -> None:  # noqa: ANN401
        self._count(query)
        now = time.monotonic() - self.began
        jvm = spark._jvm
        assert jvm is not None
        jvm.System.gc()
        runtime = jvm.java.lang.Runtime.getRuntime()
        heap = (runtime.totalMemory() - runtime.freeMemory()) >> 20
        workers = sum(resident(pid) for pid, line in descendants().items() if "pyspark" in line)
        self.memory.append((now, heap, workers))

    def _figures(self, spark: SparkSession) -> dict[str, Any]:
        ready, late = (lc.read(spark, str(self.directory / name)) for name in ("ready", "late"))
        out = ready.select("id").unionByName(late.select("id"))
        rows, distinct = out.count(), out.distinct().count()
        thirds = [
            self.batches[i * len(self.batches) // 3 : (i + 1) * len(self.batches) // 3]
            for i in range(3)
        ]
        memory = [
            self.memory[i * len(self.memory) // 3 : (i + 1) * len(self.memory) // 3]
            for i in range(3)
        ]
        return {
            "seconds": round(time.monotonic() - self.began),
            "rows written": self.writer.files * ROWS,
            "rows out": rows,
            "distinct": distinct,
            "late": late.count(),
            "micro-batches measured": len(self.batches),
            "rows a second": round(
                sum(b[2] for b in self.batches) / sum(b[1] for b in self.batches)
            ),
            "seconds a micro-batch, by thirds": [
                round(statistics.median(each[1] for each in third), 2) for third in thirds
            ],
            "processor seconds a micro-batch, by starts": [round(each, 2) for each in self.work],
            "heap MiB, by thirds": [statistics.median(m[1] for m in third) for third in memory],
            "workers MiB, by thirds": [statistics.median(m[2] for m in third) for third in memory],
            "is whole": rows == distinct == self.writer.files * ROWS,
        }


def _processor_seconds() -> float:
    """Return what all processes below this one have used, with those that they have waited for.

    Unlike the time of a micro-batch, it depends little on what else the machine does.
    """
    ticks = 0
    for pid in descendants():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--restart", type=float, default=10, help="minutes between two starts")
    given = parser.parse_args()
    where = Path(tempfile.mkdtemp(prefix="latecomer-soak-", dir=os.environ.get("SOAK_DIR")))
    found = Soak(where).run(60 * given.minutes, 60 * given.restart)
    print(json.dumps(found, indent=2))
    assert found["is whole"], f"rows were lost, or came twice; what is left is in {where}"
    shutil.rmtree(where, ignore_errors=True)
