"""A clock for each key, and all keys of a bucket in one operator.

What comes out is what `hosts.clocked` defines: each key fares as if it had a stream of its own. But
there each key has operators of its own to be driven, which costs a millisecond or two for each. The
two commonest plans, a sort and an aggregate by window, need not be cut up by key: what differs from
key to key is the watermark, and rows and states can each go by their own.

    rows ─find─▶ keys ─▶ watermarks of the rows ─▶ late, or pushed
                         newest of the keys ─▶ their watermarks move ─▶ what is due, for all at once

Rows that are late and adjusted come behind rows of their micro-batch that have this time already.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer.batch import Batch, concat, decode, encode
from latecomer.clock.key_clocks import KeyClocks
from latecomer.hosts.envelope import (
    FORMAT,
    TOGETHER,
    check_columns,
    check_format,
    check_query,
    opened,
)
from latecomer.hosts.late import behind_the_watermark, refuse
from latecomer.hosts.stage import Output, arranged, in_time, query
from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.clocked_sort import ClockedSorter
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.clocked_aggregate import ClockedAggregator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from latecomer.batch import Positions
    from latecomer.clock.watermark import Clock
    from latecomer.operators.base import Chunks
    from latecomer.plan.plan import Plan


def goes_together(plan: Plan) -> bool:
    """Tell whether all keys of a plan can be in one operator."""
    operators = [operator for stage in plan.stages for operator in stage.operators]
    if len(operators) != 1:
        return False
    if isinstance(operators[0], Aggregation):
        clock = set(plan.source.clock)
        is_apart = all(clock <= set(summary.keys) for summary in operators[0].summaries)
        return is_apart and not operators[0].merges
    return isinstance(operators[0], Sort)


class TogetherStage:
    """All keys of a bucket, each with a clock of its own; it is driven like a `RunningStage`."""

    def __init__(
        self, plan: Plan, schema: pa.Schema | None, chunks: Chunks, saved: bytes | None = None
    ) -> None:
        """Begin with no keys, or where `saved` left off.

        Args:
            plan: What the stream asks for; it `goes_together`.
            schema: The columns of the rows; None if none have come and the saved ones will do.
            chunks: The chunks of the operator.
            saved: What `save` returned.
        """
        self._plan = plan
        self._time = plan.source.time
        keys, own = None, None
        if saved is not None:
            schema, keys, own = self._load(saved, schema)
        if schema is None:
            message = "a stage without rows and without a saved state"
            raise AssertionError(message)
        self._schema = schema
        self._clocks = KeyClocks(plan, schema, keys)
        self._operator = _started(plan, schema, chunks, own)

    def step(
        self, clock: Clock, inputs: Sequence[Sequence[Batch]], states: Sequence[Batch] = ()
    ) -> Iterator[Output]:
        """Run one micro-batch. The clock is that of all keys together."""
        rows = concat(arranged(self._plan, inputs[0], self._schema), self._schema)
        keys, times = self._clocks.find(rows), self._time.micros(rows)
        yield from self._advance(clock)
        is_late = self._operator.is_late(rows, self._clocks.watermarks[keys])
        if is_late.any():
            late, rows = rows.filter(pa.array(is_late)), rows.filter(pa.array(~is_late))
            self._push(rows, keys[~is_late])
            yield from self._late(late, keys[is_late], clock)
        else:
            self._push(rows, keys)
        self._clocks.hear(keys, times)
        yield from self._advance(clock)
        self._clocks.forget(clock, self._operator.is_held)

    def due(self) -> int | None:
        """Tell the smallest newest time of all keys at which there may be something to do."""
        idle = self._plan.source.idle
        if idle is None or not len(self._clocks.watermarks):
            return None
        due = self._operator.due(int(self._clocks.watermarks.min()))
        return None if due is None else due + self._plan.wait + idle

    def save(self) -> bytes:
        """Write down all that is not in the chunks."""
        metadata = {
            b"header": json.dumps({"format": FORMAT, "query": self._query}).encode(),
            b"rows": self._schema.serialize().to_pybytes(),
            b"operator": self._operator.save(),
        }
        table = self._clocks.save().replace_schema_metadata(metadata)
        return TOGETHER + b"\n" + encode(table, "lz4")

    @property
    def _query(self) -> dict[str, Any]:
        source = self._plan.source
        return query(self._plan, 0) | {"clock": list(source.clock), "idle": source.idle}

    def _load(self, saved: bytes, schema: pa.Schema | None) -> tuple[pa.Schema, Batch, bytes]:
        table = decode(opened(saved, TOGETHER))
        metadata = table.schema.metadata
        header = json.loads(metadata[b"header"])
        check_format(header["format"])
        check_query(header["query"], self._query)
        held = pa.ipc.read_schema(pa.py_buffer(metadata[b"rows"]))
        check_columns(held, schema)
        return held, table.replace_schema_metadata(None), metadata[b"operator"]

    def _push(self, rows: Batch, keys: Positions) -> None:
        if rows.num_rows:
            self._clocks.hold(keys, self._time.micros(rows))
            slots = pa.array(self._clocks.slots[keys])
            self._operator.push(rows.append_column(SLOT, slots), self._clocks.way)

    def _advance(self, clock: Clock) -> Iterator[Output]:
        self._clocks.advance(clock)
        emission = self._operator.advance(self._clocks.way)
        if emission.ready.num_rows:
            yield Output("ready", emission.ready.num_rows, emission.ready)
        for wait, rows in zip(self._plan.waits, emission.in_time, strict=False):
            if rows:
                yield Output(in_time(wait), rows, None)

    def _late(self, rows: Batch, keys: Positions, clock: Clock) -> Iterator[Output]:
        newest, watermarks = self._clocks.newest(clock)[keys], self._clocks.watermarks[keys]
        if self._plan.late == "adjust":
            self._push(self._time.replaced(rows, watermarks), keys)
        elif self._plan.late == "drop":
            yield Output("dropped", rows.num_rows, None)
        else:
            late = behind_the_watermark(rows, self._time, newest, watermarks)
            if self._plan.late == "raise":
                refuse(late, self._time)
            yield Output(self._plan.source.late, late.num_rows, late)


def _started(
    plan: Plan, schema: pa.Schema, chunks: Chunks, saved: bytes | None
) -> ClockedAggregator | ClockedSorter:
    spec = plan.stages[0].operators[0]
    if isinstance(spec, Aggregation):
        return ClockedAggregator(spec, schema, chunks, saved)
    if isinstance(spec, Sort):
        return ClockedSorter(spec, schema, chunks, saved)
    message = f"{spec} for all keys together"
    raise TypeError(message)
