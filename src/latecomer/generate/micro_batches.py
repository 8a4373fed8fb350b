"""Write rows as files that a Spark stream reads in the same order, one micro-batch a file."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_EPOCH = 1_000_000_000


def write_micro_batches(
    table: pa.Table, directory: str | Path, batches: int, *, first: int = 0
) -> Path:
    """Cut rows into so many Parquet files; read them with `maxFilesPerTrigger` 1.

    Spark's file source goes by the time of a file's last change, so each file is given a later
    one than the file before it.

    There are `batches` files at the most, and one even if there are no rows. They are numbered from
    `first` on, to continue where another call left off. Returns the directory.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    size = max(1, -(-table.num_rows // batches))
    for number, start in enumerate(range(0, max(1, table.num_rows), size), first):
        path = directory / f"{number:06}.parquet"
        pq.write_table(table.slice(start, size), path)
        os.utime(path, (_EPOCH + number, _EPOCH + number))
    return directory
