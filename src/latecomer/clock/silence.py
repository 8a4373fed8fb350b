"""Time goes on when nothing newer comes.

The clock is moved by rows. When they stop, it stops too, and what is held stays held: the last
windows of the evening are answered in the morning. So a stream can be told after how long a
silence, by the clock on the wall, time goes on by itself: as fast as that clock, while it lasts.

    wall clock   0    5    10   15   20   25   30   35    idle 20
    newest       7    7    7    7    7    7    7    90
    time is at   7    7    7    7    7    27   32   90    one tick behind: see below

**A silence is known at the tick after it.** What the rows of a micro-batch say is seen in the next
one. So a tick counts only the silence up to the tick before: if rows came after that one, newest
has moved by now.

**A query does not take its own absence for silence.** From one tick to the next no more than a
quarter of `idle` counts, however long it took; so a silence is never found in fewer than five
ticks. Where these are further apart than that, time goes on more slowly than the wall clock.

**Keys with clocks of their own** are silent each by itself: see `hosts.clocks.per_key`. They only
need to know the time that has passed, `elapsed`.

Rows that are not newer than all before do not break a silence. Time never goes back: who comes
after a silence with rows from before it may be late.
"""

from dataclasses import dataclass

from latecomer.time import NEVER

PARTS = 4
"""A silence has at least so many parts, each between two ticks."""


@dataclass(frozen=True, slots=True)
class Silence:
    """What is known of it; all in microseconds."""

    newest: int = NEVER
    """What was newest when it last changed."""
    lasted: int = 0
    """How long nothing newer has come."""
    last: int = 0
    """The last tick, on the wall clock."""
    reached: int = NEVER
    """How far time has come."""
    elapsed: int = 0
    """How much time has passed in all, as far as it counts."""

    def ticked(self, newest: int, now: int, idle: int) -> "Silence":
        """Take note of the wall clock.

        Args:
            newest: The largest time of all rows up to the tick before.
            now: What the wall clock shows.
            idle: How long a silence must be.
        """
        passed = min(max(now - self.last, 0), -(-idle // PARTS))
        elapsed, last = self.elapsed + passed, max(self.last, now)
        if newest != self.newest:
            return Silence(newest, 0, last, max(self.reached, newest), elapsed)
        reached = newest + self.lasted if self.lasted >= idle and newest != NEVER else newest
        return Silence(newest, self.lasted + passed, last, max(self.reached, reached), elapsed)
