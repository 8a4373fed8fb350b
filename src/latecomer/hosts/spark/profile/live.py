"""Profile each micro-batch of a stream: `DisorderedStream.profile_df`.

    rows ─ time, arrival ─ pack ─▶ parcels ─ one bucket: transformWithState ─▶ one row a micro-batch

`latecomer.profile.live` explains what is counted. Between micro-batches only the newest time and
the number of micro-batches are kept. They are in a state of our own: Spark's watermark could hold
the newest time, but a query has only one watermark. The state is in the checkpoint, so a query that
was stopped or killed goes on where it was, and counts every micro-batch once.

Eight bytes per row go to the one bucket: a micro-batch of ten million rows takes 80 MB there.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import ArrayType, StructType

from latecomer.batch import Batch, concat, decode, encode
from latecomer.clock.policy import OneClock
from latecomer.errors import OptionError, StateFormatError
from latecomer.hosts.late import AHEAD, NO_TIME
from latecomer.hosts.spark.checks import check_state_store
from latecomer.hosts.spark.columns import map_in_arrow, reference, with_wall_clock
from latecomer.hosts.spark.declared import read_schema
from latecomer.hosts.spark.parcels import PARCEL, packer, unpack
from latecomer.plan import Plan, Source, Stage
from latecomer.profile.live import profile_batch
from latecomer.time import FOREVER, NEVER

FORMAT = 1
"""Version of the saved state. Raise it when an older state can no longer be carried on."""

_ROW = "_lc_row"
"""Column with the position of a row in Spark's reading order, which packing does not keep."""


def profiled(df: DataFrame, source: Source, waits: Mapping[int, str]) -> DataFrame:
    """Return a streaming DataFrame with one row for each micro-batch that has rows."""
    if not df.isStreaming:
        raise OptionError(
            "profile_df() profiles a stream, and this DataFrame is not streaming.\n"
            'Hint: use latecomer.profile(df, time="...").'
        )
    check_state_store(df.sparkSession)
    names = [source.time.name, *([source.arrival.name] if source.arrival else [])]
    slim = df.select(*map(reference, dict.fromkeys(names)))
    slim = with_wall_clock(slim, source)
    plan = Plan(
        Source(source.time, (), source.arrival, source.ahead),
        OneClock((0,)),
        "divert",
        (Stage(()),),
    )
    return (
        map_in_arrow(slim, partial(_pack, plan), PARCEL)
        .groupBy("bucket")
        .transformWithState(
            ProfileProcessor(plan.source, dict(waits)),
            "blob binary",
            outputMode="append",
            timeMode="None",
        )
        .mapInArrow(unpack, _schema(df, source))
    )


def _pack(plan: Plan, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Number the rows of a partition, and pack them."""
    return packer(plan, 1, 0)(_numbered(batches))


def _numbered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    task = TaskContext.get()
    at = (task.partitionId() if task else 0) << 40
    for batch in batches:
        yield batch.append_column(_ROW, pa.array(np.arange(at, at + batch.num_rows)))
        at += batch.num_rows


class ProfileProcessor(StatefulProcessor):
    """The processor that profiles a stream, for Spark."""

    def __init__(self, source: Source, waits: Mapping[int, str]) -> None:
        self._source = source
        self._waits = waits

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._seen = handle.getValueState("seen", "format int, newest long, micro_batches long")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        """Profile one micro-batch."""
        newest, number = self._load()
        batches = [(each.kind, decode(each.blob)) for each in rows if each.kind != AHEAD]
        times = self._in_order([batch for kind, batch in batches if kind == "rows"])
        aside = Counter(
            reason
            for kind, batch in batches
            if kind != "rows"
            for reason in batch["_reason"].to_pylist()
        )
        field = batches[0][1].schema.field(self._source.time.name)
        found = profile_batch(times, newest, self._waits, field.type, self._source.time.unit)
        counts = {
            "micro_batch": number + 1,
            "rows": len(times) + aside.total(),
            "without_time": aside[NO_TIME],
            "ahead": aside[AHEAD],
        }
        counted = pa.table({name: pa.array([n], pa.int64()) for name, n in counts.items()})
        columns = [*counted.columns, *found.columns]
        table = pa.table(columns, names=[*counted.column_names, *found.column_names])
        self._seen.update((FORMAT, max(newest, int(times.max(initial=NEVER))), number + 1))
        yield Row(blob=encode(table))

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        """Return nothing: there are no timers."""
        return iter(())

    def close(self) -> None:
        """Do nothing: no resources are held."""

    def _load(self) -> tuple[int, int]:
        if not self._seen.exists():
            return NEVER, 0
        version, newest, number = self._seen.get() or ()
        if version != FORMAT:
            raise StateFormatError(
                f"the checkpoint holds a profile in format {version}; this version of Latecomer "
                f"reads format {FORMAT}.\n"
                "Hint: continue with the version that wrote it, or start with a new checkpoint."
            )
        return newest, number

    def _in_order(self, batches: list[Batch]) -> np.ndarray:
        """Return the times of a micro-batch in order of arrival, or else of reading."""
        if not batches:
            return np.empty(0, np.int64)
        rows = concat(batches, batches[0].schema)
        by = [rows[_ROW].to_numpy()]
        if self._source.arrival:
            by.append(self._source.arrival.micros(rows, null=FOREVER))
        return self._source.time.micros(rows)[np.lexsort(by)]


def _schema(df: DataFrame, source: Source) -> StructType:
    counts = read_schema("micro_batch long, rows long, without_time long, ahead long")
    schema = counts.add("newest", df.schema[source.time.name].dataType)
    in_time = StructType.fromDDL("wait string, rows long, share double")
    delays = StructType.fromDDL("up_to long, rows long")
    schema = schema.add("out_of_order", "long").add("largest", "long")
    return schema.add("in_time", ArrayType(in_time)).add("delays", ArrayType(delays))
