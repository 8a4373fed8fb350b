"""The status of a query, from the totals of its checkpoint and from what Spark reports.

Counts of a query that `start` began come from its checkpoint, and are exact. In the process that
runs the query they are still in memory. Counts of other queries come from the micro-batches that
Spark remembers, and are exact until Spark forgets one.

A status may be asked for after each micro-batch, so it asks Spark as little as possible: each
question is a round trip to another process.

All other values are those of the last micro-batch, as Spark reports it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from latecomer.hosts.output import IN_TIME
from latecomer.hosts.recall_report import Achieved
from latecomer.hosts.spark import progress
from latecomer.hosts.spark.durable import totals as durable
from latecomer.hosts.spark.durable.ledger import Places
from latecomer.hosts.spark.durable.totals import Totals, published
from latecomer.hosts.spark.observed import Observed
from latecomer.hosts.status import (
    KeyStatus,
    RecallStatus,
    Rows,
    SourceStatus,
    Status,
    WaitStatus,
)
from latecomer.hosts.tally import (
    ANSWERS,
    NEWEST,
    READ,
    REFINED,
    ROWS_HELD,
    WATERMARK,
    WINDOWS_OPEN,
    delays,
    late_by_reason,
)
from latecomer.plan import Plan
from latecomer.time import duration_text, in_millis

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery
    from pyspark.sql.streaming.listener import SourceProgress, StreamingQueryProgress


WORST = 10
"""Number of keys in a status."""
_observed = Observed()
_LEFT = ("Outstanding", "BehindLatest")
"""Suffixes of the metrics in which Spark's sources report their backlog."""


class Started(NamedTuple):
    """The plan and the checkpoint of a query that `start` began."""

    plan: Plan
    checkpoint: str
    session: SparkSession | None
    """None if the checkpoint is a local directory, to be read without Spark."""
    places: Places | None = None
    """Places of the totals, if found before: finding them is a request to Spark."""


def of_query(query: StreamingQuery, started: Started | None = None) -> Status:
    """Return the status of a query."""
    last = query.lastProgress
    # Both have the same names; those of the progress are here already.
    named = query if last is None else last
    is_active = query.isActive
    status = of_totals(
        _counted(query, started, last, is_active=is_active),
        name=named.name or str(named.id),
        ids=(str(named.id), str(named.runId)),
        is_active=is_active,
        plan=None if started is None else started.plan,
    )
    return status if last is None else with_progress(status, last)


def of_checkpoint(spark: SparkSession | None, checkpoint: str) -> Status:
    """Return the status of the query of a checkpoint, as its last micro-batch left it."""
    records = durable.read_local(checkpoint) if spark is None else durable.read(spark, checkpoint)
    found = records[-1] if records else Totals(-1, 0)
    return of_totals(found, name=checkpoint, ids=("", ""), is_active=False)


def counted(query: StreamingQuery, started: Started | None = None) -> Totals:
    """Return the totals of a query, from its checkpoint or from what Spark remembers."""
    return _counted(query, started, query.lastProgress, is_active=query.isActive)


def _counted(
    query: StreamingQuery,
    started: Started | None,
    last: StreamingQueryProgress | None,
    *,
    is_active: bool,
) -> Totals:
    run = query.runId if last is None else last.runId
    if (found := published(str(run))) is not None:
        return found
    if started is None:
        return _observed.ask(query, last)
    _, checkpoint, spark, places = started
    if spark is None:
        records = durable.read_local(checkpoint)
    else:
        if last is not None and is_active:
            # Its record was written before Spark reported the micro-batch.
            found = durable.read_one(spark, checkpoint, last.batchId, places)
        if found is not None:
            return found
        records = durable.read(spark, checkpoint, places)
    return records[-1] if records else _observed.ask(query, last)


