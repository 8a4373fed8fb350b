from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from latecomer.errors import ColumnNameError
from latecomer.profile import key_counts
from latecomer.profile.key_counts import KeyCounter, check_key_names, worst_first
from latecomer.time import FOREVER


def delays(*micros: int) -> np.ndarray:
    return np.array(micros, np.uint64)


def counted(*parts: tuple[list[object], list[int]]) -> list[tuple]:
    counter = KeyCounter(("key",))
    for keys, micros in parts:
        counter.add(pa.table({"key": keys}), delays(*micros))
    found = counter.result()
    assert found is not None
    return [tuple(row.values()) for row in found.to_pylist()]


def test_each_key_has_its_rows_those_out_of_order_and_its_largest_delay() -> None:
    assert counted((["a", "b", "a", None], [0, 5, 3, 0])) == [
        ("b", 1, 1, 5),
        ("a", 2, 1, 3),
        (None, 1, 0, 0),
    ]


def test_counts_of_portions_add_up_also_where_there_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = [(["a", "b"], [1, 2]), (["b", "c"], [7, 0]), (["a"], [0]), (["d"], [0])]
    expected = [("b", 2, 2, 7), ("a", 2, 1, 1), ("c", 1, 0, 0), ("d", 1, 0, 0)]

    assert counted(*parts) == expected
    monkeypatch.setattr(key_counts, "_PENDING", 3)
    assert counted(*parts) == expected


def test_a_key_may_be_wider_in_a_later_portion() -> None:
    counter = KeyCounter(("key",))
    counter.add(pa.table({"key": pa.array([1], pa.int8())}), delays(2))
    counter.add(pa.table({"key": pa.array([1, 2**40], pa.int64())}), delays(0, 0))

    found = counter.result()

    assert found is not None
    assert found["key"].to_pylist() == [1, 2**40]
    assert found["rows"].to_pylist() == [2, 1]


def test_a_delay_that_no_integer_holds_counts_as_the_longest_that_one_does() -> None:
    assert counted((["a"], [2**64 - 2])) == [("a", 1, 1, FOREVER)]


def test_the_worst_key_is_that_with_the_largest_delay_then_with_more_out_of_order() -> None:
    rows = pa.table(
        {
            "key": ["few", "b", "a", "far", "many"],
            "rows": [2, 3, 3, 1, 2],
            "out_of_order": [1, 1, 1, 1, 2],
            "largest": [5, 5, 5, 6, 5],
        }
    )

    assert worst_first(rows)["key"].to_pylist() == ["far", "many", "a", "b", "few"]


def test_no_rows_have_no_keys() -> None:
    assert KeyCounter(("key",)).result() is None


@pytest.mark.parametrize("name", ["rows", "Largest", "OUT_OF_ORDER"])
def test_a_key_is_not_named_like_a_count(name: str) -> None:
    check_key_names(("row", "large"))

    with pytest.raises(ColumnNameError, match=f'rename it first, for example to "{name}_key"'):
        check_key_names(("key", name))
