"""The items of each key, in order: the only place that puts rows out of order where they belong.

Every step that depends on the order keeps the items of a key side by side. A micro-batch of items
and tombstones is merged with those that are held, for all keys at once:

    held          a1 a4 │ b2          status   a1 kept   a3 new   a4 kept
    comes         +a3  +b5  −b2                b2 gone   b5 new

A step (`operators.optimistic.grouping`, `stateful`) then sees the items of each key before and
after the micro-batch, and the first item at which they differ.

Items are kept in *slots* by a hash of their key, one chunk each. A micro-batch reads and writes
only the slots of its items, and `slots` keeps them small. Items before the watermark are final, and
those that no later item needs are forgotten. This happens only in slots that were read, once enough
of their items are final.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, combined, concat, gather
from latecomer.kernels.hashing import hash_columns
from latecomer.operators.aggregates.base import one_array
from latecomer.operators.aggregates.slices import Slices, group_codes, slices_of
from latecomer.operators.base import Chunks, Emission, Responder
from latecomer.operators.optimistic import slots
from latecomer.operators.optimistic.items import (
    identity,
    in_order,
    missing,
    signed,
    signs,
    twice,
)
from latecomer.time import NEVER, TimeColumn

if TYPE_CHECKING:
    from latecomer.operators.optimistic.grouping import Grouping
    from latecomer.operators.optimistic.stateful import Stateful

KEPT, NEW, GONE = 0, 1, 2

FULL = 1_024
"""A slot with more items than this is split if a micro-batch changes few of them."""

FEW = 32
"""One changed item in so many is few. Where more change, small slots would only be more work."""

WORTH = 8
"""A slot is searched for items to forget once one in this many of its items is before the
watermark."""

Status = npt.NDArray[np.int8]
Needed = Callable[[Batch, Slices, Mask], tuple[Mask, Batch]]


@dataclass(frozen=True, slots=True)
class Merged:
    """Held items and new items, by key, in order."""

    items: Batch
    status: Status
    slices: Slices
    """Items of each key."""
    slots: Positions
    """Slot of each item; ascending."""
    touched: frozenset[int]
    """Slots to which the items and tombstones of the micro-batch belong."""
    beside: Mapping[str, pa.Array] = field(default_factory=dict)
    """The columns that a step keeps beside items, as they were held; not in the order of items."""
    at: Positions = field(default_factory=lambda: np.empty(0, np.int64))
    """Position of each item in these columns; -1 if it is new."""

    @property
    def is_dirty(self) -> Mask:
        """Mask of the items that are new or gone."""
        return self.status != KEPT

    @property
    def is_present(self) -> Mask:
        """Mask of the items that are there now."""
        return self.status != GONE


class Buckets:
    """The held items of all keys. Between calls, all of them are valid."""

    def __init__(
        self,
        time: TimeColumn,
        key: tuple[str, ...],
        schema: pa.Schema,
        chunks: Chunks,
        saved: bytes | None,
        beside: Sequence[str] = (),
    ) -> None:
        """Start with nothing held, or continue from what `save` returned.

        The last columns of the schema, `beside`, are those that a step keeps beside items. `merge`
        leaves them where they are: putting them in order takes long, and a step needs few of them.
        """
        self._time = time
        self._beside = beside
        self._items = pa.schema([each for each in schema if each.name not in beside])
        self._key = key
        self._schema = schema
        self._chunks = chunks
        self._read: dict[int, Batch] = {}
        self._changed: set[int] = set()
        self._rows: dict[int, int] = {}
        self.watermark = NEVER
        if saved is not None:
            self.watermark, rows = json.loads(saved)
            self._rows = {int(slot): count for slot, count in rows.items()}
        self._stored = set(self._rows)

    @property
    def held(self) -> int:
        return sum(self._rows.values())

    def merge(self, changes: Batch) -> Merged:
        """Return held items and changes together: items in their place, tombstones applied.

        The held items do not change yet: see `keep`.

        Raises:
            TombstoneError: A tombstone has no item to take back, or an item is there already.
        """
        extra = [each for each in self._items if each.name not in changes.column_names]
        nulls = [pa.nulls(changes.num_rows, each.type) for each in extra]
        came = pa.table([*changes.columns, *nulls], schema=self._items)
        own = self._slots_of(came)
        touched = np.flatnonzero(np.bincount(own)).tolist()
        parts = [self._slot(slot) for slot in touched]
        held = concat(parts, self._schema)
        both = concat([held.select(self._items.names), came], self._items)
        codes, count = group_codes([both.column(name) for name in self._key], both.num_rows)
        # By slot first, so that the items of a slot are a slice.
        slot_of = np.concatenate([np.repeat(touched, [part.num_rows for part in parts]), own])
        slot_of = slot_of.astype(np.int64, copy=False)
        codes += slot_of * count
        order, is_first = in_order(identity(both, self._time), codes)
        is_held = order < held.num_rows
        of = signs(both)[order].astype(np.int64)
        total, was = of, is_held
        if not is_first.all():
            starts = np.flatnonzero(is_first)
            total = np.add.reduceat(of, starts)
            was = np.add.reduceat(is_held.astype(np.int64), starts) > 0
        for is_wrong, error in ((total < 0, missing), (total > 1, twice)):
            if is_wrong.any():
                raise error(both.slice(int(order[is_first][np.argmax(is_wrong)]), 1))
        # Among equal items a held one comes first; which of the new ones is kept does not matter.
        first = order[is_first]
        status = np.where(was, np.where(total > 0, KEPT, GONE), NEW).astype(np.int8)
        stays = was | (total > 0)
        first, status = first[stays], status[stays]
        items = signed(gather(both, first), 1)
        return Merged(
            items,
            status,
            slices_of(codes[first]),
            slot_of[first],
            frozenset(touched),
            {name: one_array(held.column(name)) for name in self._beside},
            np.where(first < held.num_rows, first, -1),
        )

    def keep(self, merged: Merged, items: Batch) -> None:
        """Hold the present items in place of those that were held in the same slots.

        `items` are those of `merged`, with the columns that the step keeps beside them.
        """
        mask, slot_of = merged.is_present, merged.slots
        changed = slot_of[merged.is_dirty]
        if not mask.all():
            items, slot_of = items.filter(pa.array(mask)), slot_of[mask]
        touched = np.array(sorted(merged.touched))
        starts = np.searchsorted(slot_of, touched)
        stops = np.searchsorted(slot_of, touched, side="right")
        changes = np.searchsorted(changed, touched, side="right") - np.searchsorted(
            changed, touched
        )
        bounds = zip(*map(np.ndarray.tolist, (touched, starts, stops, changes)), strict=True)
        for slot, start, stop, count in bounds:
            self._spread(slot, items.slice(start, stop - start), max(FULL, FEW * count))

    def advance(self, watermark: int, needed: Needed) -> None:
        """Forget items that no later item needs, in all slots together.

        `needed` marks and returns the items to hold, given items by key and in order, and a mask of
        those that are final, because they are before the watermark.
        """
        if watermark <= self.watermark:
            return
        self.watermark = watermark
        due = {
            slot: is_final
            for slot, items in self._read.items()
            if np.count_nonzero(is_final := self._time.micros(items) < watermark) * WORTH
            >= max(1, len(is_final))
        }
        if not due:
            return
        items = concat([self._read[slot] for slot in due], self._schema)
        codes, _ = group_codes([items.column(name) for name in self._key], items.num_rows)
        # A key is in one slot, so the items of a key are still side by side.
        is_final = np.concatenate([*due.values()])
        is_needed, items = needed(items, slices_of(codes), is_final)
        bounds = Slices(np.cumsum([0, *map(len, due.values())])).keep(is_needed).bounds.tolist()
        for slot, (start, stop) in zip(due, pairwise(bounds), strict=True):
            self._put(slot, items.slice(start, stop - start))

    def save(self) -> bytes:
        """Write the slots that have changed; return the watermark and the sizes of all slots."""
        for slot in sorted(self._changed):
            items = self._read[slot]
            if items.num_rows:
                self._chunks.put(slot, combined(items))
                self._stored.add(slot)
            elif slot in self._stored:
                self._chunks.drop(slot)
                self._stored.remove(slot)
        self._changed.clear()
        return json.dumps([self.watermark, self._rows]).encode()

    def _slots_of(self, items: Batch, used: Iterable[int] = ()) -> Positions:
        """Return the slot of each item, where slots have items or are `used`."""
        hashes = hash_columns([items.column(name) for name in self._key], items.num_rows)
        # The low bits have chosen the bucket.
        return slots.numbers((hashes >> np.uint64(40)).astype(np.int64), [*self._rows, *used])

    def _slot(self, slot: int) -> Batch:
        if slot not in self._read:
            is_there = slot in self._rows
            self._read[slot] = self._chunks.get(slot) if is_there else self._schema.empty_table()
        return self._read[slot]

    def _spread(self, slot: int, items: Batch, full: int) -> None:
        """Hold items in a slot, or in several if they are more than `full`."""
        halves = slots.halves(slot) if items.num_rows > full else None
        if halves is None:
            self._put(slot, items)
            return
        self._put(slot, items.slice(0, 0))
        own = self._slots_of(items, halves)
        for half in halves:
            self._spread(half, items.filter(pa.array(own == half)), full)

    def _put(self, slot: int, items: Batch) -> None:
        self._read[slot] = items
        self._changed.add(slot)
        self._rows.pop(slot, None)
        if items.num_rows:
            self._rows[slot] = items.num_rows


class BucketKeeper(Responder):
    """A running step that holds the items of each key, in order."""

    def __init__(self, spec: Grouping | Stateful, schema: pa.Schema, buckets: Buckets) -> None:
        super().__init__(schema, spec.output_schema(schema))
        self._buckets = buckets

    @property
    def held(self) -> int:
        return self._buckets.held

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Put items in place, and emit the changes in the result."""
        merged = self._buckets.merge(rows)
        return self._emission(self._changes(merged) if merged.is_dirty.any() else None)

    def advance(self, watermark: int) -> Emission:
        """Forget items that no later item needs."""
        self._buckets.advance(watermark, self._needed)
        return self._emission()

    def save(self) -> bytes:
        return self._buckets.save()

    @abstractmethod
    def _changes(self, merged: Merged) -> Batch:
        """Return tombstones of old results and the new results, and hold the items."""

    @abstractmethod
    def _needed(self, items: Batch, slices: Slices, is_final: Mask) -> tuple[Mask, Batch]:
        """Mark and return the items to hold; see the argument `needed` of `Buckets.advance`."""
