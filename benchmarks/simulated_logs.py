"""Are the simulated logs disordered like the real ones, and how long does measuring them take?

Both logs are generated, measured, and compared with the paper's numbers: Table I of Impatience Is a
Virtue, and the shares in time in its Section VI-D. The kernels are compiled before the clock
starts; `benchmarks.kernel_start` measures that.

    python -m benchmarks.simulated_logs [--rows 20000000] [--seed 3] [--quick] [--json]
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from latecomer.generate.logs import android_log, cloud_log
from latecomer.profile.measures import Measures, delay_counts, measure, order_measures
from latecomer.time import HOUR, SECOND

PAPER_ROWS = 20_000_000
QUICK_ROWS = 2_000_000


@dataclass(frozen=True)
class Log:
    make: Callable[[int, int], pa.Table]
    paper: Measures
    waits: dict[str, int]
    paper_percent_in_time: dict[str, float]


LOGS = {
    "cloud": Log(
        cloud_log,
        Measures(53_541_688_892, 13_635_714, 7_382_495, 387),
        {"1 second": SECOND, "1 minute": 60 * SECOND, "1 hour": HOUR},
        {"1 second": 98.1, "1 hour": 100.0},
    ),
    "android": Log(
        android_log,
        Measures(73_004_914_227_284, 19_990_056, 5_560, 227),
        {"10 minutes": 600 * SECOND, "1 hour": HOUR, "1 day": 24 * HOUR},
        {"10 minutes": 20.5, "1 day": 92.2},
    ),
}


def compare(log: Log, rows: int, seed: int) -> dict[str, Any]:
    began = time.perf_counter()
    table = log.make(rows, seed)
    made = time.perf_counter()
    times = table["time"].to_numpy()
    del table
    found = asdict(order_measures(times))
    measured = time.perf_counter()
    counts = delay_counts(times).in_time(list(log.waits.values()))
    paper = asdict(log.paper)
    # The paper's numbers are for 20 million rows; with fewer, there is nothing to compare.
    ratios = {name: round(found[name] / paper[name], 5) for name in paper}
    return {
        **found,
        "paper": paper,
        "ratio_to_paper": ratios if rows == PAPER_ROWS else None,
        "percent_in_time": {
            wait: round(100 * count / rows, 3)
            for wait, count in zip(log.waits, counts, strict=True)
        },
        "paper_percent_in_time": log.paper_percent_in_time,
        "percent_out_of_order": round(100 * measure(times).share, 2),
        "make_seconds": round(made - began, 2),
        "measure_seconds": round(measured - made, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=PAPER_ROWS)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    rows = QUICK_ROWS if arguments.quick else arguments.rows
    order_measures(pa.table({"time": [2, 1]})["time"].to_numpy())
    for name, log in LOGS.items():
        result = {"benchmark": "simulated_logs", "log": name, "rows": rows, "seed": arguments.seed}
        result |= compare(log, rows, arguments.seed)
        line = "\n  ".join(f"{key} {value}" for key, value in result.items())
        print(json.dumps(result) if arguments.json else line, flush=True)


if __name__ == "__main__":
    main()
