"""What a sort gives: ordered streams, and aggregates of them; thin, as in `latecomer.stream`.

    events.sort(wait="6 hours")                     OrderedStream: rows in time order
      .group_by("origin")                           GroupedStream
      .aggregate(flights=lc.agg.count())            AggregatedStream: one row per window and key
      .to_df()

With several waits, each row of the result says after which one it was given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from latecomer import planner
from latecomer.arguments import check_columns, length
from latecomer.errors import ColumnNameError, ColumnNotFoundError, OptionError
from latecomer.matched import MatchedStream
from latecomer.operators.aggregate import IS_CHANGED, Aggregation
from latecomer.operators.aggregates.custom import UserAggregate
from latecomer.operators.bounds import WINDOW
from latecomer.operators.distinct import Distinct
from latecomer.operators.levels import IS_FINAL, WAIT
from latecomer.operators.snapshots import Snapshots
from latecomer.operators.summary import Summary, names_of
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.temporal.paired import Paired
from latecomer.operators.windows import Lifetime
from latecomer.plan import Plan, Stage
from latecomer.readable import Readable
from latecomer.temporal import TemporalStream, WithLifetimes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

    from latecomer.hosts.spark.sinks import Sink
    from latecomer.matched import Contiguity
    from latecomer.operators.aggregates.base import Aggregate
    from latecomer.operators.windows import Windows
    from latecomer.pattern import Pattern
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
        from latecomer.hosts.spark.frames import arrow_schema

        source = self.plan.source
        compared = tuple(dict.fromkeys((*source.key, *columns)))
        if not compared:
            message = (
                "distinct needs columns in which rows are equal, and the stream has no key.\n"
                'Hint: for example distinct("order_id", within="10 minutes").'
            )
            raise OptionError(message)
        if self.windows is not None or len(self.plan.waits) > 1 or source.begin is not None:
            message = (
                "distinct needs single rows in order, and this stream has windows, several waits, "
                "or begins and ends.\n"
                "Hint: sort(wait=...) with one wait and no windows before; what is left can be "
                'aggregated by the hour with quantize("1 hour").group_by(...).aggregate(...).'
            )
            raise OptionError(message)
        check_columns(arrow_schema(self.df), compared)
        operator = Distinct(source.time, compared, length(within, "within"), source.key)
        return replace(self, plan=planner.then(self.plan, operator))

    def temporal(self) -> TemporalStream:
        """Give each row its lifetime; see `latecomer.operators.temporal.lifetimes`."""
        source = self.plan.source
        if self.windows is not None or len(self.plan.waits) > 1:
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
        return TemporalStream(self.dfs, planner.then(self.plan, lifetimes), self.buckets)

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


@dataclass(frozen=True, slots=True)
class GroupedStream:
    """Rows, or results, by key; to be aggregated."""

    of: OrderedStream | AggregatedStream
    keys: tuple[str, ...]

    def aggregate(self, **aggregates: Aggregate | UserAggregate) -> AggregatedStream:
        """Give one row for each window and key. How: `latecomer.operators.aggregate`.

        Args:
            aggregates: The name of each result, and what it is, made with `latecomer.agg`.

        Raises:
            OptionError: There are no windows, or no aggregates.
            ColumnNotFoundError: A column is not there.
            ColumnTypeError: A column cannot be aggregated that way.
            ColumnNameError: A result has the name of something else.
        """
        self._check_names(aggregates)
        specified = _specified(aggregates)
        if isinstance(self.of, AggregatedStream):
            return self._of_results(self.of, specified)
        return self._of_rows(self.of, specified)

    def pivot(self, column: str, values: Sequence[Any] | None = None) -> PivotedStream:
        """Give each result once for each value of a column, in a column of its own.

        Args:
            column: The column.
            values: Its values. They must be listed: a stream has the same columns for ever.

        Raises:
            OptionError: The values are missing, or results are pivoted instead of rows.
            ColumnNotFoundError: The column is not there.
            ColumnTypeError: A value is of another type than the column.
        """
        from latecomer.hosts.spark import inputs

        if not isinstance(values, list | tuple) or not values:
            message = (
                f'pivot needs the values of "{column}", since a stream has the same columns for '
                f"ever; got {values!r}.\n"
                f'Hint: for example pivot("{column}", ["UA", "AA"]).'
            )
            raise OptionError(message)
        if isinstance(self.of, AggregatedStream):
            message = (
                "pivot is for rows, and these are results.\n"
                f'Hint: pivot where the rows are first aggregated, or group by "{column}" too.'
            )
            raise OptionError(message)
        inputs.check_values(self.of.df, column, values)
        return PivotedStream(self.of, self.keys, column, tuple(values))

    def _of_rows(
        self, ordered: OrderedStream, aggregates: dict[str, Aggregate]
    ) -> AggregatedStream:
        from latecomer.hosts.spark import inputs

        if ordered.windows is None:
            message = (
                "aggregate answers for windows, and this stream has none.\n"
                'Hint: give it some before the sort, for example tumbling("1 hour"), or ask what '
                'was true at each instant, with temporal() or alter(duration="1 hour") after it.'
            )
            raise OptionError(message)
        df, computed = inputs.with_inputs(ordered.df, aggregates)
        inputs.check_keys(df, self.keys)
        plan, time = ordered.plan, ordered.plan.source.time
        if plan.late == "drop":
            df = inputs.pruned(df, plan.source, (*self.keys, *_read(computed)))
        summary = Summary(self.keys, tuple(computed.items()))
        if isinstance(ordered.windows, Lifetime):
            # A lifetime needs the rows in order; windows do not.
            snapshots = Snapshots(time, ordered.windows.duration, plan.waits, summary)
            operators = (*plan.stages[0].operators, snapshots)
        else:
            changes = ordered.only_changes
            windows = ordered.windows
            operators = (Aggregation(time, windows, plan.waits, (summary,), only_changes=changes),)
        return AggregatedStream.over(df, plan, ordered.buckets, Stage(self.keys, operators))

    def _of_results(
        self, results: AggregatedStream, aggregates: dict[str, Aggregate]
    ) -> AggregatedStream:
        before = names_of(results.aggregation.summaries)
        keys = results.aggregation.summaries[-1].keys
        for name in self.keys:
            if name not in keys:
                given = ", ".join(f'"{key}"' for key in keys) or "nothing"
                message = (
                    f'results grouped by {given} cannot be grouped by "{name}".\n'
                    "Hint: group them by some of the columns that they are grouped by, or by none."
                )
                raise OptionError(message)
        for name in _read(aggregates):
            if name not in before:
                found = ", ".join(f'"{each}"' for each in before)
                raise ColumnNotFoundError(f"no result {name!r} to aggregate; there are {found}.")
        summary = Summary(self.keys, tuple(aggregates.items()))
        summaries = (*results.aggregation.summaries, summary)
        return results.changed(replace(results.aggregation, summaries=summaries))

    def _check_names(self, aggregates: Mapping[str, object]) -> None:
        if not aggregates:
            message = (
                "aggregate needs something to compute.\n"
                "Hint: for example aggregate(rows=latecomer.agg.count())."
            )
            raise OptionError(message)
        for name in (*self.keys, *aggregates):
            if (
                name in _TAKEN
                or name.startswith("_lc_")
                or (name in self.keys) == (name in aggregates)
            ):
                message = (
                    f'a result or key cannot be named "{name}", which another column is.\n'
                    f"Hint: names {', '.join(_TAKEN)} are given by Latecomer; choose others."
                )
                raise ColumnNameError(message)


@dataclass(frozen=True, slots=True)
class PivotedStream:
    """Rows by key, whose results have a column for each value of another column."""

    of: OrderedStream
    keys: tuple[str, ...]
    column: str
    values: tuple[Any, ...]

    def aggregate(self, **aggregates: Aggregate | UserAggregate) -> AggregatedStream:
        """Give one row for each window and key, with each result of the rows of each value.

        Columns are named as Spark's `pivot` does: `UA` and `AA` if there is one result, `UA_n` and
        `AA_n` if there are several. Where a key has no rows of a value, a count is 0.

        Args:
            aggregates: See `GroupedStream.aggregate`, which this is, with a filter for each value.
        """
        from latecomer.hosts.spark import inputs

        df, filtered = inputs.pivoted(self.of.df, self.column, self.values, _specified(aggregates))
        return GroupedStream(replace(self.of, dfs=(df,)), self.keys).aggregate(**filtered)


def _specified(aggregates: Mapping[str, Aggregate | UserAggregate]) -> dict[str, Aggregate]:
    return {
        name: aggregate.specification() if isinstance(aggregate, UserAggregate) else aggregate
        for name, aggregate in aggregates.items()
    }


_TAKEN = (WINDOW, WAIT, IS_FINAL, IS_CHANGED)


def _read(aggregates: dict[str, Aggregate]) -> list[Any]:
    return [column for aggregate in aggregates.values() for column in aggregate.columns]


@dataclass(frozen=True, slots=True)
class AggregatedStream(Readable):
    """One row per window and key, for each wait: `window`, the keys, and the results.

    With several waits also `wait`, after which the row was given; `is_final`, whether that is the
    last one; and `is_changed`, whether rows have come since the wait before.
    """

    @classmethod
    def over(cls, df: DataFrame, plan: Plan, buckets: int | None, stage: Stage) -> AggregatedStream:
        """Aggregate the rows of a plan instead of just sorting them."""
        if plan.source.clock:
            planner.check_clock(plan, stage.key)
            # Rows of one clock must be in one bucket, whatever else they are grouped by.
            stage = replace(stage, key=plan.source.clock)
        stream = cls((df,), replace(plan, stages=(stage,)), buckets)
        stream._ready_schema()
        return stream

    @property
    def aggregation(self) -> Aggregation:
        """What is asked for."""
        found = self.plan.aggregation
        if found is None:
            message = (
                "results over lifetimes cannot be aggregated again.\n"
                "Hint: use tumbling or hopping windows instead of lifetime."
            )
            raise OptionError(message)
        return found

    def group_by(self, *columns: str) -> GroupedStream:
        """Group results by some of their keys, within each window, to aggregate them again."""
        return GroupedStream(self, columns)

    def start(
        self,
        outputs: Mapping[str, Sink],
        *,
        checkpoint: str,
        trigger: Mapping[str, Any] | None = None,
        name: str | None = None,
        end: Literal["keep", "flush"] = "keep",
        states: Literal["buckets", "driver"] = "buckets",
    ) -> StreamingQuery:
        """Start one query that writes several outputs. How: `latecomer.hosts.spark.sinks`.

        Args:
            outputs: "ready" and "late", each with a directory for Parquet files, or a function of a
                DataFrame and the number of the micro-batch.
            checkpoint: The directory of the query's checkpoint.
            trigger: As for Spark's `trigger`, for example {"availableNow": True}.
            name: The name of the query.
            end: Whether what is held at the end is kept or handed out; see `OrderedStream.start`.
            states: Where states are kept. In "buckets" they are spread over the workers, however
                many there are. With "driver" Spark adds up each micro-batch by itself, and the
                driver keeps the states, in files beside the checkpoint: several times as fast,
                where a micro-batch has no more than some ten thousand windows and keys. It is for
                count, sum, mean, min, max, variance and stddev, in windows without a time zone.

        Raises:
            OptionError: There is no such output, or Spark cannot add the states up by itself.
        """
        if states == "buckets":
            return Readable.start(
                self, outputs, checkpoint=checkpoint, trigger=trigger, name=name, end=end
            )
        if states != "driver":
            message = f'states are kept in "buckets" or on the "driver"; got {states!r}.'
            raise OptionError(message)
        from latecomer.hosts.spark import on_driver, rest

        checkpoint = str(checkpoint)
        rest.check_ends(self.df.sparkSession, checkpoint, trigger, end)
        query = on_driver.start(
            self.df, self.plan, outputs, checkpoint=checkpoint, trigger=trigger, name=name
        )
        if end == "flush":
            query.awaitTermination()
            on_driver.finish(query, self.df, self.plan, outputs, checkpoint)
        return query

    def changed(self, aggregation: Aggregation) -> AggregatedStream:
        """Ask for something else of the same rows."""
        stage = Stage(aggregation.summaries[-1].keys, (aggregation,))
        return AggregatedStream.over(self.df, self.plan, self.buckets, stage)
