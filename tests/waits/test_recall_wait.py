from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from latecomer.waits.recall_wait import (
    AIM,
    ENOUGH,
    LEAST_BLOCK,
    LOWEST,
    MOST_BLOCK,
    RecallWait,
    block_size,
    extrapolated,
)
from latecomer.waits.recent_delays import RecentDelays

if TYPE_CHECKING:
    from collections.abc import Sequence

MS = 1_000


def history(delays: Sequence[int], *missed: int) -> RecentDelays:
    """Remember delays in milliseconds, and how many rows each level has missed."""
    found = RecentDelays(64)
    found.add(np.array(delays) * MS, missed or (0,))
    return found


@pytest.mark.parametrize(
    ("recalls", "rows"),
    [
        ([0.5], LEAST_BLOCK),
        ([0.5, 0.99], 100),
        ([0.999], 1_000),
        ([0.999999], MOST_BLOCK),
        ([1.0], MOST_BLOCK),
    ],
)
def test_a_block_has_rows_enough_for_one_of_them_to_be_missed(
    recalls: list[float], rows: int
) -> None:
    assert block_size(recalls) == rows


def test_the_wait_misses_as_many_as_it_may() -> None:
    # Of nine rows, one is missed if the next is missed with a chance of 2 in 10, and so on.
    nine = history(range(1, 10))

    waits = {recall: RecallWait(recall, 0, 1.0).wait(nine, 0) for recall in (0.65, 0.75, 0.85)}

    assert waits == {0.65: 7 * MS, 0.75: 8 * MS, 0.85: 9 * MS}


def test_less_is_allowed_than_may_be_missed() -> None:
    nine = history(range(1, 10))

    # Three quarters of two in ten is one and a half: of nine rows none.
    assert RecallWait(0.8, 0).factor == AIM
    assert RecallWait(0.8, 0).wait(nine, 0) == 9 * MS


def test_where_too_little_is_known_it_waits_twice_the_longest_delay() -> None:
    nine = history(range(1, 10))
    chosen = RecallWait(0.99, 0)

    assert not chosen.is_informed(nine)
    assert RecallWait(0.8, 0).is_informed(nine)
    assert chosen.wait(nine, 0) == 18 * MS


def test_until_enough_is_known_it_waits_as_long_as_the_first_rows_are_apart() -> None:
    few, many = history([1]), history([1] * ENOUGH)
    chosen = RecallWait(0.9999, 0)

    assert chosen.wait(few, 50 * MS) == 50 * MS
    assert chosen.wait(many, 50 * MS) == 2 * MS


def test_a_recall_of_1_waits_for_the_longest_delay_ever_seen() -> None:
    chosen = RecallWait(1.0, 0)
    many = history([7, *[1] * ENOUGH])

    assert chosen.wait(many, 0) == 7 * MS
    chosen.learn(many, 10)
    assert chosen.factor == AIM


def test_where_more_is_missed_than_may_be_less_is_allowed_and_never_more_than_is_aimed_at() -> None:
    strict, content = RecallWait(0.9, 0), RecallWait(0.9, 0)

    strict.learn(history([1] * 100, 40), 100)
    content.learn(history([1] * 100, 0), 100)

    # Four times as much was missed as may be: the root of 0.75 / 4 is taken.
    assert strict.factor == pytest.approx(AIM * (AIM / 4) ** 0.5)
    assert content.factor == AIM


def test_a_correction_is_as_slow_as_the_rows_that_show_its_effect() -> None:
    slow, fast = RecallWait(0.9, 0), RecallWait(0.9, 0)
    seen = history([1] * 100, 40)

    slow.learn(seen, 10)
    fast.learn(seen, 100)

    assert fast.factor < slow.factor < AIM
    for _ in range(100):
        fast.learn(seen, 100)
    assert fast.factor == LOWEST


def test_each_level_learns_from_what_it_has_missed_itself() -> None:
    first, second = RecallWait(0.9, 0), RecallWait(0.9, 1)
    seen = history([1] * 100, 40, 0)

    first.learn(seen, 100)
    second.learn(seen, 100)

    assert first.factor < second.factor == AIM


def test_what_was_missed_while_too_little_was_known_does_not_count() -> None:
    chosen = RecallWait(0.99, 0)

    chosen.learn(history([1] * 9, 9), 9)

    assert chosen.factor == AIM


def test_the_recall_of_a_wait_is_estimated_from_rows_like_those_to_come() -> None:
    nine = history(range(1, 10))

    assert extrapolated(nine, 8 * MS) == pytest.approx(0.8)
    assert extrapolated(nine, 9 * MS) == pytest.approx(0.9)
    assert extrapolated(RecentDelays(64), 9 * MS) is None
