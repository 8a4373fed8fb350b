from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.hosts.tally import (
    BOUNDS_MS,
    DELAYS,
    added,
    delayed,
    delays,
    late_by_reason,
    tallied,
    wait_for,
)
from latecomer.time import NEVER

MS = 1_000


def test_counts_of_a_micro_batch_add_up_and_of_clocks_the_largest_counts() -> None:
    counts = [("ready", 3), ("late", 1), ("late_1", 2), ("newest", 7), ("newest", 5), ("ready", 1)]

    assert tallied(counts) == {"ready": 4, "late": 3, "newest": 7}
    assert tallied([("waited_0.9", 40), ("waited_0.9", 50), ("held_0.9", 4), ("held_0.9", 5)]) == {
        "waited_0.9": 50,
        "held_0.9": 9,
    }


def test_totals_keep_the_last_wait_and_the_largest_time() -> None:
    before = {"ready": 4, "newest": 7, "waited_0.9": 50, "held_0.9": 9}
    tally = {"ready": 2, "late": 1, "newest": 5, "waited_0.9": 30, "held_0.9": None}

    assert added(before, tally) == {
        "ready": 6,
        "late": 1,
        "newest": 7,
        "waited_0.9": 30,
        "held_0.9": 9,
    }


def test_late_rows_have_one_reason_each() -> None:
    totals = {"late": 10, "ahead": 2, "no_time": 3, "ready": 8}

    assert late_by_reason(totals) == {"late": 5, "ahead": 2, "no time": 3}
    assert late_by_reason({}) == {}


@given(
    times=st.lists(st.integers(-(10**15), 10**15)),
    newest=st.one_of(st.just(NEVER), st.integers(-(10**15), 10**15)),
)
def test_each_row_is_counted_at_the_first_bound_that_its_delay_does_not_exceed(
    times: list[int], newest: int
) -> None:
    expected: dict[str, int] = {}
    for time in times:
        delay = max(0, newest - time)
        names = [f"delay_{bound}" for bound in BOUNDS_MS if delay <= bound * MS]
        name = names[0] if names else "delay_more"
        expected[name] = expected.get(name, 0) + 1

    assert dict(delayed(np.array(times, np.int64), newest)) == expected


def test_the_wait_that_keeps_a_share_is_the_first_bound_that_does() -> None:
    counted = delays({"delay_0": 90, "delay_1000": 9, "delay_more": 1})
    assert counted is not None
    assert len(counted) == len(DELAYS)

    assert [wait_for(share, counted) for share in (0.5, 0.9, 0.95, 0.99, 0.999)] == [
        *(0, 0, 1_000, 1_000),
        None,
    ]
    assert wait_for(0.99, [(0, 0)]) is None
    assert delays({"ready": 3}) is None
