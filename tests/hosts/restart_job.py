"""A streaming query that is killed and started again; run by test_restart.py in its own process.

Usage: python -m tests.hosts.restart_job DIRECTORY
"""

import sys

import latecomer as lc


def main(directory: str) -> None:
    spark = lc.session(master="local[2]")
    df = (
        spark.readStream.schema("id long, time timestamp, key int")
        .option("maxFilesPerTrigger", 1)
        .parquet(f"{directory}/rows")
    )
    query = (
        lc.disordered(df, time="time", key="key")
        .sort(wait="20 seconds")
        .start(
            {"ready": f"{directory}/ready", "late": f"{directory}/late"},
            checkpoint=f"{directory}/checkpoint",
            trigger={"availableNow": True},
        )
    )
    print("started", flush=True)
    query.awaitTermination()
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
