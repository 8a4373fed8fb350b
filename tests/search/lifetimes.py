"""Rows with lifetimes: aggregates at each instant, and aggregates of sessions.

From docs/temporal.md: a row counts in its lifetime [start, end). The aggregate at an instant covers
the rows that count then. A session ends `timeout` after its last row; a row at exactly that time
begins the next session. Rows before the watermark are late. Windows made by `lifetime` give the
same aggregates at each instant, once for each wait.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.aggregate import SnapshotAggregate
from latecomer.operators.temporal.lifetimes import Lasting
from latecomer.operators.temporal.session import Closing
from latecomer.operators.temporal.session_aggregate import SessionAggregate
from latecomer.operators.temporal.whole import Whole, instants
from latecomer.operators.windows.sliding import sliding
from latecomer.plan import Plan, Source, Stage
from latecomer.time import parse_duration
from tests.search import clocks, running
from tests.search.cases import Case
from tests.search.streams import SECOND, Columns, draw_batches

if TYPE_CHECKING:
    import random

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - compared with times without a zone


def draw(rng: random.Random) -> Case:
    """Draw a case."""
    columns = Columns.draw(rng, taken=("start", "end", "session", "window", "wait", "is_final"))
    options = {
        "columns": columns,
        "query": rng.choice(["snapshots", "sessions", "windows"]),
        "waits": (rng.choice([0, 2, 20]) * SECOND,),
        "duration": rng.choice([1, 3, 7]) * SECOND,
        "keyed": rng.choice([True, False]),
    }
    if options["query"] == "windows" and rng.random() < 0.5:
        options["waits"] = (0, *options["waits"]) if options["waits"][0] else (0, 3 * SECOND)
    return Case(options, draw_batches(rng, columns, rng.choice([SECOND, 4 * SECOND])))


def found(case: Case) -> Any:  # noqa: ANN401
    """Return the late rows, and the aggregates at each instant at which they may change."""
    options, columns = case.options, case.options["columns"]
    time = columns.time_column
    key = (columns.key,) if options["keyed"] else ()
    kind = instants(columns.schema.field(columns.time).type, time.unit)
    value = columns.value
    summary = Summary(
        key, (("n", agg.count()), ("total", agg.sum(value)), ("most", agg.max(value)))
    )
    aggregate = (
        SessionAggregate(summary, Closing(options["duration"]), *kind)
        if options["query"] == "sessions"
        else SnapshotAggregate(summary)
    )
    lasting = Lasting(time, options["duration"], (*key, value))
    operators = (Sort(time), lasting, aggregate, Whole(*kind))
    waits = options["waits"]
    if options["query"] == "windows":
        operators = sliding(time, waits, options["duration"], summary, columns.schema)
    source = Source(time, key, rows=columns.schema)
    plan = Plan(source, OneClock(waits), "divert", (Stage(key, operators),))
    told = list(running.steps(plan, columns, case.batches, SECOND))
    late = sorted(each for step in told for each in running.late(step, columns))
    answers: Counter[Any] = Counter()
    points = _changes(case)
    for row in (row for step in told for row in step.ready.to_pylist()):
        group = repr(row[columns.key]) if key else ""
        results = (row["n"], row["total"], row["most"])
        span = row.get("session") or row.get("window") or row
        start, end = (_micros(span[side], columns) for side in ("start", "end"))
        if options["query"] == "sessions":
            answers[group, start, end, *results] += 1
        else:
            wait = parse_duration(row["wait"], "wait") if len(waits) > 1 else waits[0]
            answers.update((wait, group, at, *results) for at in points if start <= at < end)
    return late, answers


def _micros(time: Any, columns: Columns) -> int:  # noqa: ANN401
    if isinstance(time, datetime):
        return (time.replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1)
    return time * columns.tick


def _changes(case: Case) -> set[int]:
    """Return all instants at which a row begins or ends to count."""
    times = [row[0] for rows in case.batches for row in rows if row[0] is not None]
    return {time + more for time in times for more in (0, case.options["duration"])}


def expected(case: Case) -> Any:  # noqa: ANN401
    """Compute the same result by brute force."""
    options, late = case.options, list[tuple[int, str]]()
    answers: Counter[Any] = Counter()
    for wait in options["waits"]:
        late, groups = _in_time(case, wait)
        for group, rows in groups.items():
            if options["query"] == "sessions":
                for session in _sessions([time for time, _ in rows], options["duration"]):
                    inside = [value for time, value in rows if session[0] <= time < session[1]]
                    answers[group, *session, *_results(inside)] += 1
                continue
            for at in _changes(case):
                inside = [value for time, value in rows if time <= at < time + options["duration"]]
                if inside:
                    answers[wait, group, at, *_results(inside)] += 1
    return late, answers


def _in_time(
    case: Case, wait: int
) -> tuple[list[tuple[int, str]], dict[str, list[tuple[int, int | None]]]]:
    """Return the rows that are late for a wait, and the other rows by group."""
    clock, number = clocks.OneClock(None), 0
    late: list[tuple[int, str]] = []
    groups: dict[str, list[tuple[int, int | None]]] = {}
    for rows in case.batches:
        watermark = clock.tick(0) - wait
        for time, key, value in rows:
            if time is None:
                late.append((number, "no time"))
            elif time < watermark:
                late.append((number, "late"))
            else:
                group = repr(key) if case.options["keyed"] else ""
                groups.setdefault(group, []).append((time, value))
            number += 1
        clock.hear([time for time, _, _ in rows if time is not None])
    return sorted(late), groups


def _sessions(times: list[int], timeout: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for time in sorted(times):
        if found and time < found[-1][1]:
            found[-1] = (found[-1][0], time + timeout)
        else:
            found.append((time, time + timeout))
    return found


def _results(values: list[int | None]) -> tuple[int, int | None, int | None]:
    known = [value for value in values if value is not None]
    return len(values), sum(known) if known else None, max(known, default=None)
