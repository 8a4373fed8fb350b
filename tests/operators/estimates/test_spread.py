"""The sums from which intervals are computed, against sums over units in plain Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.operators.aggregates.base import Input
from latecomer.operators.aggregates.slices import Slices, by_group
from latecomer.operators.estimates.spread import UNIT, Spread

Rows = list[tuple[int, int, float | None]]
"""Group, unit and value."""


def added(spread: Spread, rows: Rows) -> dict[int, list[float]]:
    rows = sorted(rows, key=lambda row: row[1])
    table = pa.table(
        {
            "group": pa.array([group for group, _, _ in rows], pa.int64()),
            UNIT: pa.array([unit for _, unit, _ in rows], pa.int64()),
            "value": pa.array([value for _, _, value in rows], pa.float64()),
        }
    )
    order, slices = by_group([table["group"]], len(rows))
    taken = table.take(pa.array(order))
    states = spread.add(Input(taken, np.zeros(len(rows), np.int64), slices))
    groups = taken["group"].to_numpy()[slices.bounds[:-1]].tolist()
    return {group: [s[i].as_py() for s in states] for i, group in enumerate(groups)}


def by_definition(rows: Rows) -> dict[int, list[float]]:
    found = {}
    for group in {group for group, _, _ in rows}:
        units: dict[int, list[float]] = {}
        for each, unit, value in rows:
            if each == group and value is not None:
                units.setdefault(unit, []).append(value)
        n = [len(values) for values in units.values()]
        s = [sum(values) for values in units.values()]
        mean = sum(s) / sum(n) if n else 0.0
        away = [one - mean * many for one, many in zip(s, n, strict=True)]
        found[group] = [
            len(n),
            sum(n),
            mean,
            sum(each**2 for each in away),
            sum(many * each for many, each in zip(n, away, strict=True)),
            sum(many**2 for many in n),
        ]
    return found


rows_of_units = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(0, 5), st.none() | st.integers(-5, 5).map(lambda n: n + 1e3)
    ),
    max_size=30,
)


@given(rows=rows_of_units)
def test_units_are_added_up(rows: Rows) -> None:
    found, expected = added(Spread("value", is_summed=True), rows), by_definition(rows)

    assert found.keys() == expected.keys()
    for group, state in expected.items():
        assert found[group] == pytest.approx(state, abs=1e-6)


@given(rows=rows_of_units)
def test_states_of_different_units_are_merged(rows: Rows) -> None:
    spread = Spread("value", is_summed=True)
    rows = [(0, unit, value) for _, unit, value in rows]
    parts = [added(spread, [row for row in rows if row[1] % 3 == part]) for part in range(3)]
    states = [part[0] for part in parts if part]
    if not states:
        return

    kinds = spread.state_types(pa.schema([]))
    columns = [pa.array(one, kind) for one, kind in zip(zip(*states, strict=True), kinds)]  # noqa: B905
    merged = spread.merge(columns, Slices(np.array([0, len(states)])))

    expected = by_definition(rows)[0]
    assert [column[0].as_py() for column in merged] == pytest.approx(expected, abs=1e-6)


def test_large_values_close_together_do_not_cancel_out() -> None:
    state = added(Spread("value", is_summed=True), [(0, n, 1e9 + n % 2) for n in range(1000)])[0]

    assert state[3] == pytest.approx(250)


def test_without_a_column_each_row_is_one() -> None:
    state = added(Spread(""), [(0, 1, None), (0, 1, None), (0, 2, None)])[0]

    assert state == [2, 3, 1.0, 0.0, 0.0, 5.0]
