import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.order import index_bits
from latecomer.kernels.release import cuts, split
from latecomer.time import NEVER

streams = st.lists(st.integers(0, 9), max_size=20)


def clocks(rows: int) -> st.SearchStrategy[tuple[list[int], list[int]]]:
    marks = st.lists(st.integers(0, rows), max_size=4).map(sorted)
    return marks.flatmap(
        lambda marks: st.tuples(
            st.just(marks),
            st.lists(st.integers(0, 9), min_size=len(marks), max_size=len(marks)).map(sorted),
        )
    )


@given(data=st.data(), times=streams)
def test_every_row_is_due_held_or_late(data: st.DataObject, times: list[int]) -> None:
    marks, watermarks = data.draw(clocks(len(times)))
    # The rows that are due may end at the last watermark, or before any of them.
    last = data.draw(st.just(max(watermarks, default=0)) | st.integers(0, 9))
    shift = index_bits(len(times))
    due, held, late = (np.empty(len(times) + 1, np.int64) for _ in range(3))

    due_rows, held_rows, late_rows = split(
        np.array(times, np.int64),
        (np.array(marks, np.int64), np.array(watermarks, np.int64), NEVER, last),
        (due, 0, shift, 0),
        (held, last, shift, 0),
        late,
    )

    def seen(i: int) -> int:
        return max((w for m, w in zip(marks, watermarks, strict=True) if m <= i), default=NEVER)

    rows = range(len(times))
    assert late[:late_rows].tolist() == [i for i in rows if times[i] < seen(i)]
    assert due[:due_rows].tolist() == [
        times[i] << shift | i for i in rows if seen(i) <= times[i] <= last
    ]
    assert held[:held_rows].tolist() == [
        times[i] - last << shift | i for i in rows if times[i] > last and times[i] >= seen(i)
    ]


def test_a_row_at_the_watermark_that_came_after_it_is_not_out_by_then() -> None:
    times, positions = np.array([7, 8, 8, 9]), np.array([10, 12, 13, 11])

    assert cuts(times, positions, 10, np.array([3, 4]), np.array([8, 8])).tolist() == [2, 3]


def test_without_watermarks_nothing_is_cut() -> None:
    nothing = np.empty(0, np.int64)

    assert cuts(np.array([7]), np.array([0]), 0, nothing, nothing).tolist() == []


@pytest.mark.parametrize("rows", [3, 300])
def test_few_watermarks_cut_many_rows_as_they_cut_few(rows: int) -> None:
    times = np.arange(rows) * 2
    marks = np.array([rows, rows])

    seen = cuts(times, np.arange(rows), 0, marks, np.array([2, 3]))

    assert seen.tolist() == [2, 2]
