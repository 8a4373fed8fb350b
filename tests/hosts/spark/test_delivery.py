"""The input of a bucket, and the output that it returns to Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

from latecomer import agg
from latecomer.batch import decode, encode
from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import Clock
from latecomer.errors import LateRowError
from latecomer.hosts.output import DROPPED, READY, Output
from latecomer.hosts.recall_report import RECALL, Measured, report
from latecomer.hosts.spark import delivery
from latecomer.hosts.spark.bucket_labels import labels
from latecomer.hosts.spark.delivery import Delivery, frames, parts, parts_of
from latecomer.hosts.spark.parcels import CHECK, ROWS_OF, STATES, TICK_OF
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.optimistic.changelog import CHANGE_NUMBER, Changelog
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.edges import FINAL, ID
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn

TIME = TimeColumn("time", "us")
COUNT = Aggregation(TIME, Windows(10, 10), (0,), (Summary((), (("n", agg.count()),)),))
STAGE = Stage((), (Sort(TIME),))
PLAN = Plan(Source(TIME), OneClock((0,)), "divert", (STAGE,))


def parcel(part: int, kind: str = "rows", *times: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    blob = encode(pa.table({"time": pa.array(times, pa.int64())}))
    return {"part": part, "kind": kind, "rows": len(times), "branch": 0, "blob": blob} | more


def output(rows: int) -> Output:
    return Output("ready", rows, pa.table({"text": ["x" * 1_000] * rows}))


def test_parcels_are_opened_in_the_order_in_which_they_were_packed() -> None:
    given = Delivery.of([parcel(7, "rows", 2), parcel(3, "rows", 9, 1)], STAGE)

    (batches,) = given.inputs
    assert [batch["time"].to_pylist() for batch in batches] == [[9, 1], [2]]
    assert given.is_filled
    assert given.schema == pa.schema({"time": pa.int64()})


def test_each_kind_of_parcel_has_its_place() -> None:
    given = Delivery.of(
        [parcel(1, STATES, 1), parcel(2, CHECK, 2), parcel(3, "late", 3), parcel(4, TICK_OF)], STAGE
    )

    assert [batch["time"].to_pylist() for batch in given.states] == [[1]]
    assert [batch["time"].to_pylist() for batch in given.checks] == [[2]]
    assert [(each["output"], each["rows"]) for each in given.outputs] == [("late", 1)]


def test_the_wall_clock_is_the_latest_that_was_told() -> None:
    ticks = [parcel(1, TICK_OF, rows=50), parcel(2, TICK_OF, rows=70)]

    assert Delivery.of(ticks, STAGE).now == 70
    assert Delivery.of([], STAGE).now is None
    assert not Delivery.of(ticks, STAGE).is_filled


def test_states_say_what_the_rows_were_that_they_were_made_of() -> None:
    rows = pa.schema({"time": pa.int64(), "x": pa.string()})
    states = pa.table({"n": [1]}).replace_schema_metadata({ROWS_OF: rows.serialize().to_pybytes()})

    given = Delivery.of([parcel(1, STATES, blob=encode(states))], STAGE)

    assert given.schema == rows
    assert Delivery.of([], STAGE).schema is None


def test_rows_of_other_buckets_are_looked_through_for_late_ones() -> None:
    plan = Plan(Source(TIME), OneClock((0,)), "divert", (Stage((), (COUNT,)),))
    given = Delivery.of([parcel(1, CHECK, 3, 15)], plan.stages[0])

    (part,) = given.late(plan, Clock(10_000, 10), iter)

    assert (part["output"], part["rows"]) == ("late", 1)
    assert decode(part["blob"])["time"].to_pylist() == [3]


def test_a_late_row_that_must_not_be_shown_is_refused_without_it() -> None:
    source = Source(TIME, redact=True)
    plan = Plan(source, OneClock((0,)), "raise", (Stage((), (COUNT,)),))
    given = Delivery.of([parcel(1, CHECK, 3)], plan.stages[0])

    with pytest.raises(LateRowError, match="withheld") as caught:
        [*given.late(plan, Clock(10_000, 10), iter)]
    assert "time=3" not in str(caught.value)


def test_large_rows_are_handed_back_in_small_parts() -> None:
    with patch.object(delivery, "PARCEL_BYTES", 5_000):
        found = [part["rows"] for part in parts(output(20))]

    assert max(found) <= 5
    assert sum(found) == 20


def test_no_frame_holds_much_more_than_a_parcel() -> None:
    with patch.object(delivery, "PARCEL_BYTES", 5_000):
        made = [*frames(part for _ in range(3) for part in parts(output(20)))]
        sizes = [int(frame["blob"].map(len).sum()) for frame in made]

    assert len(made) > 3
    assert max(sizes) < 2 * 5_000
    blobs = [blob for frame in made for blob in frame["blob"]]
    assert sum(decode(blob).num_rows for blob in blobs) == 60


def test_few_parts_go_in_one_frame_and_none_in_none() -> None:
    (frame,) = frames([*parts(output(2)), *parts(Output(DROPPED, 7, None))])

    assert [*frame["output"]] == [READY, DROPPED]
    assert [*frames([])] == []


def test_counts_have_no_blob() -> None:
    (part,) = parts(Output(DROPPED, 7, None))

    assert part == {"output": DROPPED, "rows": 7, "blob": b""}


def test_ids_of_rows_that_have_not_ended_are_made_distinct_by_bucket() -> None:
    ready = Output(READY, 3, pa.table({ID: [0, FINAL, 1]}))
    found = []
    for bucket in labels(2).tolist():
        (row,) = parts_of(iter([ready]), PLAN, bucket, 2)
        found.append(decode(row["blob"])[ID].to_pylist())

    assert found == [[0, FINAL, 2], [1, FINAL, 3]]


def test_numbers_of_changes_are_made_distinct_by_bucket_where_they_are_ours() -> None:
    ready = Output(READY, 3, pa.table({CHANGE_NUMBER: [0, 1, 2]}))
    changes = replace(PLAN, stages=(Stage((), (Changelog(),)),))
    found = [
        decode(row["blob"])[CHANGE_NUMBER].to_pylist()
        for plan in (PLAN, changes)
        for bucket in labels(2).tolist()
        for row in parts_of(iter([ready]), plan, bucket, 2)
    ]

    assert found == [[0, 1, 2], [0, 1, 2], [0, 2, 4], [1, 3, 5]]


def test_reports_say_of_which_bucket_they_are() -> None:
    told = [each for each in report(5, [Measured(0.9, 3, 7, 1)]) if each.name == RECALL]
    buckets = []
    for bucket in labels(2).tolist():
        (row,) = parts_of(iter(told), PLAN, bucket, 2)
        buckets += decode(row["blob"])["bucket"].to_pylist()

    assert buckets == [0, 1]


def test_late_rows_that_all_buckets_have_are_reported_by_the_first() -> None:
    everywhere = Stage((), (), everywhere=True)
    plan = Plan(Source(TIME), OneClock((0,)), "divert", (everywhere,))
    late = Output("late", 1, pa.table({"time": [1]}))

    found = [len(list(parts_of(iter([late]), plan, int(label), 2))) for label in labels(2)]

    assert found == [1, 0]
