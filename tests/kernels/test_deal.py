import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels import deal
from latecomer.kernels.order import index_bits
from latecomer.kernels.words import pack


@given(
    times=st.lists(st.integers(-(2**50), 2**50) | st.integers(0, 3), min_size=1, max_size=60),
    part=st.integers(1, 70),
)
def test_dealt_words_are_those_that_a_plain_sort_gives(times: list[int], part: int) -> None:
    rows = np.array(times, np.int64)
    low, high, shift = min(times), max(times), index_bits(len(times))
    plain, dealt = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deal, "PART", part)
        deal.pack_sorted(rows, low, high, shift, dealt)

    pack(rows, low, shift, 0, plain)
    assert dealt.tolist() == sorted(plain.tolist())
