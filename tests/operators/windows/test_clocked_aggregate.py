from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer import agg
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.aggregates.summary import SLOT, Summary
from latecomer.operators.ways import KeyWays
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.time import NEVER, TimeColumn

if TYPE_CHECKING:
    from latecomer.operators.base import Emission

SCHEMA = pa.schema({"time": pa.int64(), "key": pa.string(), SLOT: pa.int64()})
SPEC = Aggregation(
    TimeColumn("time", "us"), Windows(10, 10), (0,), (Summary(("key",), (("n", agg.count()),)),)
)


def rows(*given: tuple[int, str, int]) -> pa.Table:
    """Return rows of time, key and slot."""
    columns = zip(*given, strict=True) if given else ((), (), ())
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA)


def way(before: list[int], now: list[int]) -> KeyWays:
    return KeyWays(np.array(before), np.array(now))


def told(emission: Emission) -> list[tuple[int, str, int]]:
    found = emission.ready.to_pylist()
    return sorted((row["window"]["start"], row["key"], row["n"]) for row in found)


def test_a_window_closes_for_each_key_by_its_own_watermark() -> None:
    running = SPEC.start_clocked(SCHEMA, MemoryChunks())
    first = way([NEVER, NEVER], [5, 2])
    running.push(rows((7, "a", 0), (8, "a", 0), (7, "b", 1), (12, "a", 0)), first)
    assert told(running.advance(first)) == []

    assert told(running.advance(way([5, 2], [10, 9]))) == [(0, "a", 2)]
    assert told(running.advance(way([10, 9], [10, 10]))) == [(0, "b", 1)]
    assert running.held == 1


def test_rows_in_time_are_counted_as_windows_close() -> None:
    running = SPEC.start_clocked(SCHEMA, MemoryChunks())
    here = way([NEVER], [5])
    running.push(rows((7, "a", 0), (8, "a", 0)), here)

    assert running.advance(here).in_time == (0,)
    assert running.advance(way([5], [10])).in_time == (2,)


def test_rows_that_are_late_are_in_no_window() -> None:
    running = SPEC.start_clocked(SCHEMA, MemoryChunks())
    here = way([NEVER], [5])
    running.push(rows((7, "a", 0), (8, "a", 0), (9, "a", 0)), here, np.array([False, True, False]))

    assert told(running.advance(way([5], [10]))) == [(0, "a", 2)]


def test_a_row_is_late_once_its_window_has_closed_for_its_key() -> None:
    running = SPEC.start_clocked(SCHEMA, MemoryChunks())
    given = rows((9, "a", 0), (10, "a", 0))

    assert running.is_late(given, np.array([10, 10])).tolist() == [True, False]
    assert running.is_late(given, np.array([9, 9])).tolist() == [False, False]


def test_a_state_is_held_until_its_window_closes() -> None:
    running = SPEC.start_clocked(SCHEMA, MemoryChunks())

    assert running.last_due(np.array([9, 10])).tolist() == [10, 20]


def test_it_goes_on_where_it_was_stopped() -> None:
    chunks, here = MemoryChunks(), way([NEVER], [5])
    running = SPEC.start_clocked(SCHEMA, chunks)
    running.push(rows((7, "a", 0)), here)
    running.advance(here)

    again = SPEC.start_clocked(SCHEMA, chunks, running.save())
    again.push(rows((9, "a", 0)), way([5], [6]))

    assert told(again.advance(way([5], [10]))) == [(0, "a", 2)]
    assert again.held == 0
