from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.batch import encode
from latecomer.clock.key_clocks import KeyClocks
from latecomer.clock.policy import ClockPerKey
from latecomer.clock.watermark import Clock
from latecomer.hosts.local import MemoryChunks
from latecomer.operators import row_log
from latecomer.time import FOREVER, NEVER, Times

if TYPE_CHECKING:
    from latecomer.batch import Batch, Positions

MS = 1_000
SCHEMA = pa.schema({"key": pa.string(), "x": pa.int64()})
POLICY = ClockPerKey((5 * MS,), None, ("key",))
IDLE = ClockPerKey((5 * MS,), 20 * MS, ("key",))
UNKNOWN = Clock(NEVER, NEVER)


def rows(*keys: str | None) -> pa.Table:
    return pa.table({"key": pa.array(keys, pa.string()), "x": list(range(len(keys)))}, SCHEMA)


def by_row(times: Times, slots: Positions) -> Times:
    """Return the deadlines of rows in a sort: their times."""
    return times


def by_window(times: Times, slots: Positions) -> Times:
    """Return the deadlines of rows in windows of 50 ms: the ends of their windows."""
    return (times // (50 * MS) + 1) * 50 * MS


def after(elapsed: int) -> Clock:
    """Return the common clock after so many milliseconds of the wall clock."""
    return Clock(NEVER, NEVER, elapsed * MS)


def heard(
    policy: ClockPerKey = POLICY, chunks: MemoryChunks | None = None, **newest: int
) -> KeyClocks:
    """Return the clocks of keys after rows with times in milliseconds."""
    clocks = KeyClocks(policy, SCHEMA, chunks or MemoryChunks())
    found = clocks.find(rows(*newest))
    times = np.array([*newest.values()]) * MS
    clocks.hear(found, times, UNKNOWN)
    clocks.hold(found, times)
    return clocks


def test_equal_keys_are_one_and_null_is_a_key_too() -> None:
    clocks = KeyClocks(POLICY, SCHEMA, MemoryChunks())

    assert clocks.find(rows("b", "a", "b", None)).tolist() == [0, 1, 0, 2]
    assert clocks.find(rows(None, "c", "a")).tolist() == [2, 3, 1]
    assert clocks.slots.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.int64(), pa.float64(), "two columns"]
)
@given(
    parts=st.lists(
        st.lists(st.sampled_from([None, 0, 1, 2, 3, 10**12]), max_size=9), min_size=1, max_size=4
    )
)
def test_keys_are_numbered_as_they_first_occur(
    kind: pa.DataType | str, parts: list[list[int | None]]
) -> None:
    is_two = kind == "two columns"
    schema = pa.schema({"key": pa.int64(), "other": pa.string()} if is_two else {"key": kind})
    clocks = KeyClocks(ClockPerKey((0,), None, tuple(schema.names)), schema, MemoryChunks())
    numbers: dict[int | None, int] = {}

    for part in parts:
        values = pa.array(part, pa.int64())
        columns = [
            values.cast(pa.string()).cast(field.type)
            if not pa.types.is_floating(field.type)
            else values.cast(field.type)
            for field in schema
        ]
        found = clocks.find(pa.table(columns, schema))
        assert found.tolist() == [numbers.setdefault(value, len(numbers)) for value in part]


