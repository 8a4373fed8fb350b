"""Operators that look at one row at a time, and hold nothing."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from latecomer.operators.base import Chunks, Emission, Running
from latecomer.operators.temporal.specification import Temporal

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from latecomer.batch import Batch


class OfRows(Temporal):
    """An operator that is a function of rows; the specification."""

    __slots__ = ()

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Running:
        """Make the running operator."""
        return RowMapper(self.of_rows, schema, self.output_schema(schema))

    @abstractmethod
    def of_rows(self, rows: Batch) -> Batch:
        """Turn rows into what comes out for them."""


class RowMapper(Running):
    """A running operator that is a function of rows."""

    def __init__(
        self, function: Callable[[Batch], Batch], schema: pa.Schema, output: pa.Schema
    ) -> None:
        """Apply a function to rows of this schema."""
        self._function = function
        self._none_late = schema.empty_table()
        self._nothing = output.empty_table()

    @property
    def held(self) -> int:
        """Nothing is held."""
        return 0

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Hand rows on."""
        return Emission(self._function(rows), self._none_late)

    def advance(self, watermark: int) -> Emission:
        """There is nothing to release."""
        return Emission(self._nothing, self._none_late)
