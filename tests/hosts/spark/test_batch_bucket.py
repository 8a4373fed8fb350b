"""A bucket of a batch DataFrame, run without Spark: all rows at once, and then the end."""

from __future__ import annotations

import pyarrow as pa

from latecomer.batch import decode, encode
from latecomer.clock.policy import OneClock
from latecomer.hosts.spark.batch_bucket import in_batch
from latecomer.hosts.spark.bucket_labels import label
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn

TIME = TimeColumn("time", "us")
PLAN = Plan(Source(TIME), OneClock((5,)), "divert", (Stage((), (Sort(TIME),)),))
SCHEMA = pa.schema(
    {
        "bucket": pa.int32(),
        "part": pa.int64(),
        "kind": pa.string(),
        "rows": pa.int64(),
        "branch": pa.int32(),
        "blob": pa.binary(),
    }
)


def run(*given: tuple[int, str, list[int]]) -> pa.Table:
    rows = [
        {
            "bucket": label(0),
            "part": part,
            "kind": kind,
            "rows": len(times),
            "branch": 0,
            "blob": encode(pa.table({"time": pa.array(times, pa.int64())})),
        }
        for part, kind, times in given
    ]
    batches = [pa.RecordBatch.from_pylist([row], SCHEMA) for row in rows]
    return pa.Table.from_batches(in_batch(PLAN, 0, 1)(iter(batches)))


def told(found: pa.Table) -> list[tuple[str, list[int]]]:
    return [(row["output"], decode(row["blob"])["time"].to_pylist()) for row in found.to_pylist()]


def test_all_rows_come_out_in_order_and_none_is_late() -> None:
    found = run((2, "rows", [1, 9]), (1, "rows", [100, 3]))

    assert told(found) == [("ready", [1, 3, 9, 100])]
    assert found.schema.names == ["output", "rows", "blob"]


def test_outputs_of_earlier_stages_pass_unchanged() -> None:
    found = run((1, "late", [7]), (2, "rows", [3]))

    assert told(found) == [("late", [7]), ("ready", [3])]


def test_a_bucket_without_rows_for_operators_has_nothing_to_run() -> None:
    assert told(run((1, "late", [7]))) == [("late", [7])]
