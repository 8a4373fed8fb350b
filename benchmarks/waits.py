"""What do several waits cost, compared with one wait, and with one query for each wait?

The paper's four queries (Q1 a count per window, Q2 and Q3 a count per window and one of 100 or
1,000 groups, Q4 the five largest of 100 groups) run on simulations of its two logs: the cloud log
with waits of a second, a minute and an hour and windows of a minute; the Android log with waits of
ten minutes, an hour and a day and windows of an hour. There are three parts:

    table2   latency and completeness of each wait (Table II)
    local    throughput and state of several waits, of the basic framework, of one wait (Fig. 10)
    spark    throughput and state on Spark, beside its own watermark with one delay, and three
             queries of that kind

At the end, the worst cells are compared with the goals. With fewer than 15 million rows the cloud
log is shorter than its longest wait, and no window closes after it.

For the methods and checks see `benchmarks.waits_local` and `benchmarks.waits_spark`.

    python -m benchmarks.waits [--rows 20000000] [--quick] [--only local] [--log cloud]
                               [--query Q1] [--window '1 second'] [--json]
"""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from benchmarks.waits_local import EVERY, local, table2
from benchmarks.waits_queries import LOGS, QUERIES

ROWS, QUICK_ROWS = 20_000_000, 2_000_000

Lines = Iterator[dict[str, Any]]


def spark(rows: int, logs: list[str], queries: list[str]) -> Lines:
    # Spark takes a while to start, so it is only started if needed.
    from benchmarks.waits_spark import on_spark

    return on_spark(rows, logs, queries)


QUESTIONS: dict[str, Callable[[int, list[str], list[str]], Lines]] = {
    "table2": table2,
    "local": local,
    "spark": spark,
}

GOALS: dict[str, dict[str, tuple[Callable[..., float], float]]] = {
    "local": {
        "over_basic": (min, 2.5),
        "state_under_basic": (min, 25),
        "overhead_percent": (max, 10),
    },
    "spark": {
        "best_over_spark": (min, 0.9),
        "best_over_three": (min, 2.5),
        "overhead_percent": (max, 10),
    },
}
"""For each part, which of its cells is the worst, and the goal for it. On Spark the faster of
states in buckets and states on the driver counts, because users can choose between them. State is
judged on the cloud log: on the other log most events are hours late, and the paper saves little
there, too."""


def goals(lines: list[dict[str, Any]]) -> Lines:
    for question, wanted in GOALS.items():
        cells = [line for line in lines if line["cell"].startswith(question)]
        for name, (worst, goal) in wanted.items():
            found = {
                line["cell"]: line[name] for line in cells if name in line and _judged(line, name)
            }
            if found:
                at = worst(found, key=found.__getitem__)
                is_met = worst(found[at], goal) == goal
                yield {
                    "cell": f"goal {question} {name}",
                    "goal": goal,
                    "worst": found[at],
                    "where": at,
                    "is_met": is_met,
                }


def _judged(line: dict[str, Any], name: str) -> bool:
    small = f"every {EVERY[-1]:,}"
    return not line["cell"].endswith(small) and (
        name != "state_under_basic" or "cloud" in line["cell"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows")
    parser.add_argument("--only", choices=QUESTIONS, help="one of the questions")
    parser.add_argument("--log", choices=LOGS, help="one of the logs")
    parser.add_argument("--query", choices=QUERIES, help="one of the queries")
    parser.add_argument("--window", help="how long windows are, for example '1 second'")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    rows = QUICK_ROWS if arguments.quick else arguments.rows
    logs = [arguments.log] if arguments.log else list(LOGS)
    if arguments.window:
        LOGS.update({name: replace(LOGS[name], window=arguments.window) for name in logs})
    queries = [arguments.query] if arguments.query else list(QUERIES)

    def say(line: dict[str, Any]) -> None:
        line = {"benchmark": "waits", "rows": rows} | line
        words = "\n  ".join(f"{key} {value}" for key, value in line.items())
        print(json.dumps(line) if arguments.json else words, flush=True)

    said = []
    for name in [arguments.only] if arguments.only else QUESTIONS:
        for line in QUESTIONS[name](rows, logs, queries):
            say(line)
            said.append(line)
    for line in goals(said):
        say(line)


if __name__ == "__main__":
    main()
