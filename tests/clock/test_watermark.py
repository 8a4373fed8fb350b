"""The clock ticks in milliseconds, and its watermark is a wait behind it."""

from __future__ import annotations

import numpy as np
import pytest

from latecomer.clock.watermark import TICK, Clock, back, tick, ticks
from latecomer.time import FOREVER, NEVER


def test_the_worked_example_of_the_module() -> None:
    newest = [10, 14, 14, 19, 19]

    seen = [Clock.at(time * TICK, 5 * TICK).watermark // TICK for time in newest]

    assert seen == [5, 9, 9, 14, 14]


@pytest.mark.parametrize(
    ("newest", "expected"), [(1_999, 1_000), (2_000, 2_000), (-1, -1_000), (-1_000, -1_000)]
)
def test_a_time_is_rounded_down_to_a_tick(newest: int, expected: int) -> None:
    assert tick(newest) == expected


@pytest.mark.parametrize("newest", [NEVER, NEVER + 1, NEVER + TICK, FOREVER - 1])
@pytest.mark.parametrize("wait", [0, 1, FOREVER - 1])
def test_the_clock_stays_within_the_range_of_times(newest: int, wait: int) -> None:
    clock = Clock.at(newest, wait)

    assert NEVER <= clock.watermark <= clock.newest <= newest
    many = ticks(np.array([newest]))
    assert [clock.newest, clock.watermark] == [many[0], back(many, wait)[0]]
