import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.overtaking import NOBODY, count_overtaken, overtaken

Row = tuple[int, int, int, int, bool]
"""Columns of a row: time, early, late, order, delayed."""

small = st.integers(0, 6)
streams = st.lists(st.tuples(small, small, small, small, st.booleans()), max_size=12).map(sorted)


def arrays(rows: list[Row]) -> list[np.ndarray]:
    columns = list(zip(*rows, strict=True)) or [()] * 5
    return [np.array(c, bool if i == 4 else np.int64) for i, c in enumerate(columns)]


def oracle(rows: list[Row]) -> list[bool]:
    """Return which rows are overtaken: those after a row with a later time."""
    comes = [((late if delayed else early), order) for _, early, late, order, delayed in rows]
    return [
        any(rows[j][0] > rows[i][0] and comes[j] < comes[i] for j in range(len(rows)))
        for i in range(len(rows))
    ]


@given(rows=streams)
def test_a_row_is_overtaken_iff_a_newer_one_comes_before_it(rows: list[Row]) -> None:
    times, early, late, orders, delayed = arrays(rows)

    flags = overtaken(times, np.where(delayed, late, early), orders, NOBODY)
    count, _ = count_overtaken(times, early, late, delayed, orders, NOBODY)

    assert flags.tolist() == oracle(rows)
    assert count == sum(oracle(rows))


@given(rows=streams, at=small)
def test_cutting_the_stream_by_time_changes_nothing(rows: list[Row], at: int) -> None:
    earlier = [row for row in rows if row[0] < at]
    later = [row for row in rows if row[0] >= at]

    def count(part: list[Row], first: tuple[int, int]) -> tuple[int, tuple[int, int]]:
        times, early, late, orders, delayed = arrays(part)
        return count_overtaken(times, early, late, delayed, orders, first)

    in_later, first = count(later, NOBODY)
    in_earlier, first_of_all = count(earlier, first)

    assert (in_earlier + in_later, first_of_all) == count(rows, NOBODY)


def test_equal_arrivals_come_in_the_order_of_the_source() -> None:
    times, arrivals = np.array([20, 30]), np.array([30, 30])

    assert overtaken(times, arrivals, np.array([0, 1]), NOBODY).tolist() == [False, False]
    assert overtaken(times, arrivals, np.array([1, 0]), NOBODY).tolist() == [True, False]
    assert overtaken(times, arrivals, np.array([0, 0]), NOBODY).tolist() == [False, False]


def test_rows_of_one_time_do_not_overtake_each_other() -> None:
    times = np.array([7, 7, 7])

    assert not overtaken(times, np.array([9, 8, 7]), np.array([0, 1, 2]), NOBODY).any()
