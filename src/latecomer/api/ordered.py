"""What a sort gives: rows in time order, and what can be asked of them; thin.

    events.sort(wait="6 hours")                     OrderedStream: rows in time order
      .group_by("origin")                           GroupedStream
      .aggregate(flights=lc.agg.count())            AggregatedStream: one row per window and key
      .to_df()

With several waits, each row of the result says after which one it was given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from latecomer.api.aggregated import AggregatedStream, GroupedStream
from latecomer.api.arguments import check_columns, length
from latecomer.api.matched import MatchedStream
from latecomer.api.readable import Readable
from latecomer.api.temporal import TemporalStream, WithLifetimes
from latecomer.errors import OptionError
from latecomer.operators.distinct import Distinct
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.temporal.paired import Paired
from latecomer.plan import placement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from latecomer.api.matched import Contiguity
    from latecomer.api.pattern import Pattern
    from latecomer.operators.windows.grid import Lifetime, Windows
    from latecomer.time import Duration


@dataclass(frozen=True, slots=True)
class OrderedStream(Readable, WithLifetimes):
    """Rows in time order: ascending within a bucket, and never going back between micro-batches."""

    windows: Windows | Lifetime | None = None
    only_changes: bool = False

    def group_by(self, *columns: str) -> GroupedStream:
        """Group rows by columns, and by the windows of the stream; no columns group all rows."""
        return GroupedStream(self, columns)

    def distinct(self, *columns: str, within: Duration) -> OrderedStream:
        """Keep the first of rows that are equal in their key and in some columns.

        How: `latecomer.operators.distinct`.

        Args:
            columns: In which rows are equal, besides the key of the stream; none compare keys only.
            within: For how long others are held back, from the one that was kept on.

        Raises:
            OptionError: There is nothing to compare; or rows are not in order, because the stream
                has windows, several waits, or begins and ends as rows of their own.
            ColumnNotFoundError: A column is not there.
            ColumnTypeError: A column is nested.
        """
        from latecomer.hosts.spark.query import arrow_schema

        source = self.plan.source
        compared = tuple(dict.fromkeys((*source.key, *columns)))
        if not compared:
            message = (
                "distinct needs columns in which rows are equal, and the stream has no key.\n"
                'Hint: for example distinct("order_id", within="10 minutes").'
            )
            raise OptionError(message)
        if self.windows is not None or self.plan.has_levels or source.begin is not None:
            message = (
                "distinct needs single rows in order, and this stream has windows, several waits, "
                "or begins and ends.\n"
                "Hint: sort(wait=...) with one wait and no windows before; what is left can be "
                'aggregated by the hour with quantize("1 hour").group_by(...).aggregate(...).'
            )
            raise OptionError(message)
        check_columns(arrow_schema(self.df), compared)
        operator = Distinct(source.time, compared, length(within, "within"), source.key)
        return replace(self, plan=placement.then(self.plan, operator))

    def temporal(self) -> TemporalStream:
        """Give each row its lifetime; see `latecomer.operators.temporal.lifetimes`."""
        source = self.plan.source
        if self.windows is not None or self.plan.has_levels:
            message = (
                "a stream with windows or several waits has no lifetimes.\n"
                "Hint: sort(wait=...) with one wait, and no tumbling, hopping or lifetime before."
            )
            raise OptionError(message)
        if self.plan.late == "adjust" and source.end is not None:
            message = (
                'late="adjust" would move the start of a row and not its end.\n'
                'Hint: use late="divert", or leave out end= and give rows a duration with alter.'
            )
            raise OptionError(message)
        lifetimes = (
            Paired(source.time, source.begin, source.end, source.arrival)
            if source.begin is not None and source.end is not None
            else Lifetimes(source.time, source.end)
        )
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
        """Find the rows that follow each other as a pattern says; one row for each match.

        How: `latecomer.operators.patterns.detect`.

        Args:
            pattern: What to look for, made with `latecomer.event`.
            within: How long a match may last at the most, from its first row to its last; or
                `pattern.within(...)`.
            by: The column or columns in which the rows of a match are equal; those of the key of
                the stream, if left out. Nulls are equal to each other.
            contiguity: "skip" passes over rows that are not the next event; "strict" gives a match
                up at such a row.
            overlap: Whether a match may begin while others of its key are under way.

        Raises:
            PatternError: The pattern cannot be matched as it is written, or has no `within`.
            ColumnTypeError: A condition is not true or false.
            ColumnNameError: An event has the name of another column.
        """
        if self.windows is not None:
            message = (
                "a pattern is of rows, and this stream has windows.\n"
                "Hint: leave out tumbling, hopping or lifetime before the sort."
            )
            raise OptionError(message)
        return MatchedStream.over(
            self, pattern, within=within, by=by, contiguity=contiguity, overlap=overlap
        )

    def _outputs(self) -> DataFrame:
        if self.windows is not None:
            message = (
                "the stream has windows, and nothing is asked of them.\n"
                "Hint: go on with group_by(...).aggregate(...), or leave the windows out for rows."
            )
            raise OptionError(message)
        return Readable._outputs(self)  # noqa: SLF001 - super() does not work in a class with slots

    def apply(
        self,
        *,
        partial: Callable[[OrderedStream], AggregatedStream],
        merge: Callable[[AggregatedStream], AggregatedStream],
    ) -> AggregatedStream:
        """Answer by a query of your own that can be computed in parts.

        Whenever rows arrive, `partial` is run on just these, and its results are held. When a
        window closes, `merge` is run on all of its partial results. Each row is looked at once.

        Args:
            partial: Makes one aggregation of the rows, for example
                `lambda rows: rows.group_by("ad").aggregate(clicks=lc.agg.count())`.
            merge: Aggregates the results of the first, once or several times in a row, for example
                `lambda parts: parts.group_by("ad").aggregate(clicks=lc.agg.sum("clicks"))`.

        Raises:
            OptionError: One of them is not such an aggregation.
        """
        parts = partial(self)
        if len(parts.aggregation.summaries) != 1:
            message = (
                "partial must make one aggregation of the rows.\n"
                'Hint: for example lambda rows: rows.group_by("ad").aggregate(n=agg.count()).'
            )
            raise OptionError(message)
        merged = merge(parts)
        if len(merged.aggregation.summaries) == 1:
            message = (
                "merge must aggregate the results of partial.\n"
                'Hint: for example lambda parts: parts.group_by("ad").aggregate(n=agg.sum("n")).'
            )
            raise OptionError(message)
        return merged.changed(replace(merged.aggregation, merges=True))
