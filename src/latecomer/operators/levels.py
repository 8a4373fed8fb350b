"""Rows in time order after each of several waits: early and incomplete, then later and complete.

Level i is what a sort with wait i alone would give: it has the rows that were not behind its
watermark when they came. A query that cannot be computed from partial results, such as a pattern,
is run on each level.

    waits 0 s, 10 s     rows 1 5 3 │ 6       level 0     1 5 6      3 came too late for it
                                             level 1     1 3 5 6

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), Section V-A, the basic
    framework.
Departures: the paper cuts rows into streams by their delay and unites these level by level, so that
    each union holds rows until the slower side has them. Here each level has a sorter of its own,
    which holds a row until that level's wait is over. Waits usually grow by large factors, so the
    levels before the last hold little.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass

import pyarrow as pa

from latecomer.batch import Batch, concat
from latecomer.operators.base import Chunks, Emission, Operator, Running
from latecomer.operators.sort import Sort
from latecomer.time import FOREVER, NEVER, TimeColumn, format_duration

WAIT, IS_FINAL = "wait", "is_final"
RECALL = "recall"
TARGET_FIELDS = (
    pa.field(RECALL, pa.float64()),
    pa.field(WAIT, pa.duration("us")),
    pa.field(IS_FINAL, pa.bool_()),
)
"""What tells rows of several targets apart, where a recall is asked for (`hosts.adapting`)."""


@dataclass(frozen=True, slots=True)
class Levels(Operator):
    """Release rows in time order once for each wait."""

    by: TimeColumn
    """The time column."""
    waits: tuple[int, ...]
    """Ascending."""

    @property
    def label(self) -> str:
        """Its name is all: the waits are a matter of the stream."""
        return "Levels"

    def describe(self, schema: pa.Schema) -> str:
        """Say what is held."""
        waits = ", ".join(map(format_duration, self.waits))
        return (
            f"sort by time, once for each of the waits {waits}; for each of them rows wait until "
            "its watermark reaches them"
        )

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """The columns of the rows, the wait, and whether it is the last."""
        return pa.schema(
            [*schema, pa.field(WAIT, pa.duration("us")), pa.field(IS_FINAL, pa.bool_())]
        )

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Leveler:
        """Make the running operator for rows of this schema."""
        return Leveler(self, schema, chunks, saved)


class Leveler(Running):
    """A running `Levels`. Between calls, every row that a level holds is after its watermark."""

    def __init__(
        self, spec: Levels, schema: pa.Schema, chunks: Chunks, saved: bytes | None
    ) -> None:
        """Begin with nothing held, or where `saved` left off."""
        self._waits = spec.waits
        self._out = spec.output_schema(schema)
        parts = [None] * len(spec.waits) if saved is None else json.loads(saved)
        self._sorters = [
            Sort(spec.by).start(
                schema,
                _Share(chunks, level, len(parts)),
                part.encode() if part is not None else None,
            )
            for level, part in enumerate(parts)
        ]

    @property
    def held(self) -> int:
        """The number of rows held, at all levels."""
        return sum(sorter.held for sorter in self._sorters)

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Give each level the rows; what is late at the last one is late."""
        emissions = [sorter.push(rows) for sorter in self._sorters]
        late = [emission.late.num_rows for emission in emissions]
        in_time = [rows.num_rows - late[0], *(a - b for a, b in itertools.pairwise(late))]
        ready = [emission.ready for emission in emissions]
        return Emission(self._told(ready), emissions[-1].late, tuple(in_time))

    def advance(self, watermark: int) -> Emission:
        """Release what is due, level by level."""
        emissions = [
            sorter.advance(self._at(level, watermark)) for level, sorter in enumerate(self._sorters)
        ]
        return Emission(self._told([e.ready for e in emissions]), emissions[-1].late)

    def stops(self, watermark: int) -> list[int]:
        """Stop where any of the levels would."""
        stops = {watermark}
        for level, sorter in enumerate(self._sorters):
            ahead = self._at(level, 0)
            stops |= {stop - ahead for stop in sorter.stops(self._at(level, watermark))[:-1]}
        return sorted(stop for stop in stops if stop <= watermark)

    def due(self) -> int | None:
        """The smallest watermark of the last level at which some level has something due."""
        found = [
            due - self._at(level, 0)
            for level, sorter in enumerate(self._sorters)
            if (due := sorter.due()) is not None
        ]
        return min(found, default=None)

    def save(self) -> bytes:
        """Write down the sorter of each level."""
        return json.dumps([sorter.save().decode() for sorter in self._sorters]).encode()

    def _at(self, level: int, watermark: int) -> int:
        """Tell the watermark of a level, given that of the last one."""
        return ahead(watermark, self._waits[-1] - self._waits[level])

    def _told(self, levels: list[Batch]) -> Batch:
        last = len(self._waits) - 1
        parts = []
        for level, rows in enumerate(levels):
            count = rows.num_rows
            wait = pa.repeat(pa.scalar(self._waits[level], pa.duration("us")), count)
            is_final = pa.repeat(pa.scalar(level == last), count)
            parts.append(pa.table([*rows.columns, wait, is_final], schema=self._out))
        return concat(parts, self._out)


def ahead(watermark: int, by: int) -> int:
    """Move a watermark ahead, but not past the end of time, nor from before its beginning."""
    if watermark in (NEVER, FOREVER):
        return watermark
    return min(watermark + by, FOREVER)


class _Share:
    """The chunks of one level, among those of all."""

    def __init__(self, chunks: Chunks, level: int, levels: int) -> None:
        self._chunks = chunks
        self._level = level
        self._levels = levels

    def get(self, number: int) -> Batch:
        return self._chunks.get(number * self._levels + self._level)

    def put(self, number: int, rows: Batch) -> None:
        self._chunks.put(number * self._levels + self._level, rows)

    def drop(self, number: int) -> None:
        self._chunks.drop(number * self._levels + self._level)
