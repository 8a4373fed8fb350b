"""Two streams as one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, retyped, typed_names
from latecomer.errors import ColumnTypeError
from latecomer.operators.base import Chunks, Emission, Responder
from latecomer.operators.temporal.binary import Binary, On
from latecomer.operators.temporal.edges import FINAL, Edges, payload_schema


@dataclass(frozen=True, slots=True)
class Union(Binary):
    """All rows of both streams."""

    on: On = On()  # noqa: RUF009 - it cannot change

    @property
    def keyed(self) -> None:
        """No key: rows can be in any bucket."""

    def describe(self, schema: pa.Schema) -> str:
        return "union with the stream below; nothing is held"

    def joined_schema(self, left: pa.Schema, right: pa.Schema) -> pa.Schema:
        """Return the columns of both streams, which must be the same.

        Raises:
            ColumnTypeError: The streams have different columns.
        """
        if {(f.name, f.type) for f in left} != {(f.name, f.type) for f in right}:
            ours, theirs = (typed_names(payload_schema(each)) for each in (left, right))
            raise ColumnTypeError(
                f"a union needs the same columns on both sides; got {ours} and {theirs}.\n"
                "Hint: select and cast them before the sort."
            )
        return pa.schema(
            [
                field.with_nullable(field.nullable or right.field(field.name).nullable)
                for field in left
            ]
        )

    def meet(
        self, left: pa.Schema, right: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> Uniter:
        joined = self.joined_schema(left, right)
        return Uniter(joined, joined)


class Uniter(Responder):
    """A running `Union`. Rows pass through; only their ids change, so that they do not collide."""

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Emit rows at once: the left stream gets even ids, and the right one odd ids."""
        edges = Edges.of(retyped(rows, self._out))
        ids = np.where(edges.id == FINAL, FINAL, 2 * edges.id + side)
        return self._emission(Edges(edges.at, edges.other, ids, edges.payload).batch())
