"""The delays of a stream in its recent past, micro-batch by micro-batch: what a wait is chosen by.

As for the window joins (`joins.delay_history`), ADWIN decides how far back the past still resembles
the present. What differs is due to micro-batches, and that nobody is asked for a scale:

**Steps grow with the delay.** Delays are counted in steps of a tick of the clock, a millisecond, up
to 64 of them, and from there on in steps of a 32nd of the delay; they are rounded up. So seconds
and weeks can be told apart with the same few hundred steps, and a wait is never too short.

    delay    0    1 ms   63 ms   64 ms   66 ms   …   128 ms   132 ms   …   1 hour
    step     0    1      63      64      65          96       97           551

**Blocks.** What is remembered is written down with every micro-batch, so it must be small: `BLOCKS`
blocks, each with its rows counted by their delay. A block is a micro-batch, or several small ones.
The oldest goes when there are too many, or when ADWIN finds that it no longer counts.

**Of a micro-batch, ADWIN sees a few rows**, `SHOWN` of them, evenly picked by their delay and dealt
out so that each part of them is like the whole. Which order rows have inside a micro-batch means
nothing: Spark may read them in any. And rows that come together are alike, where ADWIN takes each
for a witness of its own: if it saw all rows, each large micro-batch would be a new age to it.

Holds: the same micro-batches give the same history, whatever order their rows have, and wherever it
    was saved and restored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import decode, encode
from latecomer.clock.watermark import TICK
from latecomer.kernels.adwin import adwin, adwin_state
from latecomer.time import FOREVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from latecomer.batch import Positions
    from latecomer.time import Times

DELTA = 0.002
"""How often ADWIN may cut where nothing has changed; the usual value."""
BLOCKS = 64
SHOWN = 32
"""How many rows of a micro-batch ADWIN sees at the most."""
_FINEST, _PER_DOUBLING = 6, 32
"""Up to 2^6 ticks each is a step; then there are so many steps from a delay to its double."""
_STEPS = 2_048
"""More than there are."""
_GOLDEN = 0.6180339887498949


@dataclass(slots=True)
class _Block:
    """Some micro-batches that follow each other."""

    shown: int
    """How many of its rows ADWIN has seen."""
    missed: Positions
    """How many rows each level has missed."""
    counts: Positions
    """How many rows have which delay, in steps."""

    @classmethod
    def empty(cls, levels: int) -> _Block:
        return cls(0, np.zeros(levels, np.int64), np.zeros(_STEPS, np.int64))

    @property
    def rows(self) -> int:
        return int(self.counts.sum())


class RecentDelays:
    """What is remembered: how many rows had which delay, and how many each level has missed."""

    def __init__(self, block: int, saved: bytes | None = None) -> None:
        """Begin with nothing, or where `saved` left off.

        Args:
            block: How many rows a block has at least, if it is not the last.
            saved: What `save` returned.
        """
        self._block = block
        self._blocks: list[_Block] = []
        self._counts = np.zeros(_STEPS, np.int64)
        self._rows = 0
        self._window = adwin_state()
        self._reach = 1.0
        self.known = 0
        """How many delays were ever known."""
        self.longest = 0
        """The longest ever, in microseconds, rounded up."""
        if saved is not None:
            self._load(saved)

    def __len__(self) -> int:
        return self._rows

    def add(self, delays: Times, missed: Sequence[int]) -> None:
        """Remember the rows of a micro-batch, in any order.

        Args:
            delays: How long one would have had to wait for each, in microseconds.
            missed: How many of them each level has missed.
        """
        if not len(delays):
            return
        steps = np.sort(steps_of(delays))
        self.known += len(delays)
        self.longest = max(self.longest, delay_of(int(steps[-1])))
        shown = steps[_dealt(_picked(len(steps), SHOWN))].astype(np.float64)
        self._reach = max(self._reach, float(steps[-1]))
        width = int(adwin(shown, self._window, DELTA, self._reach)[-1])
        if not self._blocks or self._blocks[-1].rows >= self._block:
            self._blocks.append(_Block.empty(len(missed)))
        last = self._blocks[-1]
        last.shown += len(shown)
        last.missed += np.array(missed, np.int64)
        last.counts += np.bincount(steps, minlength=_STEPS)
        self._forget(width)

    def beyond(self, wait: int) -> int:
        """Count the remembered rows for which a wait, in microseconds, would be too short."""
        step = int(steps_of(np.array([wait]))[0])
        # Of a step that is longer than the wait, all rows may be.
        return int(self._counts[step + (delay_of(step) <= wait) :].sum())

    def wait_missing(self, rows: int) -> int:
        """Find the smallest wait that misses no more than so many of the remembered rows."""
        enough = self._rows - np.cumsum(self._counts) <= rows
        return delay_of(int(np.argmax(enough)))

    def missed_by(self, level: int) -> int:
        """Count the remembered rows that a level has really missed."""
        return sum(int(block.missed[level]) for block in self._blocks)

    def save(self) -> bytes:
        numbers = np.concatenate([part.ravel() for part in self._window])
        told = {
            "reach": self._reach,
            "known": self.known,
            "longest": self.longest,
            "adwin": numbers.astype(np.float64).tobytes().hex(),
            "shown": [block.shown for block in self._blocks],
            "missed": [block.missed.tolist() for block in self._blocks],
        }
        counts = np.array([block.counts for block in self._blocks]).reshape(-1, _STEPS)
        blocks, steps = np.nonzero(counts)
        table = pa.table(
            {
                "block": blocks.astype(np.int8),
                "step": steps.astype(np.int16),
                "rows": counts[blocks, steps],
            }
        )
        return encode(table.replace_schema_metadata({b"told": json.dumps(told).encode()}), "lz4")

    def _load(self, saved: bytes) -> None:
        table = decode(saved)
        told = json.loads(table.schema.metadata[b"told"])
        self._reach, self.known, self.longest = told["reach"], told["known"], told["longest"]
        at, numbers = 0, np.frombuffer(bytes.fromhex(told["adwin"]))
        for part in self._window:
            part.flat[:] = numbers[at : at + part.size]
            at += part.size
        counts = np.zeros((len(told["shown"]), _STEPS), np.int64)
        blocks, steps, rows = (column.to_numpy() for column in table.columns)
        counts[blocks, steps] = rows
        self._blocks = [
            _Block(shown, np.array(missed), own)
            for shown, missed, own in zip(told["shown"], told["missed"], counts, strict=True)
        ]
        self._add_up()

    def _forget(self, width: int) -> None:
        """Forget the blocks of which ADWIN no longer counts a row, and those that are too many."""
        since = sum(block.shown for block in self._blocks) - width
        while len(self._blocks) > BLOCKS or self._blocks[0].shown <= since:
            since -= self._blocks.pop(0).shown
        self._add_up()

    def _add_up(self) -> None:
        self._counts = np.sum([block.counts for block in self._blocks], axis=0)
        self._rows = int(self._counts.sum())


def steps_of(delays: Times) -> Positions:
    """Count delays in steps, rounded up."""
    ticks = -(-np.maximum(delays, 0) // TICK)
    halvings = np.maximum(np.frexp(ticks.astype(np.float64))[1] - _FINEST, 0).astype(np.int64)
    return _PER_DOUBLING * halvings - (-ticks >> halvings)


def delay_of(step: int) -> int:
    """Return the longest delay that is counted as so many steps, in microseconds."""
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
