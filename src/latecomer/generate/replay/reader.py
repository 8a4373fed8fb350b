"""The running part of the source `latecomer.replay`: the methods that Spark calls.

For each micro-batch, in a separate Python process beside the driver, Spark calls `latestOffset` for
the end of the batch, `reportLatestOffset` for the rows due so far, and `partitions` for the tasks
that read the rows in between. Python workers then call `read`, each on a copy of this object. After
a restart Spark repeats the last `partitions` if that batch was not finished, and continues.

Spark takes an unchanged offset as "nothing new", which ends a query with trigger `availableNow`. So
`latestOffset` waits for the clock under that trigger, and only under that one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from latecomer.errors import ColumnNotFoundError
from latecomer.generate.replay.arrivals import Arrivals, Position
from latecomer.generate.replay.rhythm import ByClock
from latecomer.generate.replay.row_range import RowRange
from latecomer.hosts.spark.arrow_schema import in_arrow
from latecomer.time import FOREVER

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from latecomer.generate.replay.source import ReplayOptions

_PARTITION_ROWS = 250_000
"""Rows that one task reads: enough to make starting it worthwhile."""
_NAP = 0.01
"""Seconds between two looks at the clock, as long as Spark itself waits before it asks again."""

_WIDER = {8: pa.int16(), 16: pa.int32(), 32: pa.int64(), 64: pa.decimal128(20)}
_NEAREST = {
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.string_view(): pa.string(),
    pa.binary_view(): pa.binary(),
}


class Ranges(InputPartition):
    """Rows that one task reads, in order."""

    def __init__(self, ranges: list[RowRange]) -> None:
        super().__init__(None)
        self.ranges = ranges


class ReplayReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A running replay. The rows of a batch depend on its two offsets alone."""

    def __init__(self, options: ReplayOptions, schema: StructType) -> None:
        self._options = options
        self._rhythm = options.rhythm
        self._schema = in_arrow(schema)
        self._due = Position()
        self._is_bounded = False
        self._next: tuple[Position, Future[Position]] | None = None

    @cached_property
    def _arrivals(self) -> Arrivals:
        # Opened on first use, because the copies in the workers do not need it.
        arrivals = self._options.arrivals()
        _check_columns(self._schema, arrivals.schema)
        return arrivals

    @cached_property
    def _background(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1)

    def initialOffset(self) -> dict[str, Any]:
        """Return the position before the first row."""
        return Position().to_offset()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return a limit, so that the rhythm cuts batches; by default, Spark asks for all rows."""
        return ReadMaxRows(FOREVER)

    def prepareForTriggerAvailableNow(self) -> None:
        """Fix the files to read: files added from now on are ignored."""
        self._arrivals.look()
        self._is_bounded = True

    def latestOffset(self, start: Mapping[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the end of the micro-batch that begins at `start`."""
        begin = Position.from_offset(start)
        end = self._cut(begin)
        self._due = self._rhythm.due(self._arrivals, max(end, self._due, key=lambda at: at.rows))
        if isinstance(limit, ReadAllAvailable):
            end = self._arrivals.ahead(begin, rows=self._due.rows - begin.rows)
        return end.to_offset()

    def _cut(self, begin: Position) -> Position:
        """Return the end of a batch; without a clock, also start to compute the next one's end.

        Arrivals are then read while Spark works on the batch, and not while it waits.
        """
        arrivals, foreseen = self._arrivals, self._next
        if foreseen is not None:
            wait([foreseen[1]])
        if self._is_bounded:
            while (self._rhythm.wait(arrivals, begin) or 0) > 0:
                time.sleep(_NAP)
        elif arrivals.look():
            foreseen = None
        if foreseen is not None and foreseen[0] == begin:
            end = foreseen[1].result()
        else:
            end = self._rhythm.step(arrivals, begin)
        if end != begin and not isinstance(self._rhythm, ByClock):
            self._next = end, self._background.submit(self._rhythm.step, arrivals, end)
        return end

    def reportLatestOffset(self) -> dict[str, Any]:
        """Return the position of the last row due when the current micro-batch was cut."""
        return self._due.to_offset()

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> Sequence[Ranges]:
        """Return the rows between two offsets as tasks, in order."""
        begin, stop = Position.from_offset(start), Position.from_offset(end)
        return [Ranges(part) for part in share_out(self._arrivals.ranges(begin, stop))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one task."""
        assert isinstance(partition, Ranges)  # noqa: S101  they come from `partitions`
        for part in partition.ranges:
            yield from part.batches(self._schema)


def share_out(ranges: Sequence[RowRange], size: int = _PARTITION_ROWS) -> list[list[RowRange]]:
    """Return the ranges as parts of about `size` rows, in order."""
    total = sum(len(part) for part in ranges)
    size = -(-total // max(1, round(total / size)))
    parts: list[list[RowRange]] = []
    free = 0
    for whole in ranges:
        first = whole.first
        while first < whole.end:
            if not free:
                parts.append([])
                free = size
            end = min(whole.end, first + free)
            parts[-1].append(RowRange(whole.path, first, end))
            free -= end - first
            first = end
    return parts


def spark_schema(schema: pa.Schema) -> StructType:
    """Return the columns of files with types that Spark has. All are nullable."""
    fields = [pa.field(column.name, _plain(column.type)) for column in schema]
    return from_arrow_schema(pa.schema(fields))


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the nearest type that Spark has too."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_unsigned_integer(kind):
        return _WIDER[kind.bit_width]
    return _NEAREST.get(kind, kind)


def _check_columns(asked: pa.Schema, has: pa.Schema) -> None:
    missing = [name for name in asked.names if name not in has.names]
    if missing:
        raise ColumnNotFoundError(
            f"no column {', '.join(missing)}; the files have {', '.join(has.names)}.\n"
            "Hint: leave schema() out: the columns are read from the files."
        )
