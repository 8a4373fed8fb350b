"""Find rows that follow each other as a pattern describes.

    a then b then c            rows   a b a b c          matches   a b · · c
    within 4 seconds           time   0 1 2 3 4                    · · a b c

The rows of a key are processed one by one, in order of time; rows of equal time in order of
arrival. A match that is under way takes a row if the row can be its next event. If the row can be
several events, the match is continued with each. If the row can be none, the match passes over it;
if matches are *strict*, it is given up instead. A match is also given up when `within` is over,
when it passes over a row that meets an `unless`, and when no event can follow. It is emitted each
time it is complete: with `a b+`, `a b` is a match, and `a b b` is another.

A pattern may end by *absence*: after its last row, no row of the key may meet a condition for some
time. The match ends when that time is over, and is found once the watermark has reached that end:

    a, then no b for 3 seconds      a · · b     found: b is not in [0, 3)
                                    0 1 2 3

Each row that can be a first event begins a match. If matches must not *overlap*, it does so only if
no match of its key is under way, and none has taken the row.

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), Section V-C, the second
    example, by the basic framework. A match is defined as in Trill's operator of this name.
Departures: Trill passes over no row. A match may last exactly as long as `within`; in Trill it must
    be shorter. Rows of equal time are in order; in Trill they end whatever looks at single rows,
    unless it is set otherwise. In Trill, without overlap, a row that ends a match may begin
    another.
Holds: between calls, only the rows of matches that are under way are held. A match that later rows
    cannot be part of is not under way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.arrays import read_arrays, write_arrays
from latecomer.batch import Batch, Positions, concat, gather, is_true
from latecomer.operators.aggregates.slices import dense_codes, group_order
from latecomer.operators.aggregates.summary import SLOT, Summary
from latecomer.operators.base import Chunks, Emission, Operator, Running, by
from latecomer.operators.patterns.automaton import Automaton
from latecomer.operators.patterns.matches import Matches, struct_type
from latecomer.operators.patterns.shapes import Condition
from latecomer.operators.patterns.under_way import STEPS, UnderWay
from latecomer.operators.patterns.where import Question
from latecomer.operators.row_log import RowLog
from latecomer.operators.ways import OneWay, Way
from latecomer.operators.windows.grid import check_reach
from latecomer.time import NEVER, TimeColumn, Times, format_duration, from_micros

if TYPE_CHECKING:
    from latecomer.kernels.automaton import Steps
    from latecomer.operators.ways import KeyWays

START, END = "start", "end"
_OLD = (b"true", b"false")
"""What 0.2.0 saved."""


@dataclass(frozen=True, slots=True)
class Detect(Operator):
    """The specification of a search for matches of a pattern."""

    carries_columns = False
    takes = "in order"

    time: TimeColumn
    keys: tuple[str, ...]
    automaton: Automaton
    """Automaton of the pattern. Its conditions are names of boolean columns."""
    within: int
    """Longest time from the first row of a match to the last, in microseconds."""
    is_strict: bool = False
    may_overlap: bool = True
    silence: int | None = None
    """Time after a match in which no row may meet the last guard of the automaton, in microseconds;
    None if a match is complete with its last row."""
    summaries: tuple[tuple[tuple[str, ...], Summary], ...] = ()
    """Aggregates to emit for a match instead of its rows. Each has the names of the events whose
    rows it aggregates; no names mean all events."""

    @property
    def keyed(self) -> tuple[str, ...]:
        return self.keys

    def describe(self, schema: pa.Schema) -> str:
        events = ", ".join(event.name for event in self.automaton.events)
        return (
            f"detect matches of {events}{by(self.keys)}: rows of matches under way are held, for "
            f"{format_duration(self.lasting)} at most"
        )

    @property
    def lasting(self) -> int:
        """Longest time from the first row of a match until it is found, in microseconds."""
        return self.within + (self.silence or 0)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of a match: its start and end, its key, and its events or results."""
        time = schema.field(self.time.name)
        if self.silence is not None and pa.types.is_integer(time.type):
            # The end of the silence may not fit into a smaller integer.
            time = time.with_type(pa.int64())
        rows = pa.schema([schema.field(name) for name in self.told(schema)])
        struct, repeated = struct_type(rows), self.automaton.repeated
        events = [
            pa.field(event.name, pa.list_(struct) if number in repeated else struct)
            for number, event in enumerate(self.automaton.events)
        ]
        results = [each for _, summary in self.summaries for each in summary.result_schema(schema)]
        return pa.schema(
            [
                time.with_name(START),
                time.with_name(END),
                *(schema.field(key) for key in self.keys),
                *(results if self.summaries else events),
            ]
        )

    def told(self, schema: pa.Schema) -> list[str]:
        """Return the columns of a row that are emitted: all but those that Latecomer has added."""
        return [name for name in schema.names if not name.startswith("_lc_")]

    def with_slot(self, columns: tuple[str, ...]) -> Detect:
        return replace(self, keys=(SLOT, *self.keys))

    def follows_clocks(self, columns: tuple[str, ...]) -> bool:
        """Return True: rows of different keys are in no match together."""
        return True

    def start_behind_clocks(
        self, schema: pa.Schema, chunks: Chunks, way: KeyWays, saved: bytes | None = None
    ) -> Detector:
        return Detector(self, schema, chunks, saved)

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Detector:
        return Detector(self, schema, chunks, saved)


