"""How much faster is the local host with more threads, and when is it slower?

The same query runs over the same batches on one thread and on several, in turns. The fastest run of
each counts, in elapsed time. `cores` is the same ratio for hashing bytes, which needs only
processors: if it is below the number of threads, the machine was busy.

    python -m benchmarks.threads [--rows 2000000] [--threads 2] [--json]
"""

import argparse
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

import latecomer as lc
from latecomer import agg

BATCHES = 4
RUNS = 5
KEYS = 1_000
WAIT = "1 second"
SHORT = "10 milliseconds"


def table(rows: int, seed: int, value: str) -> pa.Table:
    """Return a row each ten microseconds; nearly a third are delayed, by 0.2 s on average."""
    random = np.random.default_rng(seed)
    times = np.arange(rows) * 10
    delays = (random.random(rows) < 0.3) * random.exponential(200_000, rows)
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
    windows = stream.tumbling("1 second").wait(WAIT).group_by("key")
    rows = stream.sort(wait=WAIT)
    sliding = rows.alter(duration="1 second").group_by("key")
    sessions = rows.session("5 milliseconds", "key").group_by("key")
    joined = rows.alter(duration=SHORT).join(other.sort(wait=WAIT).alter(duration=SHORT), on="key")
    return {
        "sort": (rows, (left,)),
        "tumbling sum": (windows.aggregate(sum=agg.sum("value")), (left,)),
        "tumbling median": (windows.aggregate(median=agg.quantile("value", 0.5)), (left,)),
        "sliding sum": (sliding.aggregate(sum=agg.sum("value")), (left,)),
        "sessions": (sessions.aggregate(sum=agg.sum("value")), (left,)),
        "join": (joined, (left, right)),
    }


def fastest(ways: dict[int, Callable[[], object]]) -> dict[int, float]:
    """Return the seconds of the fastest of several runs of each query; queries take turns."""
    found = dict.fromkeys(ways, float("inf"))
    for _ in range(RUNS):
        for name, run in ways.items():
            began = perf_counter()
            run()
            found[name] = min(found[name], perf_counter() - began)
    return found


def cores(threads: int) -> float:
    """Return how much faster the machine hashes on this many threads."""
    data = bytes(20_000_000)

    def hashed(count: int) -> None:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(lambda _: sha256(data).digest(), range(threads)))

    found = fastest({count: partial(hashed, count) for count in (1, threads)})
    return found[1] / found[threads]


def lines(rows: int, threads: int) -> Iterator[dict[str, Any]]:
    size = rows // BATCHES
    for name, (query, tables) in queries(table(rows, 1, "value"), table(rows, 2, "other")).items():
        batches = [[each.slice(at, size) for at in range(0, rows, size)] for each in tables]
        # Both compile their kernels before the measurements.
        answers = {count: query.run(*batches, threads=count).ready for count in (1, threads)}
        assert answers[1].num_rows == answers[threads].num_rows
        found = fastest({count: partial(query.run, *batches, threads=count) for count in answers})
        yield {
            "benchmark": "threads",
            "query": name,
            "rows": rows * len(tables),
            "threads": threads,
            "cores": round(cores(threads), 2),
            "one_thread_seconds": round(found[1], 3),
            "seconds": round(found[threads], 3),
            "times_as_fast": round(found[1] / found[threads], 2),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    for line in lines(arguments.rows, arguments.threads):
        words = "\n  ".join(f"{key} {value}" for key, value in line.items())
        print(json.dumps(line) if arguments.json else words, flush=True)


if __name__ == "__main__":
    main()
