"""Kill queries that write to Delta and Iceberg, and check that no row is lost or doubled.

Usage: python -m tests.lakes.kills [--kills 20] [--seed 7]
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from tests.lakes.job import LETTERS, TOPIC, WAIT, WINDOW
from tests.support.broker import PARTITIONS, PATIENT, broker, create_topics
from tests.support.short_lived import session

ROWS, SECONDS = 2_400, 240
LATE_BY = 120
"""Far more than the wait and the seconds in a micro-batch, so that such a row is always late."""

Event = dict[str, int]


def events(seed: int) -> list[Event]:
    """Return rows in order of arrival, each clearly in time or clearly late."""
    drawn = random.Random(seed)
    rows = []
    for number in range(ROWS):
        at = number * SECONDS // ROWS
        is_late = drawn.random() < 0.05 and at < SECONDS - LATE_BY - WAIT
        delay = LATE_BY if is_late else drawn.randrange(WAIT - 1)
        rows.append({"id": number, "time": at, "key": drawn.randrange(8), "arrived": at + delay})
    return sorted(rows, key=lambda row: row["arrived"])


def send(spark: SparkSession, rows: list[Event], servers: str) -> None:
    """Send rows to a topic with several partitions, in order."""
    create_topics(spark, servers, TOPIC, f"{LETTERS}-delta", f"{LETTERS}-iceberg")
    messages = [
        (json.dumps({name: row[name] for name in ("id", "time", "key")}), number % PARTITIONS)
        for number, row in enumerate(rows)
    ]
    frame = spark.createDataFrame(messages, "value string, partition int").coalesce(1)
    to_kafka = frame.write.format("kafka").option("kafka.bootstrap.servers", servers)
    to_kafka.options(**PATIENT).option("topic", TOPIC).save()


def run(directory: Path, servers: str, *, kills: int, seed: int) -> None:
    """Run the job to its end, after killing it this many times."""
    drawn = random.Random(seed)
    # Each killed run completes one micro-batch at most; the rest is left for the last run.
    offsets = ROWS // (kills + 3)
    for kill in range(kills):
        moment = "during" if kill % 2 else "after"
        at = [str(drawn.choice([1, 2])), moment, str(drawn.randrange(1_500))]
        code, told = _job(directory, servers, offsets, *at)
        assert code == -signal.SIGKILL, f"kill {kill} did not come: {told}"
    code, told = _job(directory, servers, offsets)
    assert code == 0, told


def _job(directory: Path, servers: str, offsets: int, *kill: str) -> tuple[int, str]:
    with (directory / "told.txt").open("w") as told:
        # The process has its own group, so that the kill also ends Spark's JVM and its workers.
        job = subprocess.run(
            [sys.executable, "-m", "tests.lakes.job", str(directory), servers, str(offsets), *kill],
            stdout=told,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            check=False,
        )
    return job.returncode, (directory / "told.txt").read_text()


def check(spark: SparkSession, directory: Path, servers: str, rows: list[Event]) -> None:
    """Compare the content of the tables and topics with the expected rows."""
    late = {row["id"] for row in rows if row["arrived"] - row["time"] == LATE_BY}
    watermark = max(row["time"] for row in rows) - WAIT
    ready = {row["id"] for row in rows if row["time"] <= watermark} - late
    closed = Counter(
        (row["time"] // WINDOW * WINDOW, row["key"])
        for row in rows
        if row["id"] not in late and row["time"] // WINDOW * WINDOW + WINDOW <= watermark
    )
    assert late, "the stream should have late rows"
    topics = spark.read.format("kafka").option("kafka.bootstrap.servers", servers)
    for lake, place in (("delta", directory), ("iceberg", directory / "ice/db")):

        def read(name: str, lake: str = lake, place: Path = place) -> DataFrame:
            return spark.read.format(lake).load(f"{place}/{name}")

        for name, expected in (("ready", ready), ("late", late)):
            ids = [row.id for row in read(name).select("id").collect()]
            assert sorted(ids) == sorted(expected), f"{lake}: rows of {name} are lost or doubled"
        counts = read("counts").selectExpr("unix_seconds(window.start)", "key", "rows").collect()
        found = {(row[0], row[1]): row[2] for row in counts}
        assert len(found) == len(counts), f"{lake}: a window has two current rows"
        assert {place: found.get(place) for place in closed} == closed, f"{lake}: counts differ"
        letters = topics.option("subscribe", f"{LETTERS}-{lake}").load().collect()
        assert {json.loads(letter.value)["id"] for letter in letters} == late, "a letter is lost"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, broker(Path(name)) as servers:
        spark, rows = session("kills"), events(asked.seed)
        send(spark, rows, servers)
        run(Path(name), servers, kills=asked.kills, seed=asked.seed)
        check(spark, Path(name), servers, rows)
        print(f"{asked.kills} kills: no row lost or doubled, in Delta and in Iceberg")


if __name__ == "__main__":
    main()
