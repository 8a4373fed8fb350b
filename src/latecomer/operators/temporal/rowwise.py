"""Filter rows and compute columns, row by row: on ordered rows and on rows with lifetimes.

    where("price > 3")                          Spark computes a boolean column before the sort
    where(lambda row: row.price > row.limit)    a Python function of the row, also after a join
    with_columns(total=lambda row: row.price * row.pieces)

A row with a lifetime may travel as a begin and an end. Both have the same columns, so a function
returns the same for both. Functions are compiled if possible; see `conditions`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, gather, is_true
from latecomer.labels import named
from latecomer.operators.temporal.conditions import Computed, Condition
from latecomer.operators.temporal.edges import AT, OWN, edge_schema, payload_schema
from latecomer.operators.temporal.stateless import OfRows


@dataclass(frozen=True, slots=True)
class Keep(OfRows):
    """Keep the rows that meet a condition."""

    fixed = ("where",)

    keeps_rows = True

    where: Condition | str
    """A function of a row, or the name of a boolean column, in which null counts as false. Rows
    with lifetimes lose that column here, so that nothing compares it or clashes with its name."""
    text: str = ""
    """Condition as the user wrote it, if `where` names a column."""

    def part(self, name: str) -> object:
        """Return the condition as the user wrote it, or the function."""
        return self.text or self.where

    def describe(self, schema: pa.Schema) -> str:
        how = self.text
        if isinstance(self.where, Condition):
            name = named(self.where.function).rsplit(".", 1)[-1]
            how = f"{'a function' if name == '<lambda>' else name} is true"
        return f"keep rows where {how}; nothing is held"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        is_needless = AT in schema.names and isinstance(self.where, str)
        return schema.remove(schema.get_field_index(self.where)) if is_needless else schema

    def of_rows(self, rows: Batch) -> Batch:
        if isinstance(self.where, str):
            is_met = is_true(rows.column(self.where))
        else:
            is_met = self.where.holds(_payload(rows))
        return gather(rows, np.flatnonzero(is_met)).select(self.output_schema(rows.schema).names)


@dataclass(frozen=True, slots=True)
class Compute(OfRows):
    """Add columns that functions of single rows compute."""

    columns: tuple[tuple[str, Computed], ...]

    @property
    def brings(self) -> frozenset[str]:
        """Names of the computed columns: rows are not yet in the bucket of a key that has one."""
        return frozenset(name for name, _ in self.columns)

    def describe(self, schema: pa.Schema) -> str:
        return f"compute {', '.join(name for name, _ in self.columns)}; nothing is held"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        more = (pa.field(name, computed.kind) for name, computed in self.columns)
        made = pa.schema([*payload_schema(schema), *more])
        return edge_schema(made) if AT in schema.names else made

    def of_rows(self, rows: Batch) -> Batch:
        payload, made = _payload(rows), rows
        for name, computed in self.columns:
            made = made.append_column(name, computed.values(payload))
        return made.select(self.output_schema(rows.schema).names)


def _payload(rows: Batch) -> Batch:
    return rows.drop_columns([name for name in OWN if name in rows.column_names])
