from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from latecomer.clock.policy import OneClock
from latecomer.hosts.spark.durable.owner import Owner
from latecomer.hosts.spark.durable.totals import Recorder, Totals, publish
from latecomer.hosts.spark.listener import Listener


def progress(batch: int, run: str = "r", name: str | None = "sales", **counts: int) -> Any:  # noqa: ANN401
    """Return a progress, as Spark reports it for a micro-batch."""
    observed = {"latecomer_1": SimpleNamespace(asDict=lambda: counts)} if counts else {}
    return SimpleNamespace(
        id="q",
        runId=run,
        name=name,
        batchId=batch,
        batchDuration=900,
        durationMs={},
        processedRowsPerSecond=5.0,
        sources=[],
        stateOperators=[],
        observedMetrics=observed,
    )


def test_what_spark_observed_is_added_up_by_query() -> None:
    listener = Listener()
    started: Any = SimpleNamespace(id="q", runId="r", name="sales")
    listener.onQueryStarted(started)
    for batch, rows in enumerate((3, 4)):
        event: Any = SimpleNamespace(progress=progress(batch, **{"in": rows, "in_time_5000000": 0}))
        listener.onQueryProgress(event)
    (found,) = listener.statuses()
    assert (found.query, found.batch, found.rows.read, found.is_active) == ("sales", 1, 7, True)
    assert [each.wait for each in found.waits] == ["5 seconds"]

    listener.onQueryTerminated(started)
    (found,) = listener.statuses()
    assert (found.rows.read, found.is_active) == (7, False)
    # A driver that runs many queries in turn must not keep data of each run.
    assert not listener._names
    assert not listener._advice


def test_queries_of_others_are_left_alone() -> None:
    listener = Listener()
    listener.progressed(progress(0))

    assert listener.statuses() == []


def test_a_query_of_start_has_the_totals_of_its_checkpoint() -> None:
    recorder = Recorder(Owner("checkpoint", "id", 1, "r1"), "sales", OneClock((5_000_000,)))
    recorder.last = Totals(40, 0, {"in": 900, "rows_held": 6}, written=1.0)
    publish("a run of start", recorder)
    listener = Listener()

    listener.progressed(progress(40, "a run of start", name=None, ready=3))

    (found,) = listener.statuses()
    assert (found.query, found.rows.read, found.rows.held) == ("q", 900, 6)
