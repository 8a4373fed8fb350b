"""A hash of key columns that is the same in every process, on every machine.

It decides which bucket a row goes to, in every micro-batch and after every restart, so it must
never change. Python's own `hash` differs from process to process, and Spark's is not available
between two stages. Equal values have equal hashes. All nulls have the same hash, and so do all
NaNs; 0.0 and -0.0 are equal.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

_NULL = np.uint64(0x9E3779B97F4A7C15)
_NONE = np.empty(0, np.uint64)
_SHORT = (pa.date32(), pa.time32("s"), pa.time32("ms"))
_BASE = np.uint64(0x100000001B3)
_SLICE = 1 << 18
"""Number of bytes of text hashed at once; each takes some forty bytes of memory meanwhile."""


def hash_columns(columns: Sequence[pa.ChunkedArray], rows: int) -> Hashes:
    """Return a hash of each row of the key columns. Without columns, all hashes are equal."""
    result = np.zeros(rows, np.uint64)
    for column in columns:
        numbers = [_numbers(chunk) for chunk in column.chunks]
        one = numbers[0] if len(numbers) == 1 else np.concatenate([_NONE, *numbers])
        values = mixed(one)
        if column.null_count:
            values[np.asarray(column.is_null())] = _NULL
        result = mixed(result * np.uint64(31) + values)
    return result


def _numbers(values: pa.Array) -> Hashes:
    kind = values.type
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int64())
    elif pa.types.is_floating(kind):
        floats = values.cast(pa.float64()).fill_null(0).to_numpy() + 0.0
        return np.where(np.isnan(floats), np.nan, floats).view(np.uint64)
    elif pa.types.is_temporal(kind):
        values = values.view(pa.int32() if kind in _SHORT else pa.int64())
    if pa.types.is_integer(values.type):
        whole = values.fill_null(0) if values.null_count else values
        return whole.to_numpy().astype(np.int64, copy=False).view(np.uint64)
    if pa.types.is_decimal(kind):
        values = values.cast(pa.string())
    return _bytes(values.cast(pa.large_binary()))


def _bytes(values: pa.LargeBinaryArray) -> Hashes:
    """Return hashes of strings, read as numbers to the base `_BASE` modulo 2^64.

    The bytes of all strings are processed in slices. A string may extend over several slices; each
    part is then multiplied by the power of the base for the bytes before it.
    """
    values = values.fill_null(b"")
    _, offset_buffer, data_buffer = values.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[
        values.offset : values.offset + len(values) + 1
    ]
    data = np.frombuffer(data_buffer or b"", np.uint8)[offsets[0] : offsets[-1]]
    lengths = np.diff(offsets)
    starts, ends = offsets[:-1] - offsets[0], offsets[1:] - offsets[0]
    powers = np.cumprod(np.full(min(int(lengths.max(initial=0)), _SLICE), _BASE))
    result = lengths.astype(np.uint64)
    for first in range(0, len(data), _SLICE):
        part = data[first : first + _SLICE]
        low = np.searchsorted(ends, first, side="right")
        high = np.searchsorted(starts, first + len(part))
        rows = low + np.flatnonzero(lengths[low:high])
        begins = np.maximum(starts[rows] - first, 0)
        places = np.arange(len(part)) - np.repeat(begins, np.diff(begins, append=len(part)))
        sums = np.add.reduceat((part.astype(np.uint64) + np.uint64(1)) * powers[places], begins)
        # Only the first string can have begun in an earlier slice.
        before = max(0, first - int(starts[rows[0]]))
        sums[:1] *= np.uint64(pow(int(_BASE), before, 1 << 64))
        result[rows] += sums
    return result


def mixed(values: Hashes) -> Hashes:
    """Mix the bits of values (the finalizer of SplitMix64, public domain, S. Vigna)."""
    # In place: making arrays takes as long as mixing.
    result = values >> np.uint64(30)
    result ^= values
    result *= np.uint64(0xBF58476D1CE4E5B9)
    high = result >> np.uint64(27)
    result ^= high
    result *= np.uint64(0x94D049BB133111EB)
    np.right_shift(result, np.uint64(31), out=high)
    result ^= high
    return result
