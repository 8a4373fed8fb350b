from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer import agg
from latecomer.errors import ColumnNotFoundError
from latecomer.operators.aggregates.counting import Count
from latecomer.operators.aggregates.summary import (
    PANE,
    ROWS,
    SLOT,
    TOUCHED,
    SlottedSummary,
    Summary,
    names_of,
)
from latecomer.operators.aggregates.sums import Sum

BY_KEY = Summary(("key",), (("total", agg.sum("x")), ("mean", agg.mean("x")), ("n", agg.count())))
FIRSTS = Summary((), (("first", agg.first("x")),))

ROWS_IN = pa.table({"key": ["a", "b", "a", "a"], "x": [1, 2, 3, None], "other": [0, 0, 0, 0]})
PANES = np.array([10, 10, 10, 20])
TIMES = np.array([11, 12, 13, 24])


def results(summary: Summary, states: pa.Table, schema: pa.Schema) -> list[tuple]:
    found = summary.finish(summary.merge(states, schema), schema)
    return sorted(tuple(row.values()) for row in found.to_pylist())


def test_there_is_one_state_for_each_pane_and_key() -> None:
    states = BY_KEY.add(ROWS_IN, PANES, TIMES)

    assert states.select([PANE, "key", ROWS]).to_pylist() == [
        {PANE: 10, "key": "a", ROWS: 2},
        {PANE: 10, "key": "b", ROWS: 1},
        {PANE: 20, "key": "a", ROWS: 1},
    ]
    assert results(BY_KEY, states, ROWS_IN.schema) == [
        (10, "a", 4, 2.0, 2),
        (10, "b", 2, 2.0, 1),
        (20, "a", None, None, 1),
    ]


def test_states_of_portions_are_merged_to_that_of_all_rows() -> None:
    whole = BY_KEY.add(ROWS_IN, PANES, TIMES)
    parts = pa.concat_tables(
        BY_KEY.add(ROWS_IN.slice(at, 1), PANES[at : at + 1], TIMES[at : at + 1]) for at in range(4)
    )

    merged = BY_KEY.merge(parts, ROWS_IN.schema)

    assert merged.sort_by([(PANE, "ascending"), ("key", "ascending")]).equals(whole)


def test_merged_states_are_in_order_of_their_panes() -> None:
    states = BY_KEY.add(ROWS_IN, np.array([30, 20, 10, 20]), TIMES)

    merged = BY_KEY.merge(pa.concat_tables([states.slice(2), states.slice(0, 2)]), ROWS_IN.schema)

    assert merged.column(PANE).to_pylist() == [10, 20, 20, 30]


def test_rows_are_added_in_order_of_time_if_an_aggregate_asks_for_it() -> None:
    rows = pa.table({"x": ["late", "early"]})

    states = FIRSTS.add(rows, np.array([0, 0]), np.array([9, 2]))

    assert results(FIRSTS, states, rows.schema) == [(0, "early")]


def test_without_keys_panes_that_ascend_are_slices_already() -> None:
    summary = Summary((), (("total", agg.sum("x")),))
    rows = pa.table({"x": [1, 2, 4]})

    ascending = summary.add(rows, np.array([1, 1, 2]), np.array([1, 1, 2]))
    mixed = summary.add(rows, np.array([1, 2, 1]), np.array([1, 2, 1]))

    assert results(summary, ascending, rows.schema) == [(1, 3), (2, 4)]
    assert results(summary, mixed, rows.schema) == [(1, 5), (2, 2)]


def test_a_state_was_touched_when_its_last_row_was_and_keeps_its_slot() -> None:
    rows = ROWS_IN.append_column(TOUCHED, pa.array([5, 6, 9, 7])).append_column(
        SLOT, pa.array([1, 2, 1, 1])
    )

    states = BY_KEY.add(rows, PANES, TIMES)
    twice = BY_KEY.merge(pa.concat_tables([states, states]), rows.schema)

    for found, times in ((states, 1), (twice, 2)):
        assert found.column(TOUCHED).to_pylist() == [9, 6, 7]
        assert found.column(SLOT).to_pylist() == [1, 2, 1]
        assert found.column(ROWS).to_pylist() == [2 * times, times, times]


def test_columns_that_are_read_twice_are_named_once() -> None:
    summary = Summary(("key",), (("n", agg.count("key")), ("m", agg.sum("x", where="ok"))))

    assert summary.columns == ("key", "x", "ok")


