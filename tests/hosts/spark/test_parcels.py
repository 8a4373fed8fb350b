"""Rows are packed into parcels and unpacked again, without Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date

import pyarrow as pa
import pytest

from latecomer import agg
from latecomer.batch import decode, encode
from latecomer.clock.policy import OneClock
from latecomer.errors import ColumnTypeError, LatecomerError
from latecomer.hosts.spark import parcels
from latecomer.hosts.spark.batch_clock import BatchClock
from latecomer.hosts.spark.bucket_labels import labels
from latecomer.hosts.spark.parcels import (
    ASSUMED,
    CHECK,
    NOW,
    ROWS_OF,
    STATES,
    TICK_OF,
    gathered,
    packer,
    repack,
    tick,
    unpack,
    unpack_lists,
)
from latecomer.hosts.spark.spark_clock import SparkClock
from latecomer.kernels.hashing import hash_columns
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.in_order import InOrder
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.time import NEVER, TimeColumn

TIME = TimeColumn("time", "us")
ROWS = pa.table({"time": [9, 3, None, 5], "key": ["a", "c", "a", "a"]})
COUNT = Aggregation(TIME, Windows(10, 10), (0,), (Summary(("key",), (("n", agg.count()),)),))


def plan(*operators: object, key: tuple[str, ...] = ("key",), **stage: bool) -> Plan:
    made = Stage(key, operators or (Sort(TIME),), **stage)  # type: ignore[arg-type]
    return Plan(Source(TIME), OneClock((0,)), "divert", (made,))


def packed(asked: Plan, rows: pa.Table = ROWS, buckets: int = 4, spread: int = 0) -> list[dict]:
    batches = packer(asked, buckets, spread)(iter(rows.to_batches()))
    return [parcel for batch in batches for parcel in batch.to_pylist()]


def bucket_of(key: str, buckets: int = 4) -> int:
    hashed = hash_columns([pa.chunked_array([[key]])], 1)[0]
    return int(labels(buckets)[int(hashed) % buckets])


def of_kind(found: list[dict], kind: str) -> list[dict]:
    return [parcel for parcel in found if parcel["kind"] == kind]


def times(parcel: dict) -> list[int]:
    return decode(parcel["blob"])["time"].to_pylist()


def test_rows_of_a_key_go_to_one_bucket_in_order_of_time() -> None:
    found = {each["bucket"]: each for each in of_kind(packed(plan()), "rows")}

    assert times(found[bucket_of("a")]) == [5, 9]
    assert times(found[bucket_of("c")]) == [3]
    assert found[bucket_of("a")]["rows"] == 2


def test_a_parcel_says_how_new_its_newest_row_is() -> None:
    found = {each["bucket"]: each["newest"] for each in of_kind(packed(plan()), "rows")}

    assert found == {bucket_of("a"): 9, bucket_of("c"): 3}


@pytest.mark.parametrize(
    ("times", "shown"),
    [
        (pa.array([5, -1_000_000, None], pa.timestamp("us", "UTC")), "1969-12-31 23:59:59"),
        (pa.array([5, -1_000_000, None], pa.timestamp("us")), "1969-12-31 23:59:59"),
        (pa.array([date(1970, 1, 1), date(1969, 12, 31)]), "1969-12-31"),
        (pa.array([-6, -7, 0]), "-7"),
    ],
)
def test_rows_before_1970_are_refused_where_the_clock_cannot_show_them(
    times: pa.Array, shown: str
) -> None:
    rows, asked = pa.table({"time": times}), plan(key=())

    with pytest.raises(
        ColumnTypeError, match=rf'column "time" holds {shown}.*before 1970.*\nHint: .*before_1970='
    ):
        list(packer(asked, 4, 0, since_1970=True)(iter(rows.to_batches())))
    assert of_kind(packed(asked, rows), "rows"), "in a batch they are ordinary times"


@pytest.mark.parametrize(
    ("operator", "times"),
    [(Sort(TIME), [-777]), (Sort(TIME), [None]), (InOrder(TIME), [777, 3])],
)
def test_where_rows_must_not_be_shown_no_error_of_packing_shows_one(
    operator: Sort | InOrder, times: list[int | None]
) -> None:
    rows = pa.table({"time": pa.array(times, pa.int64()), "key": ["secret"] * len(times)})
    asked = replace(plan(operator), late="raise")
    for is_redacted in (False, True):
        hidden = replace(asked, source=replace(asked.source, redact=is_redacted))
        with pytest.raises(LatecomerError) as caught:
            list(packer(hidden, 4, 0, since_1970=True)(iter(rows.to_batches())))
        shows = any(text in str(caught.value) for text in ("777", "secret"))
        assert shows != is_redacted


def test_the_first_instant_of_1970_is_not_before_it() -> None:
    rows = pa.table({"time": pa.array([0, None])})

    assert list(packer(plan(key=()), 4, 0, since_1970=True)(iter(rows.to_batches())))


def test_rows_without_a_time_are_set_aside_as_late() -> None:
    (late,) = of_kind(packed(plan()), "late")
    assert late["newest"] == NEVER, "it does not move the clock"

    assert late["rows"] == 1
    assert decode(late["blob"])["_reason"].to_pylist() == ["no time"]


def test_parcels_are_numbered_in_the_order_in_which_they_are_packed() -> None:
    parts = [each["part"] for each in packed(plan())]

    assert parts == list(range(len(parts)))


def test_rows_are_aggregated_before_the_shuffle_and_states_say_what_they_were_made_of() -> None:
    found = of_kind(packed(plan(COUNT)), STATES)

    assert {each["bucket"]: each["rows"] for each in found} == {
        bucket_of("a"): 2,
        bucket_of("c"): 1,
    }
    assert {each["newest"] for each in found} == {9}
    written = decode(found[0]["blob"]).schema.metadata[ROWS_OF]
    assert pa.ipc.read_schema(pa.py_buffer(written)) == ROWS.schema


@pytest.mark.parametrize(
    ("late", "spread", "checks"), [("divert", 4, 1), ("divert", 0, 0), ("drop", 4, 0)]
)
def test_rows_go_along_with_their_states_where_a_late_one_must_still_be_a_row(
    late: str, spread: int, checks: int
) -> None:
    asked = replace(plan(COUNT), late=late)  # type: ignore[arg-type]

    found = of_kind(packed(asked, spread=spread), CHECK)

    assert len(found) == checks
    assert [each["rows"] for each in found] == [3] * checks


def test_rows_that_are_joined_stay_in_the_order_in_which_they_were_read() -> None:
    found = {each["bucket"]: times(each) for each in of_kind(packed(plan(as_read=True)), "rows")}

    assert found == {bucket_of("a"): [9, 5], bucket_of("c"): [3]}


def test_rows_that_are_everywhere_go_to_all_buckets() -> None:
    found = of_kind(packed(plan(as_read=True, everywhere=True)), "rows")

    assert [each["bucket"] for each in found] == labels(4).tolist()
    assert [times(each) for each in found] == [[9, 3, 5]] * 4


def test_large_parcels_for_many_buckets_are_not_put_into_one_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parcels, "PARCEL_BYTES", 2_000)
    asked = plan(as_read=True, everywhere=True)

    batches = [*packer(asked, 40, 0)(iter(ROWS.to_batches()))]

    found = [parcel for batch in batches for parcel in batch.to_pylist()]
    assert max(batch.nbytes for batch in batches) < 5_000
    assert sum(parcel["kind"] == "rows" for parcel in found) == 40
    assert [parcel["part"] for parcel in found] == [*range(len(found))]


def test_the_wall_clock_says_what_is_ahead_and_is_no_column_of_the_rows() -> None:
    asked = replace(plan(), source=Source(TIME, ahead=5))
    rows = ROWS.append_column(NOW, pa.array([1] * 4))

    found = packed(asked, rows)

    reasons = [
        r for each in of_kind(found, "late") for r in decode(each["blob"])["_reason"].to_pylist()
    ]
    assert sorted(reasons) == ["ahead", "no time"]
    assert decode(of_kind(found, "rows")[0]["blob"]).column_names == ["time", "key"]


def test_what_one_stage_puts_out_is_packed_for_the_next() -> None:
    asked = plan()
    asked = replace(asked, stages=(*asked.stages, Stage(("key",))))
    ready = pa.table({"time": [9, 3], "key": ["a", "c"]})
    outputs = pa.RecordBatch.from_pylist(
        [
            {"output": "ready", "rows": 2, "blob": encode(ready)},
            {"output": "late", "rows": 7, "blob": b"as it is"},
        ]
    )

    found = [each for batch in repack(asked, 1, 4, iter([outputs])) for each in batch.to_pylist()]

    assert {each["bucket"]: times(each) for each in of_kind(found, "rows")} == {
        bucket_of("a"): [9],
        bucket_of("c"): [3],
    }
    (late,) = of_kind(found, "late")
    assert (late["rows"], late["blob"]) == (7, b"as it is")


def test_all_buckets_are_told_what_the_wall_clock_shows() -> None:
    shown = pa.RecordBatch.from_pydict({"now": [5, 9]})

    found = [each for batch in tick(3, iter([shown])) for each in batch.to_pylist()]

    assert [(each["bucket"], each["kind"], each["rows"]) for each in found] == [
        (label, TICK_OF, 9) for label in labels(3).tolist()
    ]
    assert list(tick(3, iter([]))) == []


def test_small_batches_are_put_together_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parcels, "PARCEL_ROWS", 5)
    batches = [pa.RecordBatch.from_pydict({"n": [n, n]}) for n in range(4)]

    assert [table.num_rows for table in gathered(iter(batches))] == [6, 2]
    assert list(gathered(iter([]))) == []


def test_large_rows_are_packed_before_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parcels, "PARCEL_BYTES", 1_000)
    batches = [pa.RecordBatch.from_pydict({"text": ["x" * 600]}) for _ in range(4)]

    assert [table.num_rows for table in gathered(iter(batches))] == [2, 2]


def test_no_row_travels_if_late_rows_are_not_read() -> None:
    found = packed(plan(COUNT).with_ready_only, spread=2)

    assert {each["kind"] for each in found} == {STATES, "late"}
    assert of_kind(packed(plan(COUNT), spread=2), CHECK)


def test_only_late_rows_travel_where_the_clock_can_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = pa.table({"time": [9_000, 3_000, 25_000], "key": ["a", "c", "a"]})
    tens = replace(COUNT, windows=Windows(10_000, 10_000))
    clock = BatchClock("nowhere", SparkClock())
    monkeypatch.setattr(BatchClock, "shown", lambda _: 20)

    found = [
        parcel
        for batch in packer(plan(tens), 1, 1, clock=clock)(iter(rows.to_batches()))
        for parcel in batch.to_pylist()
    ]

    (sent,) = of_kind(found, CHECK)
    assert times(sent) == [9_000, 3_000]
    (assumed,) = of_kind(found, ASSUMED)
    # Tasks that pack rows count the delays of rows that are not sent.
    assert (assumed["rows"], json.loads(assumed["blob"])) == (20, {"delay_0": 1})
    monkeypatch.setattr(BatchClock, "shown", lambda _: None)
    again = packer(plan(tens), 1, 1, clock=clock)(iter(rows.to_batches()))
    (sent,) = of_kind([parcel for batch in again for parcel in batch.to_pylist()], CHECK)
    assert sent["rows"] == 3


def test_states_carry_columns_that_were_not_read() -> None:
    columns = ROWS.schema.append(pa.field("more", pa.string()))
    pack = packer(plan(COUNT).with_ready_only, 1, 1, columns)

    (batch,) = pack(iter(ROWS.to_batches()))
    (states,) = of_kind(batch.to_pylist(), STATES)
    written = decode(states["blob"]).schema.metadata[ROWS_OF]
    assert pa.ipc.read_schema(pa.py_buffer(written)) == columns


def test_each_blob_is_unpacked_to_a_list() -> None:
    blobs = pa.array([encode(ROWS.slice(0, 3)), encode(ROWS.slice(0, 0)), encode(ROWS.slice(3))])

    found = unpack_lists(blobs, ROWS.schema).to_pylist()

    assert found == [ROWS.slice(0, 3).to_pylist(), [], ROWS.slice(3).to_pylist()]
    assert unpack_lists(blobs.slice(0, 0), ROWS.schema).to_pylist() == []


def test_what_was_packed_is_unpacked() -> None:
    blobs = pa.RecordBatch.from_pydict({"blob": [encode(ROWS), encode(ROWS.slice(3))]})

    found = pa.Table.from_batches(unpack(iter([blobs])))

    assert found["time"].to_pylist() == [9, 3, None, 5, 5]
