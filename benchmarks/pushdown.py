"""How much time do selection, projection and windows save when they come before the sort?

None of the three depends on order, so a stream is reduced first and then sorted (Fig. 9 of the
paper). Every line is one cell: the time with the operator after the sort over that with the
operator before it, including the operator. Rows have a time and four int32 columns.

    selection     keeps 10, 30, 50, 70, 90 or 100 % of the rows, by a column
    projection    keeps one of the four columns
    window        sets times to the start of their window; watermarks are also at starts of
                  windows in both cases, so that the same rows are late

Rows are sorted by the operator `Sort`, which is called for each micro-batch, with a watermark every
10,000 rows, as in the paper, and every 100,000.

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), Section VI-C: up to 7×, 1.5×
    and 2.4×.

    python -m benchmarks.pushdown [--rows 20000000] [--quick] [--only window] [--json]
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from latecomer.batch import Positions
from latecomer.generate.logs import MILLISECOND, android_log, cloud_log
from latecomer.generate.synthetic import synthetic
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.sort import Sort
from latecomer.time import FOREVER, HOUR, NEVER, SECOND, TimeColumn, Times

ROWS, QUICK_ROWS = 20_000_000, 2_000_000
EVERY = (10_000, 100_000)
"""Rows between two watermarks."""
ROUNDS = 4
SELECTED = (10, 30, 50, 70, 90, 100)
PAYLOAD = ("a", "b", "c", "d")
_NONE = np.empty(0, np.int64)

Column = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Rows:
    """Rows in order of arrival, and the watermarks among them."""

    times: Times
    columns: dict[str, Column]
    marks: Positions
    """Number of rows before each watermark; empty once they are sorted."""
    watermarks: Times

    def where(self, keep: npt.NDArray[np.bool_]) -> "Rows":
        kept = np.flatnonzero(keep)
        columns = {name: column.take(kept) for name, column in self.columns.items()}
        marks = np.searchsorted(kept, self.marks)
        return replace(self, times=self.times.take(kept), columns=columns, marks=marks)

    def select(self, name: str) -> "Rows":
        return replace(self, columns={name: self.columns[name]})

    def tumbling(self, size: int) -> "Rows":
        return replace(self, times=self.times - self.times % size)

    def check(self) -> tuple[int, ...]:
        """Return the sums of all columns."""
        return (len(self.times), *(int(c.sum(dtype=np.int64)) for c in self.columns.values()))


def in_order(rows: Rows) -> Rows:
    table = pa.table({"time": rows.times, **rows.columns})
    sorter = Sort(TimeColumn("time", "us")).start(table.schema, MemoryChunks())
    ready, start, watermark = [], 0, NEVER
    for stop, after in zip(
        [*rows.marks.tolist(), table.num_rows], [*rows.watermarks.tolist(), FOREVER], strict=True
    ):
        ready += [sorter.advance(stop_at).ready for stop_at in sorter.stops(watermark)]
        ready.append(sorter.push(table.slice(start, stop - start)).ready)
        start, watermark = stop, after
    ready += [sorter.advance(stop_at).ready for stop_at in sorter.stops(FOREVER)]
    out = pa.concat_tables(ready)
    columns = {name: out[name].to_numpy() for name in rows.columns}
    return Rows(out["time"].to_numpy(), columns, _NONE, _NONE)


@dataclass(frozen=True)
class Stream:
    times: Callable[[int], pa.Table]
    wait: int
    windows: dict[str, int]

    def rows(self, count: int, every: int) -> Rows:
        times = self.times(count)["time"].to_numpy()
        random = np.random.default_rng(1)
        columns = {name: random.integers(0, 100, count, np.int32) for name in PAYLOAD}
        marks = np.arange(every, count + 1, every)
        return Rows(times, columns, marks, np.maximum.accumulate(times)[marks - 1] - self.wait)


STREAMS = {
    "synthetic": Stream(
        lambda count: synthetic(count, percent=30, amount=64, seed=1),
        256,
        {"10 rows": 10, "100 rows": 100, "1,000 rows": 1_000},
    ),
    "cloud": Stream(
        lambda count: cloud_log(count, 3),
        SECOND,
        {"100 ms": 100 * MILLISECOND, "1 second": SECOND, "1 minute": 60 * SECOND},
    ),
    "android": Stream(
        lambda count: android_log(count, 3),
        24 * HOUR,
        {"1 minute": 60 * SECOND, "10 minutes": 600 * SECOND, "1 hour": HOUR},
    ),
}
"""The streams of `benchmarks.sort`, with the same waits."""


def compare(rows: Rows, do: Callable[[Rows], Rows]) -> dict[str, Any]:
    """Time an operator after and before the sort, in turns; both must give the same rows."""
    ways: dict[str, Callable[[], Rows]] = {
        "after": lambda: do(in_order(rows)),
        "before": lambda: in_order(do(rows)),
    }
    best = dict.fromkeys(ways, float("inf"))
    found = set()
    for turn in range(ROUNDS):
        for name in sorted(ways, reverse=bool(turn % 2)):
            began = time.perf_counter()
            out = ways[name]()
            best[name] = min(best[name], time.perf_counter() - began)
            assert np.all(out.times[1:] >= out.times[:-1])
            found.add(out.check())
            del out
    assert len(found) == 1, found
    count = len(rows.times)
    return {
        "ratio": round(best["after"] / best["before"], 2),
        "after_ns_per_row": round(best["after"] / count * 1e9, 1),
        "before_ns_per_row": round(best["before"] / count * 1e9, 1),
    }


def selection(_stream: Stream, rows: Rows) -> Iterator[tuple[str, Rows, Callable[[Rows], Rows]]]:
    for percent in SELECTED:
        yield f"{percent} %", rows, lambda r, p=percent: r.where(r.columns["a"] < p)


def projection(_stream: Stream, rows: Rows) -> Iterator[tuple[str, Rows, Callable[[Rows], Rows]]]:
    yield "1 of 4", rows, lambda r: r.select("a")


def window(stream: Stream, rows: Rows) -> Iterator[tuple[str, Rows, Callable[[Rows], Rows]]]:
    for label, size in stream.windows.items():
        at_starts = replace(rows, watermarks=rows.watermarks - rows.watermarks % size)
        yield label, at_starts, lambda r, s=size: r.tumbling(s)


OPERATORS = {"selection": selection, "projection": projection, "window": window}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows")
    parser.add_argument("--only", choices=OPERATORS, help="one of the operators")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    count = QUICK_ROWS if arguments.quick else arguments.rows
    operators = [arguments.only] if arguments.only else list(OPERATORS)
    for stream in STREAMS.values():
        in_order(stream.rows(50_000, 10_000))
    best: dict[str, float] = {}
    for every in EVERY:
        for name, stream in STREAMS.items():
            rows = stream.rows(count, every)
            for operator in operators:
                for label, given, do in OPERATORS[operator](stream, rows):
                    line = {"benchmark": "pushdown", "rows": count, "every": every, "stream": name}
                    line |= {"cell": f"{operator} {label}"} | compare(given, do)
                    say(line, is_json=arguments.json)
                    key = f"{operator}, every {every:,}"
                    best[key] = max(best.get(key, 0), line["ratio"])
    say({"benchmark": "pushdown", "rows": count, "most": best}, is_json=arguments.json)


def say(line: dict[str, Any], *, is_json: bool) -> None:
    words = "  ".join(f"{key} {value}" for key, value in line.items() if key != "benchmark")
    print(json.dumps(line) if is_json else words, flush=True)


if __name__ == "__main__":
    main()
