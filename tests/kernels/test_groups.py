"""Rows arranged by group, compared with sorting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.groups import side_by_side


@given(st.lists(st.integers(0, 4), max_size=20))
def test_rows_of_a_group_are_side_by_side_in_their_order(given: list[int]) -> None:
    order, bounds = side_by_side(np.array(given, np.int64), 5)

    assert order.tolist() == sorted(range(len(given)), key=lambda i: given[i])
    for group in range(5):
        mine = order[bounds[group] : bounds[group + 1]].tolist()
        assert mine == [i for i, each in enumerate(given) if each == group]
