"""The amount that a query holds, read from its checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

import latecomer as lc
from latecomer import agg
from tests.support.streaming import source

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SECOND = 1_000_000
NOW = {"availableNow": True}


def test_what_is_held_is_counted_in_all_kinds_of_query(spark: SparkSession, tmp_path: Path) -> None:
    def batch(*seconds: int) -> pa.Table:
        times = pa.array([second * SECOND for second in seconds], pa.timestamp("us", "UTC"))
        return pa.table({"time": times, "key": [second % 4 for second in seconds]})

    df = source(spark, [batch(1, 2, 3, 30), batch(31, 32)], f"{tmp_path}/rows")
    events = lc.disordered(df, time="time", key="key")

    own = events.sort(wait="5 seconds", buckets=4, late="drop").to_df()
    writer = own.writeStream.format("noop").option("checkpointLocation", f"{tmp_path}/own")
    writer.trigger(**NOW).start().awaitTermination()
    found = lc.held(spark, tmp_path / "own")
    assert (found["rows"], found["windows"]) == (3, 0)
    assert found["bytes"] > 100
    assert 1 <= found["most"] <= 3

    counts = events.tumbling("10 seconds").wait("5 seconds", late="drop").group_by("key")
    for states in ("buckets", "driver"):
        query = counts.aggregate(n=agg.count()).start(
            {"ready": f"{tmp_path}/{states}/ready"},
            checkpoint=f"{tmp_path}/{states}/checkpoint",
            trigger=NOW,
            states=states,  # type: ignore[arg-type]
        )
        query.awaitTermination()
        found = query.held()
        # One window is open, for the keys 2, 3 and 0.
        assert (found["rows"], found["windows"]) == (0, 3), states
        assert found["bytes"] > 100


def test_a_query_that_has_not_run_holds_nothing(spark: SparkSession, tmp_path: Path) -> None:
    assert lc.held(spark, tmp_path / "nothing") == {"rows": 0, "windows": 0, "bytes": 0, "most": 0}
