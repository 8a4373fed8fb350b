"""Reports of the recall of a stage: one row for each target, in each micro-batch that had rows.

A window join reports once for each interval.

    time        the newest time when it was measured
    bucket      the bucket that measured it
    target      the recall that was asked for; null where the wait is fixed
    wait        how long was waited in this micro-batch, in milliseconds, rounded up; null as long
                as nothing is known of delays
    produced    rows or results that were in time, since the report before
    missed      rows or results that are known to have been missed, since the report before
    recall      produced / (produced + missed); null if both are 0
    extrapolated   an estimate: the recall that this wait gives if the stream goes on as before;
                null as long as nothing is known of delays
    held        rows, or states of rows, that are held. For a window join: the rows whose results
                are not counted yet, in the last report of a micro-batch, else null

    periods     with `within`: periods that have ended since the report before; else null
    short       number of these periods with a recall below the target

`produced` and `missed` add up over time and buckets: their sums give the recall of any period. So
do `periods` and `short`.

A stage reports with `yield from report(time, measured)`, or with `reports` if it has measured at
several times. This yields an output named "recall", and counts that Spark adds up for the progress
of a query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import isnan, nan
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from latecomer.batch import Batch
from latecomer.hosts.output import Output
from latecomer.time import whole_millis

if TYPE_CHECKING:
    from datetime import timedelta


RECALL = "recall"
"""Name of the output."""
BUCKET = "bucket"
SCHEMA = pa.schema(
    {
        "time": pa.timestamp("us", "UTC"),
        BUCKET: pa.int32(),
        "target": pa.float64(),
        "wait": pa.int64(),
        "produced": pa.int64(),
        "missed": pa.int64(),
        "recall": pa.float64(),
        "extrapolated": pa.float64(),
        "held": pa.int64(),
        "periods": pa.int64(),
        "short": pa.int64(),
    }
)
_ROW = pa.struct(list(SCHEMA))

Target = float | None
"""A recall that was asked for; None is a fixed wait."""
PRODUCED, MISSED, WAITED, HELD = "produced", "missed", "waited", "held"
PERIODS, SHORT = "periods", "short"


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements for one target."""

    target: Target
    wait: int | None
    """In microseconds."""
    produced: int
    missed: int
    extrapolated: float | None = None
    held: int | None = None
    periods: int | None = None
    short: int | None = None

    @property
    def millis(self) -> int | None:
        """The wait in milliseconds, rounded up."""
        return None if self.wait is None else whole_millis(self.wait)

    @property
    def recall(self) -> float | None:
        """The share that was produced."""
        total = self.produced + self.missed
        return self.produced / total if total else None


class Achieved(float):
    """The share of rows, or results, that were in time, in the micro-batches that Spark remembers.

    It is a number from 0 to 1, and "not a number" if there was nothing to count.
    """

    produced: int
    """Rows, or results, that were in time."""
    missed: int
    """Rows, or results, that are known to have been missed."""
    wait: timedelta | None
    """The wait; with several buckets the longest one of the last micro-batch. None as long as
    nothing is known of delays."""

    held: int | None
    """Rows, or states of rows, that are held in the buckets that had rows in the last micro-batch;
    for a window join, rows whose results are not counted yet. None for fixed waits."""

    periods: int
    """With `within`: number of periods that have ended."""
    short: int
    """Number of these periods with a recall below the one asked for."""

    def __new__(
        cls,
        produced: int,
        missed: int,
        wait: timedelta | None,
        held: int | None = None,
        ended: tuple[int, int] = (0, 0),
    ) -> Self:
        total = produced + missed
        achieved = super().__new__(cls, produced / total if total else nan)
        achieved.produced, achieved.missed = produced, missed
        achieved.wait, achieved.held = wait, held
        achieved.periods, achieved.short = ended
        return achieved

    @property
    def recall(self) -> float | None:
        """The share that was produced; None if there was nothing."""
        return None if isnan(self) else float(self)

    def __repr__(self) -> str:
        share = "nothing yet" if self.recall is None else f"{self.recall:.6g}"
        held = "" if self.held is None else f", {self.held} held"
        short = f", {self.short} of {self.periods} periods short" if self.periods else ""
        counts = f"{self.produced} in time, {self.missed} missed{held}{short}"
        return f"Achieved({share}: {counts}, wait {self.wait})"


def report(time: int, measured: Sequence[Measured]) -> Iterator[Output]:
    """Yield the report of what was measured at `time`, in microseconds."""
    return reports([(time, each) for each in measured])


def reports(measured: Sequence[tuple[int, Measured]]) -> Iterator[Output]:
    """Yield one report of what was measured at several times in a micro-batch, if there are any.

    Each output becomes a row of Spark with bytes of its own, which costs more than a measurement.
    """
    if not measured:
        return
    yield Output(RECALL, len(measured), table(measured))
    total: dict[str, int] = {}
    for _, each in measured:
        counts = {PRODUCED: each.produced, MISSED: each.missed, WAITED: each.wait}
        counts |= {HELD: each.held, PERIODS: each.periods, SHORT: each.short}
        for what, count in counts.items():
            if count is not None:
                name = counted(what, each.target)
                before = total.get(name, 0)
                total[name] = max(before, count) if what == WAITED else before + count
    for name, count in total.items():
        yield Output(name, count, None)


def table(measured: Sequence[tuple[int, Measured]]) -> Batch:
    """Return the measurements as rows; the host fills in the bucket."""
    rows = [
        (
            *(time, 0, each.target, each.millis, each.produced, each.missed, each.recall),
            *(each.extrapolated, each.held, each.periods, each.short),
        )
        for time, each in measured
    ]
    return pa.Table.from_struct_array(pa.array(rows, _ROW))


def of_bucket(rows: Batch, number: int) -> Batch:
    """Return a report with its bucket filled in."""
    at = rows.schema.get_field_index(BUCKET)
    numbers = pa.repeat(pa.scalar(number, pa.int32()), rows.num_rows)
    return rows.set_column(at, SCHEMA.field(BUCKET), numbers)


@cache
def counted(what: str, target: Target) -> str:
    """Return the name of a count of one target: produced, missed, the wait and so on."""
    return f"{what}_{'fixed' if target is None else target}"


def target_of(name: str, what: str) -> Target:
    """Return the target that is in the name of a count."""
    text = name.removeprefix(f"{what}_")
    return None if text == "fixed" else float(text)
