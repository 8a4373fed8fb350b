"""One or more examples of every operator, with the columns of its rows.

Temporal operators have a catalogue of their own, with rows.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from latecomer import agg
from latecomer.operators.aggregates.summary import SLOT, Summary
from latecomer.operators.all_keys import EachWait, Unslotted
from latecomer.operators.base import Operator
from latecomer.operators.distinct import Distinct
from latecomer.operators.in_order import InOrder
from latecomer.operators.levels import Levels
from latecomer.operators.optimistic.barrier import Barrier
from latecomer.operators.optimistic.changelog import Changelog
from latecomer.operators.optimistic.enter import Enter
from latecomer.operators.optimistic.flat_map import FlatMap
from latecomer.operators.optimistic.grouping import Grouping
from latecomer.operators.optimistic.items import MARKS
from latecomer.operators.optimistic.stateful import Stateful
from latecomer.operators.patterns.shapes import Some, Then
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.binary import Binary
from latecomer.operators.temporal.lifetimes import Lasting, Lifetimes
from latecomer.operators.temporal.paired import Paired
from latecomer.operators.temporal.whole import AsEdges, AsWindows, Whole
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.bounds import window_field
from latecomer.operators.windows.grid import Windows
from latecomer.operators.windows.sliding import sliding
from latecomer.time import TimeColumn
from tests.operators.patterns import driving as patterns
from tests.operators.temporal.catalogue import CATALOGUE
from tests.operators.temporal.driving import LEFT
from tests.support.chains import OUTPUT, SCHEMA, TIME, append

COUNT = Summary(("key",), (("n", agg.count()),))
HOPS = Aggregation(TIME, Windows(10, 4), (0, 20), (COUNT,))
ITEMS = pa.schema([*SCHEMA, *MARKS])
SPANS = pa.schema([("known", pa.int64()), ("start", pa.int64()), ("end", pa.int64())])
KNOWN, START, END = (TimeColumn(name, "us") for name in SPANS.names)

EXAMPLES: list[tuple[Operator | Binary, pa.Schema]] = [
    (Sort(TIME), SCHEMA),
    (InOrder(TIME), SCHEMA),
    (Levels(TIME, (0, 5)), SCHEMA),
    (EachWait(TIME, (0, 5)), SCHEMA),
    (Unslotted(), SCHEMA.append(pa.field(SLOT, pa.int64()))),
    *((each, SCHEMA) for each in sliding(TIME, (0, 5), 10, COUNT, SCHEMA)),
    (Distinct(TIME, ("key", "value"), 10, ("key",)), SCHEMA),
    (HOPS, SCHEMA),
    (patterns.detect(Then(patterns.A, patterns.B)), patterns.SCHEMA),
    (
        replace(
            patterns.detect(Then(Some(patterns.A, 1, 2), patterns.B), silence=5, absent="z"),
            summaries=((("a",), Summary((), (("n", agg.count()),))),),
        ),
        patterns.SCHEMA,
    ),
    (Lifetimes(TIME), SCHEMA),
    (Lifetimes(START, END), SPANS),
    (Lifetimes(START, END, 7), SPANS),
    (Lasting(TIME, 10, ("key",)), SCHEMA),
    (Paired(KNOWN, START, END), SPANS),
    (Whole(pa.int64(), "us"), LEFT),
    (AsWindows(window_field(SCHEMA, TIME), TIME), LEFT),
    (AsEdges(pa.int64(), "us"), LEFT),
    (Enter(TIME, ("key",)), SCHEMA),
    (FlatMap(TIME, append, OUTPUT), ITEMS),
    (Grouping(TIME, ("key",), 3), ITEMS),
    (Stateful(TIME, ("key",), append, "", OUTPUT), ITEMS),
    (Barrier(TIME), ITEMS),
    (Changelog(), ITEMS),
    *((entry.spec, LEFT) for entry in CATALOGUE),
]
