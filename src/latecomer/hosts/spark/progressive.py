"""Aggregate a table step by step: a small part of its rows first, all of them in the end.

    rows ─ hash ─▶ unit ─┬─ up to 1 %     ─ shuffle by unit ─▶ states ─▶ first estimate
                         ├─ up to 10 %    ─ shuffle by unit ─▶ states, merged ─▶ second
                         └─ all others    ────────────────────▶ states, merged ─▶ exact

**Without `steps=`, a step is run only if it saves time.** A step costs a read of the table and a
hash of each row. If Spark can compute all states itself, from columns as they are, aggregating a
row costs less than its hash. A step from 10 % of the rows then costs about as much as reading all
of them, and is left out. It is run if values are computed for the query, or if rows go to Python.

The step of a row is decided by a hash of its columns. So a row is in one step, however Spark
partitions or orders the rows, and although it reads them again in each step. Rows with equal values
in the hashed columns are one *unit* and go together; bounds are computed from units.

All rows of a unit must be added up together, so the parts before the last are shuffled. They are
small. In the last step nothing is estimated.

If Spark can compute the states itself (`sql_states`), no row goes to Python, and the last step
aggregates the whole table instead of the others and merges nothing: Spark then needs no hashes and
no conditions, which take longer than the few rows that are aggregated again.

Otherwise rows are aggregated in Python, **and it is checked that every row came once.** The last
step also counts the whole table and mixes the hashes of all rows; both must match the rows that
were aggregated. A table that is not the same each time it is read (say, computed from sums whose
last digits vary) is refused, because its results would be wrong.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from latecomer.batch import Batch, decode, encode, retyped
from latecomer.errors import (
    ChangedTableError,
    ColumnNotFoundError,
    ColumnTypeError,
    OptionError,
    listed,
)
from latecomer.hosts.spark.columns import map_in_arrow, reference
from latecomer.hosts.spark.parcels import gathered
from latecomer.hosts.spark.sql_states import adds_units, not_plain, states_of, states_of_sample
from latecomer.operators.aggregates.summary import ROWS
from latecomer.operators.estimates.estimation import Estimation
from latecomer.operators.estimates.spread import UNIT

CHEAP_STEPS, STEPS = (0.01, 1.0), (0.01, 0.1, 1.0)
"""The steps if aggregating a row costs less than its hash, and otherwise."""

_MIXED = "_lc_mixed"
"""Column with the hashes of some rows, mixed into one number in any order."""
_STATES = f"states binary, {_MIXED} long"
_STATES_SCHEMA = pa.schema({"states": pa.binary(), _MIXED: pa.int64()})


def with_units(df: DataFrame, by: Sequence[str], seed: int) -> DataFrame:
    """Add a column with the unit of each row: a hash of the columns `by`, or of all columns."""
    if df.isStreaming:
        raise OptionError(
            "progressive reads a table several times, and this DataFrame is a stream.\n"
            'Hint: for early answers from a stream, use sort(wait=["1 second", "1 hour"]).'
        )
    for name in by:
        if name not in df.columns:
            raise ColumnNotFoundError(
                f'no column "{name}" to identify rows by; the table has {listed(df.columns)}.'
            )
    hashed = [*by] or df.columns
    for name in hashed:
        if not _has_hash(df.schema[name].dataType):
            raise ColumnTypeError(
                f'column "{name}" is of type {df.schema[name].dataType.simpleString()}, which '
                "cannot identify rows.\n"
                'Hint: name columns that can, for example progressive(df, by="id").'
            )
    columns = (reference(name) for name in hashed)
    return df.withColumn(UNIT, F.xxhash64(F.lit(seed), *columns))


def _has_hash(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return all(_has_hash(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _has_hash(kind.elementType)
    return not isinstance(kind, MapType | VariantType)


def narrowed(df: DataFrame, read: Sequence[str]) -> DataFrame:
    """Keep only the columns that are read: Spark cannot see which ones Python needs."""
    return df.select(*(reference(name) for name in dict.fromkeys([*read, UNIT])))


def chosen_steps(estimation: Estimation, *, is_computed: bool) -> tuple[float, ...]:
    """Return the steps that pay; `is_computed` says whether values are computed for the query."""
    is_cheap = not is_computed and adds_units(estimation.summary, estimation.schema)
    return CHEAP_STEPS if is_cheap else STEPS


def states_by_step(
    rows: DataFrame, estimation: Estimation, steps: Sequence[float]
) -> Iterator[Batch]:
    """Aggregate the rows of each step, and merge them with those of the steps before.

    A step is run only when its states are requested.
    """
    held: list[Batch] = []
    mixed = 0
    adds = adds_units(estimation.summary, estimation.schema)
    for before, share in pairwise((0.0, *steps[:-1])):
        part = rows.where(_is_between(before, share))
        if adds:
            found, more = [states_of_sample(part, estimation)], 0
        else:
            found, more = _in_python(part.repartition(UNIT), estimation, is_last=False)
        held, mixed = [estimation.merge([*held, *found], is_last=False)], mixed ^ more
        yield held[0]
    if not_plain(estimation.summary, estimation.schema) is None:
        whole = states_of(rows, estimation.summary, estimation.schema)
        yield estimation.merge([whole], is_last=True)
        return
    is_left = _is_from(steps[-2] if steps[:-1] else 0.0)
    found, left = _in_python(rows.where(is_left), estimation, is_last=True)
    states = estimation.merge([*held, *found], is_last=True)
    (row,) = rows.agg(F.count(F.lit(1)), F.coalesce(F.bit_xor(UNIT), F.lit(0))).collect()
    _check_all_came((int(states.column(ROWS).to_numpy().sum()), mixed ^ left), (row[0], row[1]))
    yield states


def _in_python(
    part: DataFrame, estimation: Estimation, *, is_last: bool
) -> tuple[list[Batch], int]:
    """Aggregate rows in Spark's Python workers; also mix their hashes."""
    found = map_in_arrow(part, partial(_added, estimation, is_last), _STATES).toArrow()
    states = [decode(blob.as_buffer()) for blob in found.column("states")]
    return states, _mix(found.column(_MIXED))


