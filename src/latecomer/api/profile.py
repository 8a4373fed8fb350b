"""How disordered is it, and how long to wait? `latecomer.profile`.

A profile has the delay of every row. So it can compute the share of rows that any wait would keep,
and the wait that any share of the rows needs, before any row is lost.

**A table has an order, a DataFrame has none.** Without an arrival column, the rows of a table are
taken to be in order of arrival, and those of a DataFrame in the order in which Spark reads them,
which for several files is not the order of their names. A profile shows which order was used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer.errors import OptionError
from latecomer.plan import Source
from latecomer.profile.delay_counts import ERROR
from latecomer.profile.key_counts import check_key_names
from latecomer.profile.measures import QUANTILES, Measures
from latecomer.profile.tally import Counted, Limits
from latecomer.report.html import page
from latecomer.report.numbers import as_dict
from latecomer.report.rows import PIECE_ROWS, check_columns, measure_rows
from latecomer.report.words import in_words
from latecomer.time import Duration, TimeColumn, Unit, check_unit, parse_duration

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

    from latecomer.report.what_if import WhatIf


def profile(
    rows: DataFrame | pa.Table,
    *,
    time: str,
    arrival: str | None = None,
    key: str | Sequence[str] | None = None,
    unit: Unit | None = None,
) -> Profile:
    """Measure how disordered rows are, and what each wait would keep.

    On Spark the rows stay there, whatever their number; only counts come back, and, up to 100
    million rows, their times.

    Args:
        rows: A batch DataFrame, or an Arrow table.
        time: The time column: a timestamp, a date, or an integer.
        arrival: The column with the arrival of a row. Without it, the rows of a table are taken to
            be in order of arrival, and those of a DataFrame in the order in which Spark reads them.
        key: The column or columns that name the source of a row, to find the worst sources.
        unit: Unit of an integer `time` or `arrival` column: "s", "ms", "us" or "ns".

    Returns:
        A profile; print it.

    Raises:
        ColumnNotFoundError: There is no such column.
        ColumnTypeError: The time column is not a time, or the key is nested.
        ColumnNameError: A key has the name of a column that `Profile.keys` adds.
        OptionError: The rows are a stream, or neither a DataFrame nor a table; or the unit is
            unknown.
    """
    source = source_of(time, arrival, key, unit)
    if isinstance(rows, pa.Table):
        check_columns(rows.schema, source)
        # The table is read in pieces, like a file, to need little memory beside it.
        pieces = rows.to_batches(max_chunksize=PIECE_ROWS)
        batches = (pa.Table.from_batches([piece]) for piece in pieces)
        order = _order(source, "the order of the rows in the table")
        return Profile(measure_rows(batches, source), source, order)
    if not hasattr(rows, "isStreaming"):
        raise OptionError(
            f"profile needs a Spark DataFrame or an Arrow table; got {type(rows)}.\n"
            "Hint: for pandas, pyarrow.Table.from_pandas(rows)."
        )
    if rows.isStreaming:
        raise OptionError(
            "profile needs all rows at once, and this DataFrame is a stream.\n"
            'Hint: disordered(df, time="...").profile_df() profiles each micro-batch of a stream.'
        )
    from latecomer.hosts.spark.profile.frame import measure_frame

    check_columns(rows.limit(0).toArrow().schema, source)
    order = _order(source, "the order in which Spark reads the rows")
    return Profile(measure_frame(rows, source), source, order)


def profile_batches(
    batches: Iterable[pa.Table], source: Source, limits: Limits | None = None
) -> Profile:
    """Return the profile of rows that are read batch by batch, such as those of a large file."""
    order = _order(source, "the order of the rows in the file")
    return Profile(measure_rows(batches, source, limits), source, order)


def source_of(
    time: str, arrival: str | None, key: str | Sequence[str] | None, unit: Unit | None
) -> Source:
    """Return the source with the columns that the user has named."""
    check_unit(unit)
    keys = (key,) if isinstance(key, str) else tuple(dict.fromkeys(key or ()))
    check_key_names(keys)
    return Source(
        time=TimeColumn(time, unit),
        key=keys,
        arrival=TimeColumn(arrival, unit) if arrival is not None else None,
    )


def _order(source: Source, rows: str) -> str:
    return f'column "{source.arrival.name}"' if source.arrival else rows


@dataclass(frozen=True, eq=False, repr=False)
class Profile:
    """The disorder of some rows. Shares are of the rows that have a time."""

    counted: Counted
    source: Source
    order: str
    """Source of the order of arrival: a column, or the order in which rows are read."""

    @property
    def rows(self) -> int:
        """Number of rows, with a time or without."""
        return self.counted.rows

    @property
    def without_time(self) -> int:
        """Number of rows that have no time, and are left out."""
        return self.counted.without_time

    @property
    def without_arrival(self) -> int:
        """Number of rows that have a time but no arrival, and are left out as well."""
        return self.counted.without_arrival

    @cached_property
    def timed(self) -> int:
        """Number of rows with a usable time."""
        return self.counted.findings.delays.total

    @cached_property
    def out_of_order(self) -> int:
        """Number of rows that came after a newer one."""
        return self.counted.findings.delays.out_of_order

    @property
    def fraction(self) -> float:
        """The share of rows that came after a newer one, from 0 to 1."""
        return self.out_of_order / self.timed if self.timed else 0.0

    @property
    def largest(self) -> timedelta:
        """The largest delay."""
        return timedelta(microseconds=self.counted.findings.delays.largest)

    @property
    def quantiles(self) -> dict[float, timedelta]:
        """Quantiles by share: the smallest delay that this share of the rows does not exceed."""
        return {share: self.wait_for(share) for share in QUANTILES}

    @property
    def runs(self) -> int:
        """Number of runs: the longest stretches of rows whose times do not descend."""
        return self.counted.findings.runs

    @property
    def measures(self) -> Measures | None:
        """The four measures of order; None above 100 million rows, whose times are not kept."""
        return self.counted.findings.measures

    @property
    def error(self) -> float:
        """Largest share by which waits may be too long: 0 if all delays were kept."""
        return 0.0 if self.counted.findings.delays.is_exact else ERROR

    @property
    def keys(self) -> pa.Table | None:
        """All keys with `rows`, `out_of_order` and `largest` (microseconds), the worst first."""
        return self.counted.findings.keys

    def in_time(self, wait: Duration) -> float:
        """Return the share of rows that are in time for a wait: their delay is not longer."""
        micros = parse_duration(wait, "wait")
        if not self.timed:
            return 1.0
        return self.counted.findings.delays.in_time([micros])[0] / self.timed

    def wait_for(self, share: float) -> timedelta:
        """Return the smallest wait for which at least this share of rows is in time.

        Raises:
            OptionError: The share is not above 0 and up to 1.
        """
        if not 0 < share <= 1:
            raise OptionError(
                f"share must be above 0 and up to 1; got {share!r}.\n"
                "Hint: for 99 %, write wait_for(0.99)."
            )
        return timedelta(microseconds=self.counted.findings.delays.wait_for(share))

    def held(self, wait: Duration) -> float:
        """Return an estimate of the rows that a sort with this wait holds, on average over time.

        These rows are one cost of waiting. The other is that every answer comes later by the wait.
        """
        return self.held_micros(parse_duration(wait, "wait"))

    def held_micros(self, wait: int) -> float:
        """Return the same as `held`, for a wait in microseconds."""
        found = self.counted.findings
        span = found.newest - found.first
        return min(found.delays.held(wait) / span, float(self.timed)) if span else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as a dict for JSON: durations in seconds, and the 100 worst keys."""
        return as_dict(self)

    def to_html(self, path: str | Path, *, what_if: WhatIf | None = None) -> Path:
        """Write a report with figures as one self-contained HTML file, and return its path.

        With `what_if`, the result of `latecomer.what_if`, the report shows that too.
        """
        return page(self, what_if).write(path)

    def __repr__(self) -> str:
        return f"<Profile of {self.rows:,} rows, {self.out_of_order:,} out of order>"

    def __str__(self) -> str:
        return in_words(self)
