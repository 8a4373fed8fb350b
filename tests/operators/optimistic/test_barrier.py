"""The barrier: cancelled items never come out, and released items are in order."""

import random
from collections import Counter

import pyarrow as pa
import pytest

from latecomer.errors import TombstoneError
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.optimistic import barrier
from latecomer.operators.optimistic.barrier import Barrier, BarrierHolder
from latecomer.operators.optimistic.items import MARKS
from latecomer.time import FOREVER
from tests.support.chains import TIME

ITEM = pa.schema([("time", pa.int64()), *MARKS])


def started(chunks: MemoryChunks | None = None) -> BarrierHolder:
    return Barrier(TIME).start(ITEM, chunks or MemoryChunks())


def items(*changes: tuple[int, int]) -> pa.Table:
    """Return items of sign and time."""
    rows = [(time, sign, 0, 0, 0) for sign, time in changes]
    return pa.Table.from_pylist([dict(zip(ITEM.names, r, strict=True)) for r in rows], ITEM)


def released(running: BarrierHolder, watermark: int) -> list[int]:
    found = []
    for stop in running.stops(watermark):
        found += running.advance(stop).ready["time"].to_pylist()
    return found


def test_items_strictly_before_the_watermark_come_out_in_order() -> None:
    running = started()
    running.push(items((1, 5), (1, 2), (1, 9)))

    assert running.due() == 3
    assert released(running, 5) == [2]
    running.push(items((1, 7)))
    assert released(running, 9) == [5, 7]
    assert (running.held, running.due()) == (1, 10)


def test_a_released_item_cannot_be_cancelled() -> None:
    running = started()
    running.push(items((1, 5), (1, 7)))
    released(running, 6)

    with pytest.raises(TombstoneError, match="there is no item for this tombstone to delete"):
        running.push(items((-1, 5)))
    running.push(items((-1, 7)))
    assert (running.held, running.due()) == (0, None)


@pytest.mark.parametrize("size", [2, 5])
def test_many_items_go_to_the_stretches_of_their_times(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(barrier, "LEAF_ROWS", size)
    monkeypatch.setattr(barrier, "RELEASE_ROWS", 10)
    draw, chunks = random.Random(size), MemoryChunks()
    running, there, seen, watermark = started(chunks), set(), [], 0
    said: set[int] = set()
    for number in range(40):
        new = {draw.randrange(watermark, watermark + 60) for _ in range(8)} - there - said
        gone = {time for time in there if draw.random() < 0.1}
        running.push(items(*((1, time) for time in new), *((-1, time) for time in gone)))
        there = (there | new) - gone
        assert running.held == len(there) == sum(c.num_rows for c in chunks.batches.values())
        watermark += draw.randrange(12)
        out = released(running, watermark)
        assert out == sorted(time for time in there if time < watermark)
        there -= set(out)
        said |= set(out)
        seen += out
        if number % 3 == 0:
            running = Barrier(TIME).start(ITEM, chunks, running.save())

    assert seen + released(running, FOREVER) == sorted([*seen, *there])
    assert Counter(seen).most_common(1)[0][1] == 1
    assert not chunks.batches


def test_a_watermark_reads_only_chunks_in_which_something_is_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(barrier, "LEAF_ROWS", 20)
    read: list[int] = []

    class Counting(MemoryChunks):
        def get(self, number: int) -> pa.Table:
            read.append(number)
            return super().get(number)

    running = started(Counting())
    running.push(items(*((1, time) for time in range(200))))
    read.clear()
    assert released(running, 25) == [*range(25)]
    assert len(read) == 3
    read.clear()
    running.push(items((-1, 150)))
    assert len(read) == 1
