"""Held rows are read and written only when they change."""

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.temporal.clip import Clip, UntilNext
from latecomer.operators.temporal.edges import AT, ID, OTHER, edge_schema
from latecomer.operators.ways import KeyWays
from latecomer.time import FOREVER, NEVER

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


def test_a_step_goes_as_far_as_the_watermark_of_each_key() -> None:
    schema = edge_schema(pa.schema({"key": pa.string(), SLOT: pa.int64()}))
    spec = UntilNext(("key",)).with_slot(("key",))
    running = spec.start(schema, MemoryChunks())
    slots = np.array([0, 1, 2])

    def moved(*now: int) -> list[tuple[int, int, int]]:
        way = KeyWays(np.full(2, NEVER), np.array(now))
        ready = running.follow(way).ready
        return [(row[AT], row[OTHER], row[SLOT]) for row in ready.to_pylist()]

    columns = [["a", "b", "a"], [0, 1, 0], [1, 2, 4], [9, 9, FOREVER], [-1, -1, -1]]
    running.push(pa.table(columns, schema))

    # An edge waits until the watermark of its key has passed it.
    assert running.last_due(slots).tolist() == [5, 3, NEVER]
    assert moved(3, 2) == [(1, FOREVER, 0)]
    assert running.last_due(slots).tolist() == [5, 3, NEVER]
    assert moved(6, 4) == [(2, FOREVER, 1), (4, FOREVER, 0), (4, 1, 0)]
    # Of key a the last row is held, which never ends; that of key b ends at 9.
    assert running.last_due(slots).tolist() == [FOREVER, 10, NEVER]
    assert moved(FOREVER, FOREVER) == [(9, 2, 1)]
    assert running.held == 0
