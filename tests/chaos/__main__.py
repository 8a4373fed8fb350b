"""Run schedules of the simulator and cause real faults, side by side, until there were enough."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from itertools import count

from tests.chaos import faults
from tests.chaos.catalogue import catalogue
from tests.chaos.invariants import Violation
from tests.chaos.simulator import simulate

EVERY = 60.0
"""Seconds from one line of progress to the next."""


def simulated(first: int, schedules: int) -> int:
    """Run schedules with ascending seeds; return the number of failures."""
    entries, failures, told = catalogue(), 0, time.monotonic()
    for seed in range(first, first + schedules):
        try:
            simulate(seed, entries)
        except Violation as violation:
            failures += 1
            print(f"{violation}\nagain: python -m tests.chaos --seed {seed}\n", flush=True)
        if time.monotonic() - told > EVERY:
            told = time.monotonic()
            print(f"{seed + 1 - first:,} schedules, {failures} failures", flush=True)
    print(f"{schedules:,} schedules of {len(entries)} plans: {failures} failures", flush=True)
    return failures


def real(first: int, wanted: int, step: int) -> int:
    """Cause real faults, one kind of query after the other; return the number of failures."""
    done = failures = 0
    for seed in count(first, step):
        if done >= wanted:
            break
        try:
            done += faults.run(seed)
        except Violation as violation:
            failures += 1
            done += 1
            print(f"{violation}\nagain: python -m tests.chaos --fault {seed}\n", flush=True)
    print(f"{done:,} real faults: {failures} failures", flush=True)
    return failures


def main() -> int:
    """Return the number of failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, help="run this schedule only")
    parser.add_argument("--fault", type=int, help="run the real faults of this seed only")
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--step", type=int, default=1, help="between seeds of real faults")
    given = parser.parse_args()
    if given.seed is not None:
        print("\n".join(simulate(given.seed).told))
        return 0
    if given.fault is not None:
        return not faults.run(given.fault)
    if not given.faults:
        return simulated(given.first, given.schedules)
    beside = None
    if given.schedules:
        # Real queries wait a lot: the simulator runs in a process of its own meanwhile.
        asked = f"--faults 0 --schedules {given.schedules} --first {given.first}"
        beside = subprocess.Popen([sys.executable, "-m", "tests.chaos", *asked.split()])
    failures = real(given.first, given.faults, given.step)
    return failures + (0 if beside is None else beside.wait())


if __name__ == "__main__":
    sys.exit(bool(main()))
