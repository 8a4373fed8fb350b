"""Spark's watermark as our clock: what it shows, and why it may stand still.

Every stream that is read sets a watermark of Spark's on its newest time, with a delay of zero. So
the watermark that Spark shows, in `lastProgress["eventTime"]["watermark"]`, to listeners and in its
UI, is `newest` of all micro-batches before, in UTC and cut to milliseconds. Our watermark is
`newest - wait`, and is not shown. An integer column counts from 1970 in its unit; a time without a
zone is shown as if it were in UTC; a date is shown as its midnight.

**Before 1970.** Spark's clock starts at 0, the beginning of 1970, and never falls, so times before
1970 cannot move it. A stream that declares such times (`before_1970=True`) runs by a clock that is
2,000 years ahead. Without the declaration, such rows are refused when they are read. A newest time
within the first millisecond of 1970 cannot be distinguished from no time at all.

**Other watermarks.** A query has one clock: the smallest of all watermarks in it. Where a stream
with a watermark of its own is joined or united with ours, the slower one sets the pace. A watermark
*behind* our stage waits for rows that wait for it, and the clock stands still for ever. A bucket
cannot see the rest of the query, but it can infer that another watermark is the reason: every
stream of ours has brought it rows in earlier micro-batches, and the clock is still at its
beginning. Then it raises an error, unless the query was declared to have other watermarks
(`alone=False`), which may just have no rows yet.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from latecomer.batch import Batch
from latecomer.clock.watermark import TICK
from latecomer.errors import ClockError, ColumnTypeError
from latecomer.plan import Plan, Source
from latecomer.time import FOREVER, NEVER

SHIFT = 63_113_904_000_000_000
"""2,000 years. (Times before the year -30 are sorted, but do not move the clock.)"""


@dataclass(frozen=True, slots=True)
class SparkClock:
    """The relation of Spark's clock to ours, for the stages of one query."""

    shift: int = 0
    """Distance from `newest` to Spark's clock, in microseconds."""
    streams: int = 0
    """Number of our streams that set it; 0 if it may stand still."""

    @classmethod
    def of(cls, plan: Plan, *, alone: bool = False) -> "SparkClock":
        """Return the clock of a whole query; streams that meet share it, and so the shift."""
        shift = SHIFT if any(each.source.before_1970 for each in plan.inputs) else 0
        return cls(shift, len(plan.inputs) if alone else 0)

    @property
    def last(self) -> int:
        """Largest time that it can show."""
        return FOREVER - self.shift

    def newest(self, shown: int) -> int:
        """Return the newest time, given Spark's watermark in milliseconds."""
        return shown * TICK - self.shift if shown > 0 else NEVER

    def timer(self, due: int, shown: int) -> int:
        """Return the time of the timer for a due time, in Spark's milliseconds.

        It is rounded up to a tick, and is after `shown`: a timer in the past would never fire.
        """
        return max(-(-(due + self.shift) // TICK), shown + 1)

    def brought(self, parcels: Iterable[Mapping[str, Any]]) -> int:
        """Return the streams that have brought rows that move the clock, as one bit for each."""
        moving = {each["branch"] for each in parcels if each["newest"] + self.shift >= TICK}
        return sum(1 << branch for branch in moving)

    def check(self, brought: int) -> None:
        """Refuse a clock that is still at its beginning, given the streams that brought rows.

        Raises:
            ClockError: All streams have brought rows, so another watermark holds the clock back.
        """
        if self.streams and brought.bit_count() == self.streams:
            raise ClockError(
                "the clock does not move: rows have arrived, but Spark's watermark is still at "
                "its beginning, because another watermark in the query has seen no rows.\n"
                "Hint: a withWatermark after to_df() waits for rows that wait for it. Leave it "
                "out and aggregate with Latecomer, or write to a table first and read that as a "
                "stream. If instead another stream of the query has a watermark and no rows yet, "
                "use to_df(alone=False)."
            )


def check_since_1970(source: Source, rows: Batch) -> None:
    """Refuse rows before 1970, when Spark's clock begins."""
    times = source.time.micros(rows)
    if not rows.num_rows or times.min() >= 0:
        return
    first = rows.column(source.time.name).slice(int(times.argmin()), 1).cast(pa.string())
    # If begins and ends are rows of their own, the time is one or the other.
    columns = [source.time] if source.begin is None else [source.begin, source.end or source.time]
    names = " or ".join(f'"{each.name}"' for each in columns)
    raise ColumnTypeError(
        f"column {names} holds {first[0]}, which is before 1970, where Spark's clock begins.\n"
        "Hint: if the stream has such times, use disordered(df, ..., before_1970=True); if they "
        "are mistakes, leave them out with where()."
    )
