"""Random micro-batches that are the same in every test, and the output of the local host."""

import numpy as np
import pyarrow as pa
from pyspark.sql import Row

from latecomer.hosts.local import LocalHost
from latecomer.plan import Plan
from latecomer.time import TimeColumn
from tests.support.streaming import PerBatch

TIME = TimeColumn("time")
SECOND = 1_000_000


def random_batches(seed: int, *, nulls: bool = True, first: int = 20) -> list[pa.Table]:
    """Return rows with ids, keys and times, some null, many equal, in batches of any length.

    Args:
        seed: Another seed gives other rows.
        nulls: Whether some rows have no time.
        first: The second around which the first batch lies.
    """
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 60, 5)
    batches = []
    for number, size in enumerate(sizes):
        times = (random.integers(-5, 15, size) + 10 * number + first) * SECOND
        is_null = random.random(size) < (0.1 if nulls else 0)
        batches.append(
            pa.table(
                {
                    "id": np.arange(size) + 1_000 * number,
                    "time": pa.array(times, pa.timestamp("us", "UTC"), mask=is_null),
                    "key": pa.array([f"key-{k}" for k in random.integers(0, 7, size)], pa.string()),
                }
            )
        )
    return batches


def expected(batches: list[pa.Table], plan: Plan) -> tuple[PerBatch, PerBatch]:
    """Run the batches on the local host, and return its output."""
    host = LocalHost(plan, batches[0].schema)
    # Spark runs a batch without data after the last one, because the clock has advanced.
    steps = [host.step(batch) for batch in [*batches, batches[0].slice(0, 0)]]
    ready = {i: [Row(**row) for row in step.ready.to_pylist()] for i, step in enumerate(steps)}
    late = {i: [Row(**row) for row in step.late.to_pylist()] for i, step in enumerate(steps)}
    return ready, late


def by_key(rows: PerBatch, batch: int) -> dict[str, list[int]]:
    """Return the ids of each key in order of output."""
    found = rows.get(batch, [])
    return {key: [r.id for r in found if r.key == key] for key in {r.key for r in found}}


def ids(rows: PerBatch, batch: int) -> list[int]:
    return sorted(row.id for row in rows.get(batch, []))


def closing(schema: pa.Schema) -> pa.Table:
    """Return a row a day ahead, which releases all rows before it."""
    return pa.table([[-1], [86_400 * SECOND], ["end"]], schema=schema)
