"""What operators with two inputs have in common: which rows belong together."""

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
    """The columns in which rows of two streams must be equal; none: all rows belong together."""

    fixed = ("left", "right")

    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Write it as the end of a phrase; nothing if all rows belong together."""
        pairs = (f"{ours} = {theirs}" for ours, theirs in zip(self.left, self.right, strict=True))
        return f" on {', '.join(pairs)}" if self.left else ""


@dataclass(frozen=True, slots=True)
class Binary(Labelled, ABC):
    """An operator on two streams; the specification."""

    on: On

    @property
    def keyed(self) -> tuple[str, ...] | None:
        """The key of the left stream of which all rows must be together; None if none must."""
        return self.on.left

    @property
    def everywhere(self) -> bool:
        """Whether all rows of the right stream must be at hand in all buckets."""
        return False

    def passes(self, watermark: int) -> int:
        """Return up to where the output is complete, given up to where both inputs are."""
        return watermark

    def describe(self, schema: pa.Schema) -> str:
        """Return one line: what runs, which way was chosen and why, and what is held.

        Args:
            schema: The columns of the rows of the left stream.
        """
        return self.label

    @abstractmethod
    def joined_schema(self, left: pa.Schema, right: pa.Schema) -> pa.Schema:
        """Return what comes out, given the rows of both inputs."""

    @abstractmethod
    def meet(
        self, left: pa.Schema, right: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> Running:
        """Make the running operator."""


def codes_of(
    parts: Sequence[tuple[Edges, tuple[str, ...]]], *, nulls: bool = True
) -> tuple[list[Positions], int]:
    """Number the keys of several tables alike, and tell how many numbers there are.

    Args:
        parts: Tables, and which of their columns are the key.
        nulls: Whether nulls are equal to each other. Otherwise a row with one has the number -1.
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
