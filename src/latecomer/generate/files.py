"""Read and write tables as Parquet, CSV or JSON lines, by the name of the file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import csv

from latecomer.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

# Spark's own Parquet files may hold times as int96, which have a microsecond's resolution there.
_FORMATS: dict[str, ds.FileFormat] = {
    ".parquet": ds.ParquetFileFormat(coerce_int96_timestamp_unit="us"),
    ".csv": ds.CsvFileFormat(),
    ".jsonl": ds.JsonFileFormat(),
    ".json": ds.JsonFileFormat(),
}
_ROW_GROUP = 131_072


def read_table(path: str | Path, *, typed: Sequence[str] | None = None) -> pa.Table:
    """Read a file, or a directory of Parquet files in the order of their names.

    Args:
        path: The file or directory.
        typed: The only columns of a CSV file to be read as something else than text.

    Raises:
        OptionError: There is nothing to read, or it is of no kind that we know.
    """
    path = Path(path)
    try:
        opened = open_rows(path)
        if path.suffix.lower() == ".csv" and typed is not None:
            return _read_text(path, typed)
        return opened.to_table()
    except (pa.ArrowException, OSError) as error:
        raise OptionError(f'cannot read "{path}": {error}') from error


def open_rows(path: Path) -> ds.Dataset:
    """Open a file, or a directory of Parquet files, to be read in pieces.

    Raises:
        OptionError: There is nothing to read, or it is of no kind that we know.
    """
    if not path.exists():
        raise OptionError(f'there is no file "{path}".\nHint: check the path.')
    suffix = ".parquet" if path.is_dir() else path.suffix.lower()
    if suffix not in _FORMATS:
        message = f'cannot read "{path}".\nHint: use a file named {", ".join(_FORMATS)}.'
        raise OptionError(message)
    return ds.dataset(path, format=_FORMATS[suffix], exclude_invalid_files=False)


def _read_text(path: Path, typed: Sequence[str]) -> pa.Table:
    with path.open("rb") as file:
        names = csv.open_csv(file).schema.names if path.stat().st_size else []
    as_text = {name: pa.string() for name in names if name not in typed}
    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=as_text))


def check_target(path: Path) -> None:
    """Refuse a name that says nothing of how to write, before any work is done.

    Raises:
        OptionError: The name ends in neither ".parquet" nor ".csv".
    """
    if path.suffix.lower() not in (".parquet", ".csv") or path.is_dir():
        raise OptionError(f'cannot write "{path}".\nHint: name a file .parquet or .csv.')


def write_table(table: pa.Table, path: str | Path) -> None:
    """Write a Parquet or CSV file; the rows keep their order.

    Raises:
        OptionError: The name ends in neither ".parquet" nor ".csv".
    """
    path = Path(path)
    check_target(path)
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
