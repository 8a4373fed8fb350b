"""Rows travel as Arrow tables: how they are joined, reordered and written down.

A `Batch` is a `pyarrow.Table`. Kernels never see one: they get its times and return positions,
and the rows are gathered here.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Batch: TypeAlias = pa.Table
Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def concat(batches: Iterable[Batch], schema: pa.Schema) -> Batch:
    """Put batches one after the other; none gives an empty batch of the schema."""
    parts = [batch for batch in batches if batch.num_rows]
    return pa.concat_tables(parts) if parts else schema.empty_table()


def gather(batch: Batch, positions: npt.NDArray[np.integer]) -> Batch:
    """Take the rows at `positions`, in that order."""
    return batch.take(pa.array(positions))


def encode(batch: Batch, compression: Literal["lz4"] | None = None) -> bytes:
    """Write a batch as an Arrow IPC stream, schema included."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression, use_threads=False)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_table(batch)
    return sink.getvalue().to_pybytes()


def decode(blob: bytes) -> Batch:
    """Read what `encode` wrote. The rows point into `blob`; nothing is copied."""
    return pa.ipc.open_stream(blob).read_all()
