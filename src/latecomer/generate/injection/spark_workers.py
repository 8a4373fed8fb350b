"""The functions that run in Spark's Python workers to put disorder into a DataFrame: see `spark`.

Each function takes the Arrow batches of one partition, as `mapInArrow` passes them. From
`give_fates` on, a partition is a part: all rows of a stretch of time, in time order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.generate.injection.arrival_column import OWN, with_arrival
from latecomer.generate.injection.draws import identify, numbered
from latecomer.generate.injection.fates import Fates, Injection, Part
from latecomer.hosts.spark.bucket_labels import labels
from latecomer.time import NEVER, Times

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from latecomer.kernels.overtaking import First

TIME, BASE, ID, PART = OWN + "time", OWN + "base", OWN + "id", OWN + "part"
EARLY, LATE, DRAW = OWN + "early", OWN + "late", OWN + "draw"


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about all rows that are needed before fates can be computed."""

    rows: int
    timed: int
    origin: int
    bounds: tuple[int, ...]
    """Part `i` holds the times from `bounds[i - 1]` up to, but not including, `bounds[i]`."""

    @property
    def parts(self) -> int:
        """Number of parts."""
        return len(self.bounds) + 1

    def part_of(self, time: int) -> int:
        """Return the number of the part that a time is in."""
        return int(np.searchsorted(self.bounds, time, side="right"))


def place(
    injection: Injection, bounds: Times, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows with four more columns: time, arrival in the source, identity and part."""
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        column = injection.arrival or injection.time
        times = injection.time.micros(rows, null=NEVER)
        base = column.micros(rows, null=NEVER)
        part = labels(len(bounds) + 1)[np.searchsorted(bounds, times, side="right")]
        own = {
            TIME: pa.array(times, mask=times == NEVER),
            BASE: pa.array(base, mask=base == NEVER),
            ID: pa.array(identify(rows).view(np.int64)),
            PART: pa.array(part),
        }
        yield from _with(rows, own).to_batches()


def give_fates(
    injection: Injection, origin: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows with their fates: both possible arrivals, and the draw."""
    for rows in _whole(batches):
        base = rows[BASE].fill_null(origin).to_numpy()
        fates = injection.fates(rows, base, numbered(rows[ID].to_numpy().view(np.uint64)), origin)
        own = {EARLY: fates.early, LATE: fates.late, DRAW: fates.draws}
        filled = rows.set_column(rows.schema.get_field_index(BASE), BASE, pa.array(base))
        arrays = {name: pa.array(values) for name, values in own.items()}
        yield from _with(filled, arrays).to_batches()


def source_first(facts: Facts, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the first arrival of the part in the source."""
    for number, part in _parts(facts, None, batches):
        yield _first_row(number, [part.source_first()])


def source_counts(
    facts: Facts, laters: list[First], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the number of rows out of order in the source; `laters` is as in `_Search.source`."""
    for number, part in _parts(facts, None, batches):
        count = int(np.count_nonzero(part.out_of_order(laters[number])))
        yield pa.RecordBatch.from_pydict({"rows": [count]})


def firsts(
    facts: Facts,
    source: list[First] | None,
    shares: Sequence[float],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield the first arrival of the part, for each share."""
    for number, part in _parts(facts, source, batches):
        yield _first_row(number, [part.first(share) for share in shares])


def counts(
    facts: Facts,
    source: list[First] | None,
    shares: Sequence[float],
    laters: list[list[First]],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield the counts of rows out of order and of rows delayed, for each share.

    `laters` has the first arrival of later parts, for each part and share.
    """
    for number, part in _parts(facts, source, batches):
        later = laters[number]
        counts = [part.count(*pair) for pair in zip(shares, later, strict=True)]
        columns = [pa.array([list(column)]) for column in zip(*counts, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, ["out_of_order", "delayed"])


def settle(
    facts: Facts,
    source: list[First] | None,
    share: float,
    field: pa.Field,
    injection: Injection,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield the rows with their arrivals, for the share that was found."""
    for rows in _whole(batches):
        arrivals = rows[EARLY].to_numpy().copy()
        timed = np.asarray(rows[TIME].is_valid())
        for _, part in _parts(facts, source, rows.to_batches()):
            arrivals[timed] = part.fates.arrivals(share)
        plain = rows.drop_columns([BASE, TIME, ID, EARLY, LATE, DRAW])
        arrived = with_arrival(plain, arrivals, field, injection.time.unit)
        ties = {name: rows[name] for name in (BASE, TIME, ID)}
        yield from _with(arrived, ties).to_batches()


def _parts(
    facts: Facts, source: list[First] | None, batches: Iterable[pa.RecordBatch]
) -> Iterator[tuple[int, Part]]:
    """Yield the one part that a partition holds, with its number, if any row has a time."""
    for table in _whole(batches):
        rows = table.filter(table[TIME].is_valid())
        if not rows.num_rows:
            return
        times, base, early, late, draws = (
            rows[name].to_numpy() for name in (TIME, BASE, EARLY, LATE, DRAW)
        )
        number = facts.part_of(times[0])
        part = Part(times, base, base, Fates(early, late, draws))
        if source is not None:
            part = part.leaving(part.out_of_order(source[number]))
        yield number, part


def _whole(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the batches of a partition as one table; nothing if there are none."""
    if together := list(batches):
        yield pa.Table.from_batches(together)


def _with(rows: pa.Table, columns: dict[str, pa.Array]) -> pa.Table:
    for name, values in columns.items():
        rows = rows.append_column(name, values)
    return rows.combine_chunks()


def _first_row(number: int, firsts: list[First]) -> pa.RecordBatch:
    arrivals, orders = zip(*firsts, strict=True)
    columns = [pa.array([number], pa.int32()), pa.array([arrivals]), pa.array([orders])]
    return pa.RecordBatch.from_arrays(columns, ["part", "arrivals", "orders"])
