"""Sums over stretches, and trees that cover them, against counting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.stretches import cover_sums, tree_cover

COUNT, LEVELS = 13, 4
Span = tuple[int, int]

spans = st.tuples(st.integers(0, COUNT), st.integers(0, COUNT)).map(lambda x: (min(x), max(x)))


def columns(rows: list[tuple[int, ...]], width: int) -> list[np.ndarray]:
    return list(np.array(rows, np.int64).reshape(-1, width).T.copy())


@given(st.lists(st.tuples(spans, st.integers(-50, 50)), max_size=10))
def test_each_stretch_has_the_sum_of_what_covers_it(given: list[tuple[Span, int]]) -> None:
    firsts, stops, values = columns([(*span, value) for span, value in given], 3)

    assert cover_sums(firsts, stops, values, COUNT).tolist() == [
        sum(value for (first, stop), value in given if first <= stretch < stop)
        for stretch in range(COUNT)
    ]


def test_a_sum_that_does_not_fit_wraps_around_and_comes_back() -> None:
    firsts, stops, values = columns([(0, 2, 2**62), (1, 3, 2**62)], 3)

    # Interpreted, NumPy would warn.
    with np.errstate(over="ignore"):
        assert cover_sums(firsts, stops, values, 3).tolist() == [2**62, -(2**63), 2**62]


def leaves(node: int) -> range:
    below = LEVELS + 1 - node.bit_length()
    return range((node << below) - (1 << LEVELS), (node + 1 << below) - (1 << LEVELS))


@given(st.lists(spans, max_size=8))
def test_every_leaf_of_a_range_is_under_one_of_its_nodes(given: list[Span]) -> None:
    nodes, ranges = tree_cover(*columns(given, 2), LEVELS)

    for number, span in enumerate(given):
        mine = nodes[ranges == number].tolist()
        assert sorted(leaf for node in mine for leaf in leaves(node)) == list(range(*span))
        depths = [node.bit_length() for node in mine]
        assert all(depths.count(depth) <= 2 for depth in depths)


def test_a_range_may_need_many_nodes() -> None:
    nodes, ranges = tree_cover(np.array([1]), np.array([15]), LEVELS)

    assert sorted(nodes.tolist()) == [5, 6, 9, 14, 17, 30]
    assert ranges.tolist() == [0] * 6


def test_the_whole_tree_is_covered_by_its_root() -> None:
    nodes, _ = tree_cover(np.array([0]), np.array([16]), LEVELS)

    assert nodes.tolist() == [1]
