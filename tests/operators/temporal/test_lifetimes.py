"""Rows that are given lifetimes."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

from latecomer.hosts.local import MemoryChunks
from latecomer.operators.temporal.edges import AT, ID, OTHER
from latecomer.operators.temporal.lifetimes import Dated, Lifetimes
from latecomer.time import FOREVER, NEVER, TimeColumn

ROWS = pa.table(
    {"from": pa.array([3, 5], pa.int64()), "k": ["a", "b"], "to": pa.array([9, None], pa.int64())}
)
FROM, TO = TimeColumn("from", "ms"), TimeColumn("to", "ms")


def test_a_row_counts_until_the_time_in_a_column_and_null_is_never() -> None:
    seen = Lifetimes(FROM, TO).of_rows(ROWS)

    assert seen.to_pydict() == {
        "k": ["a", "b"],
        AT: [3_000, 5_000],
        OTHER: [9_000, FOREVER],
        ID: [-1, -1],
    }


def test_without_an_end_a_row_counts_for_one_microsecond() -> None:
    seen = Lifetimes(FROM).of_rows(ROWS)

    assert seen.to_pydict() == {
        "k": ["a", "b"],
        "to": [9, None],
        AT: [3_000, 5_000],
        OTHER: [3_001, 5_001],
        ID: [-1, -1],
    }


def test_times_may_be_timestamps() -> None:
    at = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    rows = pa.table({"time": pa.array([at], pa.timestamp("ns", "UTC"))})

    assert Lifetimes(TimeColumn("time")).of_rows(rows)[AT].to_pylist() == [1_000_000]


def test_output_has_the_declared_columns_and_nothing_is_held() -> None:
    spec = Lifetimes(FROM, TO)
    running = spec.start(ROWS.schema, MemoryChunks())

    emission = running.push(ROWS)

    assert emission.ready.schema == spec.output_schema(ROWS.schema)
    assert emission.late.num_rows == running.advance(FOREVER).ready.num_rows == 0
    assert (running.due(), running.stops(7), running.save()) == (None, [7], b"")


def test_rows_that_come_when_they_end_are_settled_later() -> None:
    spec = Lifetimes(FROM, TO, 5)
    rows = pa.table({"from": [3, 5], "to": [9, 5]}, ROWS.select(["from", "to"]).schema)

    # A row whose lifetime has no length counts for an instant.
    edges = spec.of_rows(rows)
    assert edges[OTHER].to_pylist()[1] - edges[AT].to_pylist()[1] == 1
    assert (spec.passes(20), spec.leads) == (15, -5)
    assert (spec.passes(FOREVER), spec.passes(NEVER)) == (FOREVER, NEVER)


def test_a_column_says_when_rows_begin_also_if_they_end() -> None:
    spec = Dated(TimeColumn("at", "ms"), pa.int32())
    edges = pa.table({"v": ["a", "b"], AT: [2_500, 9_000], OTHER: [7_000, 4_000], ID: [-1, 3]})
    rows = spec.of_rows(edges)

    assert rows.schema == spec.output_schema(edges.schema)
    # Times in units coarser than a microsecond are rounded up.
    assert rows.select(["at", "v"]).to_pydict() == {"at": [3, 4], "v": ["a", "b"]}


def test_rows_need_no_other_columns() -> None:
    rows = ROWS.select(["from"])

    assert Lifetimes(FROM).of_rows(rows).to_pydict() == {
        AT: [3_000, 5_000],
        OTHER: [3_001, 5_001],
        ID: [-1, -1],
    }
