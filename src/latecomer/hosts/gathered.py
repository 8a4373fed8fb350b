"""Drive a join of disordered streams through one micro-batch, for one bucket.

Nothing is sorted before: the join has buffers of its own, and chooses how long they wait
(`operators.window_join.loop`). So there is no watermark here. The clock says how far the slowest
stream has come in all buckets, which lets out what waits for it; then come the rows.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from latecomer.batch import Batch, concat
from latecomer.clock.watermark import Clock
from latecomer.hosts.envelope import (
    FORMAT,
    GATHERED,
    check_columns,
    check_format,
    check_query,
    opened,
)
from latecomer.hosts.late import behind_the_watermark
from latecomer.hosts.recall_report import Measured, report
from latecomer.hosts.stage import Output, query
from latecomer.operators.base import Chunks
from latecomer.plan.plan import Gathering, Plan
from latecomer.time import FOREVER, NEVER

if TYPE_CHECKING:
    from latecomer.operators.window_join.quality_joiner import Joined


class GatheredStage:
    """A join of disordered streams, running on one bucket."""

    def __init__(
        self, plan: Plan, gathering: Gathering, chunks: Chunks, saved: bytes | None = None
    ) -> None:
        """Start the only stage of a plan, from nothing or where `saved` left off."""
        self._inputs = plan.inputs
        self._schemas = gathering.rows
        self._query = query(plan, 0)
        part = None if saved is None else self._load(saved)
        self._target = gathering.operator.target
        self._join = gathering.operator.start(self._schemas, chunks, part)

    @property
    def held(self) -> int:
        """How many rows are held."""
        return self._join.held

    def step(
        self, clock: Clock, inputs: Sequence[Sequence[Batch]], states: Sequence[Batch] = ()
    ) -> Iterator[Output]:
        """Run one micro-batch; see `RunningStage.step`. There are no states."""
        if clock.newest > NEVER:
            yield from self._outputs(self._join.reach(clock.newest))
        rows = [
            concat(batches, schema) for batches, schema in zip(inputs, self._schemas, strict=True)
        ]
        for joined in self._join.push(rows):
            yield from self._outputs(joined)
        if clock.watermark == FOREVER:
            yield from self._outputs(self._join.finish())
        for each in self._join.measured():
            measured = Measured(self._target, each.wait, each.produced, each.missed)
            yield from report(each.newest, [measured])

    def due(self) -> int | None:
        """Tell at which newest time there will be something to do, if any."""
        due = self._join.due()
        return None if due is None else min(due, FOREVER)

    def save(self) -> bytes:
        """Write down all that is not in the chunks."""
        parts = [schema.serialize().to_pybytes() for schema in self._schemas]
        parts.append(self._join.save())
        header = {"format": FORMAT, "query": self._query, "sizes": [len(p) for p in parts]}
        return GATHERED + b"\n" + json.dumps(header).encode() + b"\n" + b"".join(parts)

    def _load(self, saved: bytes) -> bytes:
        first, _, rest = opened(saved, GATHERED).partition(b"\n")
        header = json.loads(first)
        check_format(header["format"])
        check_query(header["query"], self._query)
        stops = [0, *accumulate(header["sizes"])]
        *schemas, part = (rest[start:stop] for start, stop in pairwise(stops))
        for written, schema in zip(schemas, self._schemas, strict=True):
            check_columns(pa.ipc.read_schema(pa.py_buffer(written)), schema)
        return part

    def _outputs(self, joined: "Joined") -> Iterator[Output]:
        if joined.results.num_rows:
            yield Output("ready", joined.results.num_rows, joined.results)
        for late in joined.late:
            source = self._inputs[late.stream].source
            rows = behind_the_watermark(late.rows, source.time, late.newest, late.since)
            yield Output(source.late, rows.num_rows, rows)
