from __future__ import annotations

import numpy as np
import pyarrow as pa

from latecomer.arrays import read_arrays, write_arrays
from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.held_rows import HeldRows
from latecomer.operators.window_join.hindsight import Hindsight
from latecomer.operators.window_join.joiner import Probes, WindowJoin
from latecomer.operators.window_join.reordering import Arrivals
from latecomer.operators.window_join.tuples import Tuples

SCHEMA = pa.schema({"key": pa.int64()})
JOIN = WindowJoin((5, 5), Equalities.common("key", "key"))
LONG = 20
"""A wait longer than any delay here."""


def hindsight() -> Hindsight:
    """Return a hindsight for streams whose rows all have one key."""
    rows = HeldRows([SCHEMA] * 2)
    for stream in range(2):
        rows.add(stream, pa.table({"key": [1] * 20}, SCHEMA))
    return Hindsight(JOIN, rows)


def arrivals(*rows: tuple[int, int]) -> Arrivals:
    streams, times = np.array(rows, np.int64).reshape(-1, 2).T
    return Arrivals(streams, times, np.arange(len(rows)))


def probes(*found: tuple[int, float]) -> Probes:
    """Return the output of the join: times, and the number of results at each."""
    times = np.array([time for time, _ in found], np.int64)
    zeros = np.zeros(len(found), np.int64)
    joined = np.array([count for _, count in found], np.float64)
    tuples = Tuples(zeros, times, zeros, zeros)
    in_order = np.ones(len(found), np.bool_)
    return Probes(tuples, in_order, times, joined, joined, times, np.empty((0, 2), np.int64))


# The rows at 1 and 3 of stream 0 join the one at 4 of stream 1, and the last two rows join each
# other. The row at 3 comes late.
LATE = arrivals((0, 1), (0, 6), (1, 4), (1, 6), (0, 3), (0, 40), (1, 40))


def test_late_rows_are_counted_as_if_they_had_come_in_time() -> None:
    known = hindsight()
    known.add(LATE, LONG, probes())

    # The row at 4 joins two rows. Those at 6 join the rows at 1, 3 and 4, and each other.
    assert known.clock == 6
    assert known.true.count(0, 5) == 2
    assert known.true.total == 2 + 1 + 3


def test_nothing_is_known_before_the_clock_of_hindsight_starts() -> None:
    known = hindsight()
    known.add(arrivals((0, 1), (1, 1)), LONG, probes((1, 1.0)))

    assert known.settled() == (0, 0)


def test_missed_results_are_known_before_the_clock() -> None:
    known = hindsight()
    known.add(LATE, LONG, probes((4, 1.0), (6, 3.0)))

    # The clock is at 6, so more results at 6 may follow.
    assert known.settled() == (1, 2)


def test_at_the_end_results_at_the_clock_count_too() -> None:
    known = hindsight()
    known.add(LATE, LONG, probes((4, 2.0)))

    known.finish(probes((6, 4.0), (40, 0.0)))

    assert known.settled(is_over=True) == (6, 7)
    assert len(known.held) == 2


def test_streams_that_are_as_far_in_another_bucket_are_not_waited_for() -> None:
    known = hindsight()
    known.add(arrivals((0, 1), (1, 2)), LONG, probes())
    assert known.true.total == 0

    known.reach(2 + LONG, LONG, probes())

    assert known.true.total == 1


def test_rows_older_than_the_last_window_are_forgotten_but_the_totals_are_not() -> None:
    known = hindsight()
    known.add(LATE, LONG, probes((4, 1.0)))

    known.add(arrivals((0, 90), (1, 90)), LONG, probes())
    known.reach(90 + LONG, LONG, probes())

    known.forget()

    assert known.true.count(0, 80) == known.produced.count(0, 80) == 0
    # In addition to the results above, the rows at 40 join, and so do those at 90.
    assert known.true.total == 6 + 1 + 1
    assert known.produced.total == 1


def test_rows_that_may_be_counted_again_are_not_forgotten() -> None:
    known = hindsight()
    known.add(arrivals((0, 20), (1, 20), (0, 24), (1, 24)), 0, probes())
    assert known.true.total == 4
    known.forget()

    known.add(arrivals((0, 21)), 0, probes())

    # The row joins 20 and 24.
    assert known.true.total == 6


def grown() -> Hindsight:
    """Return a hindsight whose longest delay has grown after a row had left its buffer."""
    known = hindsight()
    known.add(arrivals((0, 30), (1, 0)), 0, probes())
    # The row at 30 waits for the other stream. The row at 10 comes later, and waits longer.
    known.add(arrivals((0, 10), (1, 8)), 25, probes())
    known.add(arrivals((1, 70)), 25, probes())
    return known


def test_a_row_that_waits_longer_than_later_ones_before_it_is_counted() -> None:
    known = grown()
    assert known.undecided == 3
    known.finish(probes())

    # The rows at 8 and 10 join, although the row at 30 left its buffer before the one at 10.
    assert known.settled(is_over=True) == (0, 1)


def test_rows_that_are_ahead_of_their_turn_are_written_too() -> None:
    known, other = grown(), hindsight()
    assert 30 in known.held.times
    other.load(read_arrays(write_arrays(known.save())))

    for each in (known, other):
        each.finish(probes())

    assert other.settled(is_over=True) == known.settled(is_over=True) == (0, 1)


def test_what_is_written_goes_on_where_it_was() -> None:
    one, other = hindsight(), hindsight()
    one.add(LATE, LONG, probes((4, 1.0)))
    other.load(read_arrays(write_arrays(one.save())))

    for each in (one, other):
        each.finish(probes())

    assert other.settled(is_over=True) == one.settled(is_over=True) == (1, 7)
