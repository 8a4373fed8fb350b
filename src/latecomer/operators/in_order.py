"""Rows that come in order already: nothing is sorted, and nothing is held.

The source promises that times ascend. The promise is checked, not trusted: a row that is earlier
than one before it ends the query with an error. Where rows are read in several partitions, each
partition must be in order by itself, and those of one micro-batch are merged.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch
from latecomer.errors import OrderError
from latecomer.operators.base import Chunks, Emission, NewColumns, Operator, Responder
from latecomer.time import FOREVER, NEVER, TimeColumn, Times


@dataclass(frozen=True, slots=True)
class InOrder(Operator):
    """Release rows as they come."""

    keeps_rows = True
    takes = "in order"
    words = "check that rows come in order of time; nothing is sorted or held"

    by: TimeColumn
    """The time column."""

    @property
    def new_columns(self) -> NewColumns:
        """No rows are held."""
        return "unused"

    def deadlines(self, times: Times) -> Times:
        """Return `FOREVER` for each row: none is late, because one out of order is an error."""
        return np.full(len(times), FOREVER)

    def start(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> "OrderChecker":
        return OrderChecker(self, schema, NEVER if saved is None else int(saved))

    def checked(self, rows: Batch, last: int) -> int:
        """Refuse rows that are earlier than the row before them, or than `last`.

        Returns:
            The last time of these rows.

        Raises:
            OrderError: A row is earlier than the one before it.
        """
        times = self.by.micros(rows)
        before = np.append(last, times[:-1])[: len(times)]
        is_back = times < before
        if is_back.any():
            at = int(np.argmax(is_back))
            raise _error(self.by, times, at, int(before[at]))
        return int(times[-1]) if len(times) else last


class OrderChecker(Responder):
    """A running `InOrder`."""

    def __init__(self, spec: InOrder, schema: pa.Schema, watermark: int) -> None:
        super().__init__(schema, schema)
        self._spec = spec
        self._watermark = watermark

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Emit rows, which come in order; refuse those before the watermark."""
        times = self._spec.by.micros(rows)
        if len(times) and int(times.min()) < self._watermark:
            raise _error(self._spec.by, times, int(np.argmin(times)), self._watermark)
        return self._emission(rows)

    def advance(self, watermark: int) -> Emission:
        """Move the watermark; nothing is released."""
        self._watermark = max(self._watermark, watermark)
        return self._emission()

    def save(self) -> bytes:
        return str(self._watermark).encode()


def _error(by: TimeColumn, times: Times, at: int, before: int) -> OrderError:
    moments = [str(np.datetime64(int(time), "us")) for time in (times[at], before)]
    return OrderError(
        f"presorted=True was given, but a row of {moments[0]} arrives after one of {moments[1]} in "
        f'"{by.name}".\n'
        'Hint: leave out presorted, and give a wait: sort(wait="10 minutes").'
    )
