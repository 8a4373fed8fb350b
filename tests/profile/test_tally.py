from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from latecomer.profile.tally import Limits, Tally

TIMES = [10, 14, 12, 19, 13, 13, 20]


def tallied(*parts: list[int], limits: Limits | None = None) -> Tally:
    tally = Tally(limits=limits)
    for part in parts:
        tally.add(np.array(part, np.int64))
    return tally


@pytest.mark.parametrize("cut", range(len(TIMES) + 1))
def test_it_does_not_matter_where_rows_are_cut(cut: int) -> None:
    found = tallied(TIMES[:cut], TIMES[cut:]).result()

    assert found.delays.delays.tolist() == [0, 2, 6]
    assert found.delays.rows.tolist() == [4, 1, 2]
    assert (found.first, found.oldest, found.newest) == (10, 10, 20)
    assert found.runs == 3
    assert found.measures is not None
    assert (found.measures.inversions, found.measures.runs) == (5, 3)


def test_the_first_row_need_be_neither_the_oldest_nor_the_newest() -> None:
    found = tallied([5], [3, 9]).result()

    assert (found.first, found.oldest, found.newest) == (5, 3, 9)


def test_a_run_goes_on_over_equal_times_and_ends_before_a_smaller_one() -> None:
    assert tallied([1, 1], [1, 2], [1]).result().runs == 2


def test_beyond_the_limit_order_is_not_measured_but_runs_are() -> None:
    limits = Limits(measured=3)

    kept, let_go = (tallied([4, 3], [2, 1][:more], limits=limits).result() for more in (1, 2))

    assert kept.measures is not None
    assert let_go.measures is None
    assert let_go.runs == 4
    assert let_go.delays.out_of_order == 3


def test_beyond_the_limit_delays_are_rounded() -> None:
    times = [100_000, *range(0, 50_000, 7)]

    assert tallied(times).result().delays.is_exact
    assert not tallied(times, limits=Limits(distinct=10)).result().delays.is_exact


def test_rows_are_counted_by_key_if_there_is_one() -> None:
    tally = Tally(("key",))
    tally.add(np.array([9, 4]), pa.table({"key": ["a", "b"]}))
    tally.add(np.array([8]), pa.table({"key": ["b"]}))

    found = tally.result().keys

    assert found is not None
    assert found.to_pylist() == [
        {"key": "b", "rows": 2, "out_of_order": 2, "largest": 5},
        {"key": "a", "rows": 1, "out_of_order": 0, "largest": 0},
    ]
    assert tallied([1]).result().keys is None


def test_every_row_is_in_both_pictures() -> None:
    found = tallied(TIMES).result()

    assert found.by_time.rows.sum() == found.by_level.rows.sum() == len(TIMES)
    # The level of a delay up to 7 is the delay itself.
    assert sorted(set(found.by_level.heights.tolist())) == [0, 2, 6]


def test_no_rows_are_no_error() -> None:
    found = tallied([]).result()

    assert (found.first, found.oldest, found.newest, found.runs) == (0, 0, 0, 0)
    assert found.delays.total == 0
