"""Rows of the driver, merged into small parts of a table by this process.

Spark takes several jobs to find the parts of a micro-batch, to read and merge them, and to write
them. That is most of the time of a small micro-batch. Where rows are on the driver already, files
are local and parts are small, this process does the same without Spark. Either of them reads the
files of the other, so both can continue with the same table.
"""

from __future__ import annotations

import shutil
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql.types import StringType, StructType

from latecomer.batch import Batch, Positions, gather, is_true, retyped
from latecomer.errors import DurationError
from latecomer.hosts.spark.arrow_schema import in_arrow
from latecomer.hosts.spark.durable.ledger import sync_names
from latecomer.hosts.spark.local_rows import LocalRows
from latecomer.hosts.spark.upsert.rows import (
    PART,
    WINDOWS,
    bounds_of,
    has_changes,
    has_waits,
    is_by_recall,
)
from latecomer.operators.aggregates.slices import group_codes
from latecomer.operators.optimistic.changelog import CHANGE_NUMBER, CHANGE_TYPE, DELETE
from latecomer.operators.windows.aggregate import IS_CORRECTION
from latecomer.time import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from latecomer.hosts.spark.durable.parquet import ParquetWriter

MOST = 16 << 20
"""Size of rows and parts up to which they are merged here: some tenths of a second."""

_FILES = "[!._]*.parquet"

