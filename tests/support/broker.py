"""A Kafka broker on this machine: one process in KRaft mode, which is its own controller."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from latecomer.runtime.java import find_java
from tests.support.lakes import JARS

PARTITIONS = 3
"""Number of partitions of a topic that is created by writing to it."""
PATIENT = {"kafka.delivery.timeout.ms": "1200000", "kafka.max.block.ms": "1200000"}
"""Options of producers: on a busy machine a new topic can take more than two minutes."""
_CLUSTER = "bGF0ZWNvbWVyLXRlc3RzLQ"


@contextmanager
def broker(directory: Path) -> Iterator[str]:
    """Run a broker that keeps its files in a directory; yield its address, host:port."""
    port, controller = _free_ports(2)
    settings = directory / "server.properties"
    settings.write_text(
        "process.roles=broker,controller\n"
        "node.id=1\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:{controller}\n"
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n"
        f"advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n"
        "controller.listener.names=CONTROLLER\n"
        f"log.dirs={directory}/log\n"
        f"num.partitions={PARTITIONS}\n"
        "auto.create.topics.enable=true\n"
        "offsets.topic.replication.factor=1\n"
        "offsets.topic.num.partitions=1\n"
        "group.initial.rebalance.delay.ms=0\n"
    )
    java = [str(find_java().executable), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    java += ["-cp", f"{JARS}/broker/*"]
    with (directory / "broker.txt").open("w") as told:
        options = ["format", "--standalone", "-t", _CLUSTER, "-c", str(settings)]
        to_file = {"stdout": told, "stderr": subprocess.STDOUT}
        subprocess.run([*java, "kafka.tools.StorageTool", *options], check=True, **to_file)
        running = subprocess.Popen([*java, "kafka.Kafka", str(settings)], **to_file)
    try:
        while not _listens(port):
            assert running.poll() is None, (directory / "broker.txt").read_text()
            time.sleep(0.05)
        yield f"127.0.0.1:{port}"
    finally:
        running.kill()
        running.wait()


def create_topics(spark: SparkSession, address: str, *names: str) -> None:
    """Create topics before two producers ask for different ones at the same time.

    Otherwise the broker creates both, and sometimes lists a topic without a log. A producer that
    writes to such a topic waits for ever.
    """
    assert spark._jvm is not None
    java = spark._jvm.java.util
    settings = java.Properties()
    settings.put("bootstrap.servers", address)
    topics = java.ArrayList()
    topic, default = spark._jvm.org.apache.kafka.clients.admin.NewTopic, java.Optional.empty()
    for name in names:
        topics.add(topic(name, default, default))
    admin = spark._jvm.org.apache.kafka.clients.admin.Admin.create(settings)
    admin.createTopics(topics).all().get()
    admin.close()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _listens(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
