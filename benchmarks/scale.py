"""How does cost grow with events, keys, waits, held rows, and cores?

    events   rows ×1, ×2, ×4 and ×8, in micro-batches of the same size: time per row
    keys     1,000 keys, ×10 and ×100, with as many rows: time per row
    waits    an aggregate with 1, 3 or 6 waits: time per row
    held     a sort on Spark whose wait holds from 1 to 50 million rows: time of a micro-batch,
             while no rows are due, and while as many are due as come in
    cores    the sort and a count on Spark with one core and with two: rows per second

The first three run in this process, on one core, as a sort and as an aggregate by window and key;
the best of three rounds counts. For the other two see `benchmarks.scale_spark`. At the end, the
worst result of each part is compared with its goal.

    python -m benchmarks.scale [--rows 1000000] [--quick] [--only held] [--json]
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.hosts.local import LocalHost
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.base import Operator
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn

ROWS, QUICK_ROWS = 1_000_000, 100_000
SECOND = 1_000_000
TIME = TimeColumn("time")
BATCH = 100_000
ROUNDS = 3
KEYS = 1_000
WAITS = {1: (60,), 3: (1, 10, 60), 6: (1, 5, 10, 20, 40, 60)}
"""The waits of each number, in seconds."""
FLAT, SPEED_UP = 1.15, 1.7
"""The goals: the greatest growth of the time per row, and the least gain of two cores."""

Line = dict[str, Any]


def make(rows: int, keys: int = KEYS) -> pa.Table:
    """Return a thousand rows a second in order of arrival, 30 % delayed by up to a minute."""
    random = np.random.default_rng(1)
    times = np.arange(rows, dtype=np.int64) * 1_000
    late = random.integers(0, 60 * SECOND, rows)
    order = np.argsort(times + np.where(random.random(rows) < 0.3, late, 0), kind="stable")
    return pa.table(
        {
            "time": pa.array(times[order], pa.timestamp("us", "UTC")),
            "key": random.integers(0, keys, rows).astype(np.int32),
            "value": random.random(rows),
        }
    )


def aggregation(waits: tuple[int, ...]) -> Aggregation:
    results = (("n", agg.count()), ("total", agg.sum("value")))
    windows = Windows(10 * SECOND, 10 * SECOND)
    return Aggregation(TIME, windows, waits, (Summary(("key",), results),))


def plan(operator: Operator, waits: tuple[int, ...]) -> Plan:
    return Plan(Source(TIME), OneClock(waits), "drop", (Stage(("key",), (operator,)),))


def plans(number: int = 1) -> dict[str, Plan]:
    waits = tuple(wait * SECOND for wait in WAITS[number])
    found = {"aggregate": plan(aggregation(waits), waits)}
    return found if number > 1 else {"sort": plan(Sort(TIME), waits), **found}


def ns_per_row(asked: Plan, table: pa.Table) -> float:
    """Return the time per row of a plan in micro-batches, the best of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        host = LocalHost(asked, table.schema)
        began = time.perf_counter()
        for start in range(0, table.num_rows, BATCH):
            host.step(table.slice(start, BATCH))
        host.finish()
        best = min(best, time.perf_counter() - began)
    return best / table.num_rows * 1e9


def compared(question: str, by: str, cells: Iterator[tuple[str, int, float]]) -> Iterator[Line]:
    """Compare each cell with the first one of its query."""
    first: dict[str, float] = {}
    for query, value, ns in cells:
        over = round(ns / first.setdefault(query, ns), 3)
        words = {"question": question, "query": query, by: value}
        yield words | {"ns_per_row": round(ns, 1), "over_smallest": over}


def events(rows: int) -> Iterator[Line]:
    tables = [make(rows * times) for times in (1, 2, 4, 8)]
    cells = (
        (query, table.num_rows, ns_per_row(asked, table))
        for query, asked in plans().items()
        for table in tables
    )
    yield from compared("events", "rows", cells)


def keys(rows: int) -> Iterator[Line]:
    tables = {number: make(rows, number) for number in (KEYS, 10 * KEYS, 100 * KEYS)}
    cells = (
        (query, number, ns_per_row(asked, table))
        for query, asked in plans().items()
        for number, table in tables.items()
    )
    yield from compared("keys", "keys", cells)


def waits(rows: int) -> Iterator[Line]:
    table = make(rows)
    cells = (
        ("aggregate", number, ns_per_row(plans(number)["aggregate"], table)) for number in WAITS
    )
    yield from compared("waits", "waits", cells)


def held(rows: int) -> Iterator[Line]:
    # Spark takes a while to start, so it is only started if needed.
    from benchmarks.scale_spark import held as on_spark

    yield from on_spark(rows)


def cores(rows: int) -> Iterator[Line]:
    from benchmarks.scale_spark import cores as on_spark

    yield from on_spark(rows)


QUESTIONS: dict[str, Callable[[int], Iterator[Line]]] = {
    "events": events,
    "keys": keys,
    "waits": waits,
    "held": held,
    "cores": cores,
}


def goals(lines: list[Line]) -> Iterator[Line]:
    grown = [line["over_smallest"] for line in lines if line["question"] == "events"]
    if grown:
        worst = max(grown)
        words = {"question": "goal", "goal": "events", "wanted": f"at most {FLAT}"}
        yield words | {"worst": worst, "is_met": worst <= FLAT}
    gained = [
        line["speed_up"]
        for line in lines
        if line.get("cores") == 2 and "Spark" not in line["query"]
    ]
    if gained:
        worst = min(gained)
        words = {"question": "goal", "goal": "cores", "wanted": f"at least {SPEED_UP}"}
        yield words | {"worst": worst, "is_met": worst >= SPEED_UP}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS, help="the fewest; a micro-batch of held")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows")
    parser.add_argument("--only", choices=QUESTIONS, nargs="+", help="some of the questions")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    rows = QUICK_ROWS if arguments.quick else arguments.rows

    def say(line: Line) -> None:
        line = {"benchmark": "scale"} | line
        words = "  ".join(f"{key} {value}" for key, value in line.items())
        print(json.dumps(line) if arguments.json else words, flush=True)

    for asked in plans().values():
        ns_per_row(asked, make(20_000))
    said = []
    for name in arguments.only or QUESTIONS:
        for line in QUESTIONS[name](rows):
            say(line)
            said.append(line)
    for line in goals(said):
        say(line)


if __name__ == "__main__":
    main()
