"""The states of an aggregation, in order of their panes, and the answers that are made of them.

What is asked is asked for the way of a watermark, which may be one for all states or one for each
key: the windows that end on the way are answered for, level by level.

A level has *changed* a window if its answer differs from that of the level before. A state cannot
be taken apart, so states of rows that came before and after an answer are kept apart, in *rounds*,
and the answer before is made again where rows have come since.

Holds: a state says how new the newest row was when rows last came to it, and how many of its rows
    each level was the first to see. All rows of a state were seen by the same answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, concat, gather
from latecomer.operators.aggregates.slices import by_group
from latecomer.operators.aggregates.summary import (
    FIRST_SEEN,
    PANE,
    ROUND,
    ROWS,
    TOUCHED,
    names_of,
)
from latecomer.operators.leaves import Leaf, Leaves
from latecomer.operators.levels import ahead
from latecomer.operators.ways import Way
from latecomer.operators.windows.bounds import WINDOW, window_column
from latecomer.time import NEVER, Times, wait_texts

if TYPE_CHECKING:
    from latecomer.operators.windows.aggregate import Aggregation


class WindowStates:
    """States in leaves."""

    def __init__(self, spec: Aggregation, schema: pa.Schema, leaves: Leaves) -> None:
        self._spec = spec
        self._schema = schema
        self._windows = spec.windows
        self._out = spec.output_schema(schema)
        self.leaves = leaves

    def add(self, states: Batch, watermarks: Times, closed: int = NEVER) -> None:
        """Take in states that `Aggregation.partial` made of rows, none of them late.

        Args:
            states: The states.
            watermarks: The watermark at which each of them comes.
            closed: What ends up to here need not be kept, where a leaf is written anyway.
        """
        if not states.num_rows:
            return
        order = np.argsort(states.column(PANE).to_numpy(), kind="stable")
        states = self._dated(gather(states, order), watermarks[order])
        self.leaves.add(states, lambda states: self._merged(states, closed))

    def answers(self, way: Way) -> tuple[Batch, tuple[int, ...]]:
        """Answer for all windows that end on the way, level by level.

        Returns:
            The answers; and of the rows in states that are now closed for good, how many each level
            was the first to see.
        """
        answers = [
            answer
            for level in range(len(self._spec.waits))
            for answer in self._answers(level, way.ahead(self._lead(level)))
        ]
        return concat(answers, self._out), self._closing(way)

    def ended(self, states: Batch, after: int, until: int) -> Times:
        """Return where windows of some states start that end after one time, up to another."""
        panes = states.column(PANE).to_numpy()
        starts = np.concatenate([starts for starts, _ in self._windows.starts(panes)])
        ends = self._windows.ends(starts)
        return np.unique(starts[(ends > after) & (ends <= until)])

    def results(self, starts: Times) -> Batch | None:
        """Make the results of some windows from all states that are held, if there are any."""
        if not len(starts):
            return None
        first, last = int(starts[0]), int(self._windows.ends(starts)[-1])
        parts = []
        for states in self.leaves.read(
            lambda leaf: self._last_end(leaf) > first and leaf.first < last
        ):
            at = states.schema.get_field_index(PANE)
            for found, which in self._windows.starts(states.column(PANE).to_numpy()):
                is_one = np.isin(found, starts)
                some = gather(states, which[is_one])
                parts.append(some.set_column(at, PANE, pa.array(found[is_one])))
        held = [part for part in parts if part.num_rows]
        return self._summarised(self._together(pa.concat_tables(held))) if held else None

    def corrected(self, before: Batch | None, after: Batch | None) -> Batch | None:
        """Write the results that are not what they were before as corrections."""
        if after is not None and before is not None:
            after = after.filter(pa.array(~self._are_equal(after, before)))
        if after is None:
            return None
        is_changed = np.ones(after.num_rows, np.bool_)
        return self._written(after, len(self._spec.waits) - 1, is_changed, is_correction=True)

    def open_rows(self, watermark: int) -> int:
        """Count the states in leaves in which not all is closed at a watermark."""
        return sum(leaf.rows for leaf in self.leaves.index if self._last_end(leaf) > watermark)

    def drop(self, watermark: int) -> None:
        """Forget the leaves in which all is closed at a watermark."""
        self.leaves.drop(lambda leaf: self._last_end(leaf) <= watermark)

    def close(self, way: Way) -> None:
        """Forget all states that are closed for good on the way."""
        self.leaves.take(
            lambda leaf: self._is_passed(leaf, way),
            lambda states: (
                self._windows.last_ends(states.column(PANE).to_numpy()) <= way.of(states)[1]
            ),
        )

    def due(self, watermark: int) -> int | None:
        """The smallest watermark of the last level at which there may be something to do.

        That is to answer, or to forget what no late row can correct any more.

        Args:
            watermark: The one that is reached.
        """
        found: list[int] = []
        for level in range(len(self._spec.waits)):
            lead = self._lead(level)
            reached = ahead(watermark, lead)
            following = self._windows.next_end(reached)
            found += (
                max(self._first_end(leaf), following) - lead
                for leaf in self.leaves.index
                if self._last_end(leaf) > reached
            )
        if self._spec.horizon is not None:
            # Nothing is answered at the horizon: it is enough to come once all of a leaf can go.
            ends = map(self._last_end, self.leaves.index)
            found += (end for end in ends if end > watermark)
        return min(found, default=None)

    def _lead(self, level: int) -> int:
        """Return how far the watermark of a level is ahead of that of the last one."""
        return self._spec.levels[-1] - self._spec.levels[level]

    def _first_end(self, leaf: Leaf) -> int:
        return int(self._windows.first_ends(np.array([leaf.first]))[0])

    def _last_end(self, leaf: Leaf) -> int:
        return int(self._windows.last_ends(np.array([leaf.last]))[0])

    def _is_passed(self, leaf: Leaf, way: Way) -> bool:
        """Return True if a window of a leaf may end on the way."""
        return self._last_end(leaf) > way.lowest and self._first_end(leaf) <= way.highest

    def _dated(self, states: Batch, watermarks: Times) -> Batch:
        """Note when states came: how new the newest row was, and for which level in time."""
        is_first = watermarks == NEVER
        newest = np.where(is_first, NEVER, watermarks + self._spec.levels[-1])
        ends = self._windows.first_ends(states.column(PANE).to_numpy())
        levels = len(self._spec.levels)
        missed = np.zeros(len(ends), np.int64)
        for level in range(levels - 1):
            missed += ~is_first & (ends <= watermarks + self._lead(level))
        rows = states.column(ROWS).to_numpy()
        states = states.drop_columns([ROWS])
        states = states.append_column(TOUCHED, pa.array(newest))
        for level in range(levels):
            in_time = np.where(missed == level, rows, 0)
            states = states.append_column(FIRST_SEEN.format(level), pa.array(in_time, pa.int64()))
        if levels > 1:
            states = states.append_column(ROUND, pa.array(self._rounds(states, newest)))
        return states

    def _rounds(self, states: Batch, newest: Times) -> Times:
        """Count the answers about the windows of each state that were given before it came.

        With time the answers about each window only get more, so states of a pane that come after
        as many answers come after the same ones.
        """
        rounds = np.zeros(states.num_rows, np.int64)
        for starts, which in self._windows.starts(states.column(PANE).to_numpy()):
            for wait in self._spec.levels[:-1]:
                rounds[which] += self._is_after(newest[which], starts, wait)
        return rounds

    def _is_after(self, newest: Times, starts: Times, wait: int) -> Mask:
        """Mark what came after the windows had been answered for that begin at `starts`."""
        return (newest != NEVER) & (newest - self._windows.ends(starts) >= wait)

    def _merged(self, states: Batch, closed: int) -> Batch:
        """Merge the states of a leaf, without those of windows that have closed."""
        panes = states.column(PANE).to_numpy()
        is_open = self._windows.last_ends(panes) > closed
        if not is_open.all():
            states, panes = states.filter(pa.array(is_open)), panes[is_open]
        if self._spec.merges:
            return gather(states, np.argsort(panes, kind="stable"))
        return self._spec.first.merge(states, self._schema)

    def _closing(self, way: Way) -> tuple[int, ...]:
        """Count, for what is now closed for good, the rows that each level was the first to see."""
        totals = np.zeros(len(self._spec.levels), np.int64)
        for states in self.leaves.read(lambda leaf: self._is_passed(leaf, way)):
            before, now = way.of(states)
            ends = self._windows.last_ends(states.column(PANE).to_numpy())
            closes = (ends > before) & (ends <= now)
            for level in range(len(totals)):
                totals[level] += states.column(FIRST_SEEN.format(level)).to_numpy()[closes].sum()
        return tuple(totals.tolist())

    def _answers(self, level: int, way: Way) -> Iterator[Batch]:
        """Answer for the windows that a level closes, leaf by leaf if windows do not overlap."""
        if way.lowest >= way.highest:
            return
        due = self.leaves.read(lambda leaf: self._is_passed(leaf, way))
        groups = [[states] for states in due] if self._windows.overlap == 1 else [list(due)]
        for group in groups:
            parts = [part for states in group for part in self._due_windows(states, way)]
            if not parts:
                continue
            yield self._told(concat(parts, parts[0].schema), level)

    def _due_windows(self, states: Batch, way: Way) -> Iterator[Batch]:
        """List the states of windows that end on the way; panes become windows."""
        at = states.schema.get_field_index(PANE)
        before, now = way.of(states)
        for starts, which in self._windows.starts(states.column(PANE).to_numpy()):
            ends = self._windows.ends(starts)
            is_due = (ends > before[which]) & (ends <= now[which])
            if is_due.all() and len(is_due) == states.num_rows:
                yield states.set_column(at, PANE, pa.array(starts))
            elif is_due.any():
                some = gather(states, which[is_due])
                yield some.set_column(at, PANE, pa.array(starts[is_due]))

    def _told(self, states: Batch, level: int) -> Batch:
        """Make the answers of a level out of the states of windows."""
        waits = self._spec.waits
        results = self._summarised(self._together(states))
        is_changed = np.ones(results.num_rows, np.bool_)
        if level:
            is_changed = self._is_changed(results, states, waits[level - 1])
        return self._written(results, level, is_changed)

    def _written(
        self, results: Batch, level: int, is_changed: Mask, *, is_correction: bool = False
    ) -> Batch:
        """Write results as answers of a level."""
        waits = self._spec.waits
        starts = results.column(PANE).to_numpy()
        ends = self._windows.ends(starts)
        names = names_of(self._spec.summaries)
        field, time = self._out.field(WINDOW), self._spec.time
        columns = [window_column(self._windows.instants(starts), ends, field, time)]
        columns += [results.column(name) for name in names]
        if len(waits) > 1:
            columns += [
                pa.repeat(wait_texts(waits, self._spec.texts)[level], len(ends)),
                pa.array(np.full(len(ends), level == len(waits) - 1)),
                pa.array(is_changed),
            ]
        if self._spec.horizon is not None:
            columns.append(pa.array(np.full(len(ends), is_correction)))
        answers = pa.table(columns, self._out)
        return answers.filter(pa.array(is_changed)) if self._spec.only_changes else answers

    def _is_changed(self, results: Batch, states: Batch, wait: int) -> Mask:
        """Mark the results that differ from those that were given after a shorter wait."""
        newer, touched = (
            self._is_after(made.column(TOUCHED).to_numpy(), made.column(PANE).to_numpy(), wait)
            for made in (states, results)
        )
        if newer.all() or not touched.any():
            return touched
        earlier = self._summarised(self._together(states.filter(pa.array(~newer))))
        is_changed = touched.copy()
        is_changed[touched] = ~self._are_equal(results.filter(pa.array(touched)), earlier)
        return is_changed

    def _are_equal(self, results: Batch, earlier: Batch) -> Mask:
        """Mark the results that are equal to an earlier one of the same window and key."""
        names = [PANE, *names_of(self._spec.summaries)]
        both = pa.concat_tables([results, earlier]).select(names)
        order, slices = by_group(list(map(_comparable, both.columns)), both.num_rows)
        # Each side has one result for each window and key, so two of a group are equal.
        is_same = np.zeros(both.num_rows, np.bool_)
        is_same[order[slices.bounds[:-1][slices.lengths > 1]]] = True
        return is_same[: results.num_rows]

    def _together(self, states: Batch) -> Batch:
        """Make one state of all rounds, and of all panes of a window."""
        is_one = self._windows.overlap == 1
        if ROUND in states.column_names:
            rounds = states.column(ROUND).to_numpy()
            is_one &= not rounds.any()
            states = gather(states.drop_columns([ROUND]), np.argsort(rounds, kind="stable"))
        if is_one or self._spec.merges:
            return states
        return self._spec.first.merge(states, self._schema)

    def _summarised(self, states: Batch) -> Batch:
        """Make results of states: pane, keys, results, and when they were last touched."""
        first, *others = self._spec.summaries
        schema = self._schema
        results = states if self._spec.merges else first.finish(states, schema)
        touched = states.column(TOUCHED)
        for summary, before in zip(others, self._spec.summaries, strict=False):
            schema = before.result_schema(schema)
            starts = results.column(PANE).to_numpy()
            rows = results.select(schema.names).append_column(TOUCHED, touched)
            made = summary.add(rows, starts, starts)
            results, touched = summary.finish(made, schema), made.column(TOUCHED)
        return (
            results.append_column(TOUCHED, touched)
            if TOUCHED not in results.column_names
            else results
        )


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write values that are not plain as text, so that equal ones can be found."""
    if not pa.types.is_nested(column.type):
        return column
    return pa.chunked_array([pa.array(map(repr, column.to_pylist()), pa.string())])
