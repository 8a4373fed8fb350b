"""Find users who click ad X and then ad Y within a minute: after 5 minutes, and again after 1 hour.

    python examples/ad_clicks.py

Phones send their clicks when they have a network, so some clicks arrive late. After 5 minutes most
of what happened is known, and after an hour nearly all of it. Each wait has its own answer:

    after 5 minutes     early; without the clicks that are still on a phone
    after 1 hour        late; with all but those that took even longer

It is the second example of Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), V-C.
"""

import tempfile
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession

import latecomer as lc

CLICKS, USERS, SEED = 20_000, 50, 7
SECOND = 1_000_000
SPAN = 4 * 3_600
"""In seconds."""
MICRO_BATCHES = 5
SHORT, LONG = timedelta(minutes=5), timedelta(hours=1)
SCHEMA = "time timestamp, user long, ad string"

X_THEN_Y = lc.event("x", "ad = 'X'").then("y", "ad = 'Y'").within("1 minute")


def clicks() -> pa.Table:
    """Make up clicks in order of arrival: one in ten is late, by 20 minutes on average."""
    random = np.random.default_rng(SEED)
    times = np.sort(random.integers(0, SPAN * SECOND, CLICKS))
    delays = np.where(random.random(CLICKS) < 0.1, random.exponential(1_200 * SECOND, CLICKS), 0)
    order = np.argsort(times + delays, kind="stable")
    table = pa.table(
        {
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "user": random.integers(0, USERS, CLICKS),
            "ad": random.choice(["X", "Y", "Z"], CLICKS),
        }
    )
    return table.take(pa.array(order))


def arriving(directory: Path) -> None:
    """Write the clicks as files that arrive one after the other, and one click the day after."""
    table = clicks()
    size = -(-table.num_rows // MICRO_BATCHES)
    batches = [table.slice(start, size) for start in range(0, table.num_rows, size)]
    tomorrow = pa.array([24 * 3_600 * SECOND], pa.timestamp("us", "UTC"))
    batches.append(pa.table([tomorrow, pa.array([0]), pa.array(["X"])], schema=table.schema))
    for number, batch in enumerate(batches):
        pq.write_table(batch, directory / f"{number:02}.parquet")


def found(df: DataFrame, directory: str) -> list[Row]:
    """Run the stream to its end, and gather the matches of both waits."""
    matches: list[Row] = []
    stream = (
        lc.disordered(df, time="time", key="user")
        .where("ad IN ('X', 'Y')")
        .sort(wait=[SHORT, LONG])
        .detect(X_THEN_Y)
    )
    stream.start(
        {"ready": lambda rows, _: matches.extend(rows.collect())},
        checkpoint=f"{directory}/checkpoint",
        trigger={"availableNow": True},
    ).awaitTermination()
    return matches


def main(spark: SparkSession) -> dict[timedelta, set[tuple[int, object, object]]]:
    """Tell what each wait has found; return it."""
    with tempfile.TemporaryDirectory() as directory:
        rows = Path(directory, "rows")
        rows.mkdir()
        arriving(rows)
        read = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        matches = found(read.parquet(str(rows)), directory)
    answers = {
        wait: {(m.user, m.x.time, m.y.time) for m in matches if m.wait == wait}
        for wait in (SHORT, LONG)
    }
    early, final = answers[SHORT], answers[LONG]
    print(f"after {SHORT}: {len(early)} times a user clicked X and then Y within a minute")
    print(f"after {LONG}: {len(final)} times; {len(final - early)} of them are new,")
    # Of a click on X, the next on Y counts. If that comes late, another was taken for it.
    print(f"and {len(early - final)} of the early ones were not what they seemed")
    return answers


if __name__ == "__main__":
    main(lc.session("ad-clicks"))
