"""Windowed grouping: for each item, the tuple of the last `n` items of its key.

    grouping(2)      items     1      3      2                     and, in order: 1  2  3
                     tuples   +(1)   +(1 3)  −(1 3) +(1 2) +(2 3)

A tuple has the place of its last item. An item that comes, or is taken back, changes the tuples
that span its place: those of the next `n - 1` items. They are taken back, and the right ones are
emitted.

A grouping followed by a map is enough for any step on rows in order: `grouping(2)` pairs an item
with the state that the map has made of the item before it.
`latecomer.operators.optimistic.stateful` does this.

Paper: Kuralenok, Marshalkin, Trofimov, Novikov: An Optimistic Approach to Handle Out-of-Order
    Events within Analytical Stream Processing (2018), Section V-B, Algorithm 2.
Symbols: window -> `size`; bucket -> the items of a key; tombstone -> sign -1.
Departures: all items of a micro-batch are put in place before tuples are made. The output is what
    is left when the paper's items and tombstones, one by one, have cancelled each other.
Holds: the tuples that are valid are those of the valid items in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, gather
from latecomer.kernels.hashing import mixed
from latecomer.operators.aggregates.base import one_array
from latecomer.operators.aggregates.slices import Slices
from latecomer.operators.base import Chunks, by
from latecomer.operators.optimistic.buckets import BucketKeeper, Buckets, Merged
from latecomer.operators.optimistic.items import MARKS, SIGN, TRACE, identity, marks, shown
from latecomer.operators.optimistic.specification import Optimistic
from latecomer.time import TimeColumn

ITEMS = "items"
"""Column of a tuple's items."""


@dataclass(frozen=True, slots=True)
class Grouping(Optimistic):
    """For each item, the tuple of the last items of its key."""

    time: TimeColumn
    key: tuple[str, ...]
    size: int

    def describe(self, schema: pa.Schema) -> str:
        return (
            f"group each row with the {self.size - 1} before it{by(self.key)}; rows that are not "
            "final, and as many before them, are held"
        )

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of a tuple: time and key of its last item, and all its items."""
        rows = shown(schema)
        names = dict.fromkeys((self.time.name, *self.key))
        items = pa.field(ITEMS, pa.list_(pa.struct(list(rows))))
        return pa.schema([*(rows.field(name) for name in names), items, *marks(schema)])

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Grouper:
        return Grouper(self, schema, chunks, saved)


class Grouper(BucketKeeper):
    """A running `Grouping`."""

    def __init__(
        self, spec: Grouping, schema: pa.Schema, chunks: Chunks, saved: bytes | None
    ) -> None:
        super().__init__(spec, schema, Buckets(spec.time, spec.key, schema, chunks, saved))
        self._spec = spec
        self._rows = shown(schema)

    def _changes(self, merged: Merged) -> Batch:
        """Return tombstones of old tuples, and the new tuples."""
        before, after = self._tuples(merged, -1), self._tuples(merged, 1)
        self._buckets.keep(merged, merged.items)
        return pa.concat_tables([before, after])

    def _needed(self, items: Batch, slices: Slices, is_final: Mask) -> tuple[Mask, Batch]:
        """Keep the items at or after the watermark, and the `size - 1` before it of each key."""
        final = slices.keep(is_final)
        from_last = final.spread(final.bounds[1:]) - np.arange(final.bounds[-1])
        is_needed = ~is_final
        is_needed[is_final] = from_last < self._spec.size
        return is_needed, items.filter(pa.array(is_needed))

    def _tuples(self, merged: Merged, sign: int) -> Batch:
        """Return the tuples that are gone (`sign` is -1) or new (1), in order."""
        from latecomer.kernels.groupings import changed_windows

        ends, starts, members = changed_windows(
            merged.status, merged.slices.bounds, self._spec.size, sign
        )
        order = np.lexsort(
            [each[ends] for each in identity(merged.items, self._spec.time)[:-1]][::-1]
        )
        lengths = np.diff(starts)[order]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        at = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - starts[:-1][order], lengths)
        members = members[at]
        last = gather(merged.items, ends[order])
        columns = {name: last.column(name) for name in self._out.names if name != ITEMS}
        columns[SIGN] = pa.array(np.full(len(ends), sign, np.int8), MARKS[0].type)
        columns[TRACE] = pa.array(self._traces(merged.items, members, offsets))
        rows = gather(merged.items.select(self._rows.names), members)
        struct = pa.StructArray.from_arrays(
            [one_array(column) for column in rows.columns], fields=list(self._rows)
        )
        columns[ITEMS] = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), struct)
        return pa.table([columns[name] for name in self._out.names], schema=self._out)

    def _traces(self, items: Batch, members: Positions, offsets: Positions) -> Positions:
        """Return a hash of the items of each tuple."""
        parts = np.zeros(len(members), np.uint64)
        for values in identity(items, self._spec.time):
            own = values[members].astype(np.int64, copy=False).view(np.uint64)
            parts = mixed(parts * np.uint64(31) + own)
        # The hash depends on the place in the tuple, too.
        places = np.arange(len(members)) - np.repeat(offsets[:-1], np.diff(offsets))
        parts = mixed(parts + places.astype(np.uint64))
        if not len(members):
            return np.zeros(0, np.int64)
        return np.add.reduceat(parts, offsets[:-1]).view(np.int64)
