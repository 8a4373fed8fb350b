from __future__ import annotations

import numpy as np
import pyarrow as pa

from latecomer.hosts.local import MemoryChunks
from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.held_rows import HeldRows
from latecomer.operators.window_join.tuples import Tuples

SCHEMAS = [pa.schema({"a": pa.string(), "n": pa.int64()}), pa.schema({"b": pa.string()})]


def tuples(*places: tuple[int, int]) -> Tuples:
    """Return tuples with streams and row numbers; their other columns do not matter here."""
    streams, rows = np.array(places, np.int64).reshape(-1, 2).T
    return Tuples(streams, rows, rows, rows)


def filled() -> HeldRows:
    held = HeldRows(SCHEMAS, [["a"], ["b"]])
    held.add(0, pa.table({"a": ["p", "q"], "n": [1, 2]}, SCHEMAS[0]))
    held.add(1, pa.table({"b": ["x"]}, SCHEMAS[1]))
    held.add(0, pa.table({"a": ["r"], "n": [3]}, SCHEMAS[0]))
    return held


def test_rows_of_each_stream_are_numbered_from_0_on() -> None:
    held = HeldRows(SCHEMAS)
    two = pa.table({"a": ["p", "q"], "n": [1, 2]}, SCHEMAS[0])

    assert held.add(0, two).tolist() == [0, 1]
    assert held.add(1, pa.table({"b": ["x"]}, SCHEMAS[1])).tolist() == [0]
    assert held.add(0, two).tolist() == [2, 3]


def test_keys_are_numbered_once_for_all_rows_that_came() -> None:
    held, on = filled(), Equalities.common("a", "b")

    known = held.known(on)

    assert held.known(on) is known
    assert known.numbers.tolist() == [0, 1, 2, 0]
    held.keep(tuples((0, 2), (1, 0)))
    assert held.known(on) is known
    held.add(1, pa.table({"b": ["r"]}, SCHEMAS[1]))
    again = held.known(on)
    assert again.numbers.tolist() == [2, 0, 1]
    assert again.codes[0, 0] == again.codes[0, 2] != again.codes[0, 1]


def test_all_columns_are_gathered_for_results() -> None:
    assert filled().gather(0, np.array([1, 0])).to_pydict() == {"a": ["q", "p"], "n": [2, 1]}


def test_numbers_of_dropped_rows_are_not_reused() -> None:
    held = filled()
    held.keep(tuples((0, 2), (0, 2), (1, 0)))

    assert held.gather(0, np.array([2])).to_pydict() == {"a": ["r"], "n": [3]}
    assert held.add(0, pa.table({"a": ["s"], "n": [4]}, SCHEMAS[0])).tolist() == [3]
    assert held.gather(0, np.array([3, 2])).column("a").to_pylist() == ["s", "r"]


def test_rows_that_are_kept_are_in_one_piece() -> None:
    held = filled()
    held.keep(tuples((0, 0), (0, 2)))

    assert held.gather(0, np.array([0, 2])).column("a").to_pylist() == ["p", "r"]
    assert held._rows[0].column("a").num_chunks == 1
    assert held._rows[1].num_rows == 0


def test_what_is_written_is_read_again() -> None:
    held, chunks = filled(), MemoryChunks()
    held.keep(tuples((0, 2)))

    again = HeldRows(SCHEMAS)
    again.load(held.save(chunks), chunks)

    assert again.gather(0, np.array([2])).column("a").to_pylist() == ["r"]
    assert again.add(0, pa.table({"a": ["s"], "n": [4]}, SCHEMAS[0])).tolist() == [3]


def test_rows_in_one_chunk_as_in_older_checkpoints_are_read() -> None:
    chunks = MemoryChunks()
    for stream, schema in enumerate(SCHEMAS):
        chunks.put(stream, schema.empty_table())
    chunks.put(0, pa.table({"a": ["q", "r"], "n": [2, 3]}, SCHEMAS[0]))
    old = {"next": np.array([4, 0]), "numbers_0": np.array([1, 3]), "numbers_1": np.empty(0, int)}
    held = HeldRows(SCHEMAS)
    held.load(old, chunks)
    assert held.gather(0, np.array([3, 1])).column("a").to_pylist() == ["r", "q"]

    saved = held.save(chunks)

    assert len(chunks.batches) == 1
    again = HeldRows(SCHEMAS)
    again.load(saved, chunks)
    assert again.gather(0, np.array([3, 1])).column("a").to_pylist() == ["r", "q"]
