"""How long does a stream with a stated recall wait, and does it reach the recall?

Each stream is sorted once for three recalls, in micro-batches, on the local host. For comparison it
is also sorted with one fixed wait, and with three. Two streams are also counted in windows.

    recall          share of the rows in time; with windows, of the rows in time for their windows
    settled         the same without the first tenth of the micro-batches, which show the delays
    average_wait    in seconds, over all micro-batches
    best_fixed_wait    the shortest fixed wait with this recall, known only afterwards. If delays
                    change, it is too long most of the time
    longest_delay   the wait that keeps all rows
    over_fixed      time over that of one fixed wait, the best one for 0.999. The recalls give
                three results and mark each of their rows; the fixed wait gives one
    over_waits      time over that of the three best fixed waits, which give as many results; the
                difference is the time to choose the waits and report them
    extra_ms        additional time of a micro-batch, compared with one fixed wait
    step_ms         time to choose the three waits and to report them, once in each micro-batch:
                    the median

Times are processor times, the shortest of three runs; the compared runs take turns. Each run
includes the end of the stream, so that all rows come out. Otherwise a fixed wait nearly as long as
the stream, such as that of the Android log, would hold rows without sorting them. Micro-batches
here are small, from 40 to 10,000 rows. Most of `over_fixed` is work for each micro-batch, not for
each row, so it is smaller with larger micro-batches.

The streams are the paper's synthetic one; the same with delays that grow tenfold in the second
third; one of which a quarter falls behind and catches up, eight times; the two simulated logs; four
times as much of the cloud log, whose stragglers come in a few groups; and a year of flights, which
arrive when they land. `--file` names another stream: a Parquet file with the columns `time` and
`arrival`, whose micro-batches are days.

With `--within "1 day"` each period of that length must reach the recall by itself. `periods` and
`short` are the numbers of all periods and of those that missed it. `short_without` and
`average_wait_without` are the same without `within`. Only sorts are measured this way. Without any
option, flights are also measured with each day as a period.

    python -m benchmarks.recall [--rows 1000000] [--seed 3] [--stream NAME] [--file FILE]
        [--within TIME] [--json]
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from latecomer import agg
from latecomer.clock.policy import ClockByRecall, OneClock
from latecomer.demo.flights import read_flights
from latecomer.generate.logs import android_log, cloud_log
from latecomer.generate.synthetic import synthetic
from latecomer.hosts.local import LocalHost
from latecomer.hosts.recall_report import Measured, report
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.base import Operator
from latecomer.operators.levels import Levels
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.time import NEVER, TimeColumn, parse_duration
from latecomer.waits.adaptation import Adaptation

SECOND = 1_000_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR
RECALLS = (0.9, 0.99, 0.999)
TIME = TimeColumn("time")
SEED = 3
RUNS = 3


class Stream(NamedTuple):
    times: np.ndarray
    """Times in microseconds, in order of arrival."""
    cuts: np.ndarray
    """Positions at which micro-batches begin."""
    window: int | None = None


def every(times: np.ndarray, rows: int, window: int | None = None) -> Stream:
    return Stream(times, np.arange(rows, len(times), rows), window)


def moved(rows: int, seed: int) -> Stream:
    times = synthetic(rows, percent=30, amount=64, seed=seed)["time"].to_numpy()
    return every(times * 1_000, 1_000)


def changing(rows: int, seed: int) -> Stream:
    third = rows // 3
    parts = [
        synthetic(third, percent=30, amount=amount, seed=seed)["time"].to_numpy() + number * third
        for number, amount in enumerate((64, 640, 64))
    ]
    return every(np.concatenate(parts) * 1_000, 1_000)


def backlogs(rows: int, seed: int) -> Stream:
    """Return a row a millisecond. A quarter of them falls behind by half a second each second."""
    random = np.random.default_rng(seed)
    times = np.arange(rows) * 1_000
    delays = random.exponential(5_000, rows)
    is_slow = random.random(rows) < 0.25
    for start in np.sort(random.uniform(0.05, 0.9, 8)) * times[-1]:
        length = random.uniform(0.5, 1.5) * times[-1] / 60
        gone = np.clip((times - start) / length, 0, 2)
        delays += is_slow * np.minimum(gone, 2 - gone) * length / 2
    return every(times[np.argsort(times + delays, kind="stable")], 1_000)


def recorded(path: str) -> Stream:
    table = pq.read_table(path, columns=["time", "arrival"]).sort_by("arrival")
    times, arrivals = (table[name].cast(pa.int64()).to_numpy() for name in table.column_names)
    days = np.arange(arrivals[0] // DAY * DAY + DAY, arrivals[-1], DAY)
    return Stream(times, np.unique(np.searchsorted(arrivals, days)))


def cloud(rows: int, seed: int) -> Stream:
    return every(cloud_log(rows, seed)["time"].to_numpy(), 10_000, SECOND)


def android(rows: int, seed: int) -> Stream:
    return every(android_log(rows, seed)["time"].to_numpy(), rows // 100)


def flights(rows: int, _seed: int) -> Stream:
    table = read_flights().select(["departed", "landed"]).slice(0, rows).drop_null()
    times, arrivals = (table[name].cast(pa.int64()).to_numpy() for name in table.column_names)
    hours = np.arange(arrivals[0], arrivals[-1], HOUR)
    return Stream(times, np.unique(np.searchsorted(arrivals, hours))[1:], HOUR)


STREAMS: dict[str, Callable[[int, int], Stream]] = {
    "synthetic": moved,
    "changing": changing,
    "backlogs": backlogs,
    "cloud": cloud,
    "long cloud": lambda rows, seed: cloud(4 * rows, seed),
    "android": android,
    "flights": flights,
}


def plan(operator: Operator, within: int | None = None) -> Plan:
    clock = ClockByRecall(recalls=RECALLS, within=within)
    return Plan(Source(TIME), clock, "drop", (Stage((), (operator,)),))


def timed(plans: Sequence[Plan], stream: Stream) -> tuple[list[pa.Table], list[float]]:
    """Run plans in turns; return the reports of the first plan, and the shortest time of each.

    The first run of a plan may also load kernels.
    """
    runs = [[played(each, stream) for each in plans] for _ in range(RUNS)]
    return runs[0][0][0], [min(spent for _, spent in own) for own in zip(*runs, strict=True)]


def played(asked: Plan, stream: Stream) -> tuple[list[pa.Table], float]:
    """Run a stream to its end; return the reports of the recall, and the processor time."""
    tables = [
        pa.table({"time": pa.array(part).view(pa.timestamp("us", "UTC"))})
        for part in np.split(stream.times, stream.cuts)
    ]
    host = LocalHost(asked, tables[0].schema)
    began = process_time()
    reports = [host.step(table).recall for table in tables]
    host.finish()
    return reports, process_time() - began


def chosen(stream: Stream, windows: Windows | None) -> float:
    """Return the median time to choose and report the waits of a micro-batch, in milliseconds."""
    adaptation, newest, spent = Adaptation(RECALLS), NEVER, []
    for part in np.split(stream.times, stream.cuts):
        began = process_time()
        adaptation.advance(newest)
        adaptation.observe(newest, part, partial(ends_of, windows=windows))
        if newest != NEVER:
            measured = [
                Measured(recall, wait, len(part), 0, wait and adaptation.extrapolated(level, wait))
                for level, (recall, wait) in enumerate(zip(RECALLS, adaptation.waited, strict=True))
            ]
            list(report(newest, measured))
        newest = max(newest, int(part.max()))
        spent.append(process_time() - began)
    return float(np.median(spent)) * 1e3


def waits_for(waits: np.ndarray) -> tuple[int, ...]:
    """Return the best fixed waits, each at least a microsecond longer than the one before."""
    found: list[int] = []
    for recall in RECALLS:
        best = int(waits[int(recall * len(waits))])
        found.append(max(best, found[-1] + 1 if found else 0))
    return tuple(found)


def fixed(operator: Operator, waits: tuple[int, ...]) -> Plan:
    """Return the plan with fixed waits."""
    if isinstance(operator, Aggregation):
        operator = replace(operator, waits=waits)
    elif len(waits) > 1:
        operator = Levels(TIME, waits)
    return replace(plan(operator), clock=OneClock(waits))


def ends_of(times: np.ndarray, windows: Windows | None) -> np.ndarray:
    """Return the last watermark at which each row is in time."""
    return times if windows is None else windows.first_ends(windows.panes(times)) - 1


def needed(stream: Stream, windows: Windows | None) -> np.ndarray:
    """Return the waits that the rows would have needed, ascending. The clock advances first."""
    newest = np.maximum.accumulate([part.max() for part in np.split(stream.times, stream.cuts)])
    sizes = np.diff([*stream.cuts, len(stream.times)])
    clocks = np.repeat(newest[:-1] // 1_000 * 1_000, sizes)
    times = stream.times[stream.cuts[0] :]
    delays = np.maximum(clocks - ends_of(times, windows), 0)
    return np.sort(np.concatenate([np.zeros(stream.cuts[0], np.int64), delays]))


def fallen_short(
    reports: list[pa.Table], without: list[pa.Table], level: int
) -> dict[str, int | float]:
    """Count the periods that missed the recall, in runs with a reserve and without one."""
    periods = np.cumsum([row["periods"][level].as_py() for row in reports])
    rows, plain = (
        [report.slice(level, 1).to_pylist()[0] for report in run] for run in (reports, without)
    )
    missed, total = np.zeros(periods[-1] + 1), np.zeros(periods[-1] + 1)
    # A micro-batch in which a period ends is the first one of the next period.
    np.add.at(missed, periods, [row["missed"] for row in plain])
    np.add.at(total, periods, [row["missed"] + row["produced"] for row in plain])
    short = missed[:-1] > (1 - RECALLS[level] + 1e-12) * total[:-1]
    waits = [row["wait"] / 1_000 for row in plain if row["wait"] is not None]
    return {
        "periods": int(periods[-1]),
        "short": sum(row["short"] for row in rows),
        "short_without": int(short.sum()),
        "average_wait_without": round(float(np.mean(waits)), 3),
    }


def measured(
    name: str, stream: Stream, windows: Windows | None, within: int | None = None
) -> Iterator[dict[str, Any]]:
    summary = Summary((), (("n", agg.count()),))
    operator = Sort(TIME) if windows is None else Aggregation(TIME, windows, (0,), (summary,))
    asked = plan(operator, within)
    waits = needed(stream, windows)
    plans = [asked, *(fixed(operator, each) for each in (waits_for(waits)[-1:], waits_for(waits)))]
    reports, (seconds, alone, all_waits) = timed(plans, stream)
    without = played(plan(operator), stream)[0] if within else []
    step = min(chosen(stream, windows) for _ in range(2))
    for level, recall in enumerate(RECALLS):
        told = [
            (row["produced"], row["missed"], row["wait"])
            for report in reports
            for row in report.slice(level, 1).to_pylist()
        ]
        produced, missed = np.array([row[:2] for row in told]).T
        since = len(told) // 10
        waited = [row[2] / 1_000 for row in told if row[2] is not None]
        best = waits[min(int(np.ceil(recall * len(waits))), len(waits)) - 1]
        yield {
            "benchmark": "recall",
            "stream": name,
            "query": "sort" if windows is None else "windows",
            "rows": len(stream.times),
            "micro_batches": len(told),
            "recall_asked": recall,
            "recall": round(float(produced.sum() / len(stream.times)), 5),
            "settled": round(
                float(1 - missed[since:].sum() / (produced + missed)[since:].sum()), 5
            ),
            "average_wait": round(float(np.mean(waited)), 3),
            "best_fixed_wait": round(best / SECOND, 3),
            "longest_delay": round(waits[-1] / SECOND, 3),
            "rows_per_second": round(len(stream.times) / seconds),
            "over_fixed": round(seconds / alone, 2),
            "over_waits": round(seconds / all_waits, 2),
            "extra_ms": round((seconds - alone) / len(told) * 1e3, 3),
            "step_ms": round(step, 3),
            **({"within": within / SECOND} if within else {}),
            **(fallen_short(reports, without, level) if within else {}),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--stream", choices=STREAMS, help="only this one")
    parser.add_argument("--file", help="a Parquet file with a stream of one's own instead")
    parser.add_argument("--within", help="the length of periods that are to have the recall")
    args = parser.parse_args()
    within = parse_duration(args.within, "within") if args.within else None
    names = [args.stream] if args.stream else [args.file] if args.file else list(STREAMS)
    runs = [(name, within) for name in names]
    if names == list(STREAMS) and within is None:
        runs.append(("flights", DAY))
    for name, within in runs:
        stream = recorded(name) if args.file else STREAMS[name](args.rows, args.seed)
        windows = None if stream.window is None else Windows(stream.window, stream.window)
        for each in [None] if windows is None or within else [None, windows]:
            for line in measured(name, stream, each, within):
                words = "  ".join(f"{key} {value}" for key, value in line.items())
                print(json.dumps(line) if args.json else words, flush=True)


if __name__ == "__main__":
    main()
