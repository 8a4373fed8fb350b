"""The base of the temporal operators that hold rows.

All edges of an instant are processed together, because they come in no particular order. So edges
that are pushed *wait* until the watermark has passed them. Some operators can process a part of the
edges of an instant before the others; there, edges wait until the watermark has reached them
(`beyond`). One step then computes the result in `[since, until)`, between two watermarks:

    held            what a later step still needs, such as rows that have not ended
    due             the edges in `[since, until)`, in order
    returned        all edges of the result before `until`

Behind a sort where each key has a watermark of its own, one operator serves all keys: rows have the
slot of their key, and a step has two watermarks for each slot (`operators.ways`).

A step may also return edges of the result at or after `until`, if they are certain. They wait at
the next operator, so only the edges before `until` have to be in order.
"""

import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, combined
from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.base import Chunks, Emission, Running
from latecomer.operators.temporal.binary import Binary
from latecomer.operators.temporal.edges import (
    FINAL,
    Edges,
    ascends,
    later,
    payload_schema,
    told,
    with_column,
)
from latecomer.operators.temporal.specification import Temporal
from latecomer.operators.ways import OneWay, Way
from latecomer.time import FOREVER, NEVER, Times

TOLD = "_lc_told"
"""Column of held rows: the id under which the begin of a row was emitted; -1 if it was not."""


Spec = TypeVar("Spec", bound=Temporal | Binary)


