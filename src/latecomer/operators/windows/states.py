"""The states of an aggregation, in order of their panes, and the answers that are made of them.

A watermark moves along a way, one for all states or one for each key. The windows that end on the
way are answered, level by level.

A level has *changed* a window if its answer differs from that of the level before. To find out, the
answer before is computed again where rows have come since. A state cannot be divided, so states of
rows that came before and after an answer are kept separately, in *rounds*.

Holds: a state has the newest time at which rows last came to it, and the number of its rows that
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
    """The states of an aggregation, held in leaves."""

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
            closed: States whose windows end up to here are left out of leaves that are written.
        """
        if not states.num_rows:
            return
        order = np.argsort(states.column(PANE).to_numpy(), kind="stable")
        states = self._dated(gather(states, order), watermarks[order])
        self.leaves.add(states, lambda states: self._merged(states, closed))

    def answers(self, way: Way) -> Batch:
        """Answer all windows that end on the way, level by level."""
        answers = [
            answer
            for level in range(len(self._spec.waits))
            for answer in self._answers(level, way.ahead(self._lead(level)))
        ]
        return concat(answers, self._out)

    def ended(self, states: Batch, after: int, until: int) -> Times:
        """Return the starts of the windows of some states that end after `after`, up to `until`."""
        panes = states.column(PANE).to_numpy()
        starts = np.concatenate([starts for starts, _ in self._windows.starts(panes)])
        ends = self._windows.ends(starts)
        return np.unique(starts[(ends > after) & (ends <= until)])

    def results(self, starts: Times) -> Batch | None:
        """Return the results of some windows from all held states; None if there are no states."""
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
        """Return the results that differ from those before, as corrections."""
        if after is not None and before is not None:
            after = after.filter(pa.array(~self._are_equal(after, before)))
        if after is None:
            return None
        is_changed = np.ones(after.num_rows, np.bool_)
        return self._written(after, len(self._spec.waits) - 1, is_changed, is_correction=True)

    def open_rows(self, watermark: int) -> int:
        """Return the number of states in leaves that are not entirely closed at a watermark."""
        return sum(leaf.rows for leaf in self.leaves.index if self._last_end(leaf) > watermark)

    def drop(self, watermark: int) -> None:
        """Drop the leaves that are entirely closed at a watermark."""
        self.leaves.drop(lambda leaf: self._last_end(leaf) <= watermark)

    def close(self, way: Way) -> None:
        """Drop all states that are closed for good on the way."""
        self.leaves.take(
            lambda leaf: self._is_passed(leaf, way),
            lambda states: (
                self._windows.last_ends(states.column(PANE).to_numpy()) <= way.of(states)[1]
            ),
        )

    def due(self, watermark: int) -> int | None:
        """Return the smallest watermark of the last level at which there may be work, if any.

        Work is an answer to give, or a leaf to drop that no late row can correct any more.

        Args:
            watermark: The watermark of the last level now.
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
            # At the horizon there are no answers, only leaves to drop, and those as a whole.
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
        """Add to states when they came: the newest time, the first level in time, the round."""
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
        """Return how many answers for the windows of each state were given before it came.

        The number of answers for a window only grows. So states of a pane that came after equally
        many answers came after the same ones.
        """
        rounds = np.zeros(states.num_rows, np.int64)
        for starts, which in self._windows.starts(states.column(PANE).to_numpy()):
            for wait in self._spec.levels[:-1]:
                rounds[which] += self._is_after(newest[which], starts, wait)
        return rounds

    def _is_after(self, newest: Times, starts: Times, wait: int) -> Mask:
        """Mark states that came after this wait had answered the windows that begin at `starts`."""
        return (newest != NEVER) & (newest - self._windows.ends(starts) >= wait)

    def _merged(self, states: Batch, closed: int) -> Batch:
        """Merge the states of a leaf, and leave out those whose windows have closed."""
        panes = states.column(PANE).to_numpy()
        is_open = self._windows.last_ends(panes) > closed
        if not is_open.all():
            states, panes = states.filter(pa.array(is_open)), panes[is_open]
        if self._spec.merges:
            return gather(states, np.argsort(panes, kind="stable"))
        return self._spec.first.merge(states, self._schema)

    def closing(self, way: Way) -> tuple[int, ...]:
        """Return how many rows each level saw first, in states that close for good on the way."""
        totals = np.zeros(len(self._spec.levels), np.int64)
        for states in self.leaves.read(lambda leaf: self._is_passed(leaf, way)):
            before, now = way.of(states)
            ends = self._windows.last_ends(states.column(PANE).to_numpy())
            closes = (ends > before) & (ends <= now)
            for level in range(len(totals)):
                totals[level] += states.column(FIRST_SEEN.format(level)).to_numpy()[closes].sum()
        return tuple(totals.tolist())

    def _answers(self, level: int, way: Way) -> Iterator[Batch]:
        """Yield the answers of windows that a level closes, by leaf if windows do not overlap."""
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
        """Yield the states of windows that end on the way, with window starts for panes."""
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
        """Return the answers of a level, made of the states of windows."""
        waits = self._spec.waits
        results = self._summarised(self._together(states))
        is_changed = np.ones(results.num_rows, np.bool_)
        if level:
            is_changed = self._is_changed(results, states, waits[level - 1])
        return self._written(results, level, is_changed)

    def _written(
        self, results: Batch, level: int, is_changed: Mask, *, is_correction: bool = False
    ) -> Batch:
        """Return results as the rows that a level emits."""
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
        """Mark the results that differ from those after a shorter wait."""
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
        """Merge the states of all rounds, and of all panes of a window."""
        is_one = self._windows.overlap == 1
        if ROUND in states.column_names:
            rounds = states.column(ROUND).to_numpy()
            is_one &= not rounds.any()
            states = gather(states.drop_columns([ROUND]), np.argsort(rounds, kind="stable"))
        if is_one or self._spec.merges:
            return states
        return self._spec.first.merge(states, self._schema)

    def _summarised(self, states: Batch) -> Batch:
        """Return the results of states: pane, keys, results, and `TOUCHED`."""
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
    """Return nested values as text, so that equal ones can be found; others unchanged."""
    if not pa.types.is_nested(column.type):
        return column
    return pa.chunked_array([pa.array(map(repr, column.to_pylist()), pa.string())])
