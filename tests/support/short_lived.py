"""How to start a Spark that does not live long.

`CONFIG` is for every Spark that tests start. Its JVM compiles quickly rather than well, and
trusts the classes that it loads. What Spark does stays the same.

`PREPARED` is for those that run several queries: their Python workers begin with their libraries
imported, see `daemon.py`. The README in an empty environment, pipelines and tests of the session
start their workers as users do.

`session` is for the many small queries that share one Spark. It also leaves out work that changes
no result. Spark's usual way to write a checkpoint starts 60 processes in a micro-batch of a sort:
`readlink` whenever it looks at a file, `chmod` for each file and for the checksum beside it. Here
it starts nine. Nor does it write Java for its plans, or plan again while they run: that took a
fifth of the processor time of small queries. Tests marked `jvm`, and the lakes with a query of each
kind, keep Spark's way.
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
    # Hadoop keeps one object for the local files, which all queries of this JVM share.
    files = spark._jvm.org.apache.hadoop.fs.FileSystem.getLocal(
        spark.sparkContext._jsc.hadoopConfiguration()
    )
    files.setWriteChecksum(False)
    return spark
