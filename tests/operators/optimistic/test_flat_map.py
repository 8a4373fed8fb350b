"""Rows computed from rows, and rows numbered as they enter."""

import pyarrow as pa
import pytest

from latecomer.errors import UpdateError
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.optimistic.enter import Enter
from latecomer.operators.optimistic.flat_map import FlatMap, FlatMapper
from latecomer.operators.optimistic.items import MARKS
from tests.support.chains import SCHEMA, TIME, Seen, table

ITEM = pa.schema([*SCHEMA, *MARKS])
WORDS = pa.schema([("word", pa.string())])


def items(*rows: tuple[int, int, int]) -> pa.Table:
    """Return items of sign, time and value; items from different inputs have different traces."""
    made = [(time, "k", value, sign, 0, 0, value) for sign, time, value in rows]
    return pa.Table.from_pylist([dict(zip(ITEM.names, r, strict=True)) for r in made], ITEM)


def started(function: object) -> FlatMapper:
    return FlatMap(TIME, function, WORDS).start(ITEM, MemoryChunks())  # type: ignore[arg-type]


def said(running: FlatMapper, batch: pa.Table) -> list[tuple[int, int, str]]:
    rows = running.push(batch).ready.to_pylist()
    return [(row["_lc_sign"], row["_lc_child_0"], row["word"]) for row in rows]


def test_each_row_becomes_any_number_of_rows_and_a_tombstone_as_many_tombstones() -> None:
    running = started(lambda row: ["x"] * row.value)

    assert said(running, items((1, 1, 2), (1, 2, 0))) == [(1, 0, "x"), (1, 1, "x")]
    assert said(running, items((-1, 1, 2))) == [(-1, 0, "x"), (-1, 1, "x")]


def test_outputs_that_a_correction_does_not_change_are_not_cancelled() -> None:
    running = started(lambda row: ["even", "low"] if row.value % 2 == 0 else ["odd", "low"])

    assert said(running, items((-1, 1, 2), (1, 1, 3))) == [(-1, 0, "even"), (1, 0, "odd")]
    assert running.cancelled == 2
    assert said(running, items((-1, 1, 2), (1, 1, 4))) == []


def test_a_failure_names_the_row() -> None:
    def picky(row: Seen) -> str:
        return "ab"[row.value]

    with pytest.raises(UpdateError, match=r"picky failed with IndexError.*value=7\.\n"):
        said(started(picky), items((1, 1, 1), (1, 2, 7)))


def test_times_inside_of_lists_are_integers_too() -> None:
    kind = pa.list_(pa.struct([("at", pa.timestamp("us", "UTC")), ("day", pa.date32())]))
    schema = pa.schema([("time", pa.timestamp("us", "UTC")), ("parts", kind), *MARKS])
    rows = pa.table(
        [[5], pa.array([[{"at": 7, "day": 3}]], kind), [1], [0], [0], [0]], schema=schema
    )
    spec = FlatMap(TIME, lambda row: f"{row.time} {row.parts}", WORDS)

    (row,) = spec.start(schema, MemoryChunks()).push(rows).ready.to_pylist()
    assert row["word"] == "5 [{'at': 7, 'day': 3}]"


def test_rows_of_a_key_are_numbered_as_they_arrive_also_after_a_restart() -> None:
    spec = Enter(TIME, ("key",))
    running = spec.start(SCHEMA, MemoryChunks())
    first = running.push(table([(5, "a", 1), (5, "b", 2)])).ready
    running.advance(4)
    again = spec.start(SCHEMA, MemoryChunks(), running.save())
    emission = again.push(table([(5, "a", 3), (3, "a", 4), (4, "a", 5)]))

    both = pa.concat_tables([first, emission.ready])
    assert both["value"].to_pylist() == [1, 2, 3, 5]
    assert both["_lc_source"].to_pylist() == [0, 1, 2, 3]
    orders = both["_lc_order"].to_pylist()
    assert orders[0] == orders[2] == orders[3] != orders[1]
    assert emission.late["value"].to_pylist() == [4]
