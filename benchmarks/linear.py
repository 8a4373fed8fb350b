"""Is the cost of the temporal operators linear?

Each query of `benchmarks.temporal` runs twice, and the second time one quantity is doubled. The
ratio of the two processor times is printed: 2 is linear, and `LIMIT` leaves room for noise. The
first batch finds nothing held and may cost half as much as each later one, so queries have at least
eight batches: then 2.07 is linear, and with four it was 2.14.

    events     twice as many rows, over twice the time
    keys       as many rows, with 500,000 keys and with 1,000,000
    overlap    as many rows, each of which counts for twice as long

Rows of equal time are not doubled here: `tests/operators/temporal/test_equal_times.py` gives each
operator a million of them.

    python -m benchmarks.linear [--rows 2000000] [--only join] [--json]
"""

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from benchmarks.temporal import BATCH, BY_KEY, LONG, SHORT, Run, met, questions, rows_of, sliding
from latecomer import agg
from latecomer.operators.temporal.join import Join

ROWS, KEYS, ROUNDS = 2_000_000, 1_000_000, 3
LIMIT = 2.1
Asked = tuple[Run, pa.Table]


def by_events(count: int) -> Iterator[tuple[str, Asked, Asked]]:
    rows = rows_of(2 * count, 1, "value")
    for name, (ours, _) in questions(rows_of(2 * count, 2, "other")).items():
        yield name, (ours, rows.slice(0, count)), (ours, rows)


def by_keys(count: int) -> Iterator[tuple[str, Asked, Asked]]:
    few, many = (
        (questions(rows_of(count, 2, "other", keys)), rows_of(count, 1, "value", keys))
        for keys in (KEYS // 2, KEYS)
    )
    for name, (ours, _) in few[0].items():
        yield name, (ours, few[1]), (many[0][name][0], many[1])


def by_overlap(count: int) -> Iterator[tuple[str, Asked, Asked]]:
    rows, other = rows_of(count, 1, "value"), rows_of(count, 2, "other")

    def lasting(factor: int) -> dict[str, Run]:
        short, long, joined = factor * SHORT, factor * LONG, factor * LONG // 20
        return {
            "sliding sum": sliding((), short, agg.sum("value")),
            "sliding sum, by key": sliding(("key",), long, agg.sum("value")),
            "sliding max, by key": sliding(("key",), long, agg.max("value")),
            "join, intervals": met(Join(BY_KEY), joined, joined, other),
            "anti-join": met(Join(BY_KEY, "anti"), joined, joined, other),
        }

    longer = lasting(2)
    for name, ours in lasting(1).items():
        yield name, (ours, rows), (longer[name], rows)


DOUBLED = {"events": by_events, "keys": by_keys, "overlap": by_overlap}


def ratio(once: Asked, twice: Asked) -> float:
    """Return the processor time of the second query over that of the first, measured in turns."""
    best = [float("inf"), float("inf")]
    for run, rows in (once, twice):
        run(rows.slice(0, BATCH))
    for _ in range(ROUNDS):
        for which, (run, rows) in enumerate((once, twice)):
            started = time.process_time()
            run(rows)
            best[which] = min(best[which], time.process_time() - started)
    return best[1] / best[0]


def measured(count: int, only: str) -> Iterator[dict[str, Any]]:
    for doubled, asked in DOUBLED.items():
        for name, once, twice in asked(count):
            if only in name:
                found = round(ratio(once, twice), 2)
                yield {
                    "question": name,
                    "doubled": doubled,
                    "rows": count,
                    "ratio": found,
                    "is_linear": found <= LIMIT,
                }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--only", default="", help="questions whose name has this")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    args = parser.parse_args()
    for line in measured(args.rows, args.only):
        if args.json:
            print(json.dumps(line), flush=True)
            continue
        verdict = "" if line["is_linear"] else f", more than {LIMIT}"
        print(
            f"{line['question']:22}twice the {line['doubled']:10}x{line['ratio']}{verdict}",
            flush=True,
        )


if __name__ == "__main__":
    main()
