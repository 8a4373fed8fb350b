"""Is injected disorder reproducible, of the required amount, and fast?

    same       the number of rows with different arrivals, with the same seed: twice, on all rows
               and in parts, in this process and on Spark
    fraction   for several fractions and delays, the true share of rows out of order
    scale      rows per second, for two, four and eight times as many rows

Paper: Grulich and others: Generating Reproducible Out-of-Order Data Streams (DEBS 2019). It
    reports no numbers; its promises are checked here.

    python -m benchmarks.generator [--rows 8000000] [--quick] [--only scale] [--json]
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import latecomer as lc

ROWS, QUICK_ROWS = 8_000_000, 100_000
SEED = 7
DELAYS = ("uniform:1s:60s", "exponential:5s", "normal:10s:3s")
FRACTIONS = (0.01, 0.1, 0.5)
ROUNDS = 3

Line = dict[str, Any]


def make(rows: int) -> pa.Table:
    """Return a thousand rows a second, in order."""
    times = pa.array(np.arange(rows, dtype=np.int64) * 1_000, pa.timestamp("us", "UTC"))
    return pa.table({"time": times, "id": np.arange(rows)})


def delayed(table: Any, fraction: float = 0.3, delay: str = DELAYS[0], seed: int = SEED) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lc.FractionWarning)
        return lc.inject_disorder(table, time="time", fraction=fraction, delay=delay, seed=seed)


def arrivals(table: pa.Table) -> np.ndarray:
    """Return the arrival of each row, by its number."""
    found = np.empty(table.num_rows, np.int64)
    found[table["id"].to_numpy()] = table["arrival"].cast(pa.int64()).to_numpy()
    return found


def same(rows: int) -> Iterator[Line]:
    rows = min(rows, 1_000_000)
    table = make(rows)
    first = arrivals(delayed(table))
    spark = lc.session()
    try:
        frame = spark.createDataFrame(table)
        others = {
            "again": arrivals(delayed(table)),
            "on Spark": arrivals(delayed(frame).toArrow()),
            "on Spark, 7 partitions": arrivals(delayed(frame.repartition(7)).toArrow()),
        }
    finally:
        spark.stop()
    for name, found in others.items():
        differ = int((found != first).sum())
        yield {"question": "same", "compared": name, "rows": rows, "rows_that_differ": differ}
    other = arrivals(delayed(table, seed=SEED + 1))
    differ = int((other != first).sum())
    yield {"question": "seed", "compared": "another seed", "rows": rows, "rows_that_differ": differ}


def fraction(rows: int) -> Iterator[Line]:
    table = make(min(rows, 1_000_000))
    for delay in DELAYS:
        for asked in FRACTIONS:
            times = delayed(table, asked, delay)["time"].cast(pa.int64()).to_numpy()
            newest = np.maximum.accumulate(times)
            found = round(float((times < newest).mean()), 4)
            words = {"question": "fraction", "delay": delay, "asked": asked}
            yield words | {"found": found, "rows": table.num_rows}


def scale(rows: int) -> Iterator[Line]:
    delayed(make(10_000))
    for part in (8, 4, 2, 1):
        table = make(rows // part)
        took = min(_seconds(partial(delayed, table)) for _ in range(ROUNDS))
        speed = round(table.num_rows / took)
        words = {"question": "scale", "engine": "in this process", "rows": table.num_rows}
        yield words | {"rows_per_second": speed}
    spark = lc.session()
    try:
        frame = spark.createDataFrame(make(rows)).cache()
        frame.count()
        took = _seconds(lambda: delayed(frame).write.format("noop").mode("overwrite").save())
        words = {"question": "scale", "engine": "Spark", "rows": rows}
        yield words | {"rows_per_second": round(rows / took)}
    finally:
        spark.stop()


def _seconds(do: Callable[[], Any]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


QUESTIONS = {"same": same, "fraction": fraction, "scale": scale}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows")
    parser.add_argument("--only", choices=QUESTIONS, help="one of the questions")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    rows = QUICK_ROWS if arguments.quick else arguments.rows
    for name in [arguments.only] if arguments.only else QUESTIONS:
        for found in QUESTIONS[name](rows):
            line = {"benchmark": "generator"} | found
            words = "  ".join(f"{key} {value}" for key, value in line.items())
            print(json.dumps(line) if arguments.json else words, flush=True)


if __name__ == "__main__":
    main()
