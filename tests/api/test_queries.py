from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

from latecomer.api.queries import counts, recall
from latecomer.api.query import Query
from latecomer.hosts.recall_report import Achieved

ROW = {"ready": 3, "dropped": 2, "in_time_0": 3, "in_time_5000000": 1}
LAST = SimpleNamespace(
    runId="another run",
    batchId=0,
    observedMetrics={"latecomer_1": SimpleNamespace(asDict=lambda: ROW)},
)
SPARK = SimpleNamespace(
    runId="another run", isActive=False, lastProgress=LAST, recentProgress=[LAST]
)


def test_counts_are_read_from_our_query_or_from_sparks() -> None:
    for query in (SPARK, Query(SPARK, None, "checkpoint")):  # type: ignore[arg-type]
        assert counts(query) == {"ready": 3, "late": 0, "dropped": 2, "ahead": 0}  # type: ignore[arg-type]


def test_so_is_the_recall() -> None:
    for query in (SPARK, Query(SPARK, None, "checkpoint")):  # type: ignore[arg-type]
        assert recall(query) == {  # type: ignore[arg-type]
            timedelta(0): Achieved(3, 1, timedelta(0)),
            timedelta(seconds=5): Achieved(4, 0, timedelta(seconds=5)),
        }