class Settler(Running, Generic[Spec]):
    """A running operator on lifetimes, with one input or two.

    Between calls, all edges that wait are at or after the watermark.
    """

    beyond = 1
    """Distance of the watermark past an edge before a step processes it, in microseconds."""

    def __init__(
        self, spec: Spec, inputs: Sequence[pa.Schema], chunks: Chunks, saved: bytes | None
    ) -> None:
        """Start with nothing held, or continue from `saved`.

        Args:
            spec: The specification.
            inputs: The schema of each input.
            chunks: The chunks for held rows.
            saved: What `save` returned; None at the beginning.
        """
        made = (
            spec.joined_schema(*inputs)
            if isinstance(spec, Binary)
            else spec.output_schema(inputs[0])
        )
        super().__init__(inputs[0], made)
        self._spec = spec
        self._inputs = [payload_schema(schema) for schema in inputs]
        self._payload = payload_schema(made)
        self._chunks = chunks
        self._since, self._next_id = NEVER, 0
        self._waiting = [[Edges.none(schema)] for schema in self._inputs]
        self._prepare()
        self._held = self._nothing_held()
        self._stored: dict[int, Edges] = {}
        if saved is not None:
            self._since, self._next_id, numbers = json.loads(saved)
            self._load(numbers)

    @property
    def held(self) -> int:
        waiting = sum(len(part) for side in self._waiting for part in side)
        return waiting + sum(map(len, self._held))

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Keep rows until the watermark has passed them."""
        self._waiting[side].append(Edges.of(rows))
        return self._emission()

    def advance(self, watermark: int) -> Emission:
        """Compute and emit the result before `watermark`."""
        since, self._since = self._since, max(self._since, watermark)
        return self.follow(OneWay(since, self._since))

    def follow(self, way: Way) -> Emission:
        """Compute and emit the result before the watermark, or before that of each key."""
        due = tuple(self._taken(side, way) for side in range(len(self._waiting)))
        if not (any(map(len, due)) or (way.lowest < way.highest and self._is_awake(way))):
            return self._emission()
        edges = self.step(due, way)
        return self._emission(self._written(edges) if len(edges) else None)

    def due(self) -> int | None:
        """Return the smallest watermark at which something is due."""
        firsts = (int(times.min(initial=FOREVER)) for _, times in self.dues())
        first = min(firsts, default=FOREVER)
        return None if first == FOREVER else first + self.beyond

    def last_due(self, slots: Positions) -> Times:
        """Return, for each slot, a watermark until which something of its key is surely held."""
        parts = [part for side in self._waiting for part in side]
        last = max(int(_slots(part).max(initial=-1)) for part in (*parts, *self._held))
        waiting, held = np.full((2, 1 + max(last, int(slots.max(initial=-1)))), NEVER)
        for part in parts:
            np.maximum.at(waiting, _slots(part), part.at + self.beyond)
        for part in self._held:
            np.maximum.at(held, _slots(part), later(self._surely_held(part), self.beyond))
        due: Times = np.where(waiting > NEVER, waiting, held)[slots]
        return due

    def _surely_held(self, rows: Edges) -> Times:
        """Return, for each held row, a time up to which it is held if no more edges come."""
        # Nothing happens to a held row before the first time that it is due.
        first: Times = np.minimum.reduce([times for edges, times in self.dues() if edges is rows])
        return first

    def forget(self) -> None:
        """Do nothing: of a key that is forgotten nothing is held."""

    def dues(self) -> Iterator[tuple[Edges, Times]]:
        """Yield what is held, and times that make it due when a watermark is `beyond` past them.

        Times that are `FOREVER` are never due.
        """
        for part in (part for side in self._waiting for part in side):
            yield part, part.at
        for held in self._held:
            yield held, held.other

    def save(self) -> bytes:
        """Write waiting and held rows to the chunks; return the numbers of these chunks."""
        self._waiting = [[Edges.joined(side)] for side in self._waiting]
        tables = enumerate((*(side[0] for side in self._waiting), *self._held))
        stored = {number: edges for number, edges in tables if len(edges)}
        for number, edges in stored.items():
            # Edges that have not changed are in their chunk already.
            if self._stored.get(number) is not edges:
                self._chunks.put(number, combined(edges.batch()))
        for number in self._stored.keys() - stored.keys():
            self._chunks.drop(number)
        self._stored = stored
        return json.dumps([self._since, self._next_id, list(stored)]).encode()

    @abstractmethod
    def step(self, due: tuple[Edges, ...], way: Way) -> Edges:
        """Return the result on the way of the watermarks, given the edges of each input on it."""

    def _prepare(self) -> None:
        """Set the attributes that a step needs, from the specification and the inputs."""

    def _nothing_held(self) -> list[Edges]:
        """Return the empty tables of held rows: as many as the operator needs."""
        return [untold(Edges.none(self._payload))]

    def settle(self, rows: Edges, ends: Times, known: Mask) -> Edges:
        """Return the edges of the result that have become certain, and hold the other rows.

        The arguments are those of `tell`.
        """
        told, self._held[0] = self.tell(rows, ends, known)
        return told

    def tell(self, rows: Edges, ends: Times, known: Mask) -> tuple[Edges, Edges]:
        """Return the edges of the result that have become certain, and the rows to hold.

        Args:
            rows: Rows of the result that have begun. The column `TOLD` has the id under which the
                begin of a row was emitted, or -1.
            ends: The end of each row, as far as is known.
            known: Whether the end of a row is final.

        Returns:
            The edges to emit, in order; and the rows whose end is not final, to be held.
        """
        ids = rows.payload.column(TOLD).to_numpy()
        before = ids != FINAL
        fresh = np.flatnonzero(~before & ~known)
        ids = ids.copy()
        ids[fresh] = self._next_id + np.arange(len(fresh))
        self._next_id += len(fresh)
        result = Edges(rows.at, ends, ids, rows.payload.drop_columns([TOLD]))
        held = replace(rows, payload=with_column(rows.payload, TOLD, ids))
        return told(result, known, before), held.where(~known)

    def _is_awake(self, way: Way) -> bool:
        """Return True if a held row is due, or if the stream has ended and rows are held."""
        if way.is_final:
            return any(map(len, self._held))
        more = 1 - self.beyond
        dues = ((times, way.now(edges.payload)) for edges, times in self.dues())
        return any(bool((times < until + more).any()) for times, until in dues)

    def _taken(self, side: int, way: Way) -> Edges:
        """Remove and return the waiting edges that are due."""
        waiting = Edges.joined(self._waiting[side])
        if way.is_final:
            self._waiting[side] = [Edges.none(self._inputs[side])]
            return waiting.in_order()
        until = way.now(waiting.payload)
        if not until.ndim and ascends(waiting.at):
            return self._first(side, waiting, int(until))
        is_due = waiting.at < until + (1 - self.beyond)
        self._waiting[side] = [waiting.where(~is_due)]
        return waiting.where(is_due).in_order()

    def _first(self, side: int, waiting: Edges, until: int) -> Edges:
        """Remove and return the edges that are due, from waiting edges in order."""
        passed = int(np.searchsorted(waiting.at, until + 1 - self.beyond))
        rest = waiting.slice(passed, len(waiting))
        if len(rest) < passed:
            # A slice of a few edges would keep the memory of all of them.
            rest = rest.take(np.arange(len(rest)))
        self._waiting[side] = [rest]
        return waiting.slice(0, passed)

    def _written(self, edges: Edges) -> Batch:
        """Return the result as rows."""
        return edges.batch()

    def _load(self, numbers: list[int]) -> None:
        sides = len(self._inputs)
        for number in numbers:
            edges = self._stored[number] = Edges.of(self._chunks.get(number))
            if number < sides:
                self._waiting[number] = [edges]
            else:
                self._held[number - sides] = edges


def untold(edges: Edges) -> Edges:
    """Return edges with the column `TOLD`, for rows whose begin has not been emitted."""
    nobody = np.full(len(edges), FINAL)
    return replace(edges, payload=with_column(edges.payload, TOLD, nobody))


def reached(times: Times, until: Times) -> Mask:
    """Mark the times before their watermark; when the stream has ended, all times."""
    return (times < until) | (until == FOREVER)


def _slots(edges: Edges) -> Positions:
    slots: Positions = edges.payload.column(SLOT).to_numpy()
    return slots
