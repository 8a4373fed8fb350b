"""Streams of rows that are grouped, pivoted and aggregated by window and key; thin.

rows.group_by("origin")                         GroupedStream
.pivot("carrier", ["UA", "AA"])               PivotedStream: results side by side
.aggregate(flights=lc.agg.count())            AggregatedStream: one row per window and key
.group_by().aggregate(most=lc.agg.max("UA"))  … which can be grouped again
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from latecomer.api.arguments import clashing, specified
from latecomer.api.query import Query
from latecomer.api.readable import Readable
from latecomer.errors import ColumnNameError, ColumnNotFoundError, OptionError, listed
from latecomer.hosts.spark import inputs
from latecomer.hosts.spark.columns import arrow_schema
from latecomer.hosts.spark.driver import choice
from latecomer.hosts.spark.driver import query as driver
from latecomer.hosts.spark.driver.partials import computable
from latecomer.hosts.spark.outputs import with_window
from latecomer.hosts.spark.sinks import Options, Sink
from latecomer.operators.aggregates.base import Aggregate
from latecomer.operators.aggregates.custom import UserAggregate
from latecomer.operators.aggregates.summary import Summary, names_of
from latecomer.operators.base import Operator
from latecomer.operators.levels import IS_FINAL, WAIT
from latecomer.operators.windows.aggregate import IS_CHANGED, IS_CORRECTION, Aggregation
from latecomer.operators.windows.bounds import WINDOW
from latecomer.operators.windows.grid import Lifetime
from latecomer.operators.windows.sliding import sliding
from latecomer.plan import Plan, Stage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from latecomer.api.windowed import WindowedStream


@dataclass(frozen=True, slots=True)
class GroupedStream:
    """Rows or results, grouped by key. Call `aggregate` next."""

    of: WindowedStream | AggregatedStream
    keys: tuple[str, ...]

    def aggregate(self, **aggregates: Aggregate | UserAggregate) -> AggregatedStream:
        """Return one row for each window and key. See `latecomer.operators.windows.aggregate`.

        Args:
            aggregates: The results by name, made with `latecomer.agg`.

        Raises:
            OptionError: There are no windows, or no aggregates.
            ColumnNotFoundError: A column does not exist.
            ColumnTypeError: A column cannot be aggregated that way.
            ColumnNameError: A result has the name of another column.
        """
        asked = specified(aggregates)
        self._check_names(asked)
        if isinstance(self.of, AggregatedStream):
            return self._of_results(self.of, asked)
        return self._of_rows(self.of, asked)

    def pivot(self, column: str, values: Sequence[Any] | None = None) -> PivotedStream:
        """Make a separate result column for each value of a column.

        Args:
            column: The column whose values become columns.
            values: The values. You have to list them, because the columns of a stream cannot
                change.

        Raises:
            OptionError: The values are missing, or results are pivoted instead of rows.
            ColumnNotFoundError: The column does not exist.
            ColumnTypeError: A value is of another type than the column.
        """
        if not isinstance(values, list | tuple) or not values:
            raise OptionError(
                f'pivot needs the list of values of "{column}", because the columns of a stream '
                f"cannot change; got {values!r}.\n"
                f'Hint: for example pivot("{column}", ["UA", "AA"]).'
            )
        if isinstance(self.of, AggregatedStream):
            raise OptionError(
                "pivot works on rows, and these are results of an earlier aggregate.\n"
                f'Hint: pivot in the first aggregate, or group by "{column}" too.'
            )
        inputs.check_values(self.of.df, column, values)
        return PivotedStream(self.of, self.keys, column, tuple(values))

    def explain(self) -> str:
        """Return a description of the query so far; see `OrderedStream.explain`."""
        keys = ", ".join(self.keys) or "nothing"
        return f"{self.of.explain()}\n  grouped by {keys}"

    def _of_rows(self, rows: WindowedStream, aggregates: dict[str, Aggregate]) -> AggregatedStream:
        df, computed = inputs.with_inputs(rows.df, aggregates)
        inputs.check_keys(df, self.keys)
        plan, time = rows.plan, rows.plan.source.time
        if not plan.needs_late_rows:
            df = inputs.pruned(df, plan.source, (*self.keys, *plan.clock.reads, *_read(computed)))
        summary = Summary(self.keys, tuple(computed.items()))
        # With recalls there is an operator for each of them, and its clock has the wait.
        waits, windows = plan.clock.waits or (0,), rows.windows
        texts = plan.clock.wait_texts
        operators: tuple[Operator, ...]
        if isinstance(windows, Lifetime):
            operators = sliding(time, waits, windows.duration, summary, arrow_schema(df), texts)
        else:
            asked = Aggregation(time, windows, waits, (summary,), texts=texts)
            changes, horizon = rows.only_changes, plan.clock.horizon
            operators = (replace(asked, only_changes=changes, horizon=horizon),)
        return AggregatedStream.over(df, plan, rows.buckets, Stage(self.keys, operators))

    def _of_results(
        self, results: AggregatedStream, aggregates: dict[str, Aggregate]
    ) -> AggregatedStream:
        before = names_of(results.aggregation.summaries)
        keys = results.aggregation.summaries[-1].keys
        for name in self.keys:
            if name not in keys:
                raise OptionError(
                    f"results grouped by {listed(keys) or 'nothing'} cannot be grouped by "
                    f'"{name}".\n'
                    "Hint: group them by some of the columns that they are grouped by, or by none."
                )
        for name in _read(aggregates):
            if name not in before:
                raise ColumnNotFoundError(
                    f"no result {name!r} to aggregate; the results are {listed(before)}."
                )
        summary = Summary(self.keys, tuple(aggregates.items()))
        summaries = (*results.aggregation.summaries, summary)
        return results.changed(replace(results.aggregation, summaries=summaries))

    def _check_names(self, aggregates: Mapping[str, object]) -> None:
        if name := clashing((*self.keys, *aggregates), _TAKEN):
            raise ColumnNameError(
                f'a result or key cannot be named "{name.lower()}", because another column has '
                "that name.\n"
                f"Hint: choose another name. Latecomer itself uses {', '.join(_TAKEN)}."
            )


@dataclass(frozen=True, slots=True)
class PivotedStream:
    """Rows grouped by key; each result has one column per value of another column."""

    of: WindowedStream
    keys: tuple[str, ...]
    column: str
    values: tuple[Any, ...]

    def aggregate(self, **aggregates: Aggregate | UserAggregate) -> AggregatedStream:
        """Return one row for each window and key, with each result for each value.

        Columns are named as Spark's `pivot` does: `UA` and `AA` if there is one result, `UA_n` and
        `AA_n` if there are several. Where a key has no rows of a value, a count is 0.

        Args:
            aggregates: As for `GroupedStream.aggregate`.
        """
        df, filtered = inputs.pivoted(self.of.df, self.column, self.values, specified(aggregates))
        return GroupedStream(replace(self.of, df=df), self.keys).aggregate(**filtered)

    def explain(self) -> str:
        """Return a description of the query so far; see `OrderedStream.explain`."""
        values = ", ".join(map(str, self.values))
        return (
            f"{GroupedStream(self.of, self.keys).explain()}, by {self.column} {values} in columns"
        )


_TAKEN = (WINDOW, WAIT, IS_FINAL, IS_CHANGED, IS_CORRECTION)


def _read(aggregates: dict[str, Aggregate]) -> list[Any]:
    return [column for aggregate in aggregates.values() for column in aggregate.columns]


@dataclass(frozen=True, slots=True)
class AggregatedStream(Readable):
    """One row per window and key, for each wait: `window`, the keys, and the results.

    With several waits there are also `wait`, `is_final` (true for the last wait) and `is_changed`
    (whether the answer differs from that of the wait before). With `late="fold"` there is also
    `is_correction`.
    """

    @classmethod
    def over(cls, df: DataFrame, plan: Plan, buckets: int | None, stage: Stage) -> AggregatedStream:
        """Aggregate the rows of a plan instead of just sorting them."""
        plan.clock.check_group(stage.key)
        if plan.clock.columns:
            # Rows of one clock must be in one bucket, even if they are grouped by more columns.
            stage = replace(stage, key=plan.clock.columns)
        stream = cls((df,), replace(plan, stages=(stage,)), buckets)
        stream._ready_schema()
        return stream

    def _ready_schema(self) -> StructType:
        return with_window(Readable._ready_schema(self))  # noqa: SLF001 - slots leave no super()

    @property
    def aggregation(self) -> Aggregation:
        """The aggregation of the plan."""
        found = self.plan.first
        if not isinstance(found, Aggregation):
            raise OptionError(
                "results over lifetimes cannot be aggregated again.\n"
                "Hint: use tumbling or hopping windows instead of lifetime."
            )
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
        states: Literal["auto", "buckets", "driver"] = "auto",
    ) -> Query:
        """Start one query that writes several outputs; see `OrderedStream.start`.

        `states` is where states are kept. With "driver" Spark aggregates each micro-batch by
        itself, and the driver keeps the states in files beside the checkpoint. It supports count,
        sum, mean, min, max, variance and stddev, in windows without a time zone. With "buckets"
        states are spread over the workers; that supports everything, and any number of states. With
        "auto" a new checkpoint is kept on the driver where that is possible, up to a million
        states, unless each key has more than a thousand open windows; others stay where they are.
        See `latecomer.hosts.spark.driver.choice`.

        Raises:
            OptionError: There is no such output, or `states="driver"` is not supported here.
        """
        is_chosen = states == "auto"
        if is_chosen:
            states = choice.chosen(self.df, self.plan, self.buckets, str(checkpoint))
        if states == "buckets":
            return Readable.start(
                self, outputs, checkpoint=checkpoint, trigger=trigger, name=name, end=end
            )
        if states != "driver":
            message = f'states must be "buckets", "driver" or "auto"; got {states!r}.'
            raise OptionError(message)
        options = Options(str(checkpoint), trigger, name, end, self._formatting())
        query = driver.start(self.df, self.plan, outputs, options, is_chosen=is_chosen)
        return Query(query, self.plan, str(checkpoint), self.df.sparkSession)

    def migrate(
        self, old: str, new: str, *, states: Literal["buckets", "driver"] = "buckets"
    ) -> None:
        """Move the state of a stopped query to a new checkpoint; see `OrderedStream.migrate`.

        `states` is where states are kept from then on, as for `start`.
        """
        if states == "driver":
            computable(self.df, self.plan)
        self._migrate(old, new, states)

    def changed(self, aggregation: Aggregation) -> AggregatedStream:
        """Return the same stream with another plan."""
        stage = Stage(aggregation.summaries[-1].keys, (aggregation,))
        return AggregatedStream.over(self.df, self.plan, self.buckets, stage)
