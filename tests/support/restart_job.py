"""Two streaming queries that are killed and started again; run by test_restart.py in a process.

Usage: python -m tests.support.restart_job DIRECTORY
"""

import sys

import latecomer as lc
from tests.support.short_lived import CONFIG


def main(directory: str) -> None:
    spark = lc.session(master="local[2]", config=CONFIG)
    df = (
        spark.readStream.schema("id long, time timestamp, key int")
        .option("maxFilesPerTrigger", 1)
        .parquet(f"{directory}/rows")
    )
    events = lc.disordered(df, time="time", key="key")
    trigger = {"availableNow": True}
    queries = [
        events.sort(wait="20 seconds").start(
            {"ready": f"{directory}/ready", "late": f"{directory}/late"},
            checkpoint=f"{directory}/checkpoint",
            trigger=trigger,
        ),
        events.tumbling("10 seconds")
        .wait(["5 seconds", "20 seconds"])
        .group_by("key")
        .aggregate(rows=lc.agg.count(), ids=lc.agg.sum("id"))
        .start(
            {"ready": f"{directory}/answers", "late": f"{directory}/late_for_windows"},
            checkpoint=f"{directory}/checkpoint_of_windows",
            trigger=trigger,
        ),
    ]
    print("started", flush=True)
    for query in queries:
        query.awaitTermination()
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
