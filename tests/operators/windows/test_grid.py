"""The windows that contain a time, by definition, and days that are not 24 hours long."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.errors import ColumnTypeError, OptionError
from latecomer.operators.windows.grid import DAY, FARTHEST, Windows
from latecomer.time import FOREVER, NEVER

grids = st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(0, 20)).map(
    lambda some: Windows(size=max(some[:2]), hop=min(some[:2]), origin=some[2])
)


def times(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def windows_of(windows: Windows, time: int) -> list[int]:
    """Return the starts of all windows that contain a time, by trying every start."""
    return [
        start
        for start in range(time - windows.size, time + 1)
        if (start - windows.origin) % windows.hop == 0 and start <= time < start + windows.size
    ]


@given(windows=grids, time=st.integers(-50, 50))
def test_a_pane_is_in_the_windows_that_its_times_are_in(windows: Windows, time: int) -> None:
    pane = windows.panes(times(time))

    found = sorted(int(start) for starts, _ in windows.starts(pane) for start in starts)

    assert found == windows_of(windows, time)
    assert windows.first_ends(pane).tolist() == [found[0] + windows.size]
    assert windows.last_ends(pane).tolist() == [found[-1] + windows.size]


@given(windows=grids, instant=st.integers(-50, 50))
def test_the_next_end_is_the_first_one_after_an_instant(windows: Windows, instant: int) -> None:
    ends = [
        end
        for end in range(instant + 1, instant + windows.hop + 1)
        if (end - windows.size - windows.origin) % windows.hop == 0
    ]

    assert [windows.next_end(instant)] == ends


def test_before_the_first_row_and_after_the_last_no_window_ends() -> None:
    assert [Windows(5, 5).next_end(end) for end in (NEVER, FOREVER)] == [NEVER, FOREVER]


def hours(windows: Windows, *when: str) -> list[tuple[str, float]]:
    """Return for each instant the start of its window, and its length in hours."""
    instants = times(*(int(datetime.fromisoformat(t).timestamp() * 1e6) for t in when))
    panes = windows.panes(instants)
    starts, ends = windows.instants(panes), windows.ends(windows.latest_start(panes))
    return [
        (datetime.fromtimestamp(start / 1e6, UTC).isoformat(" ", "minutes")[:16], length)
        for start, length in zip(starts.tolist(), ((ends - starts) / 3.6e9).tolist(), strict=True)
    ]


def test_days_in_a_zone_begin_at_midnight_there_and_may_have_23_or_25_hours() -> None:
    berlin = Windows(DAY, DAY, zone="Europe/Berlin")

    # Clocks went forward on 31 March 2024, and back on 27 October.
    assert hours(berlin, "2024-03-31T00:30+01:00", "2024-03-31T23:30+02:00") == [
        ("2024-03-30 23:00", 23),
        ("2024-03-30 23:00", 23),
    ]
    # There were two times half past two on that day.
    assert hours(berlin, "2024-10-27T02:30+02:00", "2024-10-27T02:30+01:00") == [
        ("2024-10-26 22:00", 25),
        ("2024-10-26 22:00", 25),
    ]
    assert hours(berlin, "2024-07-01T12:00+02:00") == [("2024-06-30 22:00", 24)]


def test_a_zone_in_which_midnight_is_skipped_still_has_days() -> None:
    # In Beirut, 31 March 2024 began at one o'clock.
    assert hours(Windows(DAY, DAY, zone="Asia/Beirut"), "2024-03-31T05:00+03:00") == [
        ("2024-03-30 22:00", 23)
    ]


@pytest.mark.parametrize(
    ("size", "hop", "zone", "says"),
    [
        (5, 6, None, "0 < hop <= size"),
        (0, 0, None, "0 < hop <= size"),
        (DAY // 2, DAY // 2, "Europe/Berlin", "whole days"),
        (DAY, DAY, "Europe/Atlantis", "Europe/Atlantis"),
    ],
)
def test_windows_that_make_no_sense_are_refused(
    size: int, hop: int, zone: str | None, says: str
) -> None:
    with pytest.raises(OptionError, match=says):
        Windows(size, hop, zone=zone)


@pytest.mark.parametrize(
    ("far", "says"),
    [
        (FARTHEST + 1, "73,069 years after 1970"),
        (-FARTHEST - 1, "73,069 years before 1970"),
        (NEVER + 1, "292,277 years before 1970"),
        (FOREVER - 1, "292,277 years after 1970"),
    ],
)
def test_a_time_out_of_range_is_refused_and_named(far: int, says: str) -> None:
    with pytest.raises(ColumnTypeError, match=says):
        Windows(5, 5).panes(times(3, far))
