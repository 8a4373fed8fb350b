from pathlib import Path

import pyarrow as pa
import pytest

import latecomer as lc
from latecomer.errors import StateFormatError
from latecomer.hosts.spark.driver.state_files import FileChunks, Kept, StateFiles


def rows(*values: int) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int64())})


def names(path: Path) -> set[str]:
    return {each.name for each in (path / "latecomer").iterdir()}


def test_what_a_crash_left_in_parts_is_overlooked(tmp_path: Path) -> None:
    files, chunks = StateFiles(str(tmp_path)), FileChunks()
    (tmp_path / "latecomer").mkdir()
    (tmp_path / "latecomer" / "batch-7.part").write_bytes(b"half")
    chunks.put(0, pa.table({"n": [1, 2]}))

    files.write(0, Kept(5, b"saved"), chunks)
    kept, again = files.read(0)

    assert files.last() == 0
    assert kept == Kept(5, b"saved")
    assert again.get(0) == pa.table({"n": [1, 2]})


def test_states_need_a_place_that_arrow_can_write_to() -> None:
    with pytest.raises(lc.OptionError, match="cannot be kept beside the checkpoint"):
        StateFiles("nowhere://at/all")


def test_paths_are_those_of_spark(tmp_path: Path) -> None:
    chunks = FileChunks()
    StateFiles(f"file:{tmp_path}").write(0, Kept(1, b""), chunks)
    StateFiles(f"file://{tmp_path}").write(1, Kept(2, b""), chunks)

    assert StateFiles(str(tmp_path)).last() == 1


def test_the_last_two_states_are_kept_and_the_chunks_that_they_refer_to(tmp_path: Path) -> None:
    files, chunks = StateFiles(str(tmp_path)), FileChunks()
    assert files.last() == -1
    for batch in range(4):
        chunks.put(batch, rows(batch))
        if batch > 1:
            chunks.drop(batch - 2)
        files.write(batch, Kept(batch, b""), chunks)

    # Batch 2 has the chunks 1 and 2, batch 3 has 2 and 3.
    assert names(tmp_path) == {"batch-2", "batch-3", "chunk-1", "chunk-2", "chunk-3"}
    assert sorted(files.read(2)[1].batches) == [1, 2]
    assert sorted(files.read(3)[1].batches) == [2, 3]


def test_a_chunk_is_written_once(tmp_path: Path) -> None:
    files, chunks = StateFiles(str(tmp_path)), FileChunks()
    chunks.put(0, rows(1))
    files.write(0, Kept(0, b""), chunks)
    before = (tmp_path / "latecomer" / "chunk-0").stat().st_mtime_ns

    files.write(1, Kept(1, b""), chunks)

    assert (tmp_path / "latecomer" / "chunk-0").stat().st_mtime_ns == before
    assert not chunks.unwritten
    with pytest.raises(AssertionError, match="chunk 0 is written twice"):
        chunks.put(0, rows(2))


def test_a_micro_batch_that_is_run_again_starts_from_the_state_before_it(tmp_path: Path) -> None:
    files, chunks = StateFiles(str(tmp_path)), FileChunks()
    chunks.put(0, rows(1))
    files.write(0, Kept(5, b"first"), chunks)
    chunks.drop(0)
    chunks.put(1, rows(2))
    files.write(1, Kept(9, b"second"), chunks)

    kept, again = files.read(0)
    again.drop(0)
    again.put(1, rows(3))
    files.write(1, Kept(9, b"again"), again)

    assert kept == Kept(5, b"first")
    assert files.read(1)[0].saved == b"again"
    assert files.read(1)[1].get(1) == rows(3)


def test_a_micro_batch_that_left_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateFormatError, match="no states of micro-batch 7, on which the next"):
        StateFiles(str(tmp_path)).read(7)
