"""Several waits with a watermark for each key; for the laws see tests/hosts/test_keyed_chain.py."""

import numpy as np
import pyarrow as pa

from latecomer.hosts.local import MemoryChunks
from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.all_keys import EachWait
from latecomer.operators.levels import Levels
from latecomer.operators.ways import KeyWays
from latecomer.time import NEVER, TimeColumn

SCHEMA = pa.schema({"time": pa.int64(), "name": pa.string()})
SLOTTED = SCHEMA.append(pa.field(SLOT, pa.int64()))
LEVELS = Levels(TimeColumn("time", "us"), (0, 3), texts=("soon", "later"))


def rows(*given: tuple[int, str, int]) -> pa.Table:
    """Return rows of time, name and slot."""
    return pa.Table.from_pylist([dict(zip(SLOTTED.names, row, strict=True)) for row in given])


def way(before: list[int], now: list[int]) -> KeyWays:
    return KeyWays(np.array(before), np.array(now))


def test_a_row_comes_out_once_for_each_wait_that_it_was_in_time_for() -> None:
    chunks = MemoryChunks()
    leveler = LEVELS.start_clocked(SCHEMA, chunks)
    here = way([NEVER, NEVER], [4, NEVER])
    # The first watermark of slot 0 is at 7: the row at 5 is late for it, but not for the last one.
    leveler.push(rows((8, "a", 0), (5, "b", 0), (2, "c", 1)), here)
    first = leveler.advance(way([4, NEVER], [5, -1]))
    leveler = LEVELS.start_clocked(SCHEMA, chunks, leveler.save())
    second = leveler.advance(way([5, -1], [8, 2]))

    def seen(ready: pa.Table) -> list[tuple[str, str, bool]]:
        columns = (ready[name].to_pylist() for name in ("name", "wait", "is_final"))
        return [*zip(*columns, strict=True)]

    assert first.in_time == (2, 1)
    assert seen(first.ready) == [("c", "soon", False), ("a", "soon", False), ("b", "later", True)]
    assert seen(second.ready) == [("c", "later", True), ("a", "later", True)]
    assert leveler.held == 0


def test_rows_that_are_late_are_not_counted() -> None:
    leveler = LEVELS.start_clocked(SCHEMA, MemoryChunks())
    late = np.array([False, False, True])
    leveler.push(rows((8, "a", 0), (5, "b", 0), (2, "c", 0)), way([NEVER], [4]), late)

    emission = leveler.advance(way([4], [9]))

    # The first watermark was at 7, so the row at 5 was in time for the second wait only.
    assert emission.in_time == (1, 1)
    assert emission.ready["name"].to_pylist() == ["a", "b", "a"]
    assert leveler.advance(way([9], [10])).in_time == ()


def test_each_wait_of_a_key_has_a_slot_of_its_own() -> None:
    sorter = EachWait(LEVELS.by, LEVELS.waits).start_clocked(SLOTTED, MemoryChunks())
    sorter.push(rows((8, "a", 0), (5, "b", 0), (2, "c", 1)), way([NEVER, NEVER], [4, NEVER]))

    found = [sorter.advance(way([4, NEVER], [5, -1])), sorter.advance(way([5, -1], [8, 2]))]

    def seen(ready: pa.Table) -> list[tuple[str, int]]:
        return [*zip(ready["name"].to_pylist(), ready[SLOT].to_pylist(), strict=True)]

    # Two waits: the slots of key 0 are 0 and 1, and those of key 1 are 2 and 3.
    assert [seen(emission.ready) for emission in found] == [
        [("c", 2), ("a", 0), ("b", 1)],
        [("c", 3), ("a", 1)],
    ]
    assert [emission.in_time for emission in found] == [(2, 1), ()]
