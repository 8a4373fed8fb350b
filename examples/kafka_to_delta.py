"""Count purchases from Kafka by minute in a Delta table, and send late ones to another topic.

Phones report purchases, and some of them are without a network for a while. So a topic has rows of
several minutes side by side, in several partitions.

    python examples/kafka_to_delta.py --servers localhost:9092 --lake /tmp/lake

    topic "purchases"     3 partitions, JSON     a minute is counted when it is 30 seconds past
    table lake/minutes    Delta                  one row for each minute and shop, exactly once
    topic "late"          JSON                   what came later than that, at least once

The query is stopped after half of the rows, and started again when the other half is there. The
table then has the same rows as without the break. You need a Kafka broker that creates topics on
the first write, and Spark 4.1 or 4.2, which Delta supports; Spark loads both packages itself.
"""

import argparse
import json
import random
from pathlib import Path

import pyspark
from pyspark.sql import Row, SparkSession

import latecomer as lc

PURCHASES, SECONDS, SEED = 2_000, 600, 3
PARTITIONS = 3
WAIT, OFFLINE = 30, 240
"""In seconds: the wait of the query, and the time that some phones are without a network."""

Purchase = dict[str, int | str]


def purchases() -> list[Purchase]:
    """Generate purchases in order of arrival: every twentieth phone is offline for four minutes."""
    drawn = random.Random(SEED)
    rows: list[Purchase] = []
    for number in range(PURCHASES):
        at = number * SECONDS // PURCHASES
        delay = OFFLINE if drawn.random() < 0.05 and at < SECONDS / 2 else drawn.randrange(WAIT)
        shop = drawn.choice(["Lyon", "Oslo", "Porto"])
        rows.append({"id": number, "time": at, "shop": shop, "arrival": at + delay})
    return sorted(rows, key=lambda row: row["arrival"])


def send(spark: SparkSession, rows: list[Purchase], servers: str) -> None:
    """Send purchases to their topic, as JSON, one partition after the other."""
    messages = [
        (json.dumps({name: row[name] for name in ("id", "time", "shop")}), number % PARTITIONS)
        for number, row in enumerate(rows)
    ]
    frame = spark.createDataFrame(messages, "value string, partition int").coalesce(1)
    to_kafka = frame.write.format("kafka").option("kafka.bootstrap.servers", servers)
    to_kafka.option("topic", "purchases").save()


def count(spark: SparkSession, servers: str, lake: str) -> None:
    """Count all available purchases, continuing where the last run stopped."""
    kafka = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", "purchases")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", PURCHASES // 8)
        .load()
    )
    columns = "from_json(string(value), 'id long, time timestamp, shop string') AS purchase"
    rows = kafka.selectExpr(columns, "timestamp").select("purchase.*", "timestamp")
    query = (
        lc.disordered(rows, time="time", arrival="timestamp")
        .tumbling("1 minute")
        .wait(f"{WAIT} seconds")
        .group_by("shop")
        .aggregate(purchases=lc.agg.count())
        .start(
            {
                "ready": lc.delta(f"{lake}/minutes"),
                "late": lc.kafka("late", servers=servers, key="id"),
            },
            checkpoint=f"{lake}/checkpoint",
            trigger={"availableNow": True},
        )
    )
    query.awaitTermination()


def main(spark: SparkSession, servers: str, lake: str) -> tuple[list[Row], list[dict[str, object]]]:
    """Run the query twice; return the minutes that were counted, and the late purchases."""
    rows = purchases()
    half = len(rows) // 2
    for part in (rows[:half], rows[half:]):
        send(spark, part, servers)
        count(spark, servers, lake)
    minutes = spark.read.format("delta").load(f"{lake}/minutes").orderBy("window", "shop")
    late = spark.read.format("kafka").option("kafka.bootstrap.servers", servers)
    letters = late.option("subscribe", "late").load().collect()
    return minutes.collect(), [json.loads(letter.value) for letter in letters]


def packages() -> dict[str, str]:
    """Return the settings that make Spark load Kafka's connector and Delta."""
    release = ".".join(pyspark.__version__.split(".")[:2])
    jars = [
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}",
        f"io.delta:delta-spark_{release}_2.13:4.4.0",
    ]
    return {
        "spark.jars.packages": ",".join(jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--servers", default="localhost:9092", help="where Kafka is")
    parser.add_argument("--lake", type=Path, required=True, help="a directory for the table")
    asked = parser.parse_args()
    session = lc.session("kafka to delta", config=packages())
    counted, late_ones = main(session, asked.servers, str(asked.lake))
    for minute in counted:
        print(f"{minute.window.start:%H:%M}  {minute.shop:<6} {minute.purchases:>5}")
    print(f"{len(late_ones)} purchases came too late; they are in the topic late")
