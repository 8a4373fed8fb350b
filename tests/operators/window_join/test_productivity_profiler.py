import numpy as np

from latecomer.arrays import read_arrays, write_arrays
from latecomer.operators.window_join.productivity_profiler import (
    Productivity,
    TupleProductivityProfiler,
)


def gave(
    delays: list[int], cross: list[float], joined: list[float], late: int = -1
) -> Productivity:
    in_order = np.arange(len(delays)) != late
    return Productivity(np.array(delays), in_order, np.array(cross), np.array(joined))


def test_the_selectivity_under_a_wait_is_that_of_tuples_with_no_longer_delay() -> None:
    profiler = TupleProductivityProfiler(10)
    profiler.record(gave([0, 0, 20], [10.0, 10.0, 20.0], [1.0, 1.0, 6.0]))

    # 2 of 20 without a wait; 8 of 40 in all.
    assert profiler.ratios(4).tolist() == [0.5, 0.5, 1.0, 1.0]
    assert profiler.true_results == 8


def test_a_tuple_out_of_order_is_taken_to_be_as_productive_as_any() -> None:
    profiler = TupleProductivityProfiler(10)
    profiler.record(gave([0, 0, 20], [10.0, 10.0, 0.0], [1.0, 3.0, 0.0], late=2))

    assert (profiler.cross.tolist(), profiler.joined.tolist()) == ([20, 0, 10], [4, 0, 3])


def test_long_after_the_last_result_nothing_is_known_of_the_selectivity() -> None:
    profiler = TupleProductivityProfiler(10, memory=2)
    profiler.record(gave([0, 20], [8.0, 8.0], [1.0, 4.0]))
    assert profiler.ratios(3).tolist() != [1, 1, 1]
    for _ in range(1_100):
        profiler.record(gave([0, 20], [8.0, 8.0], [0.0, 0.0]))
        assert np.isfinite(profiler.ratios(3)).all()

    assert profiler.ratios(3).tolist() == [1, 1, 1]


def test_intervals_before_are_forgotten_or_fade() -> None:
    last, both = TupleProductivityProfiler(10), TupleProductivityProfiler(10, memory=2)
    for profiler in (last, both):
        profiler.record(gave([30], [8.0], [4.0]))
        profiler.record(gave([0], [8.0], [4.0]))

    assert last.joined.tolist() == [4, 0, 0, 0]
    assert both.joined.tolist() == [4, 0, 0, 2]


def test_where_nothing_joins_all_delays_are_equally_productive() -> None:
    profiler = TupleProductivityProfiler(10)
    profiler.record(gave([0, 20], [5.0, 5.0], [0.0, 0.0]))

    assert profiler.ratios(3).tolist() == [1, 1, 1]


def test_where_nothing_meets_without_a_wait_nothing_is_known_of_it() -> None:
    profiler = TupleProductivityProfiler(10)
    profiler.record(gave([0, 20], [0.0, 5.0], [0.0, 1.0]))

    assert profiler.ratios(3).tolist() == [1, 1, 1]


def test_parts_of_an_interval_are_recorded_together() -> None:
    profiler = TupleProductivityProfiler(10)

    profiler.record(Productivity.none() + gave([0], [8.0], [4.0]) + gave([20], [8.0], [2.0]))

    assert profiler.joined.tolist() == [4, 0, 2]
    assert profiler.true_results == 6


def test_waits_beyond_the_longest_delay_find_everything() -> None:
    profiler = TupleProductivityProfiler(10)
    profiler.record(gave([0, 10], [10.0, 10.0], [1.0, 3.0]))

    assert profiler.ratios(4).tolist() == [0.5, 1, 1, 1]
    assert profiler.ratios(1).tolist() == [0.5]


def test_a_profile_goes_on_where_it_was_written() -> None:
    one, other = (TupleProductivityProfiler(10, memory=2) for _ in range(2))
    one.record(gave([30], [8.0], [4.0]))
    other.load(read_arrays(write_arrays(one.save())))

    for each in (one, other):
        each.record(gave([0], [8.0], [2.0]))

    assert other.joined.tolist() == one.joined.tolist() == [2, 0, 0, 2]
    assert other.true_results == 2


def test_what_is_not_recorded_yet_is_written_too() -> None:
    some = gave([0, 20], [1.0, 2.0], [0.0, 1.0], late=1)

    again = Productivity.saved(read_arrays(write_arrays(some.save())))

    assert again.delays.tolist() == [0, 20]
    assert again.in_order.tolist() == [True, False]
    assert (again.cross.tolist(), again.joined.tolist()) == ([1, 2], [0, 1])


def test_results_are_counted_by_delay_and_late_tuples_as_the_most_productive() -> None:
    profiler = TupleProductivityProfiler(10)
    profiler.record(gave([0, 10, 11, 99, 0], [2.0, 3.0, 5.0, 1.0, 0.0], [0.0] * 5, late=4))

    assert profiler.cross[:3].tolist() == [2 + 5, 3, 5]
    assert profiler.cross[10] == 1


def test_without_tuples_there_are_no_results() -> None:
    profiler = TupleProductivityProfiler(10)
    profiler.record(Productivity.none())

    assert (profiler.cross.tolist(), profiler.true_results) == ([0], 0)
