"""Aggregates over lifetimes of one length: what was true at each instant.

Each row counts from its time on, for a fixed duration: `[time, time + duration)`. Whenever a row
begins or ceases to count the answer may change, so there is one answer for each stretch between
two such instants in which any row counts:

    duration 10     row at 0    ├──────────┤
                    row at 3       ├──────────┤
    counts                      │1 │   2   │1 │
                                0  3      10 13

An ordered stream is needed: a row that came late would change answers already given. With several
waits there is such a stream for each of them, and each gets its own answers.

Rows are kept as states, one for each instant and key, while they count. The answer of a stretch is
the merge of neighbouring states. Blocks of 2, 4, 8 … states are merged once, and each stretch is
put together from a few of them, so that no aggregate has to know how to take a row away.

Paper: Chandramouli et al.: Trill (VLDB 2014), snapshot aggregates over intervals of one length.
Holds: between calls a state is held iff it counts at the watermark, or its end is where the
    stretch that is still open began.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Positions, concat, gather
from latecomer.operators.aggregates.slices import Slices, by_group
from latecomer.operators.aggregates.summary import PANE, ROWS, Summary
from latecomer.operators.base import Chunks, Emission, Operator, Running, by
from latecomer.operators.levels import IS_FINAL, WAIT, ahead
from latecomer.operators.windows.bounds import WINDOW, window_column, window_field
from latecomer.operators.windows.grid import check_reach
from latecomer.time import NEVER, TimeColumn, Times, format_duration


@dataclass(frozen=True, slots=True)
class Snapshots(Operator):
    """Aggregates over all rows that count at an instant; the specification."""

    time: TimeColumn
    duration: int
    waits: tuple[int, ...]
    """With several, the rows say in a column `wait` which one they have come after."""
    summary: Summary

    @property
    def keyed(self) -> tuple[str, ...]:
        """Rows of a key are aggregated together."""
        return self.summary.keys

    def describe(self, schema: pa.Schema) -> str:
        """Say what is held, and until when."""
        return (
            f"aggregate {self.summary.names}{by(self.keyed)} at each instant, over rows that count "
            f"for {format_duration(self.duration)}: one state for each time and key is held while "
            "its rows count"
        )

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """The stretch as a window, keys and results; with several waits also which it is."""
        bounds = window_field(schema, self.time)
        several = [schema.field(name) for name in (WAIT, IS_FINAL) if len(self.waits) > 1]
        return pa.schema([bounds, *self.summary.result_schema(schema), *several])

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> SnapshotTaker:
        """Make the running operator for rows of this schema."""
        return SnapshotTaker(self, schema, chunks, saved)


class SnapshotTaker(Running):
    """A running `Snapshots`."""

    def __init__(
        self, spec: Snapshots, schema: pa.Schema, chunks: Chunks, saved: bytes | None
    ) -> None:
        """Begin with nothing held, or where `saved` left off."""
        self._spec = spec
        self._schema = schema
        self._chunks = chunks
        self._out = spec.output_schema(schema)
        # The streams of several waits are told apart like keys.
        several = (WAIT,) if len(spec.waits) > 1 else ()
        self._states = Summary((*several, *spec.summary.keys), spec.summary.aggregates)
        self._new: list[Batch] = []
        self._watermark, self._held, self._due = NEVER, 0, None
        if saved is not None:
            self._watermark, self._held, self._due = json.loads(saved)

    @property
    def held(self) -> int:
        """How many states are held."""
        return self._held

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Take in rows of an ordered stream."""
        times = self._spec.time.micros(rows)
        check_reach(times)
        self._new.append(self._states.add(rows, times, times).drop_columns([ROWS]))
        return Emission(self._out.empty_table(), self._schema.empty_table())

    def advance(self, watermark: int) -> Emission:
        """Answer for every stretch that has ended by now."""
        before, self._watermark = self._watermark, max(watermark, self._watermark)
        nothing = self._schema.empty_table()
        if not self._new and (self._due is None or self._due > self._watermark):
            return Emission(self._out.empty_table(), nothing)
        states = self._taken()
        stretches = _Stretches.of(
            states, self._states.keys, self._spec.duration, self._reached(states, self._watermark)
        )
        told = self._told(states, stretches.ended_after(self._reached(states, before)))
        self._hold(states.filter(pa.array(stretches.is_open())))
        return Emission(told, nothing)

    def due(self) -> int | None:
        """The smallest watermark of the last level at which a row ceases to count."""
        return self._due

    def save(self) -> bytes:
        """Write down the watermark, and what is held."""
        return json.dumps([self._watermark, self._held, self._due]).encode()

    def _taken(self) -> Batch:
        """Put all states together, in order of keys and then of times."""
        parts = [self._chunks.get(0)] if self._held else []
        states = concat([*parts, *self._new], self._states.state_schema(self._schema))
        self._new = []
        states = self._states.merge(states, self._schema)
        keys = [states.column(name) for name in self._states.keys]
        order, _ = by_group(keys, states.num_rows, states.column(PANE).to_numpy())
        return gather(states, order)

    def _hold(self, states: Batch) -> None:
        if self._held:
            self._chunks.drop(0)
        self._held = states.num_rows
        self._due = None
        if self._held:
            self._chunks.put(0, states.combine_chunks())
            ends = states.column(PANE).to_numpy() + self._spec.duration
            late_by = self._reached(states, 0)
            to_come = ends - late_by
            self._due = int(to_come[to_come > self._watermark].min())

    def _reached(self, states: Batch, watermark: int) -> Times:
        """Tell the watermark that each state is to be compared with: that of its level."""
        waits = self._spec.waits
        if len(waits) == 1:
            return np.full(states.num_rows, watermark)
        mine = np.array([ahead(watermark, waits[-1] - wait) for wait in waits])
        return mine[np.searchsorted(waits, self._waits(states))]

    def _waits(self, states: Batch) -> Times:
        return states.column(WAIT).cast(pa.int64()).to_numpy()

    def _told(self, states: Batch, stretches: _Ended) -> Batch:
        if not len(stretches.starts):
            return self._out.empty_table()
        merged = self._states.merge_slices(*self._pieces(states, stretches), self._schema)
        results = self._states.finish(merged, self._schema)
        field = self._out.field(WINDOW)
        columns = {
            WINDOW: window_column(stretches.starts, stretches.ends, field, self._spec.time),
            **dict(zip(results.column_names, results.columns, strict=True)),
        }
        if len(self._spec.waits) > 1:
            columns[IS_FINAL] = pa.array(self._waits(results) == self._spec.waits[-1])
        return pa.table([columns[name] for name in self._out.names], self._out)

    def _pieces(self, states: Batch, stretches: _Ended) -> tuple[Batch, Slices]:
        """Cover each stretch with blocks of 1, 2, 4 … merged states, from left to right."""
        blocks, size = states, 1
        at, lengths = stretches.firsts.copy(), stretches.lengths
        found, of = [], []
        while True:
            uses = np.flatnonzero(lengths & size)
            found.append(gather(blocks, at[uses]))
            of.append(uses)
            at[uses] += size
            if 2 * size > lengths.max():
                break
            pairs = np.arange(blocks.num_rows - size)[:, None] + [0, size]
            slices = Slices(2 * np.arange(len(pairs) + 1))
            blocks = self._states.merge_slices(gather(blocks, pairs.ravel()), slices, self._schema)
            size *= 2
        numbers = np.concatenate(of)
        order = np.argsort(numbers, kind="stable")
        bounds = np.searchsorted(numbers[order], np.arange(len(lengths) + 1))
        return gather(concat(found, states.schema), order), Slices(bounds)


