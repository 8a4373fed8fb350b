"""What an operator is.

Two objects share the work. The *specification* (`Sort`) is a frozen dataclass: what is asked
for, small enough to be compared, printed and sent to a worker. The *running operator* (`Sorter`)
does it. It is driven by rows and watermarks, and knows neither Spark nor the wait:

    push(rows)          hold or use the rows, hand back what is ready and what is late
    advance(watermark)  the promise that nothing before `watermark` follows

State is kept in two parts. What is large goes into `Chunks`, numbered batches that a host keeps
wherever it likes (in memory, in RocksDB) and that an operator reads only when it must. What is
small, above all the index of the chunks, is what `save()` returns. An operator started with both
goes on as if it had never stopped.
"""

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from latecomer.batch import Batch


@dataclass(frozen=True, slots=True)
class Emission:
    """What one call to an operator hands back. No row is in both parts."""

    ready: Batch
    late: Batch
    in_time: tuple[int, ...] = ()
    """Of rows whose last word is now spoken: how many came in time for each of several waits, and
    too late for the one before."""


class Chunks(Protocol):
    """Numbered batches, kept by the host."""

    def get(self, number: int) -> Batch:
        """Read the chunk with this number."""

    def put(self, number: int, rows: Batch) -> None:
        """Write a chunk, over an older one of the same number."""

    def drop(self, number: int) -> None:
        """Forget a chunk."""


class Operator(Protocol):
    """The specification of one step on ordered time."""

    @property
    def label(self) -> str:
        """What must not change during the life of a checkpoint, in words."""

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Say what the ready rows look like, given the rows that come in."""

    def passes(self, watermark: int) -> int:
        """Tell up to where what comes out is complete, given up to where what comes in is."""

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None) -> "Running":
        """Make the running operator, from nothing or from what `save` returned."""


class Running(Protocol):
    """A running operator."""

    @property
    def held(self) -> int:
        """How many rows, or states of rows, are held."""

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Take in rows, in the order in which they arrived.

        Args:
            rows: The rows.
            side: Of two streams that meet here, which one the rows are of.
        """

    def advance(self, watermark: int) -> Emission:
        """Take note that nothing before `watermark` will follow."""

    def stops(self, watermark: int) -> list[int]:
        """Split the way to `watermark` so that no single `advance` releases too much at once.

        The last stop is `watermark` itself. Advancing by stops gives the same rows as advancing
        in one go; it bounds the memory that a long way takes.
        """

    def due(self) -> int | None:
        """Tell the smallest watermark at which there will be something to do, if any."""

    def save(self) -> bytes:
        """Write down all that is not in the chunks."""
