"""Profile a batch DataFrame on Spark, whatever its size: see `latecomer.profile`.

    rows ─ place ─▶ cut by arrival into parts ─ shuffle, sort ─▶ sum up ─▶ driver: what came before
                                                      └─▶ delays, cells, keys ─ add up ─▶ driver

The delay of a row depends on the newest of *all* rows before it. The rows of a part lie between two
arrivals, so a part needs only two numbers of all earlier parts: the newest time, and the number of
rows. Summing up the parts is one small job, counting is another, and only counts come back to the
driver. For streams of up to `MOST_MEASURED` rows the times come too, for the measures of order.

Without an arrival column there is nothing to sort: the parts are Spark's own partitions, in the
order in which `collect()` returns their rows.

A part is identified by its first row: the arrival of that row, and its position in the reading
order. The partition of a part, and the number of times that a task is run, do not matter.
"""

from __future__ import annotations

import logging
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from latecomer.hosts.spark.columns import map_in_arrow, reference
from latecomer.hosts.spark.kept import kept
from latecomer.hosts.spark.profile import workers
from latecomer.hosts.spark.profile.workers import ARRIVAL, PART, ROW, TIME, Before, First, Sizes
from latecomer.plan import Source
from latecomer.profile.delay_counts import LEVELS, DelayCounter
from latecomer.profile.density import COLUMNS, ROWS, fitting, joined
from latecomer.profile.key_counts import COUNTED, worst_first
from latecomer.profile.measures import Measures, order_measures
from latecomer.profile.tally import Counted, Findings, Limits
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


PART_ROWS = 1_000_000
"""Approximate number of rows of a part; a worker holds a batch of them at a time."""
MOST_PARTS = 1_000

log = logging.getLogger(__name__)


def measure_frame(df: DataFrame, source: Source, limits: Limits | None = None) -> Counted:
    """Measure the rows of a batch DataFrame."""
    limits = limits or Limits()
    with kept(_placed(df, source)) as placed:
        log.info("summing up the parts")
        total = _together(_summed_up(placed))
        sizes = Sizes(
            wide=fitting(0, max(total.timed - 1, 0), COLUMNS),
            high=fitting(total.oldest, total.newest, ROWS),
        )
        log.info("counting the delays of %s rows", f"{total.timed:,}")
        counts = _counts(placed, total.before, sizes, limits)
        measures = _measures(placed, total.timed, limits)
        keys = _keys(placed, total, source.key)
    delays = DelayCounter(0 if len(counts["rounded"][0]) else limits.distinct)
    delays.add_counts(counts["delay"][0].view(np.uint64), counts["delay"][2])
    findings = Findings(
        delays=delays.result(),
        first=total.first,
        oldest=total.oldest,
        newest=total.newest,
        runs=total.runs,
        measures=measures,
        by_time=joined((sizes.wide, sizes.high), *counts["time"]),
        by_level=joined((sizes.wide, 0), *counts["level"]),
        keys=keys,
    )
    return Counted(total.rows, total.without_time, total.without_arrival, findings)


def _placed(df: DataFrame, source: Source) -> DataFrame:
    """Return the times and arrivals as numbers, in order of arrival within each part."""
    arrival = [source.arrival.name] if source.arrival else []
    names = list(dict.fromkeys([source.time.name, *arrival, *source.key]))
    own = [StructField(name, LongType()) for name in (TIME, ARRIVAL, ROW)]
    keys = [df.schema[name] for name in source.key]
    schema = StructType([*own, StructField(PART, IntegerType()), *keys])
    slim = df.select(*map(reference, names)).withColumn(ROW, F.monotonically_increasing_id())

    bounds = _bounds(df, source.arrival) if source.arrival else ()
    place = partial(workers.place, source, np.array(bounds, np.int64))
    placed = map_in_arrow(slim, place, schema)
    if source.arrival is None:
        return placed.drop(PART)
    parts = len(bounds) + 1
    log.info("sorting by arrival, in %d parts", parts)
    return placed.repartition(parts, PART).drop(PART).sortWithinPartitions(ARRIVAL, ROW)


