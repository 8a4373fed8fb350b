"""Arrays are written and read again."""

import numpy as np
import pyarrow as pa
import pytest

from latecomer.arrays import are_arrays, nested, part, read_arrays, write_arrays
from latecomer.batch import encode


def test_written_arrays_are_read_again() -> None:
    arrays = {
        "newest": np.array(7),
        "times": np.array([[3, 5, 9], [1, 2, 3]])[:, ::2],
        "shares": np.array([0.5]),
        "is_in": np.array([True, False]),
        "none": np.empty((3, 0), np.int64),
    }

    found = read_arrays(write_arrays(arrays))

    assert found.keys() == arrays.keys()
    for name, each in arrays.items():
        assert found[name].dtype == each.dtype
        np.testing.assert_array_equal(found[name], each)
        assert found[name].flags.writeable


def test_no_arrays_can_be_written() -> None:
    assert read_arrays(write_arrays({})) == {}


def test_arrays_are_told_from_rows() -> None:
    assert are_arrays(write_arrays({}))
    assert are_arrays(write_arrays({"newest": np.array(7)}))
    assert not are_arrays(encode(pa.table({"newest": [7]})))


def test_parts_are_found_by_their_name() -> None:
    inner = {"times": np.array([1])}
    arrays = nested("left", nested("held", inner)) | nested("left_over", inner)

    assert list(arrays) == ["left.held.times", "left_over.times"]
    assert part("held", part("left", arrays)) == inner


@pytest.mark.parametrize("name", ["right", "lef"])
def test_a_part_that_is_not_there_is_empty(name: str) -> None:
    assert part(name, nested("left", {"times": np.array([1])})) == {}
