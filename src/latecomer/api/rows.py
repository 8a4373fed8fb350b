"""The operators of rows after the sort, ordered or with lifetimes: where, with_columns; thin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from latecomer.api.readable import Readable
from latecomer.errors import ColumnNameError, OptionError
from latecomer.hosts.spark import checks, inputs
from latecomer.hosts.spark.columns import expression
from latecomer.operators.base import Operator
from latecomer.operators.temporal.compiling import check_arguments
from latecomer.operators.temporal.conditions import Computed, Condition
from latecomer.operators.temporal.edges import AT, payload_schema
from latecomer.operators.temporal.lifetimes import KEPT
from latecomer.operators.temporal.rowwise import Compute, Keep
from latecomer.plan import placement

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True)
class Rows(Readable):
    """Rows after the sort. See `latecomer.operators.temporal.rowwise`."""

    def where(self, condition: str | Column | Callable[[Any], bool]) -> Self:
        """Keep the rows that meet a condition. Rows that are removed still move the clock.

        Args:
            condition: In Spark SQL or as a Column, over the columns that the rows had before the
                sort. After a join, an aggregate or `stitch`, and with `edges=True`, it must be a
                Python function of the row.

        Raises:
            OptionError: Spark SQL cannot be computed here.
            ColumnTypeError: The condition is not true or false.
            ConditionError: The function does not take a row.
        """
        if callable(condition):
            check_arguments(condition, ("row",))
            return self._then(Keep(Condition(condition)), self.df)
        self._check_sql("where(lambda row: row.price > 3)")
        has_lifetimes = AT in self.plan.output_schema(self._columns).names
        prefix = "_lc_where_" if has_lifetimes else KEPT
        df, name, text = inputs.with_condition(self.df, condition, prefix)
        return self._then(Keep(name, text), df)

    def with_columns(self, **columns: str | Column | Callable[[Any], Any]) -> Self:
        """Add columns, each computed from single rows.

        Args:
            columns: As for `where`. A function must compile: it takes numbers, times and booleans,
                and returns a number or a boolean. Existing columns cannot be replaced.

        Raises:
            OptionError: Spark SQL cannot be computed here.
            ColumnNameError: A column of that name exists.
            ConditionError: A function does not compile.
        """
        checks.check_names([*columns])
        schema = self._rows()
        taken = {name.lower() for name in (*schema.names, *self.df.columns)}
        for name in columns:
            if name.lower() in taken:
                raise ColumnNameError(
                    f'the column "{name}" cannot be replaced here, because rows may already be '
                    "grouped or compared by it.\n"
                    "Hint: choose another name, or replace it before the sort."
                )
        sql = {name: value for name, value in columns.items() if not callable(value)}
        functions = ((name, value) for name, value in columns.items() if callable(value))
        made = tuple((name, Computed.of(value, schema)) for name, value in functions)
        df = self.df
        if sql:
            self._check_sql("with_columns(total=lambda row: row.price * row.pieces)")
            df = df.withColumns({name: expression(value) for name, value in sql.items()})
            checks.check_types(df)
        return self._then(Compute(made) if made else None, df)

    def _then(self, operator: Operator | None, df: DataFrame) -> Self:
        plan = self.plan if operator is None else placement.then(self.plan, operator)
        stream = replace(self, dfs=(df, *self.dfs[1:]), plan=plan)
        stream._verify()  # noqa: SLF001 - a stream, too
        return stream

    def _verify(self) -> None:
        """Refuse names that a result cannot have."""
        self._ready_schema()

    def _rows(self) -> pa.Schema:
        """Return the columns of rows, without their lifetimes."""
        schema = payload_schema(self.plan.output_schema(self._columns))
        return pa.schema([each for each in schema if not each.name.startswith("_lc_")])

    def _check_sql(self, instead: str) -> None:
        """Refuse Spark SQL after operators that make new rows, and with `edges=True`."""
        if not self.plan.carries_columns or self.plan.source.begin is not None:
            raise OptionError(
                "Spark SQL cannot be used after a join, an aggregate or stitch, or with "
                "edges=True, because Spark does not have these rows.\n"
                f"Hint: use a function of the row, as in {instead}; or use Spark SQL on the result "
                "of to_df()."
            )
