"""Run schedules of the simulator and, at the same time, cause real faults.

Both print their count, time and processor time once a minute. Every plan gets real faults, even if
that makes more of them than were asked for.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from itertools import count

from tests.chaos import faults
from tests.chaos.catalogue import catalogue
from tests.chaos.invariants import Violation
from tests.chaos.processes import processor_seconds
from tests.chaos.simulator import simulate

EVERY = 60.0
"""Seconds between two lines of progress."""
MANY = 100
"""A run with this many real faults must have caused every kind of them."""


class Progress:
    """Prints the progress of a loop once a minute."""

    def __init__(self, what: str, wanted: int, beside: int | None = None) -> None:
        """Count towards a number of schedules or faults.

        Args:
            what: What is counted.
            wanted: The number to reach.
            beside: Another process, whose processor time is left out.
        """
        self._beside = beside
        self.what, self.wanted, self.done, self.failures = what, wanted, 0, 0
        self._began = self._told = time.monotonic()

    def add(self, more: int) -> None:
        """Add to the count, and print a line if the last one is a minute old."""
        self.done += more
        if time.monotonic() - self._told > EVERY:
            self._told = time.monotonic()
            self.tell(f"of {self.wanted:,} {self.what}")

    def tell(self, what: str) -> None:
        """Print the count, the failures and the time."""
        minutes = (time.monotonic() - self._began) / 60
        # `os.times` covers this process and the children that it has waited for.
        work = sum(os.times()[:4]) + processor_seconds(apart=self._beside)
        took = f"{minutes:.1f} min, {work / 60:.1f} min of a processor"
        print(f"{self.done:,} {what}: {self.failures} failures, {took}", flush=True)

    def fails(self, violation: Violation, again: str) -> None:
        """Print a failure, and how to repeat it."""
        self.failures += 1
        print(f"{violation}\nagain: python -m tests.chaos {again}\n", flush=True)


def simulated(first: int, schedules: int) -> int:
    """Run schedules with ascending seeds; return the number of failures."""
    entries, progress = catalogue(), Progress("schedules", schedules)
    for seed in range(first, first + schedules):
        try:
            simulate(seed, entries)
        except Violation as violation:
            progress.fails(violation, f"--seed {seed}")
        progress.add(1)
    progress.tell(f"schedules of {len(entries)} plans")
    return progress.failures


def real(given: argparse.Namespace, beside: int | None) -> int:
    """Cause real faults, plan by plan; return the number of failures."""
    wanted = given.faults
    progress, kinds = Progress("real faults", wanted, beside), Counter[str]()
    for turn, seed in enumerate(count(given.first, given.step)):
        if progress.done >= wanted and turn >= given.plans:
            break
        try:
            found = faults.run(seed, given.only)
        except Violation as violation:
            progress.fails(violation, f"--fault {seed}")
            found = Counter(["failed"])
        kinds += found
        progress.add(found.total())
    print(", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items())), flush=True)
    progress.tell("real faults")
    # A kind that never happens is a failure: perhaps the processes to kill are never found.
    is_long = progress.done >= MANY and not given.only
    missing = [kind for kind in faults.ALL if is_long and not kinds[kind]]
    if missing:
        print(f"never happened: {', '.join(missing)}", flush=True)
    return progress.failures + len(missing)


def main() -> int:
    """Run what the arguments ask for; return the number of failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, help="run this schedule only")
    parser.add_argument("--fault", type=int, help="run the real faults of this seed only")
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument("--faults", type=int, default=200)
    plans = len(catalogue())
    parser.add_argument("--plans", type=int, default=plans, help="with real faults, at least")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--step", type=int, default=1, help="between seeds of real faults")
    parser.add_argument("--only", choices=sorted({*faults.KINDS}), help="one kind of real fault")
    given = parser.parse_args()
    if given.seed is not None:
        print("\n".join(simulate(given.seed).told))
        return 0
    if given.fault is not None:
        return not faults.run(given.fault, given.only)
    if not given.faults:
        return simulated(given.first, given.schedules)
    beside = None
    if given.schedules:
        # Real queries wait a lot, so the simulator runs in another process meanwhile.
        asked = f"--faults 0 --schedules {given.schedules} --first {given.first}"
        beside = subprocess.Popen([sys.executable, "-m", "tests.chaos", *asked.split()])
    pid = None if beside is None else beside.pid
    failures = real(given, pid)
    return failures + (0 if beside is None else beside.wait())


if __name__ == "__main__":
    sys.exit(bool(main()))
