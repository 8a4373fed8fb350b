"""What a stage puts out: rows for one of the outputs of a stream, or a count."""

from dataclasses import dataclass

from latecomer.batch import Batch
from latecomer.clock.policy import ClockPolicy

READY, DROPPED = "ready", "dropped"
IN_TIME = "in_time_"
FOLDED = "folded"
"""The count of rows that came after the last wait, and corrected answers."""


@dataclass(frozen=True, slots=True)
class Output:
    """Rows for one of the outputs of a stream.

    Dropped rows, and rows in time for a wait, are counted, not carried.
    """

    name: str
    rows: int
    batch: Batch | None


def in_time(wait: int) -> str:
    """Name the count of rows that were in time for a wait, and too late for the one before."""
    return f"{IN_TIME}{wait}"


def levels(clock: ClockPolicy) -> list[str]:
    """Name the counts of rows in time for each wait, and of those that came up to a horizon.

    With a recall there are none: its reports count.
    """
    is_counted = clock.waits and clock.horizon is not None
    return [*map(in_time, clock.waits), *([FOLDED] if is_counted else [])]
