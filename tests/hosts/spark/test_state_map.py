"""Chunks in Spark's state store, some of them too large for one value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from unittest.mock import patch

import pyarrow as pa
import pytest

from latecomer.batch import encode
from latecomer.hosts.spark import state_map
from latecomer.hosts.spark.flush import CHUNK, HELD, Held
from latecomer.hosts.spark.state_map import StateChunks, StateMap
from tests.support.memory_states import Handle

ROWS = pa.table({"time": range(100), "text": ["x" * 100] * 100})


@pytest.fixture(autouse=True)
def small_values() -> Iterator[None]:
    with patch.object(state_map, "VALUE_BYTES", 1_000):
        yield


def again(handle: Handle, before: StateMap) -> StateMap:
    """Open the state again, as the next micro-batch does."""
    return StateMap(handle.getMapState("", "", ""), json.loads(json.dumps(before.several)))


def test_a_large_chunk_is_read_as_it_was_written() -> None:
    handle = Handle()
    state = StateMap(handle.getMapState("", "", ""))
    StateChunks(state, 2).put(7, ROWS)
    StateChunks(state, 2).put(8, ROWS.slice(0, 2))

    assert len(handle.chunks) > 10
    state = again(handle, state)
    assert StateChunks(state, 2).get(7).equals(ROWS)
    assert StateChunks(state, 2).get(8).equals(ROWS.slice(0, 2))


def test_nothing_is_left_of_a_large_chunk() -> None:
    handle = Handle()
    state = StateMap(handle.getMapState("", "", ""))
    chunks = StateChunks(state, 0)
    chunks.put(1, ROWS)
    chunks.put(2, ROWS)

    state = again(handle, state)
    chunks = StateChunks(state, 0)
    chunks.put(1, ROWS.slice(0, 1))
    chunks.drop(2)

    assert [*handle.chunks] == [(0, 1)]
    assert state.several == []
    assert chunks.get(1).num_rows == 1


def test_a_chunk_without_rows_keeps_its_columns() -> None:
    chunks = StateChunks(StateMap(Handle().getMapState("", "", "")), 0)
    chunks.put(0, ROWS.schema.empty_table())

    assert chunks.get(0).schema == ROWS.schema


@pytest.mark.parametrize("sizes", [(10, 5_000, 3_000, 10), (5_000, 900, 5_000)])
def test_the_state_of_a_stage_may_be_large_too(sizes: tuple[int, ...]) -> None:
    handle = Handle()
    state = StateMap(handle.getMapState("", "", ""))
    for size in sizes:
        saved = bytes(number % 251 for number in range(size))
        own = state.write_stage(saved)
        assert len(own) <= 1_000
        state = again(handle, state)
        assert state.read_stage(own) == saved
    assert len(handle.chunks) == (0 if sizes[-1] <= 1_000 else 5)


def test_a_stream_that_ends_finds_the_pieces_again() -> None:
    handle = Handle()
    state = StateMap(handle.getMapState("", "", ""))
    StateChunks(state, 3).put(1, ROWS)
    saved = b"s" * 5_000
    own = state.write_stage(saved)
    parcels = [
        {"kind": CHUNK, "rows": operator, "part": number, "blob": blob}
        for (operator, number), (blob,) in handle.chunks.items()
    ]
    others = {"kind": "rows", "rows": 1, "part": 5, "blob": encode(ROWS)}
    parcels += [others, {"kind": HELD, "rows": 4, "part": 0, "blob": own}]

    held = Held(reversed(parcels), 4)

    assert held.saved == saved
    assert held.of(3).get(1).equals(ROWS)
    assert held.others == [others]
    held.of(3).put(1, ROWS.slice(0, 1))
    assert held.of(3).get(1).num_rows == 1
    held.of(3).drop(1)
    with pytest.raises(KeyError):
        held.of(3).get(1)
