"""What a stage puts out: rows for one of the outputs of a stream, or a count."""

from dataclasses import dataclass

from latecomer.batch import Batch

READY, DROPPED = "ready", "dropped"
IN_TIME = "in_time_"


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
