"""Four queries from Kafka into Delta and Iceberg, which kill their own process; run by `kills`.

In each lake, one query appends sorted rows, and one merges counts by window. Each query counts its
writes in this process. When all four have reached a given write, the process and its Spark are
killed: after the tables have committed and before Spark has ("after"), or some milliseconds into
the write ("during").

Usage: python -m tests.lakes.job DIRECTORY SERVERS OFFSETS [WRITE {after,during} MILLISECONDS]
"""

from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Barrier, Event, Thread
from typing import TYPE_CHECKING, Any

import latecomer as lc
from tests.support import lakes
from tests.support.broker import PATIENT
from tests.support.restart_job import finish
from tests.support.short_lived import PREPARED

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

TOPIC, LETTERS = "events", "letters"
SCHEMA = "id long, time timestamp, key int"
WAIT, SHORT, WINDOW = 20, 5, 10
"""The longer and the shorter wait, and the length of a window, in seconds."""
COUNTS = (
    "window struct<start: timestamp, end: timestamp>, key int, rows long, ids long, wait string, "
    "is_final boolean, is_changed boolean"
)
LATE = f"{SCHEMA}, arrival timestamp, _delay long, _behind long, _reason string"


@dataclass
class Kill:
    """The moment at which to kill this process, if any."""

    write: int
    moment: str
    milliseconds: int
    barrier: Barrier = field(init=False)

    def __post_init__(self) -> None:
        self.barrier = Barrier(4, action=self._kill)

    def _kill(self) -> None:
        if self.moment == "after":
            os.killpg(0, signal.SIGKILL)
        Thread(target=self._kill_soon, daemon=True).start()

    def _kill_soon(self) -> None:
        time.sleep(self.milliseconds / 1_000)
        os.killpg(0, signal.SIGKILL)


@dataclass
class Deadly:
    """A sink that kills the process at one of its writes."""

    sink: Any
    kill: Kill | None
    written: int = 0

    def check(self, spark: SparkSession) -> None:
        self.sink.check(spark)

    def write(self, *arguments: Any) -> None:  # noqa: ANN401 - what the sink is given
        self._run(self.sink.write, *arguments)

    def merge(self, rows: DataFrame, number: int) -> None:
        self._run(self.sink, rows, number)

    def _run(self, write: Callable[..., None], *arguments: object) -> None:
        self.written += 1
        if self.kill is None or self.written < self.kill.write:
            write(*arguments)
        elif self.kill.moment == "after":
            write(*arguments)
            self.kill.barrier.wait()
        else:
            self.kill.barrier.wait()
            write(*arguments)
            # Spark never learns of this write, however long the kill takes.
            Event().wait()


def main(directory: str, servers: str, offsets: str, *kill: str) -> None:
    spark = lc.session(
        master="local[2]",
        config={**PREPARED, **lakes.config(directory), "spark.driver.memory": "1g"},
    )
    last = Kill(int(kill[0]), kill[1], int(kill[2])) if kill else None
    events = lc.disordered(
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", TOPIC)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", offsets)
        .load()
        .selectExpr(f"from_json(string(value), '{SCHEMA}') AS row", "timestamp AS arrival")
        .select("row.*", "arrival"),
        time="time",
        arrival="arrival",
        key="key",
    )
    sort = events.sort(wait=f"{WAIT} seconds")
    counts = (
        events.tumbling(f"{WINDOW} seconds")
        .wait([f"{SHORT} seconds", f"{WAIT} seconds"])
        .group_by("key")
        .aggregate(rows=lc.agg.count(), ids=lc.agg.sum("id"))
    )
    starts = []
    for lake in ("delta", "iceberg"):
        names = tables(spark, lake, directory)
        late = lc.delta(f"{directory}/late") if lake == "delta" else lc.table(names["late"])
        ready = Deadly(lc.table(names["ready"]), last)
        current = Deadly(lc.upsert(table=names["counts"], key=["window", "key"]), last)
        letters = lc.kafka(f"{LETTERS}-{lake}", servers=servers, key="id", options=PATIENT)
        for query, outputs in (
            (sort, {"ready": ready, "late": late}),
            (counts, {"ready": current.merge, "late": letters}),
        ):
            checkpoint = f"{directory}/checkpoint-{len(starts)}"
            starts.append(starting(query, outputs, checkpoint))
    # Each query has its own thread: a query that must be started again cannot wait for the others,
    # which may wait for it at the kill.
    with ThreadPoolExecutor(len(starts)) as threads:
        for ended in [
            threads.submit(lambda start=start: finish(start, start())) for start in starts
        ]:
            ended.result()


def starting(
    query: lc.OrderedStream | lc.AggregatedStream, outputs: dict[str, Any], checkpoint: str
) -> Callable[[], lc.Query]:
    # Counts are added up by Spark, and kept by the driver: fewer processes to start.
    options = {"states": "driver"} if isinstance(query, lc.AggregatedStream) else {}
    trigger = {"availableNow": True}
    return lambda: query.start(outputs, checkpoint=checkpoint, trigger=trigger, **options)


def tables(spark: SparkSession, lake: str, directory: str) -> dict[str, str]:
    """Create the tables of a lake, or find those of an earlier process; return their names."""
    found = {}
    for name, columns in {
        "ready": f"{SCHEMA}, arrival timestamp",
        "late": LATE,
        "counts": COUNTS,
    }.items():
        found[name] = name if lake == "delta" else f"ice.db.{name}"
        where = f"LOCATION '{directory}/{name}'" if lake == "delta" else ""
        if (lake, name) != ("delta", "late"):
            spark.sql(f"CREATE TABLE IF NOT EXISTS {found[name]} ({columns}) USING {lake} {where}")
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
