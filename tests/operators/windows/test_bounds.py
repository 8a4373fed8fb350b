from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from latecomer.operators.windows.bounds import window_column, window_field
from latecomer.time import TimeColumn


@pytest.mark.parametrize(
    ("kind", "instant"),
    [
        (pa.timestamp("us", "UTC"), pa.timestamp("us", "UTC")),
        (pa.timestamp("ms"), pa.timestamp("ms")),
        (pa.int64(), pa.int64()),
        # A window may end after the largest time that a small integer can hold.
        (pa.int8(), pa.int64()),
        (pa.int16(), pa.int64()),
        (pa.int32(), pa.int64()),
        # A window may begin within a day.
        (pa.date32(), pa.timestamp("us", "UTC")),
    ],
)
def test_bounds_are_of_the_type_of_the_time_and_never_null(
    kind: pa.DataType, instant: pa.DataType
) -> None:
    field = window_field(pa.schema({"at": kind, "x": pa.string()}), TimeColumn("at", "s"))

    assert field.name == "window"
    assert not field.nullable
    assert [(each.name, each.type) for each in field.type] == [("start", instant), ("end", instant)]


def test_bounds_are_written_in_the_unit_of_the_time() -> None:
    time = TimeColumn("at", "s")
    field = window_field(pa.schema({"at": pa.int64()}), time)

    found = window_column(np.array([0, 2_000_000]), np.array([5_000_000, 7_000_000]), field, time)

    assert found.to_pylist() == [{"start": 0, "end": 5}, {"start": 2, "end": 7}]


def test_bounds_of_dates_are_instants() -> None:
    time = TimeColumn("day")
    field = window_field(pa.schema({"day": pa.date32()}), time)

    (window,) = window_column(np.array([0]), np.array([3_600_000_000]), field, time).to_pylist()

    assert window == {
        "start": datetime(1970, 1, 1, tzinfo=UTC),
        "end": datetime(1970, 1, 1, 1, tzinfo=UTC),
    }


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64()])
def test_windows_finer_than_the_unit_of_an_integer_have_instants(kind: pa.DataType) -> None:
    time = TimeColumn("at", "s")
    schema = pa.schema({"at": kind})
    field = window_field(schema, time, 1_000_000, 500_000, 0)

    starts = np.array([9_500_000, 10_000_000])
    found = window_column(starts, starts + 1_000_000, field, time).to_pylist()

    assert [window["start"].microsecond for window in found] == [500_000, 0]
    assert window_field(schema, time, 2_000_000, 1_000_000, 0).type.field("end").type == pa.int64()
    # A nanosecond is shorter than any window.
    assert window_field(schema, TimeColumn("at", "ns"), 1).type.field("end").type == pa.int64()
