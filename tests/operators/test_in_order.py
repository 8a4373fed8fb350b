"""Rows that already come in order."""

import pyarrow as pa
import pytest

from latecomer.clock.policy import OneClock
from latecomer.errors import OrderError
from latecomer.hosts.local import LocalHost
from latecomer.operators.in_order import InOrder
from latecomer.plan import Plan, Source, Stage
from latecomer.time import NEVER, TimeColumn

TIME = TimeColumn("time", "s")
SCHEMA = pa.schema({"time": pa.int64()})
PLAN = Plan(Source(TIME), OneClock((0,)), "divert", (Stage((), (InOrder(TIME),)),))


def rows(*times: int) -> pa.Table:
    return pa.table({"time": pa.array(times, pa.int64())}, SCHEMA)


def test_rows_come_out_at_once() -> None:
    host = LocalHost(PLAN, SCHEMA)

    assert host.step(rows(1, 1, 4)).ready["time"].to_pylist() == [1, 1, 4]
    assert host.step(rows()).ready.num_rows == 0
    assert host.step(rows(4, 6)).ready["time"].to_pylist() == [4, 6]
    assert host.finish().ready.num_rows == 0


@pytest.mark.parametrize(("before", "then"), [((), (1, 3, 2)), ((1, 3), (2, 5))])
def test_a_row_out_of_order_is_refused(before: tuple[int, ...], then: tuple[int, ...]) -> None:
    host = LocalHost(PLAN, SCHEMA)
    host.step(rows(*before))

    with pytest.raises(OrderError, match=r"a row of 1970-01-01T00:00:02.* after one of .*00:00:03"):
        host.step(rows(*then))


def test_the_last_time_survives_a_restart() -> None:
    running = InOrder(TIME).start(SCHEMA, None)  # type: ignore[arg-type]
    running.advance(5_000_000)
    resumed = InOrder(TIME).start(SCHEMA, None, running.save())  # type: ignore[arg-type]

    assert resumed.push(rows(5)).ready.num_rows == 1
    with pytest.raises(OrderError, match="00:00:04"):
        resumed.push(rows(4))


def test_the_last_time_is_returned() -> None:
    assert InOrder(TIME).checked(rows(1, 2), NEVER) == 2_000_000
    assert InOrder(TIME).checked(rows(), 7) == 7
