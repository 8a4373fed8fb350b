"""The functions that run in Spark's Python workers to put disorder into a DataFrame: see `spark`.

Each function takes the Arrow batches of one partition, as `mapInArrow` passes them. `survey`,
`place` and `settle_at_once` take rows. `draw`, `settle` and `arrange` take parcels, those of the
same number one after the other. The others take fates, one Spark row for each part.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Positions, combined, decode, encode, gather
from latecomer.generate.injection.arrival_column import OWN, with_arrival
from latecomer.generate.injection.draws import has_equals, identify, numbered
from latecomer.generate.injection.fates import Fates, Injection, Part
from latecomer.hosts.spark.bucket_labels import labels
from latecomer.hosts.spark.parcels import gathered
from latecomer.kernels.hashing import Hashes, mixed
from latecomer.kernels.order import stable_order
from latecomer.kernels.overtaking import First
from latecomer.time import NEVER, Times, Unit

TIME, BASE, ID, ARRIVED = OWN + "time", OWN + "base", OWN + "id", OWN + "arrived"
EARLY, LATE, DRAW = OWN + "early", OWN + "late", OWN + "draw"

PARCEL = "label int, number int, blob binary"
"""Rows of one part or range: the label of its task, its number, and the rows as bytes."""
FATED = "number int, has_equals boolean, blob binary"
SURVEY = "rows long, timed long, based long, origin long, sample array<long>"

_SAMPLED = 256
"""One of so many rows is in a sample, by which parts and ranges are bounded."""


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


@dataclass(frozen=True, slots=True)
class Ranges:
    """Where rows go in the end: ranges of arrivals, spread over some tasks."""

    bounds: Times
    """Range `i` holds the arrivals from `bounds[i - 1]` up to, but not including, `bounds[i]`."""
    tasks: int


def survey(injection: Injection, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield how many rows there are, with a time and with an arrival, and a sample of the times."""
    for rows in gathered(iter(batches)):
        times, base = _times(injection, rows)
        timed, based = times[times != NEVER], base[base != NEVER]
        yield pa.RecordBatch.from_pydict(
            {
                "rows": [rows.num_rows],
                "timed": [len(timed)],
                "based": [len(based)],
                "origin": pa.array([int(based.min()) if len(based) else None], pa.int64()),
                "sample": pa.array([_sample(timed)], pa.list_(pa.int64())),
            }
        )


