"""Run one stage of a plan on one bucket of a batch DataFrame: all rows at once, then the end."""

from collections.abc import Callable
from itertools import chain

import pyarrow as pa

from latecomer.clock.watermark import Clock
from latecomer.hosts.spark.delivery import Delivery, rows_of
from latecomer.hosts.spark.flush import Held
from latecomer.hosts.stage import RunningStage
from latecomer.plan import Plan
from latecomer.time import FOREVER, NEVER


def in_batch(plan: Plan, at: int, buckets: int) -> Callable[[pa.Table], pa.Table]:
    """Make the function that runs stage `at` on the parcels of a bucket, for applyInArrow."""

    # Spark reads the type hints of a function to learn what to pass it, so it must be one.
    def run(parcels: pa.Table) -> pa.Table:
        return _run(plan, at, buckets, parcels)

    return run


def _run(plan: Plan, at: int, buckets: int, parcels: pa.Table) -> pa.Table:
    found = Held(parcels, buckets)
    delivery = Delivery.of(found.others.to_pylist(), plan.stages[at])
    rows = delivery.outputs
    if delivery.is_filled or found.saved is not None:
        stage = RunningStage(plan, at, delivery.schema, found.of, found.saved)
        begin, end = Clock(NEVER, NEVER), Clock(NEVER, FOREVER)
        nothing: list[list[pa.Table]] = [[] for _ in delivery.inputs]
        outputs = chain(
            stage.step(begin, delivery.inputs, delivery.states), stage.step(end, nothing)
        )
        bucket = int(parcels.column("bucket")[0].as_py())
        rows += [row.asDict() for row in rows_of(outputs, plan, bucket, buckets)]
    schema = pa.schema({"output": pa.string(), "rows": pa.int64(), "blob": pa.binary()})
    # One batch a row: an Arrow array of bytes ends at 2 GiB.
    return pa.Table.from_batches([pa.RecordBatch.from_pylist([r], schema) for r in rows], schema)
