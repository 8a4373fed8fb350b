from __future__ import annotations

import pyarrow as pa

from latecomer.hosts.local import MemoryChunks
from latecomer.kernels.hashing import hash_columns
from latecomer.operators.optimistic.enter import Enter
from latecomer.operators.optimistic.items import MARKS, ORDER, SIGN, SOURCE, TRACE
from latecomer.time import TimeColumn

SCHEMA = pa.schema([("time", pa.int64()), ("key", pa.string())])
SPEC = Enter(TimeColumn("time", "us"), ("key",))


def rows(*given: tuple[int, str]) -> pa.Table:
    return pa.Table.from_pylist([{"time": time, "key": key} for time, key in given], SCHEMA)


def test_a_row_becomes_an_item_and_keeps_its_columns() -> None:
    ready = SPEC.start(SCHEMA, MemoryChunks()).push(rows((5, "a"), (4, "b"))).ready

    assert ready.schema == SPEC.output_schema(SCHEMA) == pa.schema([*SCHEMA, *MARKS])
    assert ready.select(["time", "key"]).to_pylist() == rows((5, "a"), (4, "b")).to_pylist()
    assert (ready[SIGN].to_pylist(), ready[TRACE].to_pylist()) == ([1, 1], [0, 0])


def test_rows_of_equal_time_are_ordered_by_the_hash_of_their_key() -> None:
    given = rows((5, "a"), (5, "b"), (6, "a"))

    orders = SPEC.start(SCHEMA, MemoryChunks()).push(given).ready[ORDER].to_pylist()

    hashes = hash_columns([given.column("key")], 3).view("int64").tolist()
    assert orders == hashes
    assert orders[0] == orders[2] != orders[1]


def test_without_a_key_rows_of_equal_time_are_as_they_arrived() -> None:
    ready = Enter(SPEC.time).start(SCHEMA, MemoryChunks()).push(rows((5, "a"), (5, "b"))).ready

    first, second = ready[ORDER].to_pylist()
    assert first == second
    assert ready[SOURCE].to_pylist() == [0, 1]


def test_a_row_before_the_watermark_is_late_and_gets_no_number() -> None:
    running = SPEC.start(SCHEMA, MemoryChunks())
    running.advance(5)

    emission = running.push(rows((4, "late"), (5, "a"), (9, "b")))

    assert emission.late.to_pylist() == [{"time": 4, "key": "late"}]
    assert emission.ready["time"].to_pylist() == [5, 9]
    assert emission.ready[SOURCE].to_pylist() == [0, 1]


def test_a_watermark_never_falls() -> None:
    running = SPEC.start(SCHEMA, MemoryChunks())
    running.advance(5)
    running.advance(3)

    assert running.push(rows((4, "a"))).late.num_rows == 1


def test_numbers_and_watermark_go_on_after_a_restart() -> None:
    running = SPEC.start(SCHEMA, MemoryChunks())
    running.push(rows((5, "a"), (5, "b")))
    running.advance(5)

    again = SPEC.start(SCHEMA, MemoryChunks(), running.save())
    emission = again.push(rows((4, "late"), (5, "a")))

    assert emission.late["time"].to_pylist() == [4]
    assert emission.ready[SOURCE].to_pylist() == [2]


def test_rows_of_a_key_are_counted_in_one_place_and_a_checkpoint_knows_the_key() -> None:
    assert SPEC.keyed == ("key",)
    assert SPEC.label == 'Enter(time="time" in us, key=["key"])'
    assert (
        Enter(SPEC.time, ("key", "time")).label == 'Enter(time="time" in us, key=["key", "time"])'
    )
