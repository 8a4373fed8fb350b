import numpy as np

from latecomer.kernels.productivity import add_results


def test_results_are_counted_by_delay_and_late_tuples_as_the_most_productive() -> None:
    by_delay = np.array([1.0, 0.0, 0.0])
    delays, in_order = np.array([0, 10, 11, 99, 0]), np.array([True, True, True, True, False])

    total = add_results(delays, in_order, np.array([2.0, 3.0, 5.0, 1.0, 0.0]), (10, 2), by_delay)

    assert by_delay.tolist() == [1 + 2 + 5, 3, 5 + 1]
    assert total == 16


def test_nothing_is_given_by_nobody() -> None:
    nothing = np.empty(0, np.int64)

    assert add_results(nothing, np.empty(0, np.bool_), np.empty(0), (10, 2), np.zeros(1)) == 0
