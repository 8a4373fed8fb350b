"""Does the time of a step of the sort depend on the rows that are due, or on those that are held?

The input is a thousand rows a second, 30 % of them delayed by up to the wait. The sorter is saved
and loaded between micro-batches, with chunks compressed as on Spark. While it fills up, it holds
more and more rows. The number of due rows stays the same, and so should the time of a step.

    python -m benchmarks.held [--wait 600] [--json]
"""

import argparse
import json
import time

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, decode, encode
from latecomer.operators.sort import Sort
from latecomer.time import TimeColumn

ROWS = 1_000
SECOND = 1_000_000
TIME = TimeColumn("time", "us")
SCHEMA = pa.schema({"time": pa.int64(), "value": pa.float64()})


class CountedChunks:
    """Chunks as Spark's state store keeps them, which count reads and writes."""

    def __init__(self) -> None:
        self.blobs: dict[int, bytes] = {}
        self.reads = self.writes = 0

    def get(self, number: int) -> Batch:
        self.reads += 1
        return decode(self.blobs[number])

    def put(self, number: int, rows: Batch) -> None:
        self.writes += 1
        self.blobs[number] = encode(rows, "lz4")

    def drop(self, number: int) -> None:
        del self.blobs[number]


def make_batch(second: int, wait: int, random: np.random.Generator) -> Batch:
    arrivals = (second + np.arange(ROWS) / ROWS) * SECOND
    delays = np.where(random.random(ROWS) < 0.3, random.random(ROWS) * wait * SECOND, 0)
    times = (arrivals - delays).astype(np.int64)
    return pa.table({"time": times, "value": random.random(ROWS)}, schema=SCHEMA)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wait", type=int, default=600, help="in seconds, one micro-batch each")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    random, chunks, saved = np.random.default_rng(0), CountedChunks(), None
    part = max(1, arguments.wait // 4)
    began = time.perf_counter()
    for step in range(1, 3 * arguments.wait + 1):
        sorter = Sort(TIME).start(SCHEMA, chunks, saved)
        sorter.advance((step - arguments.wait) * SECOND)
        sorter.push(make_batch(step, arguments.wait, random))
        saved = sorter.save()
        if step % part == 0:
            now = time.perf_counter()
            result = {
                "benchmark": "held",
                "step": step,
                "held": sorter.held,
                "runs": sorter.runs,
                "milliseconds": round((now - began) / part * 1e3, 1),
                "reads": round(chunks.reads / part, 1),
                "writes": round(chunks.writes / part, 1),
            }
            line = "  ".join(f"{name} {value}" for name, value in result.items())
            print(json.dumps(result) if arguments.json else line, flush=True)
            began, chunks.reads, chunks.writes = now, 0, 0


if __name__ == "__main__":
    main()
