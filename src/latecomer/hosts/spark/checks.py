"""Checks on the driver, when a stream is built: the sooner an error comes, the clearer it is."""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    CalendarIntervalType,
    DataType,
    DateType,
    DayTimeIntervalType,
    FractionalType,
    IntegralType,
    MapType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)

from latecomer.errors import (
    ColumnNameError,
    ColumnNotFoundError,
    ColumnTypeError,
    OptionError,
    PartitionsWarning,
    StateStoreError,
    listed,
)
from latecomer.hosts.spark.declared import quoted
from latecomer.hosts.spark.installed import check_packages
from latecomer.plan import Source
from latecomer.time import DAY, UNITS, TimeColumn

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def check_state_store(spark: SparkSession) -> None:
    """Refuse a session whose state store cannot hold what a streaming query needs."""
    check_packages()
    provider = spark.conf.get(_PROVIDER) or "no provider"
    if not provider.endswith("RocksDBStateStoreProvider"):
        raise StateStoreError(
            f"this Spark session keeps streaming state with {provider}, which has no maps and "
            "timers for Python.\n"
            f'Hint: spark.conf.set("{_PROVIDER}", "{_ROCKSDB}") before the query is built, '
            "or use latecomer.session()."
        )


_PARTITIONS = "spark.sql.shuffle.partitions"
_DEFAULT = 200
"""Number of partitions that Spark makes by default."""


def warn_of_partitions(spark: SparkSession) -> None:
    """Warn of Spark's default number of partitions, each of which has a state store.

    Warns:
        PartitionsWarning: The session has that many.
    """
    if spark.conf.get(_PARTITIONS) == str(_DEFAULT):
        warnings.warn(
            f"this Spark session has {_DEFAULT} shuffle partitions, Spark's default. Each has a "
            "state store and a task in every micro-batch, which makes small streams slow.\n"
            f'Hint: spark.conf.set("{_PARTITIONS}", "8") or about the number of cores before the '
            "query first starts; it cannot change during the life of a checkpoint.",
            PartitionsWarning,
            stacklevel=4,
        )


_POLICY = "spark.sql.streaming.multipleWatermarkPolicy"


def check_slowest_clock(spark: SparkSession) -> None:
    """Refuse a session in which the fastest of several streams sets the clock for all."""
    if (spark.conf.get(_POLICY) or "min") != "min":
        raise OptionError(
            f"this Spark session has {_POLICY} set to {spark.conf.get(_POLICY)}: where streams are "
            "combined, rows of the slower one would be late.\n"
            f'Hint: spark.conf.set("{_POLICY}", "min") before the query is built.'
        )


def check_source(df: DataFrame, source: Source, clock: Sequence[str] = ()) -> None:
    """Refuse columns that do not exist, or whose type does not fit their use."""
    check_names(df.columns)
    check_types(df)
    for role, column in (("time", source.time), ("arrival", source.arrival), ("end", source.end)):
        if column:
            _check_time(df, column, role)
    for name in source.key:
        check_key(df, name, "key")
    for name in clock:
        _check_clock(df, name)
    _check_ahead(df, source)
    _check_watermark(df)


def check_names(names: Sequence[str]) -> None:
    """Refuse names that Latecomer gives to its own columns, and names that differ only in case."""
    for name in names:
        if name.lower().startswith("_lc_") or name.lower() in _OUTPUT_NAMES:
            raise ColumnNameError(
                f'the stream has a column "{name}", a name that Latecomer gives to a column of its '
                f'own.\nHint: rename it first, for example to "{name.strip("_")}".'
            )
    # Spark ignores the case of a name.
    twice = [name for name, count in Counter(map(str.lower, names)).items() if count > 1]
    if twice:
        given = ", ".join(f'"{name}"' for name in names if name.lower() == twice[0])
        raise ColumnNameError(
            f'the stream has two columns named "{twice[0]}": {given}.\n'
            "Hint: rename one of them first; names that differ only in case are one name."
        )


def check_types(df: DataFrame, texts: Mapping[str, str] | None = None) -> None:
    """Refuse columns whose values Spark does not pass to Python, or compares differently.

    Args:
        df: The columns.
        texts: The user's expressions, by the name of the column that Spark computes for each.

    Raises:
        ColumnTypeError: There is such a column, or one with such values inside.
    """
    computed = texts or {}
    for field in df.schema.fields:
        text = computed.get(field.name, quoted(field.name))
        what = text if field.name in computed else f'column "{field.name}"'
        for kind in _parts(field.dataType):
            if isinstance(kind, StringType) and kind.collation != _BINARY:
                inside = "" if kind is field.dataType else "of the strings inside, "
                name = "..." if inside else text
                raise ColumnTypeError(
                    f"{what} has strings of collation {kind.collation}; Latecomer compares strings "
                    "by their bytes.\n"
                    f"Hint: {inside}collate({name}, '{_BINARY}') first, or collate(lower({name}), "
                    f"'{_BINARY}') where case does not matter."
                )
            if isinstance(kind, YearMonthIntervalType | CalendarIntervalType):
                raise ColumnTypeError(
                    f"{what} is of type {field.dataType.simpleString()}, which Spark does not pass "
                    "to Python.\n"
                    "Hint: leave it out, or make it a number of months first, for example with 12 "
                    "* extract(YEAR FROM ...) + extract(MONTH FROM ...)."
                )


