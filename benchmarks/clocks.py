"""What does a clock for each key cost, compared with one clock for all?

On the local host: rows in order of arrival, in ten batches of one size, spread evenly over more and
more keys. Counts in windows of ten seconds and sorts have one operator for all keys, also with
`distinct`, a pattern or operators on lifetimes behind the sort, and with several waits.

    python -m benchmarks.clocks [--rows 1000000] [--json]
"""

import argparse
import json
from itertools import product
from time import process_time

import numpy as np
import pyarrow as pa

from latecomer import agg
from latecomer.clock.policy import ClockPerKey, OneClock
from latecomer.hosts.local import LocalHost
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.base import Operator
from latecomer.operators.distinct import Distinct
from latecomer.operators.levels import Levels
from latecomer.operators.patterns.automaton import compiled
from latecomer.operators.patterns.detect import Detect
from latecomer.operators.patterns.shapes import Event, Then
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.aggregate import SnapshotAggregate
from latecomer.operators.temporal.clip import UntilNext
from latecomer.operators.temporal.lifetimes import Lasting, Lifetimes
from latecomer.operators.temporal.session import Closing
from latecomer.operators.temporal.session_aggregate import SessionAggregate
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn

SECOND = 1_000_000
BATCHES = 10
RUNS = 3
KEYS = (1, 10, 100, 1_000, 10_000)
KEY = ("device",)
TIME = TimeColumn("time")
WINDOWS = Windows(10 * SECOND, 10 * SECOND)
COUNTS = Summary(KEY, (("n", agg.count()),))
UNTIL_NEXT = (Lifetimes(TIME), UntilNext(KEY))
SESSIONS = SessionAggregate(COUNTS, Closing(SECOND // 100), pa.timestamp("us", "UTC"))
PAIRS = Detect(
    TIME, KEY, compiled(Then(Event("a"), Event("b"))), SECOND, is_strict=True, may_overlap=False
)
OPERATORS = {
    "windows": (Aggregation(TIME, WINDOWS, (SECOND,), (COUNTS,)),),
    "sort": (Sort(TIME),),
    "sort, two waits": (Levels(TIME, (SECOND // 2, SECOND)),),
    "sort, distinct": (Sort(TIME), Distinct(TIME, KEY, SECOND, KEY)),
    "sort, until next": (Sort(TIME), *UNTIL_NEXT),
    "sort, sessions": (Sort(TIME), Lifetimes(TIME), SESSIONS),
    "sort, sliding": (Sort(TIME), Lasting(TIME, SECOND, KEY), SnapshotAggregate(COUNTS)),
    "sort, pattern": (Sort(TIME), PAIRS),
    "two waits, until next": (Levels(TIME, (SECOND // 2, SECOND), UNTIL_NEXT),),
}


def batches(rows: int, keys: int) -> list[pa.Table]:
    random = np.random.default_rng(1)
    times = np.arange(rows) * 100 + random.integers(0, 2 * SECOND, rows)
    table = pa.table(
        {
            "time": pa.array(times).view(pa.timestamp("us", "UTC")),
            "device": pa.array(random.integers(0, keys, rows)).cast(pa.string()),
        }
    )
    return [table.slice(at, rows // BATCHES) for at in range(0, rows, rows // BATCHES)]


def seconds(
    parts: list[pa.Table], operators: tuple[Operator, ...], clock: tuple[str, ...]
) -> float:
    first = operators[0]
    waits = first.waits if isinstance(first, Levels) else (SECOND,)
    policy = ClockPerKey(waits, columns=clock) if clock else OneClock(waits)
    plan = Plan(Source(TIME, KEY), policy, "drop", (Stage(KEY, operators),))
    host = LocalHost(plan, parts[0].schema)
    began = process_time()
    for part in parts:
        host.step(part)
    host.finish()
    return process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    for name, keys in product(OPERATORS, KEYS):
        operators = OPERATORS[name]
        parts = batches(arguments.rows, keys)
        own = min(seconds(parts, operators, KEY) for _ in range(RUNS))
        one = min(seconds(parts, operators, ()) for _ in range(RUNS))
        line = {
            "benchmark": "clocks",
            "rows": arguments.rows,
            "operator": name,
            "keys": keys,
            "own_clocks_seconds": round(own, 3),
            "one_clock_seconds": round(one, 3),
            "times_as_long": round(own / one, 1),
            "ms_per_key_and_batch": round(1_000 * (own - one) / keys / BATCHES, 3),
        }
        words = "\n  ".join(f"{key} {value}" for key, value in line.items())
        print(json.dumps(line) if arguments.json else words, flush=True)


if __name__ == "__main__":
    main()
