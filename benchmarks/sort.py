"""How fast is Impatience sort, offline and online, against what else there is?

Offline, all rows are sorted at once (Fig. 7 of the paper); online, watermarks come every so many
rows and release what is due (Fig. 8). Asked for is the order alone, times and positions, and then
four int32 columns are gathered by it. Every line is one cell: nanoseconds per row, and the ratio
of the fastest competitor's time to ours. Buffers that take ten times as long as we do are stopped;
their time is then what it would have been at the pace they had. Kernels are compiled before.

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
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np

from benchmarks.competitors import ARGSORTS, Buffers, StoppedError, Whole, by_event, heap
from latecomer.batch import Positions
from latecomer.generate.logs import HOUR, SECOND, android_log, cloud_log
from latecomer.generate.synthetic import synthetic
from latecomer.kernels.impatience import impatience, patience_runs
from latecomer.operators.ordering import Ordering
from latecomer.time import Times

ROWS, QUICK_ROWS = 20_000_000, 1_000_000
EVERY = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
PERCENTS = (1, 3, 10, 30, 100)
AMOUNTS = (1, 8, 64, 512, 4_096)
TOO_SLOW = 10
ROUNDS = 3

Run = Callable[..., tuple[Times, Positions]]


def ours(
    times: Times, marks: Positions, watermarks: Times, _is_over: Callable[[], bool]
) -> tuple[Times, Positions]:
    ordering = Ordering()
    # Released in two parts, as a stream would take them; what counts is the longer one.
    parts = (ordering.push(times, marks, watermarks), ordering.finish())
    longer = max(parts, key=lambda part: len(part.times))
    return longer.times, longer.positions


OFFLINE: dict[str, Run] = {
    **{name: Whole(argsort) for name, argsort in ARGSORTS.items()},
    "heap": heap,
    "patience": by_event(speculative=False, huffman=False),
}
ONLINE: dict[str, Run] = {
    **{f"buffers, {name}": Buffers(argsort) for name, argsort in ARGSORTS.items()},
    "heap": heap,
}
BY_EVENT: dict[str, Run] = {
    "paper": by_event(speculative=True, huffman=True),
    "paper without Huffman merge": by_event(speculative=True, huffman=False),
    "paper without speculative run selection": by_event(speculative=False, huffman=True),
}


def seconds(run: Run, stream: tuple[Times, Positions, Times], limit: float) -> float:
    """Time a run, or estimate it if it exceeds the limit."""
    began = time.perf_counter()
    try:
        run(*stream, lambda: time.perf_counter() - began > limit)
    except StoppedError as stopped:
        return (time.perf_counter() - began) * len(stream[0]) / max(stopped.rows, 1)
    return time.perf_counter() - began


def cell(
    stream: tuple[Times, Positions, Times], competitors: dict[str, Run], extra: dict[str, Run]
) -> dict[str, Any]:
    """Run everybody on one stream, in turns, and compare."""
    rows = len(stream[0])
    check(stream)
    times: dict[str, float] = {}
    # Whoever is timed has the best of so many rounds, in turns; the slow have one.
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
    payload = gathered(rows, ours(*stream, bool)[1])
    return {
        "ns_per_row": _ns(best, rows),
        "fastest": fastest,
        "ratio": round(times[fastest] / best, 2),
        "with_payload_ratio": round((times[fastest] + payload) / (best + payload), 2),
        "competitors_ns_per_row": {name: _ns(value, rows) for name, value in times.items()},
    }


def check(stream: tuple[Times, Positions, Times]) -> None:
    """See that the rows that we release, and their order, are those of the paper's algorithm."""
    ordering = Ordering()
    parts = (ordering.push(*stream), ordering.finish())
    times, positions = (np.concatenate(part) for part in list(zip(*parts, strict=True))[:2])
    _, order = BY_EVENT["paper"](*stream, bool)
    if not (np.array_equal(positions, order) and np.array_equal(times, stream[0][order])):
        message = "our order is not that of the paper's algorithm"
        raise AssertionError(message)


def gathered(rows: int, order: Positions) -> float:
    """Time the gathering of four int32 columns, which is the same for everybody."""
    columns = [np.arange(rows, dtype=np.int32) for _ in range(4)]
    began = time.perf_counter()
    for column in columns:
        column.take(order)
    return time.perf_counter() - began


