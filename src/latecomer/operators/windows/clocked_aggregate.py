"""Aggregate by window and key, where each key has a watermark of its own.

The states of all keys are in the same leaves, and each is closed by the watermark of its key. So
the cost of a micro-batch depends on its rows and on the leaves in which states are due, not on the
number of keys.

Holds: a state is held iff its last window is open at the last level, by the watermark of its key.
"""

import json

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask
from latecomer.operators.base import Chunks, Emission
from latecomer.operators.leaves import Leaves
from latecomer.operators.ways import KeyWays
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.states import WindowStates
from latecomer.time import Times


class ClockedAggregator:
    """A running `Aggregation` of all keys, each with a watermark of its own."""

    def __init__(
        self, spec: Aggregation, schema: pa.Schema, chunks: Chunks, saved: bytes | None
    ) -> None:
        self._spec = spec
        self._schema = schema
        numbering = [] if saved is None else json.loads(saved)
        self._states = WindowStates(spec, schema, Leaves(chunks, *numbering))

    @property
    def held(self) -> int:
        return self._states.leaves.rows

    def is_late(self, rows: Batch, watermarks: Times) -> Mask:
        is_late = self._spec.is_late(rows, watermarks)
        return np.zeros(rows.num_rows, np.bool_) if is_late is None else is_late

    def push(self, rows: Batch, way: KeyWays, is_late: Mask | None = None) -> None:
        in_time = rows if is_late is None else rows.filter(pa.array(~is_late))
        states = self._spec.partial(in_time)
        self._states.add(states, way.of(states)[1])

    def advance(self, way: KeyWays) -> Emission:
        """Emit the answers of all windows that close."""
        answers, in_time = self._states.answers(way), self._states.closing(way)
        self._states.close(way)
        return Emission(answers, self._schema.empty_table(), in_time)

    def last_due(self, times: Times) -> Times:
        """Return the ends of the last windows that rows of these times are in."""
        windows = self._spec.windows
        return windows.last_ends(windows.panes(times))

    def save(self) -> bytes:
        return json.dumps(self._states.leaves.save()).encode()
