"""Lifetimes as they travel: when something begins, and when it ends.

Every row of a temporal stream has a *lifetime* `[start, end)`, in which it counts. Often the end is
not known when the row begins. So a row may travel in two parts. Each part is sent as soon as it is
certain:

    known from the start      (at 3, other 9)                            one row
    not known                 (at 3, other FOREVER, id 5)                it begins …
                              (at 9, other 3,       id 5)                … and ends

Rows are ordered by `at`, the time at which they are known. A row with an id is followed by its end,
unless it never ends. A row without an id (-1) is complete; if its other time is `FOREVER`, it never
ends.

Paper: Chandramouli et al.: Trill (VLDB 2014), Section 2.2.1.
Symbols: SyncTime -> `at`; OtherTime -> `other`.
Departures: Trill finds the start of an end by comparing payloads; here both have a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, gather
from latecomer.kernels.order import stable_order
from latecomer.time import FOREVER, Times

AT, OTHER, ID = "_lc_at", "_lc_other", "_lc_id"
FINAL = -1
"""The id of a row whose end does not follow."""

OWN = (AT, OTHER, ID)


def edge_schema(payload: pa.Schema) -> pa.Schema:
    """Return the schema of rows with lifetimes, given their other columns."""
    return pa.schema([*payload, *(pa.field(name, pa.int64()) for name in OWN)])


def payload_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema without the columns of lifetimes."""
    return pa.schema([field for field in schema if field.name not in OWN])


@dataclass(frozen=True, slots=True)
class Edges:
    """Begins and ends as arrays, with the payload of each."""

    at: Times
    other: Times
    id: Positions
    payload: Batch

    @classmethod
    def of(cls, rows: Batch) -> Edges:
        """Return the edges of rows that have lifetimes."""
        at, other, id_ = (rows.column(name).to_numpy() for name in OWN)
        return cls(at, other, id_, rows.drop_columns(list(OWN)))

    @classmethod
    def none(cls, payload: pa.Schema) -> Edges:
        """Return an empty set of edges."""
        nothing = np.zeros(0, np.int64)
        return cls(nothing, nothing, nothing, payload.empty_table())

    @classmethod
    def joined(cls, parts: Sequence[Edges]) -> Edges:
        """Return all edges, one part after the other. There must be at least one part."""
        filled = [part for part in parts if len(part)]
        if len(filled) <= 1:
            return filled[0] if filled else parts[0]
        return cls(
            np.concatenate([part.at for part in filled]),
            np.concatenate([part.other for part in filled]),
            np.concatenate([part.id for part in filled]),
            pa.concat_tables([part.payload for part in filled]),
        )

    def __len__(self) -> int:
        return len(self.at)

    @property
    def is_open(self) -> Mask:
        """Mask of the begins that will be followed by their end."""
        return (self.id != FINAL) & (self.other == FOREVER)

    @property
    def is_end(self) -> Mask:
        """Mask of the ends; all others are begins."""
        return self.other < self.at

    def batch(self) -> Batch:
        """Return the edges as rows."""
        rows = self.payload
        for name, values in zip(OWN, (self.at, self.other, self.id), strict=True):
            rows = with_column(rows, name, values)
        return rows

    def take(self, positions: Positions) -> Edges:
        """Return the edges at `positions`, in this order."""
        return Edges(
            self.at[positions],
            self.other[positions],
            self.id[positions],
            taken(self.payload, positions),
        )

    def where(self, mask: Mask) -> Edges:
        """Return the edges that are marked."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def slice(self, start: int, stop: int) -> Edges:
        """Return the edges from `start` to before `stop`, without a copy."""
        return Edges(
            self.at[start:stop],
            self.other[start:stop],
            self.id[start:stop],
            self.payload.slice(start, stop - start),
        )

    def in_order(self) -> Edges:
        """Return the edges in order of `at`; edges of equal `at` keep their order."""
        return self if ascends(self.at) else self.take(stable_order(self.at))


def ascends(times: Times) -> bool:
    """Return True if no time is smaller than the one before it."""
    return bool((times[1:] >= times[:-1]).all())


def with_column(payload: Batch, name: str, values: Positions) -> Batch:
    """Return a payload with a column set, or added if it is absent.

    A payload without columns has lost its number of rows, so a new table takes its place.
    """
    if not payload.num_columns:
        return pa.table({name: values})
    at = payload.schema.get_field_index(name)
    array = pa.array(values)
    return payload.append_column(name, array) if at < 0 else payload.set_column(at, name, array)


def taken(payload: Batch, positions: Positions) -> Batch:
    """Return the rows at `positions`; a payload without columns is returned as it is."""
    return gather(payload, positions) if payload.num_columns else payload


def settled(held: Edges, due: Edges) -> Edges:
    """Return the held begins and then the new ones, with the ends that have become known.

    An end whose begin is not among them is ignored: its row was cut short before.
    """
    is_end = due.is_end
    if not is_end.any():
        return Edges.joined([held, due])
    rows = Edges.joined([held, due.take(np.flatnonzero(~is_end))])
    ends = np.minimum(rows.other, ends_of(rows.id, due))
    return Edges(rows.at, ends, rows.id, rows.payload)


def ends_of(ids: Positions, due: Edges) -> Times:
    """Return the ends of rows whose begins have these ids; `FOREVER` where no end has come."""
    is_end = due.is_end
    ends, known = due.at[is_end], due.id[is_end]
    if not len(ends):
        return np.full(len(ids), FOREVER)
    order = np.argsort(known, kind="stable")
    found = order[np.searchsorted(known, ids, sorter=order) % len(order)]
    return np.where((known[found] == ids) & (ids != FINAL), ends[found], FOREVER)


def told(rows: Edges, known: Mask, before: Mask) -> Edges:
    """Return the edges of rows that have become certain and were not emitted before.

    Args:
        rows: Rows that count from `at` to `other`, as far as is known.
        known: Whether `other` of a row is final.
        before: Whether the begin of a row was emitted earlier, when its end was not known.

    Returns:
        Complete rows, begins and ends, in order.
    """
    at, of = rows.at, None
    other, ids = np.where(known, rows.other, FOREVER), np.where(known, FINAL, rows.id)
    if before.any() or not ascends(at):
        begun = np.flatnonzero(~before)
        if not ascends(at[begun]):
            begun = begun[stable_order(at[begun])]
        # A row that never ends has no end to emit.
        ended = np.flatnonzero(before & known & (rows.other < FOREVER))
        ended = ended[stable_order(rows.other[ended])]
        # Begins come before the ends of the same time.
        places = np.searchsorted(at[begun], rows.other[ended], side="right")
        of = np.insert(begun, places, ended)
        at, other, ids = at[of], other[of], ids[of]
        places += np.arange(len(ended))
        at[places], other[places], ids[places] = rows.other[ended], rows.at[ended], rows.id[ended]
    return Edges(at, other, ids, rows.payload if of is None else taken(rows.payload, of))


def later(times: Times, by: int) -> Times:
    """Return times moved by `by`. `FOREVER` is not moved, and no other time becomes `FOREVER`."""
    moved = np.minimum(times, FOREVER - 1 - max(by, 0)) + by
    return np.where(times == FOREVER, FOREVER, moved)
