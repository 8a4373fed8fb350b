"""Windows on a grid: tumbling and hopping.

    size 4, hop 4      ├── a ──┤├── b ──┤          tumbling: each row is in one window
    size 4, hop 2      ├── a ──┤   ├── c ──┤       hopping: each row is in two
                           ├── b ──┤
    panes of 2         │ 0 │ 1 │ 2 │ 3 │

A window is `[start, end)`, and begins at the origin plus a multiple of the hop, as in Spark. Each
row is aggregated once, in its *pane*. Panes are the largest pieces that no window cuts, and a
window consists of one or more of them.

With a zone, windows of whole days begin at midnight in that zone, and the days on which clocks
change are 23 or 25 hours long. Panes are then numbered by local time, as if it were UTC; `instants`
converts local times to instants.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.batch import Positions
from latecomer.errors import ColumnTypeError, OptionError
from latecomer.labels import Labelled
from latecomer.time import FOREVER, NEVER, Times, format_duration

DAY = 86_400_000_000
_YEAR = 31_556_952_000_000
FARTHEST = 2**61
"""Largest distance of a time from 1970, about 73,000 years, so that nothing overflows."""


@dataclass(frozen=True, slots=True)
class Windows(Labelled):
    """Windows of one size, one every `hop`, in microseconds."""

    size: int
    hop: int
    origin: int = 0
    zone: str | None = None

    def __post_init__(self) -> None:
        """Refuse windows that leave gaps, or have no length."""
        if not 0 < self.hop <= self.size < FARTHEST:
            raise OptionError(
                f"a window needs 0 < hop <= size; got size {format_duration(self.size)} and hop "
                f"{format_duration(self.hop)}.\n"
                "Hint: rows between two windows would be in none; make the hop smaller."
            )
        if self.zone is None:
            return
        if self.size % DAY or self.hop % DAY:
            raise OptionError(
                f"zone= needs windows of whole days; got size {format_duration(self.size)} and hop "
                f"{format_duration(self.hop)}.\n"
                "Hint: shorter windows begin at the same instants in every zone; leave it out."
            )
        try:
            self.instants(np.zeros(1, np.int64))
        except (pa.ArrowInvalid, OSError) as error:
            message = f'no time zone "{self.zone}".\nHint: for example "Europe/Berlin".'
            raise OptionError(message) from error

    def __str__(self) -> str:
        """Return the windows in words, for example "1 hour every 10 minutes"."""
        every = f" every {format_duration(self.hop)}" if self.hop < self.size else ""
        return f"{format_duration(self.size)}{every}{f' in {self.zone}' if self.zone else ''}"

    @property
    def width(self) -> int:
        """Length of a pane."""
        return gcd(self.size, self.hop)

    @property
    def overlap(self) -> int:
        """Largest number of windows that a row is in."""
        return -(-self.size // self.hop)

    def panes(self, times: Times) -> Times:
        """Return the start of the pane of each row.

        Raises:
            ColumnTypeError: A time is too far from 1970 for a window around it.
        """
        check_reach(times)
        return floored(self._on_the_wall(times), self.width, self.origin)

    def starts(self, panes: Times) -> Iterator[tuple[Times, Positions]]:
        """Yield the windows of panes: window starts, and the position of the pane of each.

        A pane comes once for each window that it is in.
        """
        latest = self.latest_start(panes)
        for back in range(self.overlap):
            start = latest - back * self.hop
            inside = np.flatnonzero(start + self.size > panes)
            yield start[inside], inside

    def latest_start(self, panes: Times) -> Times:
        """Return the start of the latest window that has the pane."""
        return floored(panes, self.hop, self.origin)

    def ends(self, starts: Times) -> Times:
        """Return the instants at which windows end."""
        return self.instants(starts + self.size)

    def first_ends(self, panes: Times) -> Times:
        """Return the end of the first window that has the pane."""
        latest = self.latest_start(panes)
        back = (latest + self.size - panes - 1) // self.hop
        return self.ends(latest - back * self.hop)

    def last_ends(self, panes: Times) -> Times:
        """Return the end of the last window that has the pane, which is then closed for good."""
        return self.ends(self.latest_start(panes))

    def next_end(self, instant: int) -> int:
        """Return the first end of a window after an instant; `NEVER` and `FOREVER` unchanged."""
        if instant in (NEVER, FOREVER) or abs(instant) > FARTHEST:
            return instant
        since = int(self._on_the_wall(np.array([instant]))[0]) - self.size - self.origin
        end = np.array([(since // self.hop + 1) * self.hop + self.size + self.origin])
        return int(self.instants(end)[0])

    def instants(self, walls: Times) -> Times:
        """Return the instants of local times; of two instants with one local time, the first."""
        if self.zone is None:
            return walls
        naive = pa.array(walls, pa.timestamp("us"))
        return np.asarray(
            pc.assume_timezone(naive, self.zone, ambiguous="earliest", nonexistent="latest").view(
                pa.int64()
            )
        )

    def _on_the_wall(self, times: Times) -> Times:
        if self.zone is None:
            return times
        zoned = pa.array(times, pa.int64()).view(pa.timestamp("us", self.zone))
        return np.asarray(pc.local_timestamp(zoned).view(pa.int64()))


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A duration, in place of windows: each row counts for this long from its time on."""

    duration: int

    def __post_init__(self) -> None:
        """Refuse a lifetime in which nothing counts."""
        if not 0 < self.duration < FARTHEST:
            raise OptionError(
                f"a lifetime must be longer than 0; got {format_duration(self.duration)}.\n"
                'Hint: for example lifetime("10 minutes").'
            )


def floored(times: Times, step: int, origin: int) -> Times:
    """Round times down to a grid. NumPy divides much faster than it computes a remainder."""
    return (times - origin) // step * step + origin


def check_reach(times: Times) -> None:
    """Refuse times so far from 1970 that a window around them could not be represented.

    Raises:
        ColumnTypeError: There is such a time.
    """
    if len(times) and max(-int(times.min()), int(times.max())) > FARTHEST:
        worst = int(times[np.argmax(np.abs(times.astype(np.float64)))])
        side = "after" if worst > 0 else "before"
        raise ColumnTypeError(
            f"a row has a time {abs(worst) // _YEAR:,} years {side} 1970; there are no windows so "
            "far out.\n"
            "Hint: check the unit of the time column, or leave such rows out with where()."
        )
