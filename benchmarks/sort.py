"""How fast is the operator `Sort`, offline and online, compared with other sorts?

Offline, all rows are sorted at once (Fig. 7 of the paper). Online, watermarks come at fixed numbers
of rows and release the rows that are due (Fig. 8). The benchmark times the code that queries run:
`Sort` is called as a host calls it, for each micro-batch and each watermark, with chunks in memory.
Rows have a time, their position and four int32 columns, all of which come out in order. Competitors
are called as often and return the same columns (`benchmarks.competitors`).

Every line is one cell: nanoseconds of processor time per row, of all threads together, so that
other load matters little; and the time of the fastest competitor over that of `Sort`. A competitor
that takes ten times as long as `Sort` is stopped, and its time is extrapolated. With close
watermarks a stream has fewer rows, because the time is mostly that of calls; the line has the
number. Kernels are compiled before.

    python -m benchmarks.sort [--rows 20000000] [--quick] [--only offline] [--json]
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.competitors import (
    ARGSORTS,
    Buffers,
    Heap,
    Offline,
    Online,
    Stream,
    by_event,
)
from benchmarks.impatience import impatience, patience_runs
from latecomer.generate.logs import android_log, cloud_log
from latecomer.generate.synthetic import synthetic
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.sort import Sort
from latecomer.time import HOUR, SECOND, TimeColumn, Times

ROWS, QUICK_ROWS = 20_000_000, 1_000_000
EVERY = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
MOST_WATERMARKS = 5_000
PERCENTS = (1, 3, 10, 30, 100)
AMOUNTS = (1, 8, 64, 512, 4_096)
PAYLOAD = ("a", "b", "c", "d")
TOO_SLOW = 10
ROUNDS = 3
STREAMS = ("synthetic", "cloud", "android")
TIME = TimeColumn("time", "us")

Run = Callable[[Stream], Iterator[Any]]


def ours(stream: Stream) -> Iterator[list[pa.Table]]:
    table = stream.table
    sorter = Sort(TIME).start(table.schema, MemoryChunks())
    start = 0
    for stop, watermark in stream.clock():
        at_once = sorter.push(table.slice(start, stop - start)).ready
        yield [at_once, *(sorter.advance(each).ready for each in sorter.stops(watermark))]
        start = stop


OFFLINE: dict[str, Run] = {
    **{name: Offline(argsort) for name, argsort in ARGSORTS.items()},
    "heap": Online(Heap),
    "patience": by_event(speculative=False, huffman=False),
}
ONLINE: dict[str, Run] = {
    **{
        f"buffers, {name}": Online(lambda argsort=argsort: Buffers(argsort))
        for name, argsort in ARGSORTS.items()
    },
    "heap": Online(Heap),
}
BY_EVENT: dict[str, Run] = {
    "paper": by_event(speculative=True, huffman=True),
    "paper without Huffman merge": by_event(speculative=True, huffman=False),
    "paper without speculative run selection": by_event(speculative=False, huffman=True),
}


def seconds(run: Run, stream: Stream, limit: float) -> float:
    """Time a run, or extrapolate its time if it exceeds the limit. Its output is not kept."""
    began = time.process_time()
    for number, _ in enumerate(run(stream)):
        took = time.process_time() - began
        if took > limit and number < len(stream.marks):
            return took * stream.table.num_rows / int(stream.marks[number])
    return time.process_time() - began


def cell(stream: Stream, competitors: dict[str, Run], extra: dict[str, Run]) -> dict[str, Any]:
    """Run `Sort` and all competitors on one stream, in turns, and compare."""
    rows = stream.table.num_rows
    check(stream)
    times: dict[str, float] = {}
    # The best of some rounds counts. Slow competitors run only once.
    best = seconds(ours, stream, float("inf"))
    for number in range(ROUNDS):
        for name, run in {**competitors, **extra}.items():
            if number == 0:
                times[name] = seconds(run, stream, TOO_SLOW * best)
            elif times[name] < 3 * best:
                times[name] = min(times[name], seconds(run, stream, float("inf")))
        if number:
            best = min(best, seconds(ours, stream, float("inf")))
    fastest = min(competitors, key=times.__getitem__)
    return {
        "rows": rows,
        "ns_per_row": _ns(best, rows),
        "fastest": fastest,
        "ratio": round(times[fastest] / best, 2),
        "competitors_ns_per_row": {name: _ns(value, rows) for name, value in times.items()},
    }


def check(stream: Stream) -> None:
    """Check that `Sort` releases the rows of the paper's algorithm, in the same order."""
    released = pa.concat_tables(table for tables in ours(stream) for table in tables)
    ((_, order, *_),) = BY_EVENT["paper"](stream)
    if not released.equals(stream.table.take(pa.array(order))):
        message = "our rows are not those of the paper's algorithm"
        raise AssertionError(message)


def _ns(value: float, rows: int) -> float:
    return round(value / rows * 1e9, 1)


