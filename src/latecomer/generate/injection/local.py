"""Put disorder into a table, in this process."""

import logging
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from latecomer.batch import gather
from latecomer.errors import ColumnTypeError
from latecomer.generate.injection.arrival_column import prepared, with_arrival
from latecomer.generate.injection.draws import identify, numbered
from latecomer.generate.injection.fates import Injection, Part
from latecomer.generate.injection.fraction import find_share
from latecomer.generate.injection.report import Outcome
from latecomer.kernels.overtaking import NOBODY
from latecomer.time import NEVER, Times

log = logging.getLogger(__name__)


def disorder_table(table: pa.Table, injection: Injection) -> tuple[pa.Table, Outcome]:
    """Delay rows of a table, and return all in order of arrival."""
    table = _with_types(table, injection)
    injection, field = prepared(table.schema, injection)
    times = injection.time.micros(table, null=NEVER)
    base, orders, origin = _source(table, injection, times)
    log.info("drawing for %s rows", f"{table.num_rows:,}")
    ids = identify(table)
    fates = injection.fates(table, base, numbered(ids), origin)

    timed = np.flatnonzero(times != NEVER)
    timed = timed[np.argsort(times[timed], kind="stable")]
    part = Part(times[timed], base[timed], orders[timed], fates.at(timed))
    disordered = part.out_of_order(NOBODY)
    part = part.leaving(disordered)

    def count(shares: Sequence[float]) -> list[tuple[int, int]]:
        return [part.count(share, NOBODY) for share in shares]

    log.info("finding the share of rows to delay")
    found, undelayed = find_share(injection.fraction, len(timed), count)
    arrivals = fates.early.copy()
    arrivals[timed] = part.fates.arrivals(found.share)
    log.info("putting the rows in order of arrival")
    # Ties in arrival are broken by the order in the source, and ties there by time.
    if injection.arrival is None:
        order = np.argsort(arrivals, kind="stable")
    else:
        order = np.lexsort((ids.view(np.int64), times, orders, arrivals))
    result = with_arrival(gather(table, order), arrivals[order], field, injection.time.unit)
    return result, Outcome(
        injection=injection,
        rows=table.num_rows,
        timed=len(timed),
        source_out_of_order=int(np.count_nonzero(disordered)),
        undelayed=undelayed,
        found=found,
    )


def _with_types(table: pa.Table, injection: Injection) -> pa.Table:
    """Return the table with null-typed time columns, as in a file without rows, as timestamps."""
    for column in filter(None, (injection.time, injection.arrival)):
        at = table.schema.get_field_index(column.name)
        if at >= 0 and pa.types.is_null(table.schema.field(at).type):
            empty = table.column(at).cast(pa.timestamp("us"))
            table = table.set_column(at, column.name, empty)
    return table


def _source(table: pa.Table, injection: Injection, times: Times) -> tuple[Times, Times, int]:
    """Return the arrivals in the source, the order among equal arrivals, and the first arrival."""
    has_time = times != NEVER
    if injection.arrival is None:
        origin = int(times[has_time][0]) if has_time.any() else NEVER
        # A row without a time arrives with the newest row before it, or else with the first.
        base = np.maximum.accumulate(times)
        return np.where(base == NEVER, origin, base), np.arange(len(times)), origin
    check_arrivals(int(np.count_nonzero(injection.arrival.is_null(table))), injection)
    base = injection.arrival.micros(table)
    return base, base, int(base.min(initial=2**63 - 1))


def check_arrivals(nulls: int, injection: Injection) -> None:
    """Refuse rows without an arrival."""
    if nulls and injection.arrival is not None:
        raise ColumnTypeError(
            f'{nulls:,} rows have no "{injection.arrival.name}".\n'
            f"Hint: filter them out, or fill in when they arrived."
        )
