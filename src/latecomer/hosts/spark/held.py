"""The amount that a query holds, by its checkpoint: rows, states of windows, and bytes.

Each bucket writes with its state how much it holds, so no state has to be opened to count it. The
counts are as of the last committed micro-batch, for all stages together.
"""

from collections.abc import Iterator

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from latecomer.hosts.spark.driver.state_files import StateFiles
from latecomer.hosts.spark.durable.ledger import qualified
from latecomer.hosts.spark.flush import has_states, states

HELD = ("rows", "windows", "bytes", "most")
"""Names of the counts; `most` is the largest sum of rows and windows in a bucket of a stage."""


def held(spark: SparkSession | None, checkpoint: str) -> dict[str, int]:
    """Return what the query of a checkpoint holds, read by the active session by default."""
    spark = spark or SparkSession.active()
    if not has_states(spark, checkpoint):
        return dict(zip(HELD, StateFiles(qualified(spark, checkpoint)).held(), strict=True))
    found = dict.fromkeys(HELD, 0)
    for each in _stages(spark, checkpoint):
        found["most"] = max(found["most"], each.pop("most"))
        found = {name: count + each.get(name, 0) for name, count in found.items()}
    return found


def _stages(spark: SparkSession, checkpoint: str) -> Iterator[dict[str, int]]:
    """Yield the counts of what each stage holds."""
    operators = spark.read.format("state-metadata").load(checkpoint)
    for row in operators.select("operatorId").distinct().collect():
        meta, chunks = (
            states(spark, checkpoint, row.operatorId, variable) for variable in ("meta", "chunks")
        )
        value = F.col("value")
        counted = {
            "rows": F.sum(value.rows),
            "windows": F.sum(value.windows),
            "bytes": F.sum(F.length(value.stage)),
            "most": F.max(value.rows + value.windows),
        }
        found = meta.agg(*(count.alias(name) for name, count in counted.items()))
        size = chunks.agg(F.sum(F.length("user_map_value.rows")))
        buckets = {name: count or 0 for name, count in found.collect()[0].asDict().items()}
        yield {**buckets, "bytes": buckets["bytes"] + (size.collect()[0][0] or 0)}
