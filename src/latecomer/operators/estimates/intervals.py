"""Estimates from a sample, and the bounds between which the true value should be.

Every unit (`spread`) is in the sample with the same probability, the *share*, independently of all
others: a Bernoulli sample. With f for the share, and the sums of `spread`:

    count, sum   that of the sample, divided by f; the variance is (1 − f) / f² · Σ s² over units
    mean         that of the sample, a ratio of two sums; (1 − f) · Σ (s − mean · n)² / (Σ n)²,
                 with Student's t, since the spread is estimated from the sample too
    quantile     that of the sample; the bounds are its quantiles at
                 q ± z · √((1 − f) · q · (1 − q) / m), where m = (Σ n)² / Σ n² is the number of
                 rows that would be as informative if they had been drawn one by one

The factor 1 − f is the part not yet seen: at a share of 1 the bounds have no width.

Variance and standard deviation have estimates without bounds, since the known bounds hold for
normal values only. The smallest and the largest value have no bounds either: a sample has no
information about values beyond it. A bound is also left out if it would lie beyond the sample, for
the mean of a single unit, and above a count of which no unit was seen.

Paper: D. G. Horvitz, D. J. Thompson, "A Generalization of Sampling Without Replacement From a
    Finite Universe", JASA 47(260), 1952; R. S. Woodruff, "Confidence Intervals for Medians and
    Other Position Measures", JASA 47(260), 1952; L. Kish, "Survey Sampling", 1965, for m.
Holds: bounds enclose the estimate; a count is at least what was seen.
"""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from latecomer.batch import Mask
from latecomer.errors import AggregateOverflowError
from latecomer.operators.aggregates.base import Aggregate, Columns, is_number
from latecomer.operators.aggregates.counting import Count
from latecomer.operators.aggregates.quantiles import AnyQuantile
from latecomer.operators.aggregates.sums import Mean, Sum
from latecomer.operators.aggregates.wide import MOST_DIGITS
from latecomer.operators.estimates.spread import Spread
from latecomer.operators.estimates.student import Numbers, normal, student


@dataclass(frozen=True, slots=True)
class Sample:
    """The share of units that were drawn, and the confidence that bounds must have."""

    share: float
    confidence: float


class Estimate(NamedTuple):
    """The estimates of all groups, and their bounds; null where there are none."""

    value: pa.Array
    low: pa.Array
    high: pa.Array


def estimate(
    aggregate: Aggregate, states: Columns, spread: Columns, sample: Sample, schema: pa.Schema
) -> Estimate:
    """Estimate an aggregate of all rows, given its states of the rows of a sample.

    `spread` has the states of its `Spread`: none if it has no bounds, or if no rows are missing.
    """
    seen = aggregate.finish(states, schema)
    kind = bound_type(seen.type)
    if sample.share == 1:
        bound = seen.cast(kind, safe=False)
        return Estimate(seen, bound, bound)
    if isinstance(aggregate, Count | Sum):
        return _of_totals(aggregate, seen, spread, sample)
    if isinstance(aggregate, Mean):
        return _of_means(seen, spread, sample)
    if isinstance(aggregate, AnyQuantile):
        return _of_quantiles(aggregate, seen, states, spread, sample)
    nothing = pa.nulls(len(seen), kind)
    return Estimate(seen, nothing, nothing)


def spread_of(aggregate: Aggregate) -> Spread | None:
    """Return the aggregate that bounds are computed from; None if there are no bounds."""
    if isinstance(aggregate, Sum | Mean):
        return Spread(aggregate.column, aggregate.where, is_summed=True)
    if isinstance(aggregate, Count | AnyQuantile):
        return Spread(aggregate.column, aggregate.where)
    return None


