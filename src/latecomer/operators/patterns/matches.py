"""Matches as rows: start and end, key, and the rows of each event.

An event that comes at most once is a struct, or null if it did not come. An event that may come
more often is a list of structs, in order; the list may be empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Positions, gather
from latecomer.operators.aggregates.base import Input, one_array
from latecomer.operators.aggregates.slices import Slices
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from latecomer.kernels.automaton import Steps


def struct_type(schema: pa.Schema) -> pa.DataType:
    """Return the type of an event that comes at most once; if more often, it is a list of these."""
    return pa.struct([pa.field(field.name, field.type) for field in schema])


class Matches:
    """Complete matches, in order of their last rows; with the same last row, the oldest first."""

    def __init__(self, rows: Batch, steps: Steps, lasts: Positions, event_of: Positions) -> None:
        """Follow the steps of each match back from its last one, in `lasts`.

        `event_of` has the event of each state.
        """
        from latecomer.kernels.automaton import unrolled

        self._rows = rows
        lasts = lasts[np.argsort(steps.row[lasts], kind="stable")]
        path, self._owner = unrolled(steps.before, lasts)
        self._row, self._event = steps.row[path], event_of[steps.state[path]]
        self._count = len(lasts)
        starts = np.searchsorted(self._owner, np.arange(self._count))
        self._first, self._last = self._row[starts], steps.row[lasts]

    def __len__(self) -> int:
        return self._count

    def first(self, names: Sequence[str]) -> Batch:
        """Return columns of the first row of each match."""
        return gather(self._rows.select(names), self._first)

    def last(self, names: Sequence[str]) -> Batch:
        """Return columns of the last row of each match."""
        return gather(self._rows.select(names), self._last)

    def given(self, events: Sequence[int], time: TimeColumn) -> Input:
        """Return the rows of some events, match by match, to be aggregated."""
        is_it = np.isin(self._event, events)
        rows = gather(self._rows, self._row[is_it])
        bounds = np.searchsorted(self._owner[is_it], np.arange(self._count + 1))
        return Input(rows, time.micros(rows), Slices(bounds.astype(np.int64)))

    def one(self, event: int, names: Sequence[str]) -> pa.Array:
        """Return the row of an event that comes at most once, for each match."""
        row = np.full(self._count, -1)
        is_it = self._event == event
        row[self._owner[is_it]] = self._row[is_it]
        is_missing = row < 0
        return self._structs(np.where(is_missing, 0, row), names, pa.array(is_missing))

    def several(self, event: int, names: Sequence[str]) -> pa.Array:
        """Return the rows of an event that may come more than once, for each match."""
        is_it = self._event == event
        bounds = np.searchsorted(self._owner[is_it], np.arange(self._count + 1))
        # Spark reads no lists of 64-bit length.
        return pa.ListArray.from_arrays(
            pa.array(bounds, pa.int32()), self._structs(self._row[is_it], names, None)
        )

    def _structs(
        self, positions: Positions, names: Sequence[str], is_missing: pa.Array | None
    ) -> pa.Array:
        found = gather(self._rows.select(names), positions)
        return pa.StructArray.from_arrays(
            [one_array(column) for column in found.columns],
            fields=list(struct_type(found.schema)),
            mask=is_missing,
        )
