from __future__ import annotations

import pyarrow as pa
import pytest

from latecomer.api.profile import source_of
from latecomer.errors import ColumnNotFoundError, ColumnTypeError, OptionError
from latecomer.report import rows
from latecomer.report.rows import check_columns, columns_of, measure_rows


def table(
    times: list[int | None], arrivals: list[int | None] | None = None, **more: object
) -> pa.Table:
    columns = {"time": pa.array(times, pa.int64()), **more}
    if arrivals is not None:
        columns["came"] = pa.array(arrivals, pa.int64())
    return pa.table(columns)


PLAIN, ARRIVED = source_of("time", None, None, "us"), source_of("time", "came", None, "us")


def test_rows_are_in_order_of_arrival_as_they_stand() -> None:
    found = measure_rows([table([5, 3]), table([4, 9])], PLAIN)

    assert found.rows == 4
    assert found.findings.delays.delays.tolist() == [0, 1, 2]


def test_an_arrival_column_puts_rows_of_all_batches_in_order() -> None:
    found = measure_rows([table([5, 3], [4, 1]), table([4, 9], [3, 2])], ARRIVED)

    # In order of arrival: 3, 9, 4, 5.
    assert found.findings.first == 3
    assert found.findings.delays.delays.tolist() == [0, 4, 5]


def test_rows_that_arrived_together_stay_as_they_stand() -> None:
    found = measure_rows([table([5, 3, 4], [1, 1, 0])], ARRIVED)

    # In order of arrival: 4, 5, 3.
    assert found.findings.delays.delays.tolist() == [0, 2]


@pytest.mark.parametrize("arrivals", [[2, 1, None, 3, None], [2, 2, None, 3, None]])
def test_rows_without_a_time_or_an_arrival_are_counted_and_left_out(
    arrivals: list[int | None],
) -> None:
    found = measure_rows([table([9, None, 4, 5, None], arrivals)], ARRIVED)

    assert (found.rows, found.without_time, found.without_arrival) == (5, 2, 1)
    assert found.findings.delays.total == 2
    assert found.findings.delays.largest == 4


def test_many_rows_are_returned_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "PIECE_ROWS", 2)

    for arrivals in ([1, 2, 3, 4, 5], [5, 4, 3, 2, 1]):
        found = measure_rows([table([1, 2, 3, 4, 5], arrivals)], ARRIVED)
        assert (found.rows, found.findings.delays.total) == (5, 5)


def test_more_rows_than_can_be_sorted_here_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MOST_SORTED", 3)

    measure_rows([table([1, 2, 3, 4])], PLAIN)
    with pytest.raises(OptionError, match=r"more than 3\.\nHint: sort the file by arrival"):
        measure_rows([table([1, 2], [1, 2]), table([1, 2], [1, 2])], ARRIVED)


def test_no_batches_are_no_rows() -> None:
    assert measure_rows([], PLAIN).rows == measure_rows([], ARRIVED).rows == 0


def test_batches_with_different_dictionaries_are_one_key_column() -> None:
    batches = [table([1], key=pa.array([word]).dictionary_encode()) for word in ("x", "y", "x")]

    keys = measure_rows(batches, source_of("time", None, "key", "us")).findings.keys

    assert keys is not None
    assert dict(zip(keys["key"].to_pylist(), keys["rows"].to_pylist(), strict=True)) == {
        "x": 2,
        "y": 1,
    }


def test_each_column_is_read_once() -> None:
    assert columns_of(source_of("time", "came", ["key", "time"], "us")) == ["time", "came", "key"]
    assert columns_of(PLAIN) == ["time"]


@pytest.mark.parametrize(
    ("schema", "error", "message"),
    [
        ({"at": pa.int64()}, ColumnNotFoundError, 'no column "time"; the rows have "at".'),
        ({}, ColumnNotFoundError, "the rows have none."),
        ({"time": pa.string()}, ColumnTypeError, "Hint: convert it to a timestamp first"),
        ({"time": pa.time64("us")}, ColumnTypeError, 'the time column "time" is of type time64'),
    ],
)
def test_a_time_that_is_missing_or_none_is_refused(
    schema: dict[str, pa.DataType], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        check_columns(pa.schema(schema), PLAIN)

    assert message in str(caught.value)


def test_two_columns_of_one_name_are_refused() -> None:
    schema = pa.schema([("time", pa.int64()), ("time", pa.int64())])

    with pytest.raises(ColumnNotFoundError, match='2 columns named "time"'):
        check_columns(schema, PLAIN)


def test_an_integer_needs_a_unit_and_a_timestamp_none() -> None:
    check_columns(pa.schema({"time": pa.timestamp("s")}), source_of("time", None, None, None))
    check_columns(pa.schema({"time": pa.date32()}), source_of("time", None, None, None))

    with pytest.raises(ColumnTypeError, match="Hint: name its unit with unit=, one of"):
        check_columns(pa.schema({"time": pa.int64()}), source_of("time", None, None, None))


def test_a_key_must_be_a_plain_value() -> None:
    schema = pa.schema({"time": pa.int64(), "key": pa.list_(pa.int64())})

    with pytest.raises(ColumnTypeError, match='the key column "key" is of type list'):
        check_columns(schema, source_of("time", None, "key", "us"))
