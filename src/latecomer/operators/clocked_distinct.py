"""The first of equal rows, where each key has a watermark of its own.

Rows are compared within their key, so one operator can serve all keys, each row with the slot of
its key in place of the key's columns. Which rows are let through does not depend on the watermarks.
They only say which values can be removed, each by the watermark of its key:

    within 10     watermarks   a 15, b 4       held   a x 3, b x 3      a x 3 is removed

The log (`operators.distinct`) has entries of values that were removed. They are found by the
watermarks of their keys when it is read. That is not possible for a key that was forgotten, whose
slot another key may have by then. So the log is written anew when a key was forgotten, and when
most of it is no longer needed.

Holds: for each value at most one time is held, and none that is `within` or more behind the
watermark of its key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.distinct import Deduplicator, Distinct, last_times
from latecomer.time import FOREVER, NEVER

if TYPE_CHECKING:
    from latecomer.batch import Batch, Mask, Positions
    from latecomer.operators.base import Chunks, Emission
    from latecomer.operators.ways import KeyWays
    from latecomer.time import Times

SPARE_ROWS = 8_192
"""Number of entries in the log, besides three for each value held, that may be needless."""


class ClockedDeduplicator(Deduplicator):
    """A running `Distinct` of all keys, each with a watermark of its own."""

    def __init__(
        self,
        spec: Distinct,
        schema: pa.Schema,
        chunks: Chunks,
        way: KeyWays,
        saved: bytes | None,
    ) -> None:
        """Begin with no values, or where `saved` left off.

        Args:
            spec: What is asked for; one of its columns is the slot.
            schema: The columns of the rows, with the slot.
            chunks: Where the log is kept.
            way: The watermarks so far.
            saved: What `save` returned.
        """
        self._way = way
        self._is_stale = False
        """Whether the log may have entries of keys that were forgotten."""
        super().__init__(spec, schema, chunks, saved)

    def follow(self, way: KeyWays) -> Emission:
        """Move all watermarks, and remove values that can no longer suppress a row."""
        self._way = way
        self._held = self._needed(self._held)
        return self._emission()

    def last_due(self, slots: Positions) -> Times:
        """Return, for each slot, the watermark from which on no value of its key is held."""
        held = self._held.column(SLOT).to_numpy()
        due = np.full(1 + max(held.max(initial=-1), slots.max(initial=-1)), NEVER)
        np.maximum.at(due, held, self._ends(self._held))
        found: Times = due[slots]
        return found

    def forget(self) -> None:
        """Forget the removed values of keys whose slots may be used for other keys."""
        self._is_stale = True

    def save(self) -> bytes:
        """Append new values to the log, or write it anew with the values that are held."""
        logged = sum(entry.rows for entry in self._log)
        if self._is_stale or logged > 3 * self._held.num_rows + SPARE_ROWS:
            for entry in self._log:
                self._chunks.drop(entry.number)
            self._log, self._fresh = [], [self._held]
        self._is_stale = False
        return super().save()

    def _is_needed(self, states: Batch) -> Mask:
        is_needed: Mask = self._ends(states) > self._way.now(states)
        return is_needed

    def _ends(self, states: Batch) -> Times:
        """Return the watermarks from which on values suppress no row any more."""
        ends: Times = np.minimum(last_times(states), FOREVER - self._spec.within)
        return ends + self._spec.within
