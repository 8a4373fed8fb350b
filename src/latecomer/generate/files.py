"""Read tables from Parquet, CSV or JSON lines, and write Parquet or CSV, by the file's suffix."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import csv

from latecomer.errors import OptionError

# Spark may write times to Parquet as int96, with a resolution of a microsecond.
_FORMATS: dict[str, ds.FileFormat] = {
    ".parquet": ds.ParquetFileFormat(coerce_int96_timestamp_unit="us"),
    ".csv": ds.CsvFileFormat(),
    ".jsonl": ds.JsonFileFormat(),
    ".json": ds.JsonFileFormat(),
}
_ROW_GROUP = 131_072
_FIRST = 1_000
"""Number of rows from which a text column is recognised as times."""


def read_table(path: str | Path, *, typed: Sequence[str] | None = None) -> pa.Table:
    """Read a file, or a directory of files of one kind in the order of their names.

    Args:
        path: The file or directory.
        typed: Columns of a CSV file whose type is inferred; all others are read as text. None
            infers the type of every column.

    Raises:
        OptionError: There is nothing to read, or the format is unknown.
    """
    path = Path(path)
    try:
        opened = open_rows(path)
        if path.suffix.lower() == ".csv" and typed is not None:
            return _read_text(path, typed)
        return opened.to_table().cast(schema_of(opened))
    except (pa.ArrowException, OSError) as error:
        raise OptionError(f'cannot read "{path}": {error}') from error


def open_rows(path: Path) -> ds.Dataset:
    """Open a file, or a directory of files of one kind, so that it can be read in pieces.

    Raises:
        OptionError: There is nothing to read, or the format is unknown.
    """
    if not path.exists():
        raise OptionError(f'there is no file "{path}".\nHint: check the path.')
    suffixes = {path.suffix.lower()}
    if path.is_dir():
        # Like Arrow and Spark, skip hidden files and those that begin with an underscore.
        files = [each for each in path.rglob("*") if each.is_file() and each.name[0] not in "._"]
        if not files:
            raise OptionError(f'there are no files in "{path}".\nHint: check the path.')
        suffixes = {each.suffix.lower() for each in files if each.suffix} or {".parquet"}
    if len(suffixes) > 1:
        found = ", ".join(sorted(suffixes))
        message = f'"{path}" has files of several kinds: {found}.\nHint: read one kind at a time.'
        raise OptionError(message)
    if not suffixes <= _FORMATS.keys():
        message = f'cannot read "{path}".\nHint: use a file named {", ".join(_FORMATS)}.'
        raise OptionError(message)
    return ds.dataset(path, format=_FORMATS[suffixes.pop()], exclude_invalid_files=False)


def schema_of(opened: ds.Dataset) -> pa.Schema:
    """Return the columns of an opened file; in JSON, text that holds times becomes a time column.

    Arrow recognises times in JSON only if they have no fractions, and reads all others as text. A
    text column is read as times if all of its first rows are times.
    """
    schema = opened.schema
    if isinstance(opened.format, ds.JsonFileFormat):
        for at, (field, values) in enumerate(zip(schema, opened.head(_FIRST).columns, strict=True)):
            if pa.types.is_string(field.type) and (kind := _kind_of_time(values.drop_null())):
                schema = schema.set(at, field.with_type(kind))
    return schema


def _kind_of_time(texts: pa.ChunkedArray) -> pa.DataType | None:
    for kind in (pa.timestamp("us", "UTC"), pa.timestamp("us")):
        try:
            # A date without a time of day does not count: it may be a key.
            is_time = len(texts.cast(kind)) and min(map(len, texts.to_pylist())) > len("2024-05-01")
        except pa.ArrowInvalid:
            continue
        if is_time:
            return kind
    return None


def _read_text(path: Path, typed: Sequence[str]) -> pa.Table:
    with path.open("rb") as file:
        names = csv.open_csv(file).schema.names if path.stat().st_size else []
    as_text = {name: pa.string() for name in names if name not in typed}
    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=as_text))


def check_target(path: Path) -> None:
    """Refuse a file that cannot be written, before any work is done.

    Raises:
        OptionError: Its name ends in neither ".parquet" nor ".csv", or its directory is missing.
    """
    if path.suffix.lower() not in (".parquet", ".csv") or path.is_dir():
        raise OptionError(f'cannot write "{path}".\nHint: name a file .parquet or .csv.')
    check_parent(path)


def check_apart(path: Path, sources: Iterable[Path]) -> None:
    """Refuse to write over a file that is read, or into a directory that is read.

    Raises:
        OptionError: The target is a source, or is inside one.
    """
    for source in sources:
        if source.resolve() in (path.resolve(), *path.resolve().parents):
            raise OptionError(
                f'"{path}" would be written over what is read, "{source}".\n'
                "Hint: choose another name for the target."
            )


def check_parent(path: Path) -> None:
    """Refuse a path whose parent directory does not exist: its name may be mistyped.

    Raises:
        OptionError: The parent directory does not exist.
    """
    if not path.absolute().parent.is_dir():
        message = f'cannot write "{path}": there is no directory "{path.parent}".'
        raise OptionError(f"{message}\nHint: check the path, or make the directory first.")


def write_table(table: pa.Table, path: str | Path) -> None:
    """Write a Parquet or CSV file; the rows keep their order.

    Raises:
        OptionError: The name ends in neither ".parquet" nor ".csv", or its directory is missing.
    """
    path = Path(path)
    check_target(path)
    if path.suffix.lower() == ".csv":
        csv.write_csv(table, path)
    else:
        pq.write_table(table, path, row_group_size=_ROW_GROUP, **_encodings(table))


def _encodings(table: pa.Table) -> dict[str, Any]:
    """Return Parquet options that store arrivals as differences: a replay reads them often."""
    arrivals = [
        field.name
        for field in table.schema
        if field.name == "arrival"
        and (pa.types.is_int64(field.type) or pa.types.is_timestamp(field.type))
    ]
    others = [name for name in table.column_names if name not in arrivals]
    encodings = dict.fromkeys(arrivals, "DELTA_BINARY_PACKED")
    return {"use_dictionary": others, "column_encoding": encodings}
