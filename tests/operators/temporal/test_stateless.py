from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from latecomer.hosts.local import MemoryChunks
from latecomer.operators.temporal.stateless import OfRows
from latecomer.time import FOREVER


@dataclass(frozen=True, slots=True)
class OnlyEven(OfRows):
    """Keep even numbers, and rename their column."""

    name: str

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return pa.schema({self.name: pa.int64()})

    def of_rows(self, rows: pa.Table) -> pa.Table:
        even = [n for n in rows.column("n").to_pylist() if n % 2 == 0]
        return pa.table({self.name: pa.array(even, pa.int64())})


ROWS = pa.table({"n": [1, 2, 3, 4]})


def test_rows_come_out_as_soon_as_they_come_in_and_none_is_late() -> None:
    running = OnlyEven("m").start(ROWS.schema, MemoryChunks())

    emission = running.push(ROWS)

    assert emission.ready.to_pydict() == {"m": [2, 4]}
    assert emission.late.to_pydict() == {"n": []}


def test_a_watermark_releases_an_empty_table_of_the_output_schema() -> None:
    running = OnlyEven("m").start(ROWS.schema, MemoryChunks())
    running.push(ROWS)

    emission = running.advance(FOREVER)

    assert emission.ready.schema.names == ["m"]
    assert emission.ready.num_rows == emission.late.num_rows == 0


def test_nothing_is_held_written_down_or_woken_for() -> None:
    chunks = MemoryChunks()
    running = OnlyEven("m").start(ROWS.schema, chunks)
    running.push(ROWS)

    assert (running.held, running.due(), running.save()) == (0, None, b"")
    assert running.stops(7) == [7]
    assert not chunks.batches
