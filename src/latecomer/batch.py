"""Rows as Arrow tables: how they are concatenated, gathered, cast and written to bytes.

A `Batch` is a `pyarrow.Table`. Kernels never see one: they get its times and return positions,
and the rows are gathered here.

A batch is written as a checksum followed by an Arrow IPC stream. The checksum is needed because
Arrow reads some damaged streams as other values, and crashes the process on others.
"""

import ctypes
import platform
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from latecomer.errors import StateFormatError

Batch: TypeAlias = pa.Table
Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def concat(batches: Iterable[Batch], schema: pa.Schema) -> Batch:
    """Return the batches as one, or an empty batch with the schema if there are no rows."""
    parts = [batch for batch in batches if batch.num_rows]
    return pa.concat_tables(parts) if parts else schema.empty_table()


def gather(batch: Batch, positions: npt.NDArray[np.integer]) -> Batch:
    """Return the rows at `positions`, in that order."""
    try:
        return _taken(batch, positions)
    except pa.ArrowInvalid:
        # Arrow puts all chunks of a column into one array, and what it takes of them into another.
        # An array of text holds at most 2 GiB.
        if not len(positions):
            return batch.slice(0, 0)
        if len(positions) == batch.num_rows == 1:
            raise
    parts = np.array_split(positions, min(2, len(positions)))
    return pa.concat_tables(_narrowed(batch, part) for part in parts)


def _taken(batch: Batch, positions: npt.NDArray[np.integer]) -> Batch:
    return batch.take(pa.array(positions))


def _narrowed(batch: Batch, positions: npt.NDArray[np.integer]) -> Batch:
    """Gather rows from a copy of the batch that has only the rows needed."""
    needed, at = np.unique(positions, return_inverse=True)
    is_needed = np.zeros(batch.num_rows, np.bool_)
    is_needed[needed] = True
    return gather(batch.filter(pa.array(is_needed)), at)


def is_true(column: pa.ChunkedArray) -> Mask:
    """Mark the values of a boolean column that are true; null counts as false."""
    return np.asarray(column.fill_null(False))  # noqa: FBT003 - Arrow's own


@cache
def keep_freed_memory() -> None:
    """Let this process use the memory of freed arrays again, up to 256 MiB of it.

    By default glibc returns arrays of more than 128 KiB to the system when they are freed. The next
    array is then mapped anew, and the system clears each of its pages, which took half the time of
    a sliding sum. glibc stops doing so for arrays up to the size of the largest that was ever
    mapped and freed, if that is at most 32 MiB. So one array of nearly this size is made and freed,
    without writing to it.

    glibc then keeps 64 MiB of freed memory. A sliding maximum over 250,000 rows needs more, and
    took twice as long in some runs, so the limit is raised. Other systems are not affected.
    """
    np.empty(_LARGEST_KEPT, np.uint8)
    _limit_kept(_MOST_KEPT)


@cache
def keep_more_freed_memory() -> None:
    """Do the same with up to 1 GiB, for a process that may process whole tables in one batch.

    With 256 MiB a sliding sum over two million rows in one batch took twice as long
    (`benchmarks.batch_sizes`). Workers of Spark keep less: there is one for each core.
    """
    # Called first, because its later calls do nothing, and so do not lower the limit.
    keep_freed_memory()
    _limit_kept(_MOST_KEPT_ALONE)


def _limit_kept(size: int) -> None:
    """Let glibc keep so many bytes of freed memory."""
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(_TRIM_THRESHOLD, size)


_LARGEST_KEPT = (32 << 20) - (1 << 16)
"""Bytes of an array, a little less than what glibc would never keep."""
_MOST_KEPT = 256 << 20
"""Bytes of freed memory that glibc does not return to the system."""
_MOST_KEPT_ALONE = 1 << 30
"""The same, where one process runs the whole query."""
_TRIM_THRESHOLD = -1
"""`M_TRIM_THRESHOLD` in malloc.h: the limit that `_MOST_KEPT` is set for."""


def combined(batch: Batch) -> Batch:
    """Return the batch with one array per column, or unchanged if one array is too small."""
    try:
        return batch.combine_chunks()
    except pa.ArrowInvalid:
        return batch


