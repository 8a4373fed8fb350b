"""The inputs of aggregates and patterns, computed by Spark before rows reach Python.

An aggregate may be of any expression, `sum("price * amount")`, and count only the rows that meet a
condition. Spark computes each expression as a column of its own, and the aggregate then names that
column. The same goes for each condition of a pattern on a single row.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, NumericType, StructType

from latecomer.errors import ColumnTypeError, OptionError
from latecomer.hosts.spark.arrow_schema import in_arrow
from latecomer.hosts.spark.checks import check_key, check_types
from latecomer.hosts.spark.columns import expression, kept, reference, with_copy, with_flags
from latecomer.hosts.spark.declared import is_declared
from latecomer.hosts.spark.local_frame import spark_only
from latecomer.operators.aggregates.base import Aggregate
from latecomer.operators.patterns.automaton import Automaton
from latecomer.operators.patterns.shapes import Condition
from latecomer.plan import Source


def declared(columns: str | StructType | pa.Schema) -> pa.Schema:
    """Return the declared columns of a function's results, as an Arrow schema.

    Raises:
        ColumnTypeError: The declaration cannot be read.
    """
    if isinstance(columns, pa.Schema):
        return columns
    try:
        found = StructType.fromDDL(columns) if isinstance(columns, str) else columns
        schema = in_arrow(cast("StructType", found))
    except (PySparkException, AttributeError, TypeError) as error:
        raise ColumnTypeError(
            f"outputs must name columns and their types; got {columns!r}.\n"
            'Hint: for example outputs="balance double, is_low boolean"; without a Spark session '
            'pa.schema({"balance": pa.float64()}).'
        ) from error
    if not schema.names:
        raise ColumnTypeError('outputs name no column.\nHint: for example outputs="total long".')
    return schema


_INPUT = "_lc_input_"
PROMISE = "_lc_promise"


def _first(df: DataFrame) -> int:
    """Return the number for the next computed column."""
    return sum(name.startswith(_INPUT) for name in df.columns)


_READ = ("column", "by", "where")
"""The fields of an aggregate that name a column or an expression."""


def with_inputs(
    df: DataFrame, aggregates: Mapping[str, Aggregate], known: Sequence[str] = ()
) -> tuple[DataFrame, dict[str, Aggregate]]:
    """Add a column for each expression that is aggregated, and name it in the aggregate.

    Args:
        df: The rows.
        aggregates: The aggregates, by the name of each result.
        known: Columns that the rows do not have yet, but will have.
    """
    added: dict[str, Column] = {}
    written: dict[str, str] = {}
    flags: list[str] = []
    first = _first(df)
    computed = {}
    for name, aggregate in aggregates.items():
        places: dict[str, str] = {}
        texts: dict[str, str] = {}
        for field in _READ:
            value: Any = getattr(aggregate, field, None)
            if value is None or (isinstance(value, str) and value in ("", *df.columns, *known)):
                continue
            places[field] = f"{_INPUT}{first + len(added)}"
            added[places[field]] = expression(value)
            written[places[field]] = texts[field] = _text(value)
            if field == "where":
                flags.append(places[field])
        texts |= dict(aggregate.texts)
        computed[name] = replace(aggregate, **places, texts=tuple(texts.items()))
    if is_declared(df):
        df = with_flags(df, {name: added.pop(name) for name in flags})
    df = df.withColumns(added) if added else df
    check_types(df, written)
    for name, aggregate in computed.items():
        if aggregate.where is not None:
            _check_condition(df, aggregate.where, f'the filter of "{name}"')
    return df, computed


def with_condition(
    df: DataFrame, condition: str | Column, prefix: str
) -> tuple[DataFrame, str, str]:
    """Add a column that says whether a row is kept; return its name, and the condition as text."""
    name = f"{prefix}{sum(each.startswith(prefix) for each in df.columns)}"
    df = with_flags(df, {name: expression(condition)})
    _check_condition(df, name, "the condition of where")
    return df, name, _text(condition)


def with_promise(df: DataFrame, promise: str | Column) -> tuple[DataFrame, str, str]:
    """Add a column that says whether a row is a promise; return its name, and its text."""
    if isinstance(promise, str) and promise in df.columns:
        df = with_copy(df, PROMISE, promise)
    else:
        df = with_flags(df, {PROMISE: expression(promise)})
    _check_condition(df, PROMISE, "the promise")
    return df, PROMISE, _text(promise)


def with_conditions(df: DataFrame, automaton: Automaton) -> tuple[DataFrame, Automaton]:
    """Add a column for each condition of a pattern, and name it in the automaton."""
    added: dict[str, Column] = {}
    first = _first(df)

    def named(condition: Condition | None, of: str) -> str | None:
        if condition is None:
            return None
        name = f"{_INPUT}{first + len(added)}"
        added[name] = expression(condition)
        _check_condition(with_flags(df, {name: added[name]}), name, of)
        return name

    events = tuple(
        replace(
            event,
            condition=named(event.condition, f'the condition of event "{event.name}"'),
            text="" if event.condition is None else _text(event.condition),
        )
        for event in automaton.events
    )
    guards = tuple(named(guard, "an unless or then_none") for guard in automaton.guards)
    texts = tuple("" if guard is None else _text(guard) for guard in automaton.guards)
    computed = replace(automaton, events=events, guards=guards, texts=texts)
    return with_flags(df, added) if added else df, computed


def _check_condition(df: DataFrame, name: str, what: str) -> None:
    """Refuse a column that is not true or false."""
    kind = df.schema[name].dataType
    if not isinstance(kind, BooleanType):
        raise ColumnTypeError(
            f"{what} is of type {kind.simpleString()}; it must be true or false.\n"
            'Hint: a condition in Spark SQL, for example "price > 0".'
        )


def _text(value: str | Column) -> str:
    """Return the expression of a column as text."""
    return value if isinstance(value, str) else str(value).removeprefix("Column<'").rstrip("'>")


def pivoted(
    df: DataFrame, column: str, values: Sequence[Any], aggregates: Mapping[str, Aggregate]
) -> tuple[DataFrame, dict[str, Aggregate]]:
    """Return one aggregate per aggregate and value, of the rows with this value in the column."""
    given = reference(column)
    has = {f"_lc_pivot_{at}": given.eqNullSafe(F.lit(value)) for at, value in enumerate(values)}
    made: dict[str, Aggregate] = {}
    for value, flag in zip(values, has, strict=True):
        for name, aggregate in aggregates.items():
            own: Any = aggregate.where
            if isinstance(own, str) and own in df.columns:
                own = reference(own)
            where: Any = flag if own is None else F.col(flag) & expression(own)
            label = value_name(value)
            named = label if len(aggregates) == 1 else f"{label}_{name}"
            text = f"{column} <=> {value!r}" + ("" if own is None else f" AND {_text(own)}")
            made[named] = replace(aggregate, where=where, texts=(("where", text),))
    return with_flags(df, has), made


def value_name(value: object) -> str:
    """Return the name of the column of a value, as Spark names it."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return str(value)


