"""Two streaming queries that are killed and started again; run by test_restart.py in a process.

Usage: python -m tests.support.restart_job DIRECTORY
"""

import sys
from collections.abc import Callable

from pyspark.errors import StreamingQueryException

import latecomer as lc
from tests.support.short_lived import PREPARED, TOO_SLOW


def main(directory: str) -> None:
    spark = lc.session(master="local[2]", config=PREPARED)
    df = (
        spark.readStream.schema("id long, time timestamp, key int")
        .option("maxFilesPerTrigger", 1)
        .parquet(f"{directory}/rows")
    )
    events = lc.disordered(df, time="time", key="key")
    trigger = {"availableNow": True}
    starts = [
        lambda: events.sort(wait="20 seconds").start(
            {"ready": f"{directory}/ready", "late": f"{directory}/late"},
            checkpoint=f"{directory}/checkpoint",
            trigger=trigger,
        ),
        lambda: (
            events.tumbling("10 seconds")
            .wait(["5 seconds", "20 seconds"])
            .group_by("key")
            .aggregate(rows=lc.agg.count(), ids=lc.agg.sum("id"))
            .start(
                {"ready": f"{directory}/answers", "late": f"{directory}/late_for_windows"},
                checkpoint=f"{directory}/checkpoint_of_windows",
                trigger=trigger,
                states="buckets",
            )
        ),
    ]
    queries = [start() for start in starts]
    print("started", flush=True)
    for start, query in zip(starts, queries, strict=True):
        finish(start, query)
    print("done", flush=True)


def finish(start: Callable[[], lc.Query], query: lc.Query) -> None:
    """Wait for the end; start again if a worker could not start in time on a busy machine."""
    while True:
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            if TOO_SLOW not in str(error):
                raise
            query = start()
        else:
            return


if __name__ == "__main__":
    main(sys.argv[1])
