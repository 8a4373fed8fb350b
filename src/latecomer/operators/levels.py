"""Rows in time order after each of several waits: early and incomplete, then later and complete.

Level i is what a sort with wait i alone would give: it has the rows that were not behind its
watermark when they came. A query that cannot be computed from partial results, such as a pattern,
is run on each level: its operators follow the sort of the level, and the output of the last one
gets a column that names the wait.

    waits 0 s, 10 s     rows 1 5 3 │ 6       level 0     1 5 6      3 came too late for it
                                             level 1     1 3 5 6

All levels share one sort (`operators.shared_sort`): a row is held once, however many waits there
are. The operators behind it have a state for each wait.

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), Section V-A, the basic
    framework.
"""

from __future__ import annotations

import itertools
import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, concat
from latecomer.operators.base import Chunks, Emission, NewColumns, Operator, Running
from latecomer.operators.shared_sort import LevelSorter, start_levels
from latecomer.operators.sort import Sort
from latecomer.time import FOREVER, NEVER, TimeColumn, format_duration, wait_texts

if TYPE_CHECKING:
    from latecomer.operators.clocked_levels import ClockedLeveler

WAIT, IS_FINAL = "wait", "is_final"
RECALL = "recall"
LEVEL_FIELDS = (pa.field(WAIT, pa.string()), pa.field(IS_FINAL, pa.bool_()))
"""Columns that distinguish the rows of several waits; a wait is the text that the user gave."""
TARGET_FIELDS = (
    pa.field(RECALL, pa.float64()),
    pa.field(WAIT, pa.int64()),
    pa.field(IS_FINAL, pa.bool_()),
)
"""Columns that distinguish the rows of several recalls (`hosts.clocks.by_recall`); waits in ms."""
_BASE64 = "base64:"
"""Begin of a saved state that is not text."""


@dataclass(frozen=True, slots=True)
class Levels(Operator):
    """Release rows in time order once for each wait, and run the same operators on each order."""

    fixed = ("by", "then")

    by: TimeColumn
    """The time column."""
    waits: tuple[int, ...]
    """Waits in microseconds, ascending."""
    then: tuple[Operator, ...] = ()
    """Operators behind each sort. The output of each must be complete as far as its input is."""
    texts: tuple[str, ...] = field(default=(), compare=False)
    """The waits as the user wrote them."""

    @property
    def keyed(self) -> tuple[str, ...] | None:
        """Key of the first operator behind the sorts that needs one."""
        return next((each.keyed for each in self.then if each.keyed is not None), None)

    @property
    def new_columns(self) -> NewColumns:
        """Rows held by the sorts have nulls in a new column; an operator behind may refuse it."""
        return "refused" if "refused" in {each.new_columns for each in self.then} else "null"

    def describe(self, schema: pa.Schema) -> str:
        waits = ", ".join(map(format_duration, self.waits))
        said = (
            f"sort by time; rows come out once for each of the waits {waits}, when its watermark "
            "reaches them"
        )
        for operator in self.then:
            said += f"; then {operator.describe(schema)}"
            schema = operator.output_schema(schema)
        return said

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of the output: those of the rows, the wait, and whether it is last."""
        for operator in self.then:
            schema = operator.output_schema(schema)
        return pa.schema([*schema, *LEVEL_FIELDS])

    def clocked(self, columns: tuple[str, ...]) -> bool:
        """Return True if the operators behind the sorts can; sorts can serve any keys."""
        return all(each.is_by_row or each.follows_clocks(columns) for each in self.then)

    def start_clocked(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> ClockedLeveler:
        from latecomer.operators.clocked_levels import ClockedLeveler

        return ClockedLeveler(self, schema, chunks, saved)

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Leveler:
        return Leveler(self, schema, chunks, saved)


def once_per_wait(operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """Move the operators behind `Levels` into it; other chains of operators stay as they are."""
    first, *then = operators
    return (replace(first, then=tuple(then)),) if isinstance(first, Levels) else operators


class Leveler(Running):
    """A running `Levels`. Between calls, every row that a sort holds is after its watermark."""

    def __init__(
        self, spec: Levels, schema: pa.Schema, chunks: Chunks, saved: bytes | None
    ) -> None:
        self._waits = spec.waits
        self._texts = wait_texts(spec.waits, spec.texts)
        self._out = spec.output_schema(schema)
        self._by = spec.by
        count, width = len(spec.waits), 1 + len(spec.then)
        saves = _parts(saved, count, width)
        # Each operator of each level has chunks of its own.
        own = [shares(level, width) for level in shares(chunks, count)]
        self._sorters = start_levels(
            Sort(spec.by), schema, [each[0] for each in own], [part[0] for part in saves]
        )
        self._levels = [
            _Level(sorter, spec.then, schema, each[1:], part[1:])
            for sorter, each, part in zip(self._sorters, own, saves, strict=True)
        ]

    @property
    def held(self) -> int:
        """Number of rows in the shared sort, and of rows or states in the operators behind it."""
        return self._sorters[-1].held + sum(level.held for level in self._levels)

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Pass the rows to each level; rows that are late at the last one are late."""
        times = self._by.micros(rows)
        late = [int(np.count_nonzero(times < sorter.watermark)) for sorter in self._sorters]
        emissions = [level.push(rows) for level in self._levels]
        ready = told([emission.ready for emission in emissions], self._texts, self._out)
        return Emission(ready, emissions[-1].late, in_time(rows.num_rows, late))

    def advance(self, watermark: int) -> Emission:
        """Release what is due, level by level."""
        emissions = [
            level.advance(self._at(number, watermark)) for number, level in enumerate(self._levels)
        ]
        ready = told([emission.ready for emission in emissions], self._texts, self._out)
        return Emission(ready, emissions[-1].late)

    def stops(self, watermark: int) -> list[int]:
        """Stop where any of the levels would."""
        stops = {watermark}
        for number, sorter in enumerate(self._sorters):
            ahead = self._at(number, 0)
            stops |= {stop - ahead for stop in sorter.stops(self._at(number, watermark))[:-1]}
        return sorted(stop for stop in stops if stop <= watermark)

    def due(self) -> int | None:
        """Return the smallest watermark of the last level at which some level has rows due."""
        found = [
            due - self._at(number, 0)
            for number, level in enumerate(self._levels)
            if (due := level.due()) is not None
        ]
        return min(found, default=None)

    def save(self) -> bytes:
        return json.dumps([level.save().decode() for level in self._levels]).encode()

    def _at(self, level: int, watermark: int) -> int:
        """Return the watermark of a level, given that of the last one."""
        return ahead(watermark, self._waits[-1] - self._waits[level])


