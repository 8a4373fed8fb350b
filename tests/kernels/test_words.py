import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.order import index_bits
from latecomer.kernels.words import extent, pack, unpack
from latecomer.time import FOREVER, NEVER


@given(
    times=st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=30), named=st.integers(0, 9)
)
def test_words_sort_by_time_and_then_by_row(times: list[int], named: int) -> None:
    rows = np.array(times, np.int64)
    low, high = extent(rows)
    shift = index_bits(len(rows))
    words = np.empty(len(rows), np.int64)
    out = (np.empty_like(rows), np.empty_like(rows))
    first_positions = np.arange(named)[: len(rows)] + 500

    pack(rows, low, shift, 0, words)
    words.sort()
    unpack(words, low, shift, first_positions, 1_000, out)

    assert (low, high) == (min(times), max(times))
    order = sorted(range(len(times)), key=lambda i: (times[i], i))
    assert out[0].tolist() == [times[i] for i in order]
    count = len(first_positions)
    assert out[1].tolist() == [500 + i if i < count else 1_000 + i - count for i in order]


def test_no_times_have_no_extent() -> None:
    assert extent(np.empty(0, np.int64)) == (FOREVER, NEVER)
