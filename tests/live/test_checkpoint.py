from __future__ import annotations

from typing import TYPE_CHECKING

from latecomer.live.checkpoint import status

if TYPE_CHECKING:
    from pathlib import Path


def write(checkpoint: Path, log: str, batch: int, line: str) -> None:
    (checkpoint / log).mkdir(parents=True, exist_ok=True)
    (checkpoint / log / str(batch)).write_text(f"v1\n{line}\n-\n")
    (checkpoint / log / f".{batch}.crc").write_bytes(b"x")


def test_a_checkpoint_knows_its_micro_batch_and_its_newest_time(tmp_path: Path) -> None:
    checkpoint = tmp_path / "orders"
    for batch in (8, 9, 10):
        write(checkpoint, "offsets", batch, f'{{"batchWatermarkMs":{1_700_000_000_000 + batch}}}')
    for batch in (8, 9):
        write(checkpoint, "commits", batch, "{}")
    (checkpoint / "metadata").write_text('{"id":"0b1c"}')

    assert status(checkpoint) == {
        "query": "orders",
        "id": "0b1c",
        "batch": 9,
        "newest": 1_700_000_000_010,
    }


def test_a_checkpoint_that_has_just_begun_knows_little(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    assert status(tmp_path)["batch"] is None

    write(tmp_path, "offsets", 0, '{"batchWatermarkMs":0}')
    assert status(tmp_path)["newest"] is None
    # A file that is being written.
    (tmp_path / "offsets" / "1").write_text("")
    assert status(tmp_path)["newest"] is None
