"""How to start a Spark that does not live long.

`CONFIG` is for every Spark that tests start. Its JVM compiles quickly rather than well, and
trusts the classes that it loads. What Spark does stays the same.

`session` is for the many small queries that share one Spark. It also leaves out work that changes
no result. Spark's usual way to write a checkpoint starts 60 processes in a micro-batch of a sort:
`readlink` whenever it looks at a file, `chmod` for each file and for the checksum beside it. Here
it starts nine. Its Python workers begin with their libraries imported: see `daemon.py`. Tests
marked `jvm` keep Spark's own settings.
"""

from pyspark.sql import SparkSession

from latecomer.runtime import session as runtime
from tests.support import lakes

TOO_SLOW = "to connect back"
"""Part of what Spark says if a Python process has not connected after ten seconds: a constant."""
JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)

CONFIG = {
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    "spark.ui.enabled": "false",
}

_FILE_MANAGER = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)


def session(name: str) -> SparkSession:
    """Start Spark with two cores for many small queries."""
    spark = runtime.session(
        name,
        master="local[2]",
        config={
            **CONFIG,
            **lakes.config(),
            "spark.sql.streaming.checkpointFileManagerClass": _FILE_MANAGER,
            "spark.python.daemon.module": "tests.support.daemon",
        },
    )
    assert spark._jvm is not None
    # Hadoop keeps one object for the local files, which all queries of this JVM share.
    files = spark._jvm.org.apache.hadoop.fs.FileSystem.getLocal(
        spark.sparkContext._jsc.hadoopConfiguration()
    )
    files.setWriteChecksum(False)
    return spark
