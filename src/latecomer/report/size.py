"""Plan the size of a query: cores, state, memory and shuffle, from its rate and its wait.

    rate × micro-batch      rows of a micro-batch
    rate × wait             rows that a sort holds
    keys × open windows     states that windows hold, however many rows there are

The coefficients below are measured, and `tests/report/test_size.py` compares them with the saved
results: bytes and memory by `benchmarks.size`, rows per second and core by `benchmarks.spark_sort`
and `benchmarks.waits`. They were measured on one machine with two cores. The plan is a first
estimate; the first hour of your own query gives better numbers.
"""

from dataclasses import dataclass
from math import ceil, log10
from typing import Literal

from latecomer.errors import OptionError
from latecomer.time import SECOND

Late = Literal["divert", "drop"]

SORTED_PER_CORE = 170_000
COUNTED_PER_CORE: dict[Late, int] = {"drop": 257_000, "divert": 216_000}
"""Rows per second that one core sorts, or counts by window and key with three waits."""
BUSY = 0.6
"""Share of the time that a query should be busy, so that it can catch up after a pause."""
SHUFFLED_STATE, HELD_STATE = 37, 15
"""Bytes of the state of a count and a sum for one window and key."""
PROCESS_BYTES = 250_000_000
PER_ROW_BYTE = 2.5
"""Memory of a Python process: the minimum, and bytes per byte of rows in its micro-batch."""


@dataclass(frozen=True, slots=True)
class Size:
    """The resources that a query needs. Bytes are for rows that compress badly."""

    rate: float
    batch_rows: int
    """Rows of a micro-batch."""
    cores: int
    held: int
    """Number of rows held, or of states of windows."""
    is_states: bool
    state_bytes: int
    """Size of the state in the checkpoint, over all buckets."""
    shuffle_bytes: int
    """Bytes through the shuffle in a micro-batch."""
    memory_bytes: int
    """Memory of the Python processes, over all cores; the JVM comes on top."""

    def __str__(self) -> str:
        what = "states of windows" if self.is_states else "rows"
        return "\n".join(
            [
                f"{self.batch_rows:>14,}  rows in a micro-batch",
                f"{self.cores:>14,}  cores, each busy {100 * BUSY:.0f} % of the time",
                f"{self.held:>14,}  {what} held at most",
                f"{amount(self.state_bytes):>14}  of state in the checkpoint",
                f"{amount(self.shuffle_bytes):>14}  through the shuffle in a micro-batch",
                f"{amount(self.memory_bytes):>14}  for Python processes, besides the JVM",
            ]
        )


def plan_size(  # noqa: PLR0913 - each argument is one thing that is known about the query
    *,
    rate: float,
    wait: int,
    row_bytes: int = 100,
    window: int | None = None,
    hop: int | None = None,
    keys: int = 1_000,
    batch: int = 10 * SECOND,
    late: Late = "divert",
) -> Size:
    """Plan the size of a query.

    Args:
        rate: Rows per second.
        wait: The longest wait, in microseconds. The number of waits does not matter: they share
            one state.
        row_bytes: Size of a row in Arrow: 8 for a number or a time, 4 more than its length for
            a string. Only the columns that the query keeps count.
        window: The length of windows, in microseconds. Without windows, rows are sorted.
        hop: Distance between the starts of windows, in microseconds; by default their length.
        keys: Number of different keys that have rows in a window.
        batch: The length of a micro-batch, in microseconds.
        late: Whether late rows are kept, or dropped and counted.

    Raises:
        OptionError: A number is not positive.
    """
    for name, value in {"rate": rate, "row_bytes": row_bytes, "keys": keys, "batch": batch}.items():
        if value <= 0:
            raise OptionError(f"{name} must be more than 0; got {value}.")
    rows = ceil(rate * batch / SECOND)
    per_core = SORTED_PER_CORE if window is None else COUNTED_PER_CORE[late]
    cores = max(1, ceil(rate / per_core / BUSY))
    if window is None:
        held = ceil(rate * wait / SECOND)
        state, shuffle = held * row_bytes, rows * row_bytes
    else:
        step = hop or window
        # Rows are aggregated in panes as long as the hop, and windows are combined from panes.
        open_panes = ceil((window + wait + batch) / step)
        held = min(open_panes * keys, ceil(rate * (window + wait) / SECOND))
        # Each core aggregates its own rows, and sends its own states.
        sent = min(rows, (ceil(batch / step) + 1) * keys * cores)
        state = held * HELD_STATE
        shuffle = sent * SHUFFLED_STATE + (rows * row_bytes if late == "divert" else 0)
    memory = ceil(cores * PROCESS_BYTES + PER_ROW_BYTE * rows * row_bytes)
    return Size(rate, rows, cores, held, window is not None, state, shuffle, memory)


def amount(number: float) -> str:
    """Return a number of bytes in the largest fitting unit, with three digits."""
    units = ("B", "kB", "MB", "GB", "TB")
    power = min(int(log10(max(number, 1)) / 3), len(units) - 1)
    return f"{number / 10 ** (3 * power):.3g} {units[power]}"
