"""Answers about a table before all of it has been read, each better than the one before.

    flights = lc.progressive(df, by="id")
    for answer in flights.group_by("origin").aggregate(delay=lc.agg.mean("delay")):
        print(answer.share, answer.table)         origin, delay, delay_low, delay_high

Thin: `latecomer.hosts.spark.progressive` draws the rows, and
`latecomer.operators.estimates.intervals` computes the estimates and their bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from latecomer.api.arguments import clashing, is_number, specified
from latecomer.errors import ColumnNameError, OptionError
from latecomer.hosts.spark import inputs
from latecomer.hosts.spark.columns import arrow_schema
from latecomer.hosts.spark.progressive import (
    chosen_steps,
    narrowed,
    states_by_step,
    with_units,
)
from latecomer.operators.aggregates.base import Aggregate
from latecomer.operators.aggregates.counting import Count
from latecomer.operators.aggregates.extremes import Max, Min
from latecomer.operators.aggregates.moments import Stddev, Variance
from latecomer.operators.aggregates.quantiles import Quantile
from latecomer.operators.aggregates.sketches import QuantileSketch
from latecomer.operators.aggregates.summary import ROWS, Summary
from latecomer.operators.aggregates.sums import Mean, Sum
from latecomer.operators.estimates.estimation import HIGH, LOW, Estimation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_ESTIMATED = (Count, Sum, Mean, Variance, Stddev, Quantile, QuantileSketch, Min, Max)


def progressive(
    df: DataFrame,
    *,
    steps: Sequence[float] | None = None,
    by: str | Sequence[str] | None = None,
    seed: int = 0,
    confidence: float = 0.95,
) -> ProgressiveTable:
    """Return a batch DataFrame as a table that gives early answers.

    Args:
        df: Any DataFrame that is not a stream.
        steps: The shares of the rows after which to answer, ascending; the last is 1.0. By default
            0.01 and 1.0; and 0.1 between them where a step is much cheaper than reading all rows,
            because values are computed for the query or rows are aggregated in Python.
        by: The column or columns that identify a row, such as an id; by default all columns. Rows
            that are equal in them come in the same step.
        seed: Another seed draws other samples.
        confidence: The probability that a true value is within its bounds.

    Raises:
        OptionError: The DataFrame is a stream, or a number is out of its range.
        ColumnNotFoundError: There is no such column.
        ColumnTypeError: A column of `by` has a type that cannot identify rows.
    """
    if steps is not None:
        _check_steps(steps)
    if not (is_number(confidence) and 0 < confidence < 1):
        raise OptionError(
            f"confidence must be between 0 and 1; got {confidence!r}.\n"
            "Hint: 19 times out of 20 is confidence=0.95."
        )
    columns = (by,) if isinstance(by, str) else tuple(by or ())
    units = with_units(df, columns, seed)
    return ProgressiveTable(df, units, None if steps is None else tuple(steps), confidence)


@dataclass(frozen=True, slots=True)
class ProgressiveTable:
    """A table that is read in steps."""

    df: DataFrame
    units: DataFrame
    """The same rows, with the column that decides the step of each."""
    steps: tuple[float, ...] | None
    """The shares after which to answer; None if they are chosen for each query."""
    confidence: float

    def group_by(self, *columns: str) -> GroupedTable:
        """Group rows by columns. Without columns all rows are one group."""
        return GroupedTable(self, columns)


@dataclass(frozen=True, slots=True)
class GroupedTable:
    """Rows of a table, grouped by key. Call `aggregate` next."""

    of: ProgressiveTable
    keys: tuple[str, ...]

    def aggregate(self, **aggregates: Aggregate) -> Iterator[Answer]:
        """Yield one answer for each step. A step is run when its answer is requested.

        Args:
            aggregates: The results by name: count, sum, mean, variance, stddev, quantile, min or
                max of `latecomer.agg`.

        Raises:
            OptionError: There are no aggregates, or one cannot be estimated.
            ColumnNotFoundError: A column does not exist.
            ColumnTypeError: A column cannot be aggregated that way.
            ColumnNameError: Two columns of the result would have the same name.
            ChangedTableError: The table was not the same in each step. Raised by the last step, if
                there is a result whose states Spark cannot compute itself, such as a quantile.
        """
        self._check(aggregates)
        inputs.check_keys(self.of.df, self.keys)
        df, computed = inputs.with_inputs(self.of.units, aggregates)
        summary = Summary(self.keys, tuple(computed.items()))
        rows = narrowed(df, summary.columns)
        estimation = Estimation(summary, arrow_schema(rows), self.of.confidence)
        estimation.answer_schema()
        is_computed = df is not self.of.units
        steps = self.of.steps or chosen_steps(estimation, is_computed=is_computed)
        return self._answers(rows, estimation, steps)

    def _answers(
        self, rows: DataFrame, estimation: Estimation, steps: tuple[float, ...]
    ) -> Iterator[Answer]:
        for share, states in zip(steps, states_by_step(rows, estimation, steps), strict=True):
            count = int(states.column(ROWS).to_numpy().sum())
            yield Answer(share, count, estimation.answer(states, share), self.of.df)

    def _check(self, aggregates: Mapping[str, Aggregate]) -> None:
        for name, aggregate in specified(aggregates).items():
            is_list = isinstance(aggregate, Quantile | QuantileSketch) and isinstance(
                aggregate.q, tuple
            )
            if is_list or not isinstance(aggregate, _ESTIMATED):
                what = "a list of quantiles" if is_list else type(aggregate).__name__
                known = "count, sum, mean, variance, stddev, quantile, min or max"
                raise OptionError(
                    f'"{name}" is {what}, which cannot be estimated from a sample.\n'
                    f"Hint: use {known}, each as a result of its own; or compute it once from all "
                    "rows, with df.groupBy(...).agg(...)."
                )
        names = [*self.keys, *chain(*((each, each + LOW, each + HIGH) for each in aggregates))]
        if twice := clashing(names):
            raise ColumnNameError(
                f'two columns of the result would be named "{twice.lower()}".\n'
                f"Hint: a result also has bounds, named ...{LOW} and ...{HIGH}; rename one."
            )


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer after one step."""

    share: float
    """Share of the table that has been read."""
    rows: int
    """Number of rows that have been read."""
    table: pa.Table
    """The keys, and for each result its estimate, `..._low` and `..._high`."""
    of: DataFrame = field(repr=False)
    """The table that the answer is about."""

    @property
    def is_final(self) -> bool:
        """Whether all rows have been read, and nothing is estimated."""
        return self.share == 1

    def to_df(self) -> DataFrame:
        """Return the answer as a DataFrame."""
        return self.of.sparkSession.createDataFrame(self.table)


def _check_steps(steps: Sequence[float]) -> None:
    hint = "Hint: for example steps=[0.01, 0.1, 1.0]."
    for step in steps:
        if not (is_number(step) and 0 < step <= 1):
            raise OptionError(
                f"each step must be a share of the rows, above 0 and up to 1; got {step!r}.\n{hint}"
            )
    if list(steps) != sorted(set(steps)):
        raise OptionError(f"steps must be in ascending order; got {list(steps)!r}.\n{hint}")
    if not steps or steps[-1] != 1:
        raise OptionError(
            f"the last step must be 1.0, so that the last answer is exact; got {list(steps)!r}.\n"
            "Hint: end with 1.0, and stop reading answers when one is good enough."
        )
