"""Send rows to a topic of Kafka, as JSON, at least once.

This sink is meant for late rows: a *dead-letter topic* whose readers repair what was missed.
Spark's writer uses no transactions, so after a crash the rows of the last micro-batch are sent
again. Readers have to recognize duplicates, by a column that identifies a row.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from latecomer.errors import ColumnNotFoundError, OptionError, listed
from latecomer.hosts.spark.declared import quoted
from latecomer.hosts.spark.tables.place import check_package

SERVERS = "kafka.bootstrap.servers"


@dataclass(frozen=True, slots=True)
class Kafka:
    """A topic of Kafka. Made by `kafka`."""

    topic: str
    servers: str
    key: str | None
    options: tuple[tuple[str, str], ...]

    def check(self, spark: SparkSession) -> None:
        """Refuse to start without Spark's connector for Kafka."""
        hint = (
            f"start it with org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version} in "
            '"spark.jars.packages".'
        )
        options = {SERVERS: self.servers, "subscribe": self.topic}
        check_package(spark, "kafka", hint, **options)

    def write(self, rows: DataFrame, number: int, writer: str) -> None:
        """Send the rows of a micro-batch.

        Raises:
            ColumnNotFoundError: The rows have no column for the key.
        """
        # Nulls are written: readers of the topic have no schema that lists the columns.
        columns = [F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("value")]
        if self.key is not None:
            if self.key not in rows.columns:
                raise ColumnNotFoundError(
                    f'no column "{self.key}" for the key of topic {self.topic}; the rows have '
                    f"{listed(rows.columns)}.\n"
                    "Hint: name one of them, with kafka(..., key=...), or none."
                )
            columns.append(F.col(quoted(self.key)).cast("string").alias("key"))
        write = rows.select(*columns).write.format("kafka").options(**dict(self.options))
        write.option(SERVERS, self.servers).option("topic", self.topic).save()


def kafka(
    topic: str, *, servers: str, key: str | None = None, options: dict[str, str] | None = None
) -> Kafka:
    """Make a sink that sends rows to a topic of Kafka as JSON, each at least once.

    After a crash the rows of the last micro-batch are sent again. So use it for late rows that are
    inspected or repaired, and a `table` for answers.

    Args:
        topic: The name of the topic.
        servers: The addresses of Kafka as host:port, separated by commas.
        key: The column that becomes the key of a message, as a string. By default messages have no
            key.
        options: More options of Spark's writer, for example {"kafka.security.protocol": "SSL"}.

    Raises:
        OptionError: The topic or the servers are empty.
    """
    if not topic or not servers:
        raise OptionError(
            f"kafka() needs a topic and its servers; got topic={topic!r}, servers={servers!r}.\n"
            'Hint: for example kafka("late-sales", servers="broker:9092").'
        )
    return Kafka(topic, servers, key, tuple(sorted((options or {}).items())))
