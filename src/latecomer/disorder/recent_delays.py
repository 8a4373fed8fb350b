"""The delays of a stream in its recent past, micro-batch by micro-batch: what a wait is chosen by.

As for the window joins (`joins.delay_history`), ADWIN decides how far back the past still resembles
the present. Three things differ, because of micro-batches and because nobody is asked for a scale:

**Steps grow with the delay.** Delays are counted in steps of a tick of the clock, a millisecond, up
to 128 of them, and from there on in steps of a 64th of the delay; they are rounded up. So seconds
and weeks can be told apart with the same few thousand steps, and a wait is never too short.

    delay    0    1 ms   127 ms   128 ms   …   256 ms   260 ms   …   1 hour
    step     0    1      127      128          192      193          1070

**Order inside a micro-batch means nothing.** Spark may read its rows in any order; ours come sorted
by time. ADWIN would take that for a change of the delays. So they are sorted and dealt out evenly:
each part of what ADWIN sees of a micro-batch is like the whole, and the same whatever order its
rows had.

**What is remembered is small**, because it is written down with every micro-batch: no more than
`most` rows. Of a larger micro-batch as many are picked, evenly by their delay, the longest too.

Holds: the same micro-batches give the same history, wherever it was saved and restored.
"""

from __future__ import annotations

import json
from math import gcd
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import decode, encode
from latecomer.disorder.watermark import TICK
from latecomer.kernels.adwin import adwin, adwin_state
from latecomer.time import FOREVER

if TYPE_CHECKING:
    from latecomer.batch import Positions
    from latecomer.time import Times

DELTA = 0.002
"""How often ADWIN may cut where nothing has changed; the usual value."""
_FINEST, _PER_DOUBLING = 7, 64
"""Up to 2^7 ticks each is a step; then there are so many steps from a delay to its double."""
_GOLDEN = 0.6180339887498949


class RecentDelays:
    """What is remembered: the delay of each row, in steps, and how many levels have missed it."""

    def __init__(self, most: int, saved: bytes | None = None) -> None:
        """Begin with nothing, or where `saved` left off; remember so many rows at the most."""
        self._most = most
        self._steps, self._missed = np.empty(0, np.int16), np.empty(0, np.int8)
        self._window = adwin_state()
        self._reach = 1.0
        self.known = 0
        """How many delays were ever known."""
        self.longest = 0
        """The longest ever, in microseconds, rounded up."""
        if saved is not None:
            self._load(saved)

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, delays: Times, missed: Positions) -> None:
        """Remember the rows of a micro-batch, in any order.

        Args:
            delays: How long one would have had to wait for each, in microseconds.
            missed: How many levels have not waited that long; it grows with the delay.
        """
        if not len(delays):
            return
        self.known += len(delays)
        order = np.argsort(delays, kind="stable")
        order = order[_dealt(_picked(len(order), self._most))]
        steps = steps_of(delays[order])
        self.longest = max(self.longest, delay_of(int(steps.max())))
        self._reach = max(self._reach, float(steps.max()))
        widths = adwin(steps.astype(np.float64), self._window, DELTA, self._reach)
        keep = min(int(widths[-1]), self._most)
        self._steps = np.concatenate([self._steps, steps.astype(np.int16)])[-keep:]
        self._missed = np.concatenate([self._missed, missed[order].astype(np.int8)])[-keep:]

    def beyond(self, wait: int) -> int:
        """Count the remembered rows for which a wait, in microseconds, would be too short."""
        return int(np.count_nonzero(self._steps > int(steps_of(np.array([wait]))[0])))

    def wait_missing(self, rows: int) -> int:
        """Find the smallest wait that misses no more than so many of the remembered rows."""
        counts = np.bincount(self._steps, minlength=1)
        enough = len(self) - np.cumsum(counts) <= rows
        return delay_of(int(np.argmax(enough)))

    def missed_by(self, level: int) -> int:
        """Count the remembered rows that a level has really missed."""
        return int(np.count_nonzero(self._missed > level))

    def save(self) -> bytes:
        """Write down all of it."""
        totals, variances, counts, window = self._window
        numbers = np.concatenate([totals.ravel(), variances.ravel(), counts, window])
        told = [self._reach, self.known, self.longest]
        table = pa.table({"step": self._steps, "missed": self._missed})
        metadata = {b"told": json.dumps(told).encode(), b"adwin": _lossless(numbers)}
        return encode(table.replace_schema_metadata(metadata), "lz4")

    def _load(self, saved: bytes) -> None:
        table = decode(saved)
        metadata = table.schema.metadata
        self._reach, self.known, self.longest = json.loads(metadata[b"told"])
        self._steps = table.column("step").to_numpy()
        self._missed = table.column("missed").to_numpy()
        numbers = np.frombuffer(bytes.fromhex(metadata[b"adwin"].decode()))
        totals, variances, counts, window = self._window
        at = 0
        for part in (totals, variances, counts, window):
            part.flat[:] = numbers[at : at + part.size]
            at += part.size


def steps_of(delays: Times) -> Positions:
    """Count delays in steps, rounded up."""
    ticks = -(-np.maximum(delays, 0) // TICK)
    halvings = np.maximum(np.frexp(ticks.astype(np.float64))[1] - _FINEST, 0).astype(np.int64)
    return _PER_DOUBLING * halvings - (-ticks >> halvings)


def delay_of(step: int) -> int:
    """Tell the longest delay that is counted as so many steps, in microseconds."""
    halvings = max(step // _PER_DOUBLING - 1, 0)
    return min(((step - _PER_DOUBLING * halvings) << halvings) * TICK, FOREVER)


def _picked(count: int, most: int) -> Positions:
    """Pick at most so many of some rows in order, evenly, the last one included."""
    if count <= most:
        return np.arange(count)
    return (np.arange(1, most + 1) * count) // most - 1


def _dealt(rows: Positions) -> Positions:
    """Put rows into an order in which each part is like the whole."""
    count = len(rows)
    stride = max(round(_GOLDEN * count), 1)
    while gcd(stride, count) != 1:
        stride += 1
    return rows[np.arange(count) * stride % count]


def _lossless(numbers: np.ndarray) -> bytes:
    # Metadata is text.
    return numbers.astype(np.float64).tobytes().hex().encode()
