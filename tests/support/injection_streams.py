"""Ordered streams, and a helper that disorders them."""

import numpy as np
import pyarrow as pa

import latecomer as lc
from latecomer.profile.measures import measure
from latecomer.time import TimeColumn

SECOND = 1_000_000


def seconds(*times: int | None, **columns: object) -> pa.Table:
    return pa.table({"time": pa.array(times, pa.int64()), **columns})


def stream(rows: int = 20_000, gap: int = 10_000, seed: int = 1) -> pa.Table:
    """Return about one row per `gap` microseconds, in order, with a few equal times."""
    gaps = np.random.default_rng(seed).integers(0, 2 * gap, rows)
    names = [f"d{i % 10}" for i in range(rows)]
    times = pa.array(np.cumsum(gaps), pa.timestamp("us", "UTC"))
    return pa.table({"time": times, "device": names, "number": range(rows)})


def fraction_of(table: pa.Table) -> float:
    return measure(TimeColumn("time", "us").micros(table)).share


def disorder(table: pa.Table, **options: object) -> pa.Table:
    given = {"time": "time", "delay": "uniform:1s:60s", "seed": 7, "unit": "s"} | options
    return lc.inject_disorder(table, **given)  # type: ignore[arg-type]
