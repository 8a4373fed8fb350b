"""What came out of the demo's query.

    Answer    what was said of a window after one wait
    Window    one hour at one airport: its answers, and how many of its flights were late
    Outcome   all windows, all late flights, and the flights that went in

`latecomer.demo.checks` checks that it is right.
"""

from __future__ import annotations

from collections import Counter, defaultdict
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
    from collections.abc import Iterable
    from pathlib import Path

DEPARTED = TimeColumn("departed")

Place = tuple[int, str]
"""When a window starts, in microseconds, and at which airport."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said of a window after one wait."""

    departures: int
    is_changed: bool
    """Whether flights have come since the wait before."""
    batch: int
    """The micro-batch that said it."""


@dataclass(frozen=True, slots=True)
class Window:
    """One hour at one airport. With a last answer it has closed."""

    start: int
    """Microseconds."""
    origin: str
    answers: tuple[Answer | None, ...]
    """One for each wait: None where nothing was said, as it is not over, or there was nothing."""
    late: int
    """How many of its flights came after it had closed."""

    @property
    def counts(self) -> list[int]:
        """Return the number of departures that were known after each wait."""
        return [answer.departures if answer else 0 for answer in self.answers]

    @property
    def added(self) -> int:
        """How many departures the last answer has that the first had not."""
        return self.counts[-1] - self.counts[0]

    @property
    def final(self) -> Answer | None:
        """The last answer, if the window has closed."""
        return self.answers[-1]


@dataclass(frozen=True)
class Outcome:
    """What went in, and what came out."""

    flights: pa.Table
    windows: list[Window]
    """By start and airport."""
    late: pa.Table
    """With the cancelled flights, which have no time."""

    @classmethod
    def read(cls, flights: pa.Table, ready: Path, late: Path) -> Outcome:
        """Read what the query wrote."""
        return cls.of(flights, _read(ready), _read(late))

    @classmethod
    def of(cls, flights: pa.Table, ready: pa.Table, late: pa.Table) -> Outcome:
        """Put the answers of each window together; rows tell their micro-batch in `batch`."""
        return cls(flights, _windows(ready, places(_late_only(late))), late)

    @cached_property
    def closed(self) -> list[Window]:
        """The windows of which all has been said."""
        return [window for window in self.windows if window.final]

    @property
    def most_refined(self) -> list[Window]:
        """The closed window of each airport to which most was added, the earliest of several."""
        found: dict[str, Window] = {}
        for window in self.closed:
            best = found.setdefault(window.origin, window)
            if window.added > best.added:
                found[window.origin] = window
        return [found[origin] for origin in sorted(found)]

    @cached_property
    def totals(self) -> list[int]:
        """How many departures of the closed windows were known after each wait."""
        return totals(self.closed)

    @cached_property
    def rows_late(self) -> Counter[str]:
        """Return the number of flights that came out as late, by reason."""
        return Counter(self.late["_reason"].to_pylist())

    @property
    def late_flights(self) -> pa.Table:
        """Those that came after their window had closed, the latest first."""
        return _late_only(self.late).sort_by([("_behind", "descending")])

    @property
    def held(self) -> int:
        """How many flights went in that no final answer counts, and that are not late."""
        return self.flights.num_rows - self.totals[-1] - self.rows_late.total()

    def refined(self, level: int) -> int:
        """How many closed windows had a better answer after a wait than after the one before."""
        answers = (window.answers[level] for window in self.closed)
        return sum(answer is not None and answer.is_changed for answer in answers)


def clock(micros: int) -> str:
    """Write a time in UTC: the day, the hour and the minute."""
    return f"{datetime.fromtimestamp(micros / 1_000_000, UTC):%b %d %H:%M}"


def totals(windows: Iterable[Window]) -> list[int]:
    """Add up, for each wait, how many departures were known."""
    counts = [window.counts for window in windows]
    return [sum(known) for known in zip(*counts, strict=True)] or [0] * len(WAITS)


def places(flights: pa.Table) -> Counter[Place]:
    """Count flights by window and airport, the plain way; those without a time are left out."""
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
    """Return True if a reader finds a row: its micro-batch is on record as complete."""
    for record in output.glob("_latecomer/[0-9]*-*"):
        number, attempt = record.name.split("-", 1)
        files = output.glob(f"batch={number}/attempt={attempt}/*.parquet")
        if any(pq.read_metadata(file).num_rows for file in files):
            return True
    return False


def _read(output: Path) -> pa.Table:
    """Read what all micro-batches wrote, with their numbers."""
    tables = []
    for file in output.glob("batch=*/attempt=*/*.parquet"):
        rows = pq.ParquetFile(file, coerce_int96_timestamp_unit="us").read()
        number = int(file.parent.parent.name.partition("=")[2])
        batch = pa.repeat(pa.scalar(number, pa.int64()), rows.num_rows)
        tables.append(rows.append_column("batch", batch))
    return pa.concat_tables(tables)
