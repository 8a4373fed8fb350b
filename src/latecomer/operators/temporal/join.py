"""Join two streams: pairs while both rows count, and rows while they have no partner.

    left      ├── a ────────────────┤
    right            ├── b ──┤

    inner            ├ a, b ─┤             while both count
    anti      ├── a ─┤       ├─ a ──┤      while there is no partner
    left      ├── a ─┤ a, b ─├─ a ──┤      both

Partners are rows of equal key that meet the condition, if there is one. A null is equal to nothing,
as in Spark.

Paper: Chandramouli et al.: Trill (VLDB 2014), Section 6 (Join, WhereNotExists, LeftOuterJoin).
Holds: between calls, the rows held are those that count at the watermark or after it, or end at it.
    If a row has no partner at the watermark, its `at` is the time since which it has none, and
    `TOLD` is the id of that piece.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, gather
from latecomer.errors import ColumnNameError
from latecomer.operators.base import Chunks
from latecomer.operators.temporal.base import TOLD, Settler, reached, untold
from latecomer.operators.temporal.binary import Binary, codes_of
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.temporal.edges import (
    FINAL,
    Edges,
    edge_schema,
    ends_of,
    payload_schema,
    settled,
    taken,
    with_column,
)
from latecomer.operators.ways import Way
from latecomer.time import FOREVER, NEVER, Times

How = Literal["inner", "left", "full", "anti"]

Pairs = tuple[Positions, Positions]
_Part = tuple[Batch, Positions]
"""Rows of one side, and the positions of the partners among them."""
Covers = tuple[Positions, Times, Times]
"""Positions of rows that have a partner, and the begin and end of each partner."""

_REFS = ("_lc_left", "_lc_right")
"""Columns of a held pair: the ids of its left and right row, or -1 if the row's end is known."""


