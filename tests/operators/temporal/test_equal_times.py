"""No operator compares all pairs of rows of one time, which would be 10^12 pairs here."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from latecomer.operators.temporal.edges import FINAL, Edges, edge_schema
from latecomer.operators.temporal.stitch import Stitch
from latecomer.time import FOREVER
from tests.operators.temporal.catalogue import CATALOGUE, LEFT, RIGHT, Entry

ROWS = 1_000_000


def rows_of_one_time(schema: pa.Schema, side: int, *, is_paired: bool) -> pa.Table:
    """Return rows of one key; for joins each row has its own key, or all pairs would match."""
    name, value = (field.name for field in schema if not field.name.startswith("_lc"))
    numbers = np.arange(ROWS)
    keys = pa.array(numbers if is_paired else numbers * 0).cast(schema.field(name).type)
    at = np.zeros(ROWS, np.int64)
    payload = pa.table({name: keys, value: pa.array(numbers % 10)})
    return Edges(at, at + 8 - side, at + FINAL, payload).batch().cast(edge_schema(payload.schema))


def asks_a_function_of_pairs(entry: Entry) -> bool:
    """Return True for a stitch by a function, which Python calls for each pair of rows."""
    return isinstance(entry.spec, Stitch) and entry.spec.equal is not None


LINEAR = [entry for entry in CATALOGUE if not asks_a_function_of_pairs(entry)]


@pytest.mark.parametrize("entry", LINEAR, ids=str)
def test_a_million_rows_of_one_time_are_answered(entry: Entry) -> None:
    schemas = [LEFT, LEFT if entry.alike else RIGHT][: entry.sides]
    running = entry.root().running
    ready = 0

    for side, schema in enumerate(schemas):
        rows = rows_of_one_time(schema, side, is_paired=len(schemas) > 1)
        ready += running.push(rows, side).ready.num_rows
    ready += running.advance(FOREVER).ready.num_rows

    assert ready > 0
