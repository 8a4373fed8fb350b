"""What the temporal operators have in common.

All edges of an instant are looked at together, because nothing says in which order they come. So
what is pushed *waits* until the watermark has passed it, or, where an operator can look at some
edges of an instant before the others (`beyond`), has reached it. One step then settles what is true
in `[since, until)`, the instants between two watermarks:

    held            what a later step still needs: rows that have not ended, and the like
    due             the edges in `[since, until)`, in order
    given back      all edges of the result before `until`

An edge of the result may also be given back ahead of time, if it is certain: it waits at the next
operator. So none has to come in order but those that are due.
"""

import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, combined
from latecomer.operators.base import Chunks, Emission, Running
from latecomer.operators.temporal.binary import Binary
from latecomer.operators.temporal.edges import (
    FINAL,
    Edges,
    ascends,
    payload_schema,
    told,
    with_column,
)
from latecomer.operators.temporal.specification import Temporal
from latecomer.time import FOREVER, NEVER, Times

TOLD = "_lc_told"
"""In what is held: the id under which a row of the result was told to begin; -1 if it was not."""


Spec = TypeVar("Spec", bound=Temporal | Binary)


class Settler(Running, Generic[Spec]):
    """A running operator on lifetimes, with one input or two.

    Between calls, whatever waits is at or after the watermark.
    """

    beyond = 1
    """How many microseconds the watermark must be past an edge before a step looks at it."""

    def __init__(
        self, spec: Spec, inputs: Sequence[pa.Schema], chunks: Chunks, saved: bytes | None
    ) -> None:
        """Begin with nothing held, or where `saved` left off.

        Args:
            spec: What is asked for.
            inputs: The columns of the rows of each input.
            chunks: Where to keep what is held.
            saved: What `save` returned.
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
        """Let rows wait until the watermark has passed them."""
        self._waiting[side].append(Edges.of(rows))
        return self._emission()

    def advance(self, watermark: int) -> Emission:
        """Settle what is true before `watermark`."""
        since, self._since = self._since, max(self._since, watermark)
        due = tuple(self._taken(side) for side in range(len(self._waiting)))
        if not (any(map(len, due)) or (since < self._since and self._is_awake())):
            return self._emission()
        edges = self.step(due, since, self._since)
        return self._emission(self._written(edges) if len(edges) else None)

    def due(self) -> int | None:
        """The smallest watermark at which something that is known has passed."""
        due = None
        for part in (part for side in self._waiting for part in side):
            due = sooner(due, part.at, self.beyond)
        for held in self._held:
            due = sooner(due, held.other, self.beyond)
        return due

    def save(self) -> bytes:
        """Write what is held to the chunks, and down where they are."""
        self._waiting = [[Edges.joined(side)] for side in self._waiting]
        tables = enumerate((*(side[0] for side in self._waiting), *self._held))
        stored = {number: edges for number, edges in tables if len(edges)}
        for number, edges in stored.items():
            # What has not changed is written already.
            if self._stored.get(number) is not edges:
                self._chunks.put(number, combined(edges.batch()))
        for number in self._stored.keys() - stored.keys():
            self._chunks.drop(number)
        self._stored = stored
        return json.dumps([self._since, self._next_id, list(stored)]).encode()

    @abstractmethod
    def step(self, due: tuple[Edges, ...], since: int, until: int) -> Edges:
        """Settle what is true in `[since, until)`, given the edges of each input in it."""

    def _prepare(self) -> None:
        """Derive from the specification and the inputs what a step needs."""

    def _nothing_held(self) -> list[Edges]:
        """Make what is held at the beginning: as many parts as the operator needs."""
        return [untold(Edges.none(self._payload))]

    def settle(self, rows: Edges, ends: Times, known: Mask) -> Edges:
        """Emit what has become certain of some rows of the result, and hold the others.

        The arguments are those of `tell`.
        """
        told, self._held[0] = self.tell(rows, ends, known)
        return told

    def tell(self, rows: Edges, ends: Times, known: Mask) -> tuple[Edges, Edges]:
        """Write what has become certain of some rows of the result.

        Args:
            rows: All that have begun; in the column `TOLD` the id under which that was told, or -1.
            ends: When they end, as far as is known.
            known: Whether nothing can change that any more.

        Returns:
            What is told, in order; and the rows that are still to end, to be held.
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

    def _is_awake(self) -> bool:
        """Return True if something held has come to pass, or never will."""
        if self._since == FOREVER:
            return any(map(len, self._held))
        due = self.due()
        return due is not None and due <= self._since

    def _taken(self, side: int) -> Edges:
        """Take what the watermark has passed, or reached."""
        waiting = Edges.joined(self._waiting[side])
        if self._since == FOREVER:
            self._waiting[side] = [Edges.none(self._inputs[side])]
            return waiting.in_order()
        if ascends(waiting.at):
            return self._first(side, waiting)
        is_due = waiting.at + self.beyond <= self._since
        self._waiting[side] = [waiting.where(~is_due)]
        return waiting.where(is_due).in_order()

    def _first(self, side: int, waiting: Edges) -> Edges:
        """Take what the watermark has passed, or reached, of edges that are in order."""
        passed = int(np.searchsorted(waiting.at, self._since + 1 - self.beyond))
        rest = waiting.slice(passed, len(waiting))
        if len(rest) < passed:
            # The few that are left would hold on to the memory of all.
            rest = rest.take(np.arange(len(rest)))
        self._waiting[side] = [rest]
        return waiting.slice(0, passed)

    def _written(self, edges: Edges) -> Batch:
        """Write the result as rows."""
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
    """Add the column that says under which id rows were told to begin: none of these was."""
    nobody = np.full(len(edges), FINAL)
    return replace(edges, payload=with_column(edges.payload, TOLD, nobody))


def reached(times: Times, until: int) -> Mask:
    """Mark the times that are before a watermark; at the end, also those that never come."""
    return np.ones(len(times), np.bool_) if until == FOREVER else times < until


def sooner(due: int | None, times: Times, beyond: int = 1) -> int | None:
    """Return the watermark that is `beyond` past the first of some times, if it is before `due`."""
    first = int(times.min(initial=FOREVER))
    if first == FOREVER:
        return due
    return first + beyond if due is None else min(due, first + beyond)
