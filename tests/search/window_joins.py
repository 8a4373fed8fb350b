"""`window_join` of two or three streams: results are correct, unique and ordered, and add up.

From docs/joins.md: a result has one row of each stream. Its time is that of its latest row, and
each other row is earlier by at most the window of its stream. Results come out in order of time,
each once. If the wait is long enough, all of them come out. Otherwise `produced` and `missed` of
the report add up to all results, except those with a late row.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer.clock.policy import OneClock
from latecomer.hosts.local import LocalHost
from latecomer.operators.window_join.buffer_size_manager import Quality
from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.joiner import WindowJoin
from latecomer.operators.window_join.quality_join import Input, QualityJoin
from latecomer.plan import Gathering, Plan, Source, Stage
from latecomer.time import TimeColumn
from tests.search.cases import Case

if TYPE_CHECKING:
    import random

MS = 1_000
SCHEMA = pa.schema({"time": pa.int64(), "key": pa.string(), "id": pa.int64()})
TIME, ARRIVAL = TimeColumn("time", "ms"), TimeColumn("id", "us")
LONG = 10**6
"""A wait in milliseconds that is longer than all delays."""


def draw(rng: random.Random) -> Case:
    """Draw a case. A row is a stream, a time in milliseconds and a key."""
    streams = rng.choice([2, 2, 3])
    options = {
        "windows": tuple(rng.choice([0, 2, 5]) for _ in range(streams)),
        "on": rng.choice(["key", "nothing"]),
        "wait": rng.choice([0, 3, LONG, "max", "recall"]),
    }
    at, batches, disorder = 0, [], rng.choice([0, 3, 12])
    for _ in range(rng.randint(1, 8)):
        rows = [
            (rng.randrange(streams), at + rng.randint(-disorder, 3), rng.choice(["a", "b", None]))
            for _ in range(rng.choice([0, 2, 6]))
        ]
        batches.append(tuple(rows))
        at += rng.choice([0, 2, 6])
    return Case(options, tuple(batches))


def expected(_case: Case) -> Any:  # noqa: ANN401
    """Return no faults."""
    return []


def found(case: Case) -> Any:  # noqa: ANN401
    """Return all faults of the output."""
    options, wrong = case.options, []
    every = _every_result(case)
    host, first = LocalHost(_plan(options), SCHEMA, *[SCHEMA] * (_many(case) - 1)), 0
    steps = []
    for rows in case.batches:
        tables = []
        for stream in range(_many(case)):
            own = [(t, k, first + i) for i, (s, t, k) in enumerate(rows) if s == stream]
            columns = [
                pa.array([row[at] for row in own], kind) for at, kind in enumerate(SCHEMA.types)
            ]
            tables.append(pa.table(columns, schema=SCHEMA))
        steps.append(host.step(*tables))
        first += len(rows)
    steps.append(host.finish())
    names = "abc"[: _many(case)]
    rows = [row for step in steps for row in step.ready.to_pylist()]
    results = [(row["time"], tuple(row[f"{name}_id"] for name in names)) for row in rows]
    late = {row["id"] for step in steps for part in step.lates for row in part.to_pylist()}
    reports = [row for step in steps for row in step.recall.to_pylist()]
    known = sum(row["produced"] + row["missed"] for row in reports)
    sure = sum(not late & set(ids) for _, ids in every)
    if not set(results) <= every or len(set(results)) != len(results):
        wrong.append(("not true, or twice", results))
    if [time for time, _ in results] != sorted(time for time, _ in results):
        wrong.append(("not in order", results))
    if late & {number for _, ids in results for number in ids}:
        wrong.append(("late and in a result", late))
    if options["wait"] == LONG and (set(results) != every or late):
        wrong.append(("not all", results))
    if any(row["produced"] < 0 or row["missed"] < 0 for row in reports):
        wrong.append(("less than nothing", reports))
    if not sure <= known <= len(every) or sum(row["produced"] for row in reports) != len(results):
        wrong.append(("does not add up", known, sure, len(every)))
    return wrong


def _many(case: Case) -> int:
    return len(case.options["windows"])


def _every_result(case: Case) -> set[tuple[int, tuple[int, ...]]]:
    arrived = [row for rows in case.batches for row in rows]
    places = [
        [at for at, row in enumerate(arrived) if row[0] == stream] for stream in range(_many(case))
    ]
    results = set()
    for ids in product(*places):
        times, keys = [arrived[at][1] for at in ids], [arrived[at][2] for at in ids]
        is_near = all(
            max(times) - t <= w for t, w in zip(times, case.options["windows"], strict=True)
        )
        is_equal = case.options["on"] == "nothing" or (len(set(keys)) == 1 and keys[0] is not None)
        if is_near and is_equal:
            results.add((max(times), ids))
    return results


def _plan(options: dict[str, Any]) -> Plan:
    many = len(options["windows"])
    is_keyed = options["on"] == "key"
    on = Equalities.common(*["key"] * many) if is_keyed else Equalities(many)
    wait = options["wait"] * MS if isinstance(options["wait"], int) else options["wait"]
    inputs = tuple(Input(name, TIME, ARRIVAL) for name in "abc"[:many])
    join = WindowJoin(tuple(window * MS for window in options["windows"]), on)
    asked = QualityJoin(inputs, join, wait, Quality(0.8, 20 * MS, 4 * MS, MS, MS))
    key = ("key",) if is_keyed else ()
    sources = [Source(TIME, key, ARRIVAL, rows=SCHEMA, number=at) for at in range(many)]
    rights = tuple(
        Plan(source, OneClock((0,)), "divert", (Stage(key, as_read=True),))
        for source in sources[1:]
    )
    stage = Stage(key, join=Gathering(asked, rights, (SCHEMA,) * many), as_read=True)
    return Plan(sources[0], OneClock((0,)), "divert", (stage,))
