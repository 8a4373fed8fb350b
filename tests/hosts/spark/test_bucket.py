"""A bucket as Spark drives it, with its state in memory."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from latecomer.batch import decode, encode
from latecomer.clock.policy import ClockBySource, OneClock
from latecomer.errors import ClockError, LateRowError, StateFormatError
from latecomer.hosts.spark.bucket_labels import label
from latecomer.hosts.spark.parcels import TICK_OF
from latecomer.hosts.spark.processor import BucketProcessor
from latecomer.hosts.spark.spark_clock import SHIFT, SparkClock
from latecomer.hosts.tally import TALLY
from latecomer.operators.sort import Sort
from latecomer.plan import LatePolicy, Plan, Source, Stage
from latecomer.time import NEVER, TimeColumn
from tests.support.memory_states import Handle

MS = 1_000
TIME = TimeColumn("time", "ms")
KEY = (label(0),)


def plan(late: LatePolicy = "divert", idle: int | None = None) -> Plan:
    clock = OneClock((5 * MS,), idle)
    return Plan(Source(TIME), clock, late, (Stage((), (Sort(TIME),)),))


class Bucket:
    """A bucket that is restarted for each micro-batch."""

    def __init__(
        self, asked: Plan | None = None, buckets: int = 1, clock: SparkClock | None = None
    ) -> None:
        self.plan, self.buckets, self.handle = asked or plan(), buckets, Handle()
        self.clock = clock or SparkClock()
        self.tallies: list[dict[str, Any]] = []

    def run(
        self, newest: int | None, *times: int, tick: int | None = None
    ) -> list[tuple[str, list[int]]]:
        """Run a micro-batch; newest time, times of rows and wall clock are in milliseconds."""
        processor = BucketProcessor(self.plan, 0, self.buckets, self.clock)
        processor.init(self.handle)  # type: ignore[arg-type]
        shown = 0 if newest is None else newest + self.clock.shift // MS
        values = SimpleNamespace(getCurrentWatermarkInMs=lambda: shown)
        parcels = []
        if times:
            blob = encode(pa.table({"time": pa.array(times, pa.int64())}))
            head = {"part": 1, "kind": "rows", "rows": len(times), "newest": max(times) * MS}
            parcels.append({**head, "branch": 0, "blob": blob})
        if tick is not None:
            head = {"part": 2, "kind": TICK_OF, "rows": tick * MS, "newest": NEVER}
            parcels.append({**head, "branch": 0, "blob": b""})
        if parcels:
            found = processor.handleInputRows(KEY, iter([pd.DataFrame(parcels)]), values)
        else:
            found = processor.handleExpiredTimer(KEY, values, None)
        parts = [part for frame in found for part in frame.to_dict("records")]
        told = [part["blob"].splitlines() for part in parts if part["output"] == TALLY]
        self.tallies = [json.loads(counts) for counts, *_keys in told]
        parts = [part for part in parts if part["output"] != TALLY]
        return [(part["output"], decode(part["blob"])["time"].to_pylist()) for part in parts]

    @property
    def wakes(self) -> list[int]:
        return [at - self.clock.shift // MS for at in sorted(self.handle.timers)]


def test_rows_are_held_until_a_timer_wakes_the_bucket() -> None:
    bucket = Bucket()

    assert bucket.run(None, 9, 3, 4) == []
    assert bucket.wakes == [3 + 5]
    assert bucket.run(9) == [("ready", [3, 4])]
    assert bucket.wakes == [9 + 5]
    assert bucket.run(14) == [("ready", [9])]
    assert bucket.wakes == []
    assert not bucket.handle.chunks


def test_a_bucket_counts_its_rows_and_reports_its_clock() -> None:
    bucket = Bucket()

    bucket.run(None, 9, 3, 4)
    assert bucket.tallies == [{"in": 3, "delay_0": 3, "rows_held": 3, "newest": 9 * MS}]
    bucket.run(9, 2, 5, 8)
    came = {"in": 3, "delay_10": 3, "newest": 8 * MS, "watermark": 4 * MS}
    # 3 and 4 came out, and 2 was late.
    assert bucket.tallies == [came]
    bucket.run(20)
    assert bucket.tallies == [{"rows_held": -3, "watermark": 15 * MS}]


def test_a_timer_is_after_the_clock_or_it_would_never_fire() -> None:
    bucket = Bucket()
    bucket.run(100, 96)

    assert bucket.wakes == [101]


def test_with_promises_a_bucket_runs_whenever_the_clock_moves() -> None:
    clock = ClockBySource((5 * MS,), promise="promise", promised="promise")
    bucket = Bucket(Plan(Source(TIME), clock, "divert", (Stage((), (Sort(TIME),)),)))
    bucket.run(7, 9, 8)

    # By the wait alone, the timer would be at 13.
    assert bucket.wakes == [8]


def test_a_row_behind_the_watermark_is_late_also_before_1970() -> None:
    bucket = Bucket(clock=SparkClock(SHIFT))
    bucket.run(-50, -40)

    assert bucket.run(-40, -46, -45) == [("late", [-46]), ("ready", [-45])]


def test_a_clock_that_stands_still_though_rows_have_come_is_refused() -> None:
    bucket = Bucket(plan(idle=20 * MS), clock=SparkClock(streams=1))
    bucket.run(None, tick=5)
    bucket.run(None, 0, 0)
    bucket.run(None, 9, 3)

    with pytest.raises(ClockError, match=r"does not move.*\n.*withWatermark.*alone=False"):
        bucket.run(None, 12)


def test_a_clock_that_others_may_hold_back_can_stand_still() -> None:
    bucket = Bucket(clock=SparkClock(streams=0))

    assert [bucket.run(None, at) for at in (3, 9, 12)] == [[], [], []]
    assert bucket.run(14) == [("ready", [3, 9])]


def test_a_bucket_that_never_had_rows_has_nothing_to_do() -> None:
    bucket = Bucket()

    assert bucket.run(9) == []
    assert not bucket.handle.values["meta"].exists()


def test_a_micro_batch_reads_and_writes_a_value_once() -> None:
    bucket = Bucket(plan(idle=20 * MS))
    bucket.run(None, 9, 3, tick=0)
    for value in bucket.handle.values.values():
        # Spark warns if a missing value is read.
        assert value.asked == ["exists", "update"]
        value.asked.clear()

    bucket.run(9, 12, tick=1)

    for value in bucket.handle.values.values():
        assert value.asked == ["get", "update"]


def test_another_number_of_buckets_is_refused() -> None:
    bucket = Bucket(buckets=4)
    bucket.run(None, 3)
    bucket.buckets = 8

    with pytest.raises(
        StateFormatError, match="over 4 buckets; the query now asks for 8"
    ) as caught:
        bucket.run(9)
    assert "Hint: use buckets=4 as before" in str(caught.value)


def test_a_failure_says_where_it_happened() -> None:
    bucket = Bucket(plan("raise"))
    bucket.run(100, 100)

    with pytest.raises(LateRowError) as caught:
        bucket.run(100, 3)

    assert "in bucket 1 of 1" in caught.value.__notes__[0]
    assert "Sort" in caught.value.__notes__[0]


def test_in_a_silence_the_clock_advances_with_the_wall_clock() -> None:
    bucket = Bucket(plan(idle=20 * MS))
    bucket.run(None, 7, tick=0)

    seen = [bucket.run(7, tick=now) for now in range(0, 60, 5)]

    assert [("ready", [7])] in seen
    assert seen[:5] == [[]] * 5
