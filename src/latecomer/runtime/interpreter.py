"""The Python that Spark starts its processes with.

Spark runs Python in several processes: the workers, one for each stateful stage on the driver, some
for each Python source. It puts an archive of PySpark first on their path. Python keeps no bytecode
for an archive and compiles what it imports from it in every process: 0.7 s of processor time,
against 0.15 s from the package that pip has installed, which is the same code
(`benchmarks.first_answer`). The script `python` beside this file takes the archives off the path.

It also silences the process of a stateful stage, which prints five lines about itself. Its errors
go another way, through a socket.
"""

import os
import sys
import sysconfig
from pathlib import Path

_SCRIPT = Path(__file__).with_name("python")


def environment(master: str) -> dict[str, str]:
    """Return the environment variables by which Spark finds its Python.

    It is this interpreter, not whatever python3 is first on PATH, unless PYSPARK_PYTHON says
    otherwise.
    """
    if chosen := os.environ.get("PYSPARK_PYTHON"):
        return {"PYSPARK_PYTHON": chosen}
    if not _has_twin(master):
        return {"PYSPARK_PYTHON": sys.executable}
    return {"PYSPARK_PYTHON": str(_SCRIPT), "LATECOMER_PYTHON": sys.executable}


def _has_twin(master: str) -> bool:
    """Return True if the archives have the code that this interpreter has installed.

    That is so where Spark came with the package, and its processes run on this machine.
    """
    import pyspark

    is_installed = Path(pyspark.__file__).parents[1] == Path(sysconfig.get_path("purelib"))
    is_packaged = "SPARK_HOME" not in os.environ
    return master.startswith("local") and is_installed and is_packaged and _can_run(_SCRIPT)


def _can_run(script: Path) -> bool:
    """Return True if there is a shell for the script, and it was copied with its mode."""
    return os.name == "posix" and os.access(script, os.X_OK)
