"""Overlaps, compared with trying every pair and every instant."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.overlaps import LISTS, linked, overlapping, uncovered

Row = tuple[int, int, int, bool]


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """Draw a code, a start, an end, and whether the row is old, and so begins before others."""
    is_old = draw(st.booleans())
    start = -1 if is_old else draw(st.integers(0, 12))
    return draw(st.integers(-1, 2)), start, draw(st.integers(start + 1, 15)), is_old


def pairs(left: list[Row], right: list[Row], *, with_old: bool = False) -> list[tuple[int, int]]:
    codes, starts, ends, _ = np.array([*left, *right], np.int64).reshape(-1, 4).T.copy()
    old = np.array([*(sum(row[3] for row in side) for side in (left, right)), with_old])
    found = overlapping(codes, starts, ends, 3, old, len(left))
    # So many rows that their numbers need 64 bits would not fit into a test.
    wide = np.empty(len(codes) + 3 * int(LISTS), np.uint64)
    for one, other in zip(found, linked(codes, starts, ends, old, len(left), wide), strict=True):
        assert one.tolist() == other.tolist()
    return list(zip(found[0].tolist(), found[1].tolist(), strict=True))


streams = st.lists(rows(), max_size=8).map(lambda rows: sorted(rows, key=lambda row: row[1]))


@given(left=streams, right=streams, with_old=st.booleans())
def test_all_pairs_of_one_key_that_count_together_are_found(
    left: list[Row], right: list[Row], *, with_old: bool
) -> None:
    found = pairs(left, right, with_old=with_old)

    assert sorted(found) == [
        (i, j)
        for i, (code, start, end, is_old) in enumerate(left)
        for j, (other, other_start, other_end, other_is_old) in enumerate(right)
        if code == other >= 0
        and max(start, other_start) < min(end, other_end)
        and not (is_old and other_is_old and not with_old)
    ]
    begins = [max(left[i][1], right[j][1]) for i, j in found]
    assert begins == sorted(begins)
    for i in range(len(left)):
        partners = [right[j][1] for mine, j in found if mine == i]
        assert partners == sorted(partners)


def test_there_may_be_many_more_pairs_than_rows() -> None:
    left, right = ([(0, start + side, 99, False) for start in range(8)] for side in (0, 1))

    assert sorted(pairs(left, right)) == [(i, j) for i in range(8) for j in range(8)]


def test_a_row_that_begins_where_another_ends_is_no_partner() -> None:
    assert pairs([(0, 1, 4, False)], [(0, 4, 6, False)]) == []


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
        # No result could be longer.
        assert not {start for start, _ in mine} & {end for _, end in mine}
        assert all(start < end for start, end in mine)


def test_pieces_before_between_and_after_covers_remain() -> None:
    assert pieces([((1, 9), [(2, 4), (3, 5), (7, 8)])]) == [(0, 1, 2), (0, 5, 7), (0, 8, 9)]
