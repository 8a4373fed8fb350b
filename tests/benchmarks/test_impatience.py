import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.impatience import impatience, patience_runs

PAPER = [2, 6, 5, 1, 4, 3, 7, 8]
"""Figure 3 of the paper."""

streams = st.lists(st.integers(-9, 9), max_size=30)


def runs_of(times: list[int]) -> list[list[int]]:
    placed = patience_runs(np.array(times, np.int64))
    return [
        [t for t, run in zip(times, placed, strict=True) if run == wanted]
        for wanted in range(max(placed, default=-1) + 1)
    ]


def released(
    times: list[int], *watermarks: tuple[int, int], speculative: bool = True, huffman: bool = True
) -> tuple[list[int], list[int], list[int]]:
    marks = np.array([mark for mark, _ in watermarks], np.int64)
    ends = np.array([end for _, end in watermarks], np.int64)
    order, counts, runs = impatience(np.array(times, np.int64), marks, ends, speculative, huffman)
    return [times[i] for i in order], counts.tolist(), runs.tolist()


def test_the_runs_of_the_paper() -> None:
    assert runs_of(PAPER) == [[2, 6, 7, 8], [5], [1, 4], [3]]


def test_the_watermarks_of_the_paper() -> None:
    seen = released(PAPER, (4, 2), (7, 4), (8, 8))

    assert seen == ([1, 2, 3, 4, 5, 6, 7, 8], [2, 4, 8], [3, 4, 2])


def test_a_late_event_is_left_out() -> None:
    assert released([5, 3, 4, 2], (3, 4)) == ([3, 4, 5], [2], [2])


@given(times=streams)
def test_runs_ascend_and_are_as_few_as_can_be(times: list[int]) -> None:
    runs = runs_of(times)

    assert all(run == sorted(run) for run in runs)
    longest = [1] * len(times)
    for j in range(len(times)):
        longest[j] += max((longest[i] for i in range(j) if times[i] > times[j]), default=0)
    assert len(runs) == max(longest, default=0)


@pytest.mark.parametrize("speculative", [False, True])
@pytest.mark.parametrize("huffman", [False, True])
@given(times=streams, every=st.integers(1, 7), wait=st.integers(0, 9))
def test_events_that_are_not_late_come_out_in_order(
    times: list[int], every: int, wait: int, *, speculative: bool, huffman: bool
) -> None:
    marks = list(range(every, len(times) + 1, every))
    ends = [max(times[:mark]) - wait for mark in marks]
    clock = list(zip(marks, ends, strict=True))

    order, counts, _ = impatience(
        np.array(times, np.int64),
        np.array(marks, np.int64),
        np.array(ends, np.int64),
        speculative,
        huffman,
    )

    in_time = [
        i
        for i, time in enumerate(times)
        if time >= max((end for mark, end in clock if mark <= i), default=time)
    ]
    assert order.tolist() == sorted(in_time, key=lambda i: (times[i], i))
    for count, (mark, end) in zip(counts, clock, strict=True):
        assert count == sum(1 for i in in_time if i < mark and times[i] <= end)


def test_there_may_be_any_number_of_runs() -> None:
    times = list(range(40, 0, -1))

    assert runs_of(times) == [[time] for time in times]
    assert released(times, (40, 20)) == (sorted(times), [20], [40])
