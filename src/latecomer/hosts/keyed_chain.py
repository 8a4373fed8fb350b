"""Operators for all keys of a bucket, each with a clock of its own.

The output is the same as with a chain for each key (`hosts.clocks.per_key`): each key is treated as
a stream of its own. But a chain for each key costs a millisecond or two per key, because its
operators are run separately. A sort and an aggregate by window need not be split by key: only the
watermark differs from key to key, and each row or state can use the one of its key. Operators
behind it that process each row by itself, such as filters, need no watermark. Others behind a sort,
such as `distinct`, patterns or sessions, follow the watermarks of all keys; their rows have the
slot of their key with them, and no operator lets rows of two slots meet.

    rows ─find─▶ keys ─▶ watermarks of the rows ─▶ late, or pushed
                         newest of the keys ─▶ their watermarks move ─▶ what is due, for all at once
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, concat
from latecomer.clock.key_clocks import KeyClocks
from latecomer.clock.source_clocks import promised
from latecomer.clock.watermark import Clock
from latecomer.hosts.chain import arranged, counted
from latecomer.hosts.envelope import joined, parts
from latecomer.hosts.late import late_outputs, moved
from latecomer.hosts.output import READY, Output
from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.all_keys import for_all_keys
from latecomer.operators.base import Chunks, Running
from latecomer.operators.levels import shares
from latecomer.plan import Plan
from latecomer.time import FOREVER, NEVER, Times

if TYPE_CHECKING:
    from latecomer.operators.clocked import ClockFollower
    from latecomer.operators.ways import KeyWays


class KeyedChain:
    """One operator and those behind it, and the clocks of all keys of a bucket."""

    def __init__(
        self, plan: Plan, schema: pa.Schema, chunks: Sequence[Chunks], saved: bytes | None = None
    ) -> None:
        """Begin with no keys, or where `saved` left off; the plan's first operator is `clocked`.

        `chunks` are those of each operator, then those of the clocks.
        """
        self._plan = plan
        self._time = plan.source.time
        self._schema = schema
        keys, *own = (None, None) if saved is None else parts(saved)
        self._clocks = KeyClocks(plan.clock, schema, chunks[-1], keys)
        served = for_all_keys(plan.stages[0].operators, plan.clock.columns)
        self._specs = specs = served.operators
        self._leads = served.leads
        if served.is_slotted:
            schema = pa.schema([*schema, pa.field(SLOT, pa.int64())])
        chunks = [*shares(chunks[0], served.sharing), *chunks[1:]]
        self._operator = specs[0].start_clocked(schema, chunks[0], own[0])
        self._followers: dict[int, ClockFollower] = {}
        self._by_row: dict[int, Running] = {}
        self._ways: dict[int, KeyWays] = {}
        """The way of the watermarks that each follower was given last."""
        follows = [at for at, spec in enumerate(specs) if at and not spec.is_by_row]
        written = dict(zip(follows, own[1:], strict=False))
        way = self._clocks.way.each_ahead(self._leads)
        for at, (before, spec) in enumerate(pairwise(specs), 1):
            schema = before.output_schema(schema)
            if at in follows:
                self._ways[at] = way
                self._followers[at] = spec.start_behind_clocks(
                    schema, chunks[at], way, written.get(at)
                )
            else:
                self._by_row[at] = spec.start(schema, chunks[0])
            way = way.through(spec)

    @property
    def held(self) -> int:
        return self._operator.held + sum(each.held for each in self._followers.values())

    def step(
        self, clock: Clock, inputs: Sequence[Sequence[Batch]], states: Sequence[Batch] = ()
    ) -> Iterator[Output]:
        """Run one micro-batch. The clock is that of all keys together."""
        rows = concat(arranged(self._plan, 0, inputs[0], self._schema), self._schema)
        keys, times = self._clocks.find(rows), self._time.micros(rows)
        has_promises = self._plan.clock.promise is not None
        promises = promised(self._plan.clock, self._time, rows) if has_promises else None
        self._clocks.advance(clock)
        yield from self._released()
        watermarks = self._clocks.watermarks[keys]
        is_late = self._operator.is_late(rows, watermarks)
        if is_late.any() and self._plan.moves_late_rows:
            rows = moved(self._plan, rows, is_late, watermarks)
            (rows,) = arranged(self._plan, 0, [rows], self._schema)
            self._push(rows, self._clocks.find(rows))
        elif is_late.any():
            if not is_late.all():
                self._push(rows, keys, is_late)
            yield from self._late(rows.filter(pa.array(is_late)), keys[is_late], clock)
        else:
            self._push(rows, keys)
        self._clocks.hear(keys, times, clock)
        if promises is not None:
            self._clocks.promise(keys, promises)
        self._clocks.advance(clock, self._last_due)
        yield from self._released()
        while self._followers and self._plan.clock.idle is not None:
            # The clock of a silent key goes on for what a follower holds of the rows released.
            self._clocks.advance(clock, self._last_due)
            if not self._clocks.way.moves:
                break
            yield from self._released()
        if self._clocks.forget(clock, self._last_due):
            for follower in self._followers.values():
                follower.forget()

    def due(self) -> int | None:
        """Return None: rows move the clocks, and silence is measured in every micro-batch."""
        return None

    def save(self) -> bytes:
        others = (follower.save() for follower in self._followers.values())
        return joined([self._clocks.save(), self._operator.save(), *others])

    def _push(self, rows: Batch, keys: Positions, is_late: Mask | None = None) -> None:
        if rows.num_rows:
            times = self._time.micros(rows)
            self._clocks.hold(keys, times if is_late is None else np.where(is_late, NEVER, times))
            slots = pa.array(self._clocks.slots[keys])
            self._operator.push(rows.append_column(SLOT, slots), self._clocks.way, is_late)

    def _released(self) -> Iterator[Output]:
        way = self._clocks.way
        emission = self._operator.advance(way)
        ready, way = emission.ready, way.each_ahead(self._leads)
        for at, spec in enumerate(self._specs[1:], 1):
            follower = self._followers.get(at)
            if ready.num_rows:
                ready = (follower or self._by_row[at]).push(ready).ready
            if follower is not None:
                self._ways[at] = way
                passed = follower.follow(way).ready
                ready = pa.concat_tables([ready, passed]) if ready.num_rows else passed
            way = way.through(spec)
        if ready.num_rows:
            yield Output(READY, ready.num_rows, ready)
        yield from counted(self._plan, emission)

    def _last_due(self, times: Times, slots: Positions) -> Times:
        """Return, for some keys, a watermark until which something of each is surely held.

        The first operator that holds something knows it, because the others may be passed more.

        `times` are those of the latest rows of the keys.
        """
        due, now = self._operator.last_due(times), self._clocks.way.at(slots)
        waits = len(self._leads)
        each = (slots[:, np.newaxis] * waits + np.arange(waits)).ravel()
        for at, follower in self._followers.items():
            own = follower.last_due(each)
            is_held = own > self._ways[at].at(each)
            for spec in reversed(self._specs[1:at]):
                own = spec.needed(own)
            is_bound = (own == NEVER) | (own == FOREVER)
            own = np.where(is_bound, own, own - np.tile(self._leads, len(slots)))
            own = np.where(is_held, own, NEVER).reshape(-1, waits).max(axis=1)
            due = np.where((due <= now) & (own > NEVER), own, due)
        return due

    def _late(self, rows: Batch, keys: Positions, clock: Clock) -> Iterator[Output]:
        watermarks = self._clocks.watermarks[keys]
        # The clock of a silent key is ahead of its newest row, as its watermark shows.
        reached = watermarks + self._plan.clock.wait
        newest = np.maximum(self._clocks.newest(clock)[keys], reached)
        yield from late_outputs(self._plan, rows, newest, watermarks)
