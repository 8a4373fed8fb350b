"""Run an aggregate as an operator would: rows in portions, states merged, results by group."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from latecomer.operators.aggregates.base import Aggregate, Input
from latecomer.operators.aggregates.slices import (
    Slices,
    by_group,
    group_codes,
    group_order,
    slices_of,
)
from tests.support.carried import as_spark_writes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from latecomer.operators.aggregates.base import Columns

GROUP, TIME, VALUE, BY, FLAG = "group", "time", "value", "by", "flag"


def table(
    values: Sequence[Any],
    kind: pa.DataType,
    *,
    groups: Sequence[int] | None = None,
    times: Sequence[int] | None = None,
    flags: Sequence[bool | None] | None = None,
    by: pa.Array | None = None,
) -> pa.Table:
    """Return rows; by default they are in one group, a microsecond apart, and all count."""
    many = len(values)
    return pa.table(
        {
            GROUP: pa.array([0] * many if groups is None else groups, pa.int64()),
            TIME: pa.array(range(many) if times is None else times, pa.int64()),
            VALUE: as_spark_writes(values, kind),
            BY: pa.nulls(many, pa.int64()) if by is None else by,
            FLAG: pa.array([True] * many if flags is None else flags, pa.bool_()),
        }
    )


def run(aggregate: Aggregate, rows: pa.Table, cuts: Sequence[int] = ()) -> dict[int, Any]:
    """Aggregate portions of the rows, and merge their states in turn."""
    bounds = [0, *sorted(cut % (rows.num_rows + 1) for cut in cuts), rows.num_rows]
    groups, states = added(aggregate, rows.slice(0, bounds[1]))
    for start, stop in pairwise(bounds[1:]):
        more_groups, more = added(aggregate, rows.slice(start, stop - start))
        groups = np.concatenate([groups, more_groups])
        states = [pa.concat_arrays(both) for both in zip(states, more, strict=True)]
        groups, states = merged(aggregate, groups, states)
        check_types(aggregate, states, rows.schema)
    results = aggregate.finish([moved(state) for state in states], rows.schema)
    assert results.type == aggregate.result_type(rows.schema)
    assert len(results) == len(groups)
    return dict(zip(groups.tolist(), results.to_pylist(), strict=True))


def result(
    aggregate: Aggregate, values: Sequence[Any], kind: pa.DataType, cuts: Sequence[int] = ()
) -> Any:  # noqa: ANN401
    """Aggregate the values of one group."""
    return run(aggregate, table(values, kind), cuts)[0]


def added(aggregate: Aggregate, rows: pa.Table) -> tuple[np.ndarray, Columns]:
    times = rows.column(TIME).to_numpy()
    groups, count = group_codes([rows.column(GROUP)], rows.num_rows)
    order = group_order(groups, count, times if aggregate.needs_order else None)
    slices = slices_of(groups[order])
    states = aggregate.add(Input(rows.take(pa.array(order)), times[order], slices))
    check_types(aggregate, states, rows.schema)
    return rows.column(GROUP).to_numpy()[order[slices.bounds[:-1]]], states


def merged(aggregate: Aggregate, groups: np.ndarray, states: Columns) -> tuple[np.ndarray, Columns]:
    order, slices = by_group([pa.chunked_array([groups])], len(groups))
    taken = [moved(state.take(pa.array(order))) for state in states]
    return groups[order[slices.bounds[:-1]]], aggregate.merge(taken, slices)


def zero(aggregate: Aggregate, schema: pa.Schema) -> Columns:
    """Return the state of no rows."""
    return aggregate.add(
        Input(schema.empty_table(), np.empty(0, np.int64), Slices(np.zeros(2, np.int64)))
    )


def moved(state: pa.Array) -> pa.Array:
    """Return an array that starts within its buffers, as arrays read from disk may."""
    return pa.concat_arrays([state.slice(0, 1), state]).slice(min(len(state), 1))


def check_types(aggregate: Aggregate, states: Columns, schema: pa.Schema) -> None:
    assert [state.type for state in states] == aggregate.state_types(schema)
