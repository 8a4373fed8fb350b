import pyarrow as pa
import pytest

from latecomer.errors import ColumnNotFoundError
from latecomer.operators.aggregates.counting import Count
from tests.operators.aggregates.running import FLAG, VALUE, run, table

ROWS = table([1, None, 3, None], pa.int8(), groups=[0, 0, 0, 7], flags=[True, True, False, None])


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (Count(), {0: 3, 7: 1}),
        (Count(VALUE), {0: 2, 7: 0}),
        (Count("", FLAG), {0: 2, 7: 0}),
        (Count(VALUE, FLAG), {0: 1, 7: 0}),
    ],
    ids=repr,
)
@pytest.mark.parametrize("cuts", [(), (1, 2)])
def test_rows_count_unless_they_are_null_or_fail_the_filter(
    count: Count, expected: dict[int, int], cuts: tuple[int, ...]
) -> None:
    assert run(count, ROWS, cuts) == expected


def test_only_columns_that_are_named_are_read() -> None:
    assert Count().columns == ()
    assert Count("x").columns == ("x",)
    assert Count("", "ok").columns == ("ok",)


def test_a_count_is_a_64_bit_integer_and_can_be_taken_away_again() -> None:
    assert Count().result_type(ROWS.schema) == pa.int64()
    assert Count().state_types(ROWS.schema) == [pa.int64()]
    assert Count(VALUE).adds_up(ROWS.schema)


def test_a_missing_column_is_refused_before_any_row_has_come() -> None:
    with pytest.raises(ColumnNotFoundError, match='no column "price"'):
        Count("price").result_type(ROWS.schema)
