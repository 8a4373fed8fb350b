"""Run one stage of a plan on one bucket of a batch DataFrame: all rows at once, then the end."""

from collections.abc import Iterator
from itertools import chain

import pyarrow as pa

from latecomer.clock.watermark import Clock
from latecomer.hosts.spark.delivery import Delivery, Part, parts_of
from latecomer.hosts.spark.flush import Held
from latecomer.hosts.spark.parcels import ArrowFunction
from latecomer.hosts.stage import RunningStage
from latecomer.plan import Plan
from latecomer.time import FOREVER, NEVER

_SCHEMA = pa.schema({"output": pa.string(), "rows": pa.int64(), "blob": pa.binary()})


def in_batch(plan: Plan, at: int, buckets: int) -> ArrowFunction:
    """Make the function that runs stage `at` on the parcels of a bucket, for applyInArrow."""

    # Spark reads the type hints of a function to learn what to pass it, so it must be one.
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parcels = chain.from_iterable(batch.to_pylist() for batch in batches)
        for part in _run(plan, at, buckets, [*parcels]):
            # One batch a part: an Arrow array of bytes ends at 2 GiB.
            yield pa.RecordBatch.from_pylist([part], _SCHEMA)

    return run


def _run(plan: Plan, at: int, buckets: int, parcels: list[Part]) -> Iterator[Part]:
    found = Held(parcels, buckets)
    delivery = Delivery.of(found.others, plan.stages[at])
    yield from delivery.outputs
    if delivery.is_filled or found.saved is not None:
        stage = RunningStage(plan, at, delivery.schema, found.of, found.saved)
        begin, end = Clock(NEVER, NEVER), Clock(NEVER, FOREVER)
        nothing: list[list[pa.Table]] = [[] for _ in delivery.inputs]
        outputs = chain(
            stage.step(begin, delivery.inputs, delivery.states), stage.step(end, nothing)
        )
        yield from parts_of(outputs, plan, int(parcels[0]["bucket"]), buckets)
