"""The local host: its clock, rows that are set aside, and late rows."""

import pyarrow as pa
import pytest

from latecomer.clock.policy import OneClock
from latecomer.errors import LateRowError
from latecomer.hosts.local import LocalHost, run
from latecomer.operators.sort import Sort
from latecomer.plan import LatePolicy, Plan, Source, Stage
from latecomer.time import FOREVER, NEVER, TimeColumn

TIME = TimeColumn("time", "ms")
SCHEMA = pa.schema({"time": pa.int64(), "arrival": pa.int64()})


def plan(late: LatePolicy = "divert", ahead: int | None = None, *, redact: bool = False) -> Plan:
    source = Source(TIME, arrival=TimeColumn("arrival", "ms"), ahead=ahead, redact=redact)
    return Plan(source, OneClock((5_000,)), late, (Stage((), (Sort(TIME),)),))


def rows(*times: int | None) -> pa.Table:
    return pa.table([list(times), [None] * len(times)], schema=SCHEMA)


def test_the_clock_is_set_by_earlier_batches() -> None:
    host = LocalHost(plan(), SCHEMA)
    watermarks = [host.step(rows(*times)).watermark for times in [(10,), (20, 1), (3,), ()]]

    assert watermarks == [NEVER, 5_000, 15_000, 15_000]


def test_the_clock_ticks_in_milliseconds() -> None:
    host = LocalHost(
        Plan(
            Source(TimeColumn("time", "us")), OneClock((0,)), "divert", (Stage((), (Sort(TIME),)),)
        ),
        SCHEMA,
    )
    host.step(rows(1_999))

    assert host.step(rows()).watermark == 1_000


def test_dropped_rows_are_counted() -> None:
    host = LocalHost(plan("drop"), SCHEMA)
    host.step(rows(10))

    step = host.step(rows(1, 2, 7))
    assert (step.dropped, step.late.num_rows) == (2, 0)


def test_adjusted_rows_come_out_at_the_watermark() -> None:
    host = LocalHost(plan("adjust"), SCHEMA)
    host.step(rows(10))

    assert host.step(rows(1, 5)).ready["time"].to_pylist() == [5, 5]


def test_adjusted_rows_do_not_overtake_others_of_equal_time() -> None:
    host = LocalHost(plan("adjust"), SCHEMA)
    host.step(rows(10))

    found = host.step(pa.table([[5, 1, 7, 5, 2, 3], [1, 2, 3, 4, 5, 0]], schema=SCHEMA)).ready

    assert found["time"].to_pylist() == [5] * 5
    assert found["arrival"].to_pylist() == [0, 1, 2, 4, 5]


def test_a_row_without_a_time_is_late_with_a_reason_or_raises() -> None:
    assert LocalHost(plan(), SCHEMA).step(rows(None)).late["_reason"].to_pylist() == ["no time"]
    with pytest.raises(LateRowError, match='column "time" is null'):
        LocalHost(plan("raise"), SCHEMA).step(rows(None))


def test_late_rows_raise_when_told_to() -> None:
    host = LocalHost(plan("raise"), SCHEMA)
    host.step(rows(10))
    with pytest.raises(LateRowError, match="4 milliseconds behind the watermark"):
        host.step(rows(1))


def test_a_row_that_must_not_be_shown_is_refused_without_it() -> None:
    host = LocalHost(plan("raise", ahead=3_000, redact=True), SCHEMA)

    with pytest.raises(LateRowError, match="withheld") as caught:
        host.step(pa.table([[14], [10]], schema=SCHEMA))
    assert "time=14" not in str(caught.value)


def test_a_row_far_ahead_of_its_arrival_does_not_move_the_clock() -> None:
    host = LocalHost(plan(ahead=3_000), SCHEMA)
    batch = pa.table([[10, 14, 13], [10, 10, 10]], schema=SCHEMA)

    step = host.step(batch)
    assert (step.late["time"].to_pylist(), step.late["_reason"].to_pylist()) == ([14], ["ahead"])
    assert host.step(rows()).watermark == 8_000


def test_a_bounded_stream_runs_to_its_end() -> None:
    result = run(plan(), [rows(10), rows(1, 12, None)], SCHEMA)

    assert result.ready["time"].to_pylist() == [10, 12]
    assert result.late["time"].to_pylist() == [None, 1]
    assert result.watermark == FOREVER
