"""Settings that make short Spark sessions in tests start and run faster.

`CONFIG` is for every Spark that tests start. Its JVM compiles quickly with few optimizations, and
does not verify classes. The behaviour of Spark stays the same.

`PREPARED` is for sessions that run several queries: their Python workers start with their libraries
imported, see `daemon.py`. The README in an empty environment, pipelines and tests of the session
start their workers as users do.

`session` is for the many small queries that share one Spark. It also leaves out work that changes
no result. By default, writing a checkpoint starts 60 processes in a micro-batch of a sort:
`readlink` at each access to a file, `chmod` for each file and its checksum. Here it starts nine.
Code generation and adaptive planning are off: they took a fifth of the processor time of small
queries. Tests marked `jvm`, and the lakes with a query of each kind, keep Spark's defaults.
"""

from pyspark.sql import SparkSession

from latecomer.runtime import session as runtime
from tests.support import lakes

TOO_SLOW = "to connect back"
"""Text in Spark's error if a Python process does not connect within ten seconds, a fixed limit."""
JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)

CONFIG = {
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    "spark.ui.enabled": "false",
}

PREPARED = {**CONFIG, "spark.python.daemon.module": "tests.support.daemon"}

_SMALL = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


def session(name: str) -> SparkSession:
    """Start Spark with two cores for many small queries."""
    spark = runtime.session(
        name,
        master="local[2]",
        config=PREPARED | (lakes.config() or _SMALL),
    )
    assert spark._jvm is not None
    # Hadoop has one object for the local file system, which all queries of this JVM share.
    files = spark._jvm.org.apache.hadoop.fs.FileSystem.getLocal(
        spark.sparkContext._jsc.hadoopConfiguration()
    )
    files.setWriteChecksum(False)
    return spark
