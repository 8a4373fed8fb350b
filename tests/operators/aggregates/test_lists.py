import math

import pyarrow as pa

from latecomer.operators.aggregates.lists import Collect, TopK
from tests.operators.aggregates.catalogue import NEGATIVE_NAN
from tests.operators.aggregates.running import BY, VALUE, result, run, table


def test_the_largest_values_descend_and_nan_is_the_largest() -> None:
    values = [1.0, math.inf, None, math.nan, -1.0, 3.0]

    found = result(TopK(VALUE, k=3), values, pa.float64(), cuts=(2, 4))

    assert math.isnan(found[0])
    assert found[1:] == [math.inf, 3.0]


def test_the_extremes_of_integers_are_in_order() -> None:
    values = [0, -(2**63), 2**63 - 1, -1]

    assert result(TopK(VALUE, k=9), values, pa.int64()) == [2**63 - 1, 0, -1, -(2**63)]


def test_equal_values_are_all_listed() -> None:
    assert result(TopK(VALUE, k=3), ["b", "a", "b", "b", "b"], pa.string()) == ["b", "b", "b"]


def test_with_ties_all_rows_equal_to_the_last_are_listed() -> None:
    values = [5, 3, 3, 9, 3, 1]

    for cuts in ([], [2, 3], [1, 4, 5]):
        assert result(TopK(VALUE, k=3, ties=True), values, pa.int64(), cuts) == [9, 5, 3, 3, 3]
        assert result(TopK(VALUE, k=2, ties=True), values, pa.int64(), cuts) == [9, 5]
    assert result(TopK(VALUE, k=9, ties=True), values, pa.int64()) == [9, 5, 3, 3, 3, 1]


def test_rows_chosen_by_another_column_do_not_depend_on_arrival() -> None:
    names, prices = ["z", "b", "a", "c", None], [1, 7, 7, 7, 9]
    top = TopK(VALUE, k=2, by=BY, texts=(("column", "name"), ("by", "price")))
    expected = [{"name": "a", "price": 7}, {"name": "b", "price": 7}]

    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]):
        rows = table(
            [names[i] for i in order], pa.string(), by=pa.array([prices[i] for i in order])
        )
        for cuts in ([], [1], [2, 3]):
            assert run(top, rows, cuts) == {0: expected}


def test_zeros_are_equal_in_what_rows_are_chosen_by_and_so_are_nans() -> None:
    for one, other in (
        (-0.0, 0.0),
        (0.0, -0.0),
        (math.nan, NEGATIVE_NAN),
        (NEGATIVE_NAN, math.nan),
    ):
        rows = table([2, 1, 3], pa.int64(), by=pa.array([one, other, -5.0]))

        found = run(TopK(VALUE, k=2, by=BY), rows, cuts=[1])[0]

        assert [each[VALUE] for each in found] == [1, 2]


def test_fields_are_called_as_the_columns_unless_named() -> None:
    rows = table(["a"], pa.string(), by=pa.array([1]))

    assert run(TopK(VALUE, k=1, by=BY), rows) == {0: [{"value": "a", "by": 1}]}


def test_values_are_collected_in_order_of_time_and_arrival() -> None:
    rows = table(["d", "b", None, "a", "c"], pa.string(), times=[3, 2, 0, 1, 2])

    for cuts in ([], [1], [2, 4]):
        assert run(Collect(VALUE), rows, cuts) == {0: ["a", "b", "c", "d"]}


def test_results_are_lists_as_spark_takes_them() -> None:
    schema = table([], pa.string()).schema

    assert Collect(VALUE).result_type(schema) == pa.list_(pa.string())
    assert TopK(VALUE, k=1).result_type(schema) == pa.list_(pa.string())
