from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import latecomer as lc
from latecomer.errors import StateFormatError
from latecomer.hosts.spark.driver.state_files import FileChunks, Kept, StateFiles


def rows(*values: int) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int64())})


def names(path: Path) -> set[str]:
    return {each.name for each in (path / "latecomer" / "states").iterdir()}


def test_incomplete_files_of_a_crash_are_ignored(tmp_path: Path) -> None:
    files, chunks = StateFiles(str(tmp_path)), FileChunks()
    (tmp_path / "latecomer" / "states").mkdir(parents=True)
    (tmp_path / "latecomer" / "states" / "batch-7-r1-0.part").write_bytes(b"half")
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


@pytest.mark.parametrize("name", ["run#3", "run?3", "run 3", "a%20b", "a%", "ä"])
@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_names_of_directories_are_taken_as_they_are(tmp_path: Path, name: str, scheme: str) -> None:
    StateFiles(f"{scheme}{tmp_path / name}").write(0, Kept(1, b""), FileChunks())

    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_last_two_states_are_kept_and_the_chunks_that_they_refer_to(tmp_path: Path) -> None:
    files, chunks = StateFiles(str(tmp_path)), FileChunks()
    assert files.last() == -1
    for batch in range(4):
        chunks.put(batch, rows(batch))
        if batch > 1:
            chunks.drop(batch - 2)
        files.write(batch, Kept(batch, b""), chunks)

    # Batch 2 has the chunks 1 and 2, batch 3 has 2 and 3.
    assert names(tmp_path) == {
        f"{name}-r1-0" for name in ("batch-2", "batch-3", "chunk-1", "chunk-2", "chunk-3")
    }
    assert sorted(files.read(2)[1].batches) == [1, 2]
    assert sorted(files.read(3)[1].batches) == [2, 3]


def test_a_chunk_is_written_once(tmp_path: Path) -> None:
    files, chunks = StateFiles(str(tmp_path)), FileChunks()
    chunks.put(0, rows(1))
    files.write(0, Kept(0, b""), chunks)
    before = (tmp_path / "latecomer" / "states" / "chunk-0-r1-0").stat().st_mtime_ns

    files.write(1, Kept(1, b""), chunks)

    assert (tmp_path / "latecomer" / "states" / "chunk-0-r1-0").stat().st_mtime_ns == before
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


def test_a_micro_batch_without_its_state_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateFormatError, match="no states of micro-batch 7, which the next"):
        StateFiles(str(tmp_path)).read(7)


def two_states(path: Path) -> None:
    files, chunks = StateFiles(str(path)), FileChunks()
    for batch in range(2):
        chunks.put(batch, rows(batch, 2, 3))
        files.write(batch, Kept(5 + batch, b"saved"), chunks)


def test_the_later_run_counts_and_a_driver_that_was_replaced_deletes_nothing_of_it(
    tmp_path: Path,
) -> None:
    two_states(tmp_path)
    zombie, successor = StateFiles(str(tmp_path)), StateFiles(str(tmp_path), "r2-1")
    _, old = zombie.read(1)
    _, new = successor.read(1)
    new.put(2, rows(7))
    successor.write(2, Kept(8, b"successor"), new)
    old.put(2, rows(9))
    zombie.write(2, Kept(9, b"zombie"), old)
    old.drop(0)
    zombie.write(3, Kept(9, b"zombie"), old)

    kept, chunks = successor.read(2)
    assert kept == Kept(8, b"successor")
    assert {n: batch["n"].to_pylist() for n, batch in chunks.batches.items()} == {
        0: [0, 2, 3],
        1: [1, 2, 3],
        2: [7],
    }


def test_a_run_deletes_nothing_of_another_before_it_has_committed_a_micro_batch(
    tmp_path: Path,
) -> None:
    two_states(tmp_path)
    zombie, successor = StateFiles(str(tmp_path)), StateFiles(str(tmp_path), "r2-1")
    _, old = zombie.read(1)
    _, new = successor.read(1)
    # The successor writes micro-batch 2, but the old driver commits it first, and begins the next.
    for batch in (2, 3):
        old.put(batch, rows(batch))
        old.drop(batch - 2)
        zombie.write(batch, Kept(9, b"zombie"), old)
    new.put(2, rows(2))
    successor.write(2, Kept(9, b"successor"), new)

    # Spark refuses the successor's commit; the next run continues from the old driver's state.
    third = StateFiles(str(tmp_path), "r3-2")
    kept, chunks = third.read(3)
    assert kept.saved == b"zombie"
    assert sorted(chunks.batches) == [2, 3]
    for batch in (4, 5):
        third.write(batch, Kept(9, b"third"), chunks)
    assert {name.rpartition("-r")[2] for name in names(tmp_path)} == {"1-0", "3-2"}
    assert len(names(tmp_path)) == 4


@given(data=st.data())
def test_a_damaged_file_is_an_error_and_never_another_value(data: st.DataObject) -> None:
    with TemporaryDirectory() as directory:
        two_states(Path(directory))
        file = data.draw(st.sampled_from(sorted(Path(directory).rglob("*-r1-0"))))
        content = bytearray(file.read_bytes())
        if data.draw(st.booleans()):
            at = data.draw(st.integers(0, 8 * len(content) - 1))
            content[at // 8] ^= 1 << at % 8
        else:
            del content[data.draw(st.integers(0, len(content) - 1)) :]
        file.write_bytes(content)

        files = StateFiles(directory)
        # Batch 1 has both chunks, batch 0 only the first.
        broken = 0 if "-0-" in file.name else 1
        if file.name.startswith("batch-0"):
            files.read(1)
        with pytest.raises(StateFormatError, match=f'"{file.name}" .* is missing or damaged'):
            files.read(broken)
