"""Find users who click ad X and then ad Y within a minute: after 5 minutes, and again after 1 hour.

Phones send their clicks when they have a network, so some clicks arrive late and are missing from
an early answer. Waiting for all of them would make every answer late.

    python examples/ad_clicks.py

Here each wait has its own answer:

    after 5 minutes     early, without the clicks that are still on a phone
    after 1 hour        late, with all clicks but those that took even longer

It is the second example of Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), V-C.
"""

import argparse
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession

import latecomer as lc

CLICKS, USERS, SEED = 20_000, 50, 7
SECOND = 1_000_000
SPAN = 4 * 3_600
"""Time that all clicks take, in seconds."""
MICRO_BATCHES = 5
SHORT, LONG = "5 minutes", "1 hour"

X_THEN_Y = lc.event("x", "ad = 'X'").then("y", "ad = 'Y'").within("1 minute")


def clicks() -> pa.Table:
    """Generate clicks in order of arrival: one in ten is late, by 20 minutes on average."""
    random = np.random.default_rng(SEED)
    times = np.sort(random.integers(0, SPAN * SECOND, CLICKS))
    delays = np.where(random.random(CLICKS) < 0.1, random.exponential(1_200 * SECOND, CLICKS), 0)
    arrivals = times + delays.astype(np.int64)
    table = pa.table(
        {
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "arrival": pa.array(arrivals, pa.timestamp("us", "UTC")),
            "user": random.integers(0, USERS, CLICKS),
            "ad": random.choice(["X", "Y", "Z"], CLICKS),
        }
    )
    return table.take(pa.array(np.argsort(arrivals, kind="stable")))


def arriving(spark: SparkSession, directory: str) -> DataFrame:
    """Replay the clicks in a few micro-batches, and one click of the next day in another."""
    table = clicks()
    tomorrow = pa.array([24 * 3_600 * SECOND], pa.timestamp("us", "UTC"))
    last = pa.table([tomorrow, tomorrow, pa.array([0]), pa.array(["X"])], schema=table.schema)
    pq.write_table(pa.concat_tables([table, last]), f"{directory}/clicks.parquet")
    replay = spark.readStream.format("latecomer.replay")
    return replay.option("rowsPerBatch", CLICKS // MICRO_BATCHES).load(
        f"{directory}/clicks.parquet"
    )


def found(df: DataFrame, directory: str) -> list[Row]:
    """Run the stream to its end, and collect the matches of both waits."""
    matches: list[Row] = []
    stream = (
        lc.disordered(df, time="time", key="user")
        .where("ad IN ('X', 'Y')")
        .sort(wait=[SHORT, LONG])
        .detect(X_THEN_Y)
    )
    stream.start(
        {"ready": lambda rows, _: matches.extend(rows.collect()), "late": lambda *_: None},
        checkpoint=f"{directory}/checkpoint",
        trigger={"availableNow": True},
    ).awaitTermination()
    return matches


def main(spark: SparkSession) -> dict[str, set[tuple[int, object, object]]]:
    """Print the matches of each wait, and return them."""
    with tempfile.TemporaryDirectory() as directory:
        matches = found(arriving(spark, directory), directory)
    answers = {
        wait: {(m.user, m.x.time, m.y.time) for m in matches if m.wait == wait}
        for wait in (SHORT, LONG)
    }
    early, final = answers[SHORT], answers[LONG]
    print(f"after {SHORT}: {len(early)} times a user clicked X and then Y within a minute")
    print(f"after {LONG}: {len(final)} times; {len(final - early)} of them are new,")
    # The first click on Y after a click on X counts. If it is late, a later one takes its place.
    print(f"and {len(early - final)} of the early ones were not what they seemed")
    return answers


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    main(lc.session("ad-clicks"))
