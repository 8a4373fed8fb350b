"""Spark's clock in a micro-batch, as tasks that pack rows can know it.

Whether a row is late depends on the row and the clock. Spark gives the clock to stateful stages
only, so a task that packs rows does not know it. If rows are aggregated before the shuffle, all of
them would have to travel to a bucket beside their states, to be checked there.

But before Spark runs a micro-batch it writes its watermark to the offset log of the checkpoint
(`durable.offset_log`). A worker on the driver's machine can read it from there. Then only the late
rows travel. **A wrong clock would lose late rows**, so the bucket compares what was read with its
own clock, and stops the query if they differ. Where nothing can be read, all rows travel.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from latecomer.errors import ClockError
from latecomer.hosts.tally import delayed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from latecomer.batch import Batch
    from latecomer.hosts.spark.spark_clock import SparkClock
    from latecomer.plan import Plan

_BATCH = "streaming.sql.batchId"
"""The property of a task with the number of its micro-batch."""


@dataclass(frozen=True, slots=True)
class BatchClock:
    """The clock of the micro-batch that a task belongs to."""

    offsets: str
    """Directory of Spark's offset log, on this machine."""
    of: SparkClock

    def shown(self) -> int | None:
        """Return Spark's watermark in milliseconds; None if it cannot be read."""
        task = TaskContext.get()
        number = None if task is None else task.getLocalProperty(_BATCH)
        if number is None:
            return None
        try:
            _, metadata, *_ = Path(self.offsets, number).read_text("utf-8").splitlines()
            return int(json.loads(metadata)["batchWatermarkMs"])
        except (OSError, ValueError, KeyError):
            return None

    def late(self, plan: Plan, rows: Batch, shown: int) -> tuple[Batch, dict[str, int]]:
        """Return the late rows, and the number of the others by delay.

        Args:
            plan: The plan of the stream, whose rows are aggregated where they are read.
            rows: Rows with a usable time.
            shown: Spark's watermark, from `shown`.
        """
        newest = self.of.newest(shown)
        is_late = None
        if plan.early is not None:
            is_late = plan.early.is_late(rows, plan.clock.read(newest).watermark)
        if is_late is None:
            is_late = np.zeros(rows.num_rows, np.bool_)
        delays = dict(delayed(plan.source.time.micros(rows)[~is_late], newest))
        return rows.filter(pa.array(is_late)), delays


def readable(spark: SparkSession, plan: Plan, checkpoint: str, of: SparkClock) -> BatchClock | None:
    """Return the clock of micro-batches, if tasks can read it and it is all that rows depend on.

    With `idle` or with clocks of sources, the watermark also depends on the state of a bucket.
    """
    from latecomer.hosts.spark.durable.ledger import local_path

    is_all = plan.idle is None and plan.clock.is_shared and not plan.clock.is_by_source
    if not is_all or plan.early is None or not plan.needs_late_rows:
        return None
    # `local_path` is None on Spark Connect, which has no `sparkContext`.
    directory = local_path(spark, f"{checkpoint}/offsets")
    if directory is None or not str(spark.sparkContext.master).startswith("local"):
        return None
    return BatchClock(str(directory), of)


def check(assumed: int, shown: int) -> None:
    """Refuse a clock by which rows were packed, if it is not that of the bucket.

    Raises:
        ClockError: They differ.
    """
    if assumed != shown:
        raise ClockError(
            f"rows were packed by Spark's watermark {assumed}, as the offset log of the checkpoint "
            f"has it, and the stage runs by {shown}; late rows would be lost.\n"
            "Hint: run the query from its checkpoint again; if that does not help, restore the "
            "checkpoint from a backup."
        )