def pieces(batch: Batch, most_rows: int, most_bytes: int) -> Iterator[Batch]:
    """Cut a batch into pieces of limited rows and bytes; a single row is never split."""
    if not batch.num_rows:
        return
    # The step fits if all rows are equally large; pieces with larger rows are cut again.
    step = max(1, min(most_rows, most_bytes * batch.num_rows // max(1, batch.nbytes)))
    if step >= batch.num_rows:
        yield batch
        return
    for start in range(0, batch.num_rows, step):
        yield from pieces(batch.slice(start, step), most_rows, most_bytes)


def retyped(batch: Batch, schema: pa.Schema) -> Batch:
    """Return the columns of the schema, each cast to its type; see `cast`."""
    pairs = zip(batch.select(schema.names).columns, schema.types, strict=True)
    return pa.table([cast(column, kind) for column, kind in pairs], schema)


def with_nulls(batch: Batch) -> Batch:
    """Return the batch with all columns nullable, so that it can be concatenated with others."""
    return batch.cast(pa.schema([field.with_nullable(True) for field in batch.schema]))  # noqa: FBT003 - Arrow's own


def widened(batch: Batch, schema: pa.Schema, copied: Mapping[str, str] | None = None) -> Batch:
    """Return rows with the columns of a schema; columns that they do not have are null.

    Args:
        batch: The rows.
        schema: The columns to return; others are left out.
        copied: Missing columns that are filled with a copy of another column, by name.
    """
    if batch.schema.equals(schema):
        return batch
    columns = []
    for field in schema:
        name = field.name
        if name not in batch.column_names and copied is not None:
            name = copied.get(name, name)
        is_there = name in batch.column_names
        columns.append(batch.column(name) if is_there else pa.nulls(batch.num_rows, field.type))
    return pa.table(columns, schema)


def cast(column: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Cast as Arrow does, but also accept null structs whose fields are not nullable.

    Where a struct is null, Spark writes nulls for its fields too, even for fields that are not
    nullable, and Arrow refuses to cast those. So the values are cast to a type that allows nulls
    everywhere, and then read as the requested type; this second step copies nothing.
    """
    if column.type == kind:
        return column
    if not pa.types.is_nested(kind):
        return column.cast(kind)
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([cast(chunk, kind) for chunk in column.chunks], kind)
    return pa.array(_ReadAs(column.cast(_loose(kind)), kind))


@dataclass(frozen=True, slots=True)
class _ReadAs:
    """The values of an array, read as another type with the same buffers."""

    values: pa.Array
    kind: pa.DataType

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Export the values under the other type, by Arrow's PyCapsule interface."""
        return self.kind.__arrow_c_schema__(), self.values.__arrow_c_array__()[1]


def _loose(kind: pa.DataType) -> pa.DataType:
    """Return the type with nulls allowed in all nested fields."""

    def loose(field: pa.Field) -> pa.Field:
        return field.with_type(_loose(field.type)).with_nullable(True)  # noqa: FBT003 - Arrow's own

    if pa.types.is_struct(kind):
        return pa.struct([loose(field) for field in kind])
    if pa.types.is_map(kind):
        key = kind.key_field.with_type(_loose(kind.key_type))
        return pa.map_(key, loose(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(loose(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(loose(kind.value_field))
    return kind


def encode(batch: Batch, compression: Literal["lz4"] | None = None) -> bytes:
    """Return a batch as bytes, schema included."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression, use_threads=False)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_table(batch)
    written = sink.getvalue()
    return b"".join((_checksum(written), written))


def decode(blob: bytes) -> Batch:
    """Return the batch that `encode` wrote. The rows point into `blob`; nothing is copied.

    Raises:
        StateFormatError: The bytes are damaged.
    """
    written = pa.py_buffer(blob)
    stream = written[_CHECKSUM:]
    if written.size < _CHECKSUM or written[:_CHECKSUM].to_pybytes() != _checksum(stream):
        raise StateFormatError(
            f"rows that Latecomer wrote are damaged: {written.size:,} bytes do not match their "
            "checksum.\n"
            "Hint: a disk or a network has changed them. Start the query again; if it fails "
            "again, restore its checkpoint from a backup, or start with a new one."
        )
    return pa.ipc.open_stream(stream, options=_ALONE).read_all()


_ALONE = pa.ipc.IpcReadOptions(use_threads=False)
"""Options without threads: a worker has one core, so threads would only wait for each other."""
_CHECKSUM = 8
"""Bytes of a checksum: a multiple of 8, so that the stream behind it is aligned."""


def _checksum(stream: pa.Buffer) -> bytes:
    return zlib.crc32(stream).to_bytes(_CHECKSUM, "little")


def typed_names(schema: pa.Schema) -> str:
    """Return the columns of a schema, with their types, for the message of an error."""
    return ", ".join(f'"{field.name}" {field.type}' for field in schema)


def row_text(row: Mapping[str, object]) -> str:
    """Return a row for an error message, for example "time=2024-05-01 12:00:00, key=a"."""
    return ", ".join(f"{name}={value}" for name, value in row.items())