def _bounds(df: DataFrame, arrival: TimeColumn) -> tuple[int, ...]:
    """Return arrivals that cut the rows into parts of about the same size."""
    log.info("reading arrivals")
    read = partial(workers.arrivals, arrival)
    micros = map_in_arrow(df.select(reference(arrival.name)), read, f"{ARRIVAL} long")
    # The number of rows is known only afterwards, so many bounds are computed and some are used.
    shares = [i / MOST_PARTS for i in range(1, MOST_PARTS)]
    rows, found = micros.agg(F.count(ARRIVAL), F.percentile_approx(ARRIVAL, shares)).collect()[0]
    parts = min(ceil(rows / PART_ROWS), MOST_PARTS)
    used = {found[i * MOST_PARTS // parts - 1] for i in range(1, parts)}
    return tuple(sorted(used))


def _summed_up(placed: DataFrame) -> list[workers.Summary]:
    rows = map_in_arrow(placed, workers.sum_up, workers.SUMMARY).collect()
    return sorted(
        (workers.Summary(*row) for row in rows),
        # Parts in which no row has a time have no first row; they come before all others.
        key=lambda part: (part.timed > 0, part.arrival, part.row),
    )


class _Total(NamedTuple):
    """The sums of all parts."""

    rows: int
    without_time: int
    without_arrival: int
    timed: int
    first: int
    oldest: int
    newest: int
    runs: int
    before: dict[First, Before]
    """The rows before each part, by the first row of the part."""


def _together(parts: list[workers.Summary]) -> _Total:
    """Add up the parts, which are in order of arrival."""
    timed = [part for part in parts if part.timed]
    before: dict[First, Before] = {}
    seen = runs = 0
    last = newest = timed[0].first_time if timed else 0
    for part in timed:
        before[part.arrival, part.row] = Before(seen, newest)
        runs += part.descents + (part.first_time < last)
        seen, last, newest = seen + part.timed, part.last_time, max(newest, part.newest)
    return _Total(
        rows=sum(part.rows for part in parts),
        without_time=sum(part.without_time for part in parts),
        without_arrival=sum(part.without_arrival for part in parts),
        timed=seen,
        first=timed[0].first_time if timed else 0,
        oldest=min((part.oldest for part in timed), default=0),
        newest=newest,
        runs=runs + 1 if timed else 0,
        before=before,
    )


_Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


def _counts(
    placed: DataFrame, before: dict[First, Before], sizes: Sizes, limits: Limits
) -> dict[str, _Triple]:
    """Count rows by delay, and in the cells of both figures."""

    def added(distinct: int) -> DataFrame:
        count = partial(workers.count, before, sizes, distinct)
        counts = map_in_arrow(placed, count, workers.COUNT)
        return counts.groupBy("kind", "a", "b").agg(F.sum("rows").alias("rows"))

    # A part rounds its delays if it has too many distinct ones. All parts together may still have
    # more than can be fetched; then all delays are rounded, which leaves few.
    most = limits.distinct + COLUMNS * (ROWS + LEVELS)
    found = added(limits.distinct).limit(most + 1).toArrow()
    if found.num_rows > most:
        log.info("counting again, with rounded delays")
        found = added(0).toArrow()
    kinds = found["kind"].to_numpy()
    a, b, rows = (found[name].to_numpy() for name in ("a", "b", "rows"))
    return {
        kind: (a[kinds == kind], b[kinds == kind], rows[kinds == kind])
        for kind in ("delay", "rounded", "time", "level")
    }


def _keys(placed: DataFrame, total: _Total, key: tuple[str, ...]) -> pa.Table | None:
    if not key or not total.timed:
        return None
    log.info("counting by key")
    names = {name: placed.schema[name] for name in key}
    counts = [StructField(name, LongType()) for name in COUNTED]
    count = partial(workers.count_keys, total.before, key)
    counted = map_in_arrow(placed, count, StructType([*names.values(), *counts]))
    added = counted.groupBy(*map(reference, key)).agg(
        F.sum("rows").alias("rows"),
        F.sum("out_of_order").alias("out_of_order"),
        F.max("largest").alias("largest"),
    )
    return worst_first(added.toArrow())


def _measures(placed: DataFrame, timed: int, limits: Limits) -> Measures | None:
    if timed > limits.measured:
        return None
    log.info("measuring the order of %s rows", f"{timed:,}")
    is_placed = F.col(TIME).isNotNull() & F.col(ARRIVAL).isNotNull()
    times = placed.where(is_placed).select(TIME).toArrow()
    return order_measures(TimeColumn(TIME, "us").micros(times))
