import numpy as np
import pyarrow as pa

from latecomer.operators.aggregates.slices import Slices, by_group
from tests.operators.aggregates.catalogue import FLOATS

THREE = Slices(np.array([0, 2, 2, 5]))


def test_a_reduction_fills_empty_slices() -> None:
    assert THREE.reduce(np.add, np.array([1, 2, 3, 4, 5]), -1).tolist() == [3, -1, 12]
    assert Slices(np.zeros(1, np.int64)).reduce(np.add, np.empty(0), 0).tolist() == []


def test_rows_are_ordered_within_their_groups() -> None:
    order = THREE.order(np.array([2.0, 1.0, np.nan, 5.0, 5.0]), np.array([0, 0, 0, 9, 8]))

    assert order.tolist() == [1, 0, 4, 3, 2]


def test_the_first_rows_of_each_group_are_marked() -> None:
    assert THREE.top(1).tolist() == [True, False, True, False, False]
    assert THREE.top(2).tolist() == [True, True, True, True, False]


def test_a_value_is_new_in_every_group() -> None:
    marks = THREE.changes(np.array([7, 7, 7, 7, 8]))

    assert marks.tolist() == [True, False, True, False, True]
    assert Slices(np.zeros(3, np.int64)).changes(np.empty(0, np.int64)).tolist() == []


def test_marked_rows_are_found_by_group() -> None:
    mask = np.array([False, True, True, False, True])

    assert THREE.first(mask).tolist() == [1, -1, 2]
    assert THREE.last(mask).tolist() == [1, -1, 4]


def test_floats_that_compare_equal_are_one_group() -> None:
    for kind in (pa.float32(), pa.float64()):
        column = pa.chunked_array([pa.array([*FLOATS, None, None], kind)])

        _, slices = by_group([column], len(column))

        assert sorted(slices.lengths.tolist()) == [1, 1, 1, 1, 1, 2, 2, 2]


def test_groups_ascend_and_rows_keep_their_order() -> None:
    panes = pa.chunked_array([pa.array([2**40, -5, 2**40, -5, 0])])
    keys = pa.chunked_array([pa.array(["a", "b", "a", "b", None])])

    order, slices = by_group([panes, keys], 5)

    assert order.tolist() == [1, 3, 4, 0, 2]
    assert slices.bounds.tolist() == [0, 2, 3, 5]
