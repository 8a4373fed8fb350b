"""Matches that are under way: all that is held between calls.

Rows and steps never change, so they are written once (`operators.row_log`), and refer to each other
by their numbers. What is saved with each micro-batch is the last step of each attempt, and the
little that does change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, gather
from latecomer.operators.row_log import Numbered
from latecomer.time import TimeColumn, Times

if TYPE_CHECKING:
    from latecomer.arrays import Arrays
    from latecomer.kernels.automaton import Attempts, Steps

STEPS = pa.schema({"row": pa.int64(), "state": pa.int64(), "before": pa.int64()})


@dataclass(frozen=True, slots=True)
class UnderWay:
    """Attempts, the steps that they have taken, and the rows of these steps; no other rows."""

    rows: Batch
    steps: Steps
    last: Positions
    """Last step of each attempt."""
    began: Times
    """Begin of each attempt; if it waits for an absence, the time at which it is found."""
    closed: Positions
    """Guards that were met since the last step, as bits; `WAITING` if the attempt waits."""
    row_numbers: Positions
    step_numbers: Positions
    """Numbers of rows and steps. They ascend, and are never reused."""

    @classmethod
    def none(cls, schema: pa.Schema) -> UnderWay:
        """Return no attempts."""
        from latecomer.kernels.automaton import Steps

        nothing = np.zeros(0, np.int64)
        steps = Steps(nothing, nothing, nothing)
        return cls(schema.empty_table(), steps, *[nothing] * 5)

    @classmethod
    def of(
        cls, rows: Batch, steps: Steps, attempts: Attempts, numbers: tuple[Positions, Positions]
    ) -> UnderWay:
        """Return attempts with the rows and steps that they need, of which all have numbers."""
        held = (attempts.step, attempts.began, attempts.closed)
        return cls(rows, steps, *held, *numbers).cleared()

    @classmethod
    def read(cls, tables: Sequence[Numbered], arrays: Arrays, time: TimeColumn) -> UnderWay:
        """Return the attempts that `tables` and `arrays` have described."""
        from latecomer.kernels.automaton import Steps

        rows, steps = tables
        row, state, before = (steps.rows.column(name).to_numpy() for name in STEPS.names)
        before = np.where(before < 0, before, np.searchsorted(steps.numbers, before))
        found = Steps(np.searchsorted(rows.numbers, row), np.array(state), before)
        last = arrays["last"].astype(np.int64)
        began = time.micros(rows.rows)[found.row[_firsts(before)[last]]]
        closed = np.zeros_like(last)
        began[arrays["other"]], closed[arrays["other"]] = arrays["began"], arrays["closed"]
        return cls(rows.rows, found, last, began, closed, rows.numbers, steps.numbers)

    @classmethod
    def read_whole(cls, tables: Sequence[Batch]) -> UnderWay:
        """Return the attempts in the three tables that a checkpoint of 0.2.0 has."""
        from latecomer.kernels.automaton import Steps

        rows, steps, attempts = tables
        taken = Steps(*(np.array(column.to_numpy()) for column in steps.columns))
        held = [np.array(column.to_numpy()) for column in attempts.columns]
        numbers = [np.arange(table.num_rows) for table in (rows, steps)]
        return cls(rows, taken, *held, *numbers)

    def __len__(self) -> int:
        return len(self.last)

    @property
    def is_waiting(self) -> Mask:
        """Mask of the attempts that are complete, unless a row comes that must be absent."""
        from latecomer.kernels.automaton import WAITING

        return self.closed == WAITING

    def where(self, mask: Mask) -> UnderWay:
        """Return the attempts that are marked; the others are given up."""
        held = (self.last[mask], self.began[mask], self.closed[mask])
        numbers = (self.row_numbers, self.step_numbers)
        return UnderWay(self.rows, self.steps, *held, *numbers).cleared()

    def tables(self) -> list[Numbered]:
        """Return rows and steps. Steps refer to rows and to each other by number."""
        before = self.steps.before
        numbers = np.where(before < 0, before, self.step_numbers[before])
        columns = [self.row_numbers[self.steps.row], self.steps.state, numbers]
        steps = pa.table([pa.array(column) for column in columns], STEPS)
        return [Numbered(self.rows, self.row_numbers), Numbered(steps, self.step_numbers)]

    def arrays(self) -> Arrays:
        """Return what `tables` does not have.

        An attempt began with its first row. Only those that wait, or are closed to some events, are
        described one by one.
        """
        other = np.flatnonzero(self.closed)
        return {
            "last": self.last.astype(np.min_scalar_type(len(self.step_numbers))),
            "other": other,
            "began": self.began[other],
            "closed": self.closed[other],
        }

    def attempts(self, groups: Positions, bounds: Positions) -> Attempts:
        """Return the attempts by the group of each row.

        `bounds` are the groups in order, and a number after the last.
        """
        from latecomer.kernels.automaton import Attempts

        own = groups[self.steps.row[self.last]]
        order = np.argsort(own, kind="stable")
        return Attempts(
            np.searchsorted(own[order], bounds).astype(np.int64),
            self.last[order],
            self.began[order],
            self.closed[order],
        )

    def cleared(self) -> UnderWay:
        """Return the attempts without rows and steps that none of them has taken."""
        from latecomer.kernels.automaton import Steps, reachable

        is_step = reachable(self.steps.before, self.last)
        is_row = np.zeros(self.rows.num_rows, np.bool_)
        is_row[self.steps.row[is_step]] = True
        if is_step.all() and is_row.all():
            return self
        step, row = np.cumsum(is_step) - 1, np.cumsum(is_row) - 1
        before = self.steps.before[is_step]
        steps = Steps(
            row[self.steps.row[is_step]],
            self.steps.state[is_step],
            np.where(before < 0, before, step[before]),
        )
        rows = gather(self.rows, np.flatnonzero(is_row))
        numbers = (self.row_numbers[is_row], self.step_numbers[is_step])
        return UnderWay(rows, steps, step[self.last], self.began, self.closed, *numbers)


def _firsts(before: Positions) -> Positions:
    """Return the first step of the chain that ends with each step."""
    found = np.where(before < 0, np.arange(len(before)), before)
    while len(found) and ((further := found[found]) != found).any():
        found = further
    return found
