"""A Spark listener that keeps the status of every query of Latecomer, for metrics and live views.

Spark calls it after each micro-batch. For a query of `start`, it takes the totals of the
checkpoint, which the same process has just written. For any other query of Latecomer, it adds up
the metrics that Spark has observed. Other queries are ignored.
"""

from __future__ import annotations

import time
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming import StreamingQueryListener

from latecomer.hosts.advice import Advice
from latecomer.hosts.spark import progress, status
from latecomer.hosts.spark.durable.totals import Totals, published
from latecomer.hosts.spark.observed import Observed
from latecomer.hosts.status import Status

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        StreamingQueryProgress,
    )


class Listener(StreamingQueryListener):
    """The last status of each query, by name; runs with the same name count as one query."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._observed = Observed()
        self._statuses: dict[str, Status] = {}
        self._advice: dict[str, Advice] = {}
        self._names: dict[str, str] = {}

    def statuses(self) -> list[Status]:
        """Return the last status of each query."""
        with self._lock:
            return list(self._statuses.values())

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        self._names[str(event.runId)] = event.name or str(event.id)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        self.progressed(event.progress)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Keep the last status: an idle query has nothing new to report."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        name = self._names.pop(str(event.runId), None)
        self._advice.pop(str(event.runId), None)
        with self._lock:
            if name in self._statuses and self._statuses[name].run == str(event.runId):
                self._statuses[name] = replace(self._statuses[name], is_active=False)

    def progressed(self, last: StreamingQueryProgress) -> None:
        """Update the status of a query after a micro-batch."""
        name, run = last.name or str(last.id), str(last.runId)
        totals = published(run) or self._heard(last, run)
        if totals is None:
            return
        ids = (str(last.id), run)
        found = status.of_totals(totals, name=name, ids=ids, is_active=True)
        with self._lock:
            self._statuses[name] = status.with_progress(found, last)

    def _heard(self, last: StreamingQueryProgress, run: str) -> Totals | None:
        if not progress.reported(last):
            return None
        found = self._observed.hear(last)
        # Queries of `start` get their advice from the recorder of their totals.
        advice = self._advice.setdefault(run, Advice(last.name or str(last.id)))
        advice.heard(time.time(), found.tally)
        return found

    @property
    def _jlistener(self) -> Any:
        """The listener in Java, which PySpark asks for; on Spark Connect there is none."""
        if not hasattr(self, "_java"):
            from latecomer.hosts.spark.relay import in_java

            self._java: Any = in_java(self)
        return self._java
