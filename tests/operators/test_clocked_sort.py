from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.hosts.local import MemoryChunks
from latecomer.operators import leaves
from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.sort import Sort
from latecomer.operators.ways import KeyWays
from latecomer.time import NEVER, TimeColumn

if TYPE_CHECKING:
    import pytest

    from latecomer.operators.base import Emission

SCHEMA = pa.schema({"time": pa.int64(), "name": pa.string()})
SLOTTED = SCHEMA.append(pa.field(SLOT, pa.int64()))
SPEC = Sort(TimeColumn("time", "us"))


def rows(*given: tuple[int, str, int]) -> pa.Table:
    """Return rows of time, name and slot."""
    columns = zip(*given, strict=True) if given else ((), (), ())
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SLOTTED, strict=True)], SLOTTED)


def way(before: list[int], now: list[int]) -> KeyWays:
    return KeyWays(np.array(before), np.array(now))


def names(emission: Emission) -> str:
    return "".join(emission.ready.column("name").to_pylist())


def test_each_row_is_released_by_the_watermark_of_its_key() -> None:
    sorter = SPEC.start_clocked(SCHEMA, MemoryChunks())
    first = way([NEVER, NEVER], [5, 2])
    sorter.push(rows((9, "c", 0), (6, "a", 0), (7, "b", 1)), first)
    assert names(sorter.advance(first)) == ""
    assert sorter.held == 3

    assert names(sorter.advance(way([5, 2], [8, 2]))) == "a"
    assert names(sorter.advance(way([8, 2], [8, 7]))) == "b"
    assert names(sorter.advance(way([8, 7], [9, 7]))) == "c"
    assert sorter.held == 0


def test_rows_of_all_keys_come_out_in_order_of_time_and_equal_times_as_they_came() -> None:
    sorter = SPEC.start_clocked(SCHEMA, MemoryChunks())
    here = way([NEVER, NEVER], [NEVER, NEVER])
    sorter.push(rows((5, "b", 1), (5, "c", 0)), here)
    sorter.push(rows((3, "a", 0), (5, "d", 1)), here)
    sorter.advance(here)

    assert names(sorter.advance(way([NEVER, NEVER], [9, 9]))) == "abcd"


def test_rows_that_are_due_when_they_come_are_never_written_down() -> None:
    chunks = MemoryChunks()
    sorter = SPEC.start_clocked(SCHEMA, chunks)
    here = way([NEVER], [5])
    sorter.push(rows((5, "b", 0), (4, "a", 0)), here)

    assert names(sorter.advance(here)) == "ab"
    assert not chunks.batches


def test_rows_that_are_late_are_neither_released_nor_held() -> None:
    sorter = SPEC.start_clocked(SCHEMA, MemoryChunks())
    here = way([NEVER], [5])
    sorter.push(rows((9, "c", 0)), here)
    sorter.advance(here)
    late = np.array([True, False, True, False])
    sorter.push(rows((4, "x", 0), (8, "b", 0), (3, "y", 0), (12, "d", 0)), here, late)
    sorter.push(rows((5, "a", 0)), here)

    assert names(sorter.advance(way([5], [9]))) == "abc"
    assert sorter.held == 1
    assert names(sorter.advance(way([9], [12]))) == "d"


def test_a_row_is_late_before_the_watermark_of_its_key_and_held_after_it() -> None:
    sorter = SPEC.start_clocked(SCHEMA, MemoryChunks())

    assert sorter.is_late(rows((4, "a", 0), (5, "b", 0)), np.array([5, 5])).tolist() == [
        True,
        False,
    ]
    assert sorter.last_due(np.array([5, 6])).tolist() == [5, 6]


def test_it_goes_on_where_it_was_stopped_also_with_many_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leaves, "LEAF_ROWS", 4)
    chunks, here = MemoryChunks(), way([NEVER], [NEVER])
    sorter = SPEC.start_clocked(SCHEMA, chunks)
    sorter.push(rows(*((time, chr(97 + time), 0) for time in range(19, -1, -1))), here)
    sorter.advance(here)
    assert len(chunks.batches) > 1

    again = SPEC.start_clocked(SCHEMA, chunks, sorter.save())

    assert again.held == 20
    assert names(again.advance(way([NEVER], [9]))) == "abcdefghij"
    assert names(again.advance(way([9], [99]))) == "klmnopqrst"
    assert not chunks.batches


def test_rows_that_are_held_have_nulls_in_a_column_that_is_added() -> None:
    chunks, here = MemoryChunks(), way([NEVER], [NEVER])
    sorter = SPEC.start_clocked(SCHEMA, chunks)
    sorter.push(rows((5, "b", 0)), here)
    sorter.advance(here)

    wider = SCHEMA.append(pa.field("more", pa.int32()))
    again = SPEC.start_clocked(wider, chunks, sorter.save())

    found = again.advance(way([NEVER], [9])).ready
    assert found.to_pylist() == [{"time": 5, "name": "b", "more": None}]
    assert found.schema == wider


def test_output_has_the_columns_of_the_input() -> None:
    sorter = SPEC.start_clocked(SCHEMA, MemoryChunks())
    here = way([NEVER], [5])
    sorter.push(rows((5, "b", 0)), here)

    emission = sorter.advance(here)

    assert emission.ready.schema == SCHEMA
    assert emission.late.num_rows == 0