def of_totals(
    found: Totals, *, name: str, ids: tuple[str, str], is_active: bool, plan: Plan | None = None
) -> Status:
    """Return the status that totals give; without a plan, waits are named as the totals say."""
    totals = found.totals
    recalls = progress.recall(totals)
    by_target = [
        (target, each) for target, each in recalls.items() if not isinstance(target, timedelta)
    ]
    newest = totals.get(NEWEST)
    waited = [each.wait for _, each in by_target if each.wait is not None]
    watermark = totals.get(WATERMARK)
    if watermark is None and newest is not None and waited:
        watermark = newest - max(waited) // timedelta(microseconds=1)
    # A checkpoint that began without counts recorded what it held when counting began.
    is_whole = found.written > 0 or found.since == 0
    return Status(
        query=name,
        id=ids[0],
        run=ids[1],
        is_active=is_active,
        exact=is_whole,
        batch=None if found.batch < 0 else found.batch,
        since_batch=None if found.batch < 0 else found.since,
        watermark=_millis(watermark),
        newest=_millis(newest),
        # With `idle` the watermark may pass the newest row.
        behind_newest_ms=_behind(watermark, newest, at_least=0),
        behind_wall_ms=_behind(watermark, time.time_ns() // 1_000),
        rows=Rows(
            totals.get(READ, 0),
            totals.get("ready", 0),
            totals.get(ROWS_HELD, 0) if is_whole else None,
            late_by_reason(totals),
            totals.get("dropped", 0),
        ),
        open_windows=totals.get(WINDOWS_OPEN, 0) if is_whole else None,
        waits=_waits(found, recalls, plan),
        recalls=[
            RecallStatus(target, each.recall, _duration(each.wait)) for target, each in by_target
        ],
        keys=_worst(found.keys),
        delays=delays(totals),
    )


def _waits(found: Totals, recalls: Mapping[Any, Achieved], plan: Plan | None) -> list[WaitStatus]:
    totals, texts = found.totals, _texts(found, plan)
    statuses = []
    for wait, text in sorted(texts.items()):
        achieved = recalls.get(timedelta(microseconds=wait))
        is_one = len(texts) == 1
        answers = totals.get("ready" if is_one else f"{ANSWERS}{wait}", 0)
        refined = None if is_one else totals.get(f"{REFINED}{wait}", 0)
        recall = None if achieved is None else achieved.recall
        statuses.append(WaitStatus(text, int(in_millis(wait)), answers, refined, recall))
    return statuses


def _texts(found: Totals, plan: Plan | None) -> dict[int, str]:
    """Return the text of each wait that the user gave, by the wait in microseconds."""
    if plan is not None:
        return dict(zip(plan.clock.waits, plan.clock.wait_texts, strict=True))
    if found.waits:
        return {int(wait): text for wait, text in found.waits.items()}
    counted = [name.removeprefix(IN_TIME) for name in found.totals if name.startswith(IN_TIME)]
    return {int(wait): duration_text(timedelta(microseconds=int(wait))) for wait in counted}


def _worst(keys: Mapping[str, int]) -> list[KeyStatus]:
    found = sorted(keys.items(), key=lambda each: -each[1])[:WORST]
    return [KeyStatus(json.loads(key), late) for key, late in found]


def with_progress(status: Status, last: StreamingQueryProgress) -> Status:
    """Return a status with what Spark reports of the last micro-batch."""
    sources = [_source(each) for each in last.sources]
    left = [value for each in sources for value in each.backlog.values()]
    state = [each.customMetrics.get("rocksdbSstFileSize") for each in last.stateOperators]
    sizes = [int(each) for each in state if each is not None]
    return replace(
        status,
        batch=last.batchId if status.batch is None else max(status.batch, last.batchId),
        held_bytes=sum(sizes) if sizes else None,
        backlog=max(left, default=None),
        batch_ms=last.durationMs.get("triggerExecution", last.batchDuration),
        rows_per_second=last.processedRowsPerSecond,
        sources=sources,
    )


def _source(source: SourceProgress) -> SourceStatus:
    metrics = source.metrics or {}
    left = {
        name: float(text)
        for name, text in metrics.items()
        if name.startswith(("num", "max")) and name.endswith(_LEFT)
    }
    return SourceStatus(source.description, source.numInputRows, left)


def _millis(micros: int | None) -> int | None:
    return None if micros is None else micros // 1_000


def _duration(wait: timedelta | None) -> int | None:
    return None if wait is None else int(in_millis(wait // timedelta(microseconds=1)))


def _behind(watermark: int | None, other: int | None, at_least: int | None = None) -> int | None:
    if watermark is None or other is None:
        return None
    behind = (other - watermark) // 1_000
    return behind if at_least is None else max(behind, at_least)
