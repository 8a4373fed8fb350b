"""The files of a replay, merged by arrival.

A replay is a walk through all rows in order of (arrival, file name, row). Where it stands is a
cursor per file, the `Position`; it says everything, so that the same two positions always enclose
the same rows, and a walk can be taken up from any of them:

    a.parquet   1  3  3 | 8                cursors a: 3, b: 2
    b.parquet   2  3 | 4  9

    walk        1 2 3 3 3 | 4 8 9

To go on by some number of rows, we look only at what stands in memory: the row group at each
cursor. Until the first of these groups ends, nothing that is still on disk can come in between. So
far the walk is known; if that is too far, a bisection over arrivals finds where to stop. No row is
sorted, and none is visited.

Files that are added later join the walk where it stands. A file that was begun may neither go away
nor be replaced; all may be moved together.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from latecomer.batch import concat, gather
from latecomer.errors import ColumnTypeError, StateFormatError
from latecomer.generate.replay.arrival_file import ArrivalFile
from latecomer.generate.replay.paths import find_files
from latecomer.generate.replay.row_range import RowRange
from latecomer.time import FOREVER, TimeColumn, Times, check_unit

if TYPE_CHECKING:
    from collections.abc import Mapping

Window = tuple[str, Times]

_START_AGAIN = (
    "Hint: put the file back, or start again with a new checkpoint or an empty directory."
)


@dataclass(frozen=True, slots=True)
class Position:
    """How far a replay has come."""

    rows: int = 0
    """Rows handed out so far, of all files."""
    first: int | None = None
    """The arrival of the very first row."""
    arrival: int | None = None
    """The latest arrival reached."""
    files: Mapping[str, int] = field(default_factory=dict)
    """Rows handed out so far, by file."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """What each of these files is known by, whatever its name."""

    def to_offset(self) -> dict[str, Any]:
        """Write it as Spark keeps it in a checkpoint."""
        offset: dict[str, Any] = {"rows": self.rows}
        if self.first is not None:
            offset |= {"first": self.first, "arrival": self.arrival}
        offset |= {"files": dict(self.files), "marks": dict(self.marks)}
        return offset | {"digest": _digest(offset)}

    @classmethod
    def from_offset(cls, offset: Mapping[str, Any]) -> Position:
        """Read what `to_offset` wrote."""
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


def arrival_column(name: str = "arrival", unit: str | None = None) -> TimeColumn:
    """Name the column that says when a row arrived."""
    return TimeColumn(name, check_unit(unit))


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
        """Take note of files that were added; return True if there are any."""
        found = find_files(self._path)
        added = found.keys() - self._files.keys()
        if added:
            self._files |= {name: ArrivalFile(found[name], name, self._arrival) for name in added}
            self._files = dict(sorted(self._files.items()))
            _check_schemas(self._files)
        return bool(added)

    def end(self) -> Position:
        """Return the position after all rows, without an arrival: that would have to be read."""
        files = {name: file.rows for name, file in self._files.items() if file.rows}
        marks = {name: self._files[name].mark for name in files}
        return Position(sum(files.values()), files=files, marks=marks)

    def check(self, position: Position) -> None:
        """Refuse a position in files of which one is gone, or has been replaced by another."""
        for name, rows in position.files.items():
            if name not in self._files:
                raise StateFormatError(
                    f'the replay has begun with "{name}", which is no longer at "{self._path}".\n'
                    f"{_START_AGAIN}"
                )
            if self._files[name].mark != position.marks.get(name):
                raise StateFormatError(
                    f'the replay has handed out {rows:,} rows of another "{name}" than the one '
                    f'at "{self._path}": it is not the same file.\n{_START_AGAIN}'
                )

    def next_arrival(self, position: Position) -> int | None:
        """Return when the next row arrives; None if there is none."""
        return min((file.head(row) for file, row in self._pending(position)), default=None)

    def ahead(self, position: Position, *, rows: int = FOREVER, before: int = FOREVER) -> Position:
        """Walk on by so many rows, or to the first that arrives at `before` or later."""
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
        """List the rows between two positions, by file."""
        self.check(end)
        return [
            RowRange(str(self._files[name].path), start.files.get(name, 0), rows)
            for name, rows in sorted(end.files.items())
            if rows > start.files.get(name, 0)
        ]

    def read(self, start: Position, end: Position) -> pa.Table:
        """Read the rows between two positions, in order."""
        ranges = self.ranges(start, end)
        parts = [pa.Table.from_batches(part.batches(self.schema), self.schema) for part in ranges]
        rows = concat(parts, self.schema)
        if len(parts) == 1:
            return rows
        return gather(rows, np.argsort(self._arrival.micros(rows), kind="stable"))

    def _pending(self, position: Position) -> list[tuple[ArrivalFile, int]]:
        """List the files that have rows left, and where."""
        self.check(position)
        cursors = [(file, position.files.get(name, 0)) for name, file in self._files.items()]
        return [(file, row) for file, row in cursors if row < file.rows]

    def _known(self, position: Position, before: int) -> tuple[list[Window], list[int]]:
        """Read the windows at the cursors, and count in each what cannot be preceded from disk."""
        pending = self._pending(position)
        lasts = [file.last(row) for file, row in pending]
        ends = [(last, at) for at, last in enumerate(lasts) if last is not None]
        # Up to here, rows of files up to `tie` included. Of equal arrivals the first file's go
        # first, so those of its next group come before those of the files after it.
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
    """Choose, among the first `counts` of each window, the `rows` that come first."""
    parts = [window[:count] for (_, window), count in zip(windows, counts, strict=True)]
    # Find the arrival of the last row to be chosen: the first by which enough have arrived.
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