def test_a_key_may_be_aggregated_too() -> None:
    summary = Summary(("key",), (("last", agg.max("key")),))

    states = summary.add(ROWS_IN, PANES, TIMES)

    assert results(summary, states, ROWS_IN.schema) == [
        (10, "a", "a"),
        (10, "b", "b"),
        (20, "a", "a"),
    ]


def test_results_have_the_keys_and_the_names_that_were_asked_for() -> None:
    schema = BY_KEY.result_schema(ROWS_IN.schema)

    assert schema.names == ["key", "total", "mean", "n"]
    assert schema.types == [pa.string(), pa.int64(), pa.float64(), pa.int64()]
    assert names_of([FIRSTS, BY_KEY]) == schema.names


def test_states_have_columns_of_their_own_for_each_aggregate() -> None:
    names = BY_KEY.state_schema(ROWS_IN.schema).names

    assert names[:2] == [PANE, "key"]
    assert names[2:] == [name for at in range(3) for name in BY_KEY.state_names(at, ROWS_IN.schema)]
    assert len(set(names)) == len(names)


def test_a_key_that_is_missing_is_named() -> None:
    with pytest.raises(ColumnNotFoundError, match='no column "city"'):
        Summary(("city",), ()).result_schema(ROWS_IN.schema)


rows_of_groups = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from("ab") | st.none(),
        st.integers(-3, 3) | st.just(2**59) | st.none(),
        st.booleans() | st.none(),
    ),
    min_size=1,
    max_size=12,
)


@given(rows_of_groups)
def test_counts_and_sums_are_the_same_without_putting_rows_in_order(
    given_rows: list[tuple[int, str | None, int | None, bool | None]],
) -> None:
    panes, keys, values, passed = (list(column) for column in zip(*given_rows, strict=True))
    rows = pa.table(
        {
            "k": pa.array(keys, pa.string()),
            "v": pa.array(values, pa.int64()),
            "w": pa.array(passed, pa.bool_()),
        }
    )
    aggregates = (Count(), Count("v"), Count("v", "w"), Sum("v"), Sum("v", "w"))
    summary = Summary(("k",), tuple((str(at), each) for at, each in enumerate(aggregates)))
    at = np.array(panes, np.int64)

    made = summary.add(rows, at, at)
    with patch.object(Summary, "_tallied", return_value=None):
        by_slices = summary.add(rows, at, at)

    assert made.equals(by_slices)


def test_rows_are_tallied_where_groups_are_not_many_more_than_rows() -> None:
    rows = pa.table({"k": [1, 0, 1, 0], "v": [1, 2, 3, 4]})
    summary = Summary(("k",), (("n", Count()), ("s", Sum("v"))))

    with patch.object(Summary, "add_slices", side_effect=AssertionError):
        made = summary.add(rows, np.zeros(4, np.int64), np.zeros(4, np.int64))

    assert made.drop_columns([PANE, ROWS]).to_pydict() == {
        "k": [0, 1],
        "_lc_state_0_0": [2, 2],
        "_lc_state_1_0": [6, 4],
    }


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.integers(0, 1)), max_size=9
    ),
    needs_order=st.booleans(),
)
def test_a_slot_stands_for_the_keys_that_it_identifies(
    rows: list[tuple[int, str, int]], *, needs_order: bool
) -> None:
    of_slot = agg.first("part") if needs_order else agg.count()
    plain = Summary(("key", "part"), (("n", of_slot),))
    slotted = SlottedSummary(plain.keys, plain.aggregates, ("key",))
    panes = np.array([pane for pane, _, _ in rows], np.int64)
    table = pa.table(
        {
            "key": pa.array([key for _, key, _ in rows], pa.string()),
            "part": pa.array([part for _, _, part in rows], pa.int64()),
            SLOT: pa.array([7 + "cab".index(key) for _, key, _ in rows], pa.int64()),
        }
    )

    found = [each.add(table, panes, panes) for each in (plain, slotted)]
    found = [
        each.merge(states, table.schema)
        for each, states in zip((plain, slotted), found, strict=True)
    ]

    ours, theirs = (sorted(map(str, states.to_pylist())) for states in found)
    assert ours == theirs
    assert all(row[SLOT] == 7 + "cab".index(row["key"]) for row in found[1].to_pylist())
