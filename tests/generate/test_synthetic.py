from __future__ import annotations

import re

import numpy as np
import pytest

from latecomer.errors import OptionError
from latecomer.generate.synthetic import synthetic


def moves(percent: float, amount: float, rows: int = 100_000) -> np.ndarray:
    """Return how far each row was moved back."""
    table = synthetic(rows, percent=percent, amount=amount, seed=1)
    return table["arrival"].to_numpy() - table["time"].to_numpy()


def test_rows_arrive_one_by_one() -> None:
    table = synthetic(5, percent=100, amount=10, seed=1)

    assert table["arrival"].to_pylist() == [0, 1, 2, 3, 4]
    assert table.schema.names == ["time", "arrival"]
    assert {str(kind) for kind in table.schema.types} == {"int64"}


@pytest.mark.parametrize("percent", [0, 0.5, 30, 100])
def test_so_many_percent_are_moved_and_never_forward(percent: float) -> None:
    found = moves(percent, amount=1e9)

    assert found.min() >= 0
    assert np.count_nonzero(found) == 1_000 * percent


def test_rows_are_moved_as_far_as_a_normal_distribution_says() -> None:
    found = moves(100, amount=1_000)

    assert np.sqrt(np.mean(found.astype(float) ** 2)) == pytest.approx(1_000, rel=0.01)
    assert np.mean(found <= 1_000) == pytest.approx(0.683, abs=0.005)


def test_an_amount_of_nothing_moves_nothing() -> None:
    assert not moves(100, amount=0).any()


def test_moved_rows_are_spread_over_the_whole_stream() -> None:
    parts = np.count_nonzero(moves(30, amount=1e6).reshape(10, -1), axis=1)

    assert parts == pytest.approx(3_000, rel=0.1)


def test_equal_seeds_give_equal_streams_and_others_do_not() -> None:
    first, again, other = (synthetic(100, percent=50, amount=9, seed=s) for s in (1, 1, 2))

    assert first == again
    assert first != other


def test_a_stream_may_have_no_rows() -> None:
    assert synthetic(0, percent=50, amount=9, seed=1).num_rows == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rows": -1}, "rows must be from 0 to 1,000,000,000,000,000; got -1"),
        ({"amount": -0.5}, "amount must be from 0 to 1,000,000,000,000,000; got -0.5"),
        ({"amount": float("nan")}, "amount must be from 0 to 1,000,000,000,000,000; got nan"),
        ({"percent": -1}, "percent must be from 0 to 100; got -1"),
        ({"percent": 100.1}, "percent must be from 0 to 100; got 100.1"),
        ({"percent": float("nan")}, "percent must be from 0 to 100; got nan"),
    ],
)
def test_what_cannot_be_made_is_refused_with_a_hint(wrong: dict, message: str) -> None:
    options = {"rows": 10, "percent": 10, "amount": 1, "seed": 1} | wrong

    with pytest.raises(OptionError, match=f"{re.escape(message)}\\.\nHint: "):
        synthetic(options.pop("rows"), **options)
