"""Columns of vectors have the type of their values."""

import pyarrow as pa
import pytest

from tests.conformance.typed import Typed


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], pa.int64()),
        ([1, 2.5], pa.float64()),
        (["a", None], pa.string()),
        ([[[1, 2]], [[3]]], pa.list_(pa.list_(pa.int64()))),
        ([], pa.bool_()),
        ([None], pa.bool_()),
    ],
)
def test_values_of_one_type_have_a_column_of_it(values: list[object], kind: pa.DataType) -> None:
    assert Typed.of(values, otherwise=pa.bool_()) == Typed(kind)


@pytest.mark.parametrize(
    "values", [[1, "1"], [{"x": 1}, {"y": 1}], [[], []], [True, 1], [1 << 70], [{"x": []}]]
)
def test_values_without_a_common_type_are_text(values: list[object]) -> None:
    typed = Typed.of(values, otherwise=pa.int64())

    assert typed == Typed(pa.string(), is_text=True)
    assert [typed.read(typed.write(value)) for value in values] == values
