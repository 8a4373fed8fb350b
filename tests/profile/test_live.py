"""A profile of each micro-batch, as one row."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.clock.policy import OneClock
from latecomer.hosts.local import LocalHost
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from latecomer.profile.live import BOUNDS, profile_batch
from latecomer.time import FOREVER, NEVER, TimeColumn

MILLI = 1_000
SECOND = 1_000_000


def profiled(
    times: list[int], newest: int = NEVER, waits: tuple[int, ...] = (0,)
) -> dict[str, Any]:
    said = {wait: f"{wait} us" for wait in waits}
    seen = profile_batch(np.array(times, np.int64), newest, said, pa.int64(), "us")
    return seen.to_pylist()[0]


def test_the_worked_example_of_the_module() -> None:
    first = profiled([10 * MILLI, 14 * MILLI, 12 * MILLI])
    second = profiled([19 * MILLI, 13 * MILLI], newest=14 * MILLI, waits=(0, 1 * MILLI))

    assert (first["out_of_order"], first["largest"]) == (1, 0)
    assert (second["out_of_order"], second["largest"]) == (1, 1)
    assert second["newest"] == 19 * MILLI
    assert second["in_time"] == [
        {"wait": "0 us", "rows": 1, "share": 0.5},
        {"wait": "1000 us", "rows": 2, "share": 1.0},
    ]
    assert second["delays"] == [
        {"up_to": 0, "rows": 1},
        {"up_to": 1, "rows": 1},
    ]


def test_before_anything_was_seen_nothing_is_behind() -> None:
    seen = profiled([-5 * SECOND, -9 * SECOND])

    assert (seen["out_of_order"], seen["largest"]) == (1, 0)
    assert seen["newest"] == -5 * SECOND


def test_a_batch_without_times_keeps_the_newest() -> None:
    assert profiled([], newest=7)["newest"] == 7
    assert profiled([])["newest"] is None
    assert profiled([])["in_time"] == [{"wait": "0 us", "rows": 0, "share": 1.0}]


def test_the_newest_time_has_the_type_of_the_time_column() -> None:
    kind = pa.timestamp("us", "UTC")
    seen = profile_batch(np.array([SECOND]), NEVER, {}, kind).to_pylist()[0]

    assert seen["newest"] == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)


def test_a_delay_too_long_for_any_bound_is_counted_without_one() -> None:
    seen = profile_batch(np.array([NEVER + 1]), FOREVER, {}, pa.int64(), "us")

    assert seen["delays"].to_pylist() == [[{"up_to": None, "rows": 1}]]
    assert seen["largest"].to_pylist() == [FOREVER // 1_000 + 1]


def test_the_first_times_that_there_can_be_are_profiled() -> None:
    seen = profiled([NEVER + 1, 5], newest=NEVER + 1)

    assert (seen["out_of_order"], seen["largest"]) == (0, 0)


@given(
    times=st.lists(st.integers(-50, 50).map(lambda n: n * SECOND), max_size=20),
    newest=st.none() | st.integers(-50, 50).map(lambda n: n * SECOND),
    wait=st.integers(0, 60).map(lambda n: n * SECOND),
)
def test_all_is_as_defined(times: list[int], newest: int | None, wait: int) -> None:
    seen = profiled(times, NEVER if newest is None else newest, (wait,))

    known = [] if newest is None else [newest]
    behind = [max(0, newest - time) if newest is not None else 0 for time in times]
    assert seen["in_time"][0]["rows"] == sum(delay <= wait for delay in behind)
    assert seen["largest"] == max(behind, default=0) // MILLI
    before = [[*known, *times[:at]] for at in range(len(times))]
    assert seen["out_of_order"] == sum(
        any(other > time for other in earlier) for time, earlier in zip(times, before, strict=True)
    )
    assert sum(entry["rows"] for entry in seen["delays"]) == len(times)


@given(
    batches=st.lists(st.lists(st.integers(-9_000, 9_000), max_size=8), max_size=5),
    wait=st.integers(0, 9_000),
)
def test_rows_in_time_are_those_that_sort_finds_in_time(
    batches: list[list[int]], wait: int
) -> None:
    time = TimeColumn("time", "us")
    plan = Plan(Source(time), OneClock((wait,)), "divert", (Stage((), (Sort(time),)),))
    host = LocalHost(plan, pa.schema({"time": pa.int64()}))
    newest = NEVER
    for times in batches:
        late = host.step(pa.table({"time": pa.array(times, pa.int64())})).late.num_rows

        assert profiled(times, newest, (wait,))["in_time"][0]["rows"] == len(times) - late
        newest = max([newest, *times])


@pytest.mark.parametrize("bound", BOUNDS[1:])
def test_a_delay_is_counted_up_to_the_bound_that_it_reaches(bound: int) -> None:
    seen = profiled([-bound], newest=0)["delays"]

    assert seen == [{"up_to": bound // MILLI, "rows": 1}]
