"""What is remembered of delays."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.time import FOREVER
from latecomer.waits.recent_delays import BLOCKS, RecentDelays, delay_of, steps_of
from tests.support.slow_adaptation import rounded


@given(st.integers(0, 2**62))
def test_a_delay_is_rounded_up_by_a_thirty_second_at_the_most(delay: int) -> None:
    step = int(steps_of(np.array([delay]))[0])

    assert delay <= delay_of(step) <= delay + max(delay // 32, 1_000) + 1_000
    assert step == 0 or delay_of(step - 1) < delay


@given(st.integers(0, 10**9))
def test_steps_are_those_of_the_slow_twin(delay: int) -> None:
    step, longest = rounded(delay)

    assert steps_of(np.array([delay])).tolist() == [step]
    assert delay_of(step) == longest


def test_no_delay_is_too_long_to_be_counted() -> None:
    history = RecentDelays(64)
    history.add(np.array([FOREVER, 0]), [0])

    assert history.wait_missing(0) == FOREVER
    assert history.beyond(0) == 1


def test_small_micro_batches_share_a_block_and_the_oldest_blocks_go() -> None:
    history = RecentDelays(10)
    for _ in range(10 * BLOCKS):
        history.add(np.zeros(3, np.int64), [1])

    # Four micro-batches make a block of twelve rows.
    assert len(history) == 12 * BLOCKS
    assert history.missed_by(0) == 4 * BLOCKS


def test_what_no_longer_resembles_the_present_is_forgotten() -> None:
    history = RecentDelays(10)
    for _ in range(30):
        history.add(np.full(20, 10**8), [0])
    for _ in range(30):
        history.add(np.zeros(20, np.int64), [0])

    assert history.wait_missing(0) == 0
    assert len(history) == 600
