"""Waits that follow from recalls, micro-batch by micro-batch: what is known, and what it leads to.

    newest ─▶ the waits that were chosen before ─▶ a watermark for each recall
    delays, and what was missed ─▶ the history (`recent_delays`) ─▶ the next waits (`recall_wait`)

**Only rows teach.** What is known changes with rows, never with the clock alone. So it does not
matter how often one asks for watermarks in between, and the same micro-batches give the same waits.

**A watermark never falls.** When a wait grows, the watermark stands still until the clock has made
up for it; what comes behind it meanwhile is missed, and counts as missed.

Holds: a higher recall has a wait as long or longer, and a watermark as high or lower. So a row that
    a recall has missed was missed by all lower ones.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from latecomer.time import FOREVER, NEVER
from latecomer.waits.recall_wait import FALL, RecallWait, block_size, extrapolated
from latecomer.waits.recent_delays import RecentDelays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from latecomer.batch import Positions
    from latecomer.time import Times


class Adaptation:
    """The waits and watermarks for some recalls, which ascend."""

    def __init__(self, recalls: Sequence[float], saved: bytes | None = None) -> None:
        self.watermarks = [NEVER for _ in recalls]
        """How far it is promised that nothing follows, for each recall."""
        self.waits: list[int] | None = None
        """The waits for the next micro-batch; None as long as there was no row."""
        self._apart = 0
        factors: list[list[float]] = [[] for _ in recalls]
        history = None
        if saved is not None:
            first, _, history = saved.partition(b"\n")
            self.watermarks, self.waits, self._apart, given = json.loads(first)
            factors = [[factor] for factor in given]
        self._block = block_size(recalls)
        self._history = RecentDelays(self._block, history)
        self._choices = [
            RecallWait(recall, level, *factor)
            for level, (recall, factor) in enumerate(zip(recalls, factors, strict=True))
        ]

    def advance(self, newest: int) -> list[int]:
        """Move the watermarks to where the clock allows, and tell them; `FOREVER` ends all."""
        if newest == FOREVER:
            self.watermarks = [FOREVER for _ in self.watermarks]
        elif newest != NEVER and self.waits is not None:
            self.watermarks = [
                max(mark, newest - wait)
                for mark, wait in zip(self.watermarks, self.waits, strict=True)
            ]
        return self.watermarks

    def begin(self, apart: int) -> None:
        """Take note of rows that came before there was a clock.

        Args:
            apart: For how long one would have had to wait if the newest of them had come first.
        """
        self._apart = max(self._apart, apart)
        self._choose([0 for _ in self._choices])

    def learn(self, delays: Times, missed: Positions) -> None:
        """Take note of the rows of a micro-batch.

        Args:
            delays: How long one would have had to wait for each; 0 if not at all.
            missed: How many recalls have missed it; it grows with the delay.
        """
        informed = [choice.is_informed(self._history) for choice in self._choices]
        # What was missed while too little was known says nothing about the model.
        counts = [
            int(np.count_nonzero(missed > choice.level)) if is_in else 0
            for choice, is_in in zip(self._choices, informed, strict=True)
        ]
        self._history.add(delays, counts)
        for choice in self._choices:
            choice.learn(self._history, len(delays))
        kept = 1 - FALL * min(len(delays) / self._block, 1.0)
        before = self.waits or [0 for _ in informed]
        self._choose(
            [int(kept * wait) if is_in else 0 for wait, is_in in zip(before, informed, strict=True)]
        )

    def extrapolated(self, wait: int) -> float | None:
        """Estimate the recall of a wait, if rows to come are like those remembered."""
        return extrapolated(self._history, wait)

    def save(self) -> bytes:
        factors = [choice.factor for choice in self._choices]
        told = json.dumps([self.watermarks, self.waits, self._apart, factors])
        return told.encode() + b"\n" + self._history.save()

    def _choose(self, least: Sequence[int]) -> None:
        """Choose the next waits, each no shorter than `least`, nor than that of a lower recall."""
        self.waits = []
        for choice, shortest in zip(self._choices, least, strict=True):
            wait = choice.wait(self._history, self._apart)
            self.waits.append(max([wait, shortest, *self.waits]))
