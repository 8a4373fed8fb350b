"""Make a stream as disordered as requested: `latecomer.inject_disorder`.

`fates` computes what depends on each row alone. `local` and `spark` put the rows in time order,
find the share to delay, and put the result in order of arrival. Both give the same result.

**A table has an order, a DataFrame has none.** Without an arrival column, the rows of a table are
taken to have arrived in table order, each at the newest time so far. The rows of a DataFrame are
taken to have arrived in order of time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from latecomer.errors import FractionWarning, OptionError
from latecomer.generate.injection.delays import Delay
from latecomer.generate.injection.fates import Injection
from latecomer.generate.injection.local import disorder_table
from latecomer.generate.injection.patterns import Drift, Outage, Override, Pattern, check_share
from latecomer.generate.injection.report import DisorderReport
from latecomer.time import TimeColumn, Unit, check_unit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Rows = TypeVar("Rows", "DataFrame", pa.Table)


def inject_disorder(
    rows: Rows,
    *,
    time: str,
    fraction: float,
    delay: str | Delay,
    seed: int = 0,
    arrival: str | None = None,
    unit: Unit | None = None,
    patterns: Sequence[Pattern] = (),
    report: Callable[[DisorderReport], object] | None = None,
) -> Rows:
    """Delay some rows, so that a given fraction of all arrives out of order.

    Times stay as they are, so any query over all the rows has the same result as before. The same
    seed delays the same rows by the same time, on Spark or not, whatever the partitioning.

    Args:
        rows: A batch DataFrame, or an Arrow table.
        time: Name of the time column: a timestamp, a date, or an integer.
        fraction: The share of rows that are out of order in the result, from 0 to 1. A row is out
            of order if it comes after a newer one. Rows that are so in the source count, and stay
            as they are. If the fraction cannot be met within 0.002, a `FractionWarning` says why.
        delay: Distribution of the delays, for example "uniform:1s:60s"; all forms are listed in
            `latecomer.generate.injection.delays`.
        seed: Another seed delays other rows by other times.
        arrival: Name of the column that holds the arrival of a row. Without it, the rows of a
            table arrived in table order, and the rows of a DataFrame in order of time.
        unit: Unit of an integer `time` or `arrival` column: "s", "ms", "us" or "ns".
        patterns: `Drift`, `Outage` and `Override`, which vary delays over time and by source.
        report: A function that is called with a `DisorderReport`, for example `print`. On Spark
            this computes the result once more.

    Returns:
        The rows in order of arrival, with a column `arrival`. Rows without a time are kept; they
        are never delayed.

    Raises:
        ColumnNotFoundError: There is no such column.
        ColumnTypeError: The time or arrival column is not a time.
        ColumnNameError: A column has a reserved name, for example "arrival".
        OptionError: An option was given a value that it does not take.
    """
    check_share("fraction", fraction)
    _check_kinds(rows, patterns)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise OptionError(f"seed must be a whole number; got {seed!r}.")
    check_unit(unit)
    injection = Injection(
        time=TimeColumn(time, unit),
        arrival=TimeColumn(arrival, unit) if arrival is not None else None,
        fraction=fraction,
        delay=Delay.of(delay),
        seed=seed,
        patterns=tuple(patterns),
    )
    if isinstance(rows, pa.Table):
        result, outcome = disorder_table(rows, injection)
    else:
        from latecomer.generate.injection.spark import disorder_frame

        result, outcome = disorder_frame(rows, injection)
    if reason := outcome.why_missed():
        warnings.warn(reason, FractionWarning, stacklevel=2)
    if report is not None:
        told = DisorderReport.of(result, outcome)
        if told.disorder is not None and told.disorder.out_of_order != outcome.found.out_of_order:
            message = (
                "the rows changed between two passes over them, so the fraction is not what was "
                "asked for.\nHint: cache the DataFrame, or write it and read it again."
            )
            warnings.warn(message, FractionWarning, stacklevel=2)
        report(told)
    return result


def _check_kinds(rows: object, patterns: object) -> None:
    if not isinstance(rows, pa.Table) and not hasattr(rows, "mapInArrow"):
        message = f"rows must be a Spark DataFrame or an Arrow table; got {type(rows).__name__}."
        raise OptionError(f"{message}\nHint: for example pa.Table.from_pandas(rows).")
    if not isinstance(patterns, list | tuple) or not all(
        isinstance(pattern, Drift | Outage | Override) for pattern in patterns
    ):
        message = f"patterns must be a list of Drift, Outage and Override; got {patterns!r}."
        raise OptionError(f"{message}\nHint: for example patterns=[Drift('1 hour', 5)].")
