"""The results that a wait would have had, compared with a slow twin that goes row by row."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer import agg
from latecomer.clock.policy import ClockByRecall, OneClock
from latecomer.operators.aggregates.base import Aggregate
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.base import Operator
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.report.trial import Error, Trial, in_arrival_order, tried, truth
from latecomer.time import TimeColumn

SECOND = 1_000_000
TIME = TimeColumn("time")
SCHEMA = pa.schema({"time": pa.timestamp("us", "UTC"), "key": pa.string(), "value": pa.float64()})

Row = tuple[int, str, float]
batches_of_rows = st.lists(
    st.lists(
        st.tuples(st.integers(0, 30), st.sampled_from("ab"), st.sampled_from([1.0, 2.0, -3.0])),
        min_size=1,
        max_size=6,
    ),
    min_size=1,
    max_size=8,
)


def table(rows: list[Row]) -> pa.Table:
    times = pa.array([second * SECOND for second, _, _ in rows], pa.int64())
    columns = [times.view(SCHEMA.field("time").type), [r[1] for r in rows], [r[2] for r in rows]]
    return pa.table(columns, SCHEMA)


def plan(operator: Operator, wait: int) -> Plan:
    return Plan(Source(TIME), OneClock((wait * SECOND,)), "drop", (Stage((), (operator,)),))


def windows(size: int, wait: int, **aggregates: Aggregate) -> Aggregation:
    grid = Windows(size * SECOND, size * SECOND)
    made = aggregates or {"n": agg.count(), "total": agg.sum("value")}
    return Aggregation(TIME, grid, (wait * SECOND,), (Summary(("key",), tuple(made.items())),))


def played(asked: Plan, parts: list[list[Row]]) -> Trial:
    true = truth(asked, table([row for rows in parts for row in rows]))
    return tried(asked, map(table, parts), true)


def marked(parts: list[list[Row]], wait: int) -> list[tuple[int | None, int | None, list[Row]]]:
    """Return for each micro-batch the newest time before it, the watermark, and its rows."""
    found, newest = [], None
    for rows in parts:
        found.append((newest, None if newest is None else newest - wait, rows))
        newest = max([second for second, _, _ in rows] + ([] if newest is None else [newest]))
    return found


def slow_windows(parts: list[list[Row]], size: int, wait: int) -> dict[str, Any]:
    true: dict[Any, list[float]] = defaultdict(list)
    given: dict[Any, list[float]] = defaultdict(list)
    answered, laters, late = set(), [], 0
    for newest, mark, rows in marked(parts, wait):
        for window, key in given:
            end = (window + 1) * size
            if mark is not None and end <= mark and (window, key) not in answered:
                answered.add((window, key))
                laters.append((newest - end) * SECOND)
        for second, key, value in rows:
            window = second // size
            true[window, key].append(value)
            if mark is not None and (window + 1) * size <= mark:
                late += 1
            else:
                given[window, key].append(value)
    missing = [about for about in true if about not in given]
    n_wrong = [about for about in given if len(given[about]) != len(true[about])]
    sums = {about: (sum(true[about]), sum(given[about])) for about in given}
    off = {about: abs(b - a) for about, (a, b) in sums.items() if a != b}
    shares = [gap / abs(sums[about][0]) for about, gap in off.items() if sums[about][0]]
    wrong = {*n_wrong, *off, *missing}
    return {
        "late": late,
        "answers": len(true),
        "wrong": len(wrong),
        "missing": len(missing),
        "wrong_windows": len({window for window, _ in wrong}),
        "n": [abs(len(given[a]) - len(true[a])) for a in n_wrong],
        "off": list(off.values()),
        "shares": shares,
        "laters": laters,
    }


@given(batches_of_rows, st.integers(1, 7), st.integers(0, 12))
def test_windows_are_compared_as_the_slow_twin_does(
    parts: list[list[Row]], size: int, wait: int
) -> None:
    asked = plan(windows(size, wait), wait)
    expected = slow_windows(parts, size, wait)

    found = played(asked, parts)

    assert (found.late, found.answers) == (expected["late"], expected["answers"])
    assert (found.wrong, found.missing) == (expected["wrong"], expected["missing"])
    assert found.wrong_windows == expected["wrong_windows"]
    assert found.errors["n"].wrong == len(expected["n"])
    assert found.errors["n"].largest == max(expected["n"], default=None)
    error, off, shares = found.errors["total"], expected["off"], expected["shares"]
    assert error.wrong == len(off)
    assert error.mean == (pytest.approx(sum(off) / len(off)) if off else None)
    assert error.largest == max(off, default=None)
    assert error.largest_relative == (pytest.approx(max(shares)) if shares else None)
    laters = expected["laters"]
    assert found.later == (pytest.approx(sum(laters) / len(laters)) if laters else None)
    assert found.latest == max(laters, default=None)
    assert found.average_wait == wait * SECOND


@given(batches_of_rows, st.integers(0, 12))
def test_sorted_rows_are_compared_as_a_whole(parts: list[list[Row]], wait: int) -> None:
    late, held, waiting = 0, [], []
    for _, mark, rows in marked(parts, wait):
        late += sum(mark is not None and second < mark for second, _, _ in rows)
        waiting = [s for s in [*waiting, *(r[0] for r in rows)] if mark is None or s > mark]
        held.append(len(waiting))
    asked = plan(Sort(TIME), wait)

    found = played(asked, parts)

    assert (found.late, found.wrong, found.missing, found.unexpected) == (late, late, late, 0)
    assert found.windows is None
    assert found.errors == {}
    assert found.most_held == max(held)
    assert found.held == pytest.approx(sum(held) / len(held))


def test_a_recall_shows_its_waits() -> None:
    rows = [[(second, "a", 1.0)] for second in range(50)]
    policy = ClockByRecall(recalls=(0.9,))
    asked = Plan(Source(TIME), policy, "drop", (Stage((), (windows(5, 0),)),))

    found = played(asked, rows)

    assert (found.late, found.wrong, found.average_wait) == (0, 0, 0.0)
    assert found.later == 0

    behind = [[(second, "a", 1.0), (max(second - 4, 0), "a", 1.0)] for second in range(60)]
    late = played(replace(asked, stages=(Stage((), (Sort(TIME),)),)), behind)
    assert 2 * SECOND < late.average_wait < 20 * SECOND


def test_values_that_are_no_numbers_are_only_counted() -> None:
    made = {"last": agg.last("key"), "all": agg.collect("value")}
    asked = plan(windows(10, 0, **made), 0)
    parts: list[list[Row]] = [[(1, "a", 1.0)], [(20, "a", 1.0)], [(9, "a", 2.0)]]

    found = played(asked, parts)

    assert found.errors == {"last": Error(0), "all": Error(1)}
    assert (found.wrong, found.missing, found.windows, found.wrong_windows) == (1, 0, 2, 1)


def test_floats_that_differ_in_their_last_digits_are_equal() -> None:
    parts: list[list[Row]] = [[(1, "a", 0.1)], [(1, "a", 0.2)], [(1, "a", 0.3)], [(1, "a", -0.6)]]
    asked = plan(windows(10, 5, mean=agg.mean("value"), sd=agg.stddev("value")), 5)

    found = played(asked, parts)

    assert found.wrong == found.errors["sd"].wrong == 0


def test_rows_without_a_time_are_left_out() -> None:
    rows = table([(1, "a", 1.0), (2, "a", 1.0)])
    rows = rows.set_column(0, SCHEMA.field(0), pa.array([None, 1], SCHEMA.field(0).type))
    asked = plan(windows(5, 0), 0)

    found = tried(asked, [rows], truth(asked, rows))

    assert (found.rows, found.late, found.answers) == (1, 0, 1)


def test_rows_are_put_in_order_of_arrival_those_without_one_last() -> None:
    asked = plan(Sort(TIME), 0)
    rows = table([(1, "a", 1.0), (2, "b", 1.0), (3, "c", 1.0)])
    arrival = pa.array([None, 9, 4], pa.int64())
    by = Plan(Source(TIME, arrival=TimeColumn("at", "s")), asked.clock, "drop", asked.stages)

    assert in_arrival_order(rows, asked) is rows
    found = in_arrival_order(rows.append_column("at", arrival), by)
    assert found["key"].to_pylist() == ["c", "b", "a"]
