"""Rows side by side by group, so that a group is a slice.

To aggregate rows by group, they are put in order of their groups, once for all aggregates; rows of
one group keep their order. A group is then a slice, and one call computes a value for all of them:

    rows     a3 b1 a4 b1 c9            order     0 2 │ 1 3 │ 4
    groups   a  b  a  b  c             bounds    0   2     4   5

Rows that do not count (nulls, those that fail a filter) leave their slice, which may become empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.batch import Mask, Positions
from latecomer.kernels.order import stable_order
from latecomer.time import Times

Values = npt.NDArray[Any]

_FEW = 1 << 16
_MANY = 1 << 40


@dataclass(frozen=True)
class Slices:
    """The bounds of groups: group g has the rows from `bounds[g]` to `bounds[g + 1]`."""

    bounds: Positions

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @cached_property
    def lengths(self) -> Positions:
        """Number of rows of each group."""
        return np.diff(self.bounds)

    @cached_property
    def empties(self) -> Mask | None:
        """Mask of the groups without rows; None if there are none."""
        return None if self.lengths.all() else self.lengths == 0

    def is_one_each(self, values: Values) -> bool:
        """Return True if each group has one row."""
        # If no group is empty, and there are as many groups as rows, each has one.
        return len(self) == len(values) and self.empties is None

    @property
    def groups(self) -> Positions:
        """Group of each row."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def keep(self, mask: Mask) -> Slices:
        """Return the slices of the rows that are kept."""
        return Slices(np.concatenate([[0], np.cumsum(mask)])[self.bounds])

    def within(self, offsets: Positions) -> Slices:
        """Return slices of list values: row i has those from `offsets[i]` to `offsets[i + 1]`."""
        return Slices(offsets[self.bounds] - offsets[0])

    def reduce(self, function: np.ufunc, values: Values, empty: float) -> Values:
        """Reduce each slice to one value; an empty one gives `empty`."""
        if self.is_one_each(values):
            return values.copy()
        is_filled = self.lengths > 0
        result = np.full(len(self), empty, values.dtype)
        if is_filled.any():
            # Infinities and NaNs are ordinary values here, and need no warning.
            with np.errstate(all="ignore"):
                result[is_filled] = function.reduceat(values, self.bounds[:-1][is_filled])
        return result

    def spread(self, values: Values) -> Values:
        """Return, for each row, the value of its group."""
        return np.repeat(values, self.lengths)

    def order(self, *values: Values) -> Positions:
        """Return the order of rows by group, then by the first values, then by the next ones.

        NaNs are last; rows equal in all values keep their order.
        """
        return np.lexsort((*reversed(values), self.groups))

    def top(self, count: int) -> Mask:
        """Mark the first `count` rows of each group, or all if it has fewer."""
        return np.arange(self.bounds[-1]) - self.spread(self.bounds[:-1]) < count

    def changes(self, values: Values) -> Mask:
        """Mark the rows whose value differs from the row before, and the first of each group."""
        marks = np.ones(len(values), np.bool_)
        marks[1:] = values[1:] != values[:-1]
        marks[self.bounds[:-1][self.lengths > 0]] = True
        return marks

    def first(self, mask: Mask) -> Positions:
        """Return the position of the first marked row of each group; -1 where there is none."""
        kept = self.keep(mask)
        return _at(np.flatnonzero(mask), kept.bounds[:-1], kept.lengths > 0)

    def last(self, mask: Mask) -> Positions:
        """Return the position of the last marked row of each group; -1 where there is none."""
        kept = self.keep(mask)
        return _at(np.flatnonzero(mask), kept.bounds[1:] - 1, kept.lengths > 0)


def _at(rows: Positions, places: Positions, is_filled: Mask) -> Positions:
    found = np.full(len(places), -1)
    found[is_filled] = rows[places[is_filled]]
    return found


