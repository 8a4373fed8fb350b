import numpy as np

from latecomer.kernels.due_order import due_order


def test_rows_come_out_in_order_of_time_once_the_clock_reaches_them() -> None:
    times, clock = np.array([5, 9, 7, 6, 12]), np.array([2, 6, 6, 6, 9])

    order, at, held = due_order(times, 0, clock)

    assert (order.tolist(), at.tolist(), held.tolist()) == ([0, 3, 2, 1], [1, 3, 4, 4], [4])


def test_rows_held_before_may_come_out_at_the_first_arrival() -> None:
    order, at, held = due_order(np.array([4, 3, 4, 5]), 2, np.array([4, 4]))

    assert (order.tolist(), at.tolist(), held.tolist()) == ([1, 0, 2], [0, 0, 0], [3])
