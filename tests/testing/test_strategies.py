import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from latecomer.testing.strategies import Cuts, batchings, cut, disordered


@given(arrivals=disordered(max_delay=7))
def test_drawn_streams_stay_within_the_given_delay(arrivals: list[int]) -> None:
    newest = -(10**9)
    for time in arrivals:
        newest = max(newest, time)
        assert newest - time <= 7


@given(arrivals=disordered(max_delay=7), cuts=batchings())
def test_a_cut_keeps_all_rows_in_order(arrivals: list[int], cuts: Cuts) -> None:
    assert [row for batch in cut(arrivals, cuts) for row in batch] == arrivals


@pytest.mark.parametrize("delay", [1, 2, 3])
def test_disorder_is_drawn_up_to_the_longest_delay(delay: int) -> None:
    def is_behind(arrivals: list[int]) -> bool:
        return any(max(arrivals[: at + 1]) - time == delay for at, time in enumerate(arrivals))

    assert find(disordered(max_delay=3), is_behind)


@given(arrivals=disordered(max_delay=0, low=-3, high=3, max_size=5))
def test_without_a_delay_rows_are_in_order_and_within_their_bounds(arrivals: list[int]) -> None:
    assert arrivals == sorted(arrivals)
    assert len(arrivals) <= 5
    assert all(-3 <= time <= 3 for time in arrivals)


@pytest.mark.parametrize(
    ("cuts", "expected"),
    [
        ([], [[1, 2, 3]]),
        ([2], [[1, 2], [3]]),
        ([0, 1, 9], [[], [1], [2, 3], []]),
    ],
)
def test_batches_have_the_sizes_that_were_drawn_and_the_last_has_the_rest(
    cuts: Cuts, expected: list[list[int]]
) -> None:
    assert cut([1, 2, 3], cuts) == expected


@given(cuts=batchings(max_size=4), items=st.lists(st.integers(), max_size=9))
def test_there_is_one_batch_more_than_there_are_cuts(cuts: Cuts, items: list[int]) -> None:
    assert len(cuts) <= 4
    assert len(cut(items, cuts)) == len(cuts) + 1
