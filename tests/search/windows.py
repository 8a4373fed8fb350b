"""Windows and aggregates, with one wait or several, with one clock or one for each key.

From docs/waits.md: a window [start, end) produces its result for a wait once its end is at or
before the watermark of that wait, from all rows that have arrived. A window with no rows by then
produces no result for that wait. A row counts for a wait while its window is open. It is late when
the last wait has closed all its windows. With a horizon, it is late when the horizon has closed
them; until then it corrects the final results that it changes, in its micro-batch. A result is
changed if it differs from that of the previous wait; unchanged results may be left out.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from latecomer import agg
from latecomer.clock.policy import ClockPerKey, OneClock
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.time import parse_duration
from tests.search import running
from tests.search.cases import Case
from tests.search.driving import Item, drive
from tests.search.streams import SECOND, Columns, draw_batches

if TYPE_CHECKING:
    import random

Place = tuple[int, int, int, str]
"""A wait, the start and the end of a window, and a group."""
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - compared with times without a zone


def draw(rng: random.Random) -> Case:
    """Draw a case."""
    columns = Columns.draw(rng, taken=("window", "wait", "is_final", "is_changed", "is_correction"))
    size, hop = rng.choice([(4, 4), (4, 2), (6, 4), (5, 5), (3, 1)])
    own = rng.choice([False, False, True])
    options = {
        "columns": columns,
        "size": size * SECOND,
        "hop": hop * SECOND,
        "origin": rng.choice([0, 0, 1]) * SECOND,
        "waits": tuple(w * SECOND for w in sorted(rng.sample(range(8), rng.choice([1, 1, 2, 3])))),
        "keyed": own or rng.choice([True, False]),
        "late": rng.choice(["divert", "divert", "drop"]),
        "clock": "key" if own else "one",
        "idle": rng.choice([None, None, 4 * SECOND]),
        "pace": rng.choice([SECOND // 2, 2 * SECOND]),
    }
    more = rng.choice([None, None, 1, 5, 30])
    options["horizon"] = None if more is None else options["waits"][-1] + more * SECOND
    options["only_changes"] = len(options["waits"]) > 1 and rng.random() < 0.3
    options["results"] = rng.choice([tuple(range(7)), tuple(range(7)), (1,), (2, 3)])
    batches = draw_batches(rng, columns, rng.choice([SECOND, 5 * SECOND]))
    return Case(options, (*batches, *([()] * rng.choice([0, 12]))))


def found(case: Case) -> Any:  # noqa: ANN401
    """Return for each step the results, and the late rows."""
    options, columns = case.options, case.options["columns"]
    time, waits = columns.time_column, options["waits"]
    own = options["clock"] == "key"
    key = (columns.key,) if options["keyed"] else ()
    value = columns.value
    aggregates = (
        ("rows", agg.count()),
        ("total", agg.sum(value)),
        ("least", agg.min(value)),
        ("most", agg.max(value)),
        ("mean", agg.mean(value)),
        ("different", agg.count_distinct(value)),
        ("all", agg.collect(value)),
    )
    aggregates = tuple(aggregates[at] for at in options["results"])
    windows = Windows(options["size"], options["hop"], options["origin"])
    idle, horizon = options["idle"], options["horizon"]
    operator = Aggregation(
        time,
        windows,
        waits,
        (Summary(key, aggregates),),
        only_changes=options["only_changes"],
        horizon=horizon,
    )
    clock = (
        ClockPerKey(waits, idle, key, horizon=horizon)
        if own
        else OneClock(waits, idle, horizon=horizon)
    )
    plan = Plan(Source(time, key), clock, options["late"], (Stage(key, (operator,)),))
    told = []
    for step in running.steps(plan, columns, case.batches, options["pace"]):
        answers = []
        for row in step.ready.to_pylist():
            wait = waits[0] if len(waits) == 1 else parse_duration(row["wait"], "wait")
            start, end = (_micros(row["window"][side], columns) for side in ("start", "end"))
            group = repr(row[columns.key]) if key else ""
            results = [row[name] for name, _ in aggregates]
            results = [sorted(each) if isinstance(each, list) else each for each in results]
            marks = row.get("is_correction", False), row.get("is_changed", True)
            answers.append((wait, start, end, group, *marks, *map(repr, results)))
        told.append((sorted(answers), running.late(step, columns), step.dropped))
    return told


def _micros(time: Any, columns: Columns) -> int:  # noqa: ANN401
    if isinstance(time, datetime):
        return (time.replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1)
    return time * columns.tick


def windows_of(time: int, options: dict[str, Any]) -> list[tuple[int, int]]:
    """Return all windows that contain a time, by trying those nearby."""
    size, hop, origin = options["size"], options["hop"], options["origin"]
    near = (time - origin) // hop
    starts = [origin + (near + step) * hop for step in range(-10, 11)]
    return [(start, start + size) for start in starts if start <= time < start + size]


def expected(case: Case) -> Any:  # noqa: ANN401
    """Compute the same result by brute force."""
    told = drive(case, lambda _: Held(case.options))
    return [(sorted(answers), late, dropped) for answers, late, dropped in told]


class Held:
    """The rows of each open window, by wait and group."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options, self._waits = options, options["waits"]
        self._rows: dict[Place, list[Item]] = {}
        self._horizon = options["horizon"] or self._waits[-1]
        self._final: dict[Place, tuple[list[Item], list[Any] | None]] = {}
        """Rows and last reported results of windows that the last wait has closed."""
        self._said: dict[Place, list[Any]] = {}

    def add(self, item: Item, newest: int) -> bool:
        """Add a row; return True if it is late."""
        group = item.key if self._options["keyed"] else ""
        windows = windows_of(item.time, self._options)
        for start, end in windows:
            for wait in self._waits:
                place = wait, start, end, group
                if end > newest - wait:
                    self._rows.setdefault(place, []).append(item)
                elif wait == self._waits[-1] and end > newest - self._horizon:
                    self._final.setdefault(place, ([], None))[0].append(item)
        return max(end for _, end in windows) <= newest - self._horizon

    def release(self, newest: int) -> list[Any]:
        """Return the results of windows that have closed, and corrections of final results."""
        out = []
        for place, rows in sorted(self._rows.items()):
            wait, start, end, group = place
            if end <= newest - wait:
                now = self._results(rows)
                earlier = self._waits[max(self._waits.index(wait) - 1, 0)]
                is_changed = now != self._said.get((earlier, start, end, group))
                self._said[place] = now
                if is_changed or not self._options["only_changes"]:
                    out.append((*place, False, is_changed, *map(repr, now)))
                del self._rows[place]
                if wait == self._waits[-1]:
                    self._final[place] = rows, now
        for place, (rows, said) in list(self._final.items()):
            if (now := self._results(rows)) != said:
                out.append((*place, True, True, *map(repr, now)))
                self._final[place] = rows, now
            if place[2] <= newest - self._horizon:
                del self._final[place]
        return out

    def needed(self) -> int | None:
        """Return the time at which nothing will be held any more; None if nothing is held."""
        ends = [end + wait for wait, _, end, _ in self._rows]
        ends += [end + self._horizon for _, _, end, _ in (*self._rows, *self._final)]
        return max(ends, default=None)

    def _results(self, rows: list[Item]) -> list[Any]:
        values = sorted(item.value for item in rows if item.value is not None)
        mean = sum(values) / len(values) if values else None
        total = sum(values) if values else None
        bounds = [min(values, default=None), max(values, default=None)]
        every = [len(rows), total, *bounds, mean, len(set(values)), values]
        return [every[at] for at in self._options["results"]]
