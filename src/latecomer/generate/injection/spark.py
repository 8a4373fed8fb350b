"""Put disorder into a DataFrame, on Spark.

    rows ─ identify ─▶ cut by time into parts ─ shuffle, sort ─▶ fates ─┬─▶ try shares ─▶ the share
                                                                        └─▶ arrivals ─▶ order

The rows of a part lie between two times. So all that a part must know of later parts is a single
row: the one among them that arrives first. Trying some shares then takes two small jobs. One finds
the first arrival of every part, and the driver passes it from the last part to the first. The
other counts.

**No result depends on how Spark partitions the data.** The bounds of the parts are chosen once and
are part of the plan, so that a task that is run again finds the same rows.
"""

from __future__ import annotations

import logging
from functools import partial
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import DoubleType, IntegerType, LongType, StructField, StructType

from latecomer.errors import OptionError
from latecomer.generate.injection import spark_workers as workers
from latecomer.generate.injection.arrival_column import ARRIVAL, prepared
from latecomer.generate.injection.fraction import find_share
from latecomer.generate.injection.local import check_arrivals
from latecomer.generate.injection.report import Outcome
from latecomer.generate.injection.spark_workers import (
    BASE,
    DRAW,
    EARLY,
    ID,
    LATE,
    PART,
    TIME,
    Facts,
)
from latecomer.hosts.spark.columns import map_in_arrow
from latecomer.hosts.spark.kept import kept
from latecomer.kernels.overtaking import NOBODY, First
from latecomer.time import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from latecomer.generate.injection.fates import Injection

PART_ROWS = 250_000
"""Approximate number of rows that a worker holds at a time."""
MOST_PARTS = 4_000


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
    fated = _fated(df, injection, facts)
    with kept(fated.select(TIME, BASE, EARLY, LATE, DRAW)) as slim:
        search = _Search(slim, facts)
        if injection.arrival is not None:
            search.learn_source_order()
        found, undelayed = find_share(injection.fraction, facts.timed, search.count)
    settle = partial(workers.settle, facts, search.source, found.share, field, injection)
    arrived = StructField(ARRIVAL, from_arrow_type(field.type))
    columns = [arrived if each.name == ARRIVAL else each for each in df.schema.fields]
    columns += [] if ARRIVAL in df.columns else [arrived]
    ties = [StructField(name, LongType()) for name in (BASE, TIME, ID)]
    result = (
        map_in_arrow(fated, settle, StructType([*columns, *ties]))
        .orderBy(ARRIVAL, BASE, TIME, ID)
        .drop(BASE, TIME, ID)
    )
    return result, Outcome(
        injection=injection,
        rows=facts.rows,
        timed=facts.timed,
        source_out_of_order=search.source_out_of_order,
        undelayed=undelayed,
        found=found,
    )


def _facts(df: DataFrame, injection: Injection) -> Facts:
    identified = _identified(df, injection, ())
    rows, timed, based, origin = identified.agg(
        F.count("*"), F.count(TIME), F.count(BASE), F.min(BASE)
    ).collect()[0]
    if injection.arrival is not None:
        check_arrivals(rows - based, injection)
    parts = min(ceil(timed / PART_ROWS), MOST_PARTS)
    bounds: Iterable[int] = ()
    if parts > 1:
        shares = [i / parts for i in range(1, parts)]
        bounds = identified.agg(F.percentile_approx(TIME, shares)).collect()[0][0]
    return Facts(rows, timed, NEVER if origin is None else origin, tuple(sorted(set(bounds))))


def _identified(df: DataFrame, injection: Injection, bounds: tuple[int, ...]) -> DataFrame:
    own = [StructField(name, LongType()) for name in (TIME, BASE, ID)]
    schema = StructType([*df.schema.fields, *own, StructField(PART, IntegerType())])
    place = partial(workers.place, injection, np.array(bounds, np.int64))
    return map_in_arrow(df, place, schema)


def _fated(df: DataFrame, injection: Injection, facts: Facts) -> DataFrame:
    identified = _identified(df, injection, facts.bounds)
    own = [StructField(name, LongType()) for name in (EARLY, LATE)]
    schema = StructType(
        [*identified.drop(PART).schema.fields, *own, StructField(DRAW, DoubleType())]
    )
    parts = identified.repartition(facts.parts, PART).sortWithinPartitions(TIME, ID).drop(PART)
    return map_in_arrow(parts, partial(workers.give_fates, injection, facts.origin), schema)


class _Search:
    """Spark jobs that count rows out of order, on rows that have their fates."""

    def __init__(self, slim: DataFrame, facts: Facts) -> None:
        self._slim = slim
        self._facts = facts
        self._rounds = 0
        self.source: list[First] | None = None
        """For each part, the first arrival of later parts in the source; None if in order."""
        self.source_out_of_order = 0

    def learn_source_order(self) -> None:
        """Find the rows that are out of order in the source, and count them."""
        log.info("measuring the disorder of the source")
        firsts = self._firsts(partial(workers.source_first, self._facts))
        self.source = [first for (first,) in _laters(firsts, self._facts.parts, 1)]
        counts = self._slim.mapInArrow(
            partial(workers.source_counts, self._facts, self.source), "rows long"
        )
        self.source_out_of_order = counts.agg(F.sum("rows")).collect()[0][0] or 0

    def count(self, shares: Sequence[float]) -> list[tuple[int, int]]:
        """Return the rows out of order and the rows delayed, for each of these shares."""
        self._rounds += 1
        log.info("finding the share of rows to delay, round %d", self._rounds)
        known = (self._facts, self.source, tuple(shares))
        laters = [[NOBODY] * len(shares)]
        if self._facts.parts > 1:
            firsts = self._firsts(partial(workers.firsts, *known))
            laters = _laters(firsts, self._facts.parts, len(shares))
        counted = self._slim.mapInArrow(
            partial(workers.counts, *known, laters), "out_of_order array<long>, delayed array<long>"
        ).collect()
        nothing = np.zeros((2, len(shares)), np.int64)
        total = np.sum([nothing, *(np.array(row) for row in counted)], axis=0)
        return list(zip(*total.tolist(), strict=True))

    def _firsts(self, find: partial[Iterator[pa.RecordBatch]]) -> dict[int, list[First]]:
        schema = "part int, arrivals array<long>, orders array<long>"
        found = self._slim.mapInArrow(find, schema).collect()
        return {row[0]: list(zip(row[1], row[2], strict=True)) for row in found}


def _laters(firsts: dict[int, list[First]], parts: int, width: int) -> list[list[First]]:
    """Return, for each part, the first arrival of all later parts."""
    laters = [[NOBODY] * width]
    for part in range(parts - 1, 0, -1):
        own = firsts.get(part, [NOBODY] * width)
        laters.append([min(pair) for pair in zip(own, laters[-1], strict=True)])
    return laters[::-1]