class Detector(Running):
    """A running `Detect`."""

    def __init__(
        self, spec: Detect, schema: pa.Schema, chunks: Chunks, saved: bytes | None
    ) -> None:
        super().__init__(schema, spec.output_schema(schema))
        self._spec, self._chunks = spec, chunks
        self._machine = spec.automaton.machine(
            spec.within,
            is_strict=spec.is_strict,
            may_overlap=spec.may_overlap,
            silence=spec.silence,
        )
        self._question = Question(spec.automaton)
        self._told = spec.told(schema)
        self._repeated = spec.automaton.repeated
        # The conditions of held rows have been evaluated, so their columns are not kept.
        read = [name for _, summary in spec.summaries for name in summary.columns]
        held = dict.fromkeys([*self._told, *spec.keys, *read])
        self._schema = pa.schema([schema.field(name) for name in held])
        self._log = RowLog([self._schema, STEPS])
        self._held = UnderWay.none(self._schema)
        self._next_numbers = [0, 0]
        """Next number of a row, and of a step."""
        if saved is not None:
            self._load(saved)

    @property
    def held(self) -> int:
        return self._held.rows.num_rows

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Take rows of an ordered stream, and emit the matches that they complete."""
        times = self._spec.time.micros(rows)
        check_reach(times)
        met = _bits(rows, [event.condition for event in self._spec.automaton.events])
        guards = _bits(rows, self._spec.automaton.guards)
        rows = rows.select(self._schema.names)
        if not self._spec.is_strict:
            # All matches pass over a row that can be no event and meets no guard.
            matters = np.flatnonzero(met | guards)
            rows, times = gather(rows, matters), times[matters]
            met, guards = met[matters], guards[matters]
        if not rows.num_rows:
            return self._emission()
        return self._emission(self._matched(rows, times, met, guards))

    def advance(self, watermark: int) -> Emission:
        """Emit matches whose absence has lasted long enough; give up those that are too old."""
        return self.follow(OneWay(NEVER, watermark))

    def follow(self, way: Way) -> Emission:
        """Do the same, by one watermark or by that of each key."""
        held = self._held
        if not len(held):
            return self._emission()
        until = way.now(held.rows)
        if until.ndim:
            until = until[held.steps.row[held.last]]
        found = held.is_waiting & (held.began <= until)
        lasts = (held.is_waiting | (self._ends() >= until)) & ~found
        if way.is_final:
            lasts[:] = False
        if not lasts.all():
            self._held = held.where(lasts)
        if not found.any():
            return self._emission()
        return self._emission(self._rows_of(self._matches(held.rows, held.steps, held.last[found])))

    def due(self) -> int | None:
        """Return the watermark at which a match is found by absence, or all others are too old."""
        if not len(self._held):
            return None
        if self._held.is_waiting.any():
            return int(self._held.began[self._held.is_waiting].min())
        return int(self._ends().max()) + 1

    def last_due(self, slots: Positions) -> Times:
        """Return, for each slot, the watermark at which no match of its key is under way."""
        held = self._held
        own = held.rows.column(SLOT).to_numpy()[held.steps.row[held.last]]
        due = np.full(1 + max(own.max(initial=-1), slots.max(initial=-1)), NEVER)
        np.maximum.at(due, own, np.where(held.is_waiting, held.began, self._ends() + 1))
        found: Times = due[slots]
        return found

    def forget(self) -> None:
        """Do nothing: of a key that is forgotten no match is under way."""

    def save(self) -> bytes:
        """Write new rows and steps of matches under way to chunks; return all that changes."""
        log = self._log.save(self._held.tables(), self._chunks)
        return write_arrays({"next": np.array(self._next_numbers), **log, **self._held.arrays()})

    def _load(self, saved: bytes) -> None:
        if saved.startswith(_OLD):
            # Checkpoints of 0.2.0 have three whole tables, or none.
            numbers = [0, 1, 2] if json.loads(saved) else []
            self._log.replace(0, numbers)
            if numbers:
                self._held = UnderWay.read_whole([self._chunks.get(each) for each in numbers])
                held = (self._held.row_numbers, self._held.step_numbers)
                self._next_numbers = [*map(len, held)]
            return
        arrays = read_arrays(saved)
        self._next_numbers = arrays["next"].tolist()
        tables = self._log.load(arrays, self._chunks)
        self._held = UnderWay.read(tables, arrays, self._spec.time)

    def _matched(self, new: Batch, times: Times, met: Positions, guards: Positions) -> Batch:
        """Take new rows, and return the matches that they complete."""
        from latecomer.kernels.automaton import Rows

        before = self._held.rows.num_rows
        rows = concat([self._held.rows, new], self._schema)
        keys = [rows.column(name) for name in self._spec.keys]
        groups, count = dense_codes(keys, rows.num_rows)
        order = group_order(groups[before:], count)
        is_there = np.zeros(count + 1, np.bool_)
        is_there[groups] = is_there[count] = True
        bounds = np.flatnonzero(is_there)
        steps, attempts, lasts = self._question.advance(
            self._machine,
            Rows(
                np.searchsorted(groups[before:][order], bounds).astype(np.int64),
                order + before,
                times[order],
                met[order],
                guards[order],
            ),
            self._held.attempts(groups, bounds),
            self._held.steps,
            rows.select(self._told),
        )
        # Those that were held are still the first.
        numbers = (
            self._numbered(0, self._held.row_numbers, rows.num_rows),
            self._numbered(1, self._held.step_numbers, len(steps.row)),
        )
        self._held = UnderWay.of(rows, steps, attempts, numbers)
        return self._rows_of(self._matches(rows, steps, lasts))

    def _numbered(self, which: int, held: Positions, count: int) -> Positions:
        """Return the numbers of `count` rows or steps, of which the first ones are held."""
        first = self._next_numbers[which]
        self._next_numbers[which] += count - len(held)
        return np.concatenate([held, np.arange(first, self._next_numbers[which])])

    def _matches(self, rows: Batch, steps: Steps, lasts: Positions) -> Matches:
        return Matches(rows, steps, lasts, self._machine.event)

    def _rows_of(self, matches: Matches) -> Batch:
        time, repeated = self._spec.time.name, self._repeated
        if not len(matches):
            return self._out.empty_table()
        if self._spec.summaries:
            events = self._results(matches)
        else:
            events = [
                (matches.several if number in repeated else matches.one)(number, self._told)
                for number in range(len(self._spec.automaton.events))
            ]
        columns = [
            matches.first([time]).column(time).cast(self._out.field(START).type),
            self._stops(matches.last([time])),
            *matches.last(self._spec.keys).columns,
            *events,
        ]
        return pa.table(columns, self._out)

    def _results(self, matches: Matches) -> list[pa.Array]:
        """Return the aggregates of the rows of matches."""
        numbers = {event.name: at for at, event in enumerate(self._spec.automaton.events)}
        found = []
        for names, summary in self._spec.summaries:
            given = matches.given([numbers[name] for name in names or numbers], self._spec.time)
            for _, aggregate in summary.aggregates:
                found.append(aggregate.finish(aggregate.add(given), self._schema))
        return found

    def _stops(self, lasts: Batch) -> pa.ChunkedArray:
        """Return the ends of matches, given their last rows."""
        time = self._spec.time
        if self._spec.silence is None:
            return lasts.column(time.name)
        ends = time.micros(lasts) + self._spec.silence
        return from_micros(ends, self._out.field(END).type, time.unit)

    def _ends(self) -> Times:
        """Return the last watermark at which each match under way can still take a row."""
        return self._held.began + self._spec.within


def _bits(rows: Batch, conditions: Sequence[Condition | None]) -> Positions:
    """Return, for each row, a bit for each condition that it meets.

    All rows meet the condition None. A null is not true.
    """
    found = np.zeros(rows.num_rows, np.int64)
    for number, name in enumerate(conditions):
        is_met = np.ones(rows.num_rows, np.bool_) if name is None else is_true(rows.column(name))
        found |= is_met.astype(np.int64) << number
    return found
