"""Aggregates of all rows that count at an instant: one answer for each stretch between changes.

    rows              ├── a ──────────┤
                            ├── b ──────────┤
    count             │  1  │    2    │  1  │

Whenever a row of a key begins or ends the answer may change, so time is cut there, for this key. In
each stretch in which any row counts there is one answer, and where none does there is none. Answers
that are equal are not put together: `Stitch` does that.

Rows are held as states. Those that begin and end together are one state, and so are those of a key
that never end. If all states can be added up and taken away again (counts, sums of integers), a
stretch has the sum of what has begun less what has ended. Others, such as the largest value, cannot
be taken away. Then stretches are the leaves of a tree, each state is put at the few nodes that
cover its lifetime, and a leaf is merged from what lies above it: O(n log n) for all of them.

A stretch that ends at the watermark is emitted at once: later rows may begin there, but not before.
One that begins at the watermark is emitted once the watermark has moved on.

Paper: Chandramouli et al.: Trill (VLDB 2014), Section 6 (snapshot aggregates).
Departures: the paper keeps a queue of endpoints unless lifetimes are of one length. Here the states
    held are put in order of their ends together with the new ones, once for each watermark.
Holds: between calls, all states of a key begin where its open stretch began, and `TOLD` is the id
    of that stretch, or -1 if it began at the watermark.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, gather
from latecomer.operators.aggregates.slices import Slices, by_group, group_codes, group_order
from latecomer.operators.aggregates.summary import PANE, Summary
from latecomer.operators.base import Chunks, by
from latecomer.operators.temporal.base import TOLD, Settler, sooner, untold
from latecomer.operators.temporal.edges import FINAL, Edges, edge_schema, ends_of, payload_schema
from latecomer.operators.temporal.specification import Temporal
from latecomer.time import FOREVER, Times


@dataclass(frozen=True, slots=True)
class SnapshotAggregate(Temporal):
    """Aggregates of what counts at each instant, by key."""

    fixed = ("summary",)

    carries_columns = False

    summary: Summary

    @property
    def keyed(self) -> tuple[str, ...]:
        return self.summary.keys

    def describe(self, schema: pa.Schema) -> str:
        rows = payload_schema(schema)
        others = [name for name, each in self.summary.aggregates if not each.adds_up(rows)]
        way = (
            f"states are merged by a tree, because {', '.join(others)} cannot be subtracted"
            if others
            else "states are added and subtracted, because all of them are whole numbers"
        )
        return (
            f"aggregate {self.summary.names}{by(self.keyed)} at each instant: {way}; one state is "
            "held for rows that begin and end together"
        )

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return edge_schema(self.summary.result_schema(payload_schema(schema)))

    def start(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> SnapshotAggregator:
        return SnapshotAggregator(self, [schema], chunks, saved)


class SnapshotAggregator(Settler[SnapshotAggregate]):
    """A running `SnapshotAggregate`."""

    beyond = 0

    def _prepare(self) -> None:
        self._keys, self._rows = self._spec.keyed, self._inputs[0]
        # A state is of its own row, or of rows that come and go together: no key is needed.
        self._states = Summary((), self._spec.summary.aggregates)
        self._adds_up = all(a.adds_up(self._rows) for _, a in self._spec.summary.aggregates)

    def step(self, due: tuple[Edges, ...], since: int, until: int) -> Edges:
        """Answer for every stretch that begins before `until`."""
        new = self._as_states(due[0].where(~due[0].is_end))
        states = Edges.joined([self._held[0], untold(new)])
        ends = np.minimum(states.other, ends_of(states.id, due[0]))
        states = Edges(states.at, ends, states.id, states.payload)
        stretches = _Stretches.of(states, self._keys, until)
        told, still_open = self.tell(*self._answers(states, stretches, until))
        self._hold(states, stretches, still_open)
        return told

    def due(self) -> int | None:
        """The smallest watermark at which a stretch has ended, or has begun before it."""
        held = self._held[0]
        is_untold = held.payload.column(TOLD).to_numpy() == FINAL
        return sooner(super().due(), held.at[is_untold])

    def _nothing_held(self) -> list[Edges]:
        return [untold(self._as_states(Edges.none(self._rows)))]

    def _as_states(self, begun: Edges) -> Edges:
        """Make one state of all rows of a key that begin and end together."""
        keys = [begun.payload.column(name) for name in self._keys]
        count = len(begun)
        order, slices = None, Slices(np.arange(count + 1))
        # Rows come in order of their begins. Where few of these are equal, there is little to gain.
        if 2 * np.count_nonzero(begun.at[1:] != begun.at[:-1]) < count:
            order, slices = by_group([*keys, *_columns(begun)], count)
        states = self._states.add_slices(begun.payload, begun.at, begun.at, order, slices)
        if order is not None:
            firsts = order[slices.bounds[:-1]]
            begun = begun.take(firsts)
        columns = {name: begun.payload.column(name) for name in self._keys}
        columns |= {name: states.column(name) for name in states.column_names[1:-1]}
        return Edges(begun.at, begun.other, begun.id, pa.table(columns))

    def _answers(
        self, states: Edges, stretches: _Stretches, until: int
    ) -> tuple[Edges, Times, Mask]:
        """Answer for all stretches in which something counts."""
        filled = stretches.filled
        merged = self._merged(states, stretches)
        results = self._states.finish(gather(merged, filled), self._rows).drop_columns([PANE])
        of = pa.array(stretches.one_state[filled])
        columns = {name: states.payload.column(name).take(of) for name in self._keys}
        columns |= dict(zip(results.column_names, results.columns, strict=True))
        told = np.full(len(stretches.rows), FINAL)
        told[stretches.firsts] = states.payload.column(TOLD).to_numpy()
        payload = pa.table(columns, self._payload).append_column(TOLD, pa.array(told[filled]))
        starts, ends = stretches.starts[filled], stretches.ends[filled]
        rows = Edges(starts, ends, np.full(len(filled), FINAL), payload)
        return rows, ends, (ends < FOREVER) | (until == FOREVER)

    def _merged(self, states: Edges, stretches: _Stretches) -> Batch:
        """Make one state for each stretch."""
        parts = states.payload.drop_columns([*self._keys, TOLD])
        if self._adds_up:
            sums = [_sums(column, stretches) for column in parts.columns]
            if all(column is not None for column in sums):
                panes = pa.array(np.arange(len(stretches.rows)))
                return pa.table([panes, *sums], [PANE, *parts.column_names])
        return self._by_tree(parts, stretches)

    def _by_tree(self, states: Batch, stretches: _Stretches) -> Batch:
        """Merge states down a tree whose leaves are the stretches."""
        from latecomer.kernels.stretches import tree_cover

        count = len(stretches.rows)
        levels = max(count - 1, 0).bit_length()
        nodes, rows = tree_cover(stretches.firsts, stretches.stops, levels)
        placed = _with_pane(gather(states, rows), nodes)
        above = placed.slice(0, 0)
        for level in range(levels + 1):
            at = placed.column(PANE).to_numpy()
            here = (at >= 1 << level) & (at < 2 << level)
            here_states = pa.concat_tables([placed.filter(pa.array(here)), *_children(above)])
            above = self._states.merge(here_states, self._rows)
        leaves = above.column(PANE).to_numpy() - (1 << levels)
        spread = np.zeros(count, np.int64)
        spread[leaves[leaves < count]] = np.flatnonzero(leaves < count)
        return gather(above, spread)

    def _hold(self, states: Edges, stretches: _Stretches, still_open: Edges) -> None:
        """Keep what has not ended, as one state where it ends together."""
        kept = np.flatnonzero(~stretches.is_ended)
        if not len(kept) or self._since == FOREVER:
            self._held = self._nothing_held()
            return
        # The open stretch of a key is its last; those that are told of come in the same order.
        opened = np.full(len(stretches.rows), FINAL)
        is_open = stretches.ends[stretches.filled] == FOREVER
        opened[stretches.filled[is_open]] = still_open.payload.column(TOLD).to_numpy()
        last = stretches.stops[kept] - 1
        held = states.take(kept)
        order, slices = by_group(
            [*(held.payload.column(name) for name in self._keys), *_columns(held)[1:]], len(held)
        )
        firsts = order[slices.bounds[:-1]]
        parts = _with_pane(
            held.payload.drop_columns([*self._keys, TOLD]), np.zeros(len(held), np.int64)
        )
        merged = self._states.merge_slices(gather(parts, order), slices, self._rows)
        columns = {name: held.payload.column(name).take(pa.array(firsts)) for name in self._keys}
        columns |= {name: merged.column(name) for name in parts.column_names if name != PANE}
        columns[TOLD] = pa.array(opened[last[firsts]])
        self._held[0] = Edges(
            stretches.starts[last[firsts]],
            held.other[firsts],
            held.id[firsts],
            pa.table(columns, held.payload.schema),
        )


@dataclass(frozen=True, slots=True)
class _Stretches:
    """Where time is cut: one after the other for a key, and one key after the other."""

    starts: Times
    ends: Times
    """`FOREVER` for the last one of a key, which is still open."""
    firsts: Positions
    stops: Positions
    """For each state: its first stretch, and the one after its last."""
    is_ended: Mask
    rows: Positions
    """How many states there are in each stretch."""
    filled: Positions
    """The stretches that began before the watermark and in which there are any states."""
    one_state: Positions
    """For each stretch, any state of its key."""

    @classmethod
    def of(cls, states: Edges, keys: tuple[str, ...], until: int) -> _Stretches:
        from latecomer.kernels.stretches import cover_sums

        codes, count = group_codes([states.payload.column(name) for name in keys], len(states))
        is_ended = (states.other <= until) & (states.other < FOREVER)
        ended = np.flatnonzero(is_ended)
        # All begins and ends, in order of keys and time; a cut is where either changes.
        of = np.concatenate([np.arange(len(states)), ended])
        times, codes = np.concatenate([states.at, states.other[ended]]), codes[of]
        order = group_order(codes, count, times)
        times, sorted_codes = times[order], codes[order]
        is_cut = np.ones(len(order), np.bool_)
        is_other_key = sorted_codes[1:] != sorted_codes[:-1]
        is_cut[1:] = is_other_key | (times[1:] != times[:-1])
        places = np.empty(len(order), np.int64)
        places[order] = np.cumsum(is_cut) - 1
        starts, of_cut = times[is_cut], sorted_codes[is_cut]
        is_last = np.append(of_cut[1:] != of_cut[:-1], True)[: len(of_cut)]
        upto = np.where(is_last, FOREVER, np.append(starts[1:], FOREVER)[: len(starts)])
        firsts = places[: len(states)]
        stops, goes_on = np.empty(len(states), np.int64), np.flatnonzero(~is_ended)
        stops[ended] = places[len(states) :]
        stops[goes_on] = np.searchsorted(of_cut, codes[goes_on], side="right")
        rows = cover_sums(firsts, stops, np.ones(len(states), np.int64), len(starts))
        filled = np.flatnonzero((rows > 0) & (starts < until))
        return cls(starts, upto, firsts, stops, is_ended, rows, filled, of[order[is_cut]])


def _columns(edges: Edges) -> list[pa.ChunkedArray]:
    return [pa.chunked_array([values]) for values in (edges.at, edges.other, edges.id)]


def _with_pane(states: Batch, panes: Positions) -> Batch:
    return pa.table([pa.array(panes), *states.columns], [PANE, *states.column_names])


def _children(states: Batch) -> list[Batch]:
    """Hand the states of nodes down to both children."""
    parents = states.column(PANE).to_numpy()
    return [states.set_column(0, PANE, pa.array(2 * parents + side)) for side in (0, 1)]


def _sums(column: pa.ChunkedArray, stretches: _Stretches) -> pa.Array | None:
    """Add up a column of integers in each stretch; None if the sums might not fit."""
    from latecomer.kernels.stretches import cover_sums

    values = column.fill_null(0).to_numpy()
    if np.abs(values.astype(np.float64)).sum() >= FOREVER // 2:
        return None
    span = (stretches.firsts, stretches.stops)
    sums = cover_sums(*span, values, len(stretches.rows))
    if not column.null_count:
        return pa.array(sums)
    valid = np.asarray(column.is_valid()).astype(np.int64)
    return pa.array(sums, mask=cover_sums(*span, valid, len(sums)) == 0)
