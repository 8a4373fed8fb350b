"""Two streams as one."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

from latecomer.errors import ColumnTypeError
from latecomer.operators.temporal.edges import edge_schema
from latecomer.operators.temporal.union import Union
from tests.operators.temporal.driving import LEFT, RIGHT, binary, parted, result, whole

A, B = ("a", 1), ("b", 2)
TURNED = edge_schema(pa.schema({"v": pa.int64(), "k": pa.string()}))


def test_rows_of_both_streams_come_out_and_equal_ones_twice() -> None:
    seen = result(binary(Union(), LEFT, LEFT), parted((1, 3, A), (2, 5, B)), parted((1, 3, A)))

    assert seen == Counter([(1, 3, A), (1, 3, A), (2, 5, B)])


def test_the_order_of_the_columns_does_not_matter() -> None:
    seen = result(binary(Union(), LEFT, TURNED), whole((1, 3, A)), whole((2, None, (2, "b"))))

    assert seen == Counter([(1, 3, A), (2, None, B)])


def test_streams_of_different_columns_are_refused() -> None:
    message = 'got "k" string, "v" int64 and "k" string, "w" int64.\nHint: select and cast'

    with pytest.raises(ColumnTypeError, match=message):
        Union().joined_schema(LEFT, RIGHT)


def test_a_union_never_wakes() -> None:
    running = binary(Union(), LEFT, LEFT).running

    assert running.due() is None
    assert running.stops(7) == [7]
