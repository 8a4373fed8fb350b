import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.due_order import due_order


def test_rows_come_out_in_order_of_time_once_the_clock_reaches_them() -> None:
    times, clock = np.array([5, 9, 7, 6, 12]), np.array([2, 6, 6, 6, 9])

    order, at, held = due_order(times, 0, clock)

    assert (order.tolist(), at.tolist(), held.tolist()) == ([0, 3, 2, 1], [1, 3, 4, 4], [4])


def test_rows_held_before_may_come_out_at_the_first_arrival() -> None:
    order, at, held = due_order(np.array([4, 3, 4, 5]), 2, np.array([4, 4]))

    assert (order.tolist(), at.tolist(), held.tolist()) == ([1, 0, 2], [0, 0, 0], [3])


@given(
    times=st.lists(st.integers(-5, 20), max_size=30),
    steps=st.lists(st.integers(0, 4), max_size=20),
)
def test_each_row_comes_out_when_the_clock_first_reaches_it(
    times: list[int], steps: list[int]
) -> None:
    clock = [sum(steps[: i + 1]) - 3 for i in range(min(len(steps), len(times)))]
    held = len(times) - len(clock)
    out: list[tuple[int, int, int]] = []
    for row, time in enumerate(times):
        at = next((i for i, now in enumerate(clock) if i >= row - held and now >= time), None)
        if at is not None:
            out.append((at, time, row))

    order, at, still = due_order(np.array(times, np.int64), held, np.array(clock, np.int64))

    assert list(zip(at.tolist(), order.tolist(), strict=True)) == [
        (when, row) for when, _, row in sorted(out)
    ]
    assert still.tolist() == sorted(set(range(len(times))) - set(order.tolist()))
