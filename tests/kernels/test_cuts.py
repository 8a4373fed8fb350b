"""The next row of the same key, against a slow twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.cuts import first_after
from latecomer.time import FOREVER

Row = tuple[int, int, bool]

rows = st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5), st.booleans()), max_size=20)


def twin(given_rows: list[Row]) -> list[int]:
    return [
        min(
            (t for c, t, counts in given_rows if counts and c == code and t > time), default=FOREVER
        )
        for code, time, _ in given_rows
    ]


@given(rows)
def test_the_first_time_after_ones_own_is_found(given_rows: list[Row]) -> None:
    given_rows.sort(key=lambda row: row[:2])
    codes, times, counts = (np.array([row[i] for row in given_rows], np.int64) for i in range(3))

    assert first_after(codes, times, counts.astype(np.bool_)).tolist() == twin(given_rows)
