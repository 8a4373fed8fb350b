"""Rows of a vector whose keys have clocks of their own.

The clocks of keys count milliseconds, so one unit of a vector's time is a millisecond. A low
watermark is the clock that is passed to the stage: no key is behind it. A punctuation of a key is a
row that moves the clock of the key; it is removed from the output.
"""

import json
from collections import defaultdict
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from latecomer.clock.policy import ClockPerKey
from latecomer.clock.watermark import TICK, Clock
from latecomer.hosts.local import MemoryChunks
from latecomer.hosts.stage import RunningStage
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.plan import Plan, Source, Stage
from latecomer.time import FOREVER, NEVER
from tests.conformance.temporal.arrival import PROMISE, Step
from tests.conformance.temporal.events import KEY, PAYLOAD, Lifetime, lifetimes
from tests.conformance.temporal.streams import END, LATE, TIME


def plan_of(vector: dict[str, Any], unit: int) -> Plan:
    """Return the plan of a vector without a query; `unit` is one unit of its times."""
    disorder = vector["policies"].get("disorder", {})
    wait = disorder.get("reorder_latency", 0) * unit
    stage = Stage((KEY,), (Sort(TIME), Lifetimes(TIME, END)))
    late = LATE[disorder.get("type", "Throw")]
    return Plan(Source(TIME, (KEY,)), ClockPerKey((wait,), None, (KEY,)), late, (stage,))


class OwnClocks:
    """A running vector without a query. Rows come out by the clocks of their keys."""

    def __init__(self, vector: dict[str, Any], rows: pa.Schema) -> None:
        """Start the stage."""
        plan = plan_of(vector, TICK)
        self._wait = plan.clock.wait
        chunks: dict[int, MemoryChunks] = defaultdict(MemoryChunks)
        self._rows = rows
        self._start = partial(RunningStage, plan, 0, rows, chunks.__getitem__)
        self._stage = self._start()
        self.found: list[Lifetime] = []
        self.dropped: list[list[Any]] = []
        """The time and the payload of each late row."""

    def step(self, step: Step) -> None:
        """Run one event."""
        if step.restarts:
            self._stage = self._start(self._stage.save())
        rows = [] if step.row is None else [_scaled(step.row)]
        batch = pa.Table.from_pylist(rows, self._rows)
        for output in self._stage.step(self._clock(step.watermark), [[batch]]):
            if output.batch is None:
                continue
            batch = output.batch.filter(pc.field(PAYLOAD) != PROMISE)
            if output.name == "ready":
                self.found += map(_unscaled, lifetimes([batch]))
            else:
                late = batch.to_pylist()
                self.dropped += [[row["time"] // TICK, json.loads(row[PAYLOAD])] for row in late]

    def _clock(self, low_watermark: int) -> Clock:
        if low_watermark in (NEVER, FOREVER):
            return Clock(NEVER, low_watermark)
        return Clock.at(low_watermark * TICK + self._wait, self._wait)


def _scaled(row: dict[str, Any]) -> dict[str, Any]:
    end = row["end"]
    return row | {"time": row["time"] * TICK, "end": None if end is None else end * TICK}


def _unscaled(found: Lifetime) -> Lifetime:
    end = found["end"]
    return found | {
        "start": found["start"] // TICK,
        "end": end if end == "inf" else end // TICK,
    }
