"""Begins and ends that come as separate rows, because the end was not known at the begin.

    start  end   key                   known at
    3      null  a         it began    3
    3      9     a         it ended    9

A row without an end is a begin. A row with an end closes the begin that has the same `start` and is
equal in all other columns; if there are several, the one that came first. An end whose begin did
not come, or came late, is late itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, combined
from latecomer.operators.aggregates.slices import group_codes
from latecomer.operators.base import NO_BEGIN, Chunks, Emission, Responder
from latecomer.operators.temporal.edges import Edges, edge_schema
from latecomer.operators.temporal.specification import Temporal
from latecomer.time import FOREVER, TimeColumn


@dataclass(frozen=True, slots=True)
class Paired(Temporal):
    """Pair each end with its begin."""

    carries_columns = False
    """A begin and its end must be equal in all other columns, and an added column might differ."""
    late_reason = NO_BEGIN
    words = "lifetimes whose begins and ends are rows of their own; begins are held"

    known: TimeColumn
    """Time by which rows are ordered: the end of a row if it has one, else its start."""
    begin: TimeColumn
    end: TimeColumn
    arrival: TimeColumn | None = None
    """Arrival of rows, which is not the same for a begin and its end."""

    def follows_clocks(self, columns: tuple[str, ...]) -> bool:
        """Return False: it finds rows late that have no begin."""
        return False

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return edge_schema(self.payload(schema))

    def payload(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema without the columns of times."""
        times = (self.known, self.begin, self.end, self.arrival)
        own = {column.name for column in times if column is not None}
        return pa.schema([field for field in schema if field.name not in own])

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Pairer:
        return Pairer(self, schema, chunks, saved)


class Pairer(Responder):
    """A running `Paired`. It holds begins whose end has not come."""

    def __init__(
        self, spec: Paired, schema: pa.Schema, chunks: Chunks, saved: bytes | None
    ) -> None:
        super().__init__(schema, spec.output_schema(schema))
        self._spec = spec
        self._payload = spec.payload(schema)
        self._chunks = chunks
        self._next_id, self._is_stored = 0, False
        self._held = Edges.none(self._payload)
        if saved is not None:
            self._next_id, self._is_stored = json.loads(saved)
            if self._is_stored:
                self._held = Edges.of(chunks.get(0))

    @property
    def held(self) -> int:
        return len(self._held)

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Emit begins at once, and ends with the id of their begin."""
        is_end = ~self._spec.end.is_null(rows)
        begun = self._begun(rows.filter(pa.array(~is_end)))
        ends = rows.filter(pa.array(is_end))
        begins = Edges.joined([self._held, begun])
        started = self._spec.begin.micros(ends)
        payload = ends.select(self._payload.names)
        found = self._begin_of(begins, started, payload)
        is_found = found >= 0
        ended = Edges(
            self._spec.end.micros(ends)[is_found],
            started[is_found],
            begins.id[found[is_found]],
            payload.filter(pa.array(is_found)),
        )
        is_over = np.zeros(len(begins), np.bool_)
        is_over[found[is_found]] = True
        self._held = begins.where(~is_over)
        told = Edges.joined([begun, ended]).in_order()
        return Emission(told.batch(), ends.filter(pa.array(~is_found)))

    def save(self) -> bytes:
        """Write held begins to a chunk."""
        if len(self._held):
            self._chunks.put(0, combined(self._held.batch()))
        elif self._is_stored:
            self._chunks.drop(0)
        self._is_stored = bool(len(self._held))
        return json.dumps([self._next_id, self._is_stored]).encode()

    def _begun(self, rows: Batch) -> Edges:
        ids = self._next_id + np.arange(rows.num_rows)
        self._next_id += rows.num_rows
        never = np.full(rows.num_rows, FOREVER)
        payload = rows.select(self._payload.names)
        return Edges(self._spec.begin.micros(rows), never, ids, payload)

    def _begin_of(self, begins: Edges, started: Positions, payload: Batch) -> Positions:
        """Return the position of each end's begin; -1 if there is none."""
        count = len(begins)
        both = pa.concat_tables([begins.payload, payload]) if self._payload.names else None
        columns = [] if both is None else both.columns
        starts = pa.chunked_array([np.concatenate([begins.at, started])])
        codes, _ = group_codes([*columns, starts], count + len(started))
        is_end = np.arange(len(codes)) >= count
        # The first end of a code belongs to the first begin of this code, and so on.
        turn = _turns(codes, is_end)
        order = np.lexsort((turn[:count], codes[:count]))
        width = len(codes) + 1
        places = (codes * width + turn)[:count][order]
        wanted = (codes * width + turn)[count:]
        at = np.searchsorted(places, wanted)
        is_there = at < count
        is_there[is_there] = places[at[is_there]] == wanted[is_there]
        return np.where(is_there, order[np.minimum(at, max(count - 1, 0))] if count else -1, -1)


def _turns(codes: Positions, is_end: Mask) -> Positions:
    """Number the begins of each code, and separately its ends, in the order in which they came."""
    order = np.lexsort((np.arange(len(codes)), is_end, codes))
    sorted_codes, sorted_ends = codes[order], is_end[order]
    is_first = np.ones(len(codes), np.bool_)
    is_first[1:] = (sorted_codes[1:] != sorted_codes[:-1]) | (sorted_ends[1:] != sorted_ends[:-1])
    places = np.arange(len(codes))
    firsts = np.maximum.accumulate(np.where(is_first, places, 0))
    turns = np.empty(len(codes), np.int64)
    turns[order] = places - firsts
    return turns
