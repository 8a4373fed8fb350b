"""Random choices that depend on the row, not on the order in which rows are read.

A generator that is advanced row by row gives another stream when the rows are read in another
order, or by two workers. Here each row has draws of its own: its *identity*, a hash of all its
columns, is mixed with the seed and with the purpose of the draw. So the same seed makes the same
choices on any number of cores, for any partitioning, on Spark or without it. The two choices about
a row, whether to delay it and by how much, are independent.

Rows that are equal in every column have the same identity, so they are numbered. Since they are
equal, it does not matter which of them gets which number.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from latecomer.kernels.hashing import Hashes, hash_columns, mixed

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MASK = 2**64 - 1


def identify(table: pa.Table) -> Hashes:
    """Return a hash of all columns of each row; equal values of different width hash alike."""
    return hash_columns([_plain(column) for column in table.columns], table.num_rows)


def numbered(ids: Hashes) -> Hashes:
    """Return distinct identities: equal ones are mixed with the number of equal ones before."""
    if not has_equals(ids):
        # Most tables have no two equal rows, and sort takes a tenth of the time of argsort.
        return mixed(ids)
    ascending = np.sort(ids)
    order = np.argsort(ids, kind="stable")
    starts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])[: len(ids)])
    numbers = np.arange(len(ids)) - np.repeat(starts, np.diff(np.append(starts, len(ids))))
    result = np.empty_like(ids)
    result[order] = mixed(ascending + numbers.astype(np.uint64) * _STEP)
    return result


def has_equals(ids: Hashes) -> bool:
    """Return True if two identities are equal."""
    ascending = np.sort(ids)
    return bool((ascending[1:] == ascending[:-1]).any())


def uniform(ids: Hashes, seed: int, purpose: int) -> npt.NDArray[np.float64]:
    """Return a number in [0, 1) for each identity, independent for each seed and purpose."""
    salt = mixed(mixed(np.array([seed & _MASK], np.uint64)) + np.array([purpose], np.uint64))
    return (mixed(ids ^ salt) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in a form that can be hashed, the same for Spark and for files."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _plain(column.cast(kind.value_type))
    if _zoneless(kind) != kind:
        # Spark has only microseconds, and only its own time zone.
        column = column.cast(_zoneless(kind), safe=False)
    if any(is_kind(column.type) for is_kind in _HASHED):
        return column
    # Slow but correct: different values have a different `repr`.
    return pa.chunked_array([[repr(value) for value in column.to_pylist()]], pa.string())


_HASHED = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_timestamp,
    pa.types.is_duration,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
)


def _zoneless(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return pa.timestamp("us")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_zoneless(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_zoneless(kind.value_type)))
    return kind
