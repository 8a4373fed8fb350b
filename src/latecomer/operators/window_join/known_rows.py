"""The rows that a join can meet, with numbered keys.

Keys are numbered once for all rows of a micro-batch and those still held, however many intervals
these are cut into. Within the join, a row is represented by its *place* among them, and a key by a
number in an array:

    stream 0         stream 1
    row    7  9      row    3  4  5
    place  0  1      place  2  3  4        codes of a.key = b.key: 0 1 1 −1 0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.kernels.places import find_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from latecomer.batch import Batch, Mask, Positions
    from latecomer.kernels.window_probes import Codes
    from latecomer.operators.temporal.conditions import Condition, Placed
    from latecomer.operators.window_join.equalities import Equalities
    from latecomer.operators.window_join.tuples import Tuples


class KnownRows:
    """Rows of all streams, at places that do not change."""

    def __init__(self, on: Equalities, rows: Sequence[Batch], numbers: Sequence[Positions]) -> None:
        """Number the keys of rows.

        Args:
            on: The columns that have to be equal.
            rows: The rows of each stream.
            numbers: The numbers of the rows of each stream, ascending.
        """
        self._rows = rows
        self.numbers = np.concatenate(list(numbers))
        """Number of the row at each place."""
        self._starts = np.cumsum([0, *map(len, numbers)])
        self.codes = self._coded(on)
        """Codes of keys, with a line for each equality, or one for a key of all streams. Rows with
        equal codes have equal keys."""
        self._placed: Placed | None = None

    def places(self, tuples: Tuples) -> Positions:
        """Return the places of the rows of tuples."""
        return find_rows(tuples.streams, tuples.rows, self.numbers, self._starts)

    def holds(self, where: Condition, places: Positions) -> Mask:
        """Return a mask of the combinations of rows for which a condition holds.

        Args:
            where: The condition, the same in each call.
            places: For each stream the places of its rows in all combinations.
        """
        if self._placed is None:
            self._placed = where.placed(self._rows, self._starts[:-1])
        return self._placed(places)

    def _coded(self, on: Equalities) -> Codes:
        if on.key:
            return self._numbered(list(enumerate(on.key)))[np.newaxis]
        codes = np.full((len(on.pairs), len(self.numbers)), -1)
        for line, pair in zip(codes, on.pairs, strict=True):
            line[:] = self._numbered(
                [(pair.left, pair.left_column), (pair.right, pair.right_column)]
            )
        return codes

    def _numbered(self, sides: list[tuple[int, str]]) -> Positions:
        values = [self._rows[stream].column(column) for stream, column in sides]
        kind = values[0].type
        alike = [each if each.type == kind else each.cast(kind) for each in values]
        together = pa.chunked_array([c for each in alike for c in each.chunks], kind)
        if pa.types.is_floating(kind):
            # As in Spark and in the hash of keys, 0.0 equals -0.0 and all NaNs are equal.
            together = pc.if_else(pc.is_nan(together), float("nan"), pc.add(together, 0.0))
            together = together.cast(kind)
        indices = together.combine_chunks().dictionary_encode().indices
        if indices.null_count:
            indices = indices.fill_null(-1)
        line = np.full(len(self.numbers), -1)
        found, start = indices.to_numpy(), 0
        for stream, _ in sides:
            first, last = self._starts[stream : stream + 2]
            line[first:last] = found[start : start + last - first]
            start += last - first
        return line
