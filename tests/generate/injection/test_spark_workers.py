"""What workers do, on Arrow batches; that Spark gives what a table gives is in test_spark.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from latecomer.generate.injection.arrival_column import prepared
from latecomer.generate.injection.delays import Delay
from latecomer.generate.injection.fates import NOTHING, Injection
from latecomer.generate.injection.local import disorder_table
from latecomer.generate.injection.spark_workers import (
    BASE,
    PART,
    TIME,
    Facts,
    counts,
    firsts,
    give_fates,
    place,
    settle,
    source_counts,
    source_first,
)
from latecomer.hosts.spark.bucket_labels import labels
from latecomer.kernels.overtaking import NOBODY
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from collections.abc import Iterable

INJECTION = Injection(
    TimeColumn("time", "us"), TimeColumn("came", "us"), 0.3, Delay.parse("constant:20us"), 7
)
ROWS = pa.table({"time": [1, 5, 3, None, 7], "came": [1, 2, 3, 4, 5]})
BOUNDS = np.array([4])
FACTS = Facts(rows=5, timed=4, origin=1, bounds=(4,))


def table(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(list(batches))


def parts() -> dict[int, list[pa.RecordBatch]]:
    """Place the rows, and give them their fates, part by part and in order of time."""
    placed = table(place(INJECTION, BOUNDS, ROWS.to_batches()))
    found = {}
    for number, label in enumerate(labels(2).tolist()):
        rows = placed.filter(pa.array(np.asarray(placed[PART]) == label)).drop_columns([PART])
        batches = rows.sort_by(TIME).to_batches()
        found[number] = list(give_fates(INJECTION, FACTS.origin, batches))
    return found


def test_a_part_has_the_times_from_one_bound_up_to_the_next() -> None:
    assert FACTS.parts == 2
    assert [FACTS.part_of(time) for time in (-9, 3, 4, 99)] == [0, 0, 1, 1]


def test_each_row_is_placed_by_its_time_and_one_without_a_time_is_in_the_first_part() -> None:
    placed = table(place(INJECTION, BOUNDS, ROWS.to_batches()))

    first, second = labels(2).tolist()
    assert placed[PART].to_pylist() == [first, second, first, first, second]
    assert placed[TIME].to_pylist() == [1, 5, 3, None, 7]
    assert placed[BASE].to_pylist() == [1, 2, 3, 4, 5]


def test_the_first_row_to_come_is_found_in_each_part() -> None:
    found = [next(source_first(FACTS, batches)).to_pydict() for batches in parts().values()]

    assert [(each["part"], each["arrivals"]) for each in found] == [([0], [[1]]), ([1], [[2]])]


def test_rows_out_of_order_are_counted_with_what_is_known_of_later_parts() -> None:
    laters = [(2, 2), NOBODY]

    found = [
        next(source_counts(FACTS, laters, each))["rows"].to_pylist() for each in parts().values()
    ]

    # The row of time 3 comes at 3, behind that of time 5, which comes at 2.
    assert found == [[1], [0]]


def test_a_partition_without_rows_or_without_times_says_nothing() -> None:
    only_null = ROWS.slice(3, 1).to_batches()
    placed = list(place(INJECTION, BOUNDS, only_null))
    batches = [*give_fates(INJECTION, 1, placed)]

    for some in ([], batches):
        assert list(source_first(FACTS, some)) == []
        assert list(firsts(FACTS, None, [0.5], some)) == []
        assert list(counts(FACTS, None, [0.5], [[NOBODY], [NOBODY]], some)) == []


@pytest.mark.parametrize("share", [NOTHING, 0.5, 1.0])
def test_counts_and_arrivals_are_those_of_one_table(share: float) -> None:
    source = [(2, 2), NOBODY]
    laters = [next(firsts(FACTS, source, [share], each)).to_pydict() for each in parts().values()]
    later = [[(laters[1]["arrivals"][0][0], laters[1]["orders"][0][0])], [NOBODY]]

    found = [next(counts(FACTS, source, [share], later, each)) for each in parts().values()]

    delayed = sum(each["delayed"].to_pylist()[0][0] for each in found)
    out_of_order = sum(each["out_of_order"].to_pylist()[0][0] for each in found)
    _, field = prepared(ROWS.schema, INJECTION)
    settled = pa.concat_tables(
        table(settle(FACTS, source, share, field, INJECTION, each)) for each in parts().values()
    )
    moved = [
        a - c
        for a, c in zip(settled["arrival"].to_pylist(), settled["came"].to_pylist(), strict=True)
    ]
    assert sorted(set(moved)) in ([0], [0, 20])
    assert moved.count(20) == delayed
    assert out_of_order >= 1
    if share == NOTHING:
        assert (delayed, out_of_order) == (0, disorder_table(ROWS, INJECTION)[1].undelayed[1])
    if share == 1:
        # All but the row without a time, and the one that is out of order already.
        assert delayed == 3
