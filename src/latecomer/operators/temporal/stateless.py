"""Operators that process each row by itself, and hold nothing."""

from abc import abstractmethod
from collections.abc import Callable

import pyarrow as pa

from latecomer.batch import Batch
from latecomer.operators.base import Chunks, Emission, Responder, Running
from latecomer.operators.temporal.specification import Temporal


class OfRows(Temporal):
    """The specification of an operator that is a function of rows."""

    __slots__ = ()

    @property
    def is_by_row(self) -> bool:
        return True

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Running:
        return RowMapper(self.of_rows, schema, self.output_schema(schema))

    @abstractmethod
    def of_rows(self, rows: Batch) -> Batch:
        """Return the output for some rows."""


class RowMapper(Responder):
    """A running operator that is a function of rows."""

    def __init__(
        self, function: Callable[[Batch], Batch], schema: pa.Schema, output: pa.Schema
    ) -> None:
        super().__init__(schema, output)
        self._function = function

    def push(self, rows: Batch, side: int = 0) -> Emission:
        return self._emission(self._function(rows))
