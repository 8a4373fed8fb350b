import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.errors import OptionError
from latecomer.kernels.impatience import impatience
from latecomer.operators import ordering
from latecomer.operators.ordering import Ordering, Released

NOTHING = np.empty(0, np.int64)
SPECULATIVE = HUFFMAN = True


def array(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


def clock(times: list[int], every: int, wait: int) -> tuple[np.ndarray, np.ndarray]:
    marks = list(range(every, len(times) + 1, every))
    return array(marks), array([max(times[:mark]) - wait for mark in marks])


def test_rows_come_out_in_order_and_are_cut_at_each_watermark() -> None:
    seen = Ordering().push(array([7, 9, 8, 9, 6, 11, 12, 8]), array([3, 6]), array([8, 10]))

    assert seen.times.tolist() == [7, 8, 9, 9]
    assert seen.positions.tolist() == [0, 2, 1, 3]
    assert seen.cuts.tolist() == [2, 4]
    assert seen.late.tolist() == [4]


def test_a_row_at_the_watermark_comes_out_with_the_next_one() -> None:
    ordering = Ordering()
    ordering.push(array([5]), array([1]), array([5]))

    seen = ordering.push(array([5, 9]), array([1, 2]), array([5, 6]))

    assert (seen.positions.tolist(), seen.cuts.tolist(), seen.late.tolist()) == ([1], [1, 1], [])


def test_rows_without_a_watermark_wait_for_one() -> None:
    ordering = Ordering()

    assert len(ordering.push(array([3, 1, 2]), NOTHING, NOTHING).times) == 0
    assert (ordering.held, ordering.runs) == (3, 0)
    assert ordering.push(array([0]), array([1]), array([2])).positions.tolist() == [3, 1, 2]
    assert ordering.finish().positions.tolist() == [0]


def test_a_row_is_late_also_where_much_comes_out_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "STEP", 3)
    times = [*[0] * 9, 9, -5, -5]
    marks, watermarks = clock(times, every=1, wait=9)

    seen = Ordering().push(array(times), marks, watermarks)

    assert seen.positions.tolist() == list(range(9))
    assert seen.late.tolist() == [10, 11]


@pytest.mark.parametrize(
    ("marks", "watermarks", "message"),
    [
        ([1], [], "each mark needs a watermark; got 1 and 0"),
        ([3], [9], "marks must ascend from 0 to the number of rows, 2"),
        ([-1], [9], "marks must ascend"),
        ([2, 1], [8, 9], "marks must ascend"),
        ([1, 2], [9, 8], "watermarks must ascend"),
        ([1], [6], "watermarks must ascend, from the last one, 7, on"),
    ],
)
def test_a_clock_that_cannot_be_is_refused(
    marks: list[int], watermarks: list[int], message: str
) -> None:
    ordering = Ordering()
    ordering.push(array([7]), array([1]), array([7]))

    with pytest.raises(OptionError, match=message):
        ordering.push(array([7, 8]), array(marks), array(watermarks))

    assert ordering.finish().positions.tolist() == []


@pytest.mark.parametrize("rows", [3_000, 600_000])
def test_many_rows_without_a_watermark_are_sorted_like_any_others(rows: int) -> None:
    times = np.random.default_rng(1).integers(-(10**9), 10**9, rows)

    seen = _all_at_once(times)

    order = np.argsort(times, kind="stable")
    assert np.array_equal(seen.positions, order)
    assert np.array_equal(seen.times, times[order])


def _all_at_once(times: np.ndarray) -> Released:
    ordering = Ordering()
    ordering.push(times, NOTHING, NOTHING)
    return ordering.finish()


@pytest.mark.parametrize("step", [1, 3, 1_000])
@pytest.mark.parametrize("scale", [1, 2**57])
@given(
    times=st.lists(st.integers(-9, 9), max_size=30),
    every=st.integers(1, 7),
    wait=st.integers(0, 9),
    cut=st.integers(0, 30),
)
def test_it_does_what_the_papers_algorithm_does(
    times: list[int], every: int, wait: int, cut: int, step: int, scale: int
) -> None:
    times = [time * scale for time in times]
    marks, watermarks = clock(times, every, wait * scale)
    order, counts, _ = impatience(array(times), marks, watermarks, SPECULATIVE, HUFFMAN)

    before = ordering.STEP
    ordering.STEP = step
    try:
        sorting = Ordering()
        first = int(np.searchsorted(marks, cut, side="right"))
        parts = [
            sorting.push(array(times[:cut]), marks[:first], watermarks[:first]),
            sorting.push(array(times[cut:]), marks[first:] - cut, watermarks[first:]),
            sorting.finish(),
        ]
    finally:
        ordering.STEP = before

    assert np.concatenate([part.positions for part in parts]).tolist() == order.tolist()
    assert np.concatenate([part.times for part in parts]).tolist() == [times[i] for i in order]
    assert _cuts(parts) == counts.tolist()
    released = set(order.tolist())
    late = np.concatenate([part.late for part in parts]).tolist()
    assert late == [i for i in range(len(times)) if i not in released]
    assert sorting.held == 0


def _cuts(parts: list[Released]) -> list[int]:
    first, second, _ = parts
    return [*first.cuts.tolist(), *(second.cuts + len(first.times)).tolist()]
