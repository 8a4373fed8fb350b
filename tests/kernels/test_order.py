import subprocess
import sys
from unittest.mock import patch

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


@pytest.mark.parametrize("by", ["radix", "numpy"])
@given(times=st.one_of(small, anything))
def test_rows_come_in_order_of_time_and_then_of_place(times: list[int], by: str) -> None:
    with patch.object(order, "is_compiler_worth_it", lambda: by == "radix"):
        got = stable_order(np.array(times, np.int64))

    assert got.tolist() == sorted(range(len(times)), key=lambda i: (times[i], i))


def test_times_too_far_apart_for_a_word_are_sorted_too() -> None:
    times = np.array([2**62, -(2**62), 2**62, 0], np.int64)

    assert stable_order(times).tolist() == [1, 3, 0, 2]


def test_a_few_ascending_pieces_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "FEW_PIECES", 2)
    times = np.array([1, 5, 7, 2, 5], np.int64)

    assert stable_order(times).tolist() == [0, 3, 1, 4, 2]


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows(rows: int) -> None:
    assert stable_order(np.zeros(rows, np.int64)).tolist() == list(range(rows))


SORT_TWICE = """
import sys
import numpy as np
from latecomer.kernels import order

order.WORTH_COMPILING = 3_000
times = np.random.default_rng(1).permutation(4_000)
for _ in range(2):
    assert np.array_equal(order.stable_order(times), np.argsort(times))
    print("numba" in sys.modules)
"""


def test_the_compiler_is_loaded_only_once_many_rows_were_sorted() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SORT_TWICE], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["False", "True"]


def test_loading_the_compiler_is_worth_it_if_it_is_loaded_or_much_was_sorted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "numba", sys)
    assert order.is_compiler_worth_it()

    monkeypatch.delitem(sys.modules, "numba")
    monkeypatch.setattr(order, "_BY_NUMPY", order.Sorted(order.WORTH_COMPILING))
    assert not order.is_compiler_worth_it()

    monkeypatch.setattr(order, "_BY_NUMPY", order.Sorted(order.WORTH_COMPILING + 1))
    assert order.is_compiler_worth_it()