_LEGACY = {b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"}
"""Marks of files with times that only Spark reads as they were meant."""


@dataclass(frozen=True, slots=True)
class LocalMerge:
    """The rows of a micro-batch, and the present rows of the parts that they belong to."""

    rows: LocalRows
    key: Sequence[str]
    columns: StructType
    """The columns of the table."""
    writer: ParquetWriter
    root: Path
    """Directory of the places."""
    names: Sequence[str]
    """The parts that the rows belong to."""
    numbers: Positions
    """For each row, the number of its part in `names`."""
    present: Mapping[int, Batch]
    """The present rows of each part that has some."""
    levels: npt.NDArray[np.float64 | np.int64]
    """The levels of the rows, then those of the present rows; empty if there is only one."""

    @classmethod
    def of(
        cls,
        rows: LocalRows,
        key: Sequence[str],
        columns: StructType,
        place_of: Mapping[str, str],
        root: Path | None,
        writer: ParquetWriter | None,
    ) -> LocalMerge | None:
        """Read what the rows are merged with; return None if Spark has to merge them."""
        if root is None or writer is None or rows.table.nbytes > MOST:
            return None
        if not rows.are_plain or not _is_comparable(columns, key):
            return None
        # Some releases of Arrow do not read what they have written as INT96 before 1970.
        writer = replace(writer, is_int96=False)
        names, numbers = _parts_of(rows.table, rows.schema, key)
        present, left = {}, MOST - rows.table.nbytes
        for number, name in enumerate(names):
            if name in place_of:
                found = _read(root / f"place={place_of[name]}" / f"{PART}={name}", columns, left)
                if found is None:
                    return None
                present[number] = found
                left -= found.nbytes
        levels = _levels(rows.schema, [rows.table, *present.values()])
        if levels is None:
            return None
        return cls(rows, key, columns, writer, root, names, numbers, present, levels)

    @property
    def touched(self) -> list[str]:
        """The parts that the rows belong to."""
        return sorted(self.names)

    def write(self, place: str) -> list[str]:
        """Write the merged parts to a place; return those that still have rows."""
        schema = in_arrow(self.columns)
        both = pa.concat_tables(retyped(each, schema) for each in self._tables)
        sizes = [rows.num_rows for rows in self.present.values()]
        parts = np.concatenate(
            [self.numbers, np.repeat(np.array([*self.present], np.int64), sizes)]
        )
        at = self._current(both)
        directory = self.root / f"place={place}"
        # A query that still reads what was in this place has to fail, and not to read these rows.
        file = f"part-{uuid.uuid4()}.parquet"
        # What is there is of a micro-batch that no state refers to any more.
        shutil.rmtree(directory, ignore_errors=True)
        if any(directory.rglob(_FILES)):
            raise OSError(f'the old files in "{directory}" cannot be removed.')
        filled = []
        for number, name in enumerate(self.names):
            chosen = at[parts[at] == number]
            if len(chosen):
                rows = LocalRows(self.rows.spark, gather(both, chosen), self.columns)
                self.writer.put(rows, directory / f"{PART}={name}" / file)
                filled.append(name)
        if filled:
            (directory / "_SUCCESS").touch()
            for each in (directory, self.root, self.root.parent):
                sync_names(each)
        # Otherwise a cached DataFrame of this place would show its former rows.
        self.rows.spark.catalog.refreshByPath(f"file:{directory}")
        return sorted(filled)

    @property
    def _tables(self) -> list[Batch]:
        return [self.rows.table, *self.present.values()]

    def _current(self, both: Batch) -> Positions:
        """Return the positions of the current rows; as `rows.one_per_key` does in Spark."""
        rows, new = both.num_rows, self.rows.table
        is_old = np.arange(rows) >= new.num_rows
        codes, _ = group_codes([*_flat(both.select(list(self.key)).columns)], rows)
        # The last array counts most.
        order: list[npt.NDArray[np.generic]] = [is_old]
        is_deleted = np.zeros(rows, np.bool_)
        if IS_CORRECTION in both.column_names:
            order.insert(0, ~is_true(both.column(IS_CORRECTION)))
        if has_changes(self.rows.schema):
            is_deleted[: new.num_rows] = is_true(pc.equal(new.column(CHANGE_TYPE), DELETE))
            order.insert(-1, is_deleted)
            if CHANGE_NUMBER in new.column_names:
                number = np.zeros(rows, np.int64)
                number[: new.num_rows] = -new.column(CHANGE_NUMBER).to_numpy()
                order.insert(-2, number)
        if len(self.levels):
            order.append(-self.levels)
        ranked = np.lexsort([*order, codes])
        ranks = codes[ranked]
        is_first = np.ones(rows, np.bool_)
        is_first[1:] = ranks[1:] != ranks[:-1]
        found = np.sort(ranked[is_first])
        return found[~is_deleted[found]]


def _parts_of(
    rows: Batch, schema: StructType, key: Sequence[str]
) -> tuple[Sequence[str], Positions]:
    """Return the parts that rows belong to, and for each row the number of its own.

    They are the same as those of `rows.part_of`, in the same double precision.
    """
    if not rows.num_rows:
        return [], np.zeros(0, np.int64)
    bounds = bounds_of(schema, key)
    if bounds is None:
        return ["all"], np.zeros(rows.num_rows, np.int64)
    start, end = (_number(rows, path) for path in bounds)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.floor(start / np.where(end == start, np.nan, end - start) / WINDOWS)
    values, numbers = np.unique(part, return_inverse=True)
    return ["none" if np.isnan(value) else str(int(value)) for value in values], numbers


def _number(rows: Batch, path: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return the values of a bound of windows, with NaN for null."""
    column = rows.column(path[0])
    for name in path[1:]:
        column = pc.struct_field(column, name)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    found: npt.NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy()
    return found


def _is_comparable(columns: StructType, key: Sequence[str]) -> bool:
    """Return True if keys are equal that have the same bytes, and only they."""
    texts = [field.dataType for field in columns if field.name in key]
    for kind in texts:
        if isinstance(kind, StructType):
            texts += [field.dataType for field in kind]
    return not any(
        isinstance(kind, StringType) and kind.collation != "UTF8_BINARY" for kind in texts
    )


def _flat(columns: Sequence[pa.ChunkedArray]) -> Iterator[pa.ChunkedArray]:
    """Yield columns without structs; whether a struct is null is a column, too."""
    for column in columns:
        if pa.types.is_struct(column.type):
            if column.null_count:
                yield pc.is_null(column)
            yield from _flat(column.flatten())
        else:
            yield column


def _levels(
    schema: StructType, tables: Sequence[Batch]
) -> npt.NDArray[np.float64 | np.int64] | None:
    """Return the levels of rows, as `rows.level_of` does; None if only Spark can."""
    if not has_waits(schema):
        return np.zeros(0, np.int64)
    if is_by_recall(schema):
        recalls = [table.column("recall").cast(pa.float64()).to_numpy() for table in tables]
        return np.concatenate(recalls)
    if not isinstance(schema["wait"].dataType, StringType):
        return None
    chunks = [part for table in tables for part in table.column("wait").cast(pa.string()).chunks]
    waits = pa.chunked_array(chunks, pa.string())
    texts = pc.dictionary_encode(waits).unify_dictionaries().combine_chunks()
    if texts.null_count:
        return None
    try:
        micros = [parse_duration(text, "wait") for text in texts.dictionary.to_pylist()]
    except DurationError:
        return None
    found: npt.NDArray[np.int64] = np.array(micros, np.int64)[texts.indices.to_numpy()]
    return found


def _read(directory: Path, columns: StructType, most: int) -> Batch | None:
    """Read a part; return None if it is larger, or if only Spark can read it."""
    schema, tables = in_arrow(columns), []
    for path in sorted(directory.glob(_FILES)):
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            groups = (file.metadata.row_group(at) for at in range(file.num_row_groups))
            most -= sum(group.total_byte_size for group in groups)
            if most < 0 or _LEGACY & {*(file.metadata.metadata or ())}:
                return None
            tables.append(retyped(file.read(), schema))
            most -= tables[-1].nbytes
    # Without files, Spark says what is missing.
    return pa.concat_tables(tables) if tables and most >= 0 else None
