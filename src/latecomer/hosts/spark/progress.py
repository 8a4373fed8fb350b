"""What a query tells of itself: how many rows it has put out, and when they came.

Each micro-batch counts its outputs, and Spark reports that with the progress of the query. A query
whose states are on the driver counts for itself, because Spark does not see what it does.
"""

from collections import Counter, deque
from collections.abc import Iterable
from datetime import timedelta
from itertools import accumulate, count

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.utils import is_remote

from latecomer.errors import OptionError
from latecomer.hosts.late import AHEAD
from latecomer.hosts.output import FOLDED, IN_TIME, levels
from latecomer.hosts.recall_report import (
    HELD,
    MISSED,
    PERIODS,
    PRODUCED,
    SHORT,
    WAITED,
    Achieved,
    Target,
    counted,
    target_of,
)
from latecomer.plan import Plan

Tallies = deque[dict[str, int]]
"""What each micro-batch put out: how many rows of which output."""

_COUNTED = ("ready", "late", "dropped", AHEAD)
_SUMMED = (PRODUCED, MISSED, PERIODS, SHORT)
_metric_numbers = count(1)
_remembered: dict[str, Tallies | None] = {}
REMEMBERED = 100
"""How many micro-batches Spark remembers, if nothing else is said."""


def observed(packed: DataFrame, plan: Plan) -> DataFrame:
    """Let Spark count the rows of all outputs, and report it."""
    # Two streams may meet in one query, which wants each metric to have a name of its own.
    metric = f"latecomer_{next(_metric_numbers)}"
    names = [*_COUNTED, *levels(plan.clock)]
    names += [counted(what, target) for target in plan.targets for what in _SUMMED]
    waits = [counted(WAITED, target) for target in plan.targets]
    held = [counted(HELD, target) for target in plan.targets]
    told = (*map(_longest_of, waits), *map(_sum_of, held))
    return packed.observe(metric, *map(_rows_of, names), *told)


def counts(query: StreamingQuery) -> dict[str, int]:
    """Add up what the progress of a query reports of its micro-batches."""
    return {name: sum(row.get(name, 0) for row in _told(query)) for name in _COUNTED}


def recall(query: StreamingQuery) -> dict[timedelta | Target, Achieved]:
    """Add up what was in time and what was missed, for each of several waits or recalls."""
    return _of_waits(query) | _of_targets(query)


def _of_waits(query: StreamingQuery) -> dict[timedelta | Target, Achieved]:
    """Compare what each wait had seen with all that came for the same windows.

    That is what the last wait had seen, and the rows that have corrected it.
    """
    seen: Counter[int] = Counter()
    folded = 0
    for row in _told(query):
        folded += row.get(FOLDED, 0)
        for name, rows in row.items():
            if name.startswith(IN_TIME):
                seen[int(name.removeprefix(IN_TIME))] += rows
    every = seen.total() + folded
    waits = sorted(seen) if every else []
    totals = accumulate(seen[wait] for wait in waits)
    return {
        timedelta(microseconds=wait): Achieved(total, every - total, timedelta(microseconds=wait))
        for wait, total in zip(waits, totals, strict=True)
    }


def _of_targets(query: StreamingQuery) -> dict[timedelta | Target, Achieved]:
    """Add up what was produced and missed for each target; the wait is the last one told."""
    sums: Counter[tuple[Target, str]] = Counter()
    waits: dict[Target, int] = {}
    held: dict[Target, int] = {}
    for row in _told(query):
        for name, value in row.items():
            what = name.partition("_")[0]
            if what == HELD and value is not None:
                held[target_of(name, what)] = value
            if what in _SUMMED:
                sums[target_of(name, what), what] += value
            elif what == WAITED and value is not None:
                waits[target_of(name, what)] = value
    targets = dict.fromkeys(target for target, _ in sums)
    return {
        target: Achieved(
            sums[target, PRODUCED],
            sums[target, MISSED],
            timedelta(microseconds=waits[target]) if target in waits else None,
            held.get(target),
            (sums[target, PERIODS], sums[target, SHORT]),
        )
        for target in targets
    }


def remember(query: StreamingQuery, tallies: Tallies) -> None:
    """Keep what a query on the driver tells of its micro-batches, which Spark does not report."""
    _remembered[str(query.runId)] = None if is_remote() else tallies


def _told(query: StreamingQuery) -> Iterable[dict[str, int]]:
    run = str(query.runId)
    if run in _remembered:
        tallies = _remembered[run]
        if tallies is None:
            raise OptionError(
                'on Spark Connect a query with states="driver" cannot tell what it counted.\n'
                'Hint: count what it wrote, or use states="buckets".'
            )
        return tallies
    return [
        named(row)
        for progress in query.recentProgress
        for metric, row in progress.observedMetrics.items()
        if metric.startswith("latecomer_")
    ]


def named(row: Row) -> dict[str, int]:
    """Read what was observed: on Spark Connect, names and values come apart."""
    found = row.asDict()
    if found.keys() == {"values", "schema"}:
        names = [field["name"] for field in found["schema"]["fields"]]
        return dict(zip(names, found["values"], strict=True))
    return found


def _sum_of(output: str) -> Column:
    """Add up the rows of an output; null in a micro-batch that has none."""
    return F.sum(F.when(F.col("output") == output, F.col("rows"))).alias(output)


def _longest_of(output: str) -> Column:
    return F.max(F.when(F.col("output") == output, F.col("rows"))).alias(output)


def _rows_of(output: str) -> Column:
    name = F.col("output")
    # Late rows of the streams that come in have outputs of their own, and are late rows too.
    is_it = name.startswith("late") if output == "late" else name == output
    return F.coalesce(F.sum(F.when(is_it, F.col("rows"))), F.lit(0)).alias(output)
