"""Checks on the driver, when a stream is built: the sooner an error comes, the clearer it is."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    IntegralType,
    MapType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from latecomer.errors import ColumnNameError, ColumnNotFoundError, ColumnTypeError, StateStoreError
from latecomer.plan import Source
from latecomer.time import UNITS, TimeColumn

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def check_state_store(spark: SparkSession) -> None:
    """Refuse a session whose state store cannot hold what a streaming query needs."""
    provider = spark.conf.get(_PROVIDER, None)
    if provider is None or not provider.endswith("RocksDBStateStoreProvider"):
        message = (
            f"this Spark session keeps streaming state with {provider}, which has no maps and "
            "timers for Python.\n"
            f'Hint: spark.conf.set("{_PROVIDER}", "{_ROCKSDB}") before the query is built, '
            "or use latecomer.session()."
        )
        raise StateStoreError(message)


def check_source(df: DataFrame, source: Source) -> None:
    """Refuse columns that are not there, or whose type cannot do what is asked."""
    named = {"time": source.time.name}
    named |= {"key": name for name in source.key}
    if source.arrival:
        named["arrival"] = source.arrival.name
    for role, name in [("time", source.time.name), *(("key", n) for n in source.key)]:
        check_column(df, name, role)
    check_time(df, source.time, "time")
    if source.arrival:
        check_column(df, source.arrival.name, "arrival")
        check_time(df, source.arrival, "arrival")
    for name in source.key:
        _check_key(name, df.schema[name].dataType)
    own = [name for name in df.columns if name.startswith("_lc_") or name in _OUTPUT_NAMES]
    if own:
        message = (
            f'the stream has a column "{own[0]}", a name that Latecomer gives to a column of its '
            f"own.\nHint: rename it first, for example df.withColumnRenamed"
            f'("{own[0]}", "{own[0].strip("_")}").'
        )
        raise ColumnNameError(message)


_OUTPUT_NAMES = ("_delay", "_behind", "_reason", "_original_time")


def check_column(df: DataFrame, name: str, role: str) -> None:
    """Refuse a name that the stream does not have."""
    if name not in df.columns:
        names = ", ".join(f'"{column}"' for column in df.columns)
        message = (
            f'no column "{name}"; the stream has {names}.\n'
            f'Hint: name the {role} column with disordered(df, {role}="..."), and keep it in select().'
        )
        raise ColumnNotFoundError(message)


def check_time(df: DataFrame, column: TimeColumn, role: str) -> None:
    """Refuse a time column that has no time in it."""
    kind = df.schema[column.name].dataType
    if isinstance(kind, TimestampType | TimestampNTZType | DateType):
        return
    if isinstance(kind, IntegralType):
        if column.unit is not None:
            return
        hint = f"say what one is, with unit= one of {', '.join(UNITS)}"
    else:
        hint = f"convert it first, for example with_columns({column.name}=\"to_timestamp({column.name})\")"
    message = (
        f'the {role} column "{column.name}" is of type {kind.simpleString()}; '
        "it must be a timestamp, a date, or an integer with a unit.\n"
        f"Hint: {hint}."
    )
    raise ColumnTypeError(message)


def _check_key(name: str, kind: DataType) -> None:
    if isinstance(kind, ArrayType | MapType | StructType | VariantType):
        message = (
            f'the key column "{name}" is of type {kind.simpleString()}; a key must be a plain value.\n'
            f'Hint: name its parts, for example with_columns(part="{name}.part") and key="part".'
        )
        raise ColumnTypeError(message)
