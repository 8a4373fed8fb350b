"""Rows travel as Arrow tables: how they are joined, reordered and written down.

A `Batch` is a `pyarrow.Table`. Kernels never see one: they get its times and return positions,
and the rows are gathered here.

Written down, a batch is an Arrow IPC stream behind a checksum of it. Arrow itself reads some
damaged streams as other values, and ends the process on others.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from latecomer.errors import StateFormatError

Batch: TypeAlias = pa.Table
Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def concat(batches: Iterable[Batch], schema: pa.Schema) -> Batch:
    """Put batches one after the other; none gives an empty batch of the schema."""
    parts = [batch for batch in batches if batch.num_rows]
    return pa.concat_tables(parts) if parts else schema.empty_table()


def gather(batch: Batch, positions: npt.NDArray[np.integer]) -> Batch:
    """Take the rows at `positions`, in that order."""
    try:
        return _taken(batch, positions)
    except pa.ArrowInvalid:
        # Arrow makes one array of all that a column has, and one of text ends at 2 GiB.
        if len(positions) < _HALVES:
            raise
    return pa.concat_tables(_narrowed(batch, half) for half in np.array_split(positions, _HALVES))


_HALVES = 2


def _taken(batch: Batch, positions: npt.NDArray[np.integer]) -> Batch:
    return batch.take(pa.array(positions))


def _narrowed(batch: Batch, positions: npt.NDArray[np.integer]) -> Batch:
    """Gather rows, after all others are left out."""
    needed, at = np.unique(positions, return_inverse=True)
    is_needed = np.zeros(batch.num_rows, np.bool_)
    is_needed[needed] = True
    return gather(batch.filter(pa.array(is_needed)), at)


def combined(batch: Batch) -> Batch:
    """Make one array of each column, or few where one cannot hold it all."""
    try:
        return batch.combine_chunks()
    except pa.ArrowInvalid:
        return batch


def pieces(batch: Batch, most_rows: int, most_bytes: int) -> Iterator[Batch]:
    """Cut a batch into pieces with no more rows or bytes; a row stays whole, however large."""
    if not batch.num_rows:
        return
    # As many rows as would fit if all were alike; pieces with larger ones are cut again.
    step = max(1, min(most_rows, most_bytes * batch.num_rows // max(1, batch.nbytes)))
    if step >= batch.num_rows:
        yield batch
        return
    for start in range(0, batch.num_rows, step):
        yield from pieces(batch.slice(start, step), most_rows, most_bytes)


def retyped(batch: Batch, schema: pa.Schema) -> Batch:
    """Cast all columns; see `cast`."""
    pairs = zip(batch.select(schema.names).columns, schema.types, strict=True)
    return pa.table([cast(column, kind) for column, kind in pairs], schema)


def with_nulls(batch: Batch) -> Batch:
    """Say that all columns may have nulls, so that rows from two places can be put together."""
    return batch.cast(pa.schema([field.with_nullable(True) for field in batch.schema]))  # noqa: FBT003 - Arrow's own


def widened(batch: Batch, schema: pa.Schema, copied: Mapping[str, str] | None = None) -> Batch:
    """Give rows the columns of a schema: those that they do not have are null.

    Args:
        batch: The rows.
        schema: All columns; others are left out.
        copied: Columns that are copies of another one where rows do not have them.
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
    """Cast as Arrow does, but also null structs whose fields are not nullable.

    Below a null struct a field that is not nullable has a null nevertheless, at least as Spark
    writes it, and Arrow refuses to cast that. So the values are cast to a type that allows nulls
    everywhere, and then read as the type that was asked for; no value is copied for that.
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
    """The values of an array, as those of another type that has the same buffers."""

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
    """Write a batch, schema included."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression, use_threads=False)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_table(batch)
    written = sink.getvalue()
    return b"".join((_checksum(written), written))


def decode(blob: bytes) -> Batch:
    """Read what `encode` wrote. The rows point into `blob`; nothing is copied.

    Raises:
        StateFormatError: It is damaged.
    """
    written = pa.py_buffer(blob)
    stream = written[_CHECKSUM:]
    if written.size < _CHECKSUM or written[:_CHECKSUM].to_pybytes() != _checksum(stream):
        raise StateFormatError(
            f"rows that Latecomer wrote cannot be read: {written.size:,} bytes, and not those of "
            "their checksum.\n"
            "Hint: a disk or a network has damaged them. Start the query again; if it fails again, "
            "restore its checkpoint from a backup, or start with a new one."
        )
    return pa.ipc.open_stream(stream, options=_ALONE).read_all()


_ALONE = pa.ipc.IpcReadOptions(use_threads=False)
"""A worker has one core: threads would only have to wait for each other."""
_CHECKSUM = 8
"""Bytes of a checksum, so that all that follows is aligned."""


def _checksum(stream: pa.Buffer) -> bytes:
    return zlib.crc32(stream).to_bytes(_CHECKSUM, "little")
