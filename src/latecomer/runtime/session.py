"""A local Spark session with the settings that Latecomer needs.

Any session that keeps its streaming state in RocksDB works. This one is for users who have none
yet. It finds a Java, starts Spark on this machine, keeps state in RocksDB with changelog
checkpoints (a micro-batch then writes only what changed), uses UTC, and logs only errors. Spark's
UI is on, for this machine only: `spark.sparkContext.uiWebUrl`.

Two kinds of settings matter here. *Runtime* settings can be changed while Spark runs. *Static*
settings (memory, cores, logging) are fixed when its JVM starts. So the first call starts Spark
with all of them. A later call returns the same session, adds the runtime settings that are
missing, and raises if a static setting is requested that can no longer be changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from latecomer.errors import SessionError
from latecomer.runtime import interpreter
from latecomer.runtime.java import find_java, launcher_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ALL_CORES = "local[*]"

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_PARTITIONS = "spark.sql.shuffle.partitions"

_NEEDED = {_PROVIDER: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"}
"""Runtime settings without which Latecomer cannot stream."""

_PREFERRED = {
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Counting rows costs a read at every write and removal, and rows here are a few large chunks.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # Spark shares Python workers only between functions with the same value of this setting, and
    # its stateful functions do not use it. Turning it off avoids a second set of workers.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    # Rows per batch to Python and back: larger, and so fewer, batches than with the default 10,000.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.session.timeZone": "UTC",
}
"""Runtime settings that are set only if a running session does not have them."""

_STATIC = {
    "spark.api.mode": "classic",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "4g",
    # Unlike extraJavaOptions, these do not replace the user's own options, which take precedence.
    "spark.driver.defaultJavaOptions": (
        f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
        # When a query is stopped during a micro-batch, Spark searches a long message with a regular
        # expression. With less than some megabytes of stack it prints a StackOverflowError.
        " -Xss16m"
    ),
    "spark.ui.showConsoleProgress": "false",
    # The UI takes the first free port from 4040 on. With the default of 16 tries, the seventeenth
    # session on a machine would not start.
    "spark.port.maxRetries": "100",
}
"""Settings that take effect only when Spark starts."""


def session(
    app_name: str = "latecomer",
    *,
    master: str = _ALL_CORES,
    config: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start a local Spark session with the settings Latecomer needs, or return the running one.

    The number of shuffle partitions is the number of cores, unless `config` says otherwise: each
    keeps a state store, so Spark's default of 200 makes small streams slow.

    Args:
        app_name: Name of the application in Spark.
        master: Spark's master; all cores of this machine by default.
        config: More Spark settings. They take precedence over Latecomer's.

    Raises:
        MissingPackageError: if there is no PySpark 4.1 or later.
        JavaNotFoundError: if there is no Java 17 or later.
        SessionError: if Spark does not start, or if the session that runs already is a remote
            one or cannot be given `master` or a setting of `config`.
    """
    from latecomer.hosts.spark.installed import check_pyspark

    check_pyspark()
    asked = dict(config or {})
    _refuse_remote()
    if is_running():
        spark = _adopt(master, asked)
    else:
        ours = {**_STATIC, **interpreter.settings(master), **_PREFERRED, **_NEEDED}
        spark = _start({**ours, **asked}, app_name, master)
    partitions = _cores(spark)
    if partitions is not None and _PARTITIONS not in spark.conf.getAll:
        spark.conf.set(_PARTITIONS, str(partitions))
    return spark


def _start(settings: Mapping[str, str], app_name: str, master: str) -> SparkSession:
    """Start the JVM and the session."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(app_name).master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    variables = {"JAVA_HOME": str(launcher_home(find_java())), **interpreter.environment(master)}
    if master.startswith("local"):
        # This is Spark's only setting for the address of its UI.
        variables["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    try:
        with _environment(variables):
            return builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        reason = "\n".join(line for line in str(error).splitlines() if not line.startswith("\tat "))
        # Without the cause: its long traceback through PySpark and Java hides the reason.
        raise SessionError(
            f"Spark did not start on master {master!r}: {reason}\n"
            "Hint: check master and config; Java may have printed more on stderr, above this."
        ) from None


def _adopt(master: str, asked: Mapping[str, str]) -> SparkSession:
    """Return the running session, after adding the settings that it lacks."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    present = spark.conf.getAll
    missing = {key: value for key, value in _PREFERRED.items() if key not in present}
    refused = {}
    if master not in (_ALL_CORES, spark.sparkContext.master):
        refused["spark.master"] = master
    for key, value in {**missing, **_NEEDED, **asked}.items():
        if present.get(key) != value:
            try:
                spark.conf.set(key, value)
            except PySparkException:
                refused[key] = value
    if refused:
        lines = [
            f"  {key}: asked for {value!r}, running with {spark.conf.get(key, None)!r}"
            for key, value in refused.items()
        ]
        raise SessionError(
            "a Spark session is running, and these settings are fixed once it has started:\n"
            + "\n".join(lines)
            + "\nHint: stop() the running session first, or leave these settings out."
        )
    return spark


def is_running() -> bool:
    """Return True if this process has a Spark session, whose static settings are fixed."""
    from pyspark import SparkContext

    # PySpark has no public function for this that does not start a context.
    return SparkContext._active_spark_context is not None  # noqa: SLF001


def _refuse_remote() -> None:
    """Refuse a process that uses Spark Connect, beside which no local Spark can run."""
    from pyspark.sql import is_remote

    if is_remote() or "SPARK_REMOTE" in os.environ:
        raise SessionError(
            "session() starts a local Spark, but this process uses Spark Connect "
            f"(SPARK_REMOTE={os.environ.get('SPARK_REMOTE', '')!r}).\n"
            "Hint: pass DataFrames of your own session to latecomer; it needs no session()."
        )


def _cores(spark: SparkSession) -> int | None:
    """Return the number of cores of a local master; None if Spark runs elsewhere."""
    master = spark.sparkContext.master or ""
    # Executors register after the session has started, so the count is read from the master's URL.
    if cluster := re.fullmatch(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*]", master):
        return int(cluster[1]) * int(cluster[2])
    return spark.sparkContext.defaultParallelism if master.startswith("local") else None


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables while the JVM, which inherits them, starts."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
