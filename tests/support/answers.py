"""An output with the results of windows, as `start` writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from latecomer.hosts.spark.durable.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]
HOUR = 3_600_000_000


def answer(start: int, wait: str, key: str, count: int, *, is_correction: bool = False) -> Row:
    return {
        "window": {"start": start * HOUR, "end": (start + 1) * HOUR},
        "wait": wait,
        "origin": key,
        "departures": count,
        "is_correction": is_correction,
    }


WINDOW = pa.struct({"start": pa.timestamp("us", "UTC"), "end": pa.timestamp("us", "UTC")})


def write(path: Path, batch: int, rows: list[Row], attempt: str = "r1-aa", epoch: int = 1) -> None:
    directory = path / f"batch={batch}" / f"attempt={attempt}"
    directory.mkdir(parents=True)
    table = pa.Table.from_pylist(rows)
    windows = pa.array([row["window"] for row in rows], WINDOW)
    pq.write_table(table.set_column(0, "window", windows), directory / "part-0.parquet")
    record(path, batch, attempt, epoch)


def record(path: Path, batch: int, attempt: str = "r1-aa", epoch: int = 1) -> None:
    told = {"batch": batch, "epoch": epoch, "attempt": attempt}
    Ledger(None, str(path / "_latecomer")).add(f"{batch}-{attempt}", told)
