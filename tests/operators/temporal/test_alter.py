"""Lifetimes changed row by row."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.operators.temporal.alter import Alter, PointAtEnd, Quantize, Shift
from latecomer.operators.temporal.edges import AT, ID, OTHER
from latecomer.time import FOREVER, NEVER
from tests.operators.temporal import oracle
from tests.operators.temporal.driving import (
    LEFT,
    Mark,
    Send,
    Sent,
    assert_settled,
    drive,
    edges_of,
    marks,
    parted,
    result,
    stream_of,
    streams,
    table,
    unary,
    whole,
)

if TYPE_CHECKING:
    from tests.operators.temporal.oracle import Event

A, B = ("a", 1), ("b", 2)


@pytest.mark.parametrize("sent", [whole, parted])
def test_a_duration_replaces_the_one_that_was(sent: Send) -> None:
    seen = result(unary(Alter(3)), sent((1, 9, A), (2, None, B)))

    assert seen == Counter([(1, 4, A), (2, 5, B)])


@pytest.mark.parametrize("sent", [whole, parted])
def test_without_a_duration_nothing_ends(sent: Send) -> None:
    assert result(unary(Alter(None)), sent((1, 9, A))) == Counter([(1, None, A)])


def test_a_column_says_how_long_each_row_lasts_and_null_is_for_ever() -> None:
    seen = result(unary(Alter("v")), whole((1, 2, ("a", 5)), (3, 4, ("b", None))))

    assert seen == Counter([(1, 6, ("a", 5)), (3, None, ("b", None))])


@pytest.mark.parametrize("duration", [0, -2])
def test_rows_of_no_duration_are_left_out(duration: int) -> None:
    assert result(unary(Alter("v")), whole((1, 2, ("a", duration)))) == Counter()


@pytest.mark.parametrize("duration", [FOREVER, FOREVER - 1, FOREVER - 10])
def test_a_duration_beyond_all_times_is_for_ever(duration: int) -> None:
    payload = ("a", duration)

    assert result(unary(Alter("v")), whole((10, 11, payload))) == Counter([(10, None, payload)])


def test_durations_may_be_of_a_narrower_type() -> None:
    rows = pa.table({"v": pa.array([5, None], pa.int32())})
    for name in LEFT.names[2:]:
        rows = rows.append_column(name, pa.array([1, 2], pa.int64()))

    seen = Alter("v").of_rows(rows)

    assert seen["_lc_other"].to_pylist() == [6, FOREVER]


@pytest.mark.parametrize(("by", "expected"), [(5, (6, 14, A)), (-5, (-4, 4, A)), (0, (1, 9, A))])
@pytest.mark.parametrize("sent", [whole, parted])
def test_a_shift_moves_start_and_end(sent: Send, by: int, expected: Event) -> None:
    assert result(unary(Shift(by)), sent((1, 9, A))) == Counter([expected])


def test_a_shifted_row_without_an_end_has_no_end() -> None:
    assert result(unary(Shift(-5)), whole((1, None, A))) == Counter([(-4, None, A)])


def test_the_result_of_a_shift_is_settled_as_far_as_the_rows_moved() -> None:
    assert [Shift(-5).passes(w) for w in (NEVER, 7, FOREVER)] == [NEVER, 2, FOREVER]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ((0, 10), (0, 10)),
        ((3, 4), (0, 10)),
        ((3, 11), (0, 15)),
        ((7, 25), (5, 25)),
        ((-1, 0), (-5, 5)),
        ((4, None), (0, None)),
    ],
)
@pytest.mark.parametrize("sent", [whole, parted])
def test_windows_of_ten_every_five_that_a_row_touches(
    sent: Send, event: tuple[int, int | None], expected: tuple[int, int | None]
) -> None:
    assert result(unary(Quantize(10, 5)), sent((*event, A))) == Counter([(*expected, A)])


def test_the_result_of_rounding_is_settled_up_to_the_grid() -> None:
    spec = Quantize(10, 5, 2)

    assert [spec.passes(w) for w in (NEVER, 1, 2, 6, 7, FOREVER)] == [NEVER, -3, 2, 2, 7, FOREVER]


@settings(max_examples=50)
@given(sent=streams(), marks=marks, size=st.integers(1, 12), hop=st.integers(1, 12), data=st.data())
def test_rounding_follows_its_definition(
    sent: list[Sent], marks: list[Mark], size: int, hop: int, data: st.DataObject
) -> None:
    origin = data.draw(st.integers(-20, 20))

    turns = drive(unary(Quantize(size, hop, origin)), [sent], marks)

    assert_settled(turns, oracle.quantize(stream_of(sent), size, hop, origin))


@given(
    times=st.lists(st.integers(-20, 20), max_size=6), hop=st.integers(1, 5), hops=st.integers(1, 4)
)
def test_points_count_in_the_stretch_that_ends_with_a_window(
    times: list[int], hop: int, hops: int
) -> None:
    events = result(unary(Quantize(hop * hops, hop)), whole(*((t, t + 1, A) for t in times)))

    for end in range(-40, 60):
        if end % hop == 0:
            counting = sum(n for (a, b, _), n in events.items() if a <= end - hop and end <= b)
            assert counting == sum(end - hop * hops <= time < end for time in times)


def test_a_row_counts_for_one_microsecond_from_its_end_on() -> None:
    expected = Counter([(9, 10, A), (4, 5, B)])

    assert result(unary(PointAtEnd()), whole((3, 9, A), (1, 4, B))) == expected
    assert result(unary(PointAtEnd()), parted((3, 9, A), (1, 4, B))) == expected


def test_rows_without_an_end_are_left_out() -> None:
    assert result(unary(PointAtEnd()), whole((3, None, A)) + parted((3, None, B))) == Counter()


def test_an_end_that_is_known_comes_out_at_once_and_an_unknown_one_when_it_comes() -> None:
    known = table(edges_of(whole((3, 9, A))), LEFT)
    begin, end = (table([edge], LEFT) for edge in edges_of(parted((3, 9, A))))

    for rows, expected in ((known, [(9, 10, -1)]), (begin, []), (end, [(9, 10, -1)])):
        found = PointAtEnd().of_rows(rows).to_pylist()
        assert [(row[AT], row[OTHER], row[ID]) for row in found] == expected


def test_the_last_instant_has_no_point_after_it() -> None:
    last = table(edges_of(whole((3, FOREVER - 1, A))), LEFT)

    assert PointAtEnd().of_rows(last).column(OTHER).to_pylist() == [FOREVER]


@given(watermark=st.integers(-50, 50))
def test_the_input_that_an_output_needs_is_the_smallest_that_is_enough(watermark: int) -> None:
    for spec in (Quantize(10, 5, 2), Quantize(7, 7), Shift(-4), Shift(3), Alter(5)):
        needed = int(spec.needed(np.array([watermark]))[0])
        assert spec.passes(needed) >= watermark > spec.passes(needed - 1)
        bounds = np.array([NEVER, FOREVER])
        assert spec.needed(bounds).tolist() == spec.passed(bounds).tolist() == bounds.tolist()
