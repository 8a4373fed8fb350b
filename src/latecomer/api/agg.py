"""Aggregates, to be named in `aggregate`.

Every function here returns the specification of an aggregate, and computes nothing:

    stream.aggregate(rows=agg.count(), total=agg.sum("price * volume", where="side = 'buy'"))

A column, a `where` and a `by` are the name of a column, an expression in Spark SQL, or a Spark
Column. `where` is the condition on the rows that are counted. Results are those of Spark's
functions, nulls and NaNs included, and do not depend on how rows arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from latecomer.api.arguments import is_number
from latecomer.errors import OptionError
from latecomer.operators.aggregates.counting import Count
from latecomer.operators.aggregates.custom import UserAggregate as Aggregate
from latecomer.operators.aggregates.distinct import ApproxCountDistinct, CountDistinct
from latecomer.operators.aggregates.ends import First, Last
from latecomer.operators.aggregates.extremes import Max, Min
from latecomer.operators.aggregates.lists import Collect, TopK
from latecomer.operators.aggregates.moments import Stddev, Variance
from latecomer.operators.aggregates.quantiles import Quantile
from latecomer.operators.aggregates.sketches import QuantileSketch
from latecomer.operators.aggregates.sums import Mean, Sum

if TYPE_CHECKING:
    from pyspark.sql import Column

    Expression: TypeAlias = str | Column

__all__ = [
    "Aggregate",
    "collect",
    "count",
    "count_distinct",
    "first",
    "last",
    "max",
    "mean",
    "min",
    "quantile",
    "stddev",
    "sum",
    "top_k",
    "variance",
]

DistinctHow = Literal["exact", "approximate"]
QuantileHow = Literal["exact", "sketch"]


def count(column: Expression | None = None, *, where: Expression | None = None) -> Count:
    """Count the rows, or those that are not null in a column: `count(where="price > 100")`."""
    return Count("" if column is None else _given(column), _given(where))


def count_distinct(
    column: Expression,
    *,
    how: DistinctHow = "exact",
    error: float = 0.05,
    where: Expression | None = None,
) -> CountDistinct | ApproxCountDistinct:
    """Count the different values: `count_distinct("user", how="approximate")`.

    Args:
        column: The values.
        how: "exact" holds every value; "approximate" holds at most about 1 / error² hashes.
        error: The relative standard deviation of an approximate count.
        where: The rows that are counted.

    Raises:
        OptionError: `how` is unknown, or the error is not between 0 and 1.
    """
    _check_how(how, get_args(DistinctHow))
    _check_error(error)
    if how == "exact":
        return CountDistinct(_given(column), _given(where))
    return ApproxCountDistinct(_given(column), _given(where), error=error)


def sum(column: Expression, *, where: Expression | None = None) -> Sum:  # noqa: A001
    """Add up a column: `sum("price * volume")`."""
    return Sum(_given(column), _given(where))


def mean(column: Expression, *, where: Expression | None = None) -> Mean:
    """Take the mean of a column: `mean("price")`."""
    return Mean(_given(column), _given(where))


def min(column: Expression, *, where: Expression | None = None) -> Min:  # noqa: A001
    """Find the smallest value: `min("price")`."""
    return Min(_given(column), _given(where))


def max(column: Expression, *, where: Expression | None = None) -> Max:  # noqa: A001
    """Find the largest value: `max("price")`."""
    return Max(_given(column), _given(where))


def first(column: Expression, *, where: Expression | None = None) -> First:
    """Take the value of the earliest row, by time: `first("price", where="price IS NOT NULL")`."""
    return First(_given(column), _given(where))


def last(column: Expression, *, where: Expression | None = None) -> Last:
    """Take the value of the latest row, by time: `last("price")`."""
    return Last(_given(column), _given(where))


def variance(column: Expression, *, where: Expression | None = None) -> Variance:
    """Compute the sample variance: `variance("price")`."""
    return Variance(_given(column), _given(where))


def stddev(column: Expression, *, where: Expression | None = None) -> Stddev:
    """Compute the sample standard deviation: `stddev("price")`."""
    return Stddev(_given(column), _given(where))


def quantile(
    column: Expression,
    q: float | Sequence[float],
    *,
    how: QuantileHow = "exact",
    error: float = 0.01,
    where: Expression | None = None,
) -> Quantile | QuantileSketch:
    """Find the value below which a share of all values lies: `quantile("delay", 0.99)`.

    Several shares give a list, from one state: `quantile("delay", [0.5, 0.9, 0.99])`.

    Args:
        column: The values.
        q: The share, from 0 to 1, or several; 0.5 is the median.
        how: "exact" holds every value; "sketch" holds counts of values that are nearly equal.
        error: The largest relative error of a sketch.
        where: The rows that are counted.

    Raises:
        OptionError: `how` is unknown, or a number is out of its range.
    """
    _check_how(how, get_args(QuantileHow))
    _check_error(error)
    several = tuple(q) if isinstance(q, list | tuple) else (q,)
    if not several or not all(is_number(each) and 0 <= each <= 1 for each in several):
        raise OptionError(f"q must be from 0 to 1; got {q!r}.\nHint: the median is q=0.5.")
    shares = several if isinstance(q, list | tuple) else several[0]
    if how == "exact":
        return Quantile(_given(column), _given(where), q=shares)
    return QuantileSketch(_given(column), _given(where), q=shares, error=error)


def top_k(
    column: Expression,
    k: int,
    *,
    by: Expression | None = None,
    ties: bool = False,
    where: Expression | None = None,
) -> TopK:
    """List the largest values, or those of the rows largest in `by`: `top_k("price", 3)`.

    Args:
        column: The values.
        k: Largest number of values.
        by: The column that decides which rows are largest. The list then has structs of both.
        ties: Whether to include all rows that equal the last one: those with `rank() <= k`.
        where: The rows that are counted.

    Raises:
        OptionError: k is not a positive integer.
    """
    if not is_number(k) or k < 1 or k % 1:
        message = f"k must be a positive integer; got {k!r}.\nHint: the three largest are k=3."
        raise OptionError(message)
    return TopK(_given(column), _given(where), k=int(k), by=_given(by), ties=ties)


def collect(column: Expression, *, where: Expression | None = None) -> Collect:
    """List all values that are not null, in order of time: `collect("page")`."""
    return Collect(_given(column), _given(where))


def _given(expression: Expression | None) -> Any:  # noqa: ANN401
    """Return an expression unchanged; the stream replaces it by the name of a column."""
    return expression


def _check_how(how: str, ways: tuple[str, ...]) -> None:
    if how not in ways:
        raise OptionError(f"unknown how={how!r}.\nHint: use one of {', '.join(ways)}.")


def _check_error(error: float) -> None:
    if not (is_number(error) and 0 < error < 1):
        raise OptionError(
            f"error must be between 0 and 1; got {error!r}.\nHint: one per cent is error=0.01."
        )
