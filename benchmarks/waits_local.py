"""The local part of `benchmarks.waits`: the same operators, in this process, from memory.

    several waits       one aggregation with three waits (advanced)
    basic               a sort of whole events for each wait, and the query on its output
    basic, projected    the same, for events with only the time and the group
    longest, sorted     only the last level of basic: a sort, then the query (the paper's
                        MaxLatency)
    shortest, longest   the aggregation with one wait

In basic, windows come before the sort, as in the paper's programs: the time of an event is the last
instant of its window. So the same events are late in all methods, and each wait must give the same
counts in all of them, which is checked. State is the largest size of the chunks in bytes after any
micro-batch; it is measured in a separate round, which also warms up. Methods take turns and the
best round counts. Times include the end of the stream, where all held rows come out.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.waits_queries import (
    LOGS,
    QUERIES,
    TIME,
    Log,
    Query,
    aggregation,
    counted,
    events,
    micros,
)
from latecomer.batch import Batch
from latecomer.clock.watermark import Clock
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.levels import WAIT
from latecomer.operators.sort import Sort
from latecomer.operators.windows.bounds import WINDOW
from latecomer.profile.measures import delay_counts
from latecomer.time import FOREVER, NEVER, format_duration

EVERY = (100_000, 10_000)
"""Rows in a micro-batch. The paper has 10,000; with fewer rows, calls from Python weigh more."""
ROUNDS = 2


class SizedChunks(MemoryChunks):
    """Chunks in a dictionary, and their bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 0

    def put(self, number: int, rows: Batch) -> None:
        super().put(number, rows)
        self.size += rows.nbytes

    def drop(self, number: int) -> None:
        self.size -= self.get(number).nbytes
        super().drop(number)


class OnePass:
    """One aggregation, with one wait or several."""

    def __init__(self, log: Log, query: Query, waits: tuple[int, ...]) -> None:
        self.waits = waits
        self._spec = aggregation(log, query, waits)

    def start(self, schema: pa.Schema, make: Callable[[], MemoryChunks]) -> list[MemoryChunks]:
        chunks = make()
        self._running = self._spec.start(schema, chunks)
        return [chunks]

    def step(self, rows: Batch, newest: int) -> list[Batch]:
        answers = self._running.advance(Clock.at(newest, self.waits[-1]).watermark).ready
        self._running.push(rows)
        return [answers]

    def finish(self) -> list[Batch]:
        return [self._running.advance(FOREVER).ready]


class Basic:
    """A sort and an aggregation for each wait. Results come out wait by wait."""

    def __init__(
        self, log: Log, query: Query, waits: tuple[int, ...], columns: tuple[str, ...] = ()
    ) -> None:
        self.waits = waits
        self._windows = log.windows
        self._specs = [aggregation(log, query, (wait,)) for wait in waits]
        self._columns = list(columns)

    def start(self, schema: pa.Schema, make: Callable[[], MemoryChunks]) -> list[MemoryChunks]:
        if self._columns:
            schema = pa.schema([schema.field(name) for name in self._columns])
        chunks = [make() for _ in range(2 * len(self.waits))]
        self._sorters = [Sort(TIME).start(schema, own) for own in chunks[::2]]
        self._queries = [
            spec.start(schema, own) for spec, own in zip(self._specs, chunks[1::2], strict=True)
        ]
        return chunks

    def step(self, rows: Batch, newest: int) -> list[Batch]:
        if self._columns:
            rows = rows.select(self._columns)
        panes = self._windows.panes(TIME.micros(rows))
        rows = TIME.replaced(rows, panes + (self._windows.size - 1))
        return [
            self._level(at, Clock.at(newest, wait).watermark, rows)
            for at, wait in enumerate(self.waits)
        ]

    def finish(self) -> list[Batch]:
        return [self._level(at, FOREVER, None) for at in range(len(self.waits))]

    def _level(self, at: int, watermark: int, rows: Batch | None) -> Batch:
        sorter, query = self._sorters[at], self._queries[at]
        for stop in sorter.stops(watermark):
            if (released := sorter.advance(stop).ready).num_rows:
                query.push(released)
        if rows is not None and (at_once := sorter.push(rows).ready).num_rows:
            query.push(at_once)
        return query.advance(watermark).ready


Method = OnePass | Basic


def methods(log: Log, query: Query) -> dict[str, Method]:
    waits = micros(log.waits)
    return {
        "several waits": OnePass(log, query, waits),
        "basic": Basic(log, query, waits),
        "basic, projected": Basic(log, query, waits, ("time", "group")),
        "longest, sorted": Basic(log, query, waits[-1:]),
        "shortest": OnePass(log, query, waits[:1]),
        "longest": OnePass(log, query, waits[-1:]),
    }


def batches(table: pa.Table, every: int) -> Iterator[Batch]:
    for start in range(0, table.num_rows, every):
        yield table.slice(start, every)


