"""Functions that Spark's Python workers run to profile a DataFrame: see `profile.frame`.

Each function takes the Arrow batches of one partition, as `mapInArrow` passes them. From `sum_up`
on, a partition is a part of the stream: consecutive arrivals, in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from latecomer.hosts.spark.bucket_labels import labels
from latecomer.profile.delay_counts import DelayCounter, Delays, level
from latecomer.profile.density import joined
from latecomer.profile.key_counts import KeyCounter
from latecomer.profile.measures import delays
from latecomer.time import TimeColumn, Times

if TYPE_CHECKING:
    from latecomer.plan import Source

TIME, ARRIVAL, ROW, PART = "_lc_time", "_lc_arrival", "_lc_row", "_lc_part"
"""Columns: time and arrival in microseconds, position of a row in the reading order, and part."""

First = tuple[int, int]
"""Arrival and position of the first row of a part that has a time; they identify the part."""


class Before(NamedTuple):
    """The number of rows and the newest time of all earlier parts."""

    rows: int
    newest: int


class Sizes(NamedTuple):
    """The size of a cell of a figure: 2^wide arrivals, 2^high microseconds."""

    wide: int
    high: int


class Summary(NamedTuple):
    """The counts of a part; those after `timed` are 0 if no row has a time."""

    rows: int
    without_time: int
    without_arrival: int
    timed: int
    arrival: int
    row: int
    first_time: int
    last_time: int
    oldest: int
    newest: int
    descents: int


SUMMARY = ", ".join(f"{name} long" for name in Summary._fields)
COUNT = "kind string, a long, b long, rows long"


def place(
    source: Source, bounds: Times, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Return the time, the arrival and the part of each row."""
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        arrival = source.arrival
        arrivals = arrival.micros(rows) if arrival else np.zeros(rows.num_rows, np.int64)
        unplaced = arrival.is_null(rows) if arrival else np.zeros(rows.num_rows, bool)
        part = labels(len(bounds) + 1)[np.searchsorted(bounds, arrivals, side="right")]
        own = {
            TIME: pa.array(source.time.micros(rows), mask=source.time.is_null(rows)),
            ARRIVAL: pa.array(arrivals, mask=unplaced),
            ROW: rows[ROW],
            PART: pa.array(part),
        }
        # By position: the time, or the arrival, may be a key as well.
        keys = [rows[name] for name in source.key]
        table = pa.table([*own.values(), *keys], names=[*own, *source.key])
        yield from table.combine_chunks().to_batches()


def arrivals(column: TimeColumn, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the arrivals of the rows, in microseconds."""
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        micros = pa.array(column.micros(rows), mask=column.is_null(rows))
        yield pa.RecordBatch.from_arrays([micros], [ARRIVAL])


def sum_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Sum up a part."""
    total: Summary | None = None
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        timed = _timed(rows)
        no_time = rows[TIME].null_count
        head = (batch.num_rows, no_time, batch.num_rows - timed.num_rows - no_time, timed.num_rows)
        tail = (0,) * 7
        if timed.num_rows:
            times = timed[TIME].to_numpy()
            tail = (
                timed[ARRIVAL][0].as_py(),
                timed[ROW][0].as_py(),
                *(int(n) for n in (times[0], times[-1], times.min(), times.max())),
                int(np.count_nonzero(times[1:] < times[:-1])),
            )
        more = Summary(*head, *tail)
        total = _followed(total, more) if total else more
    if total:
        columns = [pa.array([value], pa.int64()) for value in total]
        yield pa.RecordBatch.from_arrays(columns, list(Summary._fields))


def _followed(one: Summary, other: Summary) -> Summary:
    """Return the sum of two pieces of a part; `other` follows `one`."""
    both = (one if one.timed else other)._replace(
        rows=one.rows + other.rows,
        without_time=one.without_time + other.without_time,
        without_arrival=one.without_arrival + other.without_arrival,
        timed=one.timed + other.timed,
    )
    if not (one.timed and other.timed):
        return both
    return both._replace(
        last_time=other.last_time,
        oldest=min(one.oldest, other.oldest),
        newest=max(one.newest, other.newest),
        descents=one.descents + other.descents + (other.first_time < one.last_time),
    )


def count(
    before: dict[First, Before], sizes: Sizes, distinct: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Count the rows of a part by delay, and in the cells of the figures."""
    counter = DelayCounter(distinct)
    for at, rows, behind in _delayed(before, batches):
        counter.add(behind)
        columns = np.arange(at, at + len(behind)) >> sizes.wide
        for kind, heights in (
            ("time", rows[TIME].to_numpy() >> sizes.high),
            ("level", level(behind)),
        ):
            cells = joined((0, 0), columns, heights, np.ones(len(behind), np.int64))
            yield _counted(kind, cells.columns, cells.heights, cells.rows)
    found = counter.result()
    nothing = np.zeros_like(found.rows)
    yield _counted("delay", found.delays.view(np.int64), nothing, found.rows)
    if not found.is_exact:
        yield _counted("rounded", nothing[:1], nothing[:1], nothing[:1])


def count_keys(
    before: dict[First, Before], key: tuple[str, ...], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Count the rows of a part by key."""
    counter = KeyCounter(key)
    for _, rows, behind in _delayed(before, batches):
        counter.add(rows.select(list(key)), behind)
    if (counted := counter.result()) is not None:
        yield from counted.combine_chunks().to_batches()


def _delayed(
    before: dict[First, Before], batches: Iterable[pa.RecordBatch]
) -> Iterator[tuple[int, pa.Table, Delays]]:
    """Yield, for each batch, the number of rows before, the rows with a time, and their delays."""
    known: Before | None = None
    for batch in batches:
        rows = _timed(pa.Table.from_batches([batch]))
        if not rows.num_rows:
            continue
        if known is None:
            known = before[rows[ARRIVAL][0].as_py(), rows[ROW][0].as_py()]
        times = rows[TIME].to_numpy()
        yield known.rows, rows, delays(np.concatenate([[known.newest], times]))[1:]
        known = Before(known.rows + len(times), max(known.newest, int(times.max())))


def _timed(rows: pa.Table) -> pa.Table:
    """Keep the rows that have a time and an arrival."""
    if not (rows[TIME].null_count or rows[ARRIVAL].null_count):
        return rows
    both = np.asarray(rows[TIME].is_valid()) & np.asarray(rows[ARRIVAL].is_valid())
    return rows.filter(pa.array(both))


def _counted(kind: str, a: Times, b: Times, rows: Times) -> pa.RecordBatch:
    columns = [pa.repeat(kind, len(rows)), pa.array(a), pa.array(b), pa.array(rows)]
    return pa.RecordBatch.from_arrays(columns, ["kind", "a", "b", "rows"])
