"""Held rows are read and written only when they change."""

import pyarrow as pa

from latecomer.batch import Batch
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.temporal.clip import Clip
from latecomer.operators.temporal.edges import AT, ID, OTHER, edge_schema
from latecomer.time import FOREVER

SCHEMA = edge_schema(pa.schema({"key": pa.string()}))


class CountedChunks(MemoryChunks):
    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def put(self, number: int, rows: Batch) -> None:
        self.writes += 1
        super().put(number, rows)


def test_unchanged_state_is_not_written_again() -> None:
    chunks = CountedChunks()
    running = Clip(100).start(SCHEMA, chunks)
    running.push(pa.table({"key": ["a"], AT: [1], OTHER: [FOREVER], ID: [0]}, SCHEMA))
    running.advance(5)
    saved = running.save()
    written = chunks.writes

    for watermark in (10, 100, 101):
        running = Clip(100).start(SCHEMA, chunks, saved)
        assert running.advance(watermark).ready.num_rows == 0
        saved = running.save()
    assert chunks.writes == written

    running = Clip(100).start(SCHEMA, chunks, saved)
    (ended,) = running.advance(102).ready.to_pylist()
    running.save()
    assert (ended[AT], ended[OTHER]) == (101, 1)
    assert not chunks.batches
