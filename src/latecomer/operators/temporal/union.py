"""Two streams as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.errors import ColumnTypeError
from latecomer.operators.base import Chunks, Emission, Running
from latecomer.operators.temporal.binary import Binary, On
from latecomer.operators.temporal.edges import FINAL, Edges, payload_schema

if TYPE_CHECKING:
    from latecomer.batch import Batch


@dataclass(frozen=True, slots=True)
class Union(Binary):
    """All rows of both streams."""

    on: On = On()  # noqa: RUF009 - it cannot change

    @property
    def keyed(self) -> None:
        """Rows need not be together."""

    def describe(self, schema: pa.Schema) -> str:
        """Say what is held."""
        return "union with the stream below; nothing is held"

    def joined_schema(self, left: pa.Schema, right: pa.Schema) -> pa.Schema:
        """The columns that both have.

        Raises:
            ColumnTypeError: They have different columns.
        """
        if {(f.name, f.type) for f in left} != {(f.name, f.type) for f in right}:
            message = (
                f"a union needs the same columns on both sides; got {_named(left)} and "
                f"{_named(right)}.\nHint: select and cast them before the sort."
            )
            raise ColumnTypeError(message)
        return pa.schema(
            [
                field.with_nullable(field.nullable or right.field(field.name).nullable)
                for field in left
            ]
        )

    def meet(
        self, left: pa.Schema, right: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> Uniter:
        """Make the running operator."""
        return Uniter(self.joined_schema(left, right))


class Uniter(Running):
    """A running `Union`. Rows go through; only their ids must not meet."""

    def __init__(self, schema: pa.Schema) -> None:
        """Hand on rows of this schema."""
        self._schema = schema
        self._nothing = schema.empty_table()

    @property
    def held(self) -> int:
        """Nothing is held."""
        return 0

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Hand rows on, with odd and even ids."""
        edges = Edges.of(rows.select(self._schema.names).cast(self._schema))
        ids = np.where(edges.id == FINAL, FINAL, 2 * edges.id + side)
        return Emission(Edges(edges.at, edges.other, ids, edges.payload).batch(), self._nothing)

    def advance(self, watermark: int) -> Emission:
        """There is nothing to release."""
        return Emission(self._nothing, self._nothing)


def _named(schema: pa.Schema) -> str:
    return ", ".join(f'"{field.name}" {field.type}' for field in payload_schema(schema))
