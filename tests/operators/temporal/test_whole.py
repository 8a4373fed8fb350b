"""Rows in the form for users: with a start and an end, or as single edges."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.hosts.local import MemoryChunks
from latecomer.operators.temporal.whole import AsEdges, Whole, instants
from latecomer.time import FOREVER, Unit
from tests.operators.temporal.driving import (
    END,
    LEFT,
    Mark,
    Sent,
    edges_of,
    marks,
    parted,
    stream_of,
    streams,
    table,
    whole,
)

A, B = ("a", 1), ("b", 2)
MICROS = Whole(pa.int64(), "us")


def play(
    sent: list[Sent], marks: list[Mark], *, batch: int = 100, restart: bool = False
) -> list[list[tuple[Any, ...]]]:
    """Push edges, and return the rows of each watermark."""
    chunks, seen = MemoryChunks(), []
    running = MICROS.start(LEFT, chunks)
    left = edges_of(sent)
    for mark in marks:
        until = min(mark.watermark + mark.ahead, FOREVER)
        now = [edge for edge in left if edge[0] < until]
        left = [edge for edge in left if edge[0] >= until]
        for first in range(0, len(now), batch):
            assert running.push(table(now[first : first + batch], LEFT)).ready.num_rows == 0
        rows = running.advance(mark.watermark).ready.to_pylist()
        seen.append(sorted((tuple(row.values()) for row in rows), key=str))
        if restart:
            running = MICROS.start(LEFT, chunks, running.save())
    assert running.held == 0
    return seen


def test_a_row_comes_out_once_its_end_is_known() -> None:
    sent = [*whole((1, 9, A)), *parted((2, 5, B))]

    seen = play(sent, [Mark(2), Mark(5), Mark(6), END])

    assert seen == [[(1, 9, *A)], [], [(2, 5, *B)], []]


def test_rows_that_are_open_at_the_end_of_the_stream_have_no_end() -> None:
    sent = [*whole((1, None, A)), *parted((2, None, B))]

    assert play(sent, [Mark(5), END]) == [[(1, None, *A)], [(2, None, *B)]]


@settings(max_examples=40)
@given(sent=streams(), marks=marks, batch=st.integers(1, 3))
def test_every_row_comes_out_once_whatever_the_batches_and_restarts(
    sent: list[Sent], marks: list[Mark], batch: int
) -> None:
    plain = play(sent, marks)

    assert play(sent, marks, batch=batch) == plain
    assert play(sent, marks, restart=True) == plain
    rows = [row for step in plain for row in step]
    expected = [(start, end, *payload) for start, end, payload in stream_of(sent)]
    assert sorted(rows, key=str) == sorted(expected, key=str)


def test_start_and_end_come_first_and_are_of_the_type_of_the_times() -> None:
    kind = pa.timestamp("ms", "UTC")

    assert Whole(kind).output_schema(LEFT) == pa.schema(
        [
            pa.field("start", kind, nullable=False),
            pa.field("end", kind),
            pa.field("k", pa.string()),
            pa.field("v", pa.int64()),
        ]
    )


@pytest.mark.parametrize(
    ("kind", "unit", "expected"),
    [
        (pa.timestamp("us"), None, (pa.timestamp("us"), None)),
        (pa.timestamp("ns", "UTC"), None, (pa.timestamp("ns", "UTC"), None)),
        (pa.timestamp("ms"), None, (pa.timestamp("us", "UTC"), None)),
        (pa.int64(), "ms", (pa.timestamp("us", "UTC"), None)),
    ],
)
def test_times_are_not_written_coarser_than_a_microsecond(
    kind: pa.DataType, unit: Unit | None, expected: tuple[pa.DataType, Unit | None]
) -> None:
    assert instants(kind, unit) == expected


def test_edges_are_marked_as_begin_or_end() -> None:
    edges = edges_of([*whole((1, 9, A), (3, None, A)), *parted((2, 5, B))])
    edges = [*edges[:2], *((at, other, 7, payload) for at, other, _, payload in edges[2:])]

    seen = AsEdges(pa.int64(), "us").of_rows(table(edges, LEFT))

    assert seen.schema == AsEdges(pa.int64(), "us").output_schema(LEFT)
    assert [tuple(row.values()) for row in seen.to_pylist()] == [
        (1, 9, "interval", *A),
        (3, None, "interval", *A),
        (2, None, "start", *B),
        (2, 5, "end", *B),
    ]
