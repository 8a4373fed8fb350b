"""The slow twin of `disorder.adaptation`: all rows in lists, waits by trying one after the other.

Only ADWIN is shared: `tests/kernels/test_adwin.py` has a twin of it.
"""

from math import floor

import numpy as np

from latecomer.kernels.adwin import adwin, adwin_state
from latecomer.time import NEVER
from latecomer.waits.recall_wait import AIM, ENOUGH, LEAST_MISSED, LOWEST
from latecomer.waits.recent_delays import BLOCKS, DELTA, SHOWN

TICK = 1_000


def rounded(delay: int) -> tuple[int, int]:
    """Tell the step of a delay, and the longest delay of that step."""
    step, upto, width = 0, 0, TICK
    while upto < delay:
        step, upto = step + 1, upto + width
        if step >= 64 and step % 32 == 0:
            width *= 2
    return step, upto


def shown(steps: list[int]) -> list[int]:
    """Pick the rows that ADWIN sees, in the order in which it does."""
    some = sorted(steps)
    if len(some) > SHOWN:
        some = [some[(i + 1) * len(some) // SHOWN - 1] for i in range(SHOWN)]
    stride = max(round(len(some) * (5**0.5 - 1) / 2), 1)
    while np.gcd(stride, len(some)) != 1:
        stride += 1
    return [some[i * stride % len(some)] for i in range(len(some))]


class SlowAdaptation:
    """What `Adaptation` does, for recalls below 1."""

    def __init__(self, recalls: tuple[float, ...], block: int) -> None:
        self.recalls, self.block = recalls, block
        self.watermarks = [NEVER for _ in recalls]
        self.waits: list[int] | None = None
        self.factors = [AIM for _ in recalls]
        self.informed = [False for _ in recalls]
        self.blocks: list[list[tuple[int, int, list[bool]]]] = []
        self.seen: list[int] = []
        self.window, self.reach, self.known, self.apart = adwin_state(), 1.0, 0, 0

    def advance(self, newest: int) -> list[int]:
        if newest != NEVER and self.waits is not None:
            for i, wait in enumerate(self.waits):
                self.watermarks[i] = max(self.watermarks[i], newest - wait)
        return self.watermarks

    def begin(self, apart: int) -> None:
        self.apart = max(self.apart, apart)
        self.choose([0 for _ in self.recalls])

    def learn(self, delays: list[int], missed: list[int]) -> None:
        """Remember rows: the step of each, its rounded delay, and which levels have missed it."""
        if not self.blocks or len(self.blocks[-1]) >= self.block:
            self.blocks.append([])
            self.seen.append(0)
        rows = [
            (*rounded(delay), [by > i and is_in for i, is_in in enumerate(self.informed)])
            for delay, by in zip(delays, missed, strict=True)
        ]
        self.blocks[-1] += rows
        self.known += len(rows)
        told = shown([step for step, _, _ in rows])
        self.reach = max([self.reach, *map(float, told)])
        width = adwin(np.array(told, np.float64), self.window, DELTA, self.reach)[-1]
        self.seen[-1] += len(told)
        while len(self.blocks) > BLOCKS or sum(self.seen[1:]) >= width:
            del self.blocks[0], self.seen[0]
        remembered = [row for block in self.blocks for row in block]
        for i, recall in enumerate(self.recalls):
            if self.misses(i) >= 0:
                share = sum(lost[i] for _, _, lost in remembered) / len(remembered)
                wrong = max(share / (1 - recall), LEAST_MISSED)
                gain = 0.5 * min(len(rows) / len(remembered), 1.0)
                factor = self.factors[i] * (AIM / wrong) ** gain
                self.factors[i] = min(max(factor, LOWEST), AIM)
        kept = 1 - min(len(rows) / self.block, 1.0) / 8
        before = self.waits or [0 for _ in self.recalls]
        self.choose(
            [int(kept * w) if is_in else 0 for w, is_in in zip(before, self.informed, strict=True)]
        )

    def misses(self, level: int) -> int:
        count = sum(map(len, self.blocks))
        return floor((1 - self.recalls[level]) * self.factors[level] * (count + 1)) - 1

    def choose(self, least: list[int]) -> None:
        delays = [delay for block in self.blocks for _, delay, _ in block]
        self.waits = []
        for level in range(len(self.recalls)):
            may, longest = self.misses(level), max(delays, default=0)
            if may >= 0:
                tried = sorted({0, *delays})
                wait = next(w for w in tried if sum(delay > w for delay in delays) <= may)
            else:
                wait = max(2 * longest, self.apart if self.known < ENOUGH else 0)
            self.informed[level] = may >= 0
            self.waits.append(max([wait, least[level], *self.waits]))