def play(
    method: Method,
    table: pa.Table,
    every: int,
    look: Callable[[list[Batch], int], None] = lambda _answers, _newest: None,
    make: Callable[[], MemoryChunks] = MemoryChunks,
) -> tuple[float, list[list[Batch]], list[MemoryChunks]]:
    """Run a method over all events; `look` is called after each micro-batch."""
    chunks = method.start(table.schema, make)
    newest, answers = NEVER, []
    began = time.perf_counter()
    for rows in batches(table, every):
        given = method.step(rows, newest)
        answers.append(given)
        newest = max(newest, int(TIME.micros(rows).max()))
        look(given, newest)
    answers.append(method.finish())
    return time.perf_counter() - began, answers, chunks


def totals(method: Method, answers: list[list[Batch]]) -> dict[int, int]:
    if isinstance(method, OnePass):
        return counted([given[0] for given in answers], method.waits)
    return {
        wait: counted([given[at] for given in answers], (wait,))[wait]
        for at, wait in enumerate(method.waits)
    }


def state(method: Method, table: pa.Table, every: int) -> tuple[int, dict[int, int]]:
    """Measure the largest state in bytes, and the counts of each wait."""
    made: list[SizedChunks] = []
    most = [0]

    def make() -> MemoryChunks:
        made.append(SizedChunks())
        return made[-1]

    def look(_answers: list[Batch], _newest: int) -> None:
        most[0] = max(most[0], sum(chunks.size for chunks in made))

    _, answers, _ = play(method, table, every, look, make)
    return most[0], totals(method, answers)


def cell(log: Log, query: Query, table: pa.Table, every: int) -> dict[str, Any]:
    """Compare all methods on one query."""
    runs = methods(log, query)
    held, found, best = {}, {}, dict.fromkeys(runs, float("inf"))
    for name, method in runs.items():
        held[name], found[name] = state(method, table, every)
        for wait, total in found[name].items():
            assert total == found["several waits"][wait], (name, wait, found)
    for _ in range(ROUNDS):
        for name, method in runs.items():
            best[name] = min(best[name], play(method, table, every)[0])
    ours = best["several waits"]
    return {
        "rows_per_second": {name: round(table.num_rows / each) for name, each in best.items()},
        "state_bytes": held,
        "over_basic": round(best["basic"] / ours, 2),
        "over_basic_projected": round(best["basic, projected"] / ours, 2),
        "over_longest_sorted": round(best["longest, sorted"] / ours, 2),
        "state_under_basic": round(held["basic"] / held["several waits"], 1),
        "state_under_basic_projected": round(held["basic, projected"] / held["several waits"], 1),
        "overhead_percent": round(100 * (ours / best["longest"] - 1), 1),
        "overhead_over_shortest_percent": round(100 * (ours / best["shortest"] - 1), 1),
    }


def local(rows: int, logs: list[str], queries: list[str]) -> Iterator[dict[str, Any]]:
    """Compare throughput and state (Fig. 10)."""
    for name in logs:
        for each in queries:
            table = events(LOGS[name], rows, QUERIES[each].groups)
            for every in EVERY:
                result = cell(LOGS[name], QUERIES[each], table, every)
                line = {"cell": f"local {name} {each} every {every:,}"}
                yield line | {"window": LOGS[name].window} | result


def table2(rows: int, logs: list[str], _queries: list[str]) -> Iterator[dict[str, Any]]:
    """Measure latency and completeness (Table II), with the paper's 10,000 rows to a watermark.

    Latency is the newest time at a result minus the end of its window: the median of all results
    before the end of the stream, for windows that end after its begin. There are two measures of
    completeness: by the paper's rule, the share of rows that are not behind the watermark, with a
    clock that moves with every row; by ours, the share of rows whose windows had not closed.
    """
    for name in logs:
        log = LOGS[name]
        table = events(log, rows, 100)
        waits = micros(log.waits)
        began = int(TIME.micros(table.slice(0, EVERY[-1])).max())
        delays: dict[int, list[np.ndarray]] = {wait: [] for wait in waits}

        def look(
            answers: list[Batch], newest: int, began: int = began, delays: Any = delays
        ) -> None:
            for answer in answers:
                ends = answer[WINDOW].combine_chunks().field("end").cast("int64").to_numpy()
                for wait, found in delays.items():
                    is_given = pc.equal(answer[WAIT], format_duration(wait)).to_numpy()
                    found.append(newest - ends[is_given & (ends > began)])

        method = OnePass(log, QUERIES["Q1"], waits)
        _, answers, _ = play(method, table, EVERY[-1], look)
        seen = totals(method, answers)
        by_row = delay_counts(TIME.micros(table)).in_time(list(waits))
        for wait, count in zip(waits, by_row, strict=True):
            latency = np.concatenate(delays[wait])
            yield {
                "cell": f"table2 {name} {format_duration(wait)}",
                "percent": round(100 * seen[wait] / rows, 2),
                "percent_in_time_by_row": round(100 * count / rows, 2),
                "paper_percent": log.paper_percent.get(format_duration(wait)),
                "median_latency": format_duration(int(np.median(latency)))
                if len(latency)
                else None,
            }
