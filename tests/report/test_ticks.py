from __future__ import annotations

import pytest

from latecomer.report.ticks import (
    count_ticks,
    duration_ticks,
    high_share_ticks,
    second_ticks,
    share_ticks,
    short_duration,
    time_ticks,
)
from latecomer.time import FOREVER, NEVER

DAY = 86_400_000_000
LAST_DAY = 253_402_214_400_000_000
"""31 December 9999."""


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0, 20 * 365 * DAY, ["1970", "1975", "1980", "1985"]),
        (0, 365 * DAY, ["1970-01", "1970-04", "1970-07", "1970-10"]),
        (0, 20 * DAY, ["1970-01-01", "1970-01-06", "1970-01-11", "1970-01-16", "1970-01-21"]),
        (0, DAY // 24, ["01-01 00:00", "01-01 00:10", "01-01 00:20"]),
        (900_000, 1_300_000, ["00.900000 s", "01.000000 s", "01.100000 s"]),
        (LAST_DAY - 100 * DAY, LAST_DAY, ["9999-10", "9999-11", "9999-12"]),
    ],
)
def test_times_are_marked_by_the_calendar(low: int, high: int, texts: list[str]) -> None:
    assert [text for _, text in time_ticks(low, high, is_calendar=True)][: len(texts)] == texts


def test_times_that_are_no_dates_are_marked_by_elapsed_time() -> None:
    marks = time_ticks(0, 90_000_000, is_calendar=False)

    assert [text for _, text in marks] == ["0 s", "20 s", "40 s", "60 s", "80 s"]


def test_marks_are_within_their_axis_also_where_no_float_can_tell_times_apart() -> None:
    low, high = 2**62 + 1, 2**62 + 8

    marks = [at for at, _ in time_ticks(low, high, is_calendar=False)]

    assert marks == [low + 1, low + 3, low + 5, low + 7]


def test_durations_are_marked_more_closely_where_there_are_few() -> None:
    wide = [text for _, text in duration_ticks(1, 30 * DAY)]
    narrow = [text for _, text in duration_ticks(60_000_000, 600_000_000)]

    assert wide[:2] == ["1 µs", "10 µs"]
    assert wide[-2:] == ["1 day", "10 days"]
    assert narrow == ["1 min", "2 min", "5 min", "10 min"]


@pytest.mark.parametrize(
    ("high", "texts"),
    [
        (0, ["0"]),
        (1, ["0", "1"]),
        (6, ["0", "1", "2", "3", "4", "5", "6"]),
        (7, ["0", "2", "4", "6"]),
        (3_000, ["0", "500", "1,000", "1,500", "2,000", "2,500", "3,000"]),
        (20_000_000, ["0", "5,000,000", "10,000,000", "15,000,000", "20,000,000"]),
    ],
)
def test_counts_go_by_1_2_and_5(high: int, texts: list[str]) -> None:
    assert [text for _, text in count_ticks(high)] == texts


def test_shares_are_marked_in_percent_and_as_finely_as_they_are_small() -> None:
    assert [text for _, text in share_ticks(0.3)] == [
        *("0 %", "5 %", "10 %", "15 %", "20 %", "25 %", "30 %")
    ]
    assert [text for _, text in share_ticks(0.0025)] == [
        *("0 %", "0.05 %", "0.1 %", "0.15 %", "0.2 %", "0.25 %")
    ]


def test_seconds_are_marked_from_0_up() -> None:
    assert [text for _, text in second_ticks(1.1)] == [
        *("0 s", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1 s")
    ]


def test_high_shares_are_marked_from_100_percent_down() -> None:
    marks = high_share_ticks(0.97)

    assert [text for _, text in marks] == [
        *("97 %", "97.5 %", "98 %", "98.5 %", "99 %", "99.5 %", "100 %")
    ]
    assert marks[-1][0] == 1


def test_durations_are_written_with_little_room() -> None:
    assert [short_duration(micros) for micros in (5, 2_000, 90_000_000, DAY, 10 * DAY)] == [
        *("5 µs", "2 ms", "1.5 min", "1 day", "10 days")
    ]


@pytest.mark.parametrize(("low", "high"), [(NEVER + 1, FOREVER), (LAST_DAY, LAST_DAY + 2 * DAY)])
def test_times_outside_the_calendar_are_marked_by_elapsed_time(low: int, high: int) -> None:
    marks = time_ticks(low, high, is_calendar=True)

    assert marks
    assert all(low <= at <= high for at, _ in marks)
    assert all(text.split(" ")[-1] in ("days", "h") for _, text in marks)


def test_long_waits_are_marked_in_larger_units() -> None:
    assert [text for _, text in second_ticks(119)][-1] == "100 s"
    assert second_ticks(600) == [(60 * at, f"{at} min") for at in range(0, 11, 2)]
    assert [text for _, text in second_ticks(30_000)][1] == "2 h"
    assert [text for _, text in second_ticks(1e6)][-1] == "10 days"
