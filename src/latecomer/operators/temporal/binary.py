"""The base of operators with two inputs: which rows of the two belong together."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Positions
from latecomer.labels import Labelled
from latecomer.operators.aggregates.slices import dense_codes
from latecomer.operators.base import Chunks, Running
from latecomer.operators.temporal.edges import Edges


@dataclass(frozen=True, slots=True)
class On(Labelled):
    """Columns in which rows of two streams must be equal. Without any, all rows belong together."""

    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the columns as the end of a phrase; "" if all rows belong together."""
        pairs = (f"{ours} = {theirs}" for ours, theirs in zip(self.left, self.right, strict=True))
        return f" on {', '.join(pairs)}" if self.left else ""


@dataclass(frozen=True, slots=True)
class Binary(Labelled, ABC):
    """The specification of an operator on two streams."""

    on: On

    @property
    def keyed(self) -> tuple[str, ...] | None:
        """Columns of the left stream whose equal rows must be in one bucket; None: any bucket."""
        return self.on.left

    @property
    def everywhere(self) -> bool:
        """Whether every bucket must have all rows of the right stream."""
        return False

    def passes(self, watermark: int) -> int:
        """Return the time up to which the output is complete, given that of both inputs."""
        return watermark

    def describe(self, schema: pa.Schema) -> str:
        """Return one line: what runs, which way was chosen and why, and what is held.

        Args:
            schema: The schema of the left stream.
        """
        return self.label

    @abstractmethod
    def joined_schema(self, left: pa.Schema, right: pa.Schema) -> pa.Schema:
        """Return the schema of the output, given those of both inputs."""

    @abstractmethod
    def meet(
        self, left: pa.Schema, right: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> Running:
        """Return the running operator."""


def codes_of(
    parts: Sequence[tuple[Edges, tuple[str, ...]]], *, nulls: bool = True
) -> tuple[list[Positions], int]:
    """Return the numbers of the keys of several tables, and the size of their range.

    Equal keys have the same number in all tables.

    Args:
        parts: The tables, and the columns of the key in each.
        nulls: Whether nulls are equal to each other. If not, a row with a null has the number -1.
    """
    lengths = [len(edges) for edges, _ in parts]
    columns = [
        pa.chunked_array(
            [
                chunk
                for (edges, _), name in zip(parts, names, strict=True)
                for chunk in edges.payload.column(name).chunks
            ],
            parts[0][0].payload.column(names[0]).type,
        )
        for names in zip(*(names for _, names in parts), strict=True)
    ]
    codes, count = dense_codes(columns, sum(lengths))
    if not nulls:
        for column in columns:
            if column.null_count:
                codes = np.where(np.asarray(column.is_null()), -1, codes)
    return np.split(codes, np.cumsum(lengths)[:-1]), count
