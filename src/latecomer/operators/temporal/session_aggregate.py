"""Aggregates of sessions: one result for each session, when it is closed.

    timeout 5        1  3  6              15
    sessions         ├──────────────┤ 11  ├────────┤ 20
    count                           3              1

The rows of a session are not all known before it ends. So its result begins at the end of the
session, counts for one microsecond, and has the bounds of the session in the column `session`.
`latecomer.operators.temporal.session` defines what a session is.

A result is emitted once the watermark has reached the end of the session, even if no further row of
its key comes. Open sessions are held as states of the aggregates, not as rows.

Paper: none. Users of Trill asked for it (microsoft/Trill, issue 139).
Holds: between calls, a key has at most one state: that of its open session.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Positions, gather
from latecomer.operators.aggregates.slices import Slices
from latecomer.operators.aggregates.summary import PANE, ROWS, SLOT, SlottedSummary, Summary
from latecomer.operators.base import Chunks, by
from latecomer.operators.temporal.edges import Edges, edge_schema, payload_schema
from latecomer.operators.temporal.lifetimes import POINT
from latecomer.operators.temporal.session import Closing, Placed, SessionFinder, keyed
from latecomer.operators.temporal.specification import Temporal
from latecomer.time import Times, Unit, from_micros

if TYPE_CHECKING:
    from latecomer.operators.ways import Way

SESSION = "session"


@dataclass(frozen=True, slots=True)
class SessionAggregate(Temporal):
    """Aggregates of each session, by key."""

    carries_columns = False

    summary: Summary
    closing: Closing
    kind: pa.DataType
    """Type of the times in `session`."""
    unit: Unit | None = None
    """Unit of these times, if they are plain integers."""

    @property
    def keyed(self) -> tuple[str, ...]:
        """Columns of the key: all rows of a session must be in the same bucket."""
        return self.summary.keys

    def describe(self, schema: pa.Schema) -> str:
        return (
            f"aggregate sessions{by(self.keyed)} into {self.summary.names}, once they are closed: "
            f"{self.closing}; one state for each open session is held"
        )

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        bounds = pa.struct([pa.field("start", self.kind), pa.field("end", self.kind)])
        session = pa.field(SESSION, bounds, nullable=False)
        return edge_schema(
            pa.schema([session, *self.summary.result_schema(payload_schema(schema))])
        )

    def with_slot(self, columns: tuple[str, ...]) -> SessionAggregate:
        return replace(self, summary=SlottedSummary.of(self.summary, columns))

    def start(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> SessionAggregator:
        return SessionAggregator(self, [schema], chunks, saved)


class SessionAggregator(SessionFinder[SessionAggregate]):
    """A running `SessionAggregate`. It holds states of open sessions, and streaks."""

    def _prepare(self) -> None:
        # A state is of one session. It is grouped by the session's number and needs no key.
        self._states = Summary((), self._spec.summary.aggregates)
        self._keys, self._closing = self._spec.keyed, self._spec.closing
        self._compared = self._spec.summary.compared
        self._rows = self._inputs[0]

    def step(self, due: tuple[Edges, ...], way: Way) -> Edges:
        """Return the results of closed sessions, and hold the states of the others."""
        held, begun = self._held[0], due[0].where(~due[0].is_end)
        # A state has the key and the time of the first row of its session.
        rows = Edges.joined([keyed(held, self._keys), keyed(begun, self._keys)])
        sessions = Sessions.of(self.place(rows, way))
        states = self._merged(held, begun, sessions)
        starts = rows.take(sessions.firsts)
        columns = [*starts.payload.columns, *states.columns[1:]]
        names = [*self._keys, *states.column_names[1:]]
        known = Edges(starts.at, sessions.ends, starts.id, pa.table(columns, names))
        is_closed = sessions.ends <= way.now(known.payload)
        self._held[0] = known.where(~is_closed)
        closed = np.flatnonzero(is_closed)
        return self._answers(starts.take(closed), sessions.ends[closed], gather(states, closed))

    def _nothing_held(self) -> list[Edges]:
        rows = keyed(Edges.none(self._rows), self._keys)
        states = self._states.state_schema(self._rows).remove(0)
        return [Edges.none(pa.schema([*rows.payload.schema, *states])), rows]

    def _merged(self, held: Edges, begun: Edges, sessions: Sessions) -> Batch:
        """Return one state for each session, in order of their numbers."""
        from latecomer.kernels.groups import side_by_side

        count = len(held)
        of_held, of_begun = sessions.numbers[:count], sessions.numbers[count:]
        order, bounds = side_by_side(of_begun, len(sessions.firsts))
        # A held session may have no new rows.
        slices = Slices(np.append(bounds[:-1][np.diff(bounds) > 0], len(order)))
        read = [name for name in begun.payload.column_names if name != SLOT]
        rows = begun.payload.select(read)
        new = self._states.add_slices(rows, of_begun, begun.at, order, slices)
        old = held.payload.drop_columns(list(self._keys)).add_column(0, PANE, pa.array(of_held))
        both = pa.concat_tables([old, new.drop_columns([ROWS])])
        return self._states.merge(both, self._rows)

    def _answers(self, starts: Edges, ends: Times, states: Batch) -> Edges:
        """Return the results of closed sessions."""
        results = self._states.finish(states, self._rows).drop_columns([PANE])
        bounds = [from_micros(each, self._spec.kind, self._spec.unit) for each in (starts.at, ends)]
        fields = list(self._payload.field(SESSION).type)
        session = pa.StructArray.from_arrays(bounds, fields=fields)
        columns = [session, *starts.payload.columns, *results.columns]
        return Edges(ends, ends + POINT, starts.id, pa.table(columns, self._payload)).in_order()


@dataclass(frozen=True, slots=True)
class Sessions:
    """Sessions, numbered in order of their first rows."""

    numbers: Positions
    """The session of each row."""
    firsts: Positions
    """The first row of each session."""
    ends: Times

    @classmethod
    def of(cls, placed: Placed) -> Sessions:
        """Return the sessions of rows. Two sessions of one key never end together."""
        from latecomer.kernels.sessions import numbered

        numbers, firsts = numbered(placed.codes, placed.ends, placed.count)
        return cls(numbers, firsts, placed.ends[firsts])
