"""What does the size of a batch cost on the local host?

Each query runs over the same rows, cut into batches of 100 rows, of 1,000 and so on; last, all rows
are one batch. A batch is a micro-batch: the clock moves and results come out after each. Small
batches pay for the calls of a step. Large ones pay for memory that the C library returns to the
system and gets again (`latecomer.batch.keep_more_freed_memory`). `over_best` is the processor time
for a row over that with the best size. About 1,000 rows are held or count at a time, whatever the
size.

    python -m benchmarks.batch_sizes [--rows 2000000] [--only join] [--quick] [--json]
"""

import argparse
import json
from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

import latecomer as lc
from latecomer import agg

ROWS, RUNS = 2_000_000, 3
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
MOST_BATCHES = 40
"""Number of batches after which the time for a batch is known well enough."""
QUICK_ROWS = 10_000
KEYS, APART = 100, 10
"""A row each ten microseconds, with one of these keys."""
WAIT = "5 milliseconds"
LONG = "10 milliseconds"
"""Duration of rows: 1,000 others begin meanwhile, ten of the same key."""


def table(rows: int, seed: int, value: str) -> pa.Table:
    """Return rows of which nearly a third are delayed, by a millisecond on average."""
    random = np.random.default_rng(seed)
    times = np.arange(rows) * APART
    delays = (random.random(rows) < 0.3) * random.exponential(1_000, rows)
    order = np.argsort(times + delays, kind="stable")
    return pa.table(
        {
            "time": pa.array(times[order], pa.timestamp("us", "UTC")),
            "key": random.integers(0, KEYS, rows).astype(np.int32),
            value: random.integers(0, 100, rows),
        }
    )


def queries(left: pa.Table, right: pa.Table) -> dict[str, tuple[Any, tuple[pa.Table, ...]]]:
    """Return each query, with the tables that it reads."""
    stream = lc.disordered(left, time="time", key="key")
    other = lc.disordered(right, time="time", key="key")
    rows, others = stream.sort(wait=WAIT), other.sort(wait=WAIT)
    windows = stream.tumbling("100 milliseconds").wait(WAIT).group_by("key")
    sliding = rows.alter(duration=LONG).group_by("key")
    sessions = rows.session("2 milliseconds", "key").group_by("key")
    lasting = rows.alter(duration="1 millisecond")
    return {
        "sort": (rows, (left,)),
        "tumbling sum": (windows.aggregate(sum=agg.sum("value")), (left,)),
        "sliding sum": (sliding.aggregate(sum=agg.sum("value")), (left,)),
        "sessions": (sessions.aggregate(sum=agg.sum("value")), (left,)),
        "join": (lasting.join(others.alter(duration="1 millisecond"), on="key"), (left, right)),
        "as-of join": (rows.asof_join(others, on="key"), (left, right)),
    }


def seconds(query: Any, tables: tuple[pa.Table, ...], size: int, runs: int) -> tuple[float, int]:
    """Return the processor time of the fastest of several runs, and the number of batches."""
    ends = min(tables[0].num_rows, size * MOST_BATCHES)
    batches = [[each.slice(at, size) for at in range(0, ends, size)] for each in tables]
    best = float("inf")
    for _ in range(runs):
        began = process_time()
        query.run(*batches)
        best = min(best, process_time() - began)
    return best, len(batches[0])


def lines(rows: int, runs: int, only: str) -> Iterator[dict[str, Any]]:
    for name, (query, tables) in queries(table(rows, 1, "value"), table(rows, 2, "other")).items():
        if only not in name:
            continue
        # The first run loads the compiled kernels: few rows alone would run as plain Python.
        seconds(query, tables, min(rows, 100_000), 1)
        sizes = [*(size for size in SIZES if size < rows), rows]
        found = {size: seconds(query, tables, size, runs) for size in sizes}
        streams = len(tables)
        per_row = {size: took / (n * size * streams) for size, (took, n) in found.items()}
        for size, (took, batches) in found.items():
            yield {
                "benchmark": "batch_sizes",
                "query": name,
                "batch": size,
                "batches": batches,
                "ns_per_row": round(per_row[size] * 1e9, 1),
                "milliseconds_per_batch": round(took / batches * 1e3, 3),
                "over_best": round(per_row[size] / min(per_row.values()), 2),
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of each stream")
    parser.add_argument("--only", default="", help="queries whose name has this")
    parser.add_argument("--quick", action="store_true", help="few rows, each query once")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    asked = parser.parse_args()
    rows, runs = (QUICK_ROWS, 1) if asked.quick else (asked.rows, RUNS)
    for line in lines(rows, runs, asked.only):
        if asked.json:
            print(json.dumps(line), flush=True)
            continue
        print(
            f"{line['query']:14}{line['batch']:>10,} rows a batch{line['ns_per_row']:>10,.0f} ns "
            f"a row, x{line['over_best']}{line['milliseconds_per_batch']:>10.2f} ms a batch",
            flush=True,
        )


if __name__ == "__main__":
    main()
