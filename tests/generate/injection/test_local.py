from __future__ import annotations

import pyarrow as pa
import pytest

from latecomer.errors import ColumnTypeError
from latecomer.generate.injection.delays import Delay
from latecomer.generate.injection.fates import Injection
from latecomer.generate.injection.local import check_arrivals, disorder_table
from latecomer.time import TimeColumn

TIME, CAME = TimeColumn("time", "s"), TimeColumn("came", "s")


def injection(fraction: float = 0.0, arrival: TimeColumn | None = None) -> Injection:
    return Injection(TIME, arrival, fraction, Delay.parse("constant:10s"), 7)


def table(times: list[int | None], **columns: list[object]) -> pa.Table:
    return pa.table({"time": pa.array(times, pa.int64()), **columns})


def test_without_delays_rows_stay_as_they_are_and_arrive_with_the_newest_before_them() -> None:
    found, outcome = disorder_table(table([1, 5, 3, 7]), injection())

    assert found["time"].to_pylist() == [1, 5, 3, 7]
    assert found["arrival"].to_pylist() == [1, 5, 5, 7]
    assert (outcome.rows, outcome.timed, outcome.source_out_of_order) == (4, 4, 1)
    assert outcome.found.delayed == 0


def test_a_row_without_a_time_comes_with_the_newest_before_it_or_else_with_the_first() -> None:
    found, outcome = disorder_table(table([None, 4, None, 6]), injection())

    assert found["arrival"].to_pylist() == [4, 4, 4, 6]
    assert (outcome.rows, outcome.timed) == (4, 2)


def test_delayed_rows_stand_where_they_arrive() -> None:
    found, outcome = disorder_table(table(list(range(100))), injection(0.2))

    arrivals = found["arrival"].to_pylist()
    assert arrivals == sorted(arrivals)
    moved = [a - t for a, t in zip(arrivals, found["time"].to_pylist(), strict=True) if a != t]
    assert set(moved) == {10}
    assert len(moved) == outcome.found.delayed
    assert outcome.found.out_of_order == 20


def test_an_arrival_column_puts_rows_in_order_and_those_of_equal_arrival_by_time() -> None:
    rows = table([3, 1, 2, 0], came=[5, 5, 4, 5])

    found, outcome = disorder_table(rows, injection(arrival=CAME))

    assert found["time"].to_pylist() == [2, 0, 1, 3]
    # Rows that arrive together are in order of their times.
    assert outcome.source_out_of_order == 2


def test_rows_without_an_arrival_are_refused() -> None:
    rows = table([1, 2], came=[None, 2])

    with pytest.raises(ColumnTypeError, match=r'1 rows have no "came"\.\nHint: filter them out'):
        disorder_table(rows, injection(arrival=CAME))
    check_arrivals(0, injection(arrival=CAME))
    check_arrivals(3, injection())


def test_a_time_column_of_nulls_is_accepted() -> None:
    found, _ = disorder_table(pa.table({"time": pa.nulls(2)}), injection())

    assert found.schema.field("time").type == pa.timestamp("us")
    assert found["arrival"].to_pylist() == [None, None]
