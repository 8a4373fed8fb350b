"""The clocks of all keys of a bucket, side by side.

    key     a     b     f
    slot    0     2     1        held rows and states name their key by its slot
    newest  30    13    99       the largest time of its rows
    latest  30    13    99       the same for rows that were not late; no later row is held
    mark    25    8     94       the watermark
    since   7     4     7        when the newest row came, in elapsed wall-clock time

They are saved in chunks: only keys whose numbers have changed are written (`operators.row_log`).

A key that has been silent for long is forgotten once no state of it is held. Its slot is then free
for another key. `hosts.clocks.per_key` explains the consequences.

Holds: no watermark falls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.arrays import are_arrays, read_arrays, write_arrays
from latecomer.batch import Batch, Positions, decode, gather
from latecomer.clock.policy import FORGOTTEN, ClockPolicy
from latecomer.clock.watermark import Clock, back, ticks
from latecomer.operators.aggregates.slices import first_rows
from latecomer.operators.row_log import Numbered, RowLog
from latecomer.operators.ways import KeyWays
from latecomer.time import FOREVER, NEVER, Times

if TYPE_CHECKING:
    from latecomer.operators.base import Chunks

LastDue: TypeAlias = Callable[[Times, Positions], Times]
"""Returns, for keys whose latest rows have these times and which have these slots, a watermark
until which something of the key is surely held, if no more rows come. It is not after the watermark
of a key of which nothing is held."""
_NUMBERS = ("_lc_slot", "_lc_newest", "_lc_latest", "_lc_mark", "_lc_since")
_UNWRITTEN = -1


class KeyClocks:
    """The keys of a bucket, each with its newest time and its watermark."""

    def __init__(
        self, policy: ClockPolicy, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> None:
        self._policy = policy
        self._names = list(policy.columns)
        self._chunks = chunks
        fields = [schema.field(name) for name in self._names]
        numbers = [pa.field(name, pa.int64()) for name in _NUMBERS]
        self._log = RowLog([pa.schema([*fields, *numbers])])
        self._next = 0
        if saved is None:
            known = Numbered(pa.schema([*fields, *numbers]).empty_table(), np.zeros(0, np.int64))
        elif are_arrays(saved):
            arrays = read_arrays(saved)
            self._next = int(arrays["next_row"])
            (known,) = self._log.load(arrays, chunks)
        else:
            # Version 0.2.0 wrote all keys as one value.
            rows = decode(saved)
            known = Numbered(rows, np.full(rows.num_rows, _UNWRITTEN))
        self._keys = known.rows.select(self._names)
        self._written = np.array([known.rows.column(name).to_numpy() for name in _NUMBERS])
        """What was last saved of each key: a line for each of `_NUMBERS`."""
        self._rows = known.numbers.copy()
        """The number of the row that was last saved of each key."""
        self.slots, self._newest, self._latest, self.watermarks, self._since = self._written.copy()
        self._promised: Times | None = None
        """Times promised since the last advance; the next one moves the watermarks to them."""
        self.way = self._way(self.watermarks)
        """The watermarks before and after the last advance."""

    def save(self) -> bytes:
        """Write the keys that have changed since the last time."""
        numbers = (self.slots, self._newest, self._latest, self.watermarks, self._since)
        values = np.array(numbers)
        has_changed = (self._rows == _UNWRITTEN) | (values != self._written).any(axis=0)
        changed = np.flatnonzero(has_changed)
        self._rows[changed] = self._next + np.arange(len(changed))
        self._next += len(changed)
        self._written = values
        order = np.argsort(self._rows)
        table = self._keys
        for name, each in zip(_NUMBERS, numbers, strict=True):
            table = table.append_column(name, pa.array(each))
        logged = Numbered(gather(table, order), self._rows[order])
        arrays = self._log.save([logged], self._chunks)
        return write_arrays(arrays | {"next_row": np.array(self._next)})

    def find(self, rows: Batch) -> Positions:
        """Return the position of each row's key. Keys that are new are added."""
        found = self._known(rows)
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            keys = rows.select(self._names)
            keys = keys if len(unknown) == rows.num_rows else gather(keys, unknown)
            first = first_rows(keys.columns, keys.num_rows)
            is_own = first == np.arange(len(first))
            found[unknown] = len(self.slots) + (np.cumsum(is_own) - 1)[first]
            self._add(keys.filter(pa.array(is_own)))
        return found

    def _known(self, rows: Batch) -> Positions:
        """Return the position of each row's key, and -1 for keys that are new."""
        known = len(self.slots)
        if not known:
            return np.full(rows.num_rows, -1)
        if len(self._names) == 1 and _is_text(self._keys.schema.field(0).type):
            (name,) = self._names
            found = pc.index_in(rows.column(name), self._keys.column(0).combine_chunks())
            return (found.fill_null(-1) if found.null_count else found).to_numpy().astype(np.int64)
        keys = pa.concat_tables([self._keys, rows.select(self._names)])
        first = first_rows(keys.columns, keys.num_rows)[known:]
        return np.where(first < known, first, -1)

    def _add(self, keys: Batch) -> None:
        known, new = len(self.slots), keys.num_rows
        self._keys = pa.concat_tables([self._keys, keys]).combine_chunks()
        free = np.setdiff1d(np.arange(known + new), self.slots, assume_unique=True)
        self.slots = np.append(self.slots, free[:new])
        nothing = np.full(new, NEVER)
        self._newest = np.append(self._newest, nothing)
        self._latest = np.append(self._latest, nothing)
        self.watermarks = np.append(self.watermarks, nothing)
        self._since = np.append(self._since, np.zeros(new, np.int64))
        self._rows = np.append(self._rows, np.full(new, _UNWRITTEN))
        self._written = np.append(self._written, np.zeros((len(_NUMBERS), new), np.int64), axis=1)

    def newest(self, clock: Clock) -> Times:
        """Return the newest time of each key, which is never before the newest of the clock."""
        return ticks(np.maximum(self._newest, clock.newest))

    def advance(self, clock: Clock, last_due: LastDue | None = None) -> None:
        """Move the watermarks to where they should be.

        Args:
            clock: The clock of the whole stream.
            last_due: How far the clocks of silent keys advance; if left out they do not.
        """
        before, newest = self.watermarks, self.newest(clock)
        if last_due is not None and self._policy.idle is not None:
            lasted = clock.elapsed - self._since
            silent = np.flatnonzero((lasted >= self._policy.idle) & (self._latest != NEVER))
            ends = last_due(self._latest[silent], self.slots[silent])
            ends = np.minimum(ends, FOREVER - self._policy.wait) + self._policy.wait
            reached = np.minimum(ticks(newest[silent] + lasted[silent]), ends)
            newest[silent] = np.maximum(newest[silent], reached)
        if clock.watermark == FOREVER:
            self.watermarks = np.full(len(before), FOREVER)
        else:
            self.watermarks = np.maximum(before, back(newest, self._policy.wait))
            if self._promised is not None:
                self.watermarks = np.maximum(self.watermarks, self._promised)
        self._promised = None
        self.way = self._way(before)

    def hear(self, keys: Positions, times: Times, clock: Clock) -> None:
        """Move the newest time of each key to that of its rows."""
        before = self._newest.copy()
        np.maximum.at(self._newest, keys, times)
        self._since[self._newest > before] = clock.elapsed

    def promise(self, keys: Positions, times: Times) -> None:
        """Record the promises of rows; the next advance moves the watermarks to them."""
        self._promised = np.full(len(self.slots), NEVER)
        np.maximum.at(self._promised, keys, times)

    def hold(self, keys: Positions, times: Times) -> None:
        """Record the times of rows that may be held."""
        np.maximum.at(self._latest, keys, times)

    def forget(self, clock: Clock, last_due: LastDue) -> bool:
        """Forget the keys that have been silent for long and have no state.

        Returns:
            Whether there were any.
        """
        if self._policy.idle is None:
            return False
        is_kept = clock.elapsed - self._since <= FORGOTTEN * self._policy.idle
        silent = np.flatnonzero(~is_kept & (self._latest != NEVER))
        due = last_due(self._latest[silent], self.slots[silent])
        is_kept[silent] = due > self.watermarks[silent]
        if is_kept.all():
            return False
        kept = np.flatnonzero(is_kept)
        self._keys = gather(self._keys, kept)
        self.slots, self.watermarks = self.slots[kept], self.watermarks[kept]
        self._newest, self._latest = self._newest[kept], self._latest[kept]
        self._since = self._since[kept]
        self._rows, self._written = self._rows[kept], self._written[:, kept]
        return True

    def _way(self, before: Times) -> KeyWays:
        """Return the watermarks before and now, by slot."""
        ways = np.full((2, int(self.slots.max(initial=-1)) + 1), NEVER)
        ways[0, self.slots], ways[1, self.slots] = before, self.watermarks
        return KeyWays(*ways)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)
