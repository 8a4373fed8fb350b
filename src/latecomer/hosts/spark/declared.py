"""A DataFrame whose columns were declared, so that Spark is never asked for them.

Inside the functions of a declarative pipeline, Spark does not answer questions about a DataFrame:
its schema, its columns, whether it is streaming. Its tables may not exist yet. So the user declares
the columns, and this stand-in keeps them up to date through the steps whose result is known without
Spark: rows that are left out, columns that are kept or copied, and conditions, which are true or
false. The type of any other expression is known to Spark alone. Such a step is refused here; users
can do it before `disordered`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.types import DataType, StructField, StructType

from latecomer.errors import ColumnNotFoundError, ColumnTypeError, OptionError, listed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, eq=False)
class DeclaredFrame:
    """A DataFrame with declared columns; all other attributes are those of the DataFrame."""

    plain: DataFrame
    schema: StructType
    isStreaming: bool  # noqa: N815 - Spark's name

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.schema.names

    def where(self, condition: str | Column) -> DeclaredFrame:
        """Keep the rows that meet a condition."""
        return self._with(self.plain.where(condition), self.schema)

    def select(self, *columns: Any) -> DeclaredFrame:
        """Keep columns, by their names.

        Raises:
            OptionError: One is computed.
        """
        names = [self._name(column) for column in columns]
        kept = self.plain.select(*map(quoted, names))
        return self._with(kept, StructType([self.schema[name] for name in names]))

    def withColumns(self, columns: Mapping[str, Column]) -> DeclaredFrame:
        """Refuse columns whose types only Spark knows.

        Raises:
            OptionError: There is one.
        """
        if columns:
            raise _unknown(next(iter(columns.values())))
        return self

    def withColumn(self, name: str, column: Column) -> DeclaredFrame:
        """Refuse a column whose type only Spark knows."""
        return self.withColumns({name: column})

    def typed(self, columns: Mapping[str, Column], kind: DataType) -> DeclaredFrame:
        """Add or replace columns, all of one type."""
        fields = {field.name: field for field in self.schema.fields}
        fields |= {name: StructField(name, kind) for name in columns}
        return self._with(self.plain.withColumns(dict(columns)), StructType([*fields.values()]))

    def toDF(self, *names: str) -> DeclaredFrame:
        """Rename all columns."""
        pairs = zip(names, self.schema.fields, strict=True)
        fields = [StructField(name, field.dataType) for name, field in pairs]
        return self._with(self.plain.toDF(*names), StructType(fields))

    def mapInArrow(self, function: Any, schema: str | StructType) -> DataFrame:
        """Pass the rows to a function in Python."""
        return known(self.plain, self.schema).mapInArrow(function, schema)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)

    def _with(self, df: DataFrame, schema: StructType) -> DeclaredFrame:
        return DeclaredFrame(df, schema, self.isStreaming)

    def _name(self, column: Any) -> str:
        if not isinstance(column, str):
            raise _unknown(column)
        name = unquoted(column)
        if name in self.columns:
            return name
        if re.fullmatch(r"\w+", name):
            raise ColumnNotFoundError(
                f'no column "{name}"; schema= declares {listed(self.columns)}.\n'
                "Hint: name it in schema= if the DataFrame has it."
            )
        raise _unknown(column)


def quoted(name: str) -> str:
    """Return the name of a column, quoted for Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def unquoted(name: str) -> str:
    """Return the name of a column, without the quotes of Spark SQL if it has them."""
    is_quoted = name.startswith("`") and name.endswith("`")
    return name[1:-1].replace("``", "`") if is_quoted else name


def declared(df: DataFrame, schema: str | StructType | None, streaming: bool | None) -> DataFrame:  # noqa: FBT001
    """Return a DataFrame with declared columns; without a declaration, the DataFrame itself.

    Raises:
        OptionError: Only one of schema and streaming is declared.
        ColumnTypeError: The schema cannot be read.
    """
    if schema is None and streaming is None:
        return df
    if schema is None or streaming is None:
        raise OptionError(
            f"schema= and streaming= must be given together; got schema={schema!r}, "
            f"streaming={streaming!r}.\n"
            'Hint: for example disordered(df, schema="time timestamp, key string", '
            "streaming=True, ...) where Spark must not analyse the DataFrame; elsewhere leave out "
            "both."
        )
    read = read_schema(schema) if isinstance(schema, str) else schema
    return cast("DataFrame", DeclaredFrame(df, read, streaming))


_TYPES = {"bigint": "long", "int": "integer", "smallint": "short", "tinyint": "byte"}
_TYPES |= {"real": "float", "dec": "decimal", "numeric": "decimal", "bool": "boolean"}
_COLUMN = re.compile(r"\s*(`(?:[^`]|``)+`|\w+)\s*:?\s+(\w+)\s*(\(\s*\d+\s*(?:,\s*\d+\s*)?\))?\s*")


def read_schema(text: str) -> StructType:
    """Read columns of plain types, without asking Spark.

    Raises:
        ColumnTypeError: The text is something else.
    """
    schema, at = StructType(), 0
    while at <= len(text):
        found = _COLUMN.match(text, at)
        if found is None or text[found.end() : found.end() + 1] not in ("", ","):
            raise _unreadable(text, text[at:])
        name, kind, sizes = found.groups()
        name = unquoted(name)
        lower = kind.lower()
        try:
            schema = schema.add(name, _TYPES.get(lower, lower) + (sizes or "").replace(" ", ""))
        except Exception as error:  # PySpark has several for what it cannot read
            raise _unreadable(text, found[0]) from error
        at = found.end() + 1
    return schema


def _unreadable(text: str, part: str) -> ColumnTypeError:
    return ColumnTypeError(
        f"schema= must list columns and their plain types; cannot read {part.strip()!r} in "
        f"{text!r}.\n"
        'Hint: for example schema="time timestamp, price decimal(10, 2)"; for nested types give a '
        "StructType."
    )


def _unknown(value: object) -> OptionError:
    return OptionError(
        f"the type of {value!r} is not known: with schema= Spark is not asked for types.\n"
        "Hint: compute it before disordered(), and name the column with its type in schema=."
    )


def known(df: DataFrame, columns: str | StructType) -> DataFrame:
    """Return a DataFrame whose columns PySpark knows without a request to Spark Connect.

    PySpark requests the columns of rows that it passes to Python, unless `to` has named them.
    """
    return df.to(read_schema(columns) if isinstance(columns, str) else columns)


def is_declared(df: object) -> bool:
    """Return True if the columns of a DataFrame were declared."""
    return isinstance(df, DeclaredFrame)