def bound_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of bounds: double if the result is a number, else that of the result."""
    return pa.float64() if is_number(kind) else kind


def _of_totals(aggregate: Count | Sum, seen: pa.Array, spread: Columns, sample: Sample) -> Estimate:
    units, _, mean, squares, products, sizes = (part.to_numpy() for part in spread)
    total = _numbers(seen)
    with np.errstate(invalid="ignore", over="ignore"):
        by_unit = squares + 2 * mean * products + mean**2 * sizes
        half = normal(sample.confidence) * _root((1 - sample.share) * by_unit) / sample.share
        low, high = total / sample.share - half, total / sample.share + half
    nothing, kind = np.asarray(seen.is_null()), seen.type
    if isinstance(aggregate, Count):
        low = np.maximum(low, total)
    return Estimate(
        _scaled(seen, sample.share, aggregate.column),
        _bounds(low, nothing, kind),
        # If no unit was seen, there may still be any number of them.
        _bounds(high, units == 0, kind),
    )


def _of_means(seen: pa.Array, spread: Columns, sample: Sample) -> Estimate:
    units, rows, _, squares, _, _ = (part.to_numpy() for part in spread)
    others = np.maximum(units - 1, 1)
    with np.errstate(invalid="ignore", over="ignore"):
        variance = (1 - sample.share) * squares * units / others
        half = student(sample.confidence, others) * _root(variance) / np.maximum(rows, 1)
        low, high = _numbers(seen) - half, _numbers(seen) + half
    is_alone = units < 2  # noqa: PLR2004
    return Estimate(seen, _bounds(low, is_alone, seen.type), _bounds(high, is_alone, seen.type))


def _of_quantiles(
    aggregate: AnyQuantile, seen: pa.Array, states: Columns, spread: Columns, sample: Sample
) -> Estimate:
    _, rows, _, _, _, sizes = (part.to_numpy() for part in spread)
    q = np.float64(aggregate.q)  # type: ignore[arg-type]  # lists are refused before
    by_row = sizes / np.maximum(rows, 1) ** 2
    half = normal(sample.confidence) * _root((1 - sample.share) * q * (1 - q) * by_row)
    is_empty = rows == 0
    shares = np.stack([q - half, q + half], axis=1)
    found = aggregate.located(states, np.clip(shares, 0.0, 1.0))
    low = _bounds(found[:, 0], is_empty | (shares[:, 0] <= 0), seen.type)
    high = _bounds(found[:, 1], is_empty | (shares[:, 1] >= 1), seen.type)
    return Estimate(seen, low, high)


def _numbers(values: pa.Array) -> Numbers:
    """Return results as doubles; 0 for nulls."""
    plain = values.view(pa.int64()) if pa.types.is_duration(values.type) else values
    return plain.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy()


def _root(numbers: Numbers) -> Numbers:
    """Return the square root; numbers that rounding has made negative count as 0."""
    return np.sqrt(np.maximum(numbers, 0.0))


def _bounds(numbers: Numbers, nothing: Mask, of: pa.DataType) -> pa.Array:
    if pa.types.is_duration(of):
        whole = np.where(nothing, 0.0, np.rint(numbers)).astype(np.int64)
        return pa.array(whole, mask=nothing).view(of)
    return pa.array(numbers, mask=nothing)


def _scaled(seen: pa.Array, share: float, column: str) -> pa.Array:
    """Return totals divided by the share, in their own type."""
    kind = seen.type
    if pa.types.is_floating(kind):
        return pa.array(_numbers(seen) / share, mask=np.asarray(seen.is_null()))
    try:
        if pa.types.is_decimal(kind):
            context, part = Context(prec=2 * MOST_DIGITS), Decimal(share)
            decimals = [
                None if n is None else context.divide(n, part).quantize(n, ROUND_HALF_UP, context)
                for n in seen.to_pylist()
            ]
            return pa.array(decimals, kind)
        totals = seen.view(pa.int64()).to_pylist()
        whole = [None if total is None else round(total / share) for total in totals]
        return pa.array(whole, pa.int64()).view(kind)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise AggregateOverflowError(
            f'the estimated sum of column "{column}" does not fit: {error}.\n'
            f"Hint: use a wider type, for example sum('CAST(`{column}` AS DOUBLE)')."
        ) from error
