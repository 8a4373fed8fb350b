"""The counts of a query in Spark's progress reports: rows of each output, and recall.

Each micro-batch counts its outputs, and Spark reports the counts with the progress of the query.
Of a query whose states are on the driver Spark reports none, because it does not see its outputs.
"""

from collections.abc import Mapping
from datetime import timedelta
from itertools import accumulate, count
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryProgress

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
from latecomer.hosts.tally import (
    ANSWERS,
    DELAYS,
    NEWEST,
    READ,
    REASONS,
    REFINED,
    ROWS_HELD,
    TALLY,
    WATERMARK,
    WINDOWS_OPEN,
    Tally,
)
from latecomer.plan import Plan

_COUNTED = ("ready", "late", "dropped", AHEAD)
_SUMMED = (PRODUCED, MISSED, PERIODS, SHORT)
_metric_numbers = count(1)
METRIC = "latecomer_"
"""Prefix of the names of our observed metrics; docs/operate.md describes their fields."""


def observed(packed: DataFrame, plan: Plan) -> DataFrame:
    """Let Spark count the rows of all outputs, and report the counts."""
    # A query may contain two streams, and each of its metrics needs a name of its own.
    metric = f"{METRIC}{next(_metric_numbers)}"
    names = [*_COUNTED, *levels(plan.clock)]
    names += [counted(what, target) for target in plan.targets for what in _SUMMED]
    waits = [counted(WAITED, target) for target in plan.targets]
    held = [counted(HELD, target) for target in plan.targets]
    # Both are null in a micro-batch that has none.
    told = [F.max(_rows_if(F.col("output") == name)).alias(name) for name in waits]
    told += [F.sum(_rows_if(F.col("output") == name)).alias(name) for name in held]
    tally = [READ, *(name for name in REASONS if name not in _COUNTED)]
    tally += [ROWS_HELD, WINDOWS_OPEN, *(DELAYS if _counts_delays(plan) else ())]
    if len(plan.clock.waits) > 1:
        tally += [f"{what}{wait}" for wait in plan.clock.waits for what in (ANSWERS, REFINED)]
    told += [F.coalesce(F.sum(_in_tally(name)), F.lit(0)).alias(name) for name in tally]
    told += [F.max(_in_tally(name)).alias(name) for name in (NEWEST, WATERMARK)]
    return packed.observe(metric, *map(_rows_of, names), *told)


def _counts_delays(plan: Plan) -> bool:
    """Return True if buckets see rows and count their delays (`counting.Counting.arrived`).

    Spark generates code for the metrics in every task, which takes longer the more there are, and
    delays are most of them. So it is not asked for delays that would always be 0.
    """
    travel = (each.early is None or each.needs_late_rows for each in plan.inputs)
    return not plan.clock.columns and any(travel)


def counts(totals: Mapping[str, int]) -> dict[str, int]:
    """Return the number of rows of each output, given totals."""
    return {name: totals.get(name, 0) for name in _COUNTED}


def recall(totals: Mapping[str, int]) -> dict[timedelta | Target, Achieved]:
    """Return the recall achieved by each of several waits, or for each recall asked for."""
    return _of_waits(totals) | _of_targets(totals)


def _of_waits(totals: Mapping[str, int]) -> dict[timedelta | Target, Achieved]:
    """Compare the rows in time for each wait with all rows that came for the same windows.

    Those are the rows in time for the last wait, and the rows that have corrected its answers.
    """
    seen = {
        int(name.removeprefix(IN_TIME)): rows
        for name, rows in totals.items()
        if name.startswith(IN_TIME)
    }
    every = sum(seen.values()) + totals.get(FOLDED, 0)
    waits = sorted(seen) if every else []
    in_time = accumulate(seen[wait] for wait in waits)
    return {
        timedelta(microseconds=wait): Achieved(total, every - total, timedelta(microseconds=wait))
        for wait, total in zip(waits, in_time, strict=True)
    }


def _of_targets(totals: Mapping[str, int]) -> dict[timedelta | Target, Achieved]:
    """Return the rows produced and missed for each target, with the last wait."""
    targets = dict.fromkeys(
        target_of(name, what) for name in totals for what in _SUMMED if name.startswith(f"{what}_")
    )

    def of(what: str, target: Target) -> int | None:
        return totals.get(counted(what, target))

    waits = {target: of(WAITED, target) for target in targets}
    return {
        target: Achieved(
            of(PRODUCED, target) or 0,
            of(MISSED, target) or 0,
            None if (wait := waits[target]) is None else timedelta(microseconds=wait),
            of(HELD, target),
            (of(PERIODS, target) or 0, of(SHORT, target) or 0),
        )
        for target in targets
    }


def reported(progress: StreamingQueryProgress) -> list[Tally]:
    """Return the counts observed in one micro-batch: one tally for each stream of Latecomer."""
    found = progress.observedMetrics.items()
    return [named(row.asDict()) for metric, row in found if metric.startswith(METRIC)]


def named(found: dict[str, Any]) -> dict[str, int]:
    """Return observed counts by name: on Spark Connect, names and values come separately."""
    if found.keys() == {"values", "schema"}:
        names = [field["name"] for field in found["schema"]["fields"]]
        return dict(zip(names, found["values"], strict=True))
    return found


def _in_tally(name: str) -> Column:
    """Return a count from the JSON that buckets write."""
    found = F.get_json_object(F.col("blob").cast("string"), f"$.{name}").cast("long")
    return F.when(F.col("output") == TALLY, found)


def _rows_if(condition: Column) -> Column:
    return F.when(condition, F.col("rows"))


def _rows_of(output: str) -> Column:
    name = F.col("output")
    # Late rows of the streams that meet this one have outputs of their own, and count as late too.
    is_it = name.startswith("late") if output == "late" else name == output
    return F.coalesce(F.sum(_rows_if(is_it)), F.lit(0)).alias(output)
