"""Spark's Python workers are forked with their modules imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

THREADS = Path("/proc/self/task")

FORKING = """
import gc, json, os, sys
from pathlib import Path
from latecomer.runtime import daemon

def manager():
    threads = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    found = {"modules": [*sys.modules], "threads": threads, "spared": gc.get_freeze_count()}
    print(json.dumps(found))

daemon.manager = manager
daemon.main()
"""


def before_the_fork(worker: str) -> dict[str, Any]:
    """Return the state of the process at the point where it would fork."""
    ended = subprocess.run(
        [sys.executable, "-c", FORKING, worker],
        # Spark sets this variable for its workers.
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(ended.stdout))


def test_workers_have_their_modules_when_they_are_forked() -> None:
    found = before_the_fork("pyspark.worker")

    needed = {"pyspark.worker", "numpy", "pyarrow", "pandas", "latecomer.hosts.spark.bucket"}
    assert needed <= {*found["modules"]}
    assert "numba" not in found["modules"]
    assert found["spared"] > 0


@pytest.mark.skipif(not THREADS.is_dir(), reason="threads are listed on Linux only")
def test_no_thread_runs_that_a_fork_would_break() -> None:
    found = before_the_fork("pyspark.worker")

    # PyArrow's allocator prepares its own thread for forks.
    assert len([name for name in found["threads"] if name != "jemalloc_bg_thd"]) == 1


DRAWING = """
import os, sys
from latecomer.runtime import daemon

def manager():
    for _ in range(2):
        if not (pid := os.fork()):
            import numpy as np
            print(np.random.rand(), flush=True)
            os._exit(0)
        os.waitpid(pid, 0)

daemon.manager = manager
daemon.main()
"""


def test_workers_draw_different_random_numbers() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", DRAWING, "pyspark.worker"],
        capture_output=True,
        text=True,
        check=True,
    )

    one, other = ended.stdout.split()
    assert one != other


def test_other_processes_of_spark_import_nothing_more() -> None:
    found = before_the_fork("pyspark.sql.worker.plan_data_source_read")

    assert {"numpy", "pyarrow", "pandas"} & {*found["modules"]} == set()
