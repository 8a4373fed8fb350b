"""Read the rows of a table, or of batches from a file, in order of arrival.

Without an arrival column, rows are read in the order in which they are given, one batch at a time.
With one, rows are first sorted by it; equal arrivals keep their order. For this, all times,
arrivals and keys must fit into memory.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.errors import ColumnTypeError, OptionError
from latecomer.profile.tally import Counted, Limits, Tally
from latecomer.time import check_there

if TYPE_CHECKING:
    from latecomer.plan import Source

log = logging.getLogger(__name__)

MOST_SORTED = 200_000_000
"""Most rows that are sorted by arrival in this process."""
PIECE_ROWS = 1 << 18
"""Rows that are measured at a time after sorting."""


def measure_rows(
    batches: Iterable[pa.Table], source: Source, limits: Limits | None = None
) -> Counted:
    """Return the measures of rows that come in batches, each with the same columns."""
    tally = Tally(source.key, limits)
    rows = without_time = without_arrival = 0
    arranged = _in_order(batches, source) if source.arrival else batches
    for batch in arranged:
        rows += batch.num_rows
        is_null = source.time.is_null(batch)
        without_time += int(np.count_nonzero(is_null))
        if source.arrival is not None:
            unplaced = source.arrival.is_null(batch) & ~is_null
            without_arrival += int(np.count_nonzero(unplaced))
            is_null = is_null | unplaced
        if is_null.any():
            batch = batch.filter(pa.array(~is_null))  # noqa: PLW2901  what is left of it
        tally.add(source.time.micros(batch), _keys(batch, source))
        log.info("measured %s rows", f"{rows:,}")
    return Counted(rows, without_time, without_arrival, tally.result())


def columns_of(source: Source) -> list[str]:
    """Return the names of the columns that have to be read, each once."""
    arrival = [source.arrival.name] if source.arrival else []
    return list(dict.fromkeys([source.time.name, *arrival, *source.key]))


def check_columns(schema: pa.Schema, source: Source) -> None:
    """Refuse columns that do not exist, time columns of another type, and nested keys."""
    source.time.check(schema, "time")
    if source.arrival is not None:
        source.arrival.check(schema, "arrival")
    for name in source.key:
        check_there(schema, name, "key")
        if pa.types.is_nested(schema.field(name).type):
            raise ColumnTypeError(
                f'the key column "{name}" is of type {schema.field(name).type}; a key must be a '
                "plain value.\n"
                "Hint: compute a plain column from it first."
            )


def _keys(batch: pa.Table, source: Source) -> pa.Table | None:
    if not source.key:
        return None
    keys = batch.select(list(dict.fromkeys(source.key)))
    for at, field in enumerate(keys.schema):
        plain = _plain(field.type)
        if plain != field.type:
            keys = keys.set_column(at, field.name, keys.column(at).cast(plain))
    return keys


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the plain type for dictionaries and views; other types are returned unchanged."""
    # Each batch has a dictionary of its own.
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    # Arrow does not sort views.
    if pa.types.is_string_view(kind):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary_view(kind) else kind


def _in_order(batches: Iterable[pa.Table], source: Source) -> Iterator[pa.Table]:
    """Yield rows sorted by arrival, in batches; rows without an arrival come last."""
    parts: list[pa.Table] = []
    rows = 0
    for batch in batches:
        parts.append(batch.select(columns_of(source)))
        rows += batch.num_rows
        if rows > MOST_SORTED:
            raise OptionError(
                f"to put rows in order of arrival they must fit into memory, and there are more "
                f"than {MOST_SORTED:,}.\n"
                "Hint: sort the file by arrival and leave out the arrival column, or profile it on "
                "Spark, with latecomer.profile(spark.read.parquet(...), ...)."
            )
        log.info("read %s rows", f"{rows:,}")
    if not parts or source.arrival is None:
        return
    table = pa.concat_tables(parts, promote_options="permissive").combine_chunks()
    parts.clear()
    arrivals = source.arrival.micros(table)
    is_null = source.arrival.is_null(table)
    order = None
    if np.any(arrivals[1:] < arrivals[:-1]) or is_null.any():
        log.info("sorting %s rows by arrival", f"{rows:,}")
        order = pa.array(np.lexsort((arrivals, is_null) if is_null.any() else (arrivals,)))
    for start in range(0, rows, PIECE_ROWS):
        piece = slice(start, start + PIECE_ROWS)
        yield table[piece] if order is None else table.take(order[piece])