def place(
    injection: Injection,
    facts: Facts,
    tasks: int,
    batches: Iterable[pa.RecordBatch],
    *,
    only: Sequence[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in parcels by part, with their time, arrival in the source and identity.

    Parts are spread over a number of tasks. If there is `only`, just these columns are kept.
    """
    bounds = np.array(facts.bounds, np.int64)
    for rows in _identified(injection, facts.origin, batches, only):
        times = rows[TIME].to_numpy()
        yield from _parcels(rows, np.searchsorted(bounds, times, side="right"), facts.parts, tasks)


def draw(
    injection: Injection, origin: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the fates of the rows of each part that have a time, in time order."""
    for number, rows in _by_number(batches):
        times, base, ids = (rows[name].to_numpy() for name in (TIME, BASE, ID))
        ids = ids.view(np.uint64)
        order = _in_time(times)
        is_numbered = has_equals(ids)
        distinct = numbered(ids) if is_numbered else mixed(ids)
        fates = injection.fates(rows, base, distinct, origin).at(order)
        table = pa.table(
            {
                TIME: times[order],
                BASE: base[order],
                EARLY: fates.early,
                LATE: fates.late,
                DRAW: fates.draws,
            }
        )
        columns = [
            pa.array([number], pa.int32()),
            pa.array([is_numbered]),
            pa.array([encode(table)], pa.binary()),
        ]
        yield pa.RecordBatch.from_arrays(columns, ["number", "has_equals", "blob"])


def source_first(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the first arrival of the part in the source."""
    for number, part in _parts(None, batches):
        yield _first_row(number, [part.source_first()])


def source_counts(
    laters: list[First], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the number of rows out of order in the source; `laters` is as in `_Search.source`."""
    for number, part in _parts(None, batches):
        count = int(np.count_nonzero(part.out_of_order(laters[number])))
        yield pa.RecordBatch.from_pydict({"rows": [count]})


def firsts(
    source: list[First] | None,
    shares: Sequence[float],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield the first arrival of the part, for each share."""
    for number, part in _parts(source, batches):
        yield _first_row(number, [part.first(share) for share in shares])


def counts(
    source: list[First] | None,
    shares: Sequence[float],
    laters: list[list[First]],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield the counts of rows out of order and of rows delayed, for each share.

    `laters` has the first arrival of later parts, for each part and share.
    """
    for number, part in _parts(source, batches):
        later = laters[number]
        counts = [part.count(*pair) for pair in zip(shares, later, strict=True)]
        columns = [pa.array([list(column)]) for column in zip(*counts, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, ["out_of_order", "delayed"])


def sample(
    source: list[First] | None, share: float, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield a sample of the arrivals of each part, and whether some of its rows are equal."""
    for batch in batches:
        arrivals = [_sample(part.fates.arrivals(share)) for _, part in _parts(source, [batch])]
        found = pa.array([np.concatenate([np.empty(0, np.int64), *arrivals])])
        flags = pa.array([any(batch["has_equals"].to_pylist())])
        yield pa.RecordBatch.from_arrays([flags, found], ["has_equals", "sample"])


def settle(
    injection: Injection,
    facts: Facts,
    share: float,
    ranges: Ranges,
    source: list[First] | None,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of each part in parcels by arrival, for the share that was found."""
    for number, rows in _by_number(batches):
        fates = _fates(injection, facts, rows, numbered(rows[ID].to_numpy().view(np.uint64)))
        arrivals = fates.early.copy()
        times, base = rows[TIME].to_numpy(), rows[BASE].to_numpy()
        order = _in_time(times)
        part = _part(times[order], base[order], fates.at(order), source, number)
        arrivals[order] = part.fates.arrivals(share)
        yield from _sent(rows, arrivals, ranges)


def settle_at_once(
    injection: Injection,
    facts: Facts,
    share: float,
    ranges: Ranges,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield rows in parcels by arrival, if no two rows are equal and the source is in order."""
    for rows in _identified(injection, facts.origin, batches, None):
        fates = _fates(injection, facts, rows, mixed(rows[ID].to_numpy().view(np.uint64)))
        yield from _sent(rows, fates.arrivals(share), ranges)


def arrange(
    field: pa.Field, unit: Unit | None, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of each range in order of arrival.

    Ties are broken by the arrival in the source, then by time.
    """
    for _, rows in _by_number(batches):
        arrivals, *ties = (rows[name].to_numpy() for name in (ARRIVED, BASE, TIME, ID))
        order = stable_order(arrivals)
        equal = arrivals[order[1:]] == arrivals[order[:-1]]
        # Few rows arrive at the same instant. They fill the places that they have together.
        tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
        among = order[tied]
        order[tied] = among[np.lexsort([each[among] for each in (*ties[::-1], arrivals)])]
        plain = rows.drop_columns([ARRIVED, BASE, TIME, ID])
        result = with_arrival(gather(plain, order), arrivals[order], field, unit)
        yield from combined(result).to_batches()


def _identified(
    injection: Injection,
    origin: int,
    batches: Iterable[pa.RecordBatch],
    only: Sequence[str] | None,
) -> Iterator[Batch]:
    """Yield rows with their time, arrival in the source and identity, and `only` some columns."""
    for rows in gathered(iter(batches)):
        times, base = _times(injection, rows)
        own = {
            TIME: pa.array(times),
            BASE: pa.array(np.where(base == NEVER, origin, base)),
            ID: pa.array(identify(rows).view(np.int64)),
        }
        yield combined(_with(rows if only is None else rows.select(only), own))


def _times(injection: Injection, rows: Batch) -> tuple[Times, Times]:
    """Return the times and the arrivals in the source; `NEVER` where there is none."""
    times = injection.time.micros(rows, null=NEVER)
    if injection.arrival is None:
        return times, times
    return times, injection.arrival.micros(rows, null=NEVER)


def _fates(injection: Injection, facts: Facts, rows: Batch, ids: Hashes) -> Fates:
    return injection.fates(rows, rows[BASE].to_numpy(), ids, facts.origin)


def _in_time(times: Times) -> Positions:
    """Return the positions of the rows that have a time, in time order."""
    timed = np.flatnonzero(times != NEVER)
    return timed[stable_order(times[timed])]


def _part(times: Times, base: Times, fates: Fates, source: list[First] | None, number: int) -> Part:
    """Return some rows as a part; rows out of order in the source are never delayed."""
    part = Part(times, base, base, fates)
    return part if source is None else part.leaving(part.out_of_order(source[number]))


def _parts(
    source: list[First] | None, batches: Iterable[pa.RecordBatch]
) -> Iterator[tuple[int, Part]]:
    """Yield the parts whose fates these are, with their numbers, if any row has a time."""
    for number, rows in _by_number(batches):
        if rows.num_rows:
            times, base, *fates = (
                rows[name].to_numpy() for name in (TIME, BASE, EARLY, LATE, DRAW)
            )
            yield number, _part(times, base, Fates(*fates), source, number)


def _sent(rows: Batch, arrivals: Times, ranges: Ranges) -> Iterator[pa.RecordBatch]:
    """Yield the rows in parcels by the range of their arrivals."""
    numbers = np.searchsorted(ranges.bounds, arrivals, side="right")
    arrived = _with(rows, {ARRIVED: pa.array(arrivals)})
    return _parcels(arrived, numbers, len(ranges.bounds) + 1, ranges.tasks)


def _parcels(rows: Batch, numbers: Positions, most: int, tasks: int) -> Iterator[pa.RecordBatch]:
    """Yield one parcel for each part or range, of which there are `most`, over some tasks."""
    if (numbers[1:] < numbers[:-1]).any():
        # NumPy sorts 16-bit numbers by counting them: one pass.
        order = np.argsort(numbers.astype(np.uint16), kind="stable")
        rows, numbers = gather(rows, order), numbers[order]
    starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    for start, stop in pairwise([*starts.tolist(), rows.num_rows]):
        number = int(numbers[start])
        columns = [
            pa.array([labels(tasks)[number * tasks // most]], pa.int32()),
            pa.array([number], pa.int32()),
            pa.array([encode(rows.slice(start, stop - start))], pa.binary()),
        ]
        yield pa.RecordBatch.from_arrays(columns, ["label", "number", "blob"])


def _by_number(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Batch]]:
    """Yield the rows of all parcels of the same number together."""
    parcels = (
        (number, decode(blob.as_buffer()))
        for batch in batches
        for number, blob in zip(batch["number"].to_pylist(), batch["blob"], strict=True)
    )
    for number, group in groupby(parcels, itemgetter(0)):
        tables = [rows for _, rows in group]
        yield number, tables[0] if len(tables) == 1 else combined(pa.concat_tables(tables))


def _sample(times: Times) -> Times:
    """Return some of the times, evenly from the first to the last."""
    count = -(-len(times) // _SAMPLED)
    ranks = (np.arange(count) + 0.5) * len(times) / max(count, 1)
    return np.sort(times)[ranks.astype(np.int64)]


def _with(rows: Batch, columns: dict[str, pa.Array]) -> Batch:
    for name, values in columns.items():
        rows = rows.append_column(name, values)
    return rows


def _first_row(number: int, firsts: list[First]) -> pa.RecordBatch:
    arrivals, orders = zip(*firsts, strict=True)
    columns = [pa.array([number], pa.int32()), pa.array([arrivals]), pa.array([orders])]
    return pa.RecordBatch.from_arrays(columns, ["part", "arrivals", "orders"])
