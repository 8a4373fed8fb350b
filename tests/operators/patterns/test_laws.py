"""Matches after a sort: disorder within the wait changes nothing, and waits are independent."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import TICK
from latecomer.hosts.local import run
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.levels import Levels, once_per_wait
from latecomer.operators.patterns.automaton import compiled
from latecomer.operators.patterns.detect import Detect
from latecomer.operators.patterns.shapes import Some, Then
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.aggregate import SnapshotAggregate
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.temporal.whole import Whole
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn, parse_duration
from tests.operators.patterns.driving import (
    SCHEMA,
    TIME,
    A,
    B,
    detect,
    row,
    shapes,
    table,
)
from tests.operators.temporal.oracle import snapshots

if TYPE_CHECKING:
    from latecomer.operators.patterns.shapes import Shape
    from tests.operators.patterns.oracle import Row

WITHIN = 8 * TICK

arrivals = st.lists(
    st.builds(
        row,
        st.integers(0, 30).map(lambda tick: tick * TICK),
        st.sampled_from(["a", "b", "ab", "c", "z"]),
        st.sampled_from(["k", "l", None]),
    ),
    max_size=14,
)


def matches(shape: Shape, waits: tuple[int, ...], batches: list[list[Row]]) -> list[dict[str, Any]]:
    """Return the matches on the local host, up to the end of the stream."""
    waits = tuple(wait * TICK for wait in waits)
    sort = Sort(TIME) if len(waits) == 1 else Levels(TIME, waits)
    detect = Detect(TIME, ("key",), compiled(shape), WITHIN)
    stage = Stage(("key",), once_per_wait((sort, detect)))
    plan = Plan(Source(TIME, ("key",)), OneClock(waits), "divert", (stage,))
    starts = [sum(map(len, batches[:at])) for at in range(len(batches))]
    tables = [table(part, first) for part, first in zip(batches, starts, strict=True)]
    return run(plan, tables, SCHEMA).ready.to_pylist()


def cut(given: list[Row], size: int) -> list[list[Row]]:
    return [given[first : first + size] for first in range(0, len(given), size)]


@given(shape=shapes(), given=arrivals, size=st.integers(1, 6))
def test_disorder_within_the_wait_leaves_no_trace(
    shape: Shape, given: list[Row], size: int
) -> None:
    in_order = sorted(given, key=lambda each: each.time)
    seen, expected = (matches(shape, (30,), cut(rows, size)) for rows in (given, in_order))

    def told(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
        return sorted((m["key"] or "", m["start"], m["end"]) for m in found)

    assert told(seen) == told(expected)


@given(shape=shapes(), given=arrivals, size=st.integers(1, 6), silence=st.sampled_from([None, 3]))
def test_matches_become_rows_with_lifetimes(
    shape: Shape, given: list[Row], size: int, silence: int | None
) -> None:
    spec = detect(shape, WITHIN, silence and silence * TICK, "z")
    times = [TimeColumn(name, "us") for name in ("start", "end")]
    behind = (
        Lifetimes(*times, spec.lasting),
        SnapshotAggregate(Summary(("key",), (("n", agg.count()),))),
        Whole(pa.int64(), "us"),
    )
    batches = cut(given, size)

    # An instant is a microsecond; a tick is longer.
    found = [
        (m["start"], max(m["end"], m["start"] + 1), (m["key"],)) for m in run_plan(batches, spec)
    ]
    seen = run_plan(batches, spec, *behind)

    expected = snapshots(found, lambda payload: payload[0], lambda key, rows: (key, len(rows)))
    assert Counter((r["start"], r["end"], (r["key"], r["n"])) for r in seen) == expected


def run_plan(batches: list[list[Row]], *operators: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    stage = Stage(("key",), (Sort(TIME), *operators))
    plan = Plan(Source(TIME, ("key",)), OneClock((12 * TICK,)), "divert", (stage,))
    return run(plan, [table(part) for part in batches], SCHEMA).ready.to_pylist()


@given(given=arrivals, size=st.integers(1, 6))
def test_each_wait_finds_the_matches_of_a_query_with_that_wait_alone(
    given: list[Row], size: int
) -> None:
    shape = Then(A, Some(B, 1), "z")
    waits = (0, 5, 12)
    together = matches(shape, waits, cut(given, size))

    for level, wait in enumerate(waits):
        alone = matches(shape, (wait,), cut(given, size))
        own = [m for m in together if parse_duration(m["wait"], "wait") == wait * TICK]
        assert {m.pop("is_final") for m in own} <= {level == len(waits) - 1}
        assert [{k: v for k, v in m.items() if k != "wait"} for m in own] == alone
