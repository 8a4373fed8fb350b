"""Aggregate a table step by step: a small part of its rows first, all of them in the end.

    rows ─ hash ─▶ unit ─┬─ up to 1 %     ─ shuffle by unit ─▶ states ─▶ first estimate
                         ├─ up to 10 %    ─ shuffle by unit ─▶ states, merged ─▶ second
                         └─ all others    ────────────────────▶ states, merged ─▶ exact

Which step a row goes to is decided by a hash of what is in it, so it does not matter how Spark cuts
or orders the rows, or that it reads them anew in each step: a row is aggregated once. Rows that are
equal in what is hashed are one *unit* and go together; bounds are computed from units.

All of a unit must meet, hence the shuffle of the parts before the last. They are small. In the last
step nothing is estimated, and the rest of the rows is aggregated where it is read.

**That every row came once is checked.** The last step also counts the whole table and mixes the
hashes of all rows; both must be what was aggregated. A table that is not the same each time it is
read (say, computed from sums whose last digits vary) is refused, not answered wrongly.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from latecomer.batch import Batch, decode, encode
from latecomer.errors import ChangedTableError, ColumnNotFoundError, ColumnTypeError, OptionError
from latecomer.hosts.spark.pack import gathered
from latecomer.operators.estimates.estimation import Estimation
from latecomer.operators.estimates.spread import UNIT
from latecomer.operators.summary import ROWS

_STATES = "states binary, mixed long"
_STATES_SCHEMA = pa.schema({"states": pa.binary(), "mixed": pa.int64()})


def with_units(df: DataFrame, by: Sequence[str], seed: int) -> DataFrame:
    """Say of each row which unit it belongs to.

    Args:
        df: The table.
        by: The columns in which the rows of a unit are equal; none are all.
        seed: Another one gives other samples.
    """
    if df.isStreaming:
        message = (
            "progressive reads a table several times, and this DataFrame is a stream.\n"
            'Hint: for early answers from a stream, use sort(wait=["1 second", "1 hour"]).'
        )
        raise OptionError(message)
    for name in by:
        if name not in df.columns:
            names = ", ".join(f'"{column}"' for column in df.columns)
            message = f'no column "{name}" to tell rows apart by; the table has {names}.'
            raise ColumnNotFoundError(message)
    hashed = [*by] or df.columns
    for name in hashed:
        if not _has_hash(df.schema[name].dataType):
            message = (
                f'column "{name}" is of type {df.schema[name].dataType.simpleString()}, which '
                "cannot tell rows apart.\n"
                'Hint: name columns that can, for example progressive(df, by="id").'
            )
            raise ColumnTypeError(message)
    columns = (F.col(f"`{name}`") for name in hashed)
    return df.withColumn(UNIT, F.xxhash64(F.lit(seed), *columns))


def _has_hash(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return all(_has_hash(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _has_hash(kind.elementType)
    return not isinstance(kind, MapType | VariantType)


def narrowed(df: DataFrame, read: Sequence[str]) -> DataFrame:
    """Keep only the columns that are read: Spark cannot see which ones Python needs."""
    return df.select(*(F.col(f"`{name}`") for name in dict.fromkeys([*read, UNIT])))


def states_by_step(
    rows: DataFrame, estimation: Estimation, steps: Sequence[float]
) -> Iterator[Batch]:
    """Aggregate the rows of each step, and merge them with those of the steps before.

    Nothing is run before it is asked for.
    """
    held: list[Batch] = []
    mixed = 0
    for before, share in pairwise((0.0, *steps)):
        is_last = share == 1
        whole = Observation()
        part = rows
        if is_last:
            part = part.observe(whole, F.count(F.lit(1)).alias("rows"), F.bit_xor(UNIT).alias("x"))
        part = part.where(_is_between(before, share))
        if not is_last:
            part = part.repartition(UNIT)
        found = part.mapInArrow(partial(_added, estimation, is_last), _STATES).toArrow()
        held += [decode(blob.as_buffer()) for blob in found.column("states")]
        mixed ^= int(np.bitwise_xor.reduce(found.column("mixed").to_numpy(), initial=0))
        held = [estimation.merge(held, is_last=is_last)]
        if is_last:
            _check_all_came(held[0], mixed, whole)
        yield held[0]


def _is_between(before: float, share: float) -> Column:
    """Choose units by their hash: a 64-bit integer, and all are equally likely."""
    low, high = (int(each * 2.0**64) - 2**63 for each in (before, share))
    is_in = F.col(UNIT) >= F.lit(low)
    return is_in if share == 1 else is_in & (F.col(UNIT) < F.lit(high))


def _added(
    estimation: Estimation,
    is_last: bool,  # noqa: FBT001
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Make states of the rows of a partition, in a worker."""
    parts: list[Batch] = []
    mixed = 0
    # All rows of a unit are in one partition, and have to be added in one piece.
    for rows in gathered(iter(batches)) if is_last else _in_one(batches):
        mixed ^= int(np.bitwise_xor.reduce(rows.column(UNIT).to_numpy(), initial=0))
        parts.append(estimation.add(rows.cast(estimation.schema), is_last=is_last))
        parts = [estimation.merge(parts, is_last=is_last)]
    for states in parts:
        row = {"states": encode(states, "lz4"), "mixed": mixed}
        yield pa.RecordBatch.from_pylist([row], _STATES_SCHEMA)


def _in_one(batches: Iterable[pa.RecordBatch]) -> list[Batch]:
    rows = [batch for batch in batches if batch.num_rows]
    return [pa.Table.from_batches(rows)] if rows else []


def _check_all_came(states: Batch, mixed: int, whole: Observation) -> None:
    came = int(states.column(ROWS).to_numpy().sum())
    there = whole.get
    if (came, mixed) != (there.get("rows", 0), there.get("x") or 0):
        message = (
            f"the table is not the same each time it is read: {came:,} rows came in all steps, "
            f"and in the last one it has {there.get('rows', 0):,}, or others.\n"
            "Hint: write it down first, for example with df.localCheckpoint(), or name columns "
            'that do not change, with progressive(df, by="id").'
        )
        raise ChangedTableError(message)
