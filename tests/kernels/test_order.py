import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels import order
from latecomer.kernels.order import stable_order

small = st.lists(st.integers(-5, 5), max_size=40)
anything = st.lists(st.integers(-(2**63) + 1, 2**63 - 2), max_size=40)


@pytest.fixture(autouse=True)
def pack_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "FEW_ROWS", 0)
    monkeypatch.setattr(order, "FEW_PIECES", 1)


@given(times=st.one_of(small, anything))
def test_rows_come_in_order_of_time_and_then_of_place(times: list[int]) -> None:
    got = stable_order(np.array(times, np.int64))

    assert got.tolist() == sorted(range(len(times)), key=lambda i: (times[i], i))


def test_times_too_far_apart_for_a_word_are_sorted_too() -> None:
    times = np.array([2**62, -(2**62), 2**62, 0], np.int64)

    assert stable_order(times).tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows(rows: int) -> None:
    assert stable_order(np.zeros(rows, np.int64)).tolist() == list(range(rows))
