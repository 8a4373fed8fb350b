"""A running query: Spark's StreamingQuery with the status, counts and recall of Latecomer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from latecomer.hosts.recall_report import Achieved
from latecomer.hosts.spark import held, progress, status
from latecomer.hosts.spark.status import Started
from latecomer.hosts.spark.why import explained
from latecomer.hosts.status import Status
from latecomer.plan import Plan

if TYPE_CHECKING:
    from datetime import timedelta

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery


class Query:
    """A query that `start` has started.

    It has all attributes and methods of Spark's StreamingQuery (`awaitTermination`, `stop`,
    `lastProgress`, …), and those below. `query.spark` is Spark's own object.
    """

    def __init__(
        self,
        spark: StreamingQuery,
        plan: Plan,
        checkpoint: str,
        session: SparkSession | None = None,
    ) -> None:
        self.spark = spark
        self.plan = plan
        self.checkpoint = checkpoint
        self._started = Started(plan, checkpoint, session, {})

    def status(self) -> Status:
        """Return the status of the query; see `latecomer.status`."""
        return status.of_query(self.spark, self._started)

    def counts(self) -> dict[str, int]:
        """Return the number of rows that went to each output; see `latecomer.counts`."""
        return progress.counts(self._totals())

    def held(self) -> dict[str, int]:
        """Return the size of the query's state; see `latecomer.held`."""
        return held.held(None, self.checkpoint)

    def recall(self) -> dict[timedelta | float | None, Achieved]:
        """Return the recall of each wait or target; see `latecomer.recall`."""
        return progress.recall(self._totals())

    def awaitTermination(self, timeout: float | None = None) -> bool | None:  # noqa: N802
        """Wait until the query has ended, as Spark's own method does.

        Raises:
            LatecomerError: The error that made the query fail. It is also a
                StreamingQueryException. Any other failure is a plain StreamingQueryException, whose
                last line is the reason.
        """
        given = () if timeout is None else (timeout,)
        return explained(self.spark.awaitTermination, *given)

    def processAllAvailable(self) -> None:  # noqa: N802
        """Wait until all available rows are processed; raises as `awaitTermination` does."""
        explained(self.spark.processAllAvailable)

    def _totals(self) -> dict[str, int]:
        return status.counted(self.spark, self._started).totals

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever Spark's query has
        """Return an attribute of Spark's own query."""
        if name == "spark":
            # This happens only before __init__ has run, as when a copy is made.
            raise AttributeError(name)
        return getattr(self.spark, name)

    def __dir__(self) -> list[str]:
        """Return the names of all attributes, those of Spark's own query included."""
        return sorted({*super().__dir__(), *dir(self.spark)})

    def __repr__(self) -> str:
        return f"<Query {self.spark.name or self.spark.id} of {self.checkpoint}>"


def spark_query(query: StreamingQuery | Query) -> StreamingQuery:
    """Return Spark's own query, given that or a `Query`."""
    return query.spark if isinstance(query, Query) else query
