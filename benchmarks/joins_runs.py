"""Play streams through the loop, and measure what came of it.

average_wait      in seconds, over all intervals
below_max         by how much less than Max-K-slack waits on the same streams
wait_low, _high   nine waits of ten are between these
wait_moves        from one interval to the next, on average: a loop that swings moves much
fulfilled         Φ(Γ): the share of measurements in which the recall of the last period, up to
                  the clock of the join, is the one asked for; the first period is left out,
                  and periods without results. Waits without a recall are held against 99 %
nearly            Φ(.99Γ): the same for 99 % of the recall asked for
recall, lowest    of all measurements, on average and the lowest
foreseen          of fixed waits: how far the recall of a period is known from that of the period
                  before it, as a correlation. Near 0, no feedback can know which periods are bad
step_ms           how long it takes to choose a wait: the median, and the mean
tuples_per_second    through the whole loop, on one core
"""

from dataclasses import dataclass
from time import process_time, thread_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.joins_data import SECOND, Data, rows_of
from latecomer.operators.window_join.buffer_size_manager import Quality
from latecomer.operators.window_join.joiner import Probes
from latecomer.operators.window_join.loop import JoinLoop, Wait, intervals
from latecomer.operators.window_join.reordering import Arrivals
from latecomer.operators.window_join.result_size_monitor import ResultSizeMonitor

COMPARED = 0.99
"""The recall that waits without one are held against."""
PERIOD = Quality(COMPARED).period // Quality(COMPARED).interval
"""Number of measurements in a period, of waits without a recall."""


@dataclass(frozen=True)
class Run:
    """One way through the streams."""

    wait: Wait
    waits: np.ndarray
    """In seconds, of each interval."""
    recalls: np.ndarray
    steps: np.ndarray
    """How long it took to choose each wait, in milliseconds."""
    tuples_per_second: float


def played(data: Data, wait: Wait) -> Run:
    asked = wait if isinstance(wait, Quality) else Quality(1.0)
    began = process_time()
    loop = JoinLoop(data.query, rows_of(data.tables, data.query), wait, "counts")
    steps = [_step(loop, part) for part in intervals(data.arrivals, asked.interval)]
    spent = process_time() - began
    return Run(
        wait,
        np.array([step.wait for step in steps]) / SECOND,
        _recalls(steps, data.true, asked.period),
        np.array([step.seconds for step in steps]) * 1e3,
        len(data.arrivals) / spent,
    )


class _Step(NamedTuple):
    """One interval: its wait, what was joined, the clock, and the time to choose a wait."""

    wait: int
    probes: Probes
    clock: int
    seconds: float


def _step(loop: JoinLoop, arrivals: Arrivals) -> _Step:
    wait, probes, began = loop.wait, loop.take_in(arrivals), thread_time()
    loop.choose()
    return _Step(wait, probes, loop.clock, thread_time() - began)


def _recalls(steps: list[_Step], true: ResultSizeMonitor, period: int) -> np.ndarray:
    """Measure the recall of the last period at the end of each interval."""
    produced, measured, first = ResultSizeMonitor(), [], None
    for step in steps:
        probes = step.probes
        produced.add(probes.tuples.times[probes.in_order], probes.joined[probes.in_order])
        if first is None and len(probes.tuples):
            first = int(probes.tuples.times[0])
        # Results at the clock itself may still follow.
        since, until = step.clock - period, step.clock - 1
        if first is not None and since > first and (count := true.count(since, until)):
            measured.append(produced.count(since, until) / count)
    return np.array(measured)


def told(run: Run, longest: float) -> dict[str, Any]:
    """Sum up a run; `longest` is the average wait of Max-K-slack."""
    low, high = np.quantile(run.waits, [0.05, 0.95])
    found: dict[str, Any] = {
        "average_wait": round(float(run.waits.mean()), 3),
        "below_max": round(float(1 - run.waits.mean() / longest), 4),
        "wait_low": round(float(low), 3),
        "wait_high": round(float(high), 3),
        "wait_moves": round(float(np.abs(np.diff(run.waits)).mean()), 4),
    }
    # Streams shorter than the period have no recall.
    if len(run.recalls):
        goal = run.wait.recall if isinstance(run.wait, Quality) else COMPARED
        found |= {
            "fulfilled": round(float((run.recalls >= goal).mean()), 4),
            "nearly": round(float((run.recalls >= 0.99 * goal).mean()), 4),
            "recall": round(float(run.recalls.mean()), 5),
            "lowest": round(float(run.recalls.min()), 5),
        }
    if isinstance(run.wait, int) and run.wait and len(run.recalls) > 2 * PERIOD:
        before, after = run.recalls[:-PERIOD], run.recalls[PERIOD:]
        found["foreseen"] = round(float(np.corrcoef(before, after)[0, 1]), 3)
    return found | {
        "step_ms": round(float(np.median(run.steps)), 3),
        "step_ms_mean": round(float(run.steps.mean()), 3),
        "tuples_per_second": round(run.tuples_per_second),
    }
