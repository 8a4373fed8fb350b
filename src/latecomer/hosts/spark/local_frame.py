"""Rows of this process in place of a DataFrame, so that the same streams run without Spark.

A stream asks its DataFrame for columns and types, and adds columns that operators read. This object
answers the same questions from an Arrow schema, and computes with Arrow what Spark would compute:

    select("price", "key")                    names of columns
    where(pc.field("price") > 3)              Arrow expressions (pyarrow.compute)
    agg.sum(pc.field("price") * 2)

Spark SQL and Columns need Spark, and are refused with that hint. Of pyspark only the names of types
are used: no session, no Java.

Types are those that rows have on Spark, so that operators see the same on both hosts: strings with
64-bit offsets become strings, dictionaries their values, nanoseconds microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema

from latecomer.batch import retyped
from latecomer.errors import ColumnNotFoundError, ColumnTypeError, OptionError, StepError, listed
from latecomer.hosts.spark.arrow_schema import in_arrow
from latecomer.hosts.spark.declared import unquoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql.types import StructType

    from latecomer.batch import Batch

    Step = Callable[[Batch], Batch]


@dataclass(frozen=True, eq=False)
class LocalFrame:
    """Rows of this process: their columns, and the steps that are computed on them."""

    given: pa.Schema
    """The columns of incoming batches."""
    arrow: pa.Schema
    """The columns of rows after all steps."""
    steps: tuple[Step, ...] = ()
    rows: Batch | None = None
    """The rows; None if only their columns were given."""

    @classmethod
    def of(cls, rows: Any) -> LocalFrame:
        """Make a frame with the columns of a schema, a table or a data frame.

        Raises:
            OptionError: It is none of these.
            ColumnTypeError: A column is of a type that Spark does not have.
        """
        table = None if isinstance(rows, pa.Schema) else as_table(rows)
        schema = _usual(rows if table is None else table.schema)
        return cls(schema, schema, rows=table)

    isStreaming = False  # noqa: N815 - Spark's name
    """False: this is not a stream of Spark."""

    @property
    def schema(self) -> StructType:
        """The columns, in Spark's types."""
        return from_arrow_schema(self.arrow)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.arrow.names

    def batch(self, rows: Any) -> Batch:
        """Return an incoming batch after all steps.

        Raises:
            OptionError: It is not a table or data frame.
            ColumnNotFoundError: It has other columns than the stream.
        """
        table = as_table(rows)
        if set(table.column_names) != set(self.given.names):
            ours, theirs = (listed(names) for names in (self.given.names, table.column_names))
            raise ColumnNotFoundError(
                f"a batch has the columns {theirs}; the stream has {ours}.\n"
                "Hint: give disordered() the table, or the schema, that batches have."
            )
        table = retyped(table, self.given)
        for step in self.steps:
            table = step(table)
        return retyped(table, self.arrow).replace_schema_metadata(None)

    def where(self, condition: Any) -> LocalFrame:
        """Keep the rows that meet a condition."""
        return self._then(lambda rows: rows.filter(_checked(condition)))

    def select(self, *columns: Any) -> LocalFrame:
        """Keep columns, by their names."""
        names = [self._name(column) for column in columns]
        return self._then(lambda rows: rows.select(names))

    def withColumns(self, columns: Mapping[str, Any]) -> LocalFrame:
        """Add or replace columns."""
        made = {name: _checked(value) for name, value in columns.items()}
        return self._then(lambda rows: _computed(rows, made))

    def __getattr__(self, name: str) -> Any:
        """Refuse what only a DataFrame can do, and say what to do instead."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise StepError(
            f"this step needs Spark ({name}), and this stream reads tables in this process.\n"
            "Hint: run it with run(batches); for to_df() and start() begin with a Spark "
            "DataFrame."
        )

    def _then(self, step: Step) -> LocalFrame:
        try:
            found = step(self.arrow.empty_table()).schema
        except pa.ArrowException as error:
            raise ColumnNotFoundError(
                f"Arrow cannot compute that on the columns {listed(self.columns)}: {error}."
            ) from error
        return replace(self, arrow=_usual(found), steps=(*self.steps, step))

    def _name(self, column: Any) -> str:
        name = unquoted(str(column))
        if not isinstance(column, str) or name not in self.columns:
            raise _needs_spark(column)
        return name


def as_table(rows: Any) -> Batch:
    """Return rows as an Arrow table, from pyarrow or a frame of pandas, Polars or the like.

    Raises:
        OptionError: They are none of these.
    """
    if isinstance(rows, pa.Table):
        return rows
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if type(rows).__module__.partition(".")[0] == "pandas" and hasattr(rows, "columns"):
        return pa.Table.from_pandas(rows, preserve_index=False)
    if hasattr(rows, "__arrow_c_stream__"):
        return pa.table(rows)
    raise OptionError(
        f"rows must be an Arrow table, or a DataFrame of pandas or Polars; got {type(rows)}.\n"
        "Hint: for example pa.Table.from_pylist(rows)."
    )


def is_local(rows: object) -> bool:
    """Return True if rows are of this process, and not a DataFrame of Spark."""
    return isinstance(rows, pa.Schema | LocalFrame) or not hasattr(rows, "sparkSession")


def spark_only(rows: object, what: str) -> None:
    """Refuse rows of this process for a step that only Spark can compute.

    Raises:
        OptionError: They are rows of this process.
    """
    if isinstance(rows, LocalFrame):
        raise OptionError(
            f"{what} needs Spark, and this stream reads tables in this process.\n"
            "Hint: change the tables before you pass them to run()."
        )


def _usual(schema: pa.Schema) -> pa.Schema:
    """Return the columns with the types that they have on Spark."""
    plain = pa.schema(
        [
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in schema
        ]
    )
    try:
        return in_arrow(from_arrow_schema(plain))
    except Exception as error:
        raise ColumnTypeError(f"Spark has no type for one of the columns: {error}") from error


def _checked(value: Any) -> pc.Expression:
    if isinstance(value, pc.Expression):
        return value
    raise _needs_spark(value)


def _needs_spark(value: object) -> OptionError:
    return OptionError(
        f"{value!r} is Spark SQL or a Column, and this stream reads tables in this process.\n"
        'Hint: name a column, or give an Arrow expression, for example pc.field("price") * 2 with '
        "import pyarrow.compute as pc; or compute it in the tables first."
    )


def _computed(rows: Batch, columns: Mapping[str, pc.Expression]) -> Batch:
    """Add or replace columns by Arrow expressions."""
    from pyarrow import acero

    made = {name: pc.field(name) for name in rows.column_names} | dict(columns)
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(rows))
    project = acero.ProjectNodeOptions([*made.values()], [*made])
    plan = acero.Declaration("project", project, inputs=[source])
    return plan.to_table(use_threads=False)
