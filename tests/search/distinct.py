"""`distinct` after a sort, with one clock or one for each key.

From docs/sort.md, "Rows that come twice": of rows that are equal in the compared columns, the
earliest is kept, and of equal times the first to arrive. Later ones are removed until `within` has
passed since the kept row; a row exactly `within` later is kept again. Rows come out when the sort
releases them. A key is held while its rows are remembered, so the clock of a silent key advances
until they can be forgotten.
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
"""Longer than any case, so each value is kept once."""


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
        "idle": rng.choice([None, 4 * SECOND]),
        "pace": rng.choice([SECOND // 2, 2 * SECOND]),
    }
    batches = draw_batches(rng, columns, rng.choice([SECOND, 5 * SECOND]))
    return Case(options, (*batches, *([()] * rng.choice([0, 9]))))


def found(case: Case) -> Any:  # noqa: ANN401
    """Return for each step the kept rows (by key if each key has a clock), and the late rows."""
    options, columns = case.options, case.options["columns"]
    time, own = columns.time_column, options["clock"] == "key"
    names = {"key": (columns.key,), "value": (columns.value,)}
    compared = names.get(options["compared"], (columns.key, columns.value))
    key = () if options["compared"] == "value" else (columns.key,)
    clock = (
        ClockPerKey(options["waits"], options["idle"], key)
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
    """Filter the expected output of the sort."""
    options, told = case.options, []
    for answers, late, dropped in drive(case, lambda key: Held(key, options)):
        ready: dict[str, list[int]] = {}
        for item in answers:
            of = item.key if options["clock"] == "key" else "all"
            ready.setdefault(of, []).append(item.number)
        told.append((ready, late, dropped))
    return told


class Held(sorts.Held):
    """Rows that wait for the watermark, and the time of the last kept row of each value."""

    def __init__(self, key: str, options: dict[str, Any]) -> None:
        super().__init__(key, options)
        self._compared, self._within = options["compared"], options["within"]
        self._last: dict[str, int] = {}

    def release(self, newest: int) -> list[Any]:
        """Return the rows that come out: the first of equal rows."""
        out = []
        for _, item in super().release(newest):
            parts = {"key": [item.key], "value": [item.value]}
            values = repr(parts.get(self._compared, [item.key, item.value]))
            if values not in self._last or item.time - self._last[values] >= self._within:
                self._last[values] = item.time
                out.append(item)
        over = newest - self._waits[0] - self._within
        self._last = {values: time for values, time in self._last.items() if time > over}
        return out

    def needed(self) -> int | None:
        """Count a remembered row as held for as long as it can remove another."""
        ends = [time + self._within + self._waits[0] for time in self._last.values()]
        return max([*ends, *([] if (rows := super().needed()) is None else [rows])], default=None)
