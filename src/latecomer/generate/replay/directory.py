"""Replay files into a directory, for systems that watch one.

For Spark there is the source `latecomer.replay`. For other systems, this writes micro-batches in
the same rhythm as numbered Parquet files.

    trades/000000.parquet  000001.parquet  000002.parquet …

A file appears whole or not at all: it is written under a hidden name and then renamed. The footer
of each file has the position of the replay after it, so that a stopped replay continues after the
last file in the directory. There is no other state: keep at least that file.

**With a speed**, each tick of the wall clock (one second by default) writes the rows that have
arrived since the last tick. A tick without rows writes nothing. Ticks during the writing of a file
are missed, and the next file has more rows. The replay is then behind, by the time by which the
oldest row of that file should have been written earlier. With ticks of 0 seconds, a file is written
as soon as a row is due. **By rows or by arrival** there is no clock to be behind. Files are written
as fast as possible, or one per tick if ticks are requested.
"""

import json
import math
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from latecomer.errors import OptionError
from latecomer.generate.replay.arrivals import Arrivals, Position
from latecomer.generate.replay.rhythm import ByClock, Rhythm
from latecomer.time import SECOND, TimeColumn, format_duration

_NOTE = b"latecomer.replay"
_NAME = re.compile(r"\d{6,}\.parquet")
_TOLERATED = 0.1
"""Seconds of delay that do not count as behind, such as a long sleep or a busy disk."""
_LONGEST_SLEEP = 86_400.0
"""Longest sleep, in seconds. The system cannot sleep until an arrival in the year 9999."""


@dataclass(frozen=True, slots=True)
class Written:
    """The progress of a replay into a directory."""

    files: int
    """Files in the directory."""
    rows: int
    """Rows in them."""
    total: int
    """Rows to be replayed."""
    arrival: int | None = None
    """The latest arrival reached, in microseconds."""
    behind: int = 0
    """Microseconds by which the first row of the last file should have been written earlier."""
    most_behind: int = 0
    """The largest `behind` of this run."""

    def __str__(self) -> str:
        where = f"{self.rows:,} of {self.total:,} rows in {self.files:,} files"
        if self.most_behind:
            return f"{where}; at worst {format_duration(self.most_behind)} behind."
        return f"{where}."


@dataclass(frozen=True, slots=True)
class Wall:
    """The clock and the sleep that a replay uses; tests bring their own."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def replay_to_directory(
    path: str,
    directory: str | Path,
    rhythm: Rhythm,
    *,
    arrival: TimeColumn = TimeColumn("arrival"),  # noqa: B008  frozen
    every: int | None = None,
    wall: Wall = Wall(),  # noqa: B008  frozen
) -> Iterator[Written]:
    """Write the micro-batches of a replay as files, and yield the progress after each file.

    The first `Written` is yielded before the first file, and shows where an earlier run stopped.
    Files are `every` microseconds of wall clock apart. If `every` is left out, that is a second
    with a speed, and nothing without.

    Raises:
        ArrivalError: A file is not in order of arrival.
        OptionError: The directory cannot be made, or it has files that no replay wrote, or files
            of a replay with other columns.
        StateFormatError: The directory holds a replay of other files.
    """
    directory = Path(directory)
    arrivals = Arrivals(path, arrival)
    number, position = _left_off(directory, arrivals)
    total = arrivals.end().rows
    tick = (SECOND * isinstance(rhythm, ByClock) if every is None else every) / SECOND
    most_behind = 0
    planned = wall.now()
    yield Written(number, position.rows, total, position.arrival)
    while (wait := rhythm.wait(arrivals, position)) is not None:
        if tick:
            # Go to the next tick at which there is a row to write.
            due = wall.now() + max(0, wait)
            planned += tick * max(0, math.ceil((due - planned) / tick))
            wait = planned - wall.now()
        if wait > 0:
            wall.sleep(min(wait, _LONGEST_SLEEP))
        late_by = -(rhythm.wait(arrivals, position) or 0) - tick
        end = rhythm.step(arrivals, position)
        if end == position:  # the sleep was too short
            continue
        _write(arrivals, position, end, directory / f"{number:06}.parquet")
        position, number, planned = end, number + 1, planned + tick
        behind = round(late_by * SECOND) if late_by > _TOLERATED else 0
        most_behind = max(most_behind, behind)
        yield Written(number, position.rows, total, position.arrival, behind, most_behind)


def _left_off(directory: Path, arrivals: Arrivals) -> tuple[int, Position]:
    """Return the number of files in a directory, and the position after the last one."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for unfinished in directory.glob(".*.parquet.tmp"):
            unfinished.unlink()
        names = [file.name for file in directory.iterdir() if not file.name.startswith(".")]
    except OSError as error:
        raise OptionError(
            f'cannot write to "{directory}": {error.strerror}.\n'
            "Hint: give an existing directory, or one that can be created."
        ) from error
    if not names:
        return 0, Position()
    strange = [name for name in names if not _NAME.fullmatch(name)]
    last = directory / max(names, key=lambda name: (len(name), name))
    schema = pa.schema([]) if strange else _schema(last)
    note = (schema.metadata or {}).get(_NOTE)
    if note is None:
        raise OptionError(
            f'"{directory}" holds files that no replay wrote, such as '
            f'"{strange[0] if strange else last.name}".\n'
            "Hint: give a new or empty directory, or one in which a replay was stopped."
        )
    if (schema.names, schema.types) != (arrivals.schema.names, arrivals.schema.types):
        raise OptionError(
            f'"{directory}" holds a replay of rows with other columns: '
            f"{', '.join(schema.names)}.\nHint: give a new or empty directory."
        )
    position = Position.from_offset(json.loads(note))
    arrivals.check(position)
    return int(last.stem) + 1, position


def _schema(path: Path) -> pa.Schema:
    try:
        return pq.read_schema(path)
    except (pa.ArrowInvalid, OSError):  # not Parquet, whatever its name
        return pa.schema([])


def _write(arrivals: Arrivals, start: Position, end: Position, path: Path) -> None:
    note = {_NOTE: json.dumps(end.to_offset())}
    unfinished = path.with_name(f".{path.name}.tmp")
    pq.write_table(arrivals.read(start, end).replace_schema_metadata(note), unfinished)
    unfinished.replace(path)
