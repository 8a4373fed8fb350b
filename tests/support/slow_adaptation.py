"""The slow twin of `waits.adaptation`: rows in lists, and each wait is tried in turn."""

from math import exp, sqrt

from latecomer.time import NEVER

TICK = 1_000


def rounded(delay: int) -> tuple[int, int]:
    """Return the step of a delay, and the longest delay of that step."""
    step, upto, width = 0, 0, TICK
    while upto < delay:
        step, upto = step + 1, upto + width
        if step >= 64 and step % 32 == 0:
            width *= 2
    return step, upto


class SlowAdaptation:
    """The twin of `Adaptation`, for recalls below 1."""

    def __init__(self, recalls: tuple[float, ...]) -> None:
        self.recalls = recalls
        self.watermarks = [NEVER for _ in recalls]
        self.waits: list[int] | None = None
        self.excess = [0.0 for _ in recalls]
        self.floors = [0.0 for _ in recalls]
        self.batches: list[list[int]] = []

    def advance(self, newest: int) -> list[int]:
        if newest != NEVER and self.waits is not None:
            for i, wait in enumerate(self.waits):
                self.watermarks[i] = max(self.watermarks[i], newest - wait)
        return self.watermarks

    def learn(self, delays: list[int], missed: list[int]) -> None:
        self.batches.append([rounded(delay)[1] for delay in delays])
        self.waits = []
        for level, recall in enumerate(self.recalls):
            lost = sum(by > level for by in missed)
            wait = self.chosen(level, 1 - recall, lost, max(delays))
            self.waits.append(max([wait, *self.waits]))

    def chosen(self, level: int, may_miss: float, lost: int, longest: int) -> int:
        memory = max(10_000, 50 / may_miss)
        weighted: list[tuple[int, float]] = []
        weight = 1.0
        for batch in reversed(self.batches):
            weighted += [(delay, weight) for delay in batch]
            weight *= exp(-min(len(batch) / memory, 1 / 48))
        seen, remembered = len(weighted), sum(each for _, each in weighted)
        usual = seen * min(48 / len(self.batches), 1)
        beyond = max(remembered - memory, usual / 2 - memory, 0)
        scale = max(may_miss * (min(seen, memory) + 2 * beyond), 10)
        rows = len(self.batches[-1])
        self.excess[level] = max(self.excess[level] + lost - may_miss * rows, -scale)
        if self.excess[level] <= 3 * scale:
            self.floors[level] = 0.0
        elif lost:
            self.floors[level] = max(self.floors[level], 1.25 * longest)
        root, steps = sqrt(may_miss * seen), len(self.batches)
        doubt = min(root / (root + 1), steps / (steps + 69))
        factor = min(exp(-self.excess[level] / scale), 1.2)
        known = may_miss * doubt * remembered
        may = known * max(factor, min(factor / doubt, 1) ** 3) - 1 + 1e-9
        tried = sorted({0, *(delay for delay, _ in weighted)})
        wait = next(
            w for w in tried if sum(each for d, each in weighted if d > w) <= max(may, 1e-3)
        )
        if known < 1:
            wait = int(wait * min(1 / max(known, 1e-9), 2.0))
        return max(wait, int(self.floors[level]))