def told(levels: Sequence[Batch], texts: Sequence[str], schema: pa.Schema) -> Batch:
    """Return the rows of all levels, level by level, with the wait that each row is of."""
    parts = []
    for level, (rows, text) in enumerate(zip(levels, texts, strict=True)):
        wait = pa.repeat(text, rows.num_rows)
        is_final = pa.repeat(pa.scalar(level == len(levels) - 1), rows.num_rows)
        parts.append(pa.table([*rows.columns, wait, is_final], schema=schema))
    return concat(parts, schema)


def in_time(rows: int, late: Sequence[int]) -> tuple[int, ...]:
    """Return how many rows were in time for each wait, and too late for the one before.

    Args:
        rows: The number of rows that came.
        late: The number of rows that were late for each wait.
    """
    return (rows - late[0], *(a - b for a, b in itertools.pairwise(late)))


class _Level(Running):
    """The sorter of one wait, and the operators behind it, which share its watermark."""

    def __init__(
        self,
        sorter: LevelSorter,
        then: tuple[Operator, ...],
        schema: pa.Schema,
        chunks: Sequence[Chunks],
        saved: Sequence[bytes | None],
    ) -> None:
        self._operators: list[Running] = [sorter]
        for each, own, part in zip(then, chunks, saved, strict=True):
            self._operators.append(each.start(schema, own, part))
            schema = each.output_schema(schema)
        self._nothing = schema.empty_table()
        # A restarted operator has saved its own watermark, and does not fall behind it.
        self._watermark = NEVER

    @property
    def held(self) -> int:
        """Number of rows or states that the operators behind the sort hold."""
        return sum(operator.held for operator in self._operators[1:])

    def push(self, rows: Batch, side: int = 0) -> Emission:
        emission = self._operators[0].push(rows)
        has_ready = emission.ready.num_rows > 0
        return replace(emission, ready=self._behind(emission.ready) if has_ready else self._nothing)

    def advance(self, watermark: int) -> Emission:
        self._watermark = watermark
        emission = self._operators[0].advance(watermark)
        return replace(emission, ready=self._behind(emission.ready))

    def due(self) -> int | None:
        found = (operator.due() for operator in self._operators)
        return min((due for due in found if due is not None), default=None)

    def save(self) -> bytes:
        return json.dumps([_text(operator.save()) for operator in self._operators]).encode()

    def _behind(self, rows: Batch) -> Batch:
        """Pass rows through the operators behind the sort, and return the output."""
        for operator in self._operators[1:]:
            at_once = operator.push(rows).ready
            rows = concat([at_once, operator.advance(self._watermark).ready], at_once.schema)
        return rows


def _parts(saved: bytes | None, levels: int, operators: int) -> list[list[bytes | None]]:
    """Return what the operators of each level have saved; None for each if nothing was."""
    if saved is None:
        return [[None] * operators] * levels
    return [[_bytes(part) for part in json.loads(level)] for level in json.loads(saved)]


def _text(saved: bytes) -> str:
    """Return what an operator has saved as text; most save text already."""
    return saved.decode() if saved.isascii() else _BASE64 + b64encode(saved).decode()


def _bytes(text: str) -> bytes:
    """Return what an operator has saved, given what `_text` made of it."""
    return b64decode(text[len(_BASE64) :]) if text.startswith(_BASE64) else text.encode()


def ahead(watermark: int, by: int) -> int:
    """Return a watermark moved ahead, at most to `FOREVER`; `NEVER` stays `NEVER`."""
    if watermark in (NEVER, FOREVER):
        return watermark
    return min(watermark + by, FOREVER)


def shares(chunks: Chunks, count: int) -> list[Chunks]:
    """Return chunks for each of several operators or levels that share a set of chunks."""
    return [_Share(chunks, at, count) for at in range(count)]


def leads(waits: Sequence[int]) -> list[int]:
    """Return how far the watermark of each wait is ahead of that of the last one."""
    return [waits[-1] - wait for wait in waits]


class _Share:
    """The chunks of one of several operators or levels that share a set of chunks."""

    def __init__(self, chunks: Chunks, at: int, count: int) -> None:
        self._chunks = chunks
        self._at = at
        self._count = count

    def get(self, number: int) -> Batch:
        return self._chunks.get(number * self._count + self._at)

    def put(self, number: int, rows: Batch) -> None:
        self._chunks.put(number * self._count + self._at, rows)

    def drop(self, number: int) -> None:
        self._chunks.drop(number * self._count + self._at)