def _mix(hashes: pa.ChunkedArray) -> int:
    return int(np.bitwise_xor.reduce(hashes.drop_null().to_numpy(), initial=0))


def _is_between(before: float, share: float) -> Column:
    """Return the condition on units from one share to another: all 64-bit hashes are as likely."""
    return _is_from(before) & ~_is_from(share)


def _is_from(share: float) -> Column:
    return F.col(UNIT) >= F.lit(int(share * 2.0**64) - 2**63)


def _added(
    estimation: Estimation,
    is_last: bool,  # noqa: FBT001
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Aggregate the rows of a partition to states, in a worker."""
    parts: list[Batch] = []
    mixed = 0
    # Before the last step, all rows of a unit must be added at once; they are in one partition.
    for rows in gathered(iter(batches)) if is_last else _in_one(batches):
        mixed ^= _mix(rows.column(UNIT))
        parts.append(estimation.add(retyped(rows, estimation.schema), is_last=is_last))
        parts = [estimation.merge(parts, is_last=is_last)]
    for states in parts:
        row = {"states": encode(states, "lz4"), _MIXED: mixed}
        yield pa.RecordBatch.from_pylist([row], _STATES_SCHEMA)


def _in_one(batches: Iterable[pa.RecordBatch]) -> list[Batch]:
    rows = [batch for batch in batches if batch.num_rows]
    return [pa.Table.from_batches(rows)] if rows else []


def _check_all_came(came: tuple[int, int], whole: tuple[int, int]) -> None:
    """Refuse a table whose rows or hashes differ from those that were aggregated."""
    if came != whole:
        raise ChangedTableError(
            f"the table changed between two reads: all steps together read {came[0]:,} rows, and "
            f"the last one found {whole[0]:,}, or other rows.\n"
            "Hint: store it first, for example with df.localCheckpoint(), or name columns that do "
            'not change, with progressive(df, by="id").'
        )
