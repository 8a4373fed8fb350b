"""Spread rows over buckets by their key, and keep the outputs of buckets apart.

Rows of equal keys are in one bucket. Both hosts use these functions: on Spark a bucket is a group
of `transformWithState`, on the local host it has a thread.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Positions, gather
from latecomer.hosts.output import Output
from latecomer.hosts.recall_report import RECALL, of_bucket
from latecomer.kernels.hashing import hash_columns
from latecomer.operators.temporal.edges import FINAL, ID
from latecomer.plan import Plan


def spread(
    key: tuple[str, ...], rows: Batch, buckets: int, order: Positions | None = None
) -> Iterator[tuple[int, Batch, Positions]]:
    """Yield the number, the rows and their positions of each bucket that has rows.

    Rows stay in `order`, or in their own order if none is given.
    """
    order = np.arange(rows.num_rows) if order is None else order
    hashes = hash_columns([rows.column(name) for name in key], rows.num_rows)
    bucket = (hashes % np.uint64(buckets)).astype(np.uint16)
    if key:
        # NumPy sorts 16-bit numbers by counting them: one pass.
        order = order[np.argsort(bucket[order], kind="stable")]
    rows, counts, start = gather(rows, order), np.bincount(bucket), 0
    for number in np.flatnonzero(counts).tolist():
        stop = start + int(counts[number])
        yield number, rows.slice(start, stop - start), order[start:stop]
        start = stop


def told_apart(output: Output, plan: Plan, number: int, buckets: int) -> Output:
    """Make reports, ids of open rows and numbers of changes distinct between buckets."""
    operators = plan.stages[-1].operators
    numbers = (operators[-1].numbers if operators else None) or ID
    is_report = output.name == RECALL
    if output.batch is None or not (is_report or numbers in output.batch.column_names):
        return output
    if is_report:
        return replace(output, batch=of_bucket(output.batch, number))
    at = output.batch.schema.get_field_index(numbers)
    ids = output.batch.column(at).to_numpy()
    apart = np.where(ids == FINAL, FINAL, ids * buckets + number)
    field = output.batch.schema.field(at)
    return replace(output, batch=output.batch.set_column(at, field, pa.array(apart)))
