"""The status of a query, from the totals of its checkpoint and from what Spark reports.

Counts of a query that `start` began come from its checkpoint, and are exact. Counts of other
queries come from the micro-batches that Spark remembers, and are exact until Spark forgets one.
All other values are those of the last micro-batch, as Spark reports it.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from latecomer.hosts.output import IN_TIME
from latecomer.hosts.spark import progress
from latecomer.hosts.spark.durable import totals as durable
from latecomer.hosts.spark.durable.totals import Totals
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
from latecomer.time import duration_text, in_millis

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery
    from pyspark.sql.streaming.listener import SourceProgress, StreamingQueryProgress

    from latecomer.hosts.recall_report import Achieved
    from latecomer.hosts.spark.durable.ledger import Places
    from latecomer.plan import Plan

WORST = 10
"""Number of keys in a status."""
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
    found = counted(query, started)
    last = query.lastProgress
    status = of_totals(
        found,
        name=query.name or str(query.id),
        ids=(str(query.id), str(query.runId)),
        is_active=query.isActive,
        plan=None if started is None else started.plan,
    )
    return status if last is None else with_progress(status, last)


def of_checkpoint(spark: SparkSession | None, checkpoint: str) -> Status:
    """Return the status of the query of a checkpoint, as its last micro-batch left it."""
    records = _records(checkpoint, spark)
    found = records[-1] if records else Totals(-1, 0)
    return of_totals(found, name=checkpoint, ids=("", ""), is_active=False, plan=None)


def counted(query: StreamingQuery, started: Started | None = None) -> Totals:
    """Return the totals of a query, from its checkpoint or from what Spark remembers."""
    if started is not None and (records := _records(*started[1:])):
        return records[-1]
    batches = [each.batchId for each in query.recentProgress]
    first, last = (min(batches), max(batches)) if batches else (0, -1)
    return Totals(last, first, progress.totals(query))


def _records(
    checkpoint: str, spark: SparkSession | None, places: Places | None = None
) -> list[Totals]:
    if spark is None:
        return durable.read_local(checkpoint)
    return durable.read(spark, checkpoint, places)


def of_totals(
    found: Totals, *, name: str, ids: tuple[str, str], is_active: bool, plan: Plan | None
) -> Status:
    """Return the status that totals give."""
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
        behind_newest_ms=_behind(watermark, newest),
        behind_wall_ms=_behind(watermark, int(time.time() * 1e6)),
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


def ended(status: Status) -> Status:
    """Return the status of a query that has stopped."""
    return replace(status, is_active=False)


def _source(source: SourceProgress) -> SourceStatus:
    metrics = source.metrics or {}
    left = {name: float(text) for name, text in metrics.items() if _is_left(name)}
    return SourceStatus(source.description, source.numInputRows, left)


def _is_left(name: str) -> bool:
    return name.startswith(("num", "max")) and name.endswith(_LEFT)


def _millis(micros: int | None) -> int | None:
    return None if micros is None else micros // 1_000


def _duration(wait: timedelta | None) -> int | None:
    return None if wait is None else int(in_millis(wait // timedelta(microseconds=1)))


def _behind(watermark: int | None, other: int | None) -> int | None:
    return None if watermark is None or other is None else max((other - watermark) // 1_000, 0)
