"""Time goes on when nothing comes.

The clock is moved by rows. When they stop, it stops too, and what is held stays held: the last
windows of the evening are answered in the morning. So a stream can be told after how long a
silence, by the clock on the wall, time goes on by itself: as fast as that clock, while it lasts.

    wall clock   0    10   20   30   40   50       idle 20
    newest       7    7    7    7    7    90
    time is at   7    7    7    27   37   90       one tick behind: see below

**A silence is known at the tick after it.** What the rows of a micro-batch say is seen in the next
one. So a tick counts only the silence up to the tick before: if rows came after that one, newest
has moved by now. Nor is the time a silence during which a query was stopped.

Time never goes back. Who comes after a silence with rows from before it may be late.
"""

from dataclasses import dataclass

from latecomer.time import NEVER


@dataclass(frozen=True, slots=True)
class Silence:
    """What is known of it; all in microseconds."""

    newest: int = NEVER
    """What was newest when it last changed."""
    since: int = 0
    """When that was noticed, on the wall clock."""
    last: int = 0
    """The last tick."""
    reached: int = NEVER
    """How far time has come."""

    def ticked(self, newest: int, now: int, idle: int) -> "Silence":
        """Take note of the wall clock.

        Args:
            newest: The largest time of all rows up to the tick before.
            now: What the wall clock shows.
            idle: How long a silence must be.
        """
        if newest != self.newest:
            return Silence(newest, now, now, max(self.reached, newest))
        silent = self.last - self.since
        reached = newest + silent if silent >= idle and newest != NEVER else newest
        return Silence(newest, self.since, max(self.last, now), max(self.reached, reached))