def check_values(df: DataFrame, column: str, values: Sequence[Any]) -> None:
    """Refuse values that a column cannot have, or that would give two columns the same name."""
    spark_only(df, "pivot")
    check_keys(df, [column])
    kind = df.schema[column].dataType
    # If columns are declared, Spark must not be asked for the types of values.
    for value in () if is_declared(df) else values:
        own = df.select(F.lit(value)).schema[0].dataType
        is_number = isinstance(kind, NumericType) and isinstance(own, NumericType)
        if value is not None and not is_number and own != kind:
            raise ColumnTypeError(
                f'column "{column}" is of type {kind.simpleString()}, and the value {value!r} of '
                f"type {own.simpleString()}.\nHint: give values of the type of the column."
            )
    names = [value_name(value) for value in values]
    for name in names:
        if names.count(name) > 1:
            message = f'pivot lists the value "{name}" of "{column}" twice.\nHint: leave one out.'
            raise OptionError(message)


def check_keys(df: DataFrame, keys: Iterable[str]) -> None:
    """Refuse keys that do not exist, or cannot be compared."""
    for key in keys:
        check_key(df, key, "group_by")


def pruned(df: DataFrame, source: Source, read: Iterable[str]) -> DataFrame:
    """Keep only the columns that are read: Spark cannot see which ones Python needs."""
    read_first = (source.time, source.arrival, source.end)
    own = [column.name for column in read_first if column is not None]
    return kept(df, dict.fromkeys([*own, *read]))