def _ns(value: float, rows: int) -> float:
    return round(value / rows * 1e9, 1)


def watermarks_every(times: Times, every: int, wait: int) -> tuple[Times, Positions, Times]:
    marks = np.arange(every, len(times) + 1, every)
    return times, marks, np.maximum.accumulate(times)[marks - 1] - wait


def streams(rows: int) -> dict[str, tuple[Times, int]]:
    """Make the streams of Fig. 8, each with a wait that keeps all but the very late rows."""
    return {
        "synthetic": (_times(synthetic(rows, percent=30, amount=64, seed=1)), 256),
        "cloud": (_times(cloud_log(rows, 3)), SECOND),
        "android": (_times(android_log(rows, 3)), 24 * HOUR),
    }


def _times(table: Any) -> Times:
    return table["time"].to_numpy()


def offline(rows: int) -> Iterator[dict[str, Any]]:
    nothing = np.empty(0, np.int64)
    for name, (times, _) in streams(rows).items():
        if name != "synthetic":
            yield {"cell": f"offline {name}"} | cell((times, nothing, nothing), OFFLINE, BY_EVENT)
    for percent, amount in [*((p, 64) for p in PERCENTS), *((30, a) for a in AMOUNTS if a != 64)]:
        times = _times(synthetic(rows, percent=percent, amount=amount, seed=1))
        label = f"offline synthetic {percent} % by {amount}"
        yield {"cell": label} | cell((times, nothing, nothing), OFFLINE, BY_EVENT)


def online(rows: int) -> Iterator[dict[str, Any]]:
    ratios = []
    for name, (times, wait) in streams(rows).items():
        for every in EVERY:
            stream = watermarks_every(times, every, wait)
            result = cell(stream, ONLINE, {"paper": BY_EVENT["paper"]})
            ratios.append(result["ratio"])
            yield {"cell": f"online {name} every {every:,}"} | result
    yield {
        "cell": "online",
        "least_ratio": min(ratios),
        "geometric_mean": round(statistics.geometric_mean(ratios), 2),
    }


def runs(rows: int) -> Iterator[dict[str, Any]]:
    """Count runs over time, every tenth of the stream (Fig. 5)."""
    tenths = np.linspace(0, rows, 11)[1:].astype(int)
    for name in ("cloud", "android"):
        times = streams(rows)[name][0]
        patience = np.maximum.accumulate(patience_runs(times))[tenths - 1] + 1
        line = {"cell": f"runs {name}", "patience": patience.tolist()}
        for label, wait in (("1 second", SECOND), ("1 minute", 60 * SECOND), ("1 day", 24 * HOUR)):
            _, _, counts = impatience(*watermarks_every(times, 10_000, wait), True, True)  # noqa: FBT003
            line[f"impatience, {label}"] = counts[tenths // 10_000 - 1].tolist()
            line[f"most, {label}"] = int(counts.max())
        yield line


def memory(rows: int) -> Iterator[dict[str, Any]]:
    """Measure the peak, in a process of its own, in bytes per byte of times and positions held."""
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
    nothing = np.empty(0, np.int64)
    ours(times[:1_000], nothing, nothing, bool)
    before, most, done = resident(), [0], Event()

    def watch() -> None:
        while not done.wait(0.001):
            most[0] = max(most[0], resident())

    watcher = Thread(target=watch)
    watcher.start()
    ours(times, nothing, nothing, bool)
    done.set()
    watcher.join()
    return (most[0] - before) / (16 * rows)


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
        stream = watermarks_every(times, 1_000, wait)
        cell(stream, ONLINE, BY_EVENT | {"patience": OFFLINE["patience"]})


def told(line: dict[str, Any]) -> str:
    if "fastest" not in line:
        return "  ".join(f"{key} {value}" for key, value in line.items())
    return (
        f"{line['cell']:36} {line['ns_per_row']:6} ns a row, {line['ratio']:6}× "
        f"{line['fastest']} ({line['with_payload_ratio']}× with payload)"
    )


if __name__ == "__main__":
    main()
