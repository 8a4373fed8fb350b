"""Cut lifetimes short: at a limit, at the next row of the key, or at a row of another stream.

    clip(limit)       ├────────┤   limit 3     ├──┤
    until_next(key)   ├ a ───────              ├ a ─┤
                          ├ b ────                  ├ b ───
    clip(other)       left ├────────┤  right    ├──   gives  left ├────┤

A row is cut only by one that begins strictly after it. Rows that begin together do not cut each
other.

Paper: Chandramouli et al.: Trill (VLDB 2014), Section 6 (ClipEventDuration).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Positions
from latecomer.kernels.order import stable_order
from latecomer.operators.aggregates.summary import slotted
from latecomer.operators.base import Chunks, by
from latecomer.operators.temporal.base import Settler, reached, untold
from latecomer.operators.temporal.binary import Binary, codes_of
from latecomer.operators.temporal.edges import Edges, ascends, settled
from latecomer.operators.temporal.specification import Temporal
from latecomer.operators.ways import Way
from latecomer.time import Times, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Clip(Temporal):
    """Cut lifetimes that are longer than a limit."""

    limit: int

    def describe(self, schema: pa.Schema) -> str:
        return (
            f"cut lifetimes at {format_duration(self.limit)}; rows that may still be cut are held"
        )

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Clipper:
        return Clipper(self, [schema], chunks, saved)


@dataclass(frozen=True, slots=True)
class UntilNext(Temporal):
    """Let each row count until the next row of its key begins."""

    keyed: tuple[str, ...] = ()

    def describe(self, schema: pa.Schema) -> str:
        return f"let each row count until the next{by(self.keyed)}; the last of each key is held"

    def with_slot(self, columns: tuple[str, ...]) -> UntilNext:
        return replace(self, keyed=slotted(self.keyed, columns))

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> NextClipper:
        return NextClipper(self, [schema], chunks, saved)


@dataclass(frozen=True, slots=True)
class ClipBy(Binary):
    """Let each row count until a row of the same key begins in another stream."""

    def describe(self, schema: pa.Schema) -> str:
        return (
            f"cut lifetimes{self.on} where a row of the stream below begins; rows that may still "
            "be cut are held"
        )

    def joined_schema(self, left: pa.Schema, right: pa.Schema) -> pa.Schema:
        """Return the schema of the left stream, whose rows are cut."""
        return left

    def meet(
        self, left: pa.Schema, right: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> StreamClipper:
        return StreamClipper(self, [left, right], chunks, saved)


class Clipper(Settler[Clip]):
    """A running `Clip`. It holds rows whose begin was emitted and that may still be cut."""

    def step(self, due: tuple[Edges, ...], way: Way) -> Edges:
        """Cut rows at the limit. Only open rows have to be held until then."""
        rows = settled(self._held[0], untold(due[0]))
        ends = np.minimum(rows.other, rows.at + self._spec.limit)
        return self.settle(rows, ends, ~rows.is_open | reached(ends, way.now(rows.payload)))

    def dues(self) -> Iterator[tuple[Edges, Times]]:
        """Yield also the times at which held rows are cut."""
        yield from super().dues()
        yield self._held[0], self._held[0].at + self._spec.limit


class NextClipper(Settler[UntilNext]):
    """A running `UntilNext`. It holds the same rows as a `Clipper`."""

    def step(self, due: tuple[Edges, ...], way: Way) -> Edges:
        """Cut each row where the next one of its key begins."""
        rows = settled(self._held[0], untold(due[0]))
        codes, count = codes_of([(rows, self._spec.keyed)])
        ends = np.minimum(rows.other, next_begins([*codes, *codes], count, rows, rows))
        return self.settle(rows, ends, reached(ends, way.now(rows.payload)))


class StreamClipper(Settler[ClipBy]):
    """A running `ClipBy`. It holds the same rows as a `Clipper`."""

    def step(self, due: tuple[Edges, ...], way: Way) -> Edges:
        """Cut rows where a row of the other stream begins. The end of that row does not matter."""
        rows = settled(self._held[0], untold(due[0]))
        cutters = due[1].where(~due[1].is_end)
        on = self._spec.on
        parts = [(rows, on.left), (cutters, on.right)]
        codes, count = codes_of(parts, nulls=False)
        ends = np.minimum(rows.other, next_begins(codes, count, rows, cutters))
        return self.settle(rows, ends, reached(ends, way.now(rows.payload)))


def next_begins(codes: list[Positions], count: int, rows: Edges, cutters: Edges) -> Times:
    """Return, for each row, the first begin after its own among the cutters of its code."""
    from latecomer.kernels.cuts import first_after

    if ascends(rows.at):
        return first_after(codes[0], rows.at, codes[1], cutters.at, count)
    order, cuts = stable_order(rows.at), stable_order(cutters.at)
    found = np.empty(len(rows), np.int64)
    found[order] = first_after(
        codes[0][order], rows.at[order], codes[1][cuts], cutters.at[cuts], count
    )
    return found
