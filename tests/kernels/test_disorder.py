"""The four measures of order, each compared with its definition in a line or two."""

from collections.abc import Callable
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.disorder import distance, interleaved, inversions, runs
from latecomer.time import FOREVER, NEVER

INT64 = st.integers(NEVER, FOREVER)
FEW = st.integers(-5, 5)
streams = st.lists(FEW, max_size=80) | st.lists(INT64, max_size=80) | st.permutations(range(60))


def stream(times: list[int]) -> np.ndarray:
    return np.array(times, np.int64)


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Compile before Hypothesis measures time."""
    measured([2, 1])


def inversions_slowly(times: list[int]) -> int:
    return sum(earlier > later for earlier, later in combinations(times, 2))


def distance_slowly(times: list[int]) -> int:
    pairs = combinations(enumerate(times), 2)
    return max((j - i for (i, earlier), (j, later) in pairs if earlier > later), default=0)


def runs_slowly(times: list[int]) -> int:
    return bool(times) + sum(left > right for left, right in pairwise(times))


def interleaved_slowly(times: list[int]) -> int:
    """Return the length of the longest strictly descending subsequence, row by row."""
    longest: list[int] = []
    for at, time in enumerate(times):
        longest.append(1 + max((longest[i] for i in range(at) if times[i] > time), default=0))
    return max(longest, default=0)


TWINS = pytest.mark.parametrize(
    ("kernel", "slowly"),
    [
        (inversions, inversions_slowly),
        (distance, distance_slowly),
        (runs, runs_slowly),
        (interleaved, interleaved_slowly),
    ],
)


@TWINS
@given(times=streams)
def test_each_measure_agrees_with_its_slow_twin(
    kernel: Callable, slowly: Callable, times: list[int]
) -> None:
    assert kernel(stream(times)) == slowly(times)


@TWINS
@pytest.mark.parametrize("rows", [15, 16, 17, 31, 32, 33, 48, 100, 255, 256, 257, 400])
def test_streams_of_any_length_may_be_cut_and_merged(
    kernel: Callable, slowly: Callable, rows: int
) -> None:
    random = np.random.default_rng(rows)
    times = random.integers(0, rows, rows).tolist()
    descending = list(range(rows, 0, -1))

    assert kernel(stream(times)) == slowly(times)
    assert kernel(stream(descending)) == slowly(descending)


def measured(times: list[int]) -> tuple[int, int, int, int]:
    array = stream(times)
    return inversions(array), distance(array), runs(array), interleaved(array)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([2, 6, 5, 1, 4, 3, 7, 8], (9, 4, 4, 4)),
        ([], (0, 0, 0, 0)),
        ([7], (0, 0, 1, 1)),
        ([4, 4, 4], (0, 0, 1, 1)),
        ([3, 3, 2, 2, 1, 1], (12, 5, 3, 3)),
        ([-1, -3, 0, -2, -2, 5, -9], (11, 6, 4, 3)),
        ([FOREVER, NEVER], (1, 1, 2, 2)),
        ([NEVER, FOREVER, NEVER, FOREVER, FOREVER, NEVER], (4, 4, 3, 2)),
        ([9007199254740993, 9007199254740992], (1, 1, 2, 2)),
    ],
    ids=[
        "the module's example",
        "no rows",
        "one row",
        "equal times",
        "equal times that descend",
        "before 1970",
        "as far apart as can be",
        "from end to end",
        "closer than a float can tell",
    ],
)
def test_the_four_measures_of(times: list[int], expected: tuple[int, ...]) -> None:
    assert measured(times) == expected


@given(times=streams)
def test_all_four_measures_agree_on_whether_a_stream_is_in_order(times: list[int]) -> None:
    pairs, farthest, stretches, sequences = measured(times)
    is_sorted = times == sorted(times)

    assert (pairs == 0) == (farthest == 0) == (stretches <= 1) == (sequences <= 1) == is_sorted


@given(times=streams)
def test_none_of_the_measures_exceeds_what_the_others_allow(times: list[int]) -> None:
    pairs, farthest, stretches, sequences = measured(times)

    assert sequences <= stretches <= len(times)
    assert max(stretches - 1, farthest, sequences * (sequences - 1) // 2) <= pairs
    assert pairs <= len(times) * farthest


@given(times=streams)
def test_only_the_order_of_times_counts(times: list[int]) -> None:
    ranks = {time: rank for rank, time in enumerate(sorted(set(times)))}

    assert measured([ranks[time] for time in times]) == measured(times)


@given(times=st.lists(FEW, max_size=40))
def test_a_stream_and_its_reverse_share_the_pairs_of_different_times(times: list[int]) -> None:
    different = sum(left != right for left, right in combinations(times, 2))

    assert inversions(stream(times)) + inversions(stream(times[::-1])) == different


@given(sources=st.lists(st.lists(FEW, max_size=15).map(sorted), max_size=6), data=st.data())
def test_merged_sorted_sources_need_at_most_as_many_sequences(
    sources: list[list[int]], data: st.DataObject
) -> None:
    turns = [number for number, source in enumerate(sources) for _ in source]
    left = [iter(source) for source in sources]
    times = [next(left[number]) for number in data.draw(st.permutations(turns))]

    assert interleaved(stream(times)) <= len(sources)


def test_more_runs_than_there_was_room_for_are_counted() -> None:
    assert interleaved(stream(list(range(200, 0, -1)))) == 200
