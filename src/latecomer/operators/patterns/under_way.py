"""Matches that are under way: all that is held between calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, combined, gather
from latecomer.time import Times

if TYPE_CHECKING:
    from latecomer.kernels.automaton import Attempts, Steps


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

    @classmethod
    def none(cls, schema: pa.Schema) -> UnderWay:
        """Return no attempts."""
        from latecomer.kernels.automaton import Steps

        nothing = np.zeros(0, np.int64)
        steps = Steps(nothing, nothing, nothing)
        return cls(schema.empty_table(), steps, nothing, nothing, nothing)

    @classmethod
    def of(cls, rows: Batch, steps: Steps, attempts: Attempts) -> UnderWay:
        """Return attempts with the rows and steps that they need."""
        return cls(rows, steps, attempts.step, attempts.began, attempts.closed).cleared()

    @classmethod
    def read(cls, tables: Sequence[Batch]) -> UnderWay:
        """Return the attempts that `tables` has written."""
        from latecomer.kernels.automaton import Steps

        rows, steps, attempts = tables
        return cls(rows, Steps(*map(_numbers, steps.columns)), *map(_numbers, attempts.columns))

    def __len__(self) -> int:
        return len(self.last)

    @property
    def is_waiting(self) -> Mask:
        """Mask of the attempts that are complete, unless a row comes that must be absent."""
        from latecomer.kernels.automaton import WAITING

        return self.closed == WAITING

    def where(self, mask: Mask) -> UnderWay:
        """Return the attempts that are marked; the others are given up."""
        return UnderWay(
            self.rows, self.steps, self.last[mask], self.began[mask], self.closed[mask]
        ).cleared()

    def tables(self) -> tuple[Batch, Batch, Batch]:
        """Return three tables: rows, steps and attempts."""
        attempts = {"last": self.last, "began": self.began, "closed": self.closed}
        return combined(self.rows), pa.table(self.steps._asdict()), pa.table(attempts)

    def attempts(self, groups: Positions, bounds: Positions) -> Attempts:
        """Return the attempts by group.

        Args:
            groups: The group of each row.
            bounds: The groups in order, and a number after the last.
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
        return UnderWay(rows, steps, step[self.last], self.began, self.closed)


def _numbers(column: pa.ChunkedArray) -> Positions:
    return np.array(column.to_numpy())
