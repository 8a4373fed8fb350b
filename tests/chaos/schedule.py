"""The plan and the faults of one run of the simulator, drawn from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.chaos.disk import FULL, TORN

if TYPE_CHECKING:
    from tests.chaos.catalogue import Entry

KILL, POWER, STOP = "killed", "power cut", "stopped"
CRASHES = (KILL, KILL, POWER, TORN, FULL, STOP)


@dataclass(frozen=True)
class Schedule:
    """A plan, and the faults that happen while it runs."""

    seed: int
    entry: Entry
    buckets: int
    batches: int
    is_local: bool
    """Whether files are on a local file system, or on one that only Spark and Arrow reach."""
    end: str
    crashes: tuple[tuple[int, str], ...]
    """For each start, the number of effects after which it ends, and how it ends."""
    flips: int
    """The start after which a bit of a file flips; 0 if none does."""
    turns: tuple[int, ...]
    """Number of effects in each turn of two drivers; empty if there is one driver."""
    looks: float
    """The probability that a reader looks at the outputs before an effect."""
    together: int
    """The start that two drivers make, if there are two. Earlier starts may have crashed."""

    @classmethod
    def draw(cls, seed: int, entries: list[Entry]) -> Schedule:
        """Draw the schedule of a seed. Successive seeds take successive plans."""
        rng = random.Random(seed)
        entry = entries[seed % len(entries)]
        kind = rng.choices(["crashes", "two drivers", "flips"], [6, 3, 1])[0]
        crashes = [
            (rng.randint(1, 60), rng.choice(CRASHES)) for _ in range(rng.choice([0, 1, 2, 3]))
        ]
        turns = [rng.randint(1, 25) for _ in range(rng.randint(2, 6))]
        return cls(
            seed,
            entry,
            entry.buckets or rng.choice([1, 2, 3]),
            rng.choice([2, 3, 4, 5]),
            rng.random() < 0.5,
            rng.choice(["keep", "flush", "flush"]),
            tuple(crashes),
            rng.randint(1, 2) if kind == "flips" else 0,
            tuple(turns) if kind == "two drivers" else (),
            rng.choice([0.0, 0.03, 0.1]),
            rng.randint(0, len(crashes)),
        )

    def __str__(self) -> str:
        where = "local" if self.is_local else "remote"
        return (
            f"seed {self.seed}: {self.entry.name}, {self.buckets} buckets, {self.batches} batches, "
            f"{where} files, end={self.end!r}\n  crashes {self.crashes}, turns of two drivers "
            f"{self.turns} from start {self.together}, flips {self.flips}, looks {self.looks}"
        )