def by_group(columns: Sequence[pa.ChunkedArray], rows: int) -> tuple[Positions, Slices]:
    """Return rows in order of their groups, in which rows are equal in all columns.

    Nulls are equal to each other, and so are NaNs, and 0.0 and -0.0. Groups ascend in the first
    column if it is of integers. Rows of one group keep their order.

    Returns:
        The order, and the slices of the rows in that order.
    """
    numbers, count = group_codes(columns, rows)
    order = group_order(numbers, count)
    return order, slices_of(numbers[order])


def slices_of(codes: Values) -> Slices:
    """Return the slices of rows with equal numbers, which are adjacent."""
    starts = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    ends = [len(codes)] if len(codes) else []
    return Slices(np.concatenate([[0], starts, ends]).astype(np.int64))


def group_order(codes: Positions, count: int, times: Times | None = None) -> Positions:
    """Return the order of rows by the numbers of their groups, and within a group by times.

    Numbers are at least 0 and less than `count`. Without times, and where they are equal, rows keep
    their order.
    """
    before = None if times is None else stable_order(times)
    codes = codes if before is None else codes[before]
    # NumPy sorts 16-bit numbers with a radix sort, which is fast.
    order = (
        np.argsort(codes.astype(np.uint16), kind="stable") if count <= _FEW else stable_order(codes)
    )
    return order if before is None else before[order]


def group_codes(columns: Sequence[pa.ChunkedArray], rows: int) -> tuple[Positions, int]:
    """Number the groups of rows; return the numbers, and a bound that all of them are below."""
    codes, count = np.zeros(rows, np.int64), 1
    for column in columns:
        more, values = _codes(column)
        if count * values > _MANY:
            codes, count = _dense(codes)
        codes, count = codes * values + more, count * values
    return _dense(codes) if count > _MANY else (codes, count)


def dense_codes(columns: Sequence[pa.ChunkedArray], rows: int) -> tuple[Positions, int]:
    """Number the groups of rows with small numbers, so that an array can have a place for each.

    Returns:
        The numbers, in no order; and a bound that all of them are below.
    """
    codes, count = group_codes(columns, rows)
    if count <= _FEW + 4 * rows:
        return codes, count
    encoded = pa.array(codes).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), max(1, len(encoded.dictionary))


def first_rows(columns: Sequence[pa.ChunkedArray], rows: int) -> Positions:
    """Return, for each row, the position of the first one that is equal to it in all columns."""
    codes, count = dense_codes(columns, rows)
    first = np.empty(count, np.int64)
    # Rows are written backwards, so that the first row of a group is written last and stays.
    first[codes[::-1]] = np.arange(rows)[::-1]
    return first[codes]


def _codes(column: pa.ChunkedArray) -> tuple[Positions, int]:
    """Number the values of a column; return the numbers, and a bound that all are below."""
    is_integer = pa.types.is_integer(column.type) and not column.null_count
    if is_integer and len(column):
        values = column.to_numpy()
        # If numbers ascend, as panes do, it is enough to count their changes.
        if (values[1:] >= values[:-1]).all():
            codes = np.zeros(len(values), np.int64)
            np.cumsum(values[1:] != values[:-1], out=codes[1:])
            return codes, int(codes[-1]) + 1
        low, high = int(values.min()), int(values.max())
        # Numbers in a small range are used as they are, counted from the lowest.
        if high - low < max(_FEW, 4 * len(values)):
            return values.astype(np.int64) - low, high - low + 1
    if pa.types.is_floating(column.type):
        # Arrow compares bits, so all zeros and all NaNs are made the same.
        column = pc.add(column, pa.scalar(0.0, column.type))
        nan = pa.scalar(float("nan"), column.type)
        column = pc.if_else(pc.is_nan(column), nan, column)
    encoded = pa.concat_arrays(column.chunks or [pa.array([], column.type)])
    encoded = encoded.dictionary_encode(null_encoding="encode")
    codes = encoded.indices.to_numpy().astype(np.int64)
    if is_integer:
        codes = np.argsort(np.argsort(encoded.dictionary.to_numpy()))[codes]
    return codes, max(1, len(encoded.dictionary))


def _dense(codes: Positions) -> tuple[Positions, int]:
    values, numbers = np.unique(codes, return_inverse=True)
    return numbers, max(1, len(values))
