"""The input of `benchmarks.waits`: the paper's two logs, its events and its four queries.

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), Section VI-D.
Departures: the paper does not say how long its windows are; ours are a minute on the cloud log and
    an hour on the Android log. Its logs are not public; ours are simulated, and moved to 2024,
    because Spark's watermark does not go below 1970.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from latecomer import agg
from latecomer.batch import Batch
from latecomer.generate.logs import android_log, cloud_log
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.levels import WAIT
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.time import TimeColumn, format_duration, parse_duration

TIME = TimeColumn("time")
BEGIN = 1_704_067_200_000_000
"""The first instant of 2024, at which a window of an hour begins."""
PAYLOAD = ("a", "b", "c", "d")
SEED = 3


@dataclass(frozen=True)
class Log:
    make: Callable[[int, int], pa.Table]
    window: str
    waits: tuple[str, ...]
    paper_percent: dict[str, float]
    """The share of the events that each wait keeps, in Table II."""

    @property
    def windows(self) -> Windows:
        size = parse_duration(self.window, "window")
        return Windows(size, size)


LOGS = {
    "cloud": Log(
        cloud_log,
        "1 minute",
        ("1 second", "1 minute", "1 hour"),
        {"1 second": 98.1, "1 hour": 100.0},
    ),
    "android": Log(
        android_log,
        "1 hour",
        ("10 minutes", "1 hour", "1 day"),
        {"10 minutes": 20.5, "1 day": 92.2},
    ),
}


@dataclass(frozen=True)
class Query:
    keys: tuple[str, ...] = ()
    groups: int = 100
    top: int = 0
    """Number of the largest groups of a window to list; 0 for all groups."""

    @property
    def summaries(self) -> tuple[Summary, ...]:
        first = Summary(self.keys, (("n", agg.count()),))
        if not self.top:
            return (first,)
        return first, Summary((), (("top", agg.top_k("group", self.top, by="n")),))


QUERIES = {
    "Q1": Query(),
    "Q2": Query(("group",)),
    "Q3": Query(("group",), groups=1_000),
    "Q4": Query(("group",), top=5),
}


def micros(waits: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(parse_duration(wait, "wait") for wait in waits)


def aggregation(log: Log, query: Query, waits: tuple[int, ...]) -> Aggregation:
    return Aggregation(TIME, log.windows, waits, query.summaries)


def events(log: Log, rows: int, groups: int) -> pa.Table:
    """Return events like the paper's: a time, a group, and four 32-bit integers."""
    random = np.random.default_rng(SEED)
    times = log.make(rows, SEED)["time"].to_numpy() + BEGIN
    columns = {"time": pa.array(times).view(pa.timestamp("us", "UTC"))}
    columns["group"] = pa.array(random.integers(0, groups, rows, np.int32))
    for name in PAYLOAD:
        columns[name] = pa.array(random.integers(0, 1_000_000, rows, np.int32))
    return pa.table(columns)


def counted(answers: list[Batch], waits: tuple[int, ...]) -> dict[int, int]:
    """Add up the counts of each wait."""
    totals = dict.fromkeys(waits, 0)
    for answer in answers:
        for wait in waits:
            of_wait = answer
            if len(waits) > 1:
                of_wait = answer.filter(pc.equal(answer[WAIT], format_duration(wait)))
            if "top" in answer.column_names:
                best = pc.list_flatten(of_wait["top"])
                totals[wait] += pc.sum(pc.struct_field(best, "n")).as_py() or 0
            else:
                totals[wait] += pc.sum(of_wait["n"]).as_py() or 0
    return totals
