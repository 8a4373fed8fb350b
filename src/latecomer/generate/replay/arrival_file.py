"""One Parquet file whose rows are in order of arrival.

A replay must know how many rows of a file have arrived by some moment, without reading all of it.
A Parquet file is cut into row groups. Its footer has the length of each group and usually also its
smallest and largest arrival:

    row group     0          1          2
    rows          0 … 99     100 … 199  200 … 249
    arrivals      8:00–8:41  8:41–9:15  9:15–9:30     all that the footer has
                             ^ cursor: only this group's arrivals are read, and only that column

**Order is checked, not trusted.** A group's arrivals are checked before any of its rows is emitted:
they must not be null, must not descend, and must not begin before the end of the previous group.

**A file is identified by its mark**: its size, and a checksum of its footer and of some bytes at
either end. The footer has the size of each column in each row group, which differs for another
seed or another day. A resumed replay compares marks, not only names. (A single value changed by
hand in the middle of a large file may go unnoticed, because not all of the file is read.)
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.errors import ArrivalError, ColumnNotFoundError, ColumnTypeError, OptionError
from latecomer.generate.replay.row_range import group_starts, open_parquet
from latecomer.time import FOREVER, NEVER, TimeColumn, Times

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow.parquet as pq


_HELD = 2
"""Number of row groups whose arrivals are kept: the cursor's, and that of the rows now due."""
_SAMPLE = 65_536
"""Bytes of data at either end of a file that its mark depends on. A small file is read whole."""