@dataclass(frozen=True, slots=True)
class Join(Binary):
    """Join two streams."""

    how: How = "inner"
    where: Condition | None = None
    broadcast: bool = False
    """Whether every bucket gets all rows of the right stream."""

    @property
    def keyed(self) -> tuple[str, ...] | None:
        """Columns of the left key; None if the right rows are in all buckets."""
        return None if self.broadcast else self.on.left

    @property
    def everywhere(self) -> bool:
        """Whether every bucket must have all rows of the right stream."""
        return self.broadcast

    @property
    def has_pairs(self) -> bool:
        """Whether pairs are emitted."""
        return self.how != "anti"

    @property
    def lonely_sides(self) -> tuple[int, ...]:
        """Sides whose rows are emitted while they have no partner: 0 is left, 1 is right."""
        return {"inner": (), "left": (0,), "full": (0, 1), "anti": (0,)}[self.how]

    def describe(self, schema: pa.Schema) -> str:
        way = (
            "all rows that count are matched again at each watermark, because a row without a "
            "partner may find one"
            if self.lonely_sides
            else "only new rows are matched with those that count"
        )
        held = "both streams, and all of the right one in each bucket" if self.broadcast else "both"
        return f"{self.how} join{self.on} with the stream below: {way}; rows of {held} are held"

    def joined_schema(self, left: pa.Schema, right: pa.Schema) -> pa.Schema:
        """Return the columns of both streams, with those of the key once.

        Raises:
            ColumnNameError: Both have a column of the same name.
        """
        if not self.has_pairs:
            return left
        ours = payload_schema(left)
        theirs = [field for field in payload_schema(right) if field.name not in self.on.right]
        for field in theirs:
            if field.name in ours.names:
                raise ColumnNameError(
                    f'both sides of the join have a column "{field.name}".\n'
                    "Hint: rename one of them before the sort, for example with "
                    f'with_columns and select, to "right_{field.name}".'
                )
        # A row without a partner has nulls in the partner's columns.
        if 0 in self.lonely_sides:
            theirs = [field.with_nullable(True) for field in theirs]  # noqa: FBT003 - Arrow's own
        if 1 in self.lonely_sides:
            ours = [field.with_nullable(True) for field in ours]  # noqa: FBT003 - Arrow's own
        return edge_schema(pa.schema([*ours, *theirs]))

    def meet(
        self, left: pa.Schema, right: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> TemporalJoiner:
        return TemporalJoiner(self, [left, right], chunks, saved)


class TemporalJoiner(Settler[Join]):
    """A running `Join`. It holds the rows of both sides, and pairs that have not ended."""

    def step(self, due: tuple[Edges, ...], way: Way) -> Edges:
        """Return begins and ends of pairs, and of rows while they have no partner."""
        until = way.highest
        sides = [
            _Side(settled(held, untold(edges)), len(held))
            for held, edges in zip(self._held, due, strict=False)
        ]
        pairs = self._partners(sides)
        told = [self._told_pairs(sides, pairs, due, until)] if self._spec.has_pairs else []
        for side, own in enumerate(sides):
            if side in self._spec.lonely_sides:
                partners, found = sides[1 - side], pairs[1 - side]
                covers = (pairs[side], partners.since()[found], partners.rows.other[found])
                told.append(self._told_lonely(side, own.rows, covers, until))
            else:
                self._held[side] = own.rows.where(self._still_counts(own.rows, until))
        return Edges.joined(told).in_order()

    def _nothing_held(self) -> list[Edges]:
        sides = [untold(Edges.none(schema)) for schema in self._inputs]
        refs = [pa.field(name, pa.int64()) for name in (*_REFS, TOLD)]
        return [*sides, Edges.none(pa.schema([*self._payload, *refs]))]

    def _partners(self, sides: list[_Side]) -> Pairs:
        """Return the pairs, as positions of left and of right rows."""
        from latecomer.kernels.overlaps import overlapping

        left, right = (side.rows for side in sides)
        on = self._spec.on
        codes, count = codes_of([(left, on.left), (right, on.right)], nulls=False)
        # Old pairs are needed too, to find the rows that have no partner.
        old = np.array([sides[0].held, sides[1].held, bool(self._spec.lonely_sides)], np.int64)
        lefts, rights = overlapping(
            np.concatenate(codes),
            np.concatenate([side.since() for side in sides]),
            np.concatenate([left.other, right.other]),
            count,
            old,
            len(left),
        )
        if self._spec.where is None:
            return lefts, rights
        is_met = self._spec.where.holds(taken(left.payload, lefts), taken(right.payload, rights))
        return lefts[is_met], rights[is_met]

    def _told_pairs(
        self, sides: list[_Side], pairs: Pairs, due: tuple[Edges, ...], until: int
    ) -> Edges:
        if self._spec.lonely_sides:
            is_new = ~((pairs[0] < sides[0].held) & (pairs[1] < sides[1].held))
            pairs = (pairs[0][is_new], pairs[1][is_new])
        (left, lefts), (right, rights) = zip((side.rows for side in sides), pairs, strict=True)
        begins = np.maximum(left.at[lefts], right.at[rights])
        ends = np.minimum(left.other[lefts], right.other[rights])
        payload = self._joined((left.payload, lefts), (right.payload, rights), len(lefts))
        is_open = [rows.is_open for rows in (left, right)]
        if not (len(self._held[2]) or any(mask.any() for mask in is_open)):
            return Edges(begins, ends, np.full(len(lefts), FINAL), payload)
        refs = [
            np.where(mask, rows.id, FINAL)[found]
            for mask, rows, found in zip(is_open, (left, right), pairs, strict=True)
        ]
        for name, ids in zip((*_REFS, TOLD), (*refs, np.full(len(lefts), FINAL)), strict=True):
            payload = with_column(payload, name, ids)
        new = Edges(begins, ends, np.full(len(lefts), FINAL), payload)
        rows = Edges.joined([self._held[2], new])
        payload, ends, known = rows.payload, rows.other, np.ones(len(rows), np.bool_)
        for name, edges in zip(_REFS, due, strict=True):
            ids = payload.column(name).to_numpy()
            more = ends_of(ids, edges)
            ids = np.where(more < FOREVER, FINAL, ids)
            ends, known = np.minimum(ends, more), known & (ids == FINAL)
            payload = with_column(payload, name, ids)
        rows = Edges(rows.at, ends, rows.id, payload)
        told, self._held[2] = self.tell(rows, ends, known | reached(ends, np.array(until)))
        return Edges(told.at, told.other, told.id, told.payload.select(self._payload.names))

    def _told_lonely(self, side: int, rows: Edges, covers: Covers, until: int) -> Edges:
        """Return the pieces of rows in which they have no partner."""
        from latecomer.kernels.groups import side_by_side
        from latecomer.kernels.overlaps import uncovered

        covered, begins, stops = covers
        # The partners of a row stay in order of their begins.
        order, _ = side_by_side(covered, len(rows))
        found, froms, ends = uncovered(
            rows.at, np.minimum(rows.other, until), covered[order], begins[order], stops[order]
        )
        pieces = rows.take(found)
        # A piece that was emitted before is the first of its row.
        before = pieces.payload.column(TOLD).to_numpy()
        payload = with_column(pieces.payload, TOLD, np.where(froms == pieces.at, before, FINAL))
        known = (ends < until) | ((ends == pieces.other) & ~pieces.is_open)
        told, lonely = self.tell(Edges(froms, pieces.other, pieces.id, payload), ends, known)
        is_accompanied = self._still_counts(rows, until)
        is_accompanied[found[~known]] = False
        others = rows.where(is_accompanied)
        payload = with_column(others.payload, TOLD, np.full(len(others), FINAL))
        others = replace(others, at=np.full(len(others), until), payload=payload)
        self._held[side] = Edges.joined([lonely, others])
        if not self._spec.has_pairs:
            return told
        part = (told.payload, np.arange(len(told)))
        left, right = (part, None) if side == 0 else (None, part)
        return Edges(told.at, told.other, told.id, self._joined(left, right, len(told)))

    def _still_counts(self, rows: Edges, until: int) -> Mask:
        """Mark the rows to hold: those that end after `until`.

        If rows without a partner are emitted, rows that end at `until` are held too: from then on
        their partners may have none.
        """
        if self._spec.lonely_sides and until < FOREVER:
            return rows.other >= until
        return rows.other > until

    def _joined(self, left: _Part | None, right: _Part | None, rows: int) -> Batch:
        """Return the columns of partners side by side; those of an absent side are null."""
        ours, on = self._inputs[0].names, self._spec.on
        keys = dict(zip(on.left, on.right, strict=True))
        columns = {}
        for field in self._payload:
            if field.name in ours and left is not None:
                part, name = left, field.name
            elif right is not None and (field.name in keys or field.name not in ours):
                part, name = right, keys.get(field.name, field.name)
            else:
                columns[field.name] = pa.nulls(rows, field.type)
                continue
            columns[field.name] = gather(part[0].select([name]), part[1]).column(0)
        return pa.table(columns, self._payload)


@dataclass(frozen=True, slots=True)
class _Side:
    """The rows of one input that count: first the `held` old ones, then the new ones."""

    rows: Edges
    held: int

    def since(self) -> Times:
        """Return the begins of rows; `NEVER` for those that were held."""
        starts = self.rows.at.copy()
        starts[: self.held] = NEVER
        return starts
