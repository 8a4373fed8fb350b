"""Every aggregate, with the types that it takes and a slow twin in plain Python."""

from __future__ import annotations

import math
import statistics
import struct
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer.operators.aggregates.counting import Count
from latecomer.operators.aggregates.custom import UserAggregate
from latecomer.operators.aggregates.distinct import ApproxCountDistinct, CountDistinct
from latecomer.operators.aggregates.ends import First, Last
from latecomer.operators.aggregates.extremes import Max, Min
from latecomer.operators.aggregates.lists import Collect, TopK
from latecomer.operators.aggregates.moments import Stddev, Variance
from latecomer.operators.aggregates.quantiles import Quantile
from latecomer.operators.aggregates.sketches import QuantileSketch
from latecomer.operators.aggregates.sums import Mean, Sum
from tests.operators.aggregates.running import BY, VALUE
from tests.support import carried

if TYPE_CHECKING:
    from collections.abc import Callable

    from latecomer.operators.aggregates.base import Aggregate

Rows = list[tuple[int, Any, Any]]
"""Time, value and `by`, in order of arrival."""

NEGATIVE_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]
FLOATS = [0.0, -0.0, 1.5, -2.25, 1e6, math.nan, NEGATIVE_NAN, math.inf, -math.inf]

INTEGERS = {
    pa.int8(): [-128, 127, 0, 3],
    pa.int16(): [-32_768, 32_767, 0],
    pa.int32(): [-(2**31), 2**31 - 1, 5],
    pa.int64(): [0, 1, -3, 2**40, -(2**40)],
}
NUMBERS = INTEGERS | {
    pa.float32(): FLOATS,
    pa.float64(): FLOATS,
    pa.decimal128(10, 2): [Decimal("1.25"), Decimal("-99999999.99"), Decimal("0.00")],
}
DURATIONS = {pa.duration("us"): [timedelta(microseconds=n) for n in (0, 1, -1, -2, 10**14)]}
OTHERS = {
    pa.decimal128(38, 0): [Decimal(10**38 - 1), Decimal(1 - 10**38), Decimal(7)],
    pa.bool_(): [True, False],
    pa.string(): ["", "a", "ä", "aa", "z"],
    pa.large_string(): ["", "a", "ä", "aa", "z"],
    pa.binary(): [b"", b"\x00", b"\xff", b"\x00\x01"],
    pa.date32(): [date(1900, 1, 1), date(2024, 2, 29), date(1970, 1, 1)],
    pa.timestamp("us"): [datetime(1969, 7, 20), datetime(2024, 2, 29, 1)],  # noqa: DTZ001
    pa.timestamp("us", "UTC"): [datetime(1, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)],
    pa.time64("ns"): [time(0), time(23, 59, 59)],
}
EXTREME = {pa.uint8(): [0, 255], pa.int64(): [-(2**63), 2**63 - 1, 0, -1]}
ORDERED = NUMBERS | DURATIONS | OTHERS | EXTREME
NESTED = {
    pa.list_(pa.int64()): [[], [1, 2], [3]],
    pa.struct([("x", pa.int64())]): [{"x": 1}, {"x": 2}],
    **carried.KINDS,
}
ANY = ORDERED | NESTED


SEVERAL = (0.9, 0.0, 0.3)


