"""Small recordings for replays, and the expected order of their rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from latecomer.generate.replay.arrivals import Arrivals, Position
from latecomer.time import TimeColumn

ARRIVAL = TimeColumn("arrival")


def record(
    path: Path, arrivals: Sequence[int | None], group: int = 2, *, footer: bool = True
) -> Path:
    """Write a file with these arrivals, in several small row groups."""
    names = [f"{path.stem}{row}" for row in range(len(arrivals))]
    rows = {"arrival": pa.array(arrivals, pa.int64()), "id": pa.array(names, pa.string())}
    pq.write_table(pa.table(rows), path, row_group_size=group, write_statistics=footer)
    return path


def in_order(files: Mapping[str, Sequence[int]]) -> list[str]:
    """Merge slowly: sort all rows by (arrival, file, row)."""
    rows = [(at, name, n) for name, arrivals in files.items() for n, at in enumerate(arrivals)]
    return [f"{name}{n}" for _, name, n in sorted(rows)]


def ids(arrivals: Arrivals, start: Position, end: Position) -> list[str]:
    return arrivals.read(start, end)["id"].to_pylist()
