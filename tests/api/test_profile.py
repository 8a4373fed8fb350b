"""A profile measures the disorder of rows, and how many of them each wait would keep."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import latecomer as lc
from latecomer.api.profile import Profile, profile_batches, source_of
from latecomer.demo.flights import read_flights
from latecomer.profile.measures import measure, order_measures
from latecomer.profile.tally import Limits
from latecomer.testing.strategies import Cuts, batchings, cut

COMMITS = Path(__file__).parents[2] / ".." / "shared" / "data" / "git-commits.parquet"
SECOND = 1_000_000


def table(*times: int | None, **more: list[object]) -> pa.Table:
    return pa.table({"time": pa.array(times, pa.int64()), **more})


def profiled(*times: int | None, limits: Limits | None = None) -> Profile:
    return profile_batches([table(*times)], source_of("time", None, None, "us"), limits)


def test_the_worked_example_of_the_measures() -> None:
    seen = lc.profile(table(10, 14, 12, 19, 13), time="time", unit="us")

    assert (seen.rows, seen.out_of_order, seen.fraction) == (5, 2, 0.4)
    assert seen.largest == timedelta(microseconds=6)
    assert [seen.in_time(timedelta(microseconds=wait)) for wait in (0, 2, 5, 6)] == [
        *(0.6, 0.8, 0.8, 1.0)
    ]
    assert seen.wait_for(0.8) == timedelta(microseconds=2)
    assert seen.measures == order_measures(np.array([10, 14, 12, 19, 13]))


def test_rows_are_taken_in_order_of_arrival() -> None:
    rows = table(10, 14, 12, arrival=pa.array([3, 1, 2]))

    seen = lc.profile(rows, time="time", arrival="arrival", unit="us")

    assert (seen.out_of_order, seen.runs) == (2, 3)
    assert 'Order of arrival: column "arrival".' in str(seen)
    assert "the order of the rows in the table" in str(lc.profile(rows, time="time", unit="us"))


def test_rows_of_equal_arrival_stay_as_they_are() -> None:
    rows = table(5, 4, 3, 9, arrival=pa.array([1, 1, 1, 0]))

    seen = lc.profile(rows, time="time", arrival="arrival", unit="us")

    assert (seen.out_of_order, seen.runs) == (3, 4)


def test_rows_without_a_time_or_an_arrival_are_counted_and_left_out() -> None:
    rows = table(9, None, 4, 5, None, arrival=pa.array([2, 1, None, 3, None], pa.int64()))

    seen = lc.profile(rows, time="time", arrival="arrival", unit="us")

    assert (seen.rows, seen.without_time, seen.without_arrival, seen.timed) == (5, 2, 1, 2)
    assert seen.out_of_order == 1
    assert str(seen).startswith("5 rows, 2 of them with a time, 50 % of those out of order")
    assert "Left out: 2 rows without a time.\nLeft out: 1 row without an arrival." in str(seen)


def test_keys_are_reported_with_the_worst_first() -> None:
    rows = table(9, 4, 3, 8, 9, key=["a", "b", "b", "a", None])

    seen = lc.profile(rows, time="time", key="key", unit="us")

    assert seen.keys is not None
    assert seen.keys.to_pylist() == [
        {"key": "b", "rows": 2, "out_of_order": 2, "largest": 6},
        {"key": "a", "rows": 2, "out_of_order": 1, "largest": 1},
        {"key": None, "rows": 1, "out_of_order": 0, "largest": 0},
    ]
    assert seen.to_dict()["keys"]["worst"][0]["key"] == ["b"]


def test_only_some_keys_are_shown_and_all_are_there() -> None:
    rows = table(*range(1_000, 0, -1), key=list(range(1_000)), other=[1] * 1_000)

    seen = lc.profile(rows, time="time", key=["key", "other"], unit="us")

    assert seen.keys is not None
    assert seen.keys.num_rows == 1_000
    assert "999, 1          1          100 %   999 microseconds" in str(seen)
    assert str(seen).endswith("and 990 keys more")
    assert len(seen.to_dict()["keys"]["worst"]) == 100


def test_the_time_may_be_a_key_and_a_key_a_dictionary() -> None:
    kinds = pa.array(["x", "y", "x"]).dictionary_encode()
    rows = pa.table({"time": pa.array([3, 1, 2], pa.timestamp("s")), "kind": kinds})
    chunked = pa.concat_tables([rows, rows.slice(1)])

    seen = lc.profile(chunked, time="time", key=["time", "kind"])

    assert seen.keys is not None
    assert seen.keys.num_rows == 3


def test_a_key_may_be_a_view_and_a_number_that_json_has_not() -> None:
    words = pa.array(["x", "y"]).cast(pa.string_view())
    rows = table(2, 1, word=words, number=[1.5, float("nan")])

    seen = lc.profile(rows, time="time", key=["word", "number"], unit="us")

    told = json.loads(json.dumps(seen.to_dict(), allow_nan=False))
    assert [key["key"] for key in told["keys"]["worst"]] == [["y", "nan"], ["x", 1.5]]


def test_no_rows_are_no_error() -> None:
    seen = lc.profile(table(), time="time", key="time", unit="us")

    assert (seen.rows, seen.fraction, seen.wait_for(1), seen.runs) == (0, 0.0, timedelta(0), 0)
    assert seen.in_time("1 second") == 1.0
    assert str(seen).startswith("No rows: there is nothing to profile")
    assert json.loads(json.dumps(seen.to_dict()))["rows"] == 0


def test_rows_that_all_lack_a_time_are_no_error() -> None:
    seen = profiled(None, None)

    assert str(seen).startswith("2 rows, none of them with a time: there is nothing to profile")


def test_one_row_is_in_order() -> None:
    seen = profiled(-7)

    assert (seen.out_of_order, seen.runs, seen.wait_for(0.99)) == (0, 1, timedelta(0))
    assert str(seen).startswith("1 row: it is in order")
    assert "No wait is needed." in str(seen)


def test_rows_in_order_need_no_wait() -> None:
    seen = profiled(1, 2, 2, 3)

    assert str(seen).startswith("4 rows, all of them in order")
    assert "To have" not in str(seen)


@pytest.mark.parametrize("first", [2**63 - 1, 0])
def test_times_as_far_apart_as_possible_are_reported(first: int) -> None:
    seen = profiled(first, 2**63 - 1, -(2**63) + 1, 0)

    assert seen.largest == timedelta(microseconds=2**64 - 2)
    assert json.loads(json.dumps(seen.to_dict()))["out_of_order"] == 2
    assert "To have all rows in time" in str(seen)


def test_dates_and_times_without_a_zone_can_be_profiled() -> None:
    days = pa.table({"day": [date(2024, 1, 3), date(2024, 1, 1)]})
    local = pa.table({"at": [datetime(2024, 1, 3), datetime(2024, 1, 1)]})  # noqa: DTZ001  that is it

    for rows, time in ((days, "day"), (local, "at")):
        assert lc.profile(rows, time=time).largest == timedelta(days=2)


def test_the_words_come_first_and_then_what_each_wait_keeps() -> None:
    seen = profiled(*(n * SECOND for n in (0, 100, 90, 200, 110, 300, 299, 400)))

    assert str(seen).split("\n") == [
        "8 rows, 37.5 % of them out of order, in at most 2 interleaved runs",
        "Order of arrival: the order of the rows in the file.",
        "",
        "wait          rows in time   rows late   rows held, about",
        "0 seconds          62.50 %           3                  0",
        "1.5 minutes          100 %           0                  2",
        "",
        'To have all rows in time: sort(wait="1.5 minutes")',
        "",
        "measures: inversions 3, distance 1, runs 4, interleaved 2",
    ]


def test_the_largest_numbers_of_rows_are_measured_as_far_as_they_fit() -> None:
    seen = profiled(*range(50, 0, -1), limits=Limits(distinct=10, measured=49))

    assert seen.measures is None
    assert seen.error == 1 / 1024
    assert "rounded up by less than 0.1 %" in str(seen)
    assert "are not measured" in str(seen)
    assert str(seen).startswith("50 rows, 98.00 % of them out of order, in 50 runs")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"time": "when"},
            lc.ColumnNotFoundError,
            'no column "when"; the rows have "time", "name"',
        ),
        ({"time": "name"}, lc.ColumnTypeError, 'the time column "name" is of type string'),
        ({"time": "time"}, lc.ColumnTypeError, "Hint: name its unit with unit="),
        ({"time": "time", "unit": "h"}, lc.OptionError, "unknown unit 'h'"),
        (
            {"time": "time", "unit": "s", "arrival": "name"},
            lc.ColumnTypeError,
            'the arrival column "name" is of type string',
        ),
        ({"time": "time", "unit": "s", "key": "who"}, lc.ColumnNotFoundError, 'no column "who"'),
        ({"time": "time", "unit": "s", "key": "list"}, lc.ColumnTypeError, "must be a plain value"),
        ({"time": "time", "unit": "s", "key": "rows"}, lc.ColumnNameError, "Hint: rename it first"),
        ({"time": "time", "unit": "s", "key": "Rows"}, lc.ColumnNameError, "Hint: rename it first"),
    ],
)
def test_columns_that_cannot_be_profiled_are_refused(
    options: dict[str, str], error: type[Exception], message: str
) -> None:
    rows = table(1, name=["a"], list=[[1]], rows=[1])

    with pytest.raises(error, match=message.replace("(", r"\(")):
        lc.profile(rows, **options)  # type: ignore[arg-type]


def test_arguments_that_are_no_rows_are_refused() -> None:
    with pytest.raises(lc.OptionError, match="a Spark DataFrame or an Arrow table; got"):
        lc.profile([1, 2], time="time")  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0, -1, 1.01, 99])
def test_an_invalid_share_is_refused(share: float) -> None:
    with pytest.raises(lc.OptionError, match=r"for 99 %, write wait_for\(0.99\)"):
        profiled(1).wait_for(share)


@pytest.mark.parametrize("times", [(), (1,)])
def test_a_wait_without_a_unit_is_refused(times: tuple[int, ...]) -> None:
    with pytest.raises(lc.DurationError, match="wait must be a duration"):
        profiled(*times).in_time(5)  # type: ignore[arg-type]


@given(
    times=st.lists(st.integers(-(2**61), 2**61) | st.integers(-5, 5), min_size=1, max_size=30),
    wait=st.integers(0, 2**62),
    share=st.sampled_from([0.1, 0.5, 0.9, 0.99, 1]),
)
def test_the_curve_is_as_defined(times: list[int], wait: int, share: float) -> None:
    seen = profiled(*times)

    behind = [max(times[: at + 1]) - time for at, time in enumerate(times)]
    kept = sum(delay <= wait for delay in behind)
    assert seen.in_time(timedelta(microseconds=wait)) == kept / len(times)
    enough = seen.wait_for(share)
    assert seen.in_time(enough) >= share
    shorter = [delay for delay in behind if timedelta(microseconds=delay) < enough]
    assert len(shorter) < Fraction(str(share)) * len(times)
    assert seen.out_of_order == measure(np.array(times)).out_of_order


@given(times=st.lists(st.none() | st.integers(-50, 50), max_size=40), cuts=batchings(max_size=8))
def test_batch_by_batch_gives_what_all_at_once_does(times: list[int | None], cuts: Cuts) -> None:
    source = source_of("time", None, "time", "us")
    batches = [table(*part) for part in cut(times, cuts)]

    seen = profile_batches(batches, source)

    whole = lc.profile(table(*times), time="time", key="time", unit="us")
    assert {**seen.to_dict(), "order_of_arrival": ""} == {
        **whole.to_dict(),
        "order_of_arrival": "",
    }


def test_the_flights_of_the_demo() -> None:
    seen = lc.profile(read_flights(), time="departed", arrival="landed", key="carrier")

    assert (seen.rows, seen.without_time, seen.out_of_order) == (336_776, 8_255, 293_665)
    assert seen.wait_for(0.99) == timedelta(hours=5, minutes=20)
    assert seen.wait_for(1) == seen.largest == timedelta(hours=11, minutes=5)
    assert seen.keys is not None
    assert seen.keys["carrier"][0].as_py() == "HA"


@pytest.mark.skipif(not COMMITS.exists(), reason="the commits are not part of the repository")
def test_half_of_a_projects_commits_are_out_of_order() -> None:
    seen = lc.profile(pq.read_table(COMMITS), time="time", arrival="arrival", key="author")

    assert (seen.rows, seen.out_of_order) == (60_751, 30_451)
    assert seen.in_time(seen.wait_for(0.99)) == pytest.approx(0.99, abs=0.0001)
    assert seen.measures is not None
    assert seen.measures.interleaved == 27
