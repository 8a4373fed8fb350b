"""The public aggregate functions: the aggregates that they return, and errors."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from latecomer import agg
from latecomer.errors import OptionError
from latecomer.operators.aggregates.counting import Count
from latecomer.operators.aggregates.custom import Custom
from latecomer.operators.aggregates.distinct import ApproxCountDistinct, CountDistinct
from latecomer.operators.aggregates.ends import First, Last
from latecomer.operators.aggregates.extremes import Max, Min
from latecomer.operators.aggregates.lists import Collect, TopK
from latecomer.operators.aggregates.moments import Stddev, Variance
from latecomer.operators.aggregates.quantiles import Quantile
from latecomer.operators.aggregates.sketches import QuantileSketch
from latecomer.operators.aggregates.sums import Mean, Sum
from tests.support.all_aggregates import concrete

if TYPE_CHECKING:
    from collections.abc import Callable

MADE = [
    (agg.count(), Count()),
    (agg.count("x", where="w"), Count("x", "w")),
    (agg.count_distinct("x", where="w"), CountDistinct("x", "w")),
    (
        agg.count_distinct("x", how="approximate", error=0.1, where="w"),
        ApproxCountDistinct("x", "w", error=0.1),
    ),
    (agg.sum("x", where="w"), Sum("x", "w")),
    (agg.mean("x", where="w"), Mean("x", "w")),
    (agg.min("x", where="w"), Min("x", "w")),
    (agg.max("x", where="w"), Max("x", "w")),
    (agg.first("x", where="w"), First("x", "w")),
    (agg.last("x", where="w"), Last("x", "w")),
    (agg.variance("x", where="w"), Variance("x", "w")),
    (agg.stddev("x", where="w"), Stddev("x", "w")),
    (agg.quantile("x", 0.5, where="w"), Quantile("x", "w", q=0.5)),
    (
        agg.quantile("x", 1, how="sketch", error=0.1, where="w"),
        QuantileSketch("x", "w", q=1, error=0.1),
    ),
    (agg.quantile("x", [0.5, 0.9]), Quantile("x", q=(0.5, 0.9))),
    (agg.top_k("x", 3, by="y", where="w"), TopK("x", "w", k=3, by="y")),
    (agg.top_k("x", 3, ties=True), TopK("x", k=3, ties=True)),
    (agg.collect("x", where="w"), Collect("x", "w")),
]


@pytest.mark.parametrize(("made", "expected"), MADE, ids=lambda each: type(each).__name__)
def test_a_function_makes_its_aggregate(made: object, expected: object) -> None:
    assert type(made) is type(expected)
    assert made == expected


def test_every_aggregate_has_a_function() -> None:
    assert {type(made) for made, _ in MADE} | {Custom} == concrete()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: agg.top_k("x", 0), "k must be a positive integer; got 0"),
        (lambda: agg.top_k("x", 1.5), "k must be a positive integer; got 1.5"),  # type: ignore[arg-type]
        (lambda: agg.top_k("x", True), "k must be a positive integer; got True"),  # noqa: FBT003
        (lambda: agg.quantile("x", 1.1), "q must be from 0 to 1; got 1.1"),
        (lambda: agg.quantile("x", float("nan")), "q must be from 0 to 1; got nan"),
        (lambda: agg.quantile("x", "0.5"), "q must be from 0 to 1; got '0.5'"),  # type: ignore[arg-type]
        (lambda: agg.quantile("x", [0.5, 2]), "q must be from 0 to 1; got [0.5, 2]"),
        (lambda: agg.quantile("x", []), "q must be from 0 to 1; got []"),
        (lambda: agg.quantile("x", 0.5, how="fast"), "unknown how='fast'"),  # type: ignore[arg-type]
        (lambda: agg.quantile("x", 0.5, error=0), "error must be between 0 and 1; got 0"),
        (lambda: agg.count_distinct("x", error=1), "error must be between 0 and 1; got 1"),
        (lambda: agg.count_distinct("x", how="sketch"), "unknown how='sketch'"),  # type: ignore[arg-type]
    ],
)
def test_parameters_out_of_range_are_refused_with_a_hint(
    call: Callable[[], Any], message: str
) -> None:
    with pytest.raises(OptionError) as caught:
        call()

    assert str(caught.value).startswith(message)
    assert "\nHint: " in str(caught.value)


def test_naming_aggregates_does_not_import_spark() -> None:
    script = "import sys; from latecomer import agg; sys.exit('pyspark' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
