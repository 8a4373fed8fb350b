from __future__ import annotations

import pyarrow as pa

from latecomer.hosts.local import MemoryChunks
from latecomer.operators.optimistic.changelog import CHANGE_NUMBER, CHANGE_TYPE, Changelog
from latecomer.operators.optimistic.items import MARKS

SCHEMA = pa.schema([("time", pa.int64()), ("total", pa.int64()), *MARKS])


def items(*rows: tuple[int, int, int]) -> pa.Table:
    """Return items of sign, time and total."""
    made = [(time, total, sign, 0, 0, 0) for sign, time, total in rows]
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, r, strict=True)) for r in made], SCHEMA)


def test_items_are_inserts_and_tombstones_are_deletes_which_come_first() -> None:
    running = Changelog().start(SCHEMA, MemoryChunks())

    ready = running.push(items((1, 2, 7), (-1, 3, 8), (1, 3, 10), (-1, 4, 9))).ready

    assert [tuple(row.values()) for row in ready.to_pylist()] == [
        (3, 8, "delete", 0),
        (4, 9, "delete", 1),
        (2, 7, "insert", 2),
        (3, 10, "insert", 3),
    ]
    # Changes are numbered from 0 in each micro-batch.
    assert running.push(items((1, 5, 1))).ready[CHANGE_NUMBER].to_pylist() == [0]


def test_a_user_sees_the_row_and_its_change() -> None:
    schema = Changelog().output_schema(SCHEMA)

    assert schema.names == ["time", "total", CHANGE_TYPE, CHANGE_NUMBER]
    assert not schema.field(CHANGE_TYPE).nullable
    assert Changelog().start(SCHEMA, MemoryChunks()).push(items((1, 2, 7))).ready.schema == schema


def test_nothing_is_late_and_nothing_is_held_back() -> None:
    running = Changelog().start(SCHEMA, MemoryChunks())

    assert running.push(items((1, 2, 7))).late.num_rows == 0
    assert running.advance(100).ready.schema == Changelog().output_schema(SCHEMA)
    assert running.held == 0
