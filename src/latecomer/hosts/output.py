"""The outputs of a stage: rows for one of the outputs of a stream, or a count."""

from dataclasses import dataclass

from latecomer.batch import Batch
from latecomer.clock.policy import ClockPolicy

READY, DROPPED = "ready", "dropped"
IN_TIME = "in_time_"
FOLDED = "folded"
"""Name of the count of rows that came after the last wait and corrected answers."""


@dataclass(frozen=True, slots=True)
class Output:
    """Rows for one of the outputs of a stream.

    For dropped rows, and for rows in time for a wait, there is a count but no batch.
    """

    name: str
    rows: int
    batch: Batch | None


def in_time(wait: int) -> str:
    """Return the name of the count of rows in time for a wait, but too late for the one before."""
    return f"{IN_TIME}{wait}"


def levels(clock: ClockPolicy) -> list[str]:
    """Return the names of the counts of rows in time for each wait, and up to a horizon if any.

    With a recall there are none: its reports have the counts.
    """
    is_counted = clock.waits and clock.horizon is not None
    return [*map(in_time, clock.waits), *([FOLDED] if is_counted else [])]
