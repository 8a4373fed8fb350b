"""Chains of lifetimes, compared with trying all chains for each row."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.stitches import chains

Row = tuple[int, int, int]

rows = st.tuples(st.integers(0, 1), st.integers(0, 8), st.integers(1, 4)).map(
    lambda row: (row[0], row[1], row[1] + row[2])
)


def twin(given: list[Row]) -> list[tuple[int, int]]:
    """Append each row to the first chain of its code that ends where it begins."""
    found: list[list[int]] = []
    for i, (code, start, _) in enumerate(given):
        fitting = (chain for chain in found if given[chain[-1]][::2] == (code, start))
        chain = next(fitting, None)
        if chain is None:
            found.append([i])
        else:
            chain.append(i)
    return [(chain[0], chain[-1]) for chain in found]


def seen(given: list[Row]) -> list[tuple[int, int]]:
    codes, starts, ends = np.array(given, np.int64).reshape(-1, 3).T.copy()
    firsts, lasts = chains(codes, starts, ends, np.lexsort((ends, codes)))
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


@given(st.lists(rows, max_size=14).map(lambda given: sorted(given, key=lambda row: row[:2])))
def test_each_row_continues_the_first_chain_that_ends_where_it_begins(given: list[Row]) -> None:
    assert seen(given) == twin(given)


def test_a_gap_or_another_code_ends_a_chain() -> None:
    given = [(0, 1, 3), (0, 3, 7), (0, 8, 9), (1, 9, 10)]

    assert seen(given) == [(0, 1), (2, 2), (3, 3)]


def test_the_first_of_two_chains_that_end_together_is_continued() -> None:
    assert seen([(0, 1, 5), (0, 2, 5), (0, 5, 6), (0, 5, 8)]) == [(0, 2), (1, 3)]
