"""Rows grouped by pane and key, and several aggregates of each group.

    rows ─add─▶ states, one row per pane and key ─merge─▶ fewer ─finish─▶ results

A table of states has the pane, the key columns, and for each aggregate the columns of its state.
Further columns are internal and are merged like states: the number of rows in a state, the newest
time when rows last came to it, and the clock of its key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Positions, gather
from latecomer.labels import Labelled
from latecomer.operators.aggregates.base import Aggregate, Columns, Input, column_type, one_array
from latecomer.operators.aggregates.slices import (
    Slices,
    by_group,
    group_codes,
    group_order,
    slices_of,
)
from latecomer.time import Times

PANE = "_lc_pane"
ROWS = "_lc_rows"
"""Number of rows in a state."""
TOUCHED = "_lc_touched"
"""Newest time of the stream when rows last came to a state."""
SLOT = "_lc_slot"
"""Number of the key of a state, where each key has a clock of its own."""
FIRST_SEEN = "_lc_first_seen_{}"
"""Number of rows that came in time for this level, and too late for the one before."""

ROUND = "_lc_round"
"""Number of answers that had been given for the windows of a state when its rows came. States of
different rounds are not merged, so that earlier answers can be computed again."""

_LARGEST = (TOUCHED, SLOT, ROUND)
"""Columns of which a merged state has the largest value; others are added."""


@dataclass(frozen=True, slots=True)
class Summary(Labelled):
    """Aggregates of rows, grouped by some columns; the specification."""

    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, Aggregate], ...]
    """The name of each result, and its aggregate."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read."""
        read = [name for _, aggregate in self.aggregates for name in aggregate.columns]
        return tuple(dict.fromkeys([*self.keys, *read]))

    @property
    def compared(self) -> tuple[str, ...]:
        """The columns in which rows of a group are equal: the keys, or what identifies them."""
        return self.keys

    @property
    def names(self) -> str:
        """Names of the results, separated by commas."""
        return ", ".join(name for name, _ in self.aggregates)

    def result_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of the results, given that of the rows."""
        results = [
            pa.field(name, aggregate.result_type(schema)) for name, aggregate in self.aggregates
        ]
        return pa.schema([*self._key_fields(schema), *results])

    def state_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of states."""
        types = [
            pa.field(name, kind)
            for at, (_, aggregate) in enumerate(self.aggregates)
            for name, kind in zip(
                self.state_names(at, schema), aggregate.state_types(schema), strict=True
            )
        ]
        return pa.schema([pa.field(PANE, pa.int64()), *self._key_fields(schema), *types])

    def add(self, rows: Batch, panes: Times, times: Times) -> Batch:
        """Return the states of rows, one per pane and key, with the number of their rows.

        If rows have the columns `TOUCHED`, `SLOT` or `ROUND`, their states have them too.
        """
        keys = [rows.column(name) for name in self.compared]
        needs_order = any(aggregate.needs_order for _, aggregate in self.aggregates)
        if not keys and not needs_order and (panes[1:] >= panes[:-1]).all():
            return self.add_slices(rows, panes, times, None, slices_of(panes))
        groups, count = group_codes([pa.chunked_array([panes]), *keys], rows.num_rows)
        tallied = self._tallied(rows, panes, groups, count)
        if tallied is not None:
            return tallied
        order = group_order(groups, count, times if needs_order else None)
        return self.add_slices(rows, panes, times, order, slices_of(groups[order]))

    def _tallied(self, rows: Batch, panes: Times, groups: Positions, count: int) -> Batch | None:
        """Return the states of rows without sorting these; None if that is not possible."""
        if count > 2 * len(groups) or not {TOUCHED, ROUND}.isdisjoint(rows.column_names):
            return None
        columns: list[pa.Array] = []
        for _, aggregate in self.aggregates:
            states = aggregate.tally(rows, groups, count)
            if states is None:
                return None
            columns += states
        lengths, firsts = np.bincount(groups, minlength=count), np.empty(count, np.int64)
        # Rows are written backwards, so that the first row of a group is written last and stays.
        firsts[groups[::-1]] = np.arange(len(groups))[::-1]
        filled = pa.array(np.flatnonzero(lengths))
        found = pa.array(firsts).take(filled)
        keys = [rows.column(name).take(found) for name in self.keys]
        states = [column.take(filled) for column in columns]
        made = pa.table(
            [pa.array(panes).take(found), *keys, *states], self.state_schema(rows.schema)
        )
        made = made.append_column(ROWS, pa.array(lengths).take(filled))
        if SLOT in rows.column_names:
            # Rows of a group have equal keys, and so the same slot.
            made = made.append_column(SLOT, rows.column(SLOT).take(found))
        return made

    def add_slices(
        self, rows: Batch, panes: Times, times: Times, order: Positions | None, slices: Slices
    ) -> Batch:
        """Return one state for each slice of rows, which are put in `order` first if it is given.

        Pane and key are those of the first row of a slice.
        """
        schema = rows.schema
        keys = [rows.column(name) for name in self.keys]
        read = dict.fromkeys(name for _, each in self.aggregates for name in each.columns)
        given = (
            Input(rows.select([*read]), times, slices)
            if order is None
            else Input(gather(rows.select([*read]), order), times[order], slices)
        )
        found = slices.bounds[:-1] if order is None else order[slices.bounds[:-1]]
        columns: list[pa.Array | pa.ChunkedArray] = [pa.array(panes[found])]
        columns += [key.take(pa.array(found)) for key in keys]
        columns += self.states_of(given)
        made = pa.table(columns, self.state_schema(schema))
        made = made.append_column(ROWS, pa.array(slices.lengths, pa.int64()))
        for name in _LARGEST:
            if name in schema.names:
                values = rows.column(name).to_numpy()
                values = values if order is None else values[order]
                made = made.append_column(name, pa.array(slices.reduce(np.maximum, values, 0)))
        return made

    def states_of(self, given: Input) -> Columns:
        """Return the columns of one state for each slice."""
        return [column for _, aggregate in self.aggregates for column in aggregate.add(given)]

    def merge(self, states: Batch, schema: pa.Schema) -> Batch:
        """Merge the states of each pane, key and round into one; return them in order of panes."""
        apart = [ROUND] if ROUND in states.column_names else []
        keys = [states.column(name) for name in (PANE, *self.compared, *apart)]
        order, slices = by_group(keys, states.num_rows)
        if len(slices) == states.num_rows:
            return gather(states, order)
        return self.merge_slices(gather(states, order), slices, schema)

    def merge_slices(self, states: Batch, slices: Slices, schema: pa.Schema) -> Batch:
        """Merge each slice of states into one; pane and key are those of its first state."""
        found = pa.array(slices.bounds[:-1])
        columns = {name: states.column(name).take(found) for name in (PANE, *self.keys)}
        for at, (_, aggregate) in enumerate(self.aggregates):
            names = self.state_names(at, schema)
            parts = [one_array(states.column(name)) for name in names]
            columns |= dict(zip(names, aggregate.merge(parts, slices), strict=True))
        for name in states.column_names:
            if name not in columns:
                function = np.maximum if name in _LARGEST else np.add
                values = states.column(name).to_numpy()
                columns[name] = pa.array(slices.reduce(function, values, 0))
        return pa.table([columns[name] for name in states.column_names], states.schema)

    def finish(self, states: Batch, schema: pa.Schema) -> Batch:
        """Return the results of states: the pane, the keys, the results."""
        columns = [states.column(name) for name in (PANE, *self.keys)]
        for at, (_, aggregate) in enumerate(self.aggregates):
            parts = [one_array(states.column(name)) for name in self.state_names(at, schema)]
            columns.append(aggregate.finish(parts, schema))
        fields = [pa.field(PANE, pa.int64()), *self.result_schema(schema)]
        return pa.table(columns, pa.schema(fields))

    def state_names(self, at: int, schema: pa.Schema) -> list[str]:
        """Return the names of the columns of the state of aggregate number `at`."""
        kinds = self.aggregates[at][1].state_types(schema)
        return [f"_lc_state_{at}_{number}" for number in range(len(kinds))]

    def _key_fields(self, schema: pa.Schema) -> list[pa.Field]:
        return [pa.field(name, column_type(schema, name)) for name in self.keys]


@dataclass(frozen=True, slots=True)
class SlottedSummary(Summary):
    """A summary of rows that have a slot, which identifies the values of some keys."""

    identified: tuple[str, ...]

    @classmethod
    def of(cls, summary: Summary, columns: tuple[str, ...]) -> SlottedSummary:
        """Return a summary by the slot and the keys, given those that the slot identifies."""
        return cls((SLOT, *summary.keys), summary.aggregates, (SLOT, *columns))

    @property
    def compared(self) -> tuple[str, ...]:
        """The slot in the place of the keys that it identifies: numbers are compared faster."""
        return slotted(self.keys, self.identified)


def names_of(summaries: Sequence[Summary]) -> list[str]:
    """Return the names of the output columns of the last of some summaries."""
    return [*summaries[-1].keys, *(name for name, _ in summaries[-1].aggregates)]


def slotted(keys: tuple[str, ...], columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns of a key with the slot in the place of those that it identifies."""
    return (SLOT, *(name for name in keys if name not in columns))