def stream_of(times: Times, every: int | None = None, wait: int = 0) -> Stream:
    """Return rows with a payload and with watermarks at fixed distances, or without any."""
    rows = len(times)
    columns = {name: np.arange(rows, dtype=np.int32) for name in PAYLOAD}
    table = pa.table({"time": times, "position": np.arange(rows), **columns})
    marks = np.arange(every, rows + 1, every) if every is not None else np.empty(0, np.int64)
    return Stream(table, marks, np.maximum.accumulate(times)[marks - 1] - wait)


@cache
def streams(rows: int) -> dict[str, tuple[Times, int]]:
    """Return the streams of Fig. 8, each with a wait that keeps all but the very late rows."""
    return {
        "synthetic": (_times(synthetic(rows, percent=30, amount=64, seed=1)), 256),
        "cloud": (_times(cloud_log(rows, 3)), SECOND),
        "android": (_times(android_log(rows, 3)), 24 * HOUR),
    }


def _times(table: Any) -> Times:
    return table["time"].to_numpy()


def offline(rows: int) -> Iterator[dict[str, Any]]:
    for name, (times, _) in streams(rows).items():
        if name != "synthetic":
            yield {"cell": f"offline {name}"} | cell(stream_of(times), OFFLINE, BY_EVENT)
    for percent, amount in [*((p, 64) for p in PERCENTS), *((30, a) for a in AMOUNTS if a != 64)]:
        times = _times(synthetic(rows, percent=percent, amount=amount, seed=1))
        label = f"offline synthetic {percent} % by {amount}"
        yield {"cell": label} | cell(stream_of(times), OFFLINE, BY_EVENT)


def online(rows: int) -> Iterator[dict[str, Any]]:
    ratios = []
    for name in STREAMS:
        for every in EVERY:
            times, wait = streams(min(rows, every * MOST_WATERMARKS))[name]
            stream = stream_of(times, every, wait)
            result = cell(stream, ONLINE, {"paper": BY_EVENT["paper"]})
            ratios.append(result["ratio"])
            yield {"cell": f"online {name} every {every:,}"} | result
    yield {
        "cell": "online",
        "least_ratio": min(ratios),
        "geometric_mean": round(statistics.geometric_mean(ratios), 2),
    }


def runs(rows: int) -> Iterator[dict[str, Any]]:
    """Count the runs after each tenth of the stream (Fig. 5)."""
    tenths = np.linspace(0, rows, 11)[1:].astype(int)
    for name in ("cloud", "android"):
        times = streams(rows)[name][0]
        patience = np.maximum.accumulate(patience_runs(times))[tenths - 1] + 1
        line = {"cell": f"runs {name}", "patience": patience.tolist()}
        for label, wait in (("1 second", SECOND), ("1 minute", 60 * SECOND), ("1 day", 24 * HOUR)):
            marks = np.arange(10_000, rows + 1, 10_000)
            watermarks = np.maximum.accumulate(times)[marks - 1] - wait
            _, _, counts = impatience(times, marks, watermarks, True, True)  # noqa: FBT003
            line[f"impatience, {label}"] = counts[tenths // 10_000 - 1].tolist()
            line[f"most, {label}"] = int(counts.max())
        yield line


def memory(rows: int) -> Iterator[dict[str, Any]]:
    """Measure the peak memory in another process, in bytes for each byte of held rows."""
    for name in ("cloud", "android"):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.sort", "--rows", str(rows), "--peak", name],
            capture_output=True,
            text=True,
            check=True,
        )
        yield {"cell": f"memory {name}", "peak_over_held": round(float(done.stdout), 2)}


def peak(rows: int, name: str) -> float:
    times = streams(rows)[name][0]
    list(ours(stream_of(times[:1_000])))
    stream = stream_of(times)
    before, most, done = resident(), [0], Event()

    def watch() -> None:
        while not done.wait(0.001):
            most[0] = max(most[0], resident())

    watcher = Thread(target=watch)
    watcher.start()
    list(ours(stream))
    done.set()
    watcher.join()
    return (most[0] - before) / stream.table.nbytes


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


QUESTIONS = {"offline": offline, "online": online, "runs": runs, "memory": memory}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows")
    parser.add_argument("--only", choices=QUESTIONS, help="one of the questions")
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    count = QUICK_ROWS if arguments.quick else arguments.rows
    if arguments.peak:
        print(peak(count, arguments.peak))
        return
    warm_up()
    for name in [arguments.only] if arguments.only else QUESTIONS:
        for line in QUESTIONS[name](count):
            print(json.dumps({"rows": count} | line) if arguments.json else told(line), flush=True)


def warm_up() -> None:
    for times, wait in streams(20_000).values():
        cell(stream_of(times, 1_000, wait), ONLINE, BY_EVENT | {"patience": OFFLINE["patience"]})


def told(line: dict[str, Any]) -> str:
    if "fastest" not in line:
        return "  ".join(f"{key} {value}" for key, value in line.items())
    return (
        f"{line['cell']:36} {line['ns_per_row']:6} ns a row, {line['ratio']:6}× {line['fastest']} "
        f"({line['competitors_ns_per_row'][line['fastest']]})"
    )


if __name__ == "__main__":
    main()
