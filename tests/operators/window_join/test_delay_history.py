import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.arrays import read_arrays, write_arrays
from latecomer.operators.window_join import delay_history
from latecomer.operators.window_join.delay_history import (
    LONGEST_SKEW,
    MOST_STEPS,
    DelayHistory,
)
from tests.support.cuts import cuts, parts


def test_delays_are_counted_in_steps_rounded_up() -> None:
    history = DelayHistory(10)
    delays = np.array([0, 1, 10, 11, 20, 21])
    history.add(delays, delays)
    assert history.counts.tolist() == [1, 2, 2, 1]

    history.add(np.array([2**62]), np.array([0]))
    assert history.largest == MOST_STEPS


@given(delays=st.lists(st.integers(0, 500), max_size=120), at=cuts)
def test_the_counted_delays_are_those_in_the_window_of_adwin(
    delays: list[int], at: list[int]
) -> None:
    history = DelayHistory(10)
    for start, stop in parts(len(delays), at):
        some = np.array(delays[start:stop], np.int64)
        history.add(some, some + 5)

    kept = -(-np.array(delays[len(delays) - len(history) :], np.int64) // 10)
    counts = np.bincount(kept, minlength=len(history.counts))
    assert history.counts.tolist() == counts.tolist()
    assert history.largest == kept.max(initial=0)
    assert np.isclose(history.skew, np.mean([d + 5 for d in delays]) if len(history) else 0)


def test_a_change_of_delays_is_noticed() -> None:
    history, ones = DelayHistory(10), np.ones(2_000, np.int64)

    history.add(10 * (np.arange(2_000) % 2), ones)
    assert len(history) == 2_000
    history.add(400 + 10 * (np.arange(2_000) % 2), ones)

    assert len(history) <= 2_100
    assert history.counts[40:42].sum() > 0.9 * len(history)


def test_an_empty_history_has_no_delays() -> None:
    history = DelayHistory(10)
    nothing = np.empty(0, np.int64)
    history.add(nothing, nothing)

    assert (len(history), history.largest, history.skew) == (0, 0, 0.0)


def test_a_skew_longer_than_half_a_year_counts_as_that() -> None:
    history = DelayHistory(10)
    history.add(np.zeros(2, np.int64), np.array([0, 2**62]))

    assert history.skew == LONGEST_SKEW / 2


def test_the_number_of_remembered_tuples_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delay_history, "MOST", 100)
    history = DelayHistory(10)
    for start in range(0, 300, 30):
        delays = 10 * (np.arange(start, start + 30) % 2)
        history.add(delays, np.zeros(30, np.int64))

    # The bucket that contains the hundredth tuple, and those after it.
    assert 100 <= len(history) < 140
    assert history.counts.sum() == len(history)


def test_the_saved_state_does_not_grow_with_the_tuples() -> None:
    history, sizes = DelayHistory(10), []
    delays = np.random.default_rng(4).integers(0, 200, 1 << 16)
    for start in range(0, len(delays), 1 << 12):
        some = delays[start : start + (1 << 12)]
        history.add(some, some)
        sizes.append(len(write_arrays(history.save())))

    # Each doubling adds a bucket, which has at most one line for each delay.
    assert sizes[-1] < 2 * sizes[0]


def test_a_history_goes_on_where_it_was_written() -> None:
    one, other = DelayHistory(10), DelayHistory(10)
    delays = np.random.default_rng(4).integers(0, 200, 500)
    one.add(delays[:300], delays[:300])
    other.load(read_arrays(write_arrays(one.save())))

    for each in (one, other):
        each.add(delays[300:], delays[300:])

    assert other.counts.tolist() == one.counts.tolist()
    assert (len(other), other.skew) == (len(one), one.skew)