_BINARY = "UTF8_BINARY"


def _parts(kind: DataType) -> Iterator[DataType]:
    """Yield a type and all types inside it."""
    yield kind
    inner: list[DataType] = []
    if isinstance(kind, StructType):
        inner = [field.dataType for field in kind.fields]
    elif isinstance(kind, ArrayType):
        inner = [kind.elementType]
    elif isinstance(kind, MapType):
        inner = [kind.keyType, kind.valueType]
    for each in inner:
        yield from _parts(each)


_OUTPUT_NAMES = ("_delay", "_behind", "_reason", "_original_time")


def _type_of(df: DataFrame, name: str, role: str) -> DataType:
    if name not in df.columns:
        how = f'disordered(df, {role}="...")' if role != "group_by" else 'group_by("...")'
        raise ColumnNotFoundError(
            f'no column "{name}"; the stream has {listed(df.columns)}.\n'
            f"Hint: name the column with {how}, and keep it in select()."
        )
    return df.schema[name].dataType


def _check_time(df: DataFrame, column: TimeColumn, role: str) -> None:
    kind = _type_of(df, column.name, role)
    is_integer = isinstance(kind, IntegralType)
    if isinstance(kind, TimestampType | TimestampNTZType | DateType) or (
        is_integer and column.unit
    ):
        return
    hint = (
        f"name its unit with unit=, one of {', '.join(UNITS)}"
        if is_integer
        else f"convert it first, for example df.withColumn"
        f'("{column.name}", to_timestamp("{column.name}"))'
    )
    raise ColumnTypeError(
        f'the {role} column "{column.name}" is of type {kind.simpleString()}; '
        "it must be a timestamp, a date, or an integer with a unit.\n"
        f"Hint: {hint}."
    )


def check_key(df: DataFrame, name: str, role: str) -> None:
    """Refuse a key that does not exist, or is not a plain value."""
    kind = _type_of(df, name, role)
    if not isinstance(kind, _PLAIN):
        raise ColumnTypeError(
            f'the key column "{name}" is of type {kind.simpleString()}; '
            "a key must be a plain value.\n"
            f'Hint: take out a part of it, for example df.withColumn("part", df["{name}"]["part"]).'
        )


def _check_clock(df: DataFrame, name: str) -> None:
    """Refuse a column that cannot identify a clock."""
    check_key(df, name, "clock")
    kind = df.schema[name].dataType
    if isinstance(kind, FractionalType):
        raise ColumnTypeError(
            f'the clock column "{name}" is of type {kind.simpleString()}, which does not identify '
            "a device.\n"
            f'Hint: cast it first, for example with_columns({name}="CAST(`{name}` AS STRING)").'
        )


_PLAIN = (
    BinaryType,
    BooleanType,
    DateType,
    DayTimeIntervalType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)


def _check_watermark(df: DataFrame) -> None:
    """Refuse a stream with a watermark already: Spark has one clock per query, the slowest."""
    for field in df.schema.fields:
        if "spark.watermarkDelayMs" in field.metadata:
            raise OptionError(
                f'the stream has a watermark on column "{field.name}" already.\n'
                "Hint: leave out withWatermark; sort(wait=...) takes its place."
            )


def usual_ahead(df: DataFrame, source: Source) -> int | None:
    """Return the default bound on how far ahead a row may be: a day in live streams, else None.

    A time without a zone, or a date, is compared as if in UTC, from which no zone is a day away. An
    integer may count anything, and is not compared.
    """
    is_timed = isinstance(
        df.schema[source.time.name].dataType, TimestampType | TimestampNTZType | DateType
    )
    arrival = source.arrival
    is_arrival = arrival is None or isinstance(df.schema[arrival.name].dataType, TimestampType)
    is_live = df.isStreaming and not _is_replay.get()
    return DAY if is_live and is_timed and is_arrival else None


_is_replay = ContextVar("_is_replay", default=False)


@contextmanager
def in_a_replay() -> Iterator[None]:
    """Build streams without the usual bound on how far ahead a row may be."""
    token = _is_replay.set(True)
    try:
        yield
    finally:
        _is_replay.reset(token)


def _check_ahead(df: DataFrame, source: Source) -> None:
    kind = df.schema[source.time.name].dataType
    if source.ahead is not None and source.arrival is None and isinstance(kind, TimestampNTZType):
        raise OptionError(
            f'ahead= compares column "{source.time.name}" with the wall clock, but the column has '
            "no time zone.\n"
            'Hint: name an arrival column with disordered(df, arrival="...").'
        )
