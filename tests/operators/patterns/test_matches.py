from __future__ import annotations

import numpy as np
import pyarrow as pa

from latecomer.kernels.automaton import Steps
from latecomer.operators.patterns.matches import Matches, struct_type
from latecomer.time import TimeColumn

ROWS = pa.table({"time": [1, 2, 3, 4], "name": ["p", "q", "r", "s"]})
FIRST, MORE, MAYBE = 0, 1, 2


def matches(*chains: list[tuple[int, int]]) -> Matches:
    """Return matches; each is a list of rows with their events."""
    rows, events, before, lasts = [], [], [], []
    for chain in chains:
        for at, (row, event) in enumerate(chain):
            before.append(len(rows) - 1 if at else -1)
            rows.append(row)
            events.append(event)
        lasts.append(len(rows) - 1)
    steps = Steps(*(np.array(each, np.int64) for each in (rows, events, before)))
    return Matches(ROWS, steps, np.array(lasts, np.int64), np.arange(3))


def test_a_match_begins_with_its_first_row_and_ends_with_its_last() -> None:
    found = matches([(0, FIRST), (1, MORE), (3, MORE)])

    assert found.first(["time", "name"]).to_pylist() == [{"time": 1, "name": "p"}]
    assert found.last(["time"]).to_pylist() == [{"time": 4}]


def test_rows_of_some_events_are_given_match_by_match_to_be_aggregated() -> None:
    found = matches([(0, FIRST), (1, MORE), (2, MORE)], [(3, FIRST)])

    given = found.given([MORE], TimeColumn("time", "us"))
    assert len(found) == 2
    assert given.rows.column("name").to_pylist() == ["q", "r"]
    assert given.times.tolist() == [2, 3]
    assert given.slices.lengths.tolist() == [2, 0]


def test_matches_are_in_order_of_their_last_rows_and_the_oldest_is_first() -> None:
    found = matches([(1, FIRST), (3, MORE)], [(0, FIRST), (2, MORE)], [(2, FIRST), (3, MORE)])

    assert found.first(["time"]).column("time").to_pylist() == [1, 2, 3]


def test_an_event_that_did_not_come_is_null() -> None:
    found = matches([(0, FIRST), (1, MAYBE)], [(2, FIRST)])

    assert found.one(MAYBE, ["name"]).to_pylist() == [{"name": "q"}, None]
    assert found.one(FIRST, ["name"]).to_pylist() == [{"name": "p"}, {"name": "r"}]


def test_events_that_came_more_often_are_a_list_in_order_and_perhaps_an_empty_one() -> None:
    found = matches([(0, FIRST), (1, MORE), (2, MORE)], [(0, FIRST), (3, MAYBE)])

    assert found.several(MORE, ["time"]).to_pylist() == [[{"time": 2}, {"time": 3}], []]


def test_matches_have_the_declared_types() -> None:
    found = matches([(0, FIRST)])

    assert found.one(FIRST, ROWS.column_names).type == struct_type(ROWS.schema)
    assert found.several(FIRST, ROWS.column_names).type == pa.list_(struct_type(ROWS.schema))


def test_no_matches_are_no_rows() -> None:
    found = matches()

    assert found.one(FIRST, ["name"]).to_pylist() == []
    assert found.several(FIRST, ["name"]).to_pylist() == []
