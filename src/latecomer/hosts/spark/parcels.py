"""Pack rows into one blob per bucket, and unpack them again.

Spark passes rows to a stateful Python function one at a time; a million rows cost seconds before
any work is done. So rows travel in *parcels*. A parcel is one Spark row that holds up to some
hundred thousand of the user's rows of one bucket, sorted by time, as an Arrow IPC stream. The
shuffle then moves a handful of rows:

    rows ─pack─▶ parcels ─stage─▶ outputs ─unpack─▶ rows
                                  outputs ─repack─▶ parcels ─stage─▶ …

These functions run in Spark's Python workers, which have to import this module.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from latecomer.batch import Batch, concat, decode, encode, retyped
from latecomer.clock.source_clocks import told
from latecomer.errors import withheld
from latecomer.hosts.buckets import spread
from latecomer.hosts.entry import admit
from latecomer.hosts.late import AHEAD
from latecomer.hosts.spark.batch_clock import BatchClock
from latecomer.hosts.spark.bucket_labels import labels
from latecomer.hosts.spark.garbage import spare_modules
from latecomer.hosts.spark.spark_clock import check_since_1970
from latecomer.kernels.order import stable_order
from latecomer.operators.aggregates.summary import ROWS
from latecomer.operators.base import EarlyAggregation
from latecomer.operators.temporal.edges import AT
from latecomer.plan import Plan, Source
from latecomer.time import NEVER, TimeColumn, Times

PARCEL_ROWS = 262_144
PARCEL_BYTES = 64 << 20
"""Limits up to which rows are gathered before they are packed."""

NOW = "_lc_now"
"""Column with the wall clock, if the plan needs it."""

STATES, CHECK, TICK_OF, SOURCES, ASSUMED = "states", "check", "tick", "sources", "assumed"
"""Kinds of parcels besides rows: states of aggregated rows, rows to be checked for lateness, the
wall clock, the times of the sources, and the clock by which rows were packed. Any other kind is an
output that goes on unchanged."""
ROWS_OF = b"latecomer.rows"
"""Key of the metadata in which states carry the columns of the rows that they were made of."""

AT_TIME = TimeColumn(AT, "us")

PARCEL = "bucket int, part long, kind string, rows long, newest long, blob binary"
OUTPUT = "output string, rows long, blob binary"

_PARCEL_SCHEMA = pa.schema(
    {
        "bucket": pa.int32(),
        "part": pa.int64(),
        "kind": pa.string(),
        "rows": pa.int64(),
        "newest": pa.int64(),
        "blob": pa.binary(),
    }
)

ArrowFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class Parcel(NamedTuple):
    """Some rows of one bucket, as they go through the shuffle."""

    bucket: int
    kind: str
    rows: int
    newest: int
    """Largest time of the rows; `NEVER` if they do not move the clock."""
    blob: bytes


def packer(
    plan: Plan,
    buckets: int,
    spread: int,
    columns: pa.Schema | None = None,
    *,
    clock: BatchClock | None = None,
    since_1970: bool = False,
) -> ArrowFunction:
    """Return the function that packs a stream's rows for its first stage, for mapInArrow.

    Args:
        plan: The plan of the stream.
        buckets: Number of buckets over which keys are spread.
        spread: Number of buckets over which to spread rows that any bucket can check for
            lateness; 0 if none of them can be late.
        columns: All columns of the stream, if the rows come with only some of them.
        clock: The clock of the micro-batch, if tasks can read it.
        since_1970: Refuse rows before 1970, which do not move Spark's clock.
    """
    return partial(_pack, plan, buckets, spread, _Read(columns, clock, since_1970))


class _Read(NamedTuple):
    """How rows are read; see `packer`."""

    columns: pa.Schema | None
    clock: BatchClock | None
    since_1970: bool


def _pack(
    plan: Plan, buckets: int, spread: int, read: _Read, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    def parcels() -> Iterator[list[Parcel]]:
        last = NEVER
        shown = None if read.clock is None else read.clock.shown()
        for number, rows in enumerate(gathered(batches)):
            with withheld(if_redacted=plan.is_redacted):
                kept, late = _admitted(plan, rows)
                if read.since_1970:
                    check_since_1970(plan.source, kept)
                if plan.first is not None:
                    last = plan.first.checked(kept, last)
            if plan.stages[0].as_read or plan.moves_late_rows:
                # Late rows that are moved must not overtake others of equal time.
                packed = _as_read(plan, kept, buckets)
            elif (early := plan.early) is None:
                packed = _by_bucket(plan.source.time, plan.stages[0].key, kept, buckets)
            else:
                packed = _aggregated(plan, early, kept, buckets, read.columns)
                if spread and plan.needs_late_rows and kept.num_rows:
                    to = int(labels(spread)[(_task() + number) % spread])
                    late += _checks(plan, kept, to, read.clock, shown)
            if spread and plan.clock.is_by_source and kept.num_rows:
                heard = encode(told(plan.clock, plan.source.time, kept))
                late += _to_all(Parcel(0, SOURCES, 0, NEVER, heard), buckets=spread)
            yield [*late, *packed]

    return _numbered(parcels())


def _checks(
    plan: Plan, rows: Batch, bucket: int, clock: BatchClock | None, shown: int | None
) -> Iterator[Parcel]:
    """Pack rows that a bucket has to check for lateness: all, or the late ones if they are known.

    The bucket counts the delays of the rows that it is sent; those of the others are sent to it.
    """
    if clock is not None and shown is not None:
        rows, delays = clock.late(plan, rows, shown)
        yield Parcel(bucket, ASSUMED, shown, NEVER, json.dumps(delays).encode())
    if rows.num_rows:
        yield Parcel(bucket, CHECK, rows.num_rows, NEVER, encode(rows))


def _aggregated(
    plan: Plan,
    early: EarlyAggregation,
    rows: Batch,
    buckets: int,
    columns: pa.Schema | None = None,
) -> Iterator[Parcel]:
    """Aggregate rows before the shuffle, so that only a state per window and key travels."""
    if not rows.num_rows:
        return
    newest = int(plan.source.time.micros(rows).max())
    schema = rows.schema
    if columns is not None:
        read = set(schema.names)
        schema = pa.schema([schema.field(f.name) if f.name in read else f for f in columns])
    yield from _states(plan, early.partial(rows), schema, newest, buckets)


def _states(
    plan: Plan, states: Batch, schema: pa.Schema, newest: int, buckets: int
) -> Iterator[Parcel]:
    """Pack states into one parcel per bucket; `schema` is that of the rows they were made of."""
    # The bucket receives states without rows, so the schema of the rows travels with them.
    states = states.replace_schema_metadata({ROWS_OF: schema.serialize().to_pybytes()})
    counts = states.column(ROWS).to_numpy()
    for bucket, part, at in spread(plan.stages[0].key, states, buckets):
        held = int(counts[at].sum())
        yield Parcel(int(labels(buckets)[bucket]), STATES, held, newest, encode(part))


def tick(buckets: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Send the wall clock to all buckets, for mapInArrow."""
    shown = [time.as_py() for batch in batches for time in batch.column(0)]
    if shown:
        told = [Parcel(int(label), TICK_OF, max(shown), NEVER, b"") for label in labels(buckets)]
        yield from _numbered([told])


