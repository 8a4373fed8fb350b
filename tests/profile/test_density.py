"""A grid counts every row, and does not depend on the order of rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.profile.density import Density, DensityCounter, fitting
from latecomer.time import FOREVER, NEVER

HEIGHTS = st.lists(st.integers(NEVER, FOREVER) | st.integers(-20, 20), max_size=40)


def density(heights: list[int], cut: int = 100) -> Density:
    counter = DensityCounter(columns=8, rows=5)
    for start in range(0, len(heights), cut):
        counter.add(np.array(heights[start : start + cut], np.int64))
    return counter.result()


def cells(seen: Density) -> Counter[tuple[int, int]]:
    places = zip(seen.columns.tolist(), seen.heights.tolist(), strict=True)
    return Counter(dict(zip(places, seen.rows.tolist(), strict=True)))


def test_rows_that_fit_have_a_cell_each() -> None:
    seen = density([3, 4, 2])

    assert (seen.wide, seen.high) == (0, 0)
    assert cells(seen) == {(0, 3): 1, (1, 4): 1, (2, 2): 1}


def test_neighbours_share_a_cell_where_there_are_too_many() -> None:
    seen = density([0, 0, 1, 1, 2, 2, 3, 3, 9])

    assert (seen.wide, seen.high) == (1, 1)
    assert cells(seen) == {(0, 0): 2, (1, 0): 2, (2, 1): 2, (3, 1): 2, (4, 4): 1}


@given(heights=HEIGHTS)
def test_every_row_is_in_the_cell_that_spans_it(heights: list[int]) -> None:
    seen = density(heights)

    assert cells(seen) == Counter(
        (at >> seen.wide, height >> seen.high) for at, height in enumerate(heights)
    )
    assert len({*seen.columns.tolist()}) <= 8
    assert not heights or seen.heights.max() - seen.heights.min() < 5


@given(heights=HEIGHTS, cut=st.integers(1, 9))
def test_counting_in_pieces_gives_the_same_grid(heights: list[int], cut: int) -> None:
    one, other = density(heights, cut), density(heights)

    assert (one.wide, one.high) == (other.wide, other.high)
    assert cells(one) == cells(other)


def test_the_smallest_size_that_fits_is_taken() -> None:
    assert [fitting(0, high, 4) for high in (0, 3, 4, 7, 8)] == [0, 0, 1, 1, 2]
    assert fitting(NEVER, FOREVER, 4) == 62
