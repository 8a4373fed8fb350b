"""Aggregates of the rows that count at each instant."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer import agg
from latecomer.errors import AggregateOverflowError
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.temporal.aggregate import SnapshotAggregate, SnapshotAggregator
from latecomer.operators.temporal.edges import AT, FINAL, OTHER, Edges, edge_schema
from latecomer.time import FOREVER
from tests.operators.temporal import oracle
from tests.operators.temporal.catalogue import key, values
from tests.operators.temporal.driving import (
    END,
    Mark,
    Node,
    Send,
    Sent,
    assert_settled,
    drive,
    edges_of,
    events_of,
    marks,
    parted,
    result,
    stream_of,
    streams,
    unary,
    whole,
)

if TYPE_CHECKING:
    from latecomer.operators.aggregates.base import Aggregate
    from tests.operators.temporal.oracle import Stream

forms = pytest.mark.parametrize("sent", [whole, parted])
times = pytest.mark.parametrize("marks", [[END], [*map(Mark, range(12)), END]], ids=["one", "many"])


def aggregate(*keys: str, **results: Aggregate) -> Node:
    return unary(SnapshotAggregate(Summary(keys, tuple(results.items()))))


@forms
@times
def test_there_is_one_answer_for_each_stretch_between_changes(
    sent: Send, marks: list[Mark]
) -> None:
    rows = sent((1, 7, ("a", 10)), (4, 9, ("a", 20)), (2, 3, ("b", 5)))

    seen = result(aggregate("k", n=agg.count(), s=agg.sum("v")), rows, marks=marks)

    assert seen == Counter(
        [(1, 4, ("a", 1, 10)), (4, 7, ("a", 2, 30)), (7, 9, ("a", 1, 20)), (2, 3, ("b", 1, 5))]
    )


@forms
@times
def test_without_keys_all_rows_are_aggregated_together(sent: Send, marks: list[Mark]) -> None:
    rows = sent((1, 7, ("a", 10)), (4, None, ("b", 20)))

    seen = result(aggregate(high=agg.max("v")), rows, marks=marks)

    assert seen == Counter([(1, 4, (10,)), (4, 7, (20,)), (7, None, (20,))])


@forms
@pytest.mark.parametrize("made", [agg.count(), agg.max("v")], ids=["sums", "tree"])
def test_where_no_row_counts_there_is_no_result(sent: Send, made: Aggregate) -> None:
    seen = result(aggregate("k", x=made), sent((1, 3, ("a", 1)), (5, 6, ("a", 1))))

    assert seen == Counter([(1, 3, ("a", 1)), (5, 6, ("a", 1))])


@forms
@times
@pytest.mark.parametrize("made", [agg.count(), agg.min("v")], ids=["sums", "tree"])
def test_equal_results_are_not_merged(sent: Send, marks: list[Mark], made: Aggregate) -> None:
    seen = result(aggregate("k", x=made), sent((1, 3, ("a", 1)), (3, 6, ("a", 1))), marks=marks)

    assert seen == Counter([(1, 3, ("a", 1)), (3, 6, ("a", 1))])


def test_the_sum_of_nulls_is_null_and_they_are_counted_as_rows_only() -> None:
    rows = whole((1, 9, ("a", None)), (4, 6, ("a", 5)))

    seen = result(aggregate("k", n=agg.count(), v=agg.count("v"), s=agg.sum("v")), rows)

    assert seen == Counter(
        [(1, 4, ("a", 1, 0, None)), (4, 6, ("a", 2, 1, 5)), (6, 9, ("a", 1, 0, None))]
    )


def test_a_null_is_a_key_like_any_other() -> None:
    seen = result(aggregate("k", n=agg.count()), whole((1, 5, (None, 1)), (3, 9, (None, 1))))

    assert seen == Counter([(1, 3, (None, 1)), (3, 5, (None, 2)), (5, 9, (None, 1))])


def answers(name: Any, counting: Stream) -> tuple[Any, ...]:  # noqa: ANN401
    """Return the results by definition, for rows in order of their starts, which all differ."""
    in_order = sorted(counting, key=lambda event: event[0])
    found = values(in_order)
    return (
        name,
        in_order[0][2][1],
        in_order[-1][2][1],
        tuple(found),
        sum(found) / len(found) if found else None,
    )


@settings(max_examples=40)
@given(sent=streams(), marks=marks, restart=st.booleans())
def test_results_that_depend_on_order_use_the_starts_of_rows(
    sent: list[Sent], marks: list[Mark], *, restart: bool
) -> None:
    sent = list({each.event[0]: each for each in sent}.values())
    made = aggregate(
        "k",
        first=agg.first("v"),
        last=agg.last("v"),
        all=agg.collect("v"),
        mean=agg.mean("v"),
    )

    turns = drive(made, [sent], marks, restart=restart)

    assert_settled(turns, oracle.snapshots(stream_of(sent), key, answers))


@settings(max_examples=40)
@given(sent=streams(), marks=marks)
def test_sums_are_the_same_by_either_way(sent: list[Sent], marks: list[Mark]) -> None:
    spec = {"n": agg.count(), "s": agg.sum("v")}

    plain = result(aggregate("k", **spec), sent, marks=marks)
    with patch("latecomer.operators.temporal.stretches._sums", return_value=None):
        by_tree = result(aggregate("k", **spec), sent, marks=marks)

    assert plain == by_tree


def test_sums_of_whole_numbers_need_no_tree() -> None:
    rows = whole((1, 7, ("a", 10)), (4, 9, ("a", 20)))

    with patch.object(SnapshotAggregator, "_by_tree", side_effect=AssertionError):
        seen = result(aggregate(s=agg.sum("v")), rows)

    assert seen == Counter([(1, 4, (10,)), (4, 7, (30,)), (7, 9, (20,))])


@pytest.mark.parametrize("made", [agg.max("v"), agg.min("v")], ids=["max", "min"])
@settings(max_examples=40)
@given(sent=streams(), marks=marks)
def test_extremes_are_the_same_by_either_way(
    made: Aggregate, sent: list[Sent], marks: list[Mark]
) -> None:
    spec = {"n": agg.count("v"), "x": made}

    by_queue = result(aggregate("k", **spec), sent, marks=marks)
    with patch("latecomer.operators.temporal.stretches._largest", return_value=None):
        by_tree = result(aggregate("k", **spec), sent, marks=marks)

    assert by_queue == by_tree


def test_extremes_need_no_tree() -> None:
    rows = whole((1, 9, ("a", 10)), (4, 7, ("a", 20)), (5, 6, ("a", None)))

    with patch.object(SnapshotAggregator, "_by_tree", side_effect=AssertionError):
        seen = result(aggregate(high=agg.max("v"), low=agg.min("v")), rows)

    pieces = [(1, 4, 10), (4, 5, 20), (5, 6, 20), (6, 7, 20), (7, 9, 10)]
    assert seen == Counter([(start, end, (high, 10)) for start, end, high in pieces])


def test_a_million_rows_of_one_time_are_answered_at_once() -> None:
    # Comparing all pairs would take days.
    rows = 1_000_000
    at = np.zeros(rows, np.int64)
    given = Edges(at, at + 1 + np.arange(rows) % 3, at + FINAL, pa.table({"v": np.arange(rows)}))
    spec = SnapshotAggregate(Summary((), (("n", agg.count()), ("high", agg.max("v")))))
    running = spec.start(given.batch().schema, MemoryChunks())
    running.push(given.batch())

    ready = running.advance(FOREVER).ready

    assert ready.column("n").to_pylist() == [rows, 666_666, 333_333]
    assert ready.column("high").to_pylist() == [rows - 1, rows - 2, rows - 2]


def test_sums_that_fit_at_each_instant_are_right_however_large() -> None:
    large = 2**62
    rows = parted((1, 3, ("a", large)), (3, 5, ("a", large)), (4, 7, ("a", large - 1)))

    seen = result(aggregate("k", s=agg.sum("v")), rows)

    assert seen == Counter(
        [
            (1, 3, ("a", large)),
            (3, 4, ("a", large)),
            (4, 5, ("a", 2 * large - 1)),
            (5, 7, ("a", large - 1)),
        ]
    )


def test_a_sum_that_does_not_fit_is_an_error() -> None:
    rows = whole((1, 9, ("a", 2**62)), (2, 9, ("a", 2**62)))

    with pytest.raises(AggregateOverflowError, match='the sum of column "v" does not fit'):
        result(aggregate("k", s=agg.sum("v")), rows)


@forms
@times
def test_rows_without_columns_are_counted(sent: Send, marks: list[Mark]) -> None:
    spec = SnapshotAggregate(Summary((), (("n", agg.count()),)))
    root = unary(spec, edge_schema(pa.schema([])))

    seen = result(root, sent((1, 5, ()), (2, 4, ()), (6, None, ())), marks=marks)

    assert seen == Counter([(1, 2, (1,)), (2, 4, (2,)), (4, 5, (1,)), (6, None, (1,))])


def test_the_answer_at_the_watermark_is_open_until_something_changes() -> None:
    rows = whole((1, 9, ("a", 1)), (4, 9, ("a", 1)))

    turns = drive(aggregate("k", n=agg.count()), [rows], [Mark(3), Mark(5), Mark(8), Mark(9), END])

    assert [events_of(turn.rows) for turn in turns] == [
        Counter([(1, None, ("a", 1))]),
        Counter([(1, 4, ("a", 1)), (4, None, ("a", 2))]),
        Counter([(1, 4, ("a", 1)), (4, None, ("a", 2))]),
        Counter([(1, 4, ("a", 1)), (4, 9, ("a", 2))]),
        Counter([(1, 4, ("a", 1)), (4, 9, ("a", 2))]),
    ]


def test_a_row_at_the_watermark_ends_a_stretch_and_begins_none_until_that_has_passed() -> None:
    root = aggregate("k", n=agg.count())
    rows = whole((1, 9, ("a", 1)), (4, 9, ("a", 1)), (4, 9, ("a", 1)))

    seen = []
    for pushed, watermark in ((rows[:1], 4), (rows[1:2], 4), (rows[2:], 4), ([], 5), ([], 9)):
        ready, _ = root.turn([edges_of(pushed)], watermark)
        seen.append([(row[AT], row[OTHER], row["n"]) for row in ready.to_pylist()])

    assert seen == [[(1, FOREVER, 1)], [(4, 1, 1)], [], [(4, FOREVER, 3)], [(9, 4, 3)]]


def test_rows_that_end_together_are_held_as_one() -> None:
    rows = whole(*((start, 50, ("a", 1)) for start in range(9)))
    root = aggregate("k", high=agg.max("v"))

    drive(root, [rows], [Mark(20)])

    assert root.running.held == 1