class ArrivalFile:
    """The arrivals of one file. `window` always returns them in order."""

    def __init__(self, path: Path, name: str, arrival: TimeColumn) -> None:
        self.path = path
        self.name = name
        self._arrival = arrival
        try:
            with open_parquet(str(path)) as file:
                self._footer = file.metadata
                self.schema = _instants(file)
            self.mark = _mark(path, self._footer.serialized_size)
        except (pa.ArrowInvalid, OSError) as error:
            raise OptionError(
                f'cannot read "{path}": {error}\n'
                "Hint: give Parquet files; one that is still being written needs another name, "
                "for example .tmp, until it is whole."
            ) from error
        self._check_column()
        self.rows: int = self._footer.num_rows
        self._starts = group_starts(self._footer)
        self._column = next(
            at
            for at in range(self._footer.num_columns)
            if self._footer.schema.column(at).path == arrival.name
        )
        self._checked = lru_cache(_HELD)(self._read_checked)

    def window(self, row: int) -> Times:
        """Return the arrivals from a row to the end of its row group, after checking the group."""
        group = self._group(row)
        return self._checked(group)[row - self._starts[group] :]

    def head(self, row: int) -> int:
        """Return the arrival of a row; from the footer if the row is the first of its group."""
        group = self._group(row)
        bounds = self._bounds(group) if row == self._starts[group] else None
        return bounds[0] if bounds else int(self.window(row)[0])

    def last(self, row: int) -> int | None:
        """Return the last arrival of a row's group; None if no more rows follow the group."""
        group = self._group(row)
        if self._starts[group + 1] == self.rows:
            return None
        bounds = self._bounds(group)
        return bounds[1] if bounds else int(self._checked(group)[-1])

    def forget(self) -> None:
        """Release all arrivals that were read."""
        self._checked.cache_clear()

    def _group(self, row: int) -> int:
        return int(np.searchsorted(self._starts, row, side="right")) - 1

    def _bounds(self, group: int) -> tuple[int, int] | None:
        """Return the smallest and the largest arrival of a group, if the footer has them."""
        statistics = self._footer.row_group(group).column(self._column).statistics
        if statistics is None or not statistics.has_min_max:
            return None
        field = self.schema.field(self._arrival.name)
        try:
            values = pa.array([statistics.min, statistics.max], field.type)
        except (pa.ArrowException, OverflowError, ValueError):  # beyond what a datetime can hold
            return None
        low, high = self._arrival.micros(pa.table([values], [field.name]))
        # Reserved values, which no row may have: the group is then read, and refused.
        return None if low == NEVER or high == FOREVER else (int(low), int(high))

    def _read(self, group: int) -> pa.Table:
        with open_parquet(str(self.path), self._footer) as file:
            return file.read_row_group(group, [self._arrival.name], use_threads=False)

    def _read_checked(self, group: int) -> Times:
        column = self._read(group)
        first = self._starts[group]
        if column[0].null_count:
            row = first + int(self._arrival.is_null(column).argmax())
            raise ArrivalError(
                f'row {row:,} of "{self.path}" has no '
                f"{self._arrival.name}.\nHint: remove such rows, or give them one."
            )
        arrivals = self._arrival.micros(column)
        if (before := self._end_of(group - 1)) is not None and arrivals[0] < before:
            self._refuse(first, column, 0)
        falls = arrivals[1:] < arrivals[:-1]
        if falls.any():
            row = int(falls.argmax()) + 1
            self._refuse(first + row, column, row)
        for row in (0, len(arrivals) - 1):
            if arrivals[row] in (NEVER, FOREVER):
                raise ArrivalError(
                    f'row {first + row:,} of "{self.path}" has {self._arrival.name} '
                    f"{arrivals[row]}, which is reserved.\n"
                    "Hint: remove such rows, or change their arrival."
                )
        return arrivals

    def _end_of(self, group: int) -> int | None:
        """Return the last arrival of the groups up to this one; None if they have no rows."""
        if group < 0:
            return None
        if self._starts[group] == self._starts[group + 1]:
            return self._end_of(group - 1)
        bounds = self._bounds(group)
        return bounds[1] if bounds else int(self._arrival.micros(self._read(group))[-1])

    def _refuse(self, row: int, column: pa.Table, at: int) -> None:
        raise ArrivalError(
            f'"{self.path}" is not in order of arrival: row {row:,}, with {self._arrival.name} '
            f"{column[0][at].cast(pa.string())}, comes after a later one.\n"
            f"Hint: sort the file by {self._arrival.name}; `latecomer disorder` writes files in "
            "that order."
        )

    def _check_column(self) -> None:
        name = self._arrival.name
        if name not in self.schema.names:
            names = ", ".join(f'"{other}"' for other in self.schema.names)
            raise ColumnNotFoundError(
                f'no column "{name}" in "{self.path}"; it has {names}.\n'
                "Hint: name the column that says when a row arrived with the option arrival."
            )
        kind = self.schema.field(name).type
        types = pa.types
        is_whole = types.is_integer(kind) and not types.is_uint64(kind)
        if not (types.is_timestamp(kind) or is_whole or types.is_date32(kind)):
            raise ColumnTypeError(
                f'column "{name}" of "{self.path}" is of type {kind}; an arrival must be a '
                "timestamp, a date, or an integer that fits in 64 bits with its sign.\n"
                "Hint: convert it first."
            )


def _mark(path: Path, footer: int) -> str:
    """Return a mark that distinguishes files of the same name, whatever folder they are in."""
    with path.open("rb") as file:
        head = file.read(_SAMPLE)
        size = file.seek(0, 2)
        file.seek(max(0, size - footer - _SAMPLE))
        return f"{size}-{zlib.crc32(file.read(), zlib.crc32(head)):08x}"


def _instants(file: pq.ParquetFile) -> pa.Schema:
    """Return the schema with int96 times in UTC, a time zone that Parquet does not record."""
    schema = file.schema_arrow.remove_metadata()
    for at in range(len(file.schema)):
        column = file.schema.column(at)
        if column.physical_type == "INT96" and column.path in schema.names:
            index = schema.get_field_index(column.path)
            schema = schema.set(index, pa.field(column.path, pa.timestamp("us", "UTC")))
    return schema
