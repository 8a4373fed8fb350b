"""`sort` with one wait or several, with one clock or one for each key, and with silences.

From docs/sort.md: a row is late if its time is before the watermark. It is ready once its time is
at or before the watermark. Rows of equal time keep their order of arrival. Of several waits, the
last decides which rows are late. Late rows are diverted, dropped and counted, moved to the
watermark, or end the query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer.clock.policy import ClockPerKey, OneClock
from latecomer.errors import ColumnTypeError, LateRowError
from latecomer.operators.levels import Levels
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from latecomer.time import parse_duration
from tests.search import running
from tests.search.cases import Case
from tests.search.driving import Item, drive
from tests.search.streams import SECOND, Columns, draw_batches

if TYPE_CHECKING:
    import random

RAISES = "raises"


def draw(rng: random.Random) -> Case:
    """Draw a case."""
    columns = Columns.draw(rng)
    waits = sorted(rng.sample(range(6), rng.choice([1, 1, 2])))
    options = {
        "columns": columns,
        "waits": tuple(wait * SECOND for wait in waits),
        "late": rng.choice(["divert", "divert", "drop", "adjust", "adjust", "raise"]),
        "clock": rng.choice(["one", "key"]),
        "idle": rng.choice([None, None, 4 * SECOND]),
        "pace": rng.choice([SECOND // 2, 2 * SECOND]),
    }
    batches = draw_batches(rng, columns, rng.choice([SECOND, 5 * SECOND]))
    # Micro-batches without rows make the stream silent.
    return Case(options, (*batches, *([()] * rng.choice([0, 9]))))


def found(case: Case) -> Any:  # noqa: ANN401
    """Return for each step the ready rows, by wait and key, and the late rows."""
    options, columns = case.options, case.options["columns"]
    waits, time = options["waits"], columns.time_column
    own = options["clock"] == "key"
    clock = (
        ClockPerKey(waits, options["idle"], (columns.key,))
        if own
        else OneClock(waits, options["idle"])
    )
    operator = Sort(time) if len(waits) == 1 else Levels(time, waits)
    key = (columns.key,) if own else ()
    plan = Plan(Source(time, key), clock, options["late"], (Stage(key, (operator,)),))
    told: list[Any] = []
    try:
        for step in running.steps(plan, columns, case.batches, options["pace"]):
            ready: dict[str, list[Any]] = {}
            for row in _by_position(step.ready):
                wait = waits[0] if len(waits) == 1 else parse_duration(row[-2].as_py(), "wait")
                of = row[1].as_py() if own else "all"
                shown = row[3].as_py(), row[0].as_py()
                ready.setdefault(repr((wait, of)), []).append(shown)
            told.append((ready, running.late(step, columns), step.dropped))
    except (LateRowError, ColumnTypeError):
        told.append(RAISES)
    return told


def _by_position(rows: Any) -> list[list[Any]]:  # noqa: ANN401
    """Read rows by position: a user's column may have the same name as one of ours."""
    return [[column[at] for column in rows.columns] for at in range(rows.num_rows)]


def expected(case: Case) -> Any:  # noqa: ANN401
    """Compute the same result by brute force."""
    options, told = case.options, list[Any]()
    for answers, late, dropped in drive(case, lambda key: Held(key, options)):
        if late and options["late"] == "raise":
            return [*told, RAISES]
        ready: dict[str, list[Any]] = {}
        for name, item in answers:
            try:
                shown = item.number, options["columns"].shown(item.time)
            except pa.ArrowInvalid:
                # A late row was moved to the clock, which a silence had advanced to a time that the
                # small integer of the time column cannot hold.
                return [*told, RAISES]
            ready.setdefault(name, []).append(shown)
        told.append((ready, late, dropped))
    return told


class Held:
    """Rows that wait for the watermark of each wait."""

    def __init__(self, key: str, options: dict[str, Any]) -> None:
        self._key = repr(key) if options["clock"] == "one" else key
        self._waits, self._moves = options["waits"], options["late"] == "adjust"
        self._rows: list[list[Item]] = [[] for _ in self._waits]

    def add(self, item: Item, newest: int) -> bool:
        """Add a row; return True if it is late."""
        if self._moves:
            item = item._replace(time=max(item.time, newest - self._waits[-1]))
        for rows, wait in zip(self._rows, self._waits, strict=True):
            if item.time >= newest - wait:
                rows.append(item)
        return item.time < newest - self._waits[-1]

    def release(self, newest: int) -> list[Any]:
        """Return the rows that are due, in order, one wait after the other."""
        out = []
        for rows, wait in zip(self._rows, self._waits, strict=True):
            due = sorted(item for item in rows if item.time <= newest - wait)
            rows[:] = [item for item in rows if item not in due]
            out += [(f"({wait}, {self._key})", item) for item in due]
        return out

    def needed(self) -> int | None:
        """Return the time at which nothing will be held any more; None if nothing is held."""
        return max((item.time + self._waits[-1] for item in self._rows[-1]), default=None)
