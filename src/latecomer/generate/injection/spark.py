"""Put disorder into a DataFrame, on Spark.

    times ─ survey ─▶ bounds of the parts
    rows ─ place ─▶ parts, by time ─ draw ─▶ fates, kept ─▶ try shares ─▶ the share
    rows ─ settle ─▶ ranges, by arrival ─ arrange ─▶ rows in order of arrival

The rows of a part lie between two times. So all that a part must know of later parts is a single
row: the one among them that arrives first. Trying some shares then takes two small jobs. One finds
the first arrival of every part, and the driver passes it from the last part to the first. The
other counts.

Rows travel in *parcels*: one Spark row holds all rows of a batch that go to the same part. Spark
then moves a few large rows, and sorting is done in NumPy. Only columns that fates depend on are
moved in the search. The whole rows are read once more in the end. Usually the arrival of a row can
be computed from the row alone, and the rows go straight to the range of their arrivals. They go
through the parts of time first if some rows are equal, because equal rows are numbered, or if the
source is out of order itself.

**No result depends on how Spark partitions the data.** The bounds of the parts are chosen once and
are part of the plan, so that a task that is run again finds the same rows.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from latecomer.errors import OptionError
from latecomer.generate.injection import spark_workers as workers
from latecomer.generate.injection.arrival_column import ARRIVAL, prepared
from latecomer.generate.injection.fates import Injection
from latecomer.generate.injection.fraction import find_share
from latecomer.generate.injection.local import check_arrivals
from latecomer.generate.injection.report import Outcome
from latecomer.generate.injection.spark_workers import FATED, PARCEL, SURVEY, Facts, Ranges
from latecomer.hosts.spark.columns import map_in_arrow, partitions, reference
from latecomer.hosts.spark.kept import kept
from latecomer.hosts.spark.parcels import ArrowFunction
from latecomer.kernels.overtaking import NOBODY, First
from latecomer.time import NEVER, Times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


PART_ROWS = 250_000
"""Approximate number of rows that a worker holds at a time."""
MOST_PARTS = 4_000
TOGETHER = 4
"""Most parts that one task holds: Spark keeps their fates in one array, of at most 2 GiB."""


log = logging.getLogger(__name__)


def disorder_frame(df: DataFrame, injection: Injection) -> tuple[DataFrame, Outcome]:
    """Delay rows of a batch DataFrame, and return all in order of arrival."""
    if df.isStreaming:
        raise OptionError(
            "disorder needs all rows at once, and this DataFrame is a stream.\n"
            'Hint: disorder a batch DataFrame, write it, and stream it with "latecomer.replay".'
        )
    injection, field = prepared(df.limit(0).toArrow().schema, injection)
    log.info("reading the source")
    facts = _facts(df, injection)
    tasks = max(ceil(facts.parts / TOGETHER), min(facts.parts, partitions(df)))
    place = partial(workers.place, injection, facts, tasks)
    slim = map_in_arrow(df, partial(place, only=injection.columns), PARCEL)
    draw = partial(workers.draw, injection, facts.origin)
    with kept(_together(slim, tasks).mapInArrow(draw, FATED)) as fated:
        search = _Search(fated, facts)
        if injection.arrival is not None:
            search.learn_source_order()
        found, undelayed = find_share(injection.fraction, facts.timed, search.count)
        bounds, has_equals = search.arrivals(found.share)
    ranges = Ranges(bounds, min(len(bounds) + 1, partitions(df)))
    asked = (injection, facts, found.share, ranges)
    if has_equals or search.source_out_of_order:
        parts = _together(map_in_arrow(df, place, PARCEL), tasks)
        settled = parts.mapInArrow(partial(workers.settle, *asked, search.source), PARCEL)
    else:
        settled = map_in_arrow(df, partial(workers.settle_at_once, *asked), PARCEL)
    arrived = StructField(ARRIVAL, from_arrow_type(field.type))
    columns = [arrived if each.name == ARRIVAL else each for each in df.schema.fields]
    columns += [] if ARRIVAL in df.columns else [arrived]
    arrange = partial(workers.arrange, field, injection.time.unit)
    result = _together(settled, ranges.tasks).mapInArrow(arrange, StructType(columns))
    return result, Outcome(
        injection=injection,
        rows=facts.rows,
        timed=facts.timed,
        source_out_of_order=search.source_out_of_order,
        undelayed=undelayed,
        found=found,
    )


def _facts(df: DataFrame, injection: Injection) -> Facts:
    """Read the times of all rows once: count them, and choose bounds that spread them evenly."""
    read = dict.fromkeys(column.name for column in (injection.time, injection.arrival) if column)
    narrow = df.select(*map(reference, read))
    found = map_in_arrow(narrow, partial(workers.survey, injection), SURVEY).toArrow()
    rows, timed, based = (pc.sum(found[name]).as_py() or 0 for name in ("rows", "timed", "based"))
    origin = pc.min(found["origin"]).as_py()
    if injection.arrival is not None:
        check_arrivals(rows - based, injection)
    parts = min(ceil(timed / PART_ROWS), MOST_PARTS)
    return Facts(rows, timed, NEVER if origin is None else origin, _bounds(found["sample"], parts))


def _bounds(samples: pa.ChunkedArray, parts: int) -> tuple[int, ...]:
    """Return times that cut the rows into about equal parts, from samples of all of them."""
    sample: Times = np.sort(pc.list_flatten(samples).to_numpy())
    if not len(sample):
        return ()
    return tuple(np.unique(sample[np.arange(1, parts) * len(sample) // parts]).tolist())


def _together(parcels: DataFrame, tasks: int) -> DataFrame:
    """Bring parcels of the same number together; numbers ascend, also from task to task."""
    return parcels.repartition(tasks, "label").sortWithinPartitions("number").drop("label")


class _Search:
    """Spark jobs that count rows out of order, on the fates of all rows."""

    def __init__(self, fated: DataFrame, facts: Facts) -> None:
        self._fated = fated
        self._facts = facts
        self._rounds = 0
        self.source: list[First] | None = None
        """For each part, the first arrival of later parts in the source; None if in order."""
        self.source_out_of_order = 0

    def learn_source_order(self) -> None:
        """Find the rows that are out of order in the source, and count them."""
        log.info("measuring the disorder of the source")
        firsts = self._firsts(workers.source_first)
        self.source = [first for (first,) in _laters(firsts, self._facts.parts, 1)]
        counts = self._fated.mapInArrow(partial(workers.source_counts, self.source), "rows long")
        self.source_out_of_order = counts.agg(F.sum("rows")).collect()[0][0] or 0

    def count(self, shares: Sequence[float]) -> list[tuple[int, int]]:
        """Return the rows out of order and the rows delayed, for each of these shares."""
        self._rounds += 1
        log.info("finding the share of rows to delay, round %d", self._rounds)
        known = (self.source, tuple(shares))
        laters = [[NOBODY] * len(shares)]
        if self._facts.parts > 1:
            firsts = self._firsts(partial(workers.firsts, *known))
            laters = _laters(firsts, self._facts.parts, len(shares))
        counted = self._fated.mapInArrow(
            partial(workers.counts, *known, laters), "out_of_order array<long>, delayed array<long>"
        ).collect()
        nothing = np.zeros((2, len(shares)), np.int64)
        total = np.sum([nothing, *(np.array(row) for row in counted)], axis=0)
        return list(zip(*total.tolist(), strict=True))

    def arrivals(self, share: float) -> tuple[Times, bool]:
        """Return arrivals that cut the rows into about equal ranges, and whether rows are equal."""
        sample = partial(workers.sample, self.source, share)
        found = self._fated.mapInArrow(sample, "has_equals boolean, sample array<long>").toArrow()
        bounds = _bounds(found["sample"], self._facts.parts)
        return np.array(bounds, np.int64), bool(pc.any(found["has_equals"]).as_py())

    def _firsts(self, find: ArrowFunction) -> dict[int, list[First]]:
        schema = "part int, arrivals array<long>, orders array<long>"
        found = self._fated.mapInArrow(find, schema).collect()
        return {row[0]: list(zip(row[1], row[2], strict=True)) for row in found}


def _laters(firsts: dict[int, list[First]], parts: int, width: int) -> list[list[First]]:
    """Return, for each part, the first arrival of all later parts."""
    laters = [[NOBODY] * width]
    for part in range(parts - 1, 0, -1):
        own = firsts.get(part, [NOBODY] * width)
        laters.append([min(pair) for pair in zip(own, laters[-1], strict=True)])
    return laters[::-1]
