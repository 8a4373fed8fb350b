"""What the specifications of temporal operators have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from latecomer.operators.base import Chunks, Running


class Temporal(ABC):
    """An operator on lifetimes; the specification. Most change no columns, and no progress."""

    __slots__ = ()

    @property
    def label(self) -> str:
        """What must not change during the life of a checkpoint."""
        return repr(self)

    @property
    def keyed(self) -> tuple[str, ...] | None:
        """The key of which all rows must be together; None if it does not matter."""
        return None

    @property
    def leads(self) -> int:
        """By how much `passes` is beyond what it is given, at most."""
        return 0

    def passes(self, watermark: int) -> int:
        """Tell how far the result is settled, given how far the rows are."""
        return watermark

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Say what comes out, given the rows that come in."""
        return schema

    @abstractmethod
    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Running:
        """Make the running operator."""
