"""How many bytes of each row are sent and held? `latecomer size` computes with the results.

Rows of two widths go through the function that packs them for the shuffle, and through one bucket
with its state in memory, in micro-batches, as on Spark. The payload is random, so these are the
numbers of rows that compress badly.

    rows     a sort: bytes in the shuffle and in the state, for each row
    states   counts and sums by window and key: bytes in the shuffle and in the state, for each
             window and key
    memory   the least memory of a Python process, and memory for each row of a micro-batch
    cluster  the same sort on Spark with two executors (`--only cluster`): rows and bytes held,
             beside the computed ones

    python -m benchmarks.size [--rows 200000] [--only memory] [--json]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import latecomer as lc
from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.generate.micro_batches import write_micro_batches
from latecomer.hosts.spark.parcels import packer
from latecomer.hosts.spark.processor import BucketProcessor
from latecomer.hosts.spark.spark_clock import SparkClock
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.base import Operator
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.report.size import plan_size
from latecomer.time import TimeColumn

SECOND = 1_000_000
TIME = TimeColumn("time")
KEYS, BATCHES = 1_000, 5
WIDTHS = (0, 100)
"""Bytes of payload, in addition to a time, a key and a number."""
WAIT, WINDOW = 1_000_000 * SECOND, 10 * SECOND
"""A wait longer than the stream, so that all rows are held."""

Line = dict[str, Any]


class States:
    """The state of a bucket, kept in memory instead of Spark."""

    def __init__(self) -> None:
        self.values: dict[str, SimpleNamespace] = {}
        self.chunks: dict[tuple[int, int], tuple[bytes]] = {}

    def getValueState(self, name: str, _schema: str) -> SimpleNamespace:
        state = self.values.setdefault(name, SimpleNamespace(value=None))
        state.exists = lambda: state.value is not None
        state.get = lambda: state.value
        state.update = lambda value: setattr(state, "value", value)
        return state

    def getMapState(self, _name: str, _key: str, _value: str) -> SimpleNamespace:
        chunks = self.chunks
        return SimpleNamespace(
            getValue=chunks.__getitem__, updateValue=chunks.__setitem__, removeKey=chunks.pop
        )

    def registerTimer(self, _at: int) -> None: ...

    def deleteTimer(self, _at: int) -> None: ...

    @property
    def bytes(self) -> int:
        values = [value for state in self.values.values() for value in state.value or ()]
        chunks = [blob for (blob,) in self.chunks.values()]
        return sum(len(each) for each in [*values, *chunks] if isinstance(each, bytes))


def make(number: int, rows: int, width: int) -> pa.Table:
    """Return a thousand rows a second in order of arrival, 30 % delayed by up to a minute."""
    random = np.random.default_rng(number)
    times = (number * rows + np.arange(rows, dtype=np.int64)) * 1_000
    late = np.where(random.random(rows) < 0.3, random.integers(0, 60 * SECOND, rows), 0)
    order = np.argsort(times + late, kind="stable")
    columns = {
        "time": pa.array(times[order], pa.timestamp("us", "UTC")),
        "key": random.integers(0, KEYS, rows).astype(np.int32),
        "value": random.random(rows),
    }
    if width:
        columns["payload"] = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(width), rows, [None, pa.py_buffer(random.bytes(rows * width))]
        )
    return pa.table(columns)


def plan(operator: Operator) -> Plan:
    return Plan(Source(TIME), OneClock((WAIT,)), "drop", (Stage(("key",), (operator,)),))


def run(operator: Operator, rows: int, width: int) -> tuple[int, int]:
    """Return the bytes of all parcels, and of the state at the end."""
    asked, states, travelled = plan(operator), States(), 0
    for number in range(BATCHES):
        table = make(number, rows // BATCHES, width)
        packed = pa.Table.from_batches(packer(asked, 1, 0)(iter(table.to_batches())))
        parcels = packed.to_pandas().assign(branch=0)
        travelled += int(parcels["blob"].map(len).sum())
        processor = BucketProcessor(asked, 0, 1, SparkClock())
        processor.init(states)  # type: ignore[arg-type]
        key = (int(parcels["bucket"].iloc[0]),)
        clock = SimpleNamespace(getCurrentWatermarkInMs=lambda: 0)
        for _ in processor.handleInputRows(key, iter([pd.DataFrame(parcels)]), clock):
            pass
    return travelled, states.bytes


def lines(rows: int) -> Iterator[Line]:
    for width in WIDTHS:
        travelled, held = run(Sort(TIME), rows, width)
        of_row = round(make(0, 1_000, width).nbytes / 1_000, 1)
        found = {"row_bytes": of_row, "shuffle": travelled / rows, "state": held / rows}
        yield {"benchmark": "size", "question": "rows"} | {
            name: round(value, 1) for name, value in found.items()
        }


def counted(rows: int) -> Iterator[Line]:
    results = (("n", agg.count()), ("total", agg.sum("value")))
    windows = Aggregation(TIME, Windows(WINDOW, WINDOW), (WAIT,), (Summary(("key",), results),))
    travelled, held = run(windows, rows, 0)
    places = [groups(make(number, rows // BATCHES, 0)) for number in range(BATCHES)]
    states, sent = len(np.unique(np.concatenate(places))), sum(map(len, places))
    yield {
        "benchmark": "size",
        "question": "states",
        "states": states,
        "shuffle": round(travelled / sent, 1),
        "state": round(held / states, 1),
    }


def groups(table: pa.Table) -> np.ndarray:
    """Return a number for each window and key that has rows."""
    starts = table["time"].cast(pa.int64()).to_numpy() // WINDOW
    return np.unique(starts * KEYS + table["key"].to_numpy())


def memory(rows: int) -> Iterator[Line]:
    """Compare the peak memory of two processes: one with few rows, one with many."""
    few, many = (peak(count) for count in (1_000, 5 * rows))
    yield {
        "benchmark": "size",
        "question": "memory",
        "process_mb": round(few / 1e6),
        "per_row_byte": round((many - few) / (5 * rows * 20), 1),
    }


def peak(rows: int) -> int:
    code = (
        f"from benchmarks import size; size.BATCHES = 1; size.run(size.Sort(size.TIME), {rows}, 0)"
    )
    code += "; import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(ran.stdout) * 1024


def cluster(rows: int) -> Iterator[Line]:
    """Hold all rows of a sort on two executors, and measure them in the checkpoint."""
    spark = lc.session(
        master="local-cluster[2,1,1024]", config={"spark.sql.shuffle.partitions": "2"}
    )
    with tempfile.TemporaryDirectory() as work:
        for number in range(2):
            write_micro_batches(make(number, rows // 2, 100), Path(work, "rows"), 1, first=number)
        schema = "time timestamp, key int, value double, payload binary"
        df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        ordered = lc.disordered(df.parquet(f"{work}/rows"), time="time", key="key")
        query = ordered.sort(wait="100 days", late="drop").start(
            {"ready": f"{work}/ready"},
            checkpoint=f"{work}/checkpoint",
            trigger={"availableNow": True},
        )
        query.awaitTermination()
        held = lc.held(spark, f"{work}/checkpoint")
    planned = plan_size(rate=rows, wait=SECOND, row_bytes=124)
    yield {
        "benchmark": "size",
        "question": "cluster",
        "rows": rows,
        "held_rows": held["rows"],
        "planned_rows": planned.held,
        "held_bytes": held["bytes"],
        "planned_bytes": planned.state_bytes,
        "bytes_over_planned": round(held["bytes"] / planned.state_bytes, 2),
    }
    spark.stop()


PARTS = {"rows": lines, "states": counted, "memory": memory, "cluster": cluster}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    asked = parser.parse_args()
    for part in asked.only:
        for line in PARTS[part](50_000 if asked.quick else asked.rows):
            told = "  ".join(f"{name} {value}" for name, value in line.items())
            print(json.dumps(line) if asked.json else told, flush=True)


if __name__ == "__main__":
    main()
