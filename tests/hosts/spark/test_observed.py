from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import Row

from latecomer.errors import OptionError
from latecomer.hosts.spark.observed import RUNS, Observed


class Asked:
    """A query that keeps its last three micro-batches; the number of each is its number of rows."""

    def __init__(self, run: str = "r", *, is_ours: bool = True) -> None:
        self.run, self.is_ours = run, is_ours
        self.read = 0
        """Number of times that all micro-batches were read."""
        self.batch = -1

    @property
    def recentProgress(self) -> list[Any]:  # noqa: N802 - Spark's name
        self.read += 1
        return [self.report(number) for number in range(max(self.batch - 2, 0), self.batch + 1)]

    def report(self, number: int) -> Any:  # noqa: ANN401
        told = {"latecomer_1": Row(ready=number)} if self.is_ours else {}
        return SimpleNamespace(runId=self.run, batchId=number, observedMetrics=told)

    def ask(self, runs: Observed, batch: int) -> tuple[int, int, int]:
        self.batch = batch
        query: Any = self
        found = runs.ask(query, self.report(batch) if batch >= 0 else None)
        return found.batch, found.since, found.totals.get("ready", 0)


def test_a_query_that_reports_each_micro_batch_is_read_in_full_once() -> None:
    runs, query = Observed(), Asked()
    assert query.ask(runs, -1) == (-1, 0, 0)

    found = [query.ask(runs, batch) for batch in (0, 1, 1, 2, 3, 4, 5)]

    assert found[-1] == (5, 0, 15)
    assert query.read == 1


def test_missed_reports_are_looked_up_while_spark_keeps_them() -> None:
    runs, query = Observed(), Asked()

    assert query.ask(runs, 2) == (2, 0, 3)
    assert query.ask(runs, 5) == (5, 0, 15)
    # Micro-batches 6 and 7 are forgotten: 8, 9 and 10 are left.
    assert query.ask(runs, 10) == (10, 8, 27)


def test_runs_that_were_silent_for_longest_are_forgotten() -> None:
    runs, goes_on = Observed(), Asked("goes on")
    goes_on.ask(runs, 0)
    for number in range(RUNS):
        Asked(str(number)).ask(runs, 0)
        assert goes_on.ask(runs, number + 1)[1] == 0

    assert len(runs._runs) == RUNS


def test_a_query_without_counts_of_ours_is_refused() -> None:
    with pytest.raises(OptionError, match="no counts of this query"):
        Asked(is_ours=False).ask(Observed(), 3)
