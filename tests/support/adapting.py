"""A stage whose wait is chosen for a recall, driven as a host drives it."""

from collections import defaultdict
from typing import Any

import pyarrow as pa

from latecomer.clock.watermark import Clock
from latecomer.hosts.local import MemoryChunks
from latecomer.hosts.output import Output
from latecomer.hosts.stage import RunningStage
from latecomer.plan import Plan
from latecomer.time import FOREVER, NEVER, TimeColumn

SECOND = 1_000_000
TIME = TimeColumn("time")
SCHEMA = pa.schema({"id": pa.int64(), "time": pa.timestamp("us", "UTC"), "key": pa.string()})


class Bucket:
    """A stage and its chunks, driven as a host drives them."""

    def __init__(self, spec: Plan, schema: pa.Schema = SCHEMA) -> None:
        self.spec = spec
        self.schema = schema
        self.chunks: dict[int, MemoryChunks] = defaultdict(MemoryChunks)
        self.stage = self.started(None)
        self.newest = NEVER

    def started(self, saved: bytes | None) -> RunningStage:
        schema = None if saved else self.schema
        return RunningStage(self.spec, 0, schema, self.chunks.__getitem__, saved)

    def restart(self) -> None:
        self.stage = self.started(self.stage.save())

    def step(self, rows: pa.Table | None) -> list[Output]:
        outputs = list(self.stage.step(Clock.at(self.newest, 0), [[] if rows is None else [rows]]))
        if rows is not None and rows.num_rows:
            self.newest = max(self.newest, int(TIME.micros(rows).max()))
        return outputs

    def finish(self) -> list[Output]:
        return list(self.stage.step(Clock(self.newest, FOREVER), [[]]))


def rows_of(steps: list[list[Output]], name: str) -> list[dict[str, Any]]:
    found = (o.batch for step in steps for o in step if o.name == name and o.batch is not None)
    return [row for batch in found for row in batch.to_pylist()]
