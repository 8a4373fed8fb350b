"""The next row of the same key, compared with a slow twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.cuts import first_after
from latecomer.time import FOREVER

Row = tuple[int, int]

rows = st.lists(st.tuples(st.integers(-1, 3), st.integers(-5, 5)), max_size=20)


@given(rows, rows)
def test_the_first_time_after_ones_own_is_found(ours: list[Row], cutters: list[Row]) -> None:
    for each in (ours, cutters):
        each.sort(key=lambda row: row[1])
    codes, times = np.array(ours, np.int64).reshape(-1, 2).T.copy()
    cutter_codes, cutter_times = np.array(cutters, np.int64).reshape(-1, 2).T.copy()

    assert first_after(codes, times, cutter_codes, cutter_times, 4).tolist() == [
        min((t for c, t in cutters if c == code >= 0 and t > time), default=FOREVER)
        for code, time in ours
    ]
