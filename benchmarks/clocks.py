"""What does a clock for each key cost, compared with one clock for all?

On the local host: rows in order of arrival, in ten batches of one size, spread evenly over more and
more keys. Counts in windows of ten seconds, sorts, and sorts followed by `distinct` have one
operator for all keys. A sort followed by `until_next` represents all other plans: each key with
rows in a batch runs operators of its own, so the cost is per key and batch, not per row.

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
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.clip import UntilNext
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn

SECOND = 1_000_000
BATCHES = 10
RUNS = 3
MOST_APART = 100
"""The greatest number of keys that are measured with operators for each key."""
KEYS = (1, 10, 100, 1_000, 10_000)
KEY = ("device",)
TIME = TimeColumn("time")
WINDOWS = Windows(10 * SECOND, 10 * SECOND)
OPERATORS = {
    "windows": (Aggregation(TIME, WINDOWS, (SECOND,), (Summary(KEY, (("n", agg.count()),)),)),),
    "sort": (Sort(TIME),),
    "sort, two waits": (Levels(TIME, (SECOND // 2, SECOND)),),
    "sort, distinct": (Sort(TIME), Distinct(TIME, KEY, SECOND, KEY)),
    "sort, until next": (Sort(TIME), Lifetimes(TIME), UntilNext(KEY)),
}
APART = ("sort, until next",)


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
        if name in APART and keys > MOST_APART:
            continue
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
