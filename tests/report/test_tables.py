from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

import latecomer as lc
from latecomer.api.profile import Profile, profile_batches, source_of
from latecomer.profile.tally import Limits
from latecomer.report.tables import (
    delays_table,
    keys_table,
    levels_table,
    measures_table,
    times_table,
    waits_table,
)

LATE = (0, 100, 90, 200, 110, 300, 299, 400)
"""Delays of 10, 90 and 1 seconds."""


def profile(*times: int, **columns: list[str]) -> Profile:
    rows = pa.table({"time": pa.array(times, pa.int64()), **columns})
    return lc.profile(rows, time="time", unit="s", key=list(columns) or None)


def test_a_wait_shows_the_rows_that_it_keeps_and_its_cost() -> None:
    table = waits_table(profile(*LATE))

    assert table.head == ("wait", "in time", "rows late", "rows held, about")
    assert table.rows[0] == ("0 seconds", "62.50 %", "3", "0")
    assert table.rows[-1][:3] == ("1.5 minutes", "100 %", "0")


def test_rows_are_counted_up_to_bounds_and_empty_ones_left_out() -> None:
    table = delays_table(profile(*LATE))

    assert [*table.rows] == [
        ("none", "5", "62.50 %"),
        ("up to 1 second", "1", "12.50 %"),
        ("up to 10 seconds", "1", "12.50 %"),
        ("up to 1.5 minutes", "1", "12.50 %"),
    ]


def test_all_rows_are_in_the_table_of_delays() -> None:
    times = [n * (-1) ** n for n in range(2_000)]

    counts = [int(rows.replace(",", "")) for _, rows, _ in delays_table(profile(*times)).rows]

    assert sum(counts) == 2_000


def test_stretches_of_arrivals_follow_each_other_to_the_end() -> None:
    for table in (times_table(profile(*range(25))), levels_table(profile(*range(25)))):
        stretches = [row[0] for row in table.rows]

        assert len(stretches) <= 10
        assert stretches[0].startswith("1 – ")
        assert stretches[-1].endswith(" – 25")
        for before, after in itertools.pairwise(stretches):
            assert int(after.split(" – ")[0]) == int(before.split(" – ")[1]) + 1


def test_a_stretch_says_how_many_of_its_rows_are_out_of_order() -> None:
    table = levels_table(profile(5, 5, 5, 1, 2, 5))

    nothing = ("0.00 %", "none")
    # A delay is shown as the upper end of its level, but never above the largest delay.
    assert [row[1:] for row in table.rows] == [
        *([nothing] * 3),
        ("100 %", "≤ 4 seconds"),
        ("100 %", "≤ 3.15 seconds"),
        nothing,
    ]


@pytest.mark.parametrize(
    ("seconds", "oldest"),
    [
        ([0, 1], "1970-01-01 00:00:00"),
        ([0, 86_400 * 40], "1970-01-01 00:00"),
        ([0, 86_400 * 365 * 60], "1970-01-01"),
    ],
)
def test_times_are_as_precise_as_a_cell_is(seconds: list[int], oldest: str) -> None:
    rows = pa.table({"at": pa.array(seconds, pa.timestamp("s"))})

    table = times_table(lc.profile(rows, time="at"))

    assert table.rows[0][1] == oldest


def test_times_that_are_no_dates_are_shown_as_elapsed_time() -> None:
    assert times_table(profile(0, 90)).rows[0][1] == "0 seconds"


def test_the_worst_keys_are_shown_under_the_name_of_the_key() -> None:
    seen = profile(9, 4, 8, city=["a", "b", "b"], kind=["x", "y", "y"])
    assert seen.keys is not None
    table = keys_table(seen, seen.keys)

    assert table.head == ("city, kind", "rows", "out of order", "largest delay")
    assert [*table.rows] == [
        ("b, y", "2", "100 %", "5 seconds"),
        ("a, x", "1", "0.00 %", "0 seconds"),
    ]


def test_measures_are_shown_with_their_units() -> None:
    table = measures_table(profile(10, 14, 12, 19, 13))

    assert [row[:2] for row in table.rows] == [
        ("inversions", "3"),
        ("distance", "3"),
        ("runs", "3"),
        ("interleaved", "2"),
    ]
    assert all(meaning for _, _, meaning in table.rows)


def test_measures_that_were_not_taken_are_not_shown() -> None:
    rows = pa.table({"time": [3, 2, 1]})

    seen = profile_batches([rows], source_of("time", None, None, "s"), Limits(measured=2))

    assert [*measures_table(seen).rows] == []
