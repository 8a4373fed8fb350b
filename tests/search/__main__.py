"""Search for wrong results until the time is up, and print each failure as a minimal case."""

from __future__ import annotations

import argparse
import random
import sys
import time

from tests.search.cases import failure, smallest
from tests.search.kinds import KINDS

EVERY = 60.0
"""Seconds between two lines of progress."""


def search(seconds: float, seed: int, kinds: list[str]) -> int:
    """Try all kinds with each seed, from `seed` upwards; return the number of failures."""
    began = told = time.monotonic()
    cases = failures = 0
    while time.monotonic() - began < seconds:
        for name in kinds:
            kind, cases = KINDS[name], cases + 1
            case = kind.draw(random.Random(seed))
            if failure(kind, case) is not None:
                failures += 1
                case = smallest(case, lambda each, kind=kind: failure(kind, each) is not None)
                print(f"{name}, seed {seed}:\n{case}\n{failure(kind, case)}\n", flush=True)
        seed += 1
        if time.monotonic() - told > EVERY:
            told = time.monotonic()
            print(f"{cases:,} cases, {failures} failures, seed {seed}", flush=True)
    print(f"{cases:,} cases of {', '.join(kinds)}: {failures} failures")
    return failures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS, action="append")
    given = parser.parse_args()
    sys.exit(bool(search(given.seconds, given.seed, given.kind or list(KINDS))))
