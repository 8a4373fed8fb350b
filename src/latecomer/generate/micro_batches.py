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
    the file before it. A stream may read the directory at the same time: a file appears with all
    its rows and with its time. If Spark saw the current time for a moment, it would take all other
    files for older than its `maxFileAge`, and never read them.

    There are at most `batches` files, and one file even if there are no rows. They are numbered
    from `first`, so that a call can continue where another one stopped.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    size = max(1, -(-table.num_rows // batches))
    for number, start in enumerate(range(0, max(1, table.num_rows), size), first):
        path = directory / f"{number:06}.parquet"
        # Spark does not read files whose names begin with a dot.
        hidden = directory / f".{path.name}"
        pq.write_table(table.slice(start, size), hidden)
        os.utime(hidden, (_EPOCH + number, _EPOCH + number))
        hidden.replace(path)
    return directory
