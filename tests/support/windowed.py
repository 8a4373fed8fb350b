"""Rows of all types, aggregates that Spark has too, and the results of the local host."""

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Row

from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.hosts.local import LocalHost, Step
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.operators.windows.sliding import sliding
from latecomer.plan import LatePolicy, Plan, Source, Stage
from tests.support.batches import SECOND, TIME

if TYPE_CHECKING:
    from latecomer.operators.base import Operator

WAITS = ["0 seconds", "2 seconds", "4 seconds"]
COUNTS = Summary(("key",), (("rows", agg.count()), ("highest", agg.max("id"))))


def on_the_local_host(
    batches: Sequence[pa.Table], windows: Windows | None, late: LatePolicy
) -> list[Step]:
    """Count in windows, or if there are none, in a sliding window of 5 seconds."""
    waits, schema = (0, 2 * SECOND, 4 * SECOND), batches[0].schema
    operators: tuple[Operator, ...] = (
        sliding(TIME, waits, 5 * SECOND, COUNTS, schema)
        if windows is None
        else (Aggregation(TIME, windows, waits, (COUNTS,)),)
    )
    plan = Plan(Source(TIME), OneClock(waits), late, (Stage(("key",), operators),))
    host = LocalHost(plan, schema)
    # Spark runs a batch without data after the last one, because the clock has advanced.
    return [host.step(batch) for batch in [*batches, batches[0].slice(0, 0)]]


def told(rows: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return results as plain values, in a fixed order."""
    return sorted(
        (
            row["wait"],
            row["window"]["start"].timestamp(),
            row["window"]["end"].timestamp(),
            row["key"],
            row["rows"],
            row["highest"],
            row["is_final"],
            "is_changed" in row and row["is_changed"],
        )
        for row in rows
    )


def random_rows(seed: int, count: int = 3_000) -> pa.Table:
    """Return columns of every type that is aggregated, with nulls."""
    random = np.random.default_rng(seed)

    def some(values: Sequence[Any] | np.ndarray, kind: pa.DataType, nulls: float = 0.1) -> pa.Array:
        return pa.array(values, kind, mask=random.random(count) < nulls)

    floats = random.choice([-1.5, 0.0, -0.0, 2.25, float("nan"), 7.5], count)
    words = [f"word {n}" for n in random.integers(0, 40, count)]
    cents = [Decimal(int(n)).scaleb(-2) for n in random.integers(-9_999, 9_999, count)]
    return pa.table(
        {
            "time": pa.array(random.integers(0, 10**8, count), pa.timestamp("us", "UTC")),
            "key": some([f"k{n}" for n in random.integers(0, 5, count)], pa.string(), 0.05),
            "other": some(random.choice([0.0, -0.0, float("nan"), 3.5], count), pa.float64()),
            "small": some(random.integers(-100, 100, count), pa.int16()),
            "large": some(random.integers(-(10**12), 10**12, count), pa.int64()),
            "real": some(random.normal(size=count), pa.float64()),
            "single": some(random.integers(-50, 50, count) / 4, pa.float32()),
            "odd": some(floats, pa.float64()),
            "money": some(cents, pa.decimal128(10, 2)),
            "word": some(words, pa.string()),
            "flag": some(random.random(count) < 0.3, pa.bool_()),
            "day": some(random.integers(0, 9_000, count).astype(np.int32), pa.date32()),
            "nothing": pa.nulls(count, pa.int64()),
        }
    )


OWN: dict[str, tuple[Any, str]] = {
    "rows": (agg.count(), "count(*)"),
    "counted": (agg.count("small"), "count(small)"),
    "flagged": (agg.count(where="flag"), "count_if(flag)"),
    "few": (agg.count(where="large > 0 AND small < 5"), "count_if(large > 0 AND small < 5)"),
    "words": (agg.count_distinct("word"), "count(DISTINCT word)"),
    "odds": (agg.count_distinct("odd"), "count(DISTINCT odd)"),
    "moneys": (agg.count_distinct("money"), "count(DISTINCT money)"),
    "sum_small": (agg.sum("small"), "sum(small)"),
    "sum_large": (agg.sum("large", where="flag"), "sum(large) FILTER (WHERE flag)"),
    "sum_real": (agg.sum("real"), "sum(real)"),
    "sum_single": (agg.sum("single"), "sum(single)"),
    "sum_money": (agg.sum("money"), "sum(money)"),
    "sum_nothing": (agg.sum("nothing"), "sum(nothing)"),
    "sum_computed": (agg.sum("small * large"), "sum(small * large)"),
    "mean_small": (agg.mean("small"), "avg(small)"),
    "mean_money": (agg.mean("money"), "avg(money)"),
    "mean_nothing": (agg.mean("nothing"), "avg(nothing)"),
    "min_odd": (agg.min("odd"), "min(odd)"),
    "max_odd": (agg.max("odd"), "max(odd)"),
    "min_word": (agg.min("word"), "min(word)"),
    "max_word": (agg.max("word", where="small > 0"), "max(word) FILTER (WHERE small > 0)"),
    "max_money": (agg.max("money"), "max(money)"),
    "max_flag": (agg.max("flag"), "max(flag)"),
    "min_day": (agg.min("day"), "min(day)"),
    "first_word": (agg.first("word"), "min_by(struct(word), time).word"),
    "last_real": (agg.last("real"), "max_by(struct(real), time).real"),
    "variance": (agg.variance("real"), "var_samp(real)"),
    "stddev": (agg.stddev("small"), "stddev_samp(small)"),
    "quantile": (agg.quantile("real", 0.9), "percentile(real, 0.9)"),
    "median": (agg.quantile("small", 0.5), "percentile(small, 0.5)"),
    "quantiles": (agg.quantile("real", [0.5, 0.9]), "percentile(real, array(0.5D, 0.9D))"),
    "top_ties": (
        agg.top_k("small", 3, ties=True),
        (
            "filter(sort_array(collect_list(small), false), each -> each >= "
            "element_at(slice(sort_array(collect_list(small), false), 1, 3), -1))"
        ),
    ),
    "top": (agg.top_k("large", 3), "slice(sort_array(collect_list(large), false), 1, 3)"),
    "all_small": (
        agg.collect("small"),
        (
            "transform(array_sort(collect_list(struct(time, small)) "
            "FILTER (WHERE small IS NOT NULL)), pair -> pair.small)"
        ),
    ),
}


def values(rows: Sequence[Row]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the results of each window and group."""
    found = {}
    for row in rows:
        fields = row.asDict()
        window, *keys = (fields.pop(name) for name in ("window", "key", "other"))
        key = tuple("NaN" if k != k else k for k in keys)  # noqa: PLR0124 - NaN is like itself here
        found[window.start, window.end, *key] = fields
    return found
