"""Conditions and computed columns on single rows."""

from __future__ import annotations

import pyarrow as pa

from latecomer.operators.temporal.conditions import Computed, Condition
from latecomer.operators.temporal.edges import edge_schema
from latecomer.operators.temporal.rowwise import Compute, Keep

ROWS = pa.table({"v": [1, None, 3], "_lc_kept_0": [True, None, False]})
EDGES = pa.table(
    {
        "v": [1, 2],
        "_lc_kept_0": [False, True],
        "_lc_at": [3, 4],
        "_lc_other": [9, 9],
        "_lc_id": [1, 2],
    }
)


def test_rows_are_kept_where_a_column_is_true() -> None:
    spec = Keep("_lc_kept_0", "v < 2")

    assert spec.of_rows(ROWS).to_pylist() == [{"v": 1, "_lc_kept_0": True}]
    assert spec.of_rows(EDGES).schema == spec.output_schema(EDGES.schema)
    assert spec.of_rows(EDGES).select(["v"]).to_pylist() == [{"v": 2}]
    assert "_lc_kept_0" not in spec.of_rows(EDGES).column_names


def test_a_checkpoint_knows_the_condition_as_it_was_written() -> None:
    assert Keep("_lc_kept_0", "v < 2").label == 'Keep(where="v < 2")'
    assert Keep("_lc_kept_0", "v < 2").describe(ROWS.schema).startswith("keep rows where v < 2;")


def test_a_condition_that_fails_on_a_null_is_false() -> None:
    kept = Keep(Condition(lambda row: row.v > 1)).of_rows(ROWS)

    assert kept.column("v").to_pylist() == [3]


def test_columns_are_computed_side_by_side() -> None:
    spec = Compute(
        (
            ("twice", Computed(lambda row: 2 * row.v, pa.int64())),
            ("half", Computed(lambda row: row.v / 2, pa.float64())),
        )
    )

    for rows in (ROWS, ROWS.slice(0, 1), ROWS.slice(0, 0)):
        found = spec.of_rows(rows)
        assert found.schema == spec.output_schema(rows.schema)
    assert spec.of_rows(ROWS).select(["twice", "half"]).to_pydict() == {
        "twice": [2, None, 6],
        "half": [0.5, None, 1.5],
    }
    assert spec.output_schema(EDGES.schema) == edge_schema(
        pa.schema(
            {"v": pa.int64(), "_lc_kept_0": pa.bool_(), "twice": pa.int64(), "half": pa.float64()}
        )
    )
    assert spec.brings == {"twice", "half"}
