"""Operators for all keys of a bucket, each with a clock of its own.

The output is the same as with a chain for each key (`hosts.clocks.per_key`): each key is treated as
a stream of its own. But a chain for each key costs a millisecond or two per key, because its
operators are run separately. A sort and an aggregate by window need not be split by key: only the
watermark differs from key to key, and each row or state can use the one of its key. Operators
behind it that process each row by itself, such as filters, need no watermark.

    rows ─find─▶ keys ─▶ watermarks of the rows ─▶ late, or pushed
                         newest of the keys ─▶ their watermarks move ─▶ what is due, for all at once
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, concat, decode, encode
from latecomer.clock.key_clocks import KeyClocks
from latecomer.clock.source_clocks import promised
from latecomer.hosts.chain import arranged, counted
from latecomer.hosts.envelope import joined, parts
from latecomer.hosts.late import late_outputs, moved
from latecomer.hosts.output import READY, Output
from latecomer.operators.aggregates.summary import SLOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from latecomer.batch import Positions
    from latecomer.clock.watermark import Clock
    from latecomer.operators.base import Chunks, Running
    from latecomer.plan import Plan


class KeyedChain:
    """One operator and those by row behind it, and the clocks of all keys of a bucket."""

    def __init__(
        self, plan: Plan, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> None:
        """Begin with no keys, or where `saved` left off; the plan's first operator is `clocked`."""
        self._plan = plan
        self._time = plan.source.time
        self._schema = schema
        keys, own = (None, None) if saved is None else parts(saved)
        self._clocks = KeyClocks(plan.clock, schema, None if keys is None else decode(keys))
        first, *others = plan.stages[0].operators
        self._operator = first.start_clocked(schema, chunks, own)
        self._others: list[Running] = []
        for before, operator in pairwise([first, *others]):
            schema = before.output_schema(schema)
            self._others.append(operator.start(schema, chunks))

    @property
    def held(self) -> int:
        return self._operator.held

    def step(
        self, clock: Clock, inputs: Sequence[Sequence[Batch]], states: Sequence[Batch] = ()
    ) -> Iterator[Output]:
        """Run one micro-batch. The clock is that of all keys together."""
        rows = concat(arranged(self._plan, 0, inputs[0], self._schema), self._schema)
        keys, times = self._clocks.find(rows), self._time.micros(rows)
        promises = promised(self._plan.clock, self._time, rows)
        self._clocks.advance(clock)
        yield from self._released()
        is_late = self._operator.is_late(rows, self._clocks.watermarks[keys])
        if is_late.any() and self._plan.moves_late_rows:
            rows = moved(self._plan, rows, is_late, self._clocks.watermarks[keys])
            (rows,) = arranged(self._plan, 0, [rows], self._schema)
            self._push(rows, self._clocks.find(rows))
        elif is_late.any():
            late, rows = rows.filter(pa.array(is_late)), rows.filter(pa.array(~is_late))
            self._push(rows, keys[~is_late])
            yield from self._late(late, keys[is_late], clock)
        else:
            self._push(rows, keys)
        self._clocks.hear(keys, times, clock)
        self._clocks.promise(keys, promises)
        self._clocks.advance(clock, self._operator.last_due)
        yield from self._released()
        self._clocks.forget(clock, self._operator.last_due)

    def due(self) -> int | None:
        """Return None: rows move the clocks, and silence is measured in every micro-batch."""
        return None

    def save(self) -> bytes:
        return joined([encode(self._clocks.save(), "lz4"), self._operator.save()])

    def _push(self, rows: Batch, keys: Positions) -> None:
        if rows.num_rows:
            self._clocks.hold(keys, self._time.micros(rows))
            slots = pa.array(self._clocks.slots[keys])
            self._operator.push(rows.append_column(SLOT, slots), self._clocks.way)

    def _released(self) -> Iterator[Output]:
        emission = self._operator.advance(self._clocks.way)
        ready = emission.ready
        for operator in self._others:
            ready = operator.push(ready).ready if ready.num_rows else ready
        if ready.num_rows:
            yield Output(READY, ready.num_rows, ready)
        yield from counted(self._plan, emission)

    def _late(self, rows: Batch, keys: Positions, clock: Clock) -> Iterator[Output]:
        watermarks = self._clocks.watermarks[keys]
        # The clock of a silent key is ahead of its newest row, as its watermark shows.
        reached = watermarks + self._plan.clock.wait
        newest = np.maximum(self._clocks.newest(clock)[keys], reached)
        yield from late_outputs(self._plan, rows, newest, watermarks)
