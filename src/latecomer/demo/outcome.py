"""The output of the demo's query.

    Answer    the answer for a window after one wait
    Window    one hour at one airport: its answers, and the number of its late flights
    Outcome   all windows, all late flights, and all flights of the input

`latecomer.demo.checks` checks that it is right.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from latecomer.demo.departures import SIZE_MICROS, WAITS
from latecomer.operators.base import LATE
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from pathlib import Path

DEPARTED = TimeColumn("departed")

Place = tuple[int, str]
"""Start of a window, in microseconds, and its airport."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer for a window after one wait."""

    departures: int
    is_changed: bool
    """Whether flights have come since the wait before."""
    batch: int
    """Number of the micro-batch that wrote it."""


@dataclass(frozen=True, slots=True)
class Window:
    """One hour at one airport. It has closed if it has a last answer."""

    start: int
    """Start, in microseconds."""
    origin: str
    answers: tuple[Answer | None, ...]
    """One answer for each wait; None if the wait is not over, or there were no flights yet."""
    late: int
    """Number of its flights that came after it had closed."""

    @property
    def counts(self) -> list[int]:
        """Number of departures known after each wait."""
        return [answer.departures if answer else 0 for answer in self.answers]

    @property
    def added(self) -> int:
        """Number of departures in the last answer that were not in the first."""
        return self.counts[-1] - self.counts[0]

    @property
    def final(self) -> Answer | None:
        """The last answer, if the window has closed."""
        return self.answers[-1]


@dataclass(frozen=True)
class Outcome:
    """The input and the output of the query."""

    flights: pa.Table
    windows: list[Window]
    """Windows, sorted by start and airport."""
    late: pa.Table
    """Late flights, and cancelled flights, which have no time."""

    @classmethod
    def read(cls, flights: pa.Table, ready: Path, late: Path) -> Outcome:
        """Return the outcome, read from the outputs of the query."""
        return cls.of(flights, _read(ready), _read(late))

    @classmethod
    def of(cls, flights: pa.Table, ready: pa.Table, late: pa.Table) -> Outcome:
        """Return the outcome of output rows, which have their micro-batch in the column `batch`."""
        return cls(flights, _windows(ready, places(_late_only(late))), late)

    @cached_property
    def closed(self) -> list[Window]:
        """The windows that have a final answer."""
        return [window for window in self.windows if window.final]

    @property
    def most_refined(self) -> list[Window]:
        """The closed window of each airport with the most departures added after the first answer.

        Of several such windows it is the earliest.
        """
        found: dict[str, Window] = {}
        for window in self.closed:
            best = found.setdefault(window.origin, window)
            if window.added > best.added:
                found[window.origin] = window
        return [found[origin] for origin in sorted(found)]

    @cached_property
    def totals(self) -> list[int]:
        """Number of departures in closed windows known after each wait."""
        return totals(self.closed)

    @cached_property
    def rows_late(self) -> Counter[str]:
        """Number of flights in the late output, by reason."""
        return Counter(self.late["_reason"].to_pylist())

    @property
    def late_flights(self) -> pa.Table:
        """The flights that came after their window had closed, the latest first."""
        return _late_only(self.late).sort_by([("_behind", "descending")])

    @property
    def held(self) -> int:
        """Number of flights that are in no final answer, and are not late."""
        return self.flights.num_rows - self.totals[-1] - self.rows_late.total()

    def refined(self, level: int) -> int:
        """Return the number of closed windows whose answer changed with this wait."""
        answers = (window.answers[level] for window in self.closed)
        return sum(answer is not None and answer.is_changed for answer in answers)


def clock(micros: int) -> str:
    """Return the text of a time in UTC: the day, the hour and the minute."""
    return f"{datetime.fromtimestamp(micros / 1_000_000, UTC):%b %d %H:%M}"


def totals(windows: Iterable[Window]) -> list[int]:
    """Return the number of departures known after each wait, over all windows."""
    counts = [window.counts for window in windows]
    return [sum(known) for known in zip(*counts, strict=True)] or [0] * len(WAITS)


def places(flights: pa.Table) -> Counter[Place]:
    """Return the flights by window and airport, counted directly, without those without a time."""
    departed = flights.filter(pc.is_valid(flights["departed"]))
    starts = DEPARTED.micros(departed) // SIZE_MICROS * SIZE_MICROS
    return Counter(zip(starts.tolist(), departed["origin"].to_pylist(), strict=True))


def _windows(rows: pa.Table, late: Counter[Place]) -> list[Window]:
    answers: defaultdict[Place, list[Answer | None]] = defaultdict(lambda: [None] * len(WAITS))
    start = TimeColumn("start").micros(
        pa.table({"start": pc.struct_field(rows["window"], "start")})
    )
    level = map(WAITS.index, rows["wait"].to_pylist())
    said = rows.select(["departures", "is_changed", "batch"]).to_pylist()
    for place, at, answer in zip(
        zip(start.tolist(), rows["origin"].to_pylist(), strict=True), level, said, strict=True
    ):
        answers[place][at] = Answer(**answer)
    return [Window(*place, tuple(each), late[place]) for place, each in sorted(answers.items())]


def _late_only(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.equal(rows["_reason"], LATE))


def has_rows(output: Path) -> bool:
    """Return True if the output has a row in a micro-batch that is recorded as complete."""
    for record in output.glob("_latecomer/[0-9]*-*"):
        number, attempt = record.name.split("-", 1)
        files = output.glob(f"batch={number}/attempt={attempt}/*.parquet")
        if any(pq.read_metadata(file).num_rows for file in files):
            return True
    return False


def _read(output: Path) -> pa.Table:
    """Return the rows of all micro-batches, with their numbers in the column `batch`."""
    files = [str(file) for file in output.glob("batch=*/attempt=*/*.parquet")]
    rows = pq.read_table(files, partitioning="hive", coerce_int96_timestamp_unit="us")
    return rows.drop_columns("attempt")
