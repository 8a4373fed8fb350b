from __future__ import annotations

import numpy as np
import pytest

from latecomer.generate.injection.distributions import (
    LAST_BELOW_1,
    Exponential,
    Listed,
    Lognormal,
    Normal,
    Shape,
    Uniform,
)

SHAPES: list[Shape] = [
    Uniform(10, 1_000),
    Exponential(1_000),
    Normal(5_000, 1_000),
    Lognormal(1_000, 1.5),
    Listed.weighted(np.array([10, 20, 40]), np.array([1.0, 2.0, 1.0])),
]


def quantile(shape: Shape, *shares: float) -> list[float]:
    return shape.quantile(np.array(shares)).tolist()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_a_quantile_is_where_the_share_below_passes_it(shape: Shape) -> None:
    for share in (0.01, 0.2, 0.5, 0.9, 0.999):
        (delay,) = quantile(shape, share)
        assert shape.below(int(delay)) <= share + 1e-9
        assert shape.below(int(delay) + 1) >= share - 1e-9


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_larger_shares_have_no_smaller_quantiles_and_the_ends_are_numbers(shape: Shape) -> None:
    found = quantile(shape, 0.0, 0.1, 0.5, 0.9, LAST_BELOW_1)

    assert found == sorted(found)
    assert np.isfinite(found).all()


def test_uniform_delays_are_from_the_least_to_the_most() -> None:
    shape = Uniform(10, 12)

    assert quantile(shape, 0, 0.34, 0.67, 0.99) == [10, 11, 12, 12]
    assert [shape.below(delay) for delay in (0, 10, 11, 13, 99)] == [
        0,
        0,
        pytest.approx(1 / 3),
        1,
        1,
    ]


def test_each_mean_more_is_2_7_times_rarer() -> None:
    shape = Exponential(100)

    assert 1 - shape.below(100) == pytest.approx(1 / np.e)
    assert 1 - shape.below(300) == pytest.approx(1 / np.e**3)
    assert quantile(shape, 1 - 1 / np.e) == [pytest.approx(100)]


def test_normal_delays_are_around_their_mean() -> None:
    shape = Normal(500, 100)

    assert quantile(shape, 0.5, 0.8413447) == [500, pytest.approx(600, rel=1e-5)]
    assert shape.below(300) == pytest.approx(0.02275, rel=1e-3)


def test_lognormal_delays_have_their_median_and_none_is_0() -> None:
    shape = Lognormal(1_000, 2.0)

    assert quantile(shape, 0.5) == [1_000]
    assert quantile(shape, 0.8413447) == [pytest.approx(1_000 * np.e**2, rel=1e-4)]
    assert shape.below(0) == 0


def test_listed_delays_come_by_their_weights() -> None:
    shape = Listed.weighted(np.array([10, 20, 40]), np.array([1.0, 2.0, 1.0]))

    assert quantile(shape, 0, 0.24, 0.25, 0.74, 0.75, LAST_BELOW_1) == [10, 10, 20, 20, 40, 40]
    assert [shape.below(delay) for delay in (10, 11, 20, 21, 41)] == [0, 0.25, 0.25, 0.75, 1]
