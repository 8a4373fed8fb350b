"""The counts of a query in Spark's progress reports: rows of each output, and recall.

Each micro-batch counts its outputs, and Spark reports the counts with the progress of the query.
Of a query whose states are on the driver Spark reports none, because it does not see its outputs.
"""

import json
from collections.abc import Mapping
from datetime import timedelta
from itertools import accumulate, count
from typing import Any

from pyspark.sql import DataFrame
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
from latecomer.hosts.tally import TALLY, Tally, tallied
from latecomer.operators.base import LATE
from latecomer.plan import Plan

_COUNTED = ("ready", LATE, "dropped", AHEAD)
_SUMMED = (PRODUCED, MISSED, PERIODS, SHORT)
_metric_numbers = count(1)
METRIC = "latecomer_"
"""Prefix of the names of our observed metrics; docs/operate.md describes them."""
_TOLD = "counts"
_PARTS = f"""concat('[{{zeros}}', array_join(collect_list(
    ',' || if(
        output = '{TALLY}',
        substring_index(string(blob), char(10), 1),
        '{{{{"' || output || '":' || rows || '}}}}'
    )
), ''), ']')"""
"""The counts of all parts as a list in JSON, which begins with zeros for the usual names.

Spark only puts texts together. An expression that reads the counts and adds them up is analysed and
optimised anew in each micro-batch, which took a tenth of the processor time of a small one.
"""


def observed(packed: DataFrame, plan: Plan) -> DataFrame:
    """Let Spark report the counts of all buckets.

    They are one metric, a text in JSON. Spark plans every metric again in each micro-batch, and
    generates code for it again in each task. A bucket has a few parts, so the text is short.
    """
    # A query may contain two streams, and each of its metrics needs a name of its own.
    metric = f"{METRIC}{next(_metric_numbers)}"
    names = [*_COUNTED, *levels(plan.clock)]
    names += [counted(what, target) for target in plan.targets for what in _SUMMED]
    zeros = json.dumps(dict.fromkeys(names, 0))
    return packed.observe(metric, F.expr(_PARTS.format(zeros=zeros)).alias(_TOLD))


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
    """Add up observed counts by name; on Spark Connect, names and values come separately."""
    if found.keys() == {"values", "schema"}:
        names = [field["name"] for field in found["schema"]["fields"]]
        found = dict(zip(names, found["values"], strict=True))
    # In older event logs each count is a metric, or they are added up already.
    told = json.loads(found[_TOLD]) if _TOLD in found else found
    if isinstance(told, dict):
        return told
    return tallied(count for part in told for count in part.items())
