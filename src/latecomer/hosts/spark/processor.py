"""What Spark is given for a stateful stage: it declares the state, and the bucket does the rest.

Spark starts a Python process on the driver for each stateful stage, which unpickles the processor
only to ask for the layout of its state. The first answer waits for that process, so it imports
nothing here but PySpark: the plan stays bytes until there are rows or a timer.

Parcels come and go in pandas frames, because each frame that is handed back is an Arrow batch of
its own. PySpark's processors of single rows put all that the timers of a task release into one
batch, which ends at 2 GiB.
"""

from __future__ import annotations

import pickle
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.cloudpickle import dumps
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from latecomer.hosts.spark.garbage import spare_modules

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from latecomer.hosts.spark.bucket import Bucket
    from latecomer.hosts.spark.spark_clock import SparkClock
    from latecomer.plan import Plan


class States(NamedTuple):
    """The state of a stage, opened."""

    handle: StatefulProcessorHandle
    meta: Any
    chunks: Any
    silence: Any
    """None unless time goes on by itself."""
    brought: Any
    """None unless a clock that stands still is refused."""
    sources: Any
    """None unless the clock is that of the slowest source."""


class BucketProcessor(StatefulProcessor):
    """A stage of a plan, as Spark runs it."""

    def __init__(self, plan: Plan, at: int, buckets: int, clock: SparkClock) -> None:
        """Run stage `at` of the plan by this clock, its rows spread over so many buckets."""
        self._arguments = dumps((plan, at, buckets, clock))  # type: ignore[no-untyped-call]
        self._has_silence = plan.idle is not None
        self._is_watched = clock.streams > 0
        self._has_sources = plan.clock.is_by_source

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        counts = "buckets int, timer long, rows long, windows long"
        meta = handle.getValueState("meta", f"{counts}, several string, stage binary")
        chunks = handle.getMapState("chunks", "operator int, number long", "rows binary")
        silence = None
        if self._has_silence:
            fields = "newest long, lasted long, last long, reached long, elapsed long"
            silence = handle.getValueState("silence", fields)
        brought = handle.getValueState("brought", "streams long") if self._is_watched else None
        sources = handle.getValueState("sources", "clocks string") if self._has_sources else None
        self._states = States(handle, meta, chunks, silence, brought, sources)

    @cached_property
    def _bucket(self) -> Bucket:
        from latecomer.hosts.spark.bucket import Bucket

        plan, at, buckets, clock = pickle.loads(self._arguments)  # noqa: S301 - we wrote them
        return Bucket(plan, at, buckets, clock, self._states)

    def handleInputRows(
        self, key: Any, rows: Iterator[Any], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        """Run a micro-batch that has rows for this bucket."""
        return self._bucket.run(key, rows, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[pd.DataFrame]:
        """Run a micro-batch in which only the clock has moved."""
        return self._bucket.wake(key, timerValues)

    def close(self) -> None:
        """End the task."""
        spare_modules()
