"""Waits that follow from recalls, chosen anew after each micro-batch.

    newest ─▶ the waits that were chosen before ─▶ a watermark for each recall
    delays ─▶ what is remembered (`recent_delays`) ─┬▶ the next waits
    misses ─▶ what may be missed (`controller`) ────┤
    periods that fell short ─▶ a share of it (`reserve`) ┘

The wait is the shortest that would have missed no more than the allowed share of the remembered
rows, less one row, which stands for the next to come. While there are too few rows to judge by, the
wait is stretched, to at most twice its length.

**At first** no delay is known, because there was no clock that rows could be behind. The watermark
stands still until the first delays have been seen.

**Waits change only with rows**, never with the clock alone. So the same micro-batches give the same
waits, however often the watermarks are read in between.

**A watermark never falls.** When a wait grows, the watermark stands still until the clock has made
up for it. Rows that come behind it meanwhile are missed, and are counted as missed.

A recall of 1 waits for the longest delay ever seen.

Holds: a higher recall has a wait as long or longer, and a watermark as high or lower. So a row that
    a recall has missed was missed by all lower ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latecomer.arrays import nested, part, read_arrays, write_arrays
from latecomer.time import FOREVER, NEVER, minus
from latecomer.waits.controller import Controller
from latecomer.waits.recent_delays import RecentDelays
from latecomer.waits.reserve import Reserve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from latecomer.time import Times

    Deadlines = Callable[[Times], Times]

STRETCH = 2.0
"""Largest factor by which a wait is stretched while little is known."""
_NEARLY = 1e-9
"""Tolerance for rounding errors in shares, so that they do not cost a whole row."""


class Adaptation:
    """The waits and watermarks for some recalls, which ascend."""

    def __init__(
        self, recalls: Sequence[float], saved: bytes | None = None, within: int | None = None
    ) -> None:
        """Begin with no rows, or go on from saved state.

        Args:
            recalls: Ascending.
            saved: State that `save` returned.
            within: Length of the periods that must each reach the recall, in microseconds; None if
                only the long run counts.
        """
        self.watermarks = [NEVER for _ in recalls]
        """Watermark of each recall."""
        self.waits: list[int] | None = None
        """Waits for the next micro-batch; None as long as no delay is known."""
        self.waited: list[int | None] = [None for _ in recalls]
        """Distance of each watermark from the newest time; None before the first watermark."""
        self._delays = RecentDelays(len(recalls))
        self._controllers = [Controller(recall) for recall in recalls]
        self.reserves = [Reserve(each.may_miss, within) for each in self._controllers if within]
        """One reserve for each recall; empty if only the long run counts."""
        self._newest = NEVER
        if saved is not None:
            self._load(saved)

    def advance(self, newest: int) -> list[int]:
        """Move the watermarks as far as the clock allows, and return them.

        `FOREVER` ends the stream: all watermarks move there.
        """
        if newest == FOREVER:
            self.watermarks = [FOREVER for _ in self.watermarks]
            return self.watermarks
        self._newest = newest
        if newest != NEVER and self.waits is not None:
            self.watermarks = [
                max(mark, newest - wait)
                for mark, wait in zip(self.watermarks, self.waits, strict=True)
            ]
            self.waited = [min(newest - mark, FOREVER) for mark in self.watermarks]
        return self.watermarks

    def observe(self, newest: int, times: Times, deadlines_of: Deadlines) -> list[int]:
        """Update the waits with the rows of a micro-batch, and return how many each recall missed.

        Args:
            newest: The newest time before the micro-batch; `NEVER` if it is the first.
            times: The times of the rows.
            deadlines_of: Returns the last watermark at which each row is in time; not before the
                time of the row.
        """
        missed = [0 for _ in self.watermarks]
        if newest == NEVER:
            return missed
        is_behind = times < newest
        if 2 * np.count_nonzero(is_behind) < len(times):
            # All other rows are in time and have no delay.
            deadlines = deadlines_of(times[is_behind])
        else:
            deadlines = deadlines_of(times)
        for level, mark in enumerate(self.watermarks):
            missed[level] = int(np.count_nonzero(deadlines < mark))
            if not missed[level]:
                # A higher recall never has a higher watermark, so it misses nothing either.
                break
        self.learn(len(times), minus(newest, np.minimum(deadlines, newest)), missed)
        return missed

    def learn(self, rows: int, delays: Times, missed: Sequence[int]) -> None:
        """Update the waits with the rows of a micro-batch.

        Args:
            rows: The number of rows.
            delays: The wait that each row would have needed; rows that needed none may be left out.
            missed: The number of rows that each recall has missed.
        """
        longest = int(delays.max(initial=0))
        self._delays.add(rows, delays, [each.kept(rows) for each in self._controllers])
        wait, waits = 0, []
        for level, (controller, late) in enumerate(zip(self._controllers, missed, strict=True)):
            controller.learn(rows, late, longest)
            if self.reserves:
                self.reserves[level].learn(self._newest, rows, late)
            wait = max(wait, self._wait(level, controller))
            waits.append(wait)
        self.waits = waits

    def extrapolated(self, level: int, wait: int) -> float | None:
        """Return the recall that a wait would give if future rows are like the remembered ones.

        None if no row is remembered.
        """
        rows = self._delays.rows(level)
        return 1 - (self._delays.beyond(level, wait) + 1) / (rows + 1) if rows else None

    def save(self) -> bytes:
        arrays = {"watermarks": np.array(self.watermarks), "delays": self._delays.counts}
        if self.waits is not None:
            arrays["waits"] = np.array(self.waits)
        if self.waited[0] is not None:
            arrays["waited"] = np.array(self.waited)
        for level, controller in enumerate(self._controllers):
            arrays |= nested(str(level), controller.save())
        for level, reserve in enumerate(self.reserves):
            arrays |= nested(f"reserve{level}", reserve.save())
        return write_arrays(arrays)

    def _load(self, saved: bytes) -> None:
        arrays = read_arrays(saved)
        self.watermarks = arrays["watermarks"].tolist()
        self.waits = arrays["waits"].tolist() if "waits" in arrays else None
        self.waited = arrays["waited"].tolist() if "waited" in arrays else self.waited
        self._delays.load(arrays["delays"])
        for level, controller in enumerate(self._controllers):
            controller.load(part(str(level), arrays))
        for level, reserve in enumerate(self.reserves):
            reserve.load(part(f"reserve{level}", arrays))

    def _wait(self, level: int, controller: Controller) -> int:
        rows = controller.remembered * (self.reserves[level].share if self.reserves else 1)
        wait = self._delays.wait_missing(level, controller.allowed * rows - 1 + _NEARLY)
        known = controller.sure * rows
        if known < 1 and controller.may_miss:
            wait = min(int(wait * min(1 / max(known, _NEARLY), STRETCH)), FOREVER)
        return max(wait, int(min(controller.floor, FOREVER)))
