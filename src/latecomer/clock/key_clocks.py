"""The clocks of all keys of a bucket, side by side.

    key     a     b     f
    slot    0     2     1        what is held says by its slot of which key it is
    newest  30    13    99       the largest time of its rows
    latest  30    13    99       the same of rows that were not late: nothing later is held
    mark    25    8     94       the watermark

A key is forgotten when nothing tells it from one that never was, and its slot is free again.

Holds: no watermark falls.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, gather
from latecomer.clock.policy import ClockPolicy
from latecomer.clock.watermark import Clock, back, ticks
from latecomer.operators.aggregates.slices import first_rows
from latecomer.operators.ways import KeyWays
from latecomer.time import FOREVER, NEVER, Times

_SLOT, _NEWEST, _LATEST, _MARK = "_lc_slot", "_lc_newest", "_lc_latest", "_lc_mark"


class KeyClocks:
    """The keys, and for each what is newest and how far its watermark is."""

    def __init__(self, policy: ClockPolicy, schema: pa.Schema, saved: Batch | None = None) -> None:
        self._policy = policy
        self._names = list(policy.columns)
        if saved is None:
            fields = [schema.field(name) for name in self._names]
            numbers = [pa.field(name, pa.int64()) for name in (_SLOT, _NEWEST, _LATEST, _MARK)]
            saved = pa.schema([*fields, *numbers]).empty_table()
        self._keys = saved.select(self._names)
        numbers = [saved.column(name).to_numpy() for name in (_SLOT, _NEWEST, _LATEST, _MARK)]
        self.slots, self._newest, self._latest, self.watermarks = map(np.copy, numbers)
        self.way = self._way(self.watermarks)
        """That of the watermarks in the last advance."""

    def save(self) -> Batch:
        numbers = (self.slots, self._newest, self._latest, self.watermarks)
        table = self._keys
        for name, values in zip((_SLOT, _NEWEST, _LATEST, _MARK), numbers, strict=True):
            table = table.append_column(name, pa.array(values))
        return table

    def find(self, rows: Batch) -> Positions:
        """Find the key of each row; those that are new are added."""
        known = self._keys.num_rows
        keys = pa.concat_tables([self._keys, rows.select(self._names)])
        first = first_rows(keys.columns, keys.num_rows)
        is_own = first == np.arange(len(first))
        new = int(is_own.sum()) - known
        if new:
            self._keys = keys.filter(pa.array(is_own)).combine_chunks()
            free = np.setdiff1d(np.arange(known + new), self.slots, assume_unique=True)
            self.slots = np.append(self.slots, free[:new])
            nothing = np.full(new, NEVER)
            self._newest = np.append(self._newest, nothing)
            self._latest = np.append(self._latest, nothing)
            self.watermarks = np.append(self.watermarks, nothing)
        return (np.cumsum(is_own) - 1)[first[known:]]

    def newest(self, clock: Clock) -> Times:
        """Return how far the keys are, given the clock of all together."""
        return ticks(np.maximum(self._newest, self._least(clock)))

    def advance(self, clock: Clock) -> None:
        """Move the watermarks to where they should be."""
        before = self.watermarks
        if clock.watermark == FOREVER:
            self.watermarks = np.full(len(before), FOREVER)
        else:
            self.watermarks = np.maximum(before, back(self.newest(clock), self._policy.wait))
        self.way = self._way(before)

    def hear(self, keys: Positions, times: Times) -> None:
        """Take note of the times of rows."""
        np.maximum.at(self._newest, keys, times)

    def hold(self, keys: Positions, times: Times) -> None:
        """Take note of the times of rows that may be held."""
        np.maximum.at(self._latest, keys, times)

    def forget(self, clock: Clock, is_held: Callable[[Times, Times], Mask]) -> None:
        """Forget the keys that are behind all others and of which nothing is held."""
        is_kept = self._newest > self._least(clock)
        if self._policy.idle is None or is_kept.all():
            return
        silent = np.flatnonzero(~is_kept & (self._latest != NEVER))
        is_kept[silent] = is_held(self._latest[silent], self.watermarks[silent])
        kept = np.flatnonzero(is_kept)
        self._keys = gather(self._keys, kept)
        self.slots, self.watermarks = self.slots[kept], self.watermarks[kept]
        self._newest, self._latest = self._newest[kept], self._latest[kept]

    def _way(self, before: Times) -> KeyWays:
        """Return the way of all watermarks from where they were to where they are, by slot."""
        ways = np.full((2, int(self.slots.max(initial=-1)) + 1), NEVER)
        ways[0, self.slots], ways[1, self.slots] = before, self.watermarks
        return KeyWays(*ways)

    def _least(self, clock: Clock) -> int:
        """Return how far every key is at least."""
        idle = self._policy.idle
        if idle is None or clock.newest == NEVER:
            return NEVER
        return max(clock.newest - idle, NEVER)
