"""What could a join save if the rows of its streams were sorted by key, as in Trill (Section 9.3)?

The queries are the joins of `benchmarks.temporal`. Printed are shares of the processor time of the
whole join:

    coding       to give keys numbers, which rows sorted by key have by counting
    lookups      to look rows up by key: what sweeping the rows of a batch takes longer than
                 sweeping the same rows sorted by key, with the same kernel
    back         to put the pairs into order of time again, which all that follows needs
    saved        coding and lookups, less the way back: no mode could save more

    python -m benchmarks.key_order [--rows 2000000] [--json]
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.temporal import BATCH, BY_KEY, KEYS, LONG, TIME, met, rows_of
from latecomer.kernels.order import stable_order
from latecomer.kernels.overlaps import overlapping
from latecomer.operators.temporal.alter import Alter
from latecomer.operators.temporal.binary import codes_of
from latecomer.operators.temporal.edges import Edges
from latecomer.operators.temporal.join import Join
from latecomer.operators.temporal.lifetimes import POINT, Lifetimes

ROUNDS = 5
LASTING: dict[str, tuple[int | None, int]] = {
    "join, points": (None, LONG // 10),
    "join, intervals": (LONG // 20, LONG // 20),
}
APART = 1 << 42
"""Distance in time between two keys, so that sweeping by time is sweeping by key."""

Swept = tuple[np.ndarray[Any, Any], ...]


def seconds(asked: Callable[[], object]) -> float:
    asked()
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        asked()
        best = min(best, time.process_time() - started)
    return best


def shares(sides: list[pa.Table], lasting: tuple[int | None, int]) -> dict[str, float]:
    count = sides[0].num_rows
    run = met(Join(BY_KEY), *lasting, sides[1])
    whole = seconds(lambda: run(sides[0])) * BATCH / count
    parts = []
    for side, duration in zip(sides, lasting, strict=True):
        rows = Lifetimes(TIME).of_rows(side.slice(count // 2, BATCH))
        parts.append(Edges.of(Alter(POINT if duration is None else duration).of_rows(rows)))
    keyed = [(part, ("key",)) for part in parts]
    codes, keys = codes_of(keyed, nulls=False)
    old = np.zeros(3, np.int64)

    def swept(arrays: Swept) -> Swept:
        found: Swept = overlapping(*arrays, keys, old, BATCH)
        return found

    both = [
        (code, part.at - parts[0].at[0], part.other - parts[0].at[0])
        for part, code in zip(parts, codes, strict=True)
    ]
    by_time = [np.concatenate(each) for each in zip(*both, strict=True)]
    sorted_by_key = [
        (code[order], (at + code * APART)[order], (other + code * APART)[order])
        for code, at, other in both
        for order in [np.lexsort((at, code))]
    ]
    by_key = [np.concatenate(each) for each in zip(*sorted_by_key, strict=True)]
    lefts, rights = swept(tuple(by_key))
    assert len(lefts) == len(swept(tuple(by_time))[0])
    begins = np.maximum(by_key[1][:BATCH][lefts], by_key[1][BATCH:][rights]) % APART

    def back() -> Swept:
        order = stable_order(begins)
        return lefts[order], rights[order]

    coding = seconds(lambda: codes_of(keyed, nulls=False)) / whole
    lookups = seconds(lambda: swept(tuple(by_time))) - seconds(lambda: swept(tuple(by_key)))
    found = {"coding": coding, "lookups": lookups / whole, "back": seconds(back) / whole}
    return found | {"saved": found["coding"] + found["lookups"] - found["back"]}


def measured(count: int) -> Iterator[dict[str, Any]]:
    for keys, kind in ((KEYS, pa.int32()), (KEYS, pa.string()), (1_000_000, pa.int32())):
        sides = [rows_of(count, seed, name, keys) for seed, name in ((1, "value"), (2, "other"))]
        sides = [side.set_column(1, "key", side["key"].cast(kind)) for side in sides]
        for name, lasting in LASTING.items():
            found = {what: round(share, 3) for what, share in shares(sides, lasting).items()}
            yield {"question": name, "keys": keys, "type": str(kind)} | found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of each stream")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    args = parser.parse_args()
    for line in measured(args.rows):
        told = "  ".join(f"{key} {value}" for key, value in line.items())
        print(json.dumps(line) if args.json else told, flush=True)


if __name__ == "__main__":
    main()