def test_a_promise_moves_the_watermark_of_its_key_at_once() -> None:
    clocks = heard(a=30, b=13)
    clocks.promise(clocks.find(rows("b")), np.array([12]) * MS)
    clocks.advance(UNKNOWN)
    clocks.advance(UNKNOWN)

    assert (clocks.watermarks // MS).tolist() == [25, 12]


def test_only_the_rows_of_a_key_move_its_watermark() -> None:
    clocks = heard(a=30, b=13)
    clocks.advance(UNKNOWN)

    assert clocks.watermarks.tolist() == [25 * MS, 8 * MS]
    clocks.hear(np.array([1]), np.array([50 * MS]), UNKNOWN)
    clocks.advance(UNKNOWN)
    assert clocks.watermarks.tolist() == [25 * MS, 45 * MS]


def test_a_watermark_never_falls_and_a_key_without_rows_has_none() -> None:
    clocks = heard(a=30)
    clocks.advance(UNKNOWN)
    clocks.hear(np.array([0]), np.array([3 * MS]), UNKNOWN)
    clocks.find(rows("b"))
    clocks.advance(UNKNOWN)

    assert clocks.watermarks.tolist() == [25 * MS, NEVER]


def test_no_key_is_behind_a_clock_that_is_given() -> None:
    clocks = heard(a=100, b=13)
    clock = Clock.at(80 * MS, 5 * MS)

    assert clocks.newest(clock).tolist() == [100 * MS, 80 * MS]
    clocks.advance(clock)
    assert clocks.watermarks.tolist() == [95 * MS, 75 * MS]


def test_the_clock_of_a_silent_key_goes_on_until_nothing_of_it_is_held() -> None:
    clocks = heard(IDLE, a=100, b=13)

    seen = []
    for elapsed in (19, 20, 30, 90):
        clocks.advance(after(elapsed), by_window)
        seen.append((clocks.watermarks // MS).tolist())

    assert seen == [[95, 8], [115, 28], [125, 38], [150, 50]]


def test_a_newer_row_ends_a_silence_and_another_does_not() -> None:
    clocks = heard(IDLE, a=100, b=13)
    clocks.hear(np.array([0, 1]), np.array([99, 14]) * MS, after(15))

    clocks.advance(after(30), by_window)

    assert (clocks.watermarks // MS).tolist() == [125, 9]


def test_rows_are_released_and_the_clock_is_not_past_them() -> None:
    clocks = heard(IDLE, a=100)

    clocks.advance(after(1_000), by_row)

    assert clocks.watermarks.tolist() == [100 * MS]


def test_at_the_end_every_watermark_is_there() -> None:
    clocks = heard(a=30, b=13)
    clocks.advance(Clock(30 * MS, FOREVER))

    assert clocks.watermarks.tolist() == [FOREVER, FOREVER]


def test_each_slot_has_the_advance_of_its_watermark() -> None:
    clocks = heard(a=30, b=13)
    clocks.advance(UNKNOWN)
    clocks.hear(np.array([0]), np.array([40 * MS]), UNKNOWN)
    clocks.advance(UNKNOWN)

    before, now = clocks.way.of(pa.table({"_lc_slot": [1, 0]}))

    assert before.tolist() == [8 * MS, 25 * MS]
    assert now.tolist() == [8 * MS, 35 * MS]


def test_a_key_that_was_silent_for_long_and_holds_nothing_is_forgotten_and_its_slot_is_free() -> (
    None
):
    clocks = heard(IDLE, a=13, b=90)
    clocks.hear(np.array([1]), np.array([100 * MS]), after(50))

    assert not clocks.forget(after(210), by_window)
    assert clocks.slots.tolist() == [0, 1]
    clocks.advance(after(200), by_window)
    assert not clocks.forget(after(200), by_window)
    assert clocks.slots.tolist() == [0, 1]
    assert clocks.forget(after(210), by_window)
    assert clocks.slots.tolist() == [1]

    assert clocks.find(rows("c", "b")).tolist() == [1, 0]
    assert clocks.slots.tolist() == [1, 0]
    assert clocks.watermarks.tolist() == [100 * MS, NEVER]


def test_without_idle_no_key_is_forgotten() -> None:
    clocks = heard(a=13, b=100)

    assert not clocks.forget(after(10**6), by_row)

    assert clocks.slots.tolist() == [0, 1]


def test_clocks_go_on_where_they_were_written() -> None:
    chunks = MemoryChunks()
    clocks = heard(chunks=chunks, a=30, b=13)
    clocks.advance(UNKNOWN)

    again = KeyClocks(POLICY, SCHEMA, chunks, clocks.save())

    assert again.watermarks.tolist() == [25 * MS, 8 * MS]
    assert again.find(rows("b", "c")).tolist() == [1, 2]
    # Arrays read from a checkpoint can be changed.
    again.hear(np.array([1]), np.array([50 * MS]), UNKNOWN)
    again.advance(UNKNOWN)
    assert again.watermarks.tolist() == [25 * MS, 45 * MS, NEVER]


class WatchedChunks(MemoryChunks):
    """Chunks that know which keys were written since `written` was cleared."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []

    def put(self, number: int, rows: Batch) -> None:
        self.written += rows["key"].to_pylist()
        super().put(number, rows)


def test_only_keys_that_have_changed_are_written() -> None:
    chunks = WatchedChunks()
    names = [f"k{number}" for number in range(6)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_log, "SMALL", 1)
        clocks = heard(chunks=chunks, **dict.fromkeys(names, 10))
        clocks.advance(UNKNOWN)
        clocks.save()
        assert chunks.written == names
        chunks.written.clear()

        found = clocks.find(rows("k4", "new", "k0"))
        clocks.hear(found[:2], np.full(2, 20 * MS), UNKNOWN)
        clocks.advance(UNKNOWN)
        saved = clocks.save()
        assert chunks.written == ["k4", "new"]
        chunks.written.clear()
        assert clocks.save() == saved
        assert chunks.written == []

    again = KeyClocks(POLICY, SCHEMA, chunks, saved)
    found = again.find(rows(*names, "new"))
    assert again.slots[found].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert again.watermarks[found].tolist() == [each * MS for each in (5, 5, 5, 5, 15, 5, 15)]


def of_0_2_0(since: int) -> bytes:
    """Return clocks as version 0.2.0 wrote them: a checksum, and then all keys as one table."""
    numbers = {
        "_lc_slot": [1, 0],
        "_lc_newest": [30 * MS, 13 * MS],
        "_lc_latest": [30 * MS, 12 * MS],
        "_lc_mark": [25 * MS, 8 * MS],
        "_lc_since": [since, 4],
    }
    return encode(pa.table({"key": ["a", "b"], **numbers}), "lz4")


LIKE_TEXT = next(each for each in map(of_0_2_0, count()) if each.startswith(b"{"))
"""Clocks whose checksum happens to begin like a text."""


@pytest.mark.parametrize("saved", [of_0_2_0(7), LIKE_TEXT], ids=["any", "like text"])
def test_clocks_go_on_where_version_0_2_0_wrote_them_as_one_value(saved: bytes) -> None:
    chunks = MemoryChunks()

    old = KeyClocks(POLICY, SCHEMA, chunks, saved)
    again = KeyClocks(POLICY, SCHEMA, chunks, old.save())

    for clocks in (old, again):
        assert clocks.find(rows("b", "a")).tolist() == [1, 0]
        assert clocks.slots.tolist() == [1, 0]
        assert clocks.watermarks.tolist() == [25 * MS, 8 * MS]


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 90))), max_size=8))
def test_a_restart_changes_nothing(batches: list[list[tuple[int, int]]]) -> None:
    def run(*, restarts: bool) -> list[tuple[list[int], list[int]]]:
        chunks, seen, elapsed = MemoryChunks(), [], 0
        clocks = KeyClocks(IDLE, SCHEMA, chunks)
        for batch in batches:
            found = clocks.find(rows(*(f"k{key}" for key, _ in batch)))
            times = np.array([time * MS for _, time in batch], np.int64)
            clocks.hear(found, times, after(elapsed))
            clocks.hold(found, times)
            clocks.advance(after(elapsed), by_window)
            clocks.forget(after(elapsed), by_window)
            elapsed += 90
            order = np.argsort(clocks.slots)
            seen.append((clocks.slots[order].tolist(), clocks.watermarks[order].tolist()))
            if restarts:
                clocks = KeyClocks(IDLE, SCHEMA, chunks, clocks.save())
        return seen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_log, "SMALL", 2)
        assert run(restarts=True) == run(restarts=False)
