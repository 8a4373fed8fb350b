"""Rows that come in order already: nothing is sorted, and nothing is held.

The source promises that times ascend. The promise is checked, not trusted: a row that goes back
behind one before it ends the query with an error. Where rows are read in several partitions, each
of them is in order by itself, and those of one micro-batch are merged.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch
from latecomer.errors import OrderError
from latecomer.operators.base import Chunks, Emission, Operator, Running, Takes
from latecomer.time import NEVER, TimeColumn, Times


@dataclass(frozen=True, slots=True)
class InOrder(Operator):
    """Release rows as they come."""

    by: TimeColumn
    """The time column."""

    @property
    def label(self) -> str:
        """Its name is all: what rows are in order of is a matter of the stream."""
        return "InOrder"

    @property
    def keeps_rows(self) -> bool:
        """Rows come out just as they came in."""
        return True

    @property
    def takes(self) -> Takes:
        """Partitions are each in order by themselves, so the rows of a micro-batch are merged."""
        return "in order"

    def describe(self, schema: pa.Schema) -> str:
        """Say what is checked."""
        return "check that rows come in order of time; nothing is sorted or held"

    def start(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> "OrderChecker":
        """Make the running operator."""
        return OrderChecker(self, schema, NEVER if saved is None else int(saved))

    def checked(self, rows: Batch, last: int) -> int:
        """Refuse rows that go back behind each other, or behind the `last` one before them.

        Returns:
            The last time of these rows.

        Raises:
            OrderError: One does.
        """
        times = self.by.micros(rows)
        before = np.append(last, times[:-1])[: len(times)]
        is_back = times < before
        if is_back.any():
            at = int(np.argmax(is_back))
            raise _error(self.by, times, at, int(before[at]))
        return int(times[-1]) if len(times) else last


class OrderChecker(Running):
    """A running `InOrder`."""

    def __init__(self, spec: InOrder, schema: pa.Schema, watermark: int) -> None:
        """Begin at a watermark."""
        self._spec = spec
        self._watermark = watermark
        self._nothing = schema.empty_table()

    @property
    def held(self) -> int:
        """Nothing is held."""
        return 0

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Hand rows on, which come in order; none may be before what earlier micro-batches had."""
        times = self._spec.by.micros(rows)
        if len(times) and int(times.min()) < self._watermark:
            raise _error(self._spec.by, times, int(np.argmin(times)), self._watermark)
        return Emission(rows, self._nothing)

    def advance(self, watermark: int) -> Emission:
        """Take note how far time has come."""
        self._watermark = max(self._watermark, watermark)
        return Emission(self._nothing, self._nothing)

    def save(self) -> bytes:
        """Write down how far time has come."""
        return str(self._watermark).encode()


def _error(by: TimeColumn, times: Times, at: int, before: int) -> OrderError:
    moments = [str(np.datetime64(int(time), "us")) for time in (times[at], before)]
    return OrderError(
        f'the rows are said to be in order of "{by.name}", but one of {moments[0]} comes after one '
        f"of {moments[1]}.\n"
        'Hint: leave out presorted, and say how long to wait: sort(wait="10 minutes").'
    )
