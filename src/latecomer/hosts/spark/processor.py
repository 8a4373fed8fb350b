"""The processor of a stateful stage for Spark: it declares the state, and the bucket does the rest.

Spark starts a Python process on the driver for each stateful stage. It unpickles the processor only
to ask for the layout of its state. The first result waits for that process, so this module imports
little besides PySpark: the plan stays bytes until there are rows or a timer.

Parcels come and go in pandas frames, because each returned frame becomes an Arrow batch of its own.
PySpark's processors of single rows put all that the timers of a task release into one batch, which
cannot exceed 2 GiB.

The layout is given as types, not as text: Python asks Spark to parse each text, in every task.
"""

from __future__ import annotations

import pickle
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.cloudpickle import dumps
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from latecomer.hosts.spark.declared import read_schema
from latecomer.hosts.spark.garbage import spare_modules

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from latecomer.hosts.spark.bucket import Bucket
    from latecomer.hosts.spark.spark_clock import SparkClock
    from latecomer.plan import Plan


META = read_schema("buckets int, timer long, rows long, windows long, several string, stage binary")
CHUNK_KEY = read_schema("operator int, number long")
CHUNK = read_schema("rows binary")
SILENCE = read_schema("newest long, lasted long, last long, reached long, elapsed long")
BROUGHT = read_schema("streams long")
SOURCES = read_schema("clocks string")


class States(NamedTuple):
    """The opened state of a stage."""

    handle: StatefulProcessorHandle
    meta: Any
    chunks: Any
    silence: Any
    """Clock of a silent stream; None unless the plan has `idle`."""
    brought: Any
    """Streams that have brought rows; None unless a clock that stands still is refused."""
    sources: Any
    """Clocks of the sources; None unless the clock is that of the slowest source."""


class BucketProcessor(StatefulProcessor):
    """A stage of a plan, as Spark runs it."""

    def __init__(self, plan: Plan, at: int, buckets: int, clock: SparkClock) -> None:
        """Run stage `at` of the plan by this clock, with its rows spread over `buckets`."""
        self._arguments = dumps((plan, at, buckets, clock))  # type: ignore[no-untyped-call]
        self._has_silence = plan.idle is not None
        self._is_watched = clock.streams > 0
        self._has_sources = plan.clock.is_by_source

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        meta = handle.getValueState("meta", META)
        chunks = handle.getMapState("chunks", CHUNK_KEY, CHUNK)
        silence = handle.getValueState("silence", SILENCE) if self._has_silence else None
        brought = handle.getValueState("brought", BROUGHT) if self._is_watched else None
        sources = handle.getValueState("sources", SOURCES) if self._has_sources else None
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
