from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from latecomer.hosts.spark.durable.ledger import Ledger
from latecomer.hosts.spark.durable.totals import Totals
from latecomer.live.checkpoint import statuses

if TYPE_CHECKING:
    from pathlib import Path


def write(checkpoint: Path, log: str, batch: int, line: str) -> None:
    (checkpoint / log).mkdir(parents=True, exist_ok=True)
    (checkpoint / log / str(batch)).write_text(f"v1\n{line}\n-\n")
    (checkpoint / log / f".{batch}.crc").write_bytes(b"x")


def test_a_checkpoint_has_its_micro_batch_and_its_newest_time(tmp_path: Path) -> None:
    checkpoint = tmp_path / "orders"
    for batch in (8, 9, 10):
        write(checkpoint, "offsets", batch, f'{{"batchWatermarkMs":{1_700_000_000_000 + batch}}}')
    for batch in (8, 9):
        write(checkpoint, "commits", batch, "{}")
    (checkpoint / "metadata").write_text('{"id":"0b1c"}')

    assert statuses(checkpoint) == [
        {"query": "orders", "id": "0b1c", "batch": 9, "newest": 1_700_000_000_010}
    ]


def test_the_totals_of_a_checkpoint_are_a_history(tmp_path: Path) -> None:
    checkpoint = tmp_path / "orders"
    ledger = Ledger(None, str(checkpoint / "latecomer" / "totals"))
    for batch in (7, 8):
        counted = {"in": 100 * batch, "ready": 90 * batch, "late": batch, "no_time": 1}
        record = Totals(batch, 0, counted, written=1_700_000_000.5 + batch)
        ledger.add(f"slot-{batch}", asdict(record))

    first, last = statuses(checkpoint)

    assert (first["batch"], last["batch"]) == (7, 8)
    assert (last["query"], last["at_ms"]) == ("orders", 1_700_000_008_500)
    assert last["rows"]["in"] == 800
    assert last["rows"]["late"] == {"late": 7, "no time": 1}


def test_a_new_checkpoint_has_few_values(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    assert statuses(tmp_path)[0]["batch"] is None

    write(tmp_path, "offsets", 0, '{"batchWatermarkMs":0}')
    assert statuses(tmp_path)[0]["newest"] is None
    # This file is still being written.
    (tmp_path / "offsets" / "1").write_text("")
    assert statuses(tmp_path)[0]["newest"] is None
