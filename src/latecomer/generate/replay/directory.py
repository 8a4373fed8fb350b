"""Replay files into a directory, for systems that watch one.

What `latecomer.replay` is to Spark, this is to everything else: micro-batches in the same rhythm,
as numbered Parquet files.

    trades/000000.parquet  000001.parquet  000002.parquet …

A file appears whole or not at all: it is written under a hidden name and then renamed. Each notes
in its footer how far the replay had come when it was written, so that a replay that was stopped
goes on after the last file that is there. There is no other state: keep at least that file.

**With a speed**, every tick of the wall clock (a second, unless told otherwise) writes what has
arrived since the last; ticks without rows write nothing. Ticks that come while a file is still
being written are missed, and the next file has more rows: the replay is behind, by as much as its
oldest row should have been written earlier. Without ticks, that is every 0 seconds, a file follows
as soon as a row is due. **By rows or by arrival** there is no clock to be behind: files follow each
other as fast as they can be written, or one a tick if ticks are asked for.
"""

from __future__ import annotations

import json
import math
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from latecomer.errors import OptionError
from latecomer.generate.replay.arrivals import Arrivals, Position, arrival_column
from latecomer.generate.replay.rhythm import ByClock, Rhythm
from latecomer.time import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from latecomer.time import TimeColumn

_NOTE = b"latecomer.replay"
_NAME = re.compile(r"\d{6,}\.parquet")
_SECOND = 1_000_000
_TOLERATED = 0.1
"""Seconds too late that are not called behind: a sleep that lasts a little longer, a busy disk."""
_LONGEST_SLEEP = 86_400.0
"""Seconds; an arrival in the year 9999 is further away than the system can sleep."""


@dataclass(frozen=True, slots=True)
class Written:
    """How far a replay into a directory has come."""

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
    """The most that any file of this run was behind."""

    def __str__(self) -> str:
        where = f"{self.rows:,} of {self.total:,} rows in {self.files:,} files"
        if self.most_behind:
            return f"{where}; at worst {format_duration(self.most_behind)} behind."
        return f"{where}."


@dataclass(frozen=True, slots=True)
class Wall:
    """The time of the day as a replay meets it; tests bring their own."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def replay_to_directory(
    path: str,
    directory: str | Path,
    rhythm: Rhythm,
    *,
    arrival: TimeColumn = arrival_column(),  # noqa: B008  frozen
    every: int | None = None,
    wall: Wall = Wall(),  # noqa: B008  frozen
) -> Iterator[Written]:
    """Write the micro-batches of a replay as files, and yield after each how far it has come.

    The first answer comes before the first file, and says where an earlier run left off. From one
    file to the next `every` microseconds of wall clock pass; if left out, a second with a speed,
    and none without.

    Raises:
        ArrivalError: A file is not in order of arrival.
        OptionError: The directory cannot be made, or holds files that are not of a replay, or of
            one with other columns.
        StateFormatError: The directory holds a replay of other files.
    """
    directory = Path(directory)
    arrivals = Arrivals(path, arrival)
    number, position = _left_off(directory, arrivals)
    total = arrivals.end().rows
    tick = (_SECOND * isinstance(rhythm, ByClock) if every is None else every) / _SECOND
    most_behind = 0
    planned = wall.now()
    yield Written(number, position.rows, total, position.arrival)
    while (wait := rhythm.wait(arrivals, position)) is not None:
        if tick:
            # On to the first tick, from now on, at which there is a row to write.
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
        behind = round(late_by * _SECOND) if late_by > _TOLERATED else 0
        most_behind = max(most_behind, behind)
        yield Written(number, position.rows, total, position.arrival, behind, most_behind)


def _left_off(directory: Path, arrivals: Arrivals) -> tuple[int, Position]:
    """Find out how many files a directory has, and how far the replay had come with the last."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for unfinished in directory.glob(".*.parquet.tmp"):
            unfinished.unlink()
        names = [file.name for file in directory.iterdir() if not file.name.startswith(".")]
    except OSError as error:
        raise OptionError(
            f'cannot write to "{directory}": {error.strerror}.\n'
            "Hint: give a directory that is there, or one that can be made."
        ) from error
    if not names:
        return 0, Position()
    strange = [name for name in names if not _NAME.fullmatch(name)]
    last = directory / max(names, key=lambda name: (len(name), name))
    schema = pa.schema([]) if strange else _schema(last)
    note = (schema.metadata or {}).get(_NOTE)
    if note is None:
        raise OptionError(
            f'"{directory}" holds files that are not of a replay, such as '
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
