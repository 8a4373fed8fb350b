"""The Python that Spark starts its processes with.

Spark runs Python in several processes: the workers, one process for each stateful stage on the
driver, and some for each Python source. It puts an archive of PySpark first on their path. Python
caches no bytecode for an archive, so every process compiles what it imports: 0.7 s of processor
time, against 0.15 s for the same code in the package that pip has installed
(`benchmarks.first_answer`). The script `python` beside this file takes the archives off the path.

The workers are forked from a process that has imported their modules already (`daemon`).

The script also silences the process of a stateful stage, which prints five lines about itself. Its
errors are not lost, because they go through a socket.
"""

import os
import sys
import sysconfig
from pathlib import Path

_SCRIPT = Path(__file__).with_name("python")


def environment(master: str) -> dict[str, str]:
    """Return the environment variables that set Spark's Python.

    It is the Python of PYSPARK_PYTHON if that is set, and otherwise this interpreter, not the
    first python3 on PATH.
    """
    if chosen := os.environ.get("PYSPARK_PYTHON"):
        return {"PYSPARK_PYTHON": chosen}
    if not _has_twin(master):
        return {"PYSPARK_PYTHON": sys.executable}
    return {"PYSPARK_PYTHON": str(_SCRIPT), "LATECOMER_PYTHON": sys.executable}


def settings(master: str) -> dict[str, str]:
    """Return the Spark settings that go with `environment`."""
    if os.environ.get("PYSPARK_PYTHON") or not _has_twin(master):
        # Another Python may have other packages, or none of Latecomer.
        return {}
    return {"spark.python.daemon.module": "latecomer.runtime.daemon"}


def _has_twin(master: str) -> bool:
    """Return True if the archives have the same code as the package that is installed.

    That is so if Spark came with the package, and its processes run on this machine.
    """
    import pyspark

    is_installed = Path(pyspark.__file__).parents[1] == Path(sysconfig.get_path("purelib"))
    is_packaged = "SPARK_HOME" not in os.environ
    # There must be a shell for the script, and the script has to be executable.
    can_run = os.name == "posix" and os.access(_SCRIPT, os.X_OK)
    return master.startswith("local") and is_installed and is_packaged and can_run
