from __future__ import annotations

import numpy as np
import pyarrow as pa

from latecomer.clock.key_clocks import KeyClocks
from latecomer.clock.policy import ClockPerKey
from latecomer.clock.watermark import Clock
from latecomer.time import FOREVER, NEVER, Times

MS = 1_000
SCHEMA = pa.schema({"key": pa.string(), "x": pa.int64()})
POLICY = ClockPerKey((5 * MS,), None, ("key",))
IDLE = ClockPerKey((5 * MS,), 20 * MS, ("key",))
UNKNOWN = Clock(NEVER, NEVER)


def rows(*keys: str | None) -> pa.Table:
    return pa.table({"key": pa.array(keys, pa.string()), "x": list(range(len(keys)))}, SCHEMA)


def nothing_is_held(times: Times, _watermarks: Times) -> np.ndarray:
    return np.zeros(len(times), np.bool_)


def all_is_held(times: Times, _watermarks: Times) -> np.ndarray:
    return np.ones(len(times), np.bool_)


def heard(policy: ClockPerKey = POLICY, **newest: int) -> KeyClocks:
    """Make clocks of keys that have heard of times in milliseconds."""
    clocks = KeyClocks(policy, SCHEMA)
    found = clocks.find(rows(*newest))
    times = np.array([*newest.values()]) * MS
    clocks.hear(found, times)
    clocks.hold(found, times)
    return clocks


def test_equal_keys_are_one_and_null_is_a_key_too() -> None:
    clocks = KeyClocks(POLICY, SCHEMA)

    assert clocks.find(rows("b", "a", "b", None)).tolist() == [0, 1, 0, 2]
    assert clocks.find(rows(None, "c", "a")).tolist() == [2, 3, 1]
    assert clocks.slots.tolist() == [0, 1, 2, 3]


def test_only_the_rows_of_a_key_move_its_watermark() -> None:
    clocks = heard(a=30, b=13)
    clocks.advance(UNKNOWN)

    assert clocks.watermarks.tolist() == [25 * MS, 8 * MS]
    clocks.hear(np.array([1]), np.array([50 * MS]))
    clocks.advance(UNKNOWN)
    assert clocks.watermarks.tolist() == [25 * MS, 45 * MS]


def test_a_watermark_never_falls_and_a_key_without_rows_has_none() -> None:
    clocks = heard(a=30)
    clocks.advance(UNKNOWN)
    clocks.hear(np.array([0]), np.array([3 * MS]))
    clocks.find(rows("b"))
    clocks.advance(UNKNOWN)

    assert clocks.watermarks.tolist() == [25 * MS, NEVER]


def test_with_idle_no_key_is_further_behind_the_newest_of_all() -> None:
    clocks = heard(IDLE, a=100, b=13)
    clock = Clock.at(100 * MS, 5 * MS)

    assert clocks.newest(clock).tolist() == [100 * MS, 80 * MS]
    clocks.advance(clock)
    assert clocks.watermarks.tolist() == [95 * MS, 75 * MS]


def test_at_the_end_every_watermark_is_there() -> None:
    clocks = heard(a=30, b=13)
    clocks.advance(Clock(30 * MS, FOREVER))

    assert clocks.watermarks.tolist() == [FOREVER, FOREVER]


def test_the_way_of_each_watermark_is_told_by_slot() -> None:
    clocks = heard(a=30, b=13)
    clocks.advance(UNKNOWN)
    clocks.hear(np.array([0]), np.array([40 * MS]))
    clocks.advance(UNKNOWN)

    before, now = clocks.way.of(pa.table({"_lc_slot": [1, 0]}))

    assert before.tolist() == [8 * MS, 25 * MS]
    assert now.tolist() == [8 * MS, 35 * MS]


def test_a_key_that_is_behind_and_holds_nothing_is_forgotten_and_its_slot_is_free() -> None:
    clocks = heard(IDLE, a=13, b=100)
    clock = Clock.at(100 * MS, 5 * MS)
    clocks.advance(clock)

    clocks.forget(clock, all_is_held)
    assert clocks.slots.tolist() == [0, 1]
    clocks.forget(clock, nothing_is_held)
    assert clocks.slots.tolist() == [1]

    assert clocks.find(rows("c", "b")).tolist() == [1, 0]
    assert clocks.slots.tolist() == [1, 0]
    assert clocks.watermarks.tolist() == [95 * MS, NEVER]


def test_without_idle_no_key_is_forgotten() -> None:
    clocks = heard(a=13, b=100)

    clocks.forget(Clock.at(100 * MS, 5 * MS), nothing_is_held)

    assert clocks.slots.tolist() == [0, 1]


def test_clocks_go_on_where_they_were_written() -> None:
    clocks = heard(a=30, b=13)
    clocks.advance(UNKNOWN)

    again = KeyClocks(POLICY, SCHEMA, clocks.save())

    assert again.watermarks.tolist() == [25 * MS, 8 * MS]
    assert again.find(rows("b", "c")).tolist() == [1, 2]
    # What is read from a checkpoint may be changed.
    again.hear(np.array([1]), np.array([50 * MS]))
    again.advance(UNKNOWN)
    assert again.watermarks.tolist() == [25 * MS, 45 * MS, NEVER]
