"""The functions that workers run, on Arrow batches. For queries on Spark see test_spark.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from latecomer.batch import decode
from latecomer.generate.injection.arrival_column import prepared
from latecomer.generate.injection.delays import Delay
from latecomer.generate.injection.fates import NOTHING, Injection
from latecomer.generate.injection.local import disorder_table
from latecomer.generate.injection.spark_workers import (
    BASE,
    TIME,
    Facts,
    Ranges,
    arrange,
    counts,
    draw,
    firsts,
    place,
    sample,
    settle,
    settle_at_once,
    source_counts,
    source_first,
    survey,
)
from latecomer.hosts.spark.bucket_labels import labels
from latecomer.kernels.overtaking import NOBODY
from latecomer.time import NEVER, TimeColumn

if TYPE_CHECKING:
    from collections.abc import Iterable

INJECTION = Injection(
    TimeColumn("time", "us"), TimeColumn("came", "us"), 0.3, Delay.parse("constant:20us"), 7
)
ROWS = pa.table({"time": [1, 5, 3, None, 7], "came": [1, 2, 3, 4, 5]})
FACTS = Facts(rows=5, timed=4, origin=1, bounds=(4,))
RANGES = Ranges(np.array([4]), 1)


def table(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(list(batches))


def placed(rows: pa.Table = ROWS) -> list[pa.RecordBatch]:
    return list(place(INJECTION, FACTS, 2, rows.to_batches()))


def fates() -> list[pa.RecordBatch]:
    """Return the fates of the rows of both parts."""
    return list(draw(INJECTION, FACTS.origin, placed()))


def together(parcels: Iterable[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Return parcels in order of their numbers, as Spark does."""
    return sorted(parcels, key=lambda parcel: parcel["number"][0].as_py())


def test_there_is_one_part_more_than_bounds() -> None:
    assert FACTS.parts == 2


def test_a_survey_counts_rows_times_and_arrivals() -> None:
    (found,) = survey(INJECTION, ROWS.to_batches())

    assert found.drop_columns(["sample"]).to_pylist() == [
        {"rows": 5, "timed": 4, "based": 5, "origin": 1}
    ]
    assert found["sample"].to_pylist() == [[5]]


def test_a_row_is_placed_by_its_time_and_one_without_a_time_is_in_the_first_part() -> None:
    found = placed()

    assert [batch["label"].to_pylist() for batch in found] == [[each] for each in labels(2)]
    rows = [decode(batch["blob"][0].as_buffer()) for batch in found]
    assert [each[TIME].to_pylist() for each in rows] == [[1, 3, NEVER], [5, 7]]
    assert [each[BASE].to_pylist() for each in rows] == [[1, 3, 4], [2, 5]]


def test_only_the_columns_that_are_asked_for_are_placed() -> None:
    (first, _) = place(INJECTION, FACTS, 2, ROWS.to_batches(), only=["time"])

    assert "came" not in decode(first["blob"][0].as_buffer()).column_names


def test_parts_beside_each_other_share_a_task() -> None:
    facts = Facts(rows=5, timed=4, origin=1, bounds=(2, 4, 6))

    found = table(place(INJECTION, facts, 2, ROWS.to_batches()))

    first, second = labels(2).tolist()
    assert found["number"].to_pylist() == [0, 1, 2, 3]
    assert found["label"].to_pylist() == [first, first, second, second]


def test_the_first_row_to_come_is_found_in_each_part() -> None:
    found = table(source_first(fates())).to_pydict()

    assert (found["part"], found["arrivals"]) == ([0, 1], [[1], [2]])


def test_rows_out_of_order_are_counted_with_what_is_known_of_later_parts() -> None:
    found = table(source_counts([(2, 2), NOBODY], fates()))

    # The row of time 3 comes at 3, after that of time 5, which comes at 2.
    assert found["rows"].to_pylist() == [1, 0]


def test_a_partition_without_rows_or_without_times_says_nothing() -> None:
    no_times = list(draw(INJECTION, 1, placed(ROWS.slice(3, 1))))

    for some in ([], no_times):
        assert list(source_first(some)) == []
        assert list(firsts(None, [0.5], some)) == []
        assert list(counts(None, [0.5], [[NOBODY], [NOBODY]], some)) == []


def test_a_sample_says_whether_rows_are_equal() -> None:
    twice = pa.concat_tables([ROWS, ROWS.slice(4)])

    for rows, has_equals in ((ROWS, False), (twice, True)):
        found = table(sample(None, 1.0, draw(INJECTION, 1, placed(rows))))
        assert any(found["has_equals"].to_pylist()) is has_equals
    assert found["sample"].to_pylist() == [[23], [25]]


def test_rows_that_arrive_together_keep_their_order_in_the_source() -> None:
    rows = pa.table({"time": [9, 8, 2, 30], "came": [21, 20, 1, 30]})
    _, field = prepared(rows.schema, INJECTION)

    # The row of time 2 is delayed until 21, when that of time 9 comes.
    parcels = together(settle_at_once(INJECTION, FACTS, 1.0, RANGES, rows.slice(2, 1).to_batches()))
    parcels += settle_at_once(INJECTION, FACTS, NOTHING, RANGES, rows.to_batches())
    found = table(arrange(field, "us", together(parcels)))

    assert found["arrival"].to_pylist() == [1, 20, 21, 21, 30]
    assert found["time"].to_pylist() == [2, 8, 2, 9, 30]


@pytest.mark.parametrize("share", [NOTHING, 0.5, 1.0])
def test_counts_and_arrivals_are_those_of_one_table(share: float) -> None:
    source = [(2, 2), NOBODY]
    first = table(firsts(source, [share], fates())).to_pydict()
    later = [[(first["arrivals"][1][0], first["orders"][1][0])], [NOBODY]]

    found = table(counts(source, [share], later, fates())).to_pydict()

    delayed, out_of_order = (
        sum(each for (each,) in found[name]) for name in ("delayed", "out_of_order")
    )
    _, field = prepared(ROWS.schema, INJECTION)
    parcels = settle(INJECTION, FACTS, share, RANGES, source, placed())
    settled = table(arrange(field, "us", together(parcels)))
    arrivals = settled["arrival"].to_pylist()
    moved = [a - c for a, c in zip(arrivals, settled["came"].to_pylist(), strict=True)]
    assert arrivals == sorted(arrivals)
    assert sorted(set(moved)) in ([0], [0, 20])
    assert moved.count(20) == delayed
    assert out_of_order >= 1
    if share == NOTHING:
        assert (delayed, out_of_order) == (0, disorder_table(ROWS, INJECTION)[1].undelayed[1])
    if share == 1:
        # All rows except that without a time, and that which is already out of order.
        assert delayed == 3
