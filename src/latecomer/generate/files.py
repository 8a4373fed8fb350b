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
    from collections.abc import Iterable, Sequence

# Spark's own Parquet files may hold times as int96, which have a microsecond's resolution there.
_FORMATS: dict[str, ds.FileFormat] = {
    ".parquet": ds.ParquetFileFormat(coerce_int96_timestamp_unit="us"),
    ".csv": ds.CsvFileFormat(),
    ".jsonl": ds.JsonFileFormat(),
    ".json": ds.JsonFileFormat(),
}
_ROW_GROUP = 131_072
_FIRST = 1_000
"""Rows by which text is known to be times."""


def read_table(path: str | Path, *, typed: Sequence[str] | None = None) -> pa.Table:
    """Read a file, or a directory of files of one kind in the order of their names.

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
        return opened.to_table().cast(schema_of(opened))
    except (pa.ArrowException, OSError) as error:
        raise OptionError(f'cannot read "{path}": {error}') from error


def open_rows(path: Path) -> ds.Dataset:
    """Open a file, or a directory of files of one kind, to be read in pieces.

    Raises:
        OptionError: There is nothing to read, or it is of no kind that we know.
    """
    if not path.exists():
        raise OptionError(f'there is no file "{path}".\nHint: check the path.')
    suffixes = {path.suffix.lower()}
    if path.is_dir():
        # As Arrow and Spark do, leave out what is hidden or begins with an underscore.
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
    """Return the columns of a file that was opened, those of JSON with times in text as times.

    Arrow reads times in JSON that have no fractions; all others are text to it. A column of text is
    one of times if all of its first rows are.
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
            # A date alone is no time: it may be a key.
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
        OptionError: Its name ends in neither ".parquet" nor ".csv", or its directory is not there.
    """
    if path.suffix.lower() not in (".parquet", ".csv") or path.is_dir():
        raise OptionError(f'cannot write "{path}".\nHint: name a file .parquet or .csv.')
    check_parent(path)


def check_apart(path: Path, sources: Iterable[Path]) -> None:
    """Refuse to write over what is read, or into a directory that is read.

    Raises:
        OptionError: It would be.
    """
    for source in sources:
        if source.resolve() in (path.resolve(), *path.resolve().parents):
            raise OptionError(
                f'"{path}" would be written over what is read, "{source}".\n'
                "Hint: choose another name for the target."
            )


def check_parent(path: Path) -> None:
    """Refuse a file or directory in a directory that is not there: its name may be mistyped.

    Raises:
        OptionError: It is not there.
    """
    if not path.absolute().parent.is_dir():
        message = f'cannot write "{path}": there is no directory "{path.parent}".'
        raise OptionError(f"{message}\nHint: check the path, or make the directory first.")


def write_table(table: pa.Table, path: str | Path) -> None:
    """Write a Parquet or CSV file; the rows keep their order.

    Raises:
        OptionError: The name ends in neither ".parquet" nor ".csv", or its directory is not there.
    """
    path = Path(path)
    check_target(path)
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
