"""The rows that `benchmarks.peers` hands to everybody, as files, and the right answers.

Each stream is written several times, with the same rows in the same order of arrival:

    batches/   ten files, for systems that read one after the other in micro-batches
    parts/     two files, rows dealt out in turn, for systems in which each task reads one and the
               watermark is that of the slower
    whole/     one file, for systems in which tasks do not wait for each other
    headed/    ten files with names of columns, for systems that read them as a stream

Systems end in different places, so answers are looked at up to where all of them must have come:
a wait and a tenth of the stream before its end.
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pc

BATCHES, PARTS = 10, 2
WINDOW, WAIT, WITHIN = 10_000, 60_000, 5_000
"""In milliseconds."""
LATEST = 50_000
KEYS = {"count": 1_000, "join": 5_000}
_EPOCH = 1_000_000_000


class Data(NamedTuple):
    """Files, and what is to be found in them."""

    files: Path
    rows: int
    until: int
    """Answers are looked at up to here."""
    results: int
    """Rows counted, or rows joined, up to there."""


def make(question: str, rows: int, folder: Path, batches: int = BATCHES) -> Data:
    """Write the rows of a question, as many in all, for so many micro-batches."""
    if question == "count":
        table = _stream(rows, KEYS[question], 1)
        _write(table, folder, batches)
        until = _until(table)
        starts = table["time_ms"].to_numpy() // WINDOW * WINDOW
        return Data(folder, rows, until, int((starts + WINDOW <= until).sum()))
    sides = {side: _stream(rows // 2, KEYS[question], n) for n, side in enumerate("ab", 1)}
    for side, table in sides.items():
        _write(table, folder / side, batches)
    until = min(map(_until, sides.values()))
    a, b = (table.select(["key", "time_ms"]).to_pandas() for table in sides.values())
    return Data(folder, rows, until, _joined(a, b, until))


def _stream(rows: int, keys: int, seed: int) -> pa.Table:
    """A thousand rows a second, 30 % of them delayed by up to 50 s; in order of arrival.

    If they are few, they are further apart, so that windows close.
    """
    random = np.random.default_rng(seed)
    times = np.arange(rows, dtype=np.int64) * max(1, 300_000 // rows)
    late = np.where(random.random(rows) < 0.3, random.integers(0, LATEST, rows), 0)
    order = np.argsort(times + late, kind="stable")
    # Not at 1970: some clocks begin there.
    return pa.table(
        {
            "time_ms": times[order] + 1_704_067_200_000,
            "key": random.integers(0, keys, rows).astype(np.int32),
            "value": random.random(rows).round(6),
        }
    )


def _until(table: pa.Table) -> int:
    times = table["time_ms"].to_numpy()
    return int(times.max()) - WAIT - (int(times.max()) - int(times.min())) // BATCHES


def _joined(a: pd.DataFrame, b: pd.DataFrame, until: int) -> int:
    """Count pairs of equal keys within the window, a tenth of the keys at a time."""
    a, b = a[a["time_ms"] <= until], b[b["time_ms"] <= until]
    found = 0
    for part in range(10):
        pairs = a[a["key"] % 10 == part].merge(b[b["key"] % 10 == part], on="key")
        found += int(((pairs["time_ms_x"] - pairs["time_ms_y"]).abs() <= WITHIN).sum())
    return found


def _write(table: pa.Table, folder: Path, batches: int) -> None:
    for name, count, is_headed in (("batches", batches, False), ("headed", BATCHES, True)):
        size = -(-table.num_rows // count)
        for number, start in enumerate(range(0, table.num_rows, size)):
            _file(table.slice(start, size), folder / name, number, is_headed=is_headed)
    _file(table, folder / "whole", 0, is_headed=False)
    turns = np.arange(table.num_rows) % PARTS
    for number in range(PARTS):
        _file(table.filter(pa.array(turns == number)), folder / "parts", number, is_headed=False)


def _file(table: pa.Table, folder: Path, number: int, *, is_headed: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number:03}.csv"
    pc.write_csv(table, path, pc.WriteOptions(include_header=is_headed, quoting_style="none"))
    # Spark reads files in the order of their last change.
    os.utime(path, (_EPOCH + number, _EPOCH + number))
