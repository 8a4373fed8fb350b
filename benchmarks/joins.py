"""How long must streams wait to be joined with a recall of 90, 95, 99 or 99.9 %?

Repeats Section VI of the paper on quality-driven joins, on the streams that `latecomer simulate`
makes: three joined by one key within 5 s (D×3), and four, of which three share a key each with the
first, within 3 s (D×4). Results are counted, not found: where keys are all alike there are 10^11.

    wait            none (No-K-slack), max (Max-K-slack), or else whatever a recall takes
    average_wait    in seconds, over all intervals
    fulfilled       Φ(Γ): the share of measurements in which the recall of the last minute, up to
                    the clock of the join, is the one asked for; the first minute is left out
    nearly          Φ(.99Γ): the same for 99 % of the recall asked for
    recall, lowest  of all measurements, on average and the lowest
    step_ms         how long it takes to choose a wait, the median
    tuples_per_second    through the whole loop, on one core

    python -m benchmarks.joins [--streams 3] [--minutes 30] [--seed 1] [--recall 0.99] [--json]
"""

import argparse
import json
from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

from latecomer.generate.join_streams import join_streams
from latecomer.joins.buffer_size_manager import Quality
from latecomer.joins.equalities import Equalities, Pair
from latecomer.joins.loop import (
    QualityDrivenJoin,
    Step,
    Wait,
    in_order_of_arrival,
    intervals,
    rows_of,
)
from latecomer.joins.reordering import Arrivals
from latecomer.joins.result_size_monitor import ResultSizeMonitor
from latecomer.joins.tuples import Tuples
from latecomer.joins.window_join import WindowJoin

SECOND = 1_000_000
PERIOD, INTERVAL = 60 * SECOND, SECOND
RECALLS = (0.9, 0.95, 0.99, 0.999)
QUERIES = {
    3: WindowJoin((5 * SECOND,) * 3, Equalities.common("a1", "a1", "a1")),
    4: WindowJoin(
        (3 * SECOND,) * 4,
        Equalities(4, tuple(Pair(0, f"a{i}", i, f"a{i}") for i in (1, 2, 3))),
    ),
}


def true_results(
    query: WindowJoin, arrivals: Arrivals, tables: list[pa.Table]
) -> ResultSizeMonitor:
    """Join the same tuples in order of time."""
    joiner = query.start([table.schema for table in tables], "counts")
    found, rows = ResultSizeMonitor(), rows_of(tables)
    order = np.argsort(arrivals.times, kind="stable")
    for some in np.array_split(order, max(len(order) // 1_000, 1)):
        part = arrivals.take(some)
        tuples = Tuples(part.streams, part.times, part.rows, np.zeros(len(some), np.int64))
        found.add(part.times, joiner.push(tuples, rows(tuples)).joined)
    return found


def played(
    query: WindowJoin, arrivals: Arrivals, tables: list[pa.Table], wait: Wait
) -> tuple[list[Step], float]:
    schemas = [table.schema for table in tables]
    loop = QualityDrivenJoin(query, schemas, rows_of(tables), wait, "counts")
    began = process_time()
    steps = [loop.push(part) for part in intervals(arrivals, INTERVAL)]
    return steps, process_time() - began


def recalls(steps: list[Step], true: ResultSizeMonitor) -> np.ndarray:
    """Measure the recall of the last period at the end of each interval."""
    produced, measured = ResultSizeMonitor(), []
    for step in steps:
        in_order = step.probes.in_order
        produced.add(step.probes.tuples.times[in_order], step.probes.joined[in_order])
        # Those at the clock itself may still follow.
        since, until = step.clock - PERIOD, step.clock - 1
        if since > 0:
            measured.append(produced.count(since, until) / max(true.count(since, until), 1))
    return np.array(measured)


def asked(recall: float | None) -> Iterator[tuple[dict[str, Any], Wait]]:
    yield {"wait": "none"}, 0
    yield {"wait": "max"}, "max"
    for each in RECALLS if recall is None else (recall,):
        for selectivity in ("EqSel", "NonEqSel"):
            for feedback in ("none", "paper", "calibrated"):
                words = {"selectivity": selectivity, "feedback": feedback}
                yield {"recall_asked": each} | words, Quality(each, **words)  # type: ignore[arg-type]


def measured(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for streams in (3, 4) if args.streams is None else (args.streams,):
        tables = list(join_streams(streams, seed=args.seed, minutes=args.minutes).values())
        times, comes = (
            [table[name].to_numpy() for table in tables] for name in ("time", "arrival")
        )
        tables = [table.drop(["time", "arrival"]) for table in tables]
        arrivals = in_order_of_arrival(times, comes)
        query = QUERIES[streams]
        true = true_results(query, arrivals, tables)
        # Compile everything before anything is timed.
        played(query, arrivals.take(slice(0, 2_000)), tables, Quality(0.9))
        for words, wait in asked(args.recall):
            steps, seconds = played(query, arrivals, tables, wait)
            got = recalls(steps, true)
            goal = words.get("recall_asked", 0.0)
            yield (
                {"benchmark": "joins", "streams": streams}
                | words
                | {
                    "average_wait": round(
                        float(np.mean([step.wait for step in steps])) / SECOND, 3
                    ),
                    "fulfilled": round(float((got >= goal).mean()), 4),
                    "nearly": round(float((got >= 0.99 * goal).mean()), 4),
                    "recall": round(float(got.mean()), 5),
                    "lowest": round(float(got.min()), 5),
                    "step_ms": round(1e3 * float(np.median([step.seconds for step in steps])), 3),
                    "tuples_per_second": round(len(arrivals) / seconds),
                }
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--streams", type=int, choices=(3, 4))
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--recall", type=float)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    args = parser.parse_args()
    for line in measured(args):
        words = "  ".join(f"{key} {value}" for key, value in line.items())
        print(json.dumps(line) if args.json else words, flush=True)


if __name__ == "__main__":
    main()
