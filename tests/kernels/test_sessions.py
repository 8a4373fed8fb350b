"""Overlapping lifetimes, merged, compared with a slow twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.sessions import numbered, united

Row = tuple[int, int, int]

rows = st.lists(
    st.builds(
        lambda code, start, length: (code, start, start + length),
        st.integers(0, 2),
        st.integers(-10, 20),
        st.integers(1, 8),
    ),
    max_size=15,
)


def twin(given_rows: list[Row]) -> list[tuple[int, int]]:
    """Begin with one row, and add overlapping rows until there are none."""
    found = []
    for row in given_rows:
        together = {row}
        for _ in given_rows:
            together |= {b for a in together for b in given_rows if overlap(a, b)}
        first = min(i for i, each in enumerate(given_rows) if each in together)
        found.append((first, max(end for _, _, end in together)))
    return found


def overlap(one: Row, other: Row) -> bool:
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]


@given(rows)
def test_overlapping_rows_are_merged(given_rows: list[Row]) -> None:
    given_rows.sort(key=lambda row: row[1])
    codes, starts, ends = (np.array([row[i] for row in given_rows], np.int64) for i in range(3))

    firsts, reach = united(codes, starts, ends, 3)

    assert list(zip(firsts.tolist(), reach.tolist(), strict=True)) == twin(given_rows)


def test_a_row_that_begins_where_another_ends_is_not_merged() -> None:
    codes, starts, ends = np.array([0, 0, 0]), np.array([1, 3, 6]), np.array([4, 6, 8])

    firsts, reach = united(codes, starts, ends, 3)

    assert (firsts.tolist(), reach.tolist()) == ([0, 0, 2], [6, 6, 8])


@given(rows)
def test_rows_of_one_key_that_end_together_are_a_session(given_rows: list[Row]) -> None:
    given_rows.sort(key=lambda row: row[2])
    codes, _, ends = (np.array([row[i] for row in given_rows], np.int64) for i in range(3))

    numbers, firsts = numbered(codes, ends, 3)

    sessions = [(code, end) for code, _, end in given_rows]
    in_order = list(dict.fromkeys(sessions))
    assert numbers.tolist() == [in_order.index(each) for each in sessions]
    assert firsts.tolist() == [sessions.index(each) for each in in_order]
