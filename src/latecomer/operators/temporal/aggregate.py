"""Aggregates of all rows that count at an instant: one result for each stretch between changes.

    rows              ├── a ──────────┤
                            ├── b ──────────┤
    count             │  1  │    2    │  1  │

Whenever a row of a key begins or ends, the result of this key may change, so its time is cut there.
Each stretch in which a row counts has one result; a stretch without rows has none. Equal results
are not merged: `Stitch` does that.

Rows are held as states. Rows of a key that begin and end together are one state, and so are rows of
a key that never end. There are three ways to aggregate them:

- Counts and sums of integers can be subtracted. A stretch has the sum of all states that have begun
  less those that have ended.
- The largest value cannot be subtracted. The states that can still be the largest are kept in a
  queue.
- For all other aggregates, the stretches are the leaves of a tree. Each state is put at the few
  nodes that cover its lifetime, and a leaf merges the nodes above it: O(n log n) for all leaves.
  If one aggregate needs the tree, all aggregates use it.

A stretch that ends at the watermark is emitted at once, because later rows cannot begin before it.
A stretch that begins at the watermark is emitted once the watermark has moved on.

Paper: Chandramouli et al.: Trill (VLDB 2014), Section 6 (snapshot aggregates).
Departures: the paper keeps a queue of endpoints unless lifetimes are of one length. Here the states
    held are put in order of their ends together with the new ones, once for each watermark.
Holds: between calls, all states of a key begin where its open stretch began, and `TOLD` is the id
    of that stretch, or -1 if it began at the watermark.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Positions, gather
from latecomer.kernels.order import stable_order
from latecomer.operators.aggregates.base import Input, one_array
from latecomer.operators.aggregates.slices import Slices, by_group, group_order
from latecomer.operators.aggregates.summary import PANE, SlottedSummary, Summary
from latecomer.operators.base import Chunks, by
from latecomer.operators.temporal.base import TOLD, Settler, untold
from latecomer.operators.temporal.edges import (
    FINAL,
    Edges,
    ascends,
    edge_schema,
    ends_of,
    payload_schema,
)
from latecomer.operators.temporal.specification import Temporal
from latecomer.operators.temporal.stretches import Stretches, covered, is_direct
from latecomer.time import FOREVER, Times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from latecomer.operators.ways import Way


@dataclass(frozen=True, slots=True)
class SnapshotAggregate(Temporal):
    """Aggregates of the rows that count at each instant, by key."""

    carries_columns = False

    summary: Summary

    @property
    def keyed(self) -> tuple[str, ...]:
        return self.summary.keys

    def describe(self, schema: pa.Schema) -> str:
        rows = payload_schema(schema)
        others = [name for name, each in self.summary.aggregates if not is_direct(each, rows)]
        way = (
            f"states are merged by a tree, because {', '.join(others)} cannot be subtracted"
            if others
            else "whole numbers are added and subtracted, extremes are kept in queues"
        )
        return (
            f"aggregate {self.summary.names}{by(self.keyed)} at each instant: {way}; one state is "
            "held for rows that begin and end together"
        )

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return edge_schema(self.summary.result_schema(payload_schema(schema)))

    def with_slot(self, columns: tuple[str, ...]) -> SnapshotAggregate:
        return replace(self, summary=SlottedSummary.of(self.summary, columns))

    def start(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> SnapshotAggregator:
        return SnapshotAggregator(self, [schema], chunks, saved)


class SnapshotAggregator(Settler[SnapshotAggregate]):
    """A running `SnapshotAggregate`."""

    beyond = 0

    def _prepare(self) -> None:
        self._keys, self._rows = self._spec.keyed, self._inputs[0]
        self._compared = self._spec.summary.compared
        # A state is of one row, or of rows that begin and end together, so it needs no key.
        self._states = Summary((), self._spec.summary.aggregates)
        self._names = self._states.state_schema(self._rows).names[1:]
        self._is_direct = all(is_direct(a, self._rows) for _, a in self._spec.summary.aggregates)

    def step(self, due: tuple[Edges, ...], way: Way) -> Edges:
        """Return the results of all stretches that begin before the watermark."""
        is_end = due[0].is_end
        new = self._as_states(due[0].where(~is_end))
        states = Edges.joined([self._held[0], untold(new)])
        if is_end.any():
            ends = np.minimum(states.other, ends_of(states.id, due[0]))
            states = Edges(states.at, ends, states.id, states.payload)
        old = np.arange(len(self._held[0]))
        until = way.now(states.payload)
        if until.ndim and not ascends(states.at):
            # A state of one key may have begun after a state of another key has ended.
            order = stable_order(states.at)
            states, until = states.take(order), until[order]
            old = np.flatnonzero(order < len(old))
        stretches = Stretches.of(states, self._compared, until)
        told, ids = self._answers(states, stretches, old, way)
        self._hold(states, stretches, ids, is_final=way.is_final)
        return told

    def dues(self) -> Iterator[tuple[Edges, Times]]:
        """Yield also the begins of new stretches, which the watermark must pass."""
        yield from super().dues()
        held = self._held[0]
        is_untold = held.payload.column(TOLD).to_numpy() == FINAL
        yield held, np.where(is_untold, held.at + 1, FOREVER)

    def _nothing_held(self) -> list[Edges]:
        return [untold(self._as_states(Edges.none(self._rows)))]

    def _as_states(self, begun: Edges) -> Edges:
        """Return the states of rows: one for all rows of a key that begin and end together."""
        keys = [begun.payload.column(name) for name in self._compared]
        count = len(begun)
        order, slices = None, Slices(np.arange(count + 1))
        # Rows come in order of their begins. If few begins are equal, grouping gains little.
        # Without a tree it gains nothing.
        if not self._is_direct and 2 * np.count_nonzero(begun.at[1:] != begun.at[:-1]) < count:
            order, slices = by_group([*keys, *_columns(begun)], count)
            begun = begun.take(order)
        states = self._states.states_of(Input(begun.payload, begun.at, slices))
        if order is not None:
            begun = begun.take(slices.bounds[:-1])
        columns = [*(begun.payload.column(name) for name in self._keys), *states]
        names = [*self._keys, *self._names]
        return Edges(begun.at, begun.other, begun.id, pa.table(columns, names)).in_order()

    def _answers(
        self, states: Edges, stretches: Stretches, old: Positions, way: Way
    ) -> tuple[Edges, Positions]:
        """Return the results of all stretches in which a row counts.

        Args:
            states: The states.
            stretches: Their stretches.
            old: The positions of the states that were held, which are in the same order.
            way: The way of the watermarks.

        Returns:
            The edges to emit, in order; and for each stretch the id under which its begin was
            emitted. It is -1 if the begin was not emitted, or was emitted with its end.
        """
        from latecomer.kernels.stretches import tell

        ids = np.full(len(stretches.starts), FINAL)
        # The states held are in stretches of which each key has one.
        firsts = stretches.firsts[old]
        ids[firsts] = states.payload.column(TOLD).to_numpy()[old]
        is_open = np.zeros(len(ids), np.bool_)
        is_open[firsts] = True
        open_before = np.flatnonzero(is_open)
        # A stretch that never ends has no end to emit.
        is_ended = (ids[open_before] != FINAL) & (stretches.ends[open_before] < FOREVER)
        ended = open_before[is_ended]
        ended = ended[stable_order(stretches.ends[ended])]
        rows, last, until = stretches.rows, way.highest, way.now(states.payload)
        if until.ndim:
            # No stretch that begins at the watermark of its key, or after it, is emitted.
            rows = np.where(stretches.starts < until[stretches.one_state], rows, 0)
            last = FOREVER if way.is_final else FOREVER - 1
        at, other, told_ids, of, self._next_id = tell(
            stretches.starts, stretches.ends, rows, ids, ended, last, self._next_id
        )
        results = self._states.finish(self._merged(states, stretches, of), self._rows)
        one_state = pa.array(stretches.one_state[of])
        columns = {
            name: one_array(states.payload.column(name)).take(one_state) for name in self._keys
        }
        columns |= {name: results.column(name) for name in results.column_names[1:]}
        return Edges(at, other, told_ids, pa.table(columns, self._payload)), ids

    def _merged(self, states: Edges, stretches: Stretches, of: Positions) -> Batch:
        """Return one merged state for each stretch in `of`."""
        parts = states.payload.drop_columns([*self._keys, TOLD])
        columns: list[pa.Array] = []
        for at, (_, aggregate) in enumerate(self._spec.summary.aggregates):
            names = self._states.state_names(at, self._rows)
            given = [one_array(parts.column(name)) for name in names]
            found = covered(aggregate, given, stretches, of) if self._is_direct else None
            if found is None:
                return gather(self._by_tree(parts, stretches), of)
            columns += found
        return pa.table([pa.array(of), *columns], [PANE, *parts.column_names])

    def _by_tree(self, states: Batch, stretches: Stretches) -> Batch:
        """Return one state for each stretch, merged down a tree whose leaves are the stretches."""
        from latecomer.kernels.stretches import tree_cover

        count = len(stretches.rows)
        levels = max(count - 1, 0).bit_length()
        leaf_of, firsts, stops = stretches.by_key()
        nodes, rows = tree_cover(firsts, stops, levels)
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
        return gather(above, spread[leaf_of])

    def _hold(self, states: Edges, stretches: Stretches, ids: Positions, *, is_final: bool) -> None:
        """Hold the states that have not ended; those of a key that end together become one."""
        kept = np.flatnonzero(stretches.stops < 0)
        if not len(kept) or is_final:
            self._held = self._nothing_held()
            return
        # The open stretch of a key is its last.
        last = stretches.lasts[stretches.codes[kept]]
        held = states.take(kept)
        told = pa.array(ids[last])
        held = Edges(
            stretches.starts[last],
            held.other,
            held.id,
            held.payload.set_column(held.payload.num_columns - 1, TOLD, told),
        )
        codes = stretches.codes[kept]
        order, slices = _together(held, codes, len(stretches.lasts))
        if len(slices) < len(held):
            held = self._as_one(held, order, slices)
            held = held.take(stable_order(held.other))
        self._held[0] = held

    def _as_one(self, held: Edges, order: Positions, slices: Slices) -> Edges:
        """Return one merged state for each slice."""
        firsts = order[slices.bounds[:-1]]
        parts = _with_pane(
            held.payload.drop_columns([*self._keys, TOLD]), np.zeros(len(held), np.int64)
        )
        merged = self._states.merge_slices(gather(parts, order), slices, self._rows)
        first = held.take(firsts)
        payload = first.payload
        for at, name in enumerate(payload.column_names):
            if name in merged.column_names:
                payload = payload.set_column(at, name, merged.column(name))
        return replace(first, payload=payload)


def _together(held: Edges, codes: Positions, count: int) -> tuple[Positions, Slices]:
    """Return an order that puts states of equal key, end and id side by side, and their slices."""
    order = stable_order(held.id)
    order = order[stable_order(held.other[order])]
    order = order[group_order(codes[order], count)]
    keys, ends, ids = codes[order], held.other[order], held.id[order]
    is_new = (keys[1:] != keys[:-1]) | (ends[1:] != ends[:-1]) | (ids[1:] != ids[:-1])
    return order, Slices(np.concatenate([[0], np.flatnonzero(is_new) + 1, [len(order)]]))


def _columns(edges: Edges) -> list[pa.ChunkedArray]:
    return [pa.chunked_array([values]) for values in (edges.at, edges.other, edges.id)]


def _with_pane(states: Batch, panes: Positions) -> Batch:
    return pa.table([pa.array(panes), *states.columns], [PANE, *states.column_names])


def _children(states: Batch) -> list[Batch]:
    """Return the states of nodes twice, once for each of their children."""
    parents = states.column(PANE).to_numpy()
    return [states.set_column(0, PANE, pa.array(2 * parents + side)) for side in (0, 1)]