def repack(
    plan: Plan, at: int, buckets: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Pack the output of a stage for stage `at`, for mapInArrow."""

    def parcels() -> Iterator[list[Parcel]]:
        for batch in batches:
            for output, rows, blob in zip(*batch.columns, strict=True):
                if output.as_py() == "ready":
                    ready = decode(blob.as_buffer())
                    time = AT_TIME if AT in ready.column_names else plan.source.time
                    stage = plan.stages[at]
                    if stage.everywhere:
                        yield [*_to_all(*_by_bucket(time, (), ready, 1), buckets=buckets)]
                    else:
                        yield [*_by_bucket(time, stage.key, ready, buckets)]
                else:
                    # Late rows and counts go on unchanged.
                    kept = Parcel(_ANY_BUCKET, output.as_py(), rows.as_py(), NEVER, blob.as_py())
                    yield [kept]

    return _numbered(parcels())


def restate(
    plan: Plan, schema: pa.Schema, buckets: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Pack held states, given as blobs, for other buckets; `schema` is that of their rows."""

    def parcels() -> Iterator[list[Parcel]]:
        for batch in batches:
            for blob in batch.column("blob"):
                yield [*_states(plan, decode(blob.as_buffer()), schema, NEVER, buckets)]

    return _numbered(parcels())


_ANY_BUCKET = int(labels(1)[0])


def _to_all(*parcels: Parcel, buckets: int) -> Iterator[Parcel]:
    for label in labels(buckets):
        for parcel in parcels:
            yield parcel._replace(bucket=int(label))


def _numbered(parcels: Iterable[list[Parcel]]) -> Iterator[pa.RecordBatch]:
    """Number the parcels: the shuffle loses their order, and the numbers restore it."""
    part = _task() << 32
    for group in parcels:
        rows, size = [], 0
        for parcel in group:
            rows.append({"part": part, **parcel._asdict()})
            part += 1
            size += len(parcel.blob)
            # An Arrow array of bytes ends at 2 GiB, and a parcel may go to each of many buckets.
            if size >= PARCEL_BYTES:
                yield pa.RecordBatch.from_pylist(rows, _PARCEL_SCHEMA)
                rows, size = [], 0
        if rows:
            yield pa.RecordBatch.from_pylist(rows, _PARCEL_SCHEMA)
    spare_modules()


def renamed(
    names: Sequence[str], function: ArrowFunction, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Rename the columns before `function`, for mapInArrow."""
    return function(batch.rename_columns(names) for batch in batches)


def _task() -> int:
    task = TaskContext.get()
    return task.partitionId() if task else 0


def gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[Batch]:
    """Combine Spark's small batches into larger ones."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= PARCEL_ROWS or size >= PARCEL_BYTES:
            yield pa.Table.from_batches(waiting).replace_schema_metadata(None)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(waiting).replace_schema_metadata(None)


def without_wall_clock(source: Source, rows: Batch) -> tuple[Batch, Times | None]:
    """Return the rows without the wall clock, and the arrival of each if the plan needs it."""
    if NOW not in rows.column_names:
        return rows, None
    arrived = rows.column(NOW).to_numpy()
    rows = rows.drop_columns([NOW])
    if arrival := source.arrival:
        arrived = np.where(arrival.is_null(rows), arrived, arrival.micros(rows))
    return rows, arrived


def _admitted(plan: Plan, rows: Batch) -> tuple[Batch, list[Parcel]]:
    rows, arrived = without_wall_clock(plan.source, rows)
    if plan.source.rows is not None:
        rows = retyped(rows, plan.source.rows)
    kept, late = admit(plan, rows, arrived)
    if not late.num_rows:
        return kept, []
    aside = [Parcel(_ANY_BUCKET, plan.source.late, late.num_rows, NEVER, encode(late))]
    if ahead := late.column("_reason").to_pylist().count(AHEAD):
        aside.append(Parcel(_ANY_BUCKET, AHEAD, ahead, NEVER, b""))
    return kept, aside


def _by_bucket(
    time: TimeColumn, key: tuple[str, ...], rows: Batch, buckets: int
) -> Iterator[Parcel]:
    """Pack rows into one parcel per bucket, in time order."""
    if not rows.num_rows:
        return
    times = time.micros(rows)
    for bucket, part, at in spread(key, rows, buckets, stable_order(times)):
        newest = int(times[at[-1]])
        yield Parcel(int(labels(buckets)[bucket]), "rows", part.num_rows, newest, encode(part))


def _as_read(plan: Plan, rows: Batch, buckets: int) -> Iterator[Parcel]:
    """Pack rows into one parcel per bucket, in the order in which they were read."""
    if not rows.num_rows:
        return
    newest = int(plan.source.time.micros(rows).max())
    if plan.stages[0].everywhere:
        whole = Parcel(0, "rows", rows.num_rows, newest, encode(rows))
        yield from _to_all(whole, buckets=buckets)
        return
    for bucket, part, _ in spread(plan.stages[0].key, rows, buckets):
        yield Parcel(int(labels(buckets)[bucket]), "rows", part.num_rows, newest, encode(part))


def unpack_lists(blobs: pa.Array, schema: pa.Schema) -> pa.Array:
    """Turn each blob into a list of rows, for arrow_udf."""
    tables = [retyped(decode(blob.as_buffer()), schema) for blob in blobs]
    rows = concat(tables, schema).to_struct_array().combine_chunks()
    ends = np.cumsum([0, *(table.num_rows for table in tables)])
    spare_modules()
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), rows)


def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn blobs back into rows, for mapInArrow."""
    for batch in batches:
        for blob in batch.column("blob"):
            yield from decode(blob.as_buffer()).to_batches()
    spare_modules()
