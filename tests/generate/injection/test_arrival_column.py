from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import latecomer as lc
from latecomer.errors import ColumnNameError
from latecomer.generate.injection.arrival_column import with_arrival
from latecomer.time import NEVER
from tests.support.injection_streams import disorder, fraction_of, seconds


@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
def test_arrivals_stay_within_their_unit(unit: str) -> None:
    last = {"s": 9 * 10**12, "ms": 9 * 10**15, "ns": 9 * 10**18}[unit]
    rows = seconds(*range(last, last + 1_000_000, 1_000))

    result = disorder(rows, fraction=0.1, unit=unit, delay="constant:1000000d")

    assert min(result["arrival"].to_pylist()) >= last - last % 1_000


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.timestamp("us", "UTC"), pa.timestamp("us", "UTC")),
        (pa.timestamp("s"), pa.timestamp("us")),
        (pa.timestamp("ns", "Asia/Tokyo"), pa.timestamp("us", "Asia/Tokyo")),
        (pa.date32(), pa.timestamp("us", "UTC")),
        (pa.int32(), pa.int64()),
    ],
)
def test_the_arrival_column_is_fine_enough_for_a_delay(
    kind: pa.DataType, expected: pa.DataType
) -> None:
    width = pa.int32() if kind in (pa.int32(), pa.date32()) else pa.int64()
    rows = pa.table({"time": pa.array([0, 1, 2], width).cast(kind)})

    result = lc.inject_disorder(rows, time="time", fraction=0, delay="constant:1ms", unit="s")

    assert result.schema.field("arrival").type == expected


def test_arrivals_in_a_coarse_unit_match_the_counted_fraction() -> None:
    rows = seconds(*range(2_000))

    result = disorder(rows, fraction=0.3, delay="uniform:1500ms:9500ms")

    by_arrival = np.argsort(np.asarray(result["arrival"]), kind="stable")
    assert (by_arrival == np.arange(2_000)).all()
    assert fraction_of(result) == pytest.approx(0.3, abs=0.002)


def test_arrivals_are_added_behind_the_columns_or_put_in_the_place_of_those_before() -> None:
    field = pa.field("arrival", pa.int64())
    plain, has_one = pa.table({"x": [1]}), pa.table({"arrival": [9], "x": [1]})

    for rows, names in ((plain, ["x", "arrival"]), (has_one, ["arrival", "x"])):
        found = with_arrival(rows, np.array([5_000_000]), field, "s")
        assert found.column_names == names
        assert found["arrival"].to_pylist() == [5]


def test_a_row_that_never_arrived_has_no_arrival() -> None:
    field = pa.field("arrival", pa.timestamp("us"))

    found = with_arrival(pa.table({"x": [1, 2]}), np.array([NEVER, 7]), field, None)

    assert found["arrival"].cast(pa.int64()).to_pylist() == [None, 7]


@pytest.mark.parametrize("name", ["Arrival", "_lc_time"])
def test_a_column_with_a_name_of_ours_is_refused(name: str) -> None:
    rows = seconds(1, 2).append_column(name, pa.array([1, 2]))

    with pytest.raises(
        ColumnNameError, match=f'a column "{name}", which is a name that Latecomer adds'
    ):
        disorder(rows, fraction=0)


def test_the_arrival_column_may_have_the_name_that_we_use() -> None:
    rows = seconds(2, 1).append_column("arrival", pa.array([20, 10]))

    assert disorder(rows, fraction=0, arrival="arrival")["time"].to_pylist() == [1, 2]
