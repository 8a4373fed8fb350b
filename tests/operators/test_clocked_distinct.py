"""`distinct` with a watermark for each key; tests/hosts/test_keyed_chain.py tests the laws, too."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.hosts.local import MemoryChunks
from latecomer.operators import clocked_distinct
from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.clocked_distinct import ClockedDeduplicator
from latecomer.operators.distinct import Distinct
from latecomer.operators.ways import KeyWays
from latecomer.time import FOREVER, NEVER, TimeColumn

SCHEMA = pa.schema({"time": pa.int64(), "key": pa.string(), "name": pa.string(), SLOT: pa.int64()})
DISTINCT = Distinct(TimeColumn("time", "us"), ("key", "name"), 10, ("key",))
KEYS = "ab"
"""The key of each slot."""

Row = tuple[int, int, str]
"""Time, slot, name."""


def rows(*given: Row) -> pa.Table:
    found = [(time, KEYS[slot], name, slot) for time, slot, name in given]
    return pa.Table.from_pylist(
        [dict(zip(SCHEMA.names, row, strict=True)) for row in found], SCHEMA
    )


def way(*now: int) -> KeyWays:
    return KeyWays(np.full(len(now), NEVER), np.array(now))


def running(
    chunks: MemoryChunks | None = None, here: KeyWays | None = None, saved: bytes | None = None
) -> ClockedDeduplicator:
    return DISTINCT.with_slot(("key",)).start_behind_clocks(
        SCHEMA, chunks or MemoryChunks(), here or way(NEVER, NEVER), saved
    )


def let_through(operator: ClockedDeduplicator, *given: Row) -> list[Row]:
    ready = operator.push(rows(*given)).ready.select(["time", SLOT, "name"])
    return [*zip(*ready.to_pydict().values(), strict=True)]


def test_rows_are_compared_within_their_key() -> None:
    found = let_through(running(), (1, 0, "x"), (2, 1, "x"), (3, 0, "x"), (4, 0, "y"), (11, 0, "x"))

    assert found == [(1, 0, "x"), (2, 1, "x"), (4, 0, "y"), (11, 0, "x")]


def test_it_follows_clocks_of_columns_that_it_compares() -> None:
    assert DISTINCT.follows_clocks(("key",))
    assert DISTINCT.follows_clocks(("name", "key"))
    assert not DISTINCT.follows_clocks(("other",))


def test_a_value_is_removed_by_the_watermark_of_its_key() -> None:
    operator = running()
    operator.push(rows((3, 0, "x"), (3, 1, "x"), (5, 1, "y")))
    assert operator.last_due(np.array([1, 0, 7])).tolist() == [15, 13, NEVER]

    operator.follow(way(13, 12))
    assert operator.held == 2
    operator.follow(way(13, 13))
    assert operator.held == 1
    operator.follow(way(FOREVER, FOREVER))
    assert operator.held == 0


def test_times_at_the_end_do_not_overflow() -> None:
    operator = running()
    last = FOREVER - 5

    assert let_through(operator, (last, 0, "x")) == [(last, 0, "x")]
    operator.follow(way(last, NEVER))
    assert let_through(operator, (last + 1, 0, "x")) == []
    assert operator.last_due(np.array([0])).tolist() == [FOREVER]


def test_values_of_a_forgotten_key_are_not_read_again() -> None:
    chunks = MemoryChunks()
    operator = running(chunks)
    operator.push(rows((3, 0, "x"), (50, 1, "x")))
    operator.save()
    operator.follow(way(13, 45))
    operator.forget()

    # Slot 0 now has another key, whose watermark is unknown.
    again = running(chunks, way(NEVER, 45), operator.save())

    assert again.held == 1
    assert let_through(again, (4, 0, "x"), (51, 1, "x")) == [(4, 0, "x")]


def test_a_log_with_mostly_unneeded_values_is_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocked_distinct, "SPARE_ROWS", 4)
    chunks = MemoryChunks()
    operator = running(chunks)
    for time in range(0, 200, 20):
        operator.push(rows((time, 0, "x"), (time, 0, "y"), (time, 0, "z")))
        operator.follow(way(time + 10, NEVER))
        operator.save()
        assert sum(batch.num_rows for batch in chunks.batches.values()) <= 4 + 3

    assert operator.held == 0


@given(
    given=st.lists(
        st.tuples(st.integers(0, 60), st.sampled_from([0, 1]), st.sampled_from("xy")), max_size=30
    ),
    waits=st.tuples(st.integers(0, 20), st.integers(0, 20)),
    size=st.integers(1, 8),
    spare=st.sampled_from([0, 100]),
    restarts=st.booleans(),
)
def test_one_distinct_gives_the_rows_of_one_for_each_key(
    given: list[Row], waits: tuple[int, int], size: int, spare: int, *, restarts: bool
) -> None:
    given.sort(key=lambda row: row[0])
    chunks, watermarks = MemoryChunks(), [NEVER, NEVER]
    operator = running(chunks)
    apart = [DISTINCT.start(SCHEMA, MemoryChunks()) for _ in KEYS]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clocked_distinct, "SPARE_ROWS", spare)
        for start in range(0, len(given), size):
            batch = given[start : start + size]
            ready = operator.push(rows(*batch)).ready.to_pylist()
            for slot, twin in enumerate(apart):
                own = [row for row in batch if row[1] == slot]
                found = [row for row in ready if row[SLOT] == slot]
                assert found == twin.push(rows(*own)).ready.to_pylist()
                watermarks[slot] = max([watermarks[slot], *(row[0] - waits[slot] for row in own)])
                twin.advance(watermarks[slot])
            operator.follow(way(*watermarks))
            if restarts:
                operator = running(chunks, way(*watermarks), operator.save())
            assert operator.held == sum(twin.held for twin in apart)
