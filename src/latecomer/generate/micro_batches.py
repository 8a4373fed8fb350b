"""Write rows as files that a Spark stream reads in the same order, one file per micro-batch."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_EPOCH = 1_000_000_000


def write_micro_batches(
    table: pa.Table, directory: str | Path, batches: int, *, first: int = 0
) -> Path:
    """Write rows to Parquet files, and return the directory; read it with `maxFilesPerTrigger` 1.

    Spark's file source reads files by modification time, so each file is given a later one than
    the file before it.

    There are at most `batches` files, and one file even if there are no rows. They are numbered
    from `first`, so that a call can continue where another one stopped.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    size = max(1, -(-table.num_rows // batches))
    for number, start in enumerate(range(0, max(1, table.num_rows), size), first):
        path = directory / f"{number:06}.parquet"
        pq.write_table(table.slice(start, size), path)
        os.utime(path, (_EPOCH + number, _EPOCH + number))
    return directory
