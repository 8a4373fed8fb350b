"""The demo's query on the local host: the same results in a second, without Spark."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from latecomer import agg, demo
from latecomer.clock.policy import OneClock
from latecomer.demo.departures import SIZE_MICROS, WAIT_MICROS
from latecomer.demo.flights import read_flights, reported
from latecomer.demo.outcome import Outcome
from latecomer.hosts.local import LocalHost, Step
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn, parse_duration

DEPARTED, LANDED = TimeColumn("departed"), TimeColumn("landed")
COUNT = Aggregation(
    DEPARTED,
    Windows(SIZE_MICROS, SIZE_MICROS),
    WAIT_MICROS,
    (Summary(("origin",), (("departures", agg.count()),)),),
)
PLAN = Plan(
    Source(DEPARTED, arrival=LANDED),
    OneClock(WAIT_MICROS),
    "divert",
    (Stage(("origin",), (COUNT,)),),
)


def locally(hours: int = 288, every: str = "8 hours") -> Outcome:
    flights = reported(read_flights(), demo.SINCE, hours)
    landed = LANDED.micros(flights)
    cell = (landed - landed[0]) // parse_duration(every, "every")
    host = LocalHost(PLAN, flights.schema)
    steps = [host.step(flights.filter(pa.array(cell == each))) for each in np.unique(cell)]
    # As on Spark, one more micro-batch without rows closes the windows that are due.
    steps.append(host.step(flights.slice(0, 0)))
    ready = pa.concat_tables(numbered(step, at, "ready") for at, step in enumerate(steps))
    late = pa.concat_tables(numbered(step, at, "late") for at, step in enumerate(steps))
    return Outcome.of(flights, ready, late)


def numbered(step: Step, batch: int, output: str) -> pa.Table:
    rows: pa.Table = getattr(step, output)
    return rows.append_column("batch", pa.array([batch] * rows.num_rows, pa.int64()))
