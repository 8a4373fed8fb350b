"""Let the clock advance when no newer row arrives.

The clock is moved by rows. When they stop, it stops too, and held state is not released: the last
windows of the evening are answered in the morning. So a stream can have an `idle` time. After a
silence that long, by the wall clock, time goes on by itself, as fast as the wall clock, until a
newer row comes.

    wall clock   0    5    10   15   20   25   30   35    idle 20
    newest       7    7    7    7    7    7    7    90
    time is at   7    7    7    7    7    27   32   90    one tick behind: see below

**A silence is known one tick later.** The times of a micro-batch's rows are seen in the next
micro-batch. So a tick counts only the silence up to the tick before: if rows came after that one,
`newest` has moved by now.

**The downtime of a query is not a silence.** From one tick to the next, at most a quarter of `idle`
counts, however long it took. So it takes at least five ticks to find a silence. Where ticks are
further apart than a quarter of `idle`, time goes on more slowly than the wall clock.

**Keys with clocks of their own** are each silent by themselves: see `hosts.clocks.per_key`. They
need only the time that has passed, `elapsed`.

A silence ends only with a row that is newer than all before. Time never goes back, so rows from
before or during a silence may be late when they arrive after it.
"""

from dataclasses import dataclass

from latecomer.time import NEVER

PARTS = 4
"""Least number of intervals between ticks that a silence consists of."""


@dataclass(frozen=True, slots=True)
class Silence:
    """State of the current silence; all values are in microseconds."""

    newest: int = NEVER
    """Largest time of all rows."""
    lasted: int = 0
    """Time for which no newer row has come."""
    last: int = 0
    """Time of the last tick, on the wall clock."""
    reached: int = NEVER
    """Time that the clock has reached, by rows or by itself."""
    elapsed: int = 0
    """Total time that has passed, with at most a quarter of `idle` for each tick."""

    def ticked(self, newest: int, now: int, idle: int) -> "Silence":
        """Return the state after one more tick.

        Args:
            newest: The largest time of all rows up to the tick before.
            now: The time on the wall clock.
            idle: Length of a silence after which the clock advances by itself.
        """
        passed = min(max(now - self.last, 0), -(-idle // PARTS))
        elapsed, last = self.elapsed + passed, max(self.last, now)
        if newest != self.newest:
            return Silence(newest, 0, last, max(self.reached, newest), elapsed)
        reached = newest + self.lasted if self.lasted >= idle and newest != NEVER else newest
        return Silence(newest, self.lasted + passed, last, max(self.reached, reached), elapsed)
