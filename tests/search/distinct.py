"""`distinct` after a sort, by one clock or one for each key.

From docs/sort.md, "Rows that come twice": of rows that are equal in the compared columns, the first
by time is let through; later ones are left out until `within` is over, counted from the one that
was let through. A row just that much later is let through again. Of equal times, the first to
arrive is. Nothing else changes: rows come out when the sort releases them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from latecomer.clock.policy import ClockPerKey, OneClock
from latecomer.operators.distinct import Distinct
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from tests.search import running, sorts
from tests.search.cases import Case
from tests.search.driving import drive
from tests.search.streams import SECOND, Columns, draw_batches

if TYPE_CHECKING:
    import random

LONG = 10**6 * SECOND
"""Longer than any case: each value is let through once."""


def draw(rng: random.Random) -> Case:
    """Draw a case."""
    columns = Columns.draw(rng)
    own = rng.choice([False, True])
    options = {
        "columns": columns,
        "compared": rng.choice(["key", "key and value"] if own else ["key", "value"]),
        "within": rng.choice([1, SECOND, 3 * SECOND, 10 * SECOND, LONG]),
        "waits": (rng.choice([0, 0, 2, 5]) * SECOND,),
        "late": rng.choice(["divert", "drop"]),
        "clock": "key" if own else "one",
        "idle": None if own else rng.choice([None, 4 * SECOND]),
        "pace": rng.choice([SECOND // 2, 2 * SECOND]),
    }
    batches = draw_batches(rng, columns, rng.choice([SECOND, 5 * SECOND]))
    return Case(options, (*batches, *([()] * rng.choice([0, 9]))))


def found(case: Case) -> Any:  # noqa: ANN401
    """Return of each step the rows that are let through, by key if each has a clock, and others."""
    options, columns = case.options, case.options["columns"]
    time, own = columns.time_column, options["clock"] == "key"
    names = {"key": (columns.key,), "value": (columns.value,)}
    compared = names.get(options["compared"], (columns.key, columns.value))
    key = () if options["compared"] == "value" else (columns.key,)
    clock = (
        ClockPerKey(options["waits"], None, key)
        if own
        else OneClock(options["waits"], options["idle"])
    )
    operators = Sort(time), Distinct(time, compared, options["within"], key)
    plan = Plan(Source(time, key), clock, options["late"], (Stage(key, operators),))
    told = []
    for step in running.steps(plan, columns, case.batches, options["pace"]):
        ready: dict[str, list[int]] = {}
        for row in step.ready.to_pylist():
            of = repr(row[columns.key]) if own else "all"
            ready.setdefault(of, []).append(row[columns.number])
        told.append((ready, running.late(step, columns), step.dropped))
    return told


def expected(case: Case) -> Any:  # noqa: ANN401
    """Filter what a sort gives."""
    options, told = case.options, []
    arrived = [row for rows in case.batches for row in rows]
    last: dict[str, int] = {}
    for answers, late, dropped in drive(case, lambda key: sorts.Held(key, options)):
        ready: dict[str, list[int]] = {}
        for _, (_, number, _, _) in answers:
            time, key, value = arrived[number]
            parts = {"key": [key], "value": [value]}.get(options["compared"], [key, value])
            if time - last.get(repr(parts), -LONG * 2) >= options["within"]:
                last[repr(parts)] = time
                of = repr(key) if options["clock"] == "key" else "all"
                ready.setdefault(of, []).append(number)
        told.append((ready, late, dropped))
    return told