def is_near(one: Any, other: Any, error: float = 1e-9) -> bool:  # noqa: ANN401
    """Return True if two results are equal, apart from the last digits of floats."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_near, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_near(one[name], other[name]) for name in one)
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return math.isclose(one, other, rel_tol=error, abs_tol=error)
    return type(one) is type(other) and one == other


@dataclass(frozen=True)
class Case:
    """An aggregate of the column `value`, the types it takes, and its expected results."""

    aggregate: Aggregate
    kinds: dict[pa.DataType, list[Any]]
    expected: Callable[[Rows], Any]
    agrees: Callable[[Any, Any], bool] = field(default=is_near)


def rank(value: Any) -> Any:  # noqa: ANN401
    """Return a sort key in which NaN is the largest number, and equal to itself."""
    if not isinstance(value, float):
        return value
    return (True, 0.0) if math.isnan(value) else (False, value)


def values(rows: Rows) -> list[Any]:
    return [value for _, value, _ in rows if value is not None]


def total(rows: Rows) -> Any:  # noqa: ANN401
    first, *others = values(rows) or [None]
    return sum(others, first)


def mean(rows: Rows) -> Any:  # noqa: ANN401
    all_, count = total(rows), len(values(rows))
    if isinstance(all_, timedelta):
        micros = all_ // timedelta(microseconds=1)
        half_up = math.floor(Fraction(abs(micros), count) + Fraction(1, 2))
        return timedelta(microseconds=half_up if micros > 0 else -half_up)
    if isinstance(all_, Decimal):
        return (all_ / count).quantize(all_.scaleb(-4), ROUND_HALF_UP)
    return all_ / count if count else None


def variance(rows: Rows) -> float | None:
    numbers = [float(value) for value in values(rows)]
    if len(numbers) < 2:
        return None
    return statistics.variance(numbers) if all(map(math.isfinite, numbers)) else math.nan


def stddev(rows: Rows) -> float | None:
    squared = variance(rows)
    return None if squared is None else math.sqrt(squared)


def distinct(rows: Rows) -> int:
    return len({"NaN" if value != value else value for value in values(rows)})  # noqa: PLR0124


def quantile(q: float) -> Callable[[Rows], Any]:
    def expected(rows: Rows) -> Any:  # noqa: ANN401
        ordered = sorted(values(rows), key=rank)
        if not ordered:
            return None
        place = (len(ordered) - 1) * q
        low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
        if isinstance(low, timedelta):
            low, high = (each // timedelta(microseconds=1) for each in (low, high))
        share = place - math.floor(place)
        between = float(low) + share * (float(high) - float(low))
        found = float(low) if low == high or not share else between
        return timedelta(microseconds=int(found)) if isinstance(ordered[0], timedelta) else found

    return expected


def several(one: Callable[[float], Callable[[Rows], Any]]) -> Callable[[Rows], Any]:
    def expected(rows: Rows) -> Any:  # noqa: ANN401
        return [one(q)(rows) for q in SEVERAL] if values(rows) else None

    return expected


def lower_quantile(q: float) -> Callable[[Rows], Any]:
    def expected(rows: Rows) -> Any:  # noqa: ANN401
        ordered = sorted(values(rows), key=rank)
        return ordered[math.floor((len(ordered) - 1) * q)] if ordered else None

    return expected


def within(error: float) -> Callable[[Any, Any], bool]:
    def agrees(found: Any, value: Any) -> bool:  # noqa: ANN401
        if value is None or found is None:
            return found is value
        if isinstance(value, timedelta):
            return abs(found - value) <= abs(value) * error + timedelta(microseconds=1)
        if isinstance(value, list):
            return len(found) == len(value) and all(map(agrees, found, value))
        value = float(value)
        if math.isfinite(value):
            return abs(found - value) <= abs(value) * error * (1 + 1e-9)
        return is_near(found, value)

    return agrees


def top(rows: Rows) -> list[Any]:
    return sorted(values(rows), key=rank, reverse=True)[:2]


def top_by(rows: Rows) -> list[Any]:
    kept = [(value, by) for _, value, by in rows if value is not None and by is not None]
    kept.sort(key=lambda row: rank(row[0]))
    kept.sort(key=lambda row: rank(row[1]), reverse=True)
    return [{"v": value, "b": by} for value, by in kept[:2]]


def top_with_ties(rows: Rows) -> list[Any]:
    ordered = sorted(values(rows), key=rank, reverse=True)
    return [value for value in ordered if rank(value) >= rank(ordered[:2][-1])]


def top_by_with_ties(rows: Rows) -> list[Any]:
    kept = [(value, by) for _, value, by in rows if value is not None and by is not None]
    kept.sort(key=lambda row: rank(row[0]))
    kept.sort(key=lambda row: rank(row[1]), reverse=True)
    return [{"v": value, "b": by} for value, by in kept if rank(by) >= rank(kept[:2][-1][1])]


def collected(rows: Rows) -> list[Any]:
    return values(sorted(rows, key=lambda row: row[0]))


def first(rows: Rows) -> Any:  # noqa: ANN401
    return min(rows, key=lambda row: row[0])[1] if rows else None


def last(rows: Rows) -> Any:  # noqa: ANN401
    return max(reversed(rows), key=lambda row: row[0])[1] if rows else None


class Gaps(UserAggregate):
    """The largest minus the smallest value, and the number of nulls."""

    state_type = pa.list_(pa.int64())
    result_type = pa.struct([("spread", pa.int64()), ("nulls", pa.int64())])

    def zero(self) -> list[int | None]:
        return [None, None, 0]

    def add(self, state: list[int | None], values: pa.Array) -> list[int | None]:
        found = values.drop_null().to_pylist()
        ends = [min(found), max(found)] if found else [None, None]
        return self.merge(state, [*ends, values.null_count])

    def merge(self, one: list[Any], other: list[Any]) -> list[int | None]:
        if one[0] is None or other[0] is None:
            ends = other[:2] if one[0] is None else one[:2]
        else:
            ends = [min(one[0], other[0]), max(one[1], other[1])]
        return [*ends, one[2] + other[2]]

    def finish(self, state: list[Any]) -> dict[str, int | None]:
        low, high, nulls = state
        return {"spread": None if low is None else high - low, "nulls": nulls}


def gaps(rows: Rows) -> dict[str, int | None]:
    found = values(rows)
    spread = max(found) - min(found) if found else None
    return {"spread": spread, "nulls": len(rows) - len(found)}


NAMES = (("column", "v"), ("by", "b"))

ALL = [
    Case(Count(), ANY, len),
    Case(Count(VALUE), ANY, lambda rows: len(values(rows))),
    Case(Sum(VALUE), NUMBERS | DURATIONS, total),
    Case(Mean(VALUE), NUMBERS | DURATIONS, mean),
    Case(Min(VALUE), ORDERED, lambda rows: min(values(rows), key=rank, default=None)),
    Case(Max(VALUE), ORDERED, lambda rows: max(values(rows), key=rank, default=None)),
    Case(First(VALUE), ANY, first),
    Case(Last(VALUE), ANY, last),
    Case(Variance(VALUE), NUMBERS, variance),
    Case(Stddev(VALUE), NUMBERS, stddev),
    Case(CountDistinct(VALUE), ORDERED, distinct),
    Case(ApproxCountDistinct(VALUE), ORDERED, distinct),
    *(Case(Quantile(VALUE, q=q), NUMBERS | DURATIONS, quantile(q)) for q in (0.0, 0.3, 1.0)),
    *(
        Case(QuantileSketch(VALUE, q=q), NUMBERS | DURATIONS, lower_quantile(q), within(0.01))
        for q in (0.0, 0.3, 1.0)
    ),
    Case(Quantile(VALUE, q=SEVERAL), NUMBERS | DURATIONS, several(quantile)),
    Case(
        QuantileSketch(VALUE, q=SEVERAL), NUMBERS | DURATIONS, several(lower_quantile), within(0.01)
    ),
    Case(TopK(VALUE, k=2), ORDERED, top),
    Case(TopK(VALUE, k=2, by=BY, texts=NAMES), ORDERED, top_by),
    Case(TopK(VALUE, k=2, ties=True), ORDERED, top_with_ties),
    Case(TopK(VALUE, k=2, by=BY, texts=NAMES, ties=True), ORDERED, top_by_with_ties),
    Case(Collect(VALUE), ANY, collected),
    Case(Gaps(VALUE).specification(), INTEGERS, gaps),
]
