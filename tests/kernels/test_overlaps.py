"""Overlaps, against looking at every pair and every instant."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.overlaps import overlapping, uncovered

Row = tuple[int, int, int, bool, bool]


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """Draw a code, a start, an end, a side, and whether it is old: then it begins before others."""
    is_old = draw(st.booleans())
    start = -1 if is_old else draw(st.integers(0, 12))
    return (
        draw(st.integers(0, 2)),
        start,
        draw(st.integers(start + 1, 15)),
        draw(st.booleans()),
        is_old,
    )


def pairs(given: list[Row]) -> list[tuple[int, int]]:
    codes, starts, ends, is_right, is_old = np.array(given, np.int64).reshape(-1, 5).T.copy()
    found = overlapping(codes, starts, ends, is_right.astype(np.bool_), is_old.astype(np.bool_))
    return sorted(zip(found[0].tolist(), found[1].tolist(), strict=True))


@given(st.lists(rows(), max_size=12).map(sorted))
def test_all_pairs_of_one_key_that_count_together_are_found(given: list[Row]) -> None:
    assert pairs(given) == [
        (i, j)
        for i, (code, start, end, is_right, is_old) in enumerate(given)
        for j, (other, other_start, other_end, other_is_right, other_is_old) in enumerate(given)
        if not is_right
        and other_is_right
        and code == other
        and max(start, other_start) < min(end, other_end)
        and not (is_old and other_is_old)
    ]


def test_there_may_be_many_more_pairs_than_rows() -> None:
    given = [(0, start, 99, start % 2 == 1, False) for start in range(16)]

    assert pairs(given) == [(i, j) for i in range(0, 16, 2) for j in range(1, 16, 2)]


def test_a_row_that_begins_where_another_ends_is_no_partner() -> None:
    assert pairs([(0, 1, 4, False, False), (0, 4, 6, True, False)]) == []


Lifetime = tuple[int, int]

lifetimes = st.tuples(st.integers(0, 10), st.integers(1, 8)).map(lambda x: (x[0], x[0] + x[1]))


def pieces(given: list[tuple[Lifetime, list[Lifetime]]]) -> list[tuple[int, int, int]]:
    starts, ends = np.array([own for own, _ in given], np.int64).reshape(-1, 2).T.copy()
    covers = [(row, *cover) for row, (_, covers) in enumerate(given) for cover in sorted(covers)]
    of, begins, stops = np.array(covers, np.int64).reshape(-1, 3).T.copy()
    found = uncovered(starts, ends, of, begins, stops)
    return list(zip(*(values.tolist() for values in found), strict=True))


@given(st.lists(st.tuples(lifetimes, st.lists(lifetimes, max_size=4)), max_size=6))
def test_pieces_are_the_instants_that_nothing_covers(
    given: list[tuple[Lifetime, list[Lifetime]]],
) -> None:
    found = pieces(given)

    assert found == sorted(found)
    for row, (own, covers) in enumerate(given):
        mine = [(start, end) for at, start, end in found if at == row]
        free = [
            instant
            for instant in range(*own)
            if not any(begin <= instant < stop for begin, stop in covers)
        ]
        assert [instant for piece in mine for instant in range(*piece)] == free
        # None could be longer.
        assert not {start for start, _ in mine} & {end for _, end in mine}
        assert all(start < end for start, end in mine)


def test_what_lies_before_between_and_after_covers_is_left() -> None:
    assert pieces([((1, 9), [(2, 4), (3, 5), (7, 8)])]) == [(0, 1, 2), (0, 5, 7), (0, 8, 9)]
