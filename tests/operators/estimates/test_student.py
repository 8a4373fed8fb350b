import numpy as np
import pytest

from latecomer.operators.estimates.student import normal, student


@pytest.mark.parametrize(
    ("confidence", "freedom", "expected"),
    [
        (0.95, 1, 12.706),
        (0.95, 2, 4.303),
        (0.95, 3, 3.182),
        (0.95, 5, 2.571),
        (0.95, 10, 2.228),
        (0.95, 30, 2.042),
        (0.9, 4, 2.132),
        (0.99, 10, 3.169),
    ],
)
def test_the_quantiles_are_those_of_the_tables(
    confidence: float, freedom: int, expected: float
) -> None:
    assert student(confidence, np.array([freedom]))[0] == pytest.approx(expected, rel=2e-3)


def test_with_many_values_the_quantile_is_that_of_the_normal_distribution() -> None:
    assert normal(0.95) == pytest.approx(1.959964)
    assert student(0.95, np.array([10**9]))[0] == pytest.approx(normal(0.95))
