"""Estimates from samples: limits, types, and how often the true result is within the bounds."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from latecomer import agg
from latecomer.errors import AggregateOverflowError
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.estimates.estimation import Estimation
from latecomer.operators.estimates.spread import UNIT

if TYPE_CHECKING:
    from latecomer.operators.aggregates.base import Aggregate


def estimation(
    rows: pa.Table, keys: tuple[str, ...] = (), confidence: float = 0.95, **aggregates: Aggregate
) -> Estimation:
    return Estimation(Summary(keys, tuple(aggregates.items())), rows.schema, confidence)


def answer(
    rows: pa.Table, share: float, keys: tuple[str, ...] = (), **aggregates: Aggregate
) -> list[dict[str, Any]]:
    """Estimate from a sample."""
    asked = estimation(rows, keys, **aggregates)
    states = asked.add(rows, is_last=share == 1)
    return asked.answer(asked.merge([states], is_last=share == 1), share).to_pylist()


def numbers(values: Any, kind: pa.DataType | None = None) -> pa.Table:  # noqa: ANN401
    """Return rows, each of which is a unit of its own."""
    return pa.table({"x": pa.array(values, kind), UNIT: np.arange(len(values))})


def test_counts_and_sums_are_scaled_and_others_are_not() -> None:
    (found,) = answer(
        numbers([1, 2, 3, 6]),
        0.25,
        n=agg.count(),
        total=agg.sum("x"),
        mean=agg.mean("x"),
        low=agg.min("x"),
        spread=agg.variance("x"),
    )

    assert (found["n"], found["total"], found["mean"]) == (16, 48, 3.0)
    assert (found["low"], found["spread"]) == (1, pytest.approx(14 / 3))
    # By hand: z · √((1 − f) · 4) / f, and t with three degrees of freedom.
    assert found["n_high"] - 16 == pytest.approx(1.959964 * (0.75 * 4) ** 0.5 / 0.25)
    assert found["total_high"] - 48 == pytest.approx(1.959964 * (0.75 * 50) ** 0.5 / 0.25)
    assert found["mean_high"] - 3 == pytest.approx(3.182 * (0.75 * 14 / 3 / 4) ** 0.5, rel=2e-3)
    assert found["low_low"] is found["low_high"] is found["spread_low"] is None


def test_the_lower_bound_of_a_count_is_at_least_the_sample() -> None:
    (found,) = answer(numbers([1]), 0.5, n=agg.count())

    assert (found["n"], found["n_low"]) == (2, 1.0)


def test_with_all_rows_no_width_is_left() -> None:
    (found,) = answer(
        numbers([1, 2, 3, 6]),
        1,
        n=agg.count(),
        total=agg.sum("x"),
        q=agg.quantile("x", 0.5),
        low=agg.min("x"),
        spread=agg.variance("x"),
    )

    assert (found["n"], found["total"], found["q"], found["low"]) == (4, 12, 2.5, 1)
    for name in ("n", "total", "q", "low", "spread"):
        assert found[name] == found[f"{name}_low"] == found[f"{name}_high"]


def test_bounds_that_would_be_beyond_the_sample_are_left_out() -> None:
    asked = {"median": agg.quantile("x", 0.5), "high": agg.quantile("x", 0.99)}

    (few,) = answer(numbers([1.0, 2.0]), 0.1, **asked)
    (many,) = answer(numbers(np.arange(1000.0)), 0.1, **asked)

    assert few["median_low"] is few["median_high"] is None
    assert 450 < many["median_low"] < many["median"] < many["median_high"] < 550
    assert many["high_low"] < many["high"] < many["high_high"]


def test_a_mean_of_one_row_has_no_bounds() -> None:
    (found,) = answer(numbers([5.0]), 0.1, mean=agg.mean("x"))

    assert found == {"mean": 5.0, "mean_low": None, "mean_high": None}


def test_nothing_but_nulls() -> None:
    rows = numbers([None, None], pa.float64())
    (found,) = answer(
        rows, 0.1, n=agg.count("x"), s=agg.sum("x"), m=agg.mean("x"), q=agg.quantile("x", 0.5)
    )

    assert (found["n"], found["n_low"], found["n_high"]) == (0, 0.0, None)
    assert {found[name] for name in found if not name.startswith("n")} == {None}


def test_infinities_and_nans_leave_bounds_open_without_a_warning() -> None:
    asked = {"s": agg.sum("x"), "m": agg.mean("x"), "q": agg.quantile("x", 0.5)}
    for odd in (np.inf, -np.inf, np.nan):
        (found,) = answer(numbers([1.0, odd, 2.0]), 0.5, **asked)

        assert not np.isfinite([found["s"], found["m"], found["s_low"], found["m_high"]]).any()


def test_rows_of_one_unit_give_wider_bounds_than_rows_of_many() -> None:
    values = np.tile([1.0, 5.0, 2.0, 7.0], 50)
    alone = numbers(values)
    together = alone.set_column(1, UNIT, pa.array(np.arange(200) % 40))
    asked = {"n": agg.count(), "m": agg.mean("x"), "q": agg.quantile("x", 0.4)}

    (one,), (other,) = answer(alone, 0.1, **asked), answer(together, 0.1, **asked)

    for name in asked:
        assert one[name] == other[name]
        assert one[f"{name}_high"] < other[f"{name}_high"]


@pytest.mark.parametrize(
    ("kind", "value", "estimated", "bound"),
    [
        (pa.decimal128(5, 2), Decimal("1.25"), Decimal("2.50"), pa.float64()),
        (pa.int16(), 3, 6, pa.float64()),
        (pa.duration("us"), 3, 6, pa.duration("us")),
    ],
)
def test_a_sum_keeps_its_type(
    kind: pa.DataType, value: object, estimated: object, bound: pa.DataType
) -> None:
    rows = numbers([value], kind)
    asked = estimation(rows, s=agg.sum("x"))
    table = asked.answer(asked.merge([asked.add(rows, is_last=False)], is_last=False), 0.5)

    assert table.schema.field("s").type == agg.sum("x").result_type(rows.schema)
    assert table.schema.field("s_low").type == bound
    found = table["s"].cast(pa.int64()) if bound == kind else table["s"]
    assert found.to_pylist() == [estimated]


def test_an_estimate_that_does_not_fit_is_refused() -> None:
    with pytest.raises(AggregateOverflowError, match='sum of column "x" does not fit'):
        answer(numbers([2**62]), 0.1, s=agg.sum("x"))


def test_no_rows_give_no_groups() -> None:
    assert answer(numbers([], pa.int64()), 0.1, n=agg.count()) == []


def sampled(
    rows: pa.Table, units: np.ndarray, random: np.random.Generator, share: float
) -> pa.Table:
    """Draw each unit with the same probability."""
    drawn = random.random(int(units.max()) + 1) < share
    keep = drawn[units]
    return rows.append_column(UNIT, pa.array(units)).filter(pa.array(keep))


@pytest.mark.parametrize("rows_of_a_unit", [1, 7])
def test_the_truth_is_within_the_bounds_about_as_often_as_asked(rows_of_a_unit: int) -> None:
    random = np.random.default_rng(11)
    count = 6_000
    units = np.arange(count) // rows_of_a_unit
    by_unit = random.gamma(2.0, 10.0, count)[units]
    rows = pa.table({"key": units % 3, "x": by_unit + random.normal(0, 1, count)})
    asked: dict[str, Aggregate] = {
        "n": agg.count(),
        "some": agg.count(where="few"),
        "total": agg.sum("x"),
        "mean": agg.mean("x"),
        "median": agg.quantile("x", 0.5),
        "high": agg.quantile("x", 0.9, how="sketch", error=0.001),
    }
    rows = rows.append_column("few", pa.array(random.random(count) < 0.4))
    everything = rows.append_column(UNIT, pa.array(units))
    truth = {row["key"]: row for row in answer(everything, 1, ("key",), **asked)}

    hits, tries = dict.fromkeys(asked, 0), 0
    for _ in range(300):
        for row in answer(sampled(rows, units, random, 0.2), 0.2, ("key",), **asked):
            tries += 1
            for name in asked:
                real = truth[row["key"]][name]
                hits[name] += row[f"{name}_low"] <= real <= row[f"{name}_high"]

    assert tries == 900
    for name, hit in hits.items():
        assert 0.92 < hit / tries < 0.99, (name, hit / tries)


def test_less_confidence_gives_narrower_bounds() -> None:
    rows = numbers(np.arange(100.0))
    widths = []
    for confidence in (0.5, 0.9, 0.99):
        asked = estimation(rows, confidence=confidence, mean=agg.mean("x"))
        states = asked.merge([asked.add(rows, is_last=False)], is_last=False)
        (row,) = asked.answer(states, 0.1).to_pylist()
        widths.append(row["mean_high"] - row["mean_low"])

    assert widths == sorted(widths)
