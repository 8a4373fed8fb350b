"""The functions that workers run to profile a DataFrame, on Arrow batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.api.profile import source_of
from latecomer.hosts.spark.bucket_labels import labels
from latecomer.hosts.spark.profile.workers import (
    ARRIVAL,
    PART,
    ROW,
    TIME,
    Before,
    Sizes,
    Summary,
    arrivals,
    count,
    count_keys,
    place,
    sum_up,
)
from latecomer.profile.delay_counts import level
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from collections.abc import Iterable

PLAIN = source_of("time", None, None, "us")
ARRIVED = source_of("time", "came", "key", "us")


def table(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(list(batches))


def part(
    times: list[int | None], came: list[int | None] | None = None, size: int = 99
) -> list[pa.RecordBatch]:
    """Return a part of a stream: consecutive arrivals, cut into batches."""
    many = len(times)
    rows = pa.table(
        {
            TIME: pa.array(times, pa.int64()),
            ARRIVAL: pa.array([0] * many if came is None else came, pa.int64()),
            ROW: pa.array(range(many), pa.int64()),
            "key": ["even" if n % 2 == 0 else "odd" for n in range(many)],
        }
    )
    return rows.to_batches(max_chunksize=size)


def counted(times: list[int | None], before: Before, size: int = 99) -> dict[str, list[tuple]]:
    found: dict[str, list[tuple]] = {}
    first = next(n for n, time in enumerate(times) if time is not None)
    for batch in count({(0, first): before}, Sizes(1, 1), 100, part(times, size=size)):
        for row in batch.to_pylist():
            found.setdefault(row["kind"], []).append((row["a"], row["b"], row["rows"]))
    return found


def test_each_row_is_placed_by_its_arrival() -> None:
    rows = pa.table(
        {"time": [3, None, 5], "came": [10, 20, None], ROW: [0, 1, 2], "key": list("abc")}
    )

    found = table(place(ARRIVED, np.array([15]), rows.to_batches()))

    assert found[TIME].to_pylist() == [3, None, 5]
    assert found[ARRIVAL].to_pylist() == [10, 20, None]
    assert found["key"].to_pylist() == ["a", "b", "c"]
    first, second = labels(2).tolist()
    assert found[PART].to_pylist()[:2] == [first, second]


def test_without_an_arrival_all_rows_are_one_part() -> None:
    rows = pa.table({"time": [3, 1], ROW: [0, 1]})

    found = table(place(PLAIN, np.empty(0, np.int64), rows.to_batches()))

    assert set(found[PART].to_pylist()) == set(labels(1).tolist())
    assert found[ARRIVAL].to_pylist() == [0, 0]


def test_arrivals_are_read_in_microseconds() -> None:
    rows = pa.table({"came": [2, None]})

    assert table(arrivals(TimeColumn("came", "s"), rows.to_batches()))[ARRIVAL].to_pylist() == [
        2_000_000,
        None,
    ]


def test_a_part_is_summed_up_however_it_is_cut() -> None:
    times, came = [10, 14, None, 12, 19, 13, 7], [1, 2, 3, 4, 5, 6, None]
    expected = Summary(
        rows=7,
        without_time=1,
        without_arrival=1,
        timed=5,
        arrival=1,
        row=0,
        first_time=10,
        last_time=13,
        oldest=10,
        newest=19,
        descents=2,
    )

    for size in range(1, 8):
        (found,) = table(sum_up(part(times, came, size))).to_pylist()
        assert Summary(**found) == expected


def test_a_part_without_times_says_only_how_many_rows_it_has() -> None:
    (found,) = table(sum_up(part([None, None]))).to_pylist()

    assert (found["rows"], found["without_time"], found["timed"]) == (2, 2, 0)
    assert list(sum_up([])) == []


def test_delays_are_behind_the_newest_of_all_parts_before() -> None:
    for size in range(1, 5):
        found = counted([10, None, 14, 12], Before(100, 13), size)
        assert sorted(found["delay"]) == [(0, 0, 1), (2, 0, 1), (3, 0, 1)]


def test_rows_are_counted_in_cells_from_where_the_parts_before_end() -> None:
    found = counted([10, 14], Before(100, 0))

    # Cells span two arrivals and two microseconds.
    assert sorted(found["time"]) == [(50, 5, 1), (50, 7, 1)]
    assert found["level"] == [(50, 0, 2)]


def test_rounded_delays_are_marked() -> None:
    times = [10**9, *range(0, 10**8, 10**6)]
    known = {(0, 0): Before(0, 0)}

    kinds = [
        row["kind"]
        for batch in count(known, Sizes(1, 24), 10, part(times))
        for row in batch.to_pylist()
    ]

    assert "rounded" in kinds
    assert "rounded" not in counted([10, 14], Before(0, 0))


def test_keys_are_counted_with_their_delays() -> None:
    found = table(count_keys({(0, 0): Before(0, 20)}, ("key",), part([10, 14, 30])))

    assert found.to_pylist() == [
        {"key": "even", "rows": 2, "out_of_order": 1, "largest": 10},
        {"key": "odd", "rows": 1, "out_of_order": 1, "largest": 6},
    ]
    assert list(count_keys({}, ("key",), part([None]))) == []


def test_the_level_of_a_row_is_that_of_its_delay() -> None:
    found = counted([10], Before(0, 110))

    assert found["level"] == [(0, int(level(np.array([100], np.uint64))[0]), 1)]
