import json

import pytest
from pyspark.sql import SparkSession

import latecomer as lc
from latecomer.errors import ColumnNotFoundError, MissingPackageError, OptionError
from tests.support import lakes
from tests.support.broker import PATIENT


@pytest.mark.parametrize(("topic", "servers"), [("", "host:9092"), ("late", "")])
def test_a_topic_has_a_name_and_servers(topic: str, servers: str) -> None:
    with pytest.raises(OptionError, match=r"needs a topic and its servers; got .*\nHint: "):
        lc.kafka(topic, servers=servers)


@pytest.mark.skipif(lakes.missing() is None, reason="Kafka's connector is here")
def test_without_the_connector_a_query_is_refused_with_its_name(spark: SparkSession) -> None:
    connector = f"spark-sql-kafka-0-10_2.13:{spark.version}"
    with pytest.raises(MissingPackageError, match=connector):
        lc.kafka("late", servers="host:9092").check(spark)


def test_a_key_that_is_not_there_is_refused(spark: SparkSession) -> None:
    late = lc.kafka("late", servers="host:9092", key="nr")
    with pytest.raises(ColumnNotFoundError, match=r'no column "nr" .* the rows have "id"'):
        late.write(spark.range(1), 0, "writer")


def test_rows_become_json_with_their_nulls_and_come_again_with_their_micro_batch(
    lake: SparkSession, broker: str
) -> None:
    rows = lake.range(1).selectExpr("id AS `my id`", "timestamp'2024-01-01' AS time", "null AS no")
    late = lc.kafka("letters", servers=broker, key="my id", options=PATIENT)
    late.check(lake)

    late.write(rows, 0, "writer")
    late.write(rows, 0, "writer")

    topic = lake.read.format("kafka").option("kafka.bootstrap.servers", broker)
    messages = topic.option("subscribe", "letters").load().collect()
    told = {"my id": 0, "time": "2024-01-01T00:00:00.000Z", "no": None}
    assert [(bytes(m.key), json.loads(m.value)) for m in messages] == [(b"0", told)] * 2
