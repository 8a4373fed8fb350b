"""What a stage puts out: rows for one of the outputs of a stream, or a count."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch
from latecomer.clock.policy import ClockPolicy
from latecomer.operators.levels import WAIT

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


def with_wait_text(output: Output, clock: ClockPolicy) -> Output:
    """Name the waits of ready rows as the user wrote them."""
    if output.name != READY or output.batch is None:
        return output
    at = output.batch.schema.get_all_field_indices(WAIT)[-1]
    levels = np.searchsorted(clock.waits, output.batch.column(at).cast(pa.int64()).to_numpy())
    texts = pa.array(clock.wait_texts, pa.string()).take(pa.array(levels))
    return replace(output, batch=output.batch.set_column(at, WAIT, texts))


def in_time(wait: int) -> str:
    """Name the count of rows that were in time for a wait, and too late for the one before."""
    return f"{IN_TIME}{wait}"
