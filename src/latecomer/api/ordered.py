"""Rows in time order, the result of a sort, and their operators; thin.

    events.sort(wait="6 hours")                     OrderedStream: rows in time order
      .distinct("flight", within="1 day")           still ordered
      .detect(pattern)                              MatchedStream: one row per match
      .alter(duration="1 hour")                     TemporalStream: rows that count for a while

With several waits, each row of the result has the wait after which it was emitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from latecomer.api.arguments import check_columns, check_one_wait, length
from latecomer.api.lifetimes import WithLifetimes
from latecomer.api.matched import Contiguity, MatchedStream
from latecomer.api.pattern import Pattern
from latecomer.api.rows import Rows
from latecomer.api.temporal import TemporalStream
from latecomer.errors import OptionError, listed
from latecomer.operators.distinct import Distinct
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.temporal.paired import Paired
from latecomer.operators.temporal.specification import Temporal
from latecomer.plan import placement
from latecomer.time import Duration


@dataclass(frozen=True, slots=True)
class OrderedStream(Rows, WithLifetimes):
    """Rows in time order: ascending within a bucket, and never going back between micro-batches."""

    def group_by(self, *columns: str) -> NoReturn:
        """Refuse: rows in order are not grouped before they have windows or lifetimes.

        Raises:
            OptionError: Always.
        """
        group_by = f"group_by({listed(columns)})"
        raise OptionError(
            "aggregate needs windows, and this stream has none.\n"
            f'Hint: tumbling("1 hour").wait(...).{group_by} in place of sort(wait=...); or '
            f'alter(duration="1 hour").{group_by} for what was true at each instant.'
        )

    def distinct(self, *columns: str, within: Duration) -> OrderedStream:
        """Keep the first of rows that are equal in their key and in some columns.

        See `latecomer.operators.distinct`.

        Args:
            columns: Columns to compare, in addition to the key of the stream.
            within: How long equal rows are removed, counted from the row that was kept.

        Raises:
            OptionError: There is nothing to compare; or rows are not in order, because the stream
                has windows, several waits, or begins and ends as rows of their own.
            ColumnNotFoundError: A column does not exist.
            ColumnTypeError: A column is nested.
        """
        source = self.plan.source
        compared = tuple(dict.fromkeys((*source.key, *columns)))
        if not compared:
            raise OptionError(
                "distinct needs the columns to compare rows by, because the stream has no key.\n"
                'Hint: for example distinct("order_id", within="10 minutes").'
            )
        if self.plan.clock.answers > 1 or source.begin is not None:
            raise OptionError(
                "distinct does not support several waits or edges=True.\n"
                "Hint: sort(wait=...) with one wait; the rows that remain can be aggregated by "
                'the hour with quantize("1 hour").group_by(...).aggregate(...).'
            )
        check_columns(self._columns, compared)
        operator = Distinct(source.time, compared, length(within, "within"), source.key)
        return replace(self, plan=placement.then(self.plan, operator))

    def temporal(self) -> TemporalStream:
        """Give each row its lifetime; see `latecomer.operators.temporal.lifetimes`."""
        source = self.plan.source
        check_one_wait(self.plan.clock)
        if self.plan.moves_late_rows and source.end is not None:
            raise OptionError(
                'late="adjust" would move the start of a row and not its end.\n'
                'Hint: use late="divert", or leave out end= and give rows a duration with alter.'
            )
        lifetimes: Temporal = Lifetimes(source.time, source.end)
        if source.begin is not None and source.end is not None:
            lifetimes = Paired(source.time, source.begin, source.end, source.arrival)
            compared = lifetimes.payload(self._columns)
            check_columns(compared, compared.names)
        return TemporalStream(self.dfs, placement.then(self.plan, lifetimes), self.buckets)

    def detect(
        self,
        pattern: Pattern,
        *,
        within: Duration | None = None,
        by: str | Sequence[str] | None = None,
        contiguity: Contiguity = "skip",
        overlap: bool = True,
    ) -> MatchedStream:
        """Find rows that match a pattern. The result has one row for each match.

        See `latecomer.operators.patterns.detect`.

        Args:
            pattern: The pattern, made with `latecomer.event`.
            within: The longest time from the first row of a match to its last. It can also be set
                with `pattern.within(...)`.
            by: The column or columns in which the rows of a match are equal; by default the key of
                the stream. Nulls are equal to each other.
            contiguity: With "skip", rows that do not match the next event are skipped. With
                "strict", such a row ends the match.
            overlap: Whether a match may begin while another match of its key is in progress.

        Raises:
            PatternError: The pattern cannot be matched as it is written, or has no `within`.
            ColumnTypeError: A condition is not true or false.
            ColumnNameError: An event has the name of another column.
        """
        return MatchedStream.over(
            self, pattern, within=within, by=by, contiguity=contiguity, overlap=overlap
        )
