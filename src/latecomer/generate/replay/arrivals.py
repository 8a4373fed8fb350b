"""The files of a replay, merged by arrival.

A replay is a walk through all rows in order of (arrival, file name, row). Its state is a
`Position`, with one cursor per file. Two positions always enclose the same rows, and a walk can
continue from any position:

    a.parquet   1  3  3 | 8                cursors a: 3, b: 2
    b.parquet   2  3 | 4  9

    walk        1 2 3 3 3 | 4 8 9

To advance by some number of rows, the replay uses only the row group at each cursor, which is in
memory. Up to the end of the first of these groups, no row that is still on disk can come in
between, so the walk is known that far. If that is too far, a bisection over arrivals finds where
to stop. Rows are neither sorted nor visited one by one.

Files that are added later join the walk at its current position. A file that has been started may
neither be removed nor be replaced. All files may be moved together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from latecomer.batch import concat, gather
from latecomer.errors import ColumnTypeError, StateFormatError
from latecomer.generate.replay.arrival_file import ArrivalFile
from latecomer.generate.replay.paths import find_files
from latecomer.generate.replay.row_range import RowRange
from latecomer.time import FOREVER, TimeColumn, Times

Window = tuple[str, Times]

_START_AGAIN = (
    "Hint: put the file back, or start again with a new checkpoint or an empty directory."
)


@dataclass(frozen=True, slots=True)
class Position:
    """How far a replay has come."""

    rows: int = 0
    """Rows emitted so far, of all files."""
    first: int | None = None
    """The arrival of the very first row."""
    arrival: int | None = None
    """The latest arrival reached."""
    files: Mapping[str, int] = field(default_factory=dict)
    """Rows emitted so far, by file."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """The mark of each of these files, which identifies its content."""

    def to_offset(self) -> dict[str, Any]:
        """Return the position in the form that Spark keeps in a checkpoint."""
        offset: dict[str, Any] = {"rows": self.rows}
        if self.first is not None:
            offset |= {"first": self.first, "arrival": self.arrival}
        offset |= {"files": dict(self.files), "marks": dict(self.marks)}
        return offset | {"digest": _digest(offset)}

    @classmethod
    def from_offset(cls, offset: Mapping[str, Any]) -> Position:
        """Return the position that `to_offset` wrote."""
        try:
            told = {name: value for name, value in offset.items() if name != "digest"}
            is_sound = offset["digest"] == _digest(told)
            files = {str(name): int(rows) for name, rows in told["files"].items()}
            marks = {name: str(told["marks"][name]) for name in files}
            found = cls(told["rows"], told.get("first"), told.get("arrival"), files, marks)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _refused(offset) from error
        if not is_sound:
            raise _refused(offset)
        return found


def _refused(offset: object) -> StateFormatError:
    return StateFormatError(
        f"this is not the position of a replay: {offset!r}.\nHint: start with a new checkpoint."
    )


def _digest(offset: Mapping[str, Any]) -> str:
    line = json.dumps(offset, sort_keys=True)
    return hashlib.blake2b(line.encode(), digest_size=8).hexdigest()


class Arrivals:
    """All rows of the files at a path, in order of (arrival, file name, row)."""

    def __init__(self, path: str, arrival: TimeColumn) -> None:
        self._path = path
        self._arrival = arrival
        self._files: dict[str, ArrivalFile] = {}
        self.look()

    @property
    def schema(self) -> pa.Schema:
        """The columns, which all files share."""
        return next(iter(self._files.values())).schema

    def look(self) -> bool:
        """Open files that were added; return True if there are any."""
        found = find_files(self._path)
        added = found.keys() - self._files.keys()
        if added:
            self._files |= {name: ArrivalFile(found[name], name, self._arrival) for name in added}
            self._files = dict(sorted(self._files.items()))
            _check_schemas(self._files)
        return bool(added)

    def end(self) -> Position:
        """Return the position after all rows, without an arrival, which would have to be read."""
        files = {name: file.rows for name, file in self._files.items() if file.rows}
        marks = {name: self._files[name].mark for name in files}
        return Position(sum(files.values()), files=files, marks=marks)

    def check(self, position: Position) -> None:
        """Refuse a position if one of its files is gone, or has been replaced by another."""
        for name, rows in position.files.items():
            if name not in self._files:
                raise StateFormatError(
                    f'the replay began with the file "{name}", which is no longer at '
                    f'"{self._path}".\n'
                    f"{_START_AGAIN}"
                )
            if self._files[name].mark != position.marks.get(name):
                raise StateFormatError(
                    f'the file "{name}" at "{self._path}" has changed since the replay read '
                    f"{rows:,} rows of it: it is not the same file.\n"
                    f"{_START_AGAIN}"
                )

    def next_arrival(self, position: Position) -> int | None:
        """Return the arrival of the next row; None if there is none."""
        return min((file.head(row) for file, row in self._pending(position)), default=None)

    def ahead(self, position: Position, *, rows: int = FOREVER, before: int = FOREVER) -> Position:
        """Return the position after `rows` more rows, or before the first arrival at `before`."""
        while rows:
            windows, counts = self._known(position, before)
            if (known := sum(counts)) == 0:
                break
            if known > rows:
                counts = _smallest(windows, counts, rows)
            position = self._moved(position, windows, counts)
            rows -= sum(counts)
        for name in position.files.keys() & self._files.keys():
            if position.files[name] == self._files[name].rows:
                self._files[name].forget()
        return position

    def ranges(self, start: Position, end: Position) -> list[RowRange]:
        """Return the rows between two positions, as one range per file."""
        self.check(end)
        return [
            RowRange(str(self._files[name].path), start.files.get(name, 0), rows)
            for name, rows in sorted(end.files.items())
            if rows > start.files.get(name, 0)
        ]

    def read(self, start: Position, end: Position) -> pa.Table:
        """Return the rows between two positions, in order."""
        ranges = self.ranges(start, end)
        parts = [pa.Table.from_batches(part.batches(self.schema), self.schema) for part in ranges]
        rows = concat(parts, self.schema)
        if len(parts) == 1:
            return rows
        return gather(rows, np.argsort(self._arrival.micros(rows), kind="stable"))

    def _pending(self, position: Position) -> list[tuple[ArrivalFile, int]]:
        """Return the files that have rows left, each with its cursor."""
        self.check(position)
        cursors = [(file, position.files.get(name, 0)) for name, file in self._files.items()]
        return [(file, row) for file, row in cursors if row < file.rows]

    def _known(self, position: Position, before: int) -> tuple[list[Window], list[int]]:
        """Return the windows at the cursors, and how many rows of each no row on disk precedes."""
        pending = self._pending(position)
        lasts = [file.last(row) for file, row in pending]
        ends = [(last, at) for at, last in enumerate(lasts) if last is not None]
        # Rows before `bound` are known; rows at `bound` only in the files up to `tie`. Among equal
        # arrivals, the next group of a file comes before the files after it.
        bound, tie = min([*ends, (before, -1)])
        windows: list[Window] = []
        counts = []
        for at, (file, row) in enumerate(pending):
            if file.head(row) <= bound:
                window = file.window(row)
                windows.append((file.name, window))
                counts.append(_count(window, bound, inclusive=at <= tie))
        return windows, counts

    def _moved(self, position: Position, windows: list[Window], counts: list[int]) -> Position:
        files, marks = dict(position.files), dict(position.marks)
        firsts, lasts = [], []
        for (name, window), count in zip(windows, counts, strict=True):
            if count:
                files[name] = files.get(name, 0) + count
                marks[name] = self._files[name].mark
                firsts.append(int(window[0]))
                lasts.append(int(window[count - 1]))
        return Position(
            position.rows + sum(counts),
            min(firsts) if position.first is None else position.first,
            max(lasts) if position.arrival is None else max(position.arrival, *lasts),
            files,
            marks,
        )


def _check_schemas(files: Mapping[str, ArrivalFile]) -> None:
    first, *others = files.values()
    for other in others:
        if (other.schema.names, other.schema.types) != (first.schema.names, first.schema.types):
            columns = {
                file.name: ", ".join(f"{column.name} {column.type}" for column in file.schema)
                for file in (first, other)
            }
            message = "the files have different columns.\n" + "\n".join(
                f'  "{name}": {text}' for name, text in columns.items()
            )
            message += "\nHint: replay them on their own, or write them with the same columns."
            raise ColumnTypeError(message)


def _count(window: Times, bound: int, *, inclusive: bool) -> int:
    return int(np.searchsorted(window, bound, side="right" if inclusive else "left"))


def _smallest(windows: list[Window], counts: list[int], rows: int) -> list[int]:
    """Return how many rows of each window are among the first `rows` of all `counts` rows."""
    parts = [window[:count] for (_, window), count in zip(windows, counts, strict=True)]
    # Find the arrival of the last row to be chosen: the first one by which `rows` have arrived.
    low = min(int(part[0]) for part in parts if len(part))
    high = max(int(part[-1]) for part in parts if len(part))
    while low < high:
        middle = (low + high) // 2
        if sum(_count(part, middle, inclusive=True) for part in parts) >= rows:
            high = middle
        else:
            low = middle + 1
    chosen = [_count(part, low, inclusive=False) for part in parts]
    left = rows - sum(chosen)
    for at, part in enumerate(parts):
        ties = min(left, _count(part, low, inclusive=True) - chosen[at])
        chosen[at] += ties
        left -= ties
    return chosen
