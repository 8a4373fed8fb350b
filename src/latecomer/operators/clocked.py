"""What an operator is that serves all keys of a bucket, each with a clock of its own.

`Operator.start_clocked` makes the first of a chain, `Operator.start_behind_clocks` those behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from latecomer.batch import Batch, Mask, Positions
    from latecomer.operators.base import Emission
    from latecomer.operators.ways import KeyWays
    from latecomer.time import Times


class RunningClocked(Protocol):
    """A running operator for all keys of a bucket, each with a watermark of its own.

    The column `SLOT` of a row identifies its key.
    """

    @property
    def held(self) -> int:
        """Number of rows, or states of rows, that are held."""

    def is_late(self, rows: Batch, watermarks: Times) -> Mask:
        """Mark the rows that are late, given the watermark of each."""

    def push(self, rows: Batch, way: KeyWays, is_late: Mask | None = None) -> None:
        """Take in rows, except those that are late. `way` is that of the last `advance`."""

    def advance(self, way: KeyWays) -> Emission:
        """Move all watermarks, and release what they pass."""

    def last_due(self, times: Times) -> Times:
        """Return, for each time, the watermark at which nothing of a row of that time is held."""

    def save(self) -> bytes:
        """Return all state that is not in the chunks."""


class ClockFollower(Protocol):
    """A running operator behind a `RunningClocked`, for all keys.

    The rows of each key come in order, with the column `SLOT`, and go out with it.
    """

    @property
    def held(self) -> int:
        """Number of rows, or states of rows, that are held."""

    def push(self, rows: Batch) -> Emission:
        """Take in rows, and release all that they cause to come out."""

    def follow(self, way: KeyWays) -> Emission:
        """Move all watermarks, release what they pass, and remove what is no longer needed."""

    def last_due(self, slots: Positions) -> Times:
        """Return, for each slot, a watermark until which something of its key is surely held.

        If no more rows come, that is. It is not after the watermark of a key of which nothing is
        held.
        """

    def forget(self) -> None:
        """Forget what is known of keys of which nothing is held; some of them were forgotten."""

    def save(self) -> bytes:
        """Return all state that is not in the chunks."""
