"""One answer for each closed session."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer import agg
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.temporal.session import Closing
from latecomer.operators.temporal.session_aggregate import SessionAggregate
from tests.operators.temporal import oracle
from tests.operators.temporal.catalogue import key, values
from tests.operators.temporal.driving import (
    END,
    Mark,
    Node,
    Send,
    Sent,
    drive,
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

forms = pytest.mark.parametrize("sent", [whole, parted])
times = pytest.mark.parametrize("marks", [[END], [*map(Mark, range(40)), END]], ids=["one", "many"])


def sessions(closing: Closing, *keys: str, **results: Aggregate) -> Node:
    summary = Summary(keys, tuple(results.items()))
    return unary(SessionAggregate(summary, closing, pa.int64()))


def closed(start: int, end: int, *results: Any) -> tuple[int, int, tuple[Any, ...]]:  # noqa: ANN401
    return end, end + 1, ((start, end), *results)


@forms
@times
def test_there_is_one_answer_for_each_session(sent: Send, marks: list[Mark]) -> None:
    rows = sent((1, 2, ("a", 1)), (3, 9, ("a", 5)), (4, 5, ("b", 7)), (8, None, ("a", 2)))

    seen = result(sessions(Closing(5), "k", n=agg.count(), s=agg.sum("v")), rows, marks=marks)

    assert seen == Counter(
        [closed(1, 8, "a", 2, 6), closed(4, 9, "b", 1, 7), closed(8, 13, "a", 1, 2)]
    )


@times
def test_a_session_that_is_cut_gives_two_answers(marks: list[Mark]) -> None:
    rows = whole(*((at, at + 1, ("a", at)) for at in (3, 7, 11, 15, 19, 21)))

    seen = result(sessions(Closing(5, 10), rows=agg.collect("v")), rows, marks=marks)

    assert seen == Counter([closed(3, 20, (3, 7, 11, 15, 19)), closed(21, 26, (21,))])


@times
def test_null_is_a_key(marks: list[Mark]) -> None:
    rows = whole((1, 2, (None, 1)), (2, 3, ("a", 1)), (3, 4, (None, 1)))

    seen = result(sessions(Closing(2), "k", n=agg.count()), rows, marks=marks)

    assert seen == Counter([closed(1, 3, None, 1), closed(3, 5, None, 1), closed(2, 4, "a", 1)])


def test_the_result_of_a_silent_key_comes_out_as_soon_as_its_session_is_over() -> None:
    root = sessions(Closing(5), "k", n=agg.count())
    turns = drive(root, [whole((1, 2, ("a", 0)), (3, 4, ("a", 0)))], [Mark(7), Mark(8), END])

    seen = [events_of(turn.rows) for turn in turns]
    assert seen == [Counter(), *[Counter([closed(1, 8, "a", 2)])] * 2]


def test_one_state_is_held_for_an_open_session_and_nothing_for_a_closed_one() -> None:
    root = sessions(Closing(5), "k", n=agg.count())
    drive(root, [whole(*((at, at + 1, ("a", 0)) for at in range(100)))], [Mark(100)])

    # One row for the state, and one for the streak.
    assert (root.running.held, root.running.due()) == (2, 104)
    drive(root, [[]], [Mark(104)])
    assert (root.running.held, root.running.due()) == (0, None)


EVERY: dict[str, tuple[Aggregate, Any]] = {
    "count": (agg.count(), len),
    "first": (agg.first("v"), lambda found: found[0]),
    "last": (agg.last("v"), lambda found: found[-1]),
    "max": (agg.max("v"), max),
    "mean": (agg.mean("v"), lambda found: sum(found) / len(found)),
    "collect": (agg.collect("v"), tuple),
    "count_distinct": (agg.count_distinct("v"), lambda found: len(set(found))),
    "quantile": (agg.quantile("v", 0), min),
}


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=25)
@given(sent=streams(nulls=False), marks=marks, timeout=st.integers(1, 9))
def test_any_aggregate_is_that_of_the_rows_of_the_session(
    name: str, sent: list[Sent], marks: list[Mark], timeout: int
) -> None:
    made, definition = EVERY[name]
    # The order of rows that begin together is undefined.
    apart = [(3 * at, None, (k, v)) for at, (_, _, (k, v)) in enumerate(stream_of(sent))]

    seen = result(sessions(Closing(timeout), "k", x=made), whole(*apart), marks=marks)

    assert seen == Counter(
        closed(members[0][0], end, key(members[0][2]), definition(values(members)))
        for end, members in oracle.sessions(apart, key, timeout, None)
    )
