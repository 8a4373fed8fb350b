"""Totals of queries that `start` did not begin, from the metrics that Spark has observed.

Spark remembers the last 100 micro-batches of a run. Totals that were computed before are kept here,
and only micro-batches that came since are added: reading all of them takes longer with each one,
and a query that is asked about often enough is counted without a gap.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from latecomer.errors import OptionError
from latecomer.hosts.spark import progress
from latecomer.hosts.spark.durable.totals import Totals
from latecomer.hosts.tally import Tally, added

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql.streaming import StreamingQuery
    from pyspark.sql.streaming.listener import StreamingQueryProgress


RUNS = 100
"""Number of runs whose totals are kept. A driver may start one query after the other for years."""


class Observed:
    """Totals of runs; each micro-batch is added once, in whatever thread it is reported."""

    def __init__(self) -> None:
        """Begin without runs."""
        self._runs: dict[str, Totals] = {}

    def ask(self, query: StreamingQuery, last: StreamingQueryProgress | None) -> Totals:
        """Return the totals of a query, given its last progress.

        Raises:
            OptionError: Spark has observed nothing of ours.
        """
        if last is None:
            return Totals(-1, 0)
        run = str(last.runId)
        before = self._runs.get(run)
        is_next = before is not None and last.batchId <= before.batch + 1
        found = self._add(run, [last] if is_next else query.recentProgress)
        if not found.totals:
            raise OptionError(
                "Spark reports no counts of this query: it is not one of Latecomer, or it runs on "
                'Spark Connect with states="driver".\n'
                "Hint: pass the query that start() returned."
            )
        return found

    def hear(self, last: StreamingQueryProgress) -> Totals:
        """Add a micro-batch that Spark has just reported, and return the totals of its run."""
        return self._add(str(last.runId), [last])

    def _add(self, run: str, reports: Sequence[StreamingQueryProgress]) -> Totals:
        found = self._runs.get(run)
        for each in reports:
            if found is None or each.batchId > found.batch + 1:
                # The first one, or some were forgotten: counting begins here.
                found = Totals(each.batchId - 1, each.batchId)
            if each.batchId > found.batch:
                nothing: Tally = {}
                tally = reduce(added, progress.reported(each), nothing)
                totals = added(found.totals, tally)
                found = Totals(each.batchId, found.since, totals, tally)
        found = found or Totals(-1, 0)
        # Totals are never changed: if two threads add the same reports, both store the same. The
        # run goes to the end, so that the first one is the one that was silent for longest.
        self._runs.pop(run, None)
        self._runs[run] = found
        if len(self._runs) > RUNS:
            self._runs.pop(next(iter(self._runs)), None)
        return found
