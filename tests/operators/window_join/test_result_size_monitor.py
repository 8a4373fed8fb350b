import numpy as np

from latecomer.arrays import read_arrays, write_arrays
from latecomer.operators.window_join.result_size_monitor import ResultSizeMonitor


def test_results_are_counted_by_their_times() -> None:
    monitor = ResultSizeMonitor()
    monitor.add(np.array([1, 3, 3]), np.array([2.0, 1.0, 1.0]))
    monitor.add(np.array([7]), np.array([5.0]))

    assert [monitor.count(0, 7), monitor.count(1, 3), monitor.count(3, 6)] == [9, 2, 0]
    monitor.forget(3)
    assert (monitor.count(0, 9), monitor.total) == (5, 9)


def test_a_count_is_after_one_time_and_until_another() -> None:
    monitor = ResultSizeMonitor()
    monitor.add(np.array([1, 2, 3]), np.array([1.0, 10.0, 100.0]))

    assert monitor.count(1, 3) == 110
    assert monitor.count(0, 2) == 11
    assert monitor.count(3, 9) == monitor.count(2, 2) == 0


def test_no_results_are_counted_as_none() -> None:
    monitor = ResultSizeMonitor()
    monitor.add(np.empty(0, np.int64), np.empty(0))
    monitor.forget(5)

    assert (monitor.count(-9, 9), monitor.total) == (0, 0)


def test_forgotten_results_are_no_longer_counted_but_later_ones_are() -> None:
    monitor = ResultSizeMonitor()
    monitor.add(np.array([1, 2]), np.array([1.0, 10.0]))
    monitor.forget(1)
    monitor.add(np.array([3]), np.array([100.0]))

    assert monitor.count(0, 3) == 110
    assert monitor.total == 111


def test_cancelled_results_are_no_longer_counted() -> None:
    monitor = ResultSizeMonitor()
    monitor.add(np.array([1, 2, 2, 3]), np.array([1.0, 10.0, 20.0, 100.0]))
    monitor.retract(2)
    monitor.add(np.array([2]), np.array([1_000.0]))

    assert monitor.count(0, 3) == monitor.total == 1_001


def test_a_monitor_goes_on_where_it_was_written() -> None:
    one, other = ResultSizeMonitor(), ResultSizeMonitor()
    one.add(np.array([1, 2]), np.array([1.0, 10.0]))
    one.forget(1)
    other.load(read_arrays(write_arrays(one.save())))

    assert (other.count(0, 9), other.total) == (10, 11)