@dataclass(frozen=True, slots=True)
class _Ended:
    """Stretches, and which states count in each: so many, from the first on."""

    starts: Times
    ends: Times
    firsts: Positions
    lengths: Positions


@dataclass(frozen=True, slots=True)
class _Stretches:
    """The instants at which something begins or ceases to count, up to the watermark.

    An instant of a group is a number: the group's, times the count of all instants, plus the
    instant's own. Numbers ascend as groups do, and instants within them.
    """

    instants: Times
    """All instants, ascending."""
    groups: Positions
    """The group of each state."""
    begin: Positions
    end: Positions
    """The numbers of the instants at which each state begins and ceases to count."""
    seen: Positions
    """The numbers of instants up to the watermark, ascending."""

    @classmethod
    def of(
        cls, states: Batch, keys: tuple[str, ...], duration: int, watermarks: Times
    ) -> _Stretches:
        times = states.column(PANE).to_numpy()
        _, slices = by_group([states.column(name) for name in keys], len(times))
        groups = slices.groups
        instants, numbers = np.unique([times, times + duration], return_inverse=True)
        begin, end = numbers.reshape(2, -1) + groups * len(instants)
        seen = np.unique(np.concatenate([begin, end[times + duration <= watermarks]]))
        return cls(instants, groups, begin, end, seen)

    def ended_after(self, before: Times) -> _Ended:
        """List the stretches in which something counts and that end after a watermark."""
        starts, ends = self.seen[:-1], self.seen[1:]
        firsts = np.searchsorted(self.end, starts, side="right")
        lengths = np.searchsorted(self.begin, starts, side="right") - firsts
        counts = (lengths > 0) & (starts // len(self.instants) == ends // len(self.instants))
        starts, ends, firsts, lengths = (a[counts] for a in (starts, ends, firsts, lengths))
        until = self.instants[ends % len(self.instants)]
        is_new = until > before[firsts]
        since = self.instants[starts % len(self.instants)]
        return _Ended(since[is_new], until[is_new], firsts[is_new], lengths[is_new])

    def is_open(self) -> np.ndarray:
        """Tell which states are still needed: those that count, and what marks the last instant."""
        last = self.seen[np.searchsorted(self.seen, (self.groups + 1) * len(self.instants)) - 1]
        still_counts = self.end > last
        in_use = np.isin(self.groups, self.groups[still_counts])
        return still_counts | (in_use & (self.end == last))
