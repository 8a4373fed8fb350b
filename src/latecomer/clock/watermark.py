"""Turn a wait into watermarks.

A watermark is a promise: no row earlier than this will follow. Nobody can know that about the
future, so we bet. Having seen a row at time `newest`, and being willing to `wait`, we bet that
everything before `newest - wait` has arrived:

    time    10    14    12    19    13
    newest  10    14    14    19    19
    wait 5: watermark 5, 9, 9, 14, 14      the row at 13 comes too late

Waiting longer loses fewer rows and delays every answer by as much. **A watermark never falls**: if
it did, we would let in rows earlier than some already released. It cannot fall while the wait stays
the same. Where a query goes on with a longer wait, the watermark that it had reached is a floor: it
stands still until `newest - wait` is above it:

    newest                   10    14  │  19    19    26
    wait 5, from │ on 12      5     9  │   9     9    14

The clock ticks in milliseconds, because Spark's does: `newest` is rounded down to a tick, so a
watermark may be up to a millisecond lower than it could be, never higher.
"""

from dataclasses import dataclass, replace

import numpy as np

from latecomer.time import FOREVER, NEVER, Times

TICK = 1_000


def tick(newest: int) -> int:
    """Return a time, rounded down to a tick of the clock."""
    return max(newest - newest % TICK, NEVER)


def ticks(newest: Times) -> Times:
    """Return times, rounded down to ticks of the clock."""
    return back(newest, newest % TICK)


def back(times: Times, by: int | Times) -> Times:
    """Return times moved back, but not to before `NEVER`."""
    return np.where(times < NEVER + by, NEVER, times - by)


@dataclass(frozen=True, slots=True)
class Clock:
    """The newest time and the watermark in one micro-batch, the same for every bucket.

    `newest` is the largest time of all earlier micro-batches, or `NEVER`. Where each key has a
    clock of its own, it is a time that every key has reached; hosts do not supply one.
    """

    newest: int
    watermark: int
    elapsed: int = 0
    """Time that has passed by the wall clock, for streams with `idle` (`clock.silence`)."""

    @classmethod
    def at(cls, newest: int, wait: int, elapsed: int = 0, floor: int = NEVER) -> "Clock":
        """Return the clock when `newest` has been seen and we are willing to `wait`.

        The watermark is never below `floor`, which it had reached before.
        """
        newest = tick(newest)
        return cls(newest, max(newest - wait, floor), elapsed)

    def with_wait(self, wait: int, floor: int = NEVER) -> "Clock":
        """Return this clock with another wait. At the end of the stream it stays as it is."""
        if self.watermark == FOREVER:
            return self
        return replace(self, watermark=max(self.newest - wait, floor))
