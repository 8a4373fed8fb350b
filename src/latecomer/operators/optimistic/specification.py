"""What the specifications of optimistic steps have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from latecomer.operators.base import Chunks, Running


class Optimistic(ABC):
    """A step on items and tombstones; the specification."""

    __slots__ = ()

    @property
    @abstractmethod
    def label(self) -> str:
        """What must not change during the life of a checkpoint."""

    @property
    def keyed(self) -> tuple[str, ...] | None:
        """The key of which all items must be together; None if it does not matter."""
        return None

    @property
    def keeps_columns(self) -> bool:
        """Whether columns of the key behind the step say what they said before it."""
        return True

    def passes(self, watermark: int) -> int:
        """All that a watermark makes final is final behind the step, too."""
        return watermark

    @abstractmethod
    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Say what comes out, given the items that come in."""

    @abstractmethod
    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Running:
        """Make the running operator."""
