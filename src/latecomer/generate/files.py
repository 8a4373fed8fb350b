"""Read and write tables as Parquet, CSV or JSON lines, by the name of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import csv

from latecomer.errors import OptionError

# Spark's own Parquet files may hold times as int96, which have a microsecond's resolution there.
_FORMATS: dict[str, ds.FileFormat] = {
    ".parquet": ds.ParquetFileFormat(coerce_int96_timestamp_unit="us"),
    ".csv": ds.CsvFileFormat(),
    ".jsonl": ds.JsonFileFormat(),
    ".json": ds.JsonFileFormat(),
}
_ROW_GROUP = 131_072


def read_table(path: str | Path) -> pa.Table:
    """Read a file, or a directory of Parquet files in the order of their names.

    Raises:
        OptionError: There is nothing to read, or it is of no kind that we know.
    """
    path = Path(path)
    if not path.exists():
        raise OptionError(f'there is no file "{path}".\nHint: check the path.')
    suffix = ".parquet" if path.is_dir() else path.suffix.lower()
    if suffix not in _FORMATS:
        message = f'cannot read "{path}".\nHint: use a file named {", ".join(_FORMATS)}.'
        raise OptionError(message)
    try:
        return ds.dataset(path, format=_FORMATS[suffix], exclude_invalid_files=False).to_table()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise OptionError(f'cannot read "{path}": {error}') from error


def write_table(table: pa.Table, path: str | Path) -> None:
    """Write a Parquet or CSV file; the rows keep their order.

    Raises:
        OptionError: The name ends in neither ".parquet" nor ".csv".
    """
    path = Path(path)
    if path.suffix.lower() not in (".parquet", ".csv"):
        raise OptionError(f'cannot write "{path}".\nHint: name it .parquet or .csv.')
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() == ".csv":
        csv.write_csv(table, path)
    else:
        pq.write_table(table, path, row_group_size=_ROW_GROUP, **_encodings(table))


def _encodings(table: pa.Table) -> dict[str, Any]:
    """Write arrivals as their differences: a replay reads them before all else, again and again."""
    arrivals = [
        field.name
        for field in table.schema
        if field.name == "arrival"
        and (pa.types.is_int64(field.type) or pa.types.is_timestamp(field.type))
    ]
    others = [name for name in table.column_names if name not in arrivals]
    encodings = dict.fromkeys(arrivals, "DELTA_BINARY_PACKED")
    return {"use_dictionary": others, "column_encoding": encodings}
