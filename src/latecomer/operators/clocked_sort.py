"""Sort by time, where each key has a watermark of its own.

The rows of all keys are held together, in order of time, and each is released by the watermark of
its key. The rows due are not the first ones held: they are picked out of the leaves that some
watermark passes.

    watermarks   a 5, b 2       held   a6 b7 a9
                 a 8, b 2              b7 a9          ready a6

Rows that are due in the micro-batch in which they come are never written to a chunk.

With several waits, each key has a watermark for each of them, and a row comes out once for each
wait that it was in time for. It is held once, until the last watermark has reached it.

Holds: between steps every held row is after the last watermark of its key. Rows of equal time come
    out as they came in.
"""

import json
from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, concat, gather
from latecomer.kernels.order import stable_order
from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.base import Chunks, Emission
from latecomer.operators.leaves import Leaf, Leaves
from latecomer.operators.sort import carried
from latecomer.operators.ways import KeyWays
from latecomer.time import TimeColumn, Times


class ClockedSorter:
    """A running `Sort` of all keys, each with a watermark of its own."""

    def __init__(
        self,
        by: TimeColumn,
        schema: pa.Schema,
        chunks: Chunks,
        saved: bytes | None,
        leads: Sequence[int] = (0,),
    ) -> None:
        """Begin with no rows, or where `saved` left off.

        Args:
            by: The time column.
            schema: The columns to release. Rows are pushed with the slot of their key besides.
            chunks: Where rows are held.
            saved: What `save` returned.
            leads: How far the watermark of each wait is ahead of that of the last one; descending.
        """
        self._by = by
        self._schema = schema
        self._leads = leads
        numbering = [] if saved is None else json.loads(saved)
        slot = [] if SLOT in schema.names else [pa.field(SLOT, pa.int64())]
        held = pa.schema([*schema, *slot])
        self._leaves = Leaves(
            chunks, *numbering, by=by.micros, read=lambda rows: carried(rows, held, by)
        )
        self._pushed: list[tuple[Batch, Mask | None]] = []
        """Rows that came, and which of them are late, if any is."""
        self._in_time = np.zeros(len(leads), np.int64)
        """Number of rows that came in time for each of several waits."""

    @property
    def held(self) -> int:
        return self._leaves.rows

    def is_late(self, rows: Batch, watermarks: Times) -> Mask:
        return self._by.micros(rows) < watermarks

    def push(self, rows: Batch, way: KeyWays, is_late: Mask | None = None) -> None:
        """Keep rows for the `advance` that follows, which skips those that are late."""
        self._pushed.append((rows, is_late))

    def advance(self, way: KeyWays) -> Emission:
        """Release, in order, every row up to the watermark of its key."""
        return Emission(self._released(way)[-1], self._schema.empty_table())

    def _released(self, way: KeyWays) -> list[Batch]:
        """Return the rows released for each wait; `way` is that of the watermarks of the last."""
        early = []
        for level, lead in enumerate(self._leads[:-1]):
            each = way.ahead(lead)
            parts = self._early(each)
            for rows, _ in self._pushed:
                # A row that is late for the last wait is late for all.
                times, (before, now) = self._by.micros(rows), each.of(rows)
                is_in_time = times >= before
                self._in_time[level] += np.count_nonzero(is_in_time)
                parts.append((rows, np.flatnonzero(is_in_time & (times <= now))))
            early.append(self._picked(parts))
        return [*early, self._last(way)]

    def _last(self, way: KeyWays) -> Batch:
        """Return the rows released for the last wait, and hold the others."""
        # The rest of a leaf is held together with rows that came, so it is copied only once.
        taken = self._leaves.take_leaves(_passed(way), lambda rows: self._is_due(rows, way))
        pushed, self._pushed = self._pushed, []
        parts = [*taken, *(rows for rows, _ in pushed)]
        if not parts:
            return self._schema.empty_table()
        rows = concat(parts, parts[-1].schema)
        times, is_due = self._by.micros(rows), self._is_due(rows, way)
        is_held = ~is_due
        start = sum(part.num_rows for part in taken)
        for part, is_late in pushed:
            if is_late is not None:
                # Rows that are late are due, and not released.
                is_due[start : start + part.num_rows] &= ~is_late
            start += part.num_rows
        if is_held.any():
            self._leaves.add(_sorted(rows, times, is_held), self._in_order)
        return _sorted(rows.select(self._schema.names), times, is_due)

    def _early(self, way: KeyWays) -> list[tuple[Batch, Positions]]:
        """Find the held rows that watermarks pass on their way; they stay held."""
        found = []
        for rows in self._leaves.read(_passed(way)):
            times, (before, now) = self._by.micros(rows), way.of(rows)
            found.append((rows, np.flatnonzero((times > before) & (times <= now))))
        return found

    def _is_due(self, rows: Batch, way: KeyWays) -> Mask:
        return self._by.micros(rows) <= way.now(rows)

    def _picked(self, parts: Sequence[tuple[Batch, Positions]]) -> Batch:
        """Return some rows, in order. They are copied once, although parts are put together.

        Args:
            parts: Rows, and the positions of those to return.
        """
        schema = self._schema
        parts = [(rows.select(schema.names), at) for rows, at in parts if len(at)]
        if not parts:
            return schema.empty_table()
        starts = accumulate((rows.num_rows for rows, _ in parts), initial=0)
        picked = np.concatenate([at + start for (_, at), start in zip(parts, starts, strict=False)])
        rows = concat([part for part, _ in parts], schema)
        return gather(rows, picked[stable_order(self._by.micros(rows)[picked])])

    def last_due(self, times: Times) -> Times:
        """Return the watermarks at which rows of these times are released: the times themselves."""
        return times

    def save(self) -> bytes:
        return json.dumps(self._leaves.save()).encode()

    def _in_order(self, rows: Batch) -> Batch:
        times = self._by.micros(rows)
        return rows if (times[1:] >= times[:-1]).all() else gather(rows, stable_order(times))


def _sorted(rows: Batch, times: Times, which: Mask) -> Batch:
    """Return the rows that are marked, in order of their times."""
    at = np.flatnonzero(which)
    return gather(rows, at[stable_order(times[at])])


def _passed(way: KeyWays) -> Callable[[Leaf], bool]:
    """Return a condition for the leaves that some watermark passes on its way."""
    return lambda leaf: leaf.last > way.lowest and leaf.first <= way.highest
